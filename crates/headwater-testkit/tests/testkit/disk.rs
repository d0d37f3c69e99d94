//! The faulty disk loses everything that it may lose, and nothing else.

use std::{collections::BTreeSet, io::ErrorKind};

use headwater_store::embedded::{Files, StoreFile};
use headwater_testkit::disk::{Disk, DiskFault};

fn content(disk: &Disk, name: &str) -> Vec<u8> {
    let file = disk.open(name).unwrap();
    let mut bytes = vec![0; usize::try_from(file.size().unwrap()).unwrap()];
    assert_eq!(file.read_at(0, &mut bytes).unwrap(), bytes.len());
    bytes
}

fn durable_file(disk: &Disk, bytes: &[u8]) -> Box<dyn StoreFile> {
    let file = disk.create("file").unwrap();
    assert_eq!(file.write_at(0, bytes).unwrap(), bytes.len());
    file.sync().unwrap();
    disk.sync_names().unwrap();
    file
}

#[test]
fn synced_data_survives_any_power_cut() {
    for seed in 0..200 {
        let disk = Disk::new(seed);
        let file = durable_file(&disk, &[1; 2_000]);
        file.write_at(2_000, &[2; 3_000]).unwrap();
        disk.create("unsynced").unwrap();
        disk.cut_power();
        let left = content(&disk, "file");
        assert_eq!(left[..2_000], [1; 2_000]);
        assert!(left.len() <= 5_000);
        assert!(left[2_000..].iter().all(|byte| [0, 2].contains(byte)), "only zeros come from nowhere");
    }
}

#[test]
fn unsynced_writes_are_kept_lost_torn_and_scattered() {
    let mut seen = BTreeSet::new();
    for seed in 0..500 {
        let disk = Disk::new(seed);
        let file = durable_file(&disk, b"");
        for block in 0..4 {
            file.write_at(block * 1_000, &[1; 1_000]).unwrap();
        }
        disk.cut_power();
        let left = content(&disk, "file");
        let ones = left.iter().filter(|byte| **byte == 1).count();
        let gap = left.iter().skip_while(|byte| **byte == 1).any(|byte| *byte == 1);
        seen.insert(match (ones, left.len(), gap) {
            (0, 0, _) => "lost",
            (0, _, _) => "zeros",
            (4_000, 4_000, _) => "whole",
            (_, _, true) => "scattered",
            (ones, len, _) if ones == len && ones % 1_000 == 0 => "some writes",
            (ones, len, _) if ones == len && ones % 512 == 0 => "some sectors",
            (ones, len, _) if ones == len => "torn",
            _ => "torn, then zeros",
        });
    }
    let all =
        ["lost", "scattered", "some sectors", "some writes", "torn", "torn, then zeros", "whole", "zeros"];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), all);
}

#[test]
fn names_are_durable_only_after_their_sync() {
    let mut ways = BTreeSet::new();
    for seed in 0..100 {
        let disk = Disk::new(seed);
        durable_file(&disk, b"old");
        let new = disk.create("new").unwrap();
        new.write_at(0, b"new").unwrap();
        new.sync().unwrap();
        disk.rename("new", "file").unwrap();
        disk.create("later").unwrap();
        disk.cut_power();
        let names = disk.list().unwrap();
        let text = String::from_utf8(content(&disk, "file")).unwrap();
        assert!(["old", "new"].contains(&&*text), "a rename leaves the old file or the new one: {text:?}");
        ways.insert(format!("{names:?} {text}"));
    }
    assert_eq!(ways.len(), 4, "{ways:?}");
}

#[test]
fn killed_process_leaves_its_data_and_no_open_handles() {
    let disk = Disk::new(1);
    let file = disk.create("file").unwrap();
    file.write_at(0, b"written").unwrap();
    let guard = disk.lock().unwrap();
    assert_eq!(disk.lock().unwrap_err().kind(), ErrorKind::WouldBlock);
    disk.kill();
    assert!(file.write_at(0, b"x").is_err());
    assert!(file.sync().is_err());
    let next = disk.lock().unwrap();
    drop(guard);
    assert_eq!(
        disk.lock().unwrap_err().kind(),
        ErrorKind::WouldBlock,
        "a dead process's guard frees nothing"
    );
    drop(next);
    disk.lock().unwrap();
    assert_eq!(content(&disk, "file"), b"written");
}

#[test]
fn armed_fault_happens_once_at_its_operation() {
    let disk = Disk::new(1);
    let file = durable_file(&disk, b"");
    disk.arm(DiskFault::ShortWrite, 0);
    let short = file.write_at(0, &[1; 100]).unwrap();
    assert!((1..100).contains(&short));
    disk.arm(DiskFault::WriteError, 1);
    assert_eq!(file.write_at(0, &[1; 100]).unwrap(), 100);
    file.write_at(0, &[1; 100]).unwrap_err();
    disk.arm(DiskFault::ReadError, 0);
    file.read_at(0, &mut [0; 10]).unwrap_err();
    assert_eq!(file.read_at(0, &mut [0; 10]).unwrap(), 10);
    disk.arm(DiskFault::NamesError, 0);
    disk.sync_names().unwrap_err();
    disk.arm(DiskFault::CreateError, 0);
    disk.create("other").unwrap_err();
    disk.arm(DiskFault::NoSpace, 0);
    for _ in 0..3 {
        assert_eq!(file.write_at(0, &[1; 100]).unwrap_err().kind(), ErrorKind::StorageFull);
    }
    disk.make_room();
    file.write_at(0, &[1; 100]).unwrap();
    let fired = [
        DiskFault::ShortWrite,
        DiskFault::WriteError,
        DiskFault::ReadError,
        DiskFault::NamesError,
        DiskFault::CreateError,
        DiskFault::NoSpace,
    ];
    assert_eq!(disk.fired(), fired);
}

#[test]
fn failed_sync_drops_unwritten_data_that_can_still_be_read() {
    let mut left = BTreeSet::new();
    for seed in 0..50 {
        let disk = Disk::new(seed);
        let file = durable_file(&disk, b"");
        file.write_at(0, b"lost?").unwrap();
        disk.arm(DiskFault::SyncError, 0);
        file.sync().unwrap_err();
        assert_eq!(content(&disk, "file"), b"lost?");
        file.sync().unwrap();
        disk.cut_power();
        left.insert(content(&disk, "file").starts_with(b"lost?"));
    }
    assert_eq!(left.len(), 2, "it may be there or not");
}

#[test]
fn dead_process_can_do_nothing() {
    let disk = Disk::new(1);
    let file = durable_file(&disk, b"");
    disk.arm(DiskFault::Death, 2);
    file.write_at(0, b"a").unwrap();
    file.size().unwrap();
    file.write_at(1, b"b").unwrap_err();
    assert!(disk.is_dead());
    file.sync().unwrap_err();
    disk.list().unwrap_err();
    disk.kill();
    assert!(content(&disk, "file").starts_with(b"a"));
}

#[test]
fn flipped_bit_stays_flipped() {
    let disk = Disk::new(1);
    durable_file(&disk, b"abc");
    assert!(disk.flip("file", 1, 0));
    assert!(!disk.flip("file", 3, 0));
    assert!(!disk.flip("nowhere", 0, 0));
    disk.cut_power();
    assert_eq!(content(&disk, "file"), b"acc");
}

#[test]
fn disk_that_lies_about_sync_guarantees_nothing() {
    let lost = (0..20).filter(|seed| {
        let disk = Disk::new(*seed);
        disk.sync_names().unwrap();
        durable_file(&disk, b"x");
        let other = Disk::new(*seed);
        other.lie_about_sync();
        durable_file(&other, b"x");
        disk.cut_power();
        other.cut_power();
        assert!(disk.open("file").is_ok());
        other.open("file").is_err()
    });
    assert!(lost.count() > 5);
}
