//! Journals of another store in the log: what a crash, a sweep and damage do to one that is restored in pieces.

use std::sync::Arc;

use headwater_store::{
    Class, Embedded, EpochStart, JournalInfo, Record, Store, Tail, Time,
    embedded::{Fsync, Options, Writer, check},
};
use headwater_testkit::disk::{Disk, DiskFault};

use crate::support::{Place, SteppedStore, code};

/// A journal of so many records, each of them a quarter of a small segment.
fn foreign(last: u64) -> (JournalInfo, Vec<Record>) {
    let record = |seq: u64| Record {
        seq,
        epoch: 1 << 40,
        time: Time(seq),
        class: Class::Fact,
        body: vec![seq as u8; 500].into(),
    };
    let info = JournalInfo {
        first: 1,
        tail: Tail { last, closed: false },
        epochs: vec![EpochStart { epoch: 1 << 40, first: 1 }],
        bytes: last * 500,
        goes: None,
        driven: true,
    };
    (info, (1..=last).map(record).collect())
}

fn restore(store: &SteppedStore, info: &JournalInfo, records: &[Record]) {
    for piece in records.chunks(2) {
        store.drive(store.0.restore(&"run".into(), info, piece)).unwrap();
    }
}

fn assert_restored(store: &SteppedStore, info: &JournalInfo, records: &[Record]) {
    assert_eq!(store.info("run").as_ref(), Some(info));
    let bodies: Vec<_> =
        records.iter().map(|record| String::from_utf8(record.body.to_vec()).unwrap()).collect();
    assert_eq!(store.bodies("run", 0), bodies);
}

#[test]
fn unfinished_restore_is_gone_after_a_crash_and_its_space_too() {
    for pieces in [1, 4, 9] {
        let place = Place::new();
        let (info, records) = foreign(20);
        let store = place.open_small();
        let kept = store.claim("kept");
        store.fact(&kept, "kept");
        restore(&store, &info, &records[..pieces * 2]);
        drop(store);
        let report = place.check();
        assert!(report.is_good(), "{report}");
        assert_eq!((report.journals, report.unfinished), (1, 1));

        let store = place.open_small();
        assert!(store.0.damages().is_empty());
        assert_eq!(store.info("run"), None);
        assert_eq!(store.drive(store.0.journals(None, 9)).unwrap(), ["kept".into()]);
        let next = store.drive(store.0.restore(&"run".into(), &info, &records[pieces * 2..]));
        assert_eq!(code(next), "store.corrupt");
        store.drive(store.0.flush()).unwrap();
        store.drive(store.0.sweep()).unwrap();
        drop(store);
        let report = place.check();
        assert!(report.is_good(), "{report}");
        assert_eq!((report.journals, report.unfinished), (1, 0));

        let store = place.open_small();
        restore(&store, &info, &records);
        assert_restored(&store, &info, &records);
        drop(store);
        let store = place.open_small();
        assert_restored(&store, &info, &records);
        let lease = store.claim("another");
        assert!(lease.epoch > 1 << 40, "{}", lease.epoch);
    }
}

#[test]
fn segments_are_rewritten_while_a_journal_is_restored() {
    let place = Place::new();
    let store = place.open_small();
    let (info, records) = foreign(30);
    for (n, piece) in records.chunks(2).enumerate() {
        // What dies beside the restore makes its segments worth rewriting.
        store.put("changes", &"x".repeat(900));
        store.drive(store.0.restore(&"run".into(), &info, piece)).unwrap();
        store.put("changes", &n.to_string());
        store.drive(store.0.sweep()).unwrap();
    }
    assert_restored(&store, &info, &records);
    drop(store);
    let report = place.check();
    assert!(report.is_good(), "{report}");
    assert_restored(&place.open_small(), &info, &records);
}

#[test]
fn rewritten_segments_of_an_unfinished_restore_leave_no_damage() {
    let place = Place::new();
    let store = place.open_small();
    let (info, records) = foreign(30);
    for (n, piece) in records[..20].chunks(2).enumerate() {
        store.put("changes", &"x".repeat(900));
        store.drive(store.0.restore(&"run".into(), &info, piece)).unwrap();
        store.put("changes", &n.to_string());
        store.drive(store.0.sweep()).unwrap();
    }
    drop(store);
    for _ in 0..3 {
        let report = place.check();
        assert!(report.is_good(), "{report}");
        let store = place.open_small();
        assert_eq!(store.info("run"), None);
        store.drive(store.0.flush()).unwrap();
        store.drive(store.0.sweep()).unwrap();
    }
    assert_eq!(place.check().unfinished, 0);
}

#[test]
fn beside_damage_an_unfinished_restore_is_named_and_stays() {
    let place = Place::new();
    let store = place.open_small();
    let (info, records) = foreign(20);
    let other = store.claim("other");
    store.fact(&other, "x".repeat(700));
    restore(&store, &info, &records[..10]);
    drop(store);
    let first = &place.segments()[0];
    let mut bytes = std::fs::read(first).unwrap();
    let body = bytes.windows(20).position(|window| window == [b'x'; 20]).unwrap();
    bytes[body + 5] ^= 1;
    std::fs::write(first, bytes).unwrap();
    let report = place.check();
    let named = report.damages.iter().find(|damage| damage.journal == Some("run".into()));
    assert!(named.is_some_and(|damage| damage.what.contains("was not restored to its end")), "{report}");
    let size = place.bytes();
    let store = place.open_small();
    assert_eq!(store.info("run"), None);
    drop(store);
    assert!(place.bytes() >= size);
}

/// Wherever the process dies or the power is cut: acknowledged journals are complete, and all others are complete or absent.
#[test]
fn restore_is_whole_or_gone_wherever_it_is_interrupted() {
    let (mut whole, mut gone) = (0, 0);
    for seed in 0..400_u64 {
        let disk = Disk::new(seed);
        let mut options = Options::default();
        options.writer = Writer::Manual;
        options.segment_bytes = 700 + seed * 37 % 5_000;
        options.fsync = [Fsync::Commit, Fsync::Never][seed as usize % 2];
        let open = || Embedded::open_with(Arc::new(disk.clone()), options.clone()).map(SteppedStore);
        let (info, records) = foreign(1 + seed % 17);
        let store = open().unwrap();
        store.fact(&store.claim("kept"), "kept");
        let fault = [DiskFault::Death, DiskFault::SyncError, DiskFault::WriteError, DiskFault::NoSpace]
            [seed as usize / 2 % 4];
        disk.arm(fault, seed * 13 % 41);
        let mut acknowledged = false;
        for (n, piece) in records.chunks(1 + seed as usize % 5).enumerate() {
            let restored = store.drive(store.0.restore(&"run".into(), &info, piece));
            acknowledged = restored.is_ok() && piece.last() == records.last();
            if restored.is_err() {
                break;
            }
            if (seed as usize + n).is_multiple_of(4) {
                let _ =
                    store.drive(store.0.put("dies", vec![1; 400].into(), headwater_store::Expect::Any, None));
                let _ = store.drive(store.0.sweep());
            }
        }
        if seed % 3 == 0 {
            disk.kill();
        } else {
            disk.cut_power();
        }
        drop(store);
        disk.disarm();
        disk.make_room();
        let report = check(Arc::new(disk.clone())).unwrap();
        assert!(report.is_good(), "seed {seed}: {report}");
        let store = open().unwrap();
        assert!(store.0.damages().is_empty(), "seed {seed}");
        if store.info("run").is_none() {
            assert!(!acknowledged, "seed {seed}: acknowledged data is gone");
            gone += 1;
            restore(&store, &info, &records);
        } else {
            whole += 1;
        }
        assert_restored(&store, &info, &records);
        assert!(store.claim("run").epoch > 1 << 40, "seed {seed}");
    }
    assert!(whole > 50 && gone > 50, "both happen: {whole} whole, {gone} gone");
}
