//! Torn ends, flipped bits, missing and strange files.

use std::{fs, path::Path};

use headwater_store::{Embedded, Store, embedded::check};

use crate::support::{Place, bodies, code};

fn flip(path: &Path, offset: u64) {
    let mut bytes = fs::read(path).unwrap();
    bytes[usize::try_from(offset).unwrap()] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

fn cut(path: &Path, size: u64) {
    fs::File::options().write(true).open(path).unwrap().set_len(size).unwrap();
}

fn size(path: &Path) -> u64 {
    path.metadata().unwrap().len()
}

fn find(path: &Path, text: &str) -> u64 {
    let bytes = fs::read(path).unwrap();
    bytes.windows(text.len()).position(|window| window == text.as_bytes()).unwrap() as u64
}

/// A store with some facts of two journals in one segment, which was not closed but died. Gives where each commit ends.
fn died(place: &Place) -> Vec<u64> {
    let store = place.open();
    let lease = store.claim("run");
    let other = store.claim("other");
    let mut ends = Vec::new();
    for n in 0..5 {
        store.fact(&lease, format!("fact {n}"));
        store.fact(&other, format!("other {n}"));
        ends.push(size(&place.last_segment()));
    }
    ends
}

#[test]
fn wherever_the_end_is_torn_the_commits_before_it_are_all_there() {
    let place = Place::new();
    let ends = died(&place);
    let whole = fs::read(place.last_segment()).unwrap();
    for length in 64..whole.len() as u64 {
        // Each place torn off, and every few of them filled with what a file system may leave there.
        let fills = if length % 7 == 0 { &[None, Some(0_u8), Some(0xff)][..] } else { &[None][..] };
        for fill in fills {
            let mut bytes = whole[..usize::try_from(length).unwrap()].to_vec();
            bytes.extend(fill.iter().flat_map(|byte| [*byte; 100]));
            fs::write(place.last_segment(), bytes).unwrap();
            let store = place.open();
            let survived = ends.iter().filter(|end| **end <= length).count();
            let found = store.info("run").map_or(0, |info| info.tail.last);
            assert!(found == survived as u64 || found == survived as u64 + 1, "cut at {length}: {found}");
            assert!(store.0.damages().is_empty());
        }
    }
}

#[test]
fn records_after_a_torn_end_are_not_confused_with_it() {
    let place = Place::new();
    let ends = died(&place);
    cut(&place.last_segment(), ends[4] - 3);
    let store = place.open();
    let lease = store.claim("other");
    store.fact(&lease, "new");
    drop(store);
    let store = place.open();
    assert_eq!(store.bodies("other", 0), ["other 0", "other 1", "other 2", "other 3", "new"]);
    assert_eq!(store.bodies("run", 0).len(), 5);
    drop(store);
    assert!(place.check().is_good());
}

#[test]
fn flipped_bit_before_the_last_commit_is_damage_and_not_a_torn_end() {
    let place = Place::new();
    let ends = died(&place);
    let whole = fs::read(place.last_segment()).unwrap();
    // From the second pair of facts on: every byte of these two commits.
    for offset in ends[0]..ends[1] {
        fs::write(place.last_segment(), &whole).unwrap();
        flip(&place.last_segment(), offset);
        let report = place.check();
        assert!(!report.is_good(), "offset {offset}");
        let store = place.open();
        assert!(!store.0.damages().is_empty(), "offset {offset}");
        assert!(size(&place.last_segment()) >= whole.len() as u64, "nothing is cut off");
        for (journal, text) in [("run", "fact"), ("other", "other")] {
            match store.page(journal, 0).map(|page| page.records.len()) {
                Ok(5) => {}
                Ok(left) => {
                    assert_eq!(left, 1, "what precedes the damage");
                    let error = store.page(journal, 1).unwrap_err();
                    assert_eq!(error.code(), "store.corrupt");
                    assert!(error.to_string().contains("0000000000000001.seg"), "{error}");
                    assert!(error.to_string().contains(journal), "{error}");
                }
                Err(error) => panic!("{error}"),
            }
            assert_eq!(bodies(&store.page(journal, 3).unwrap()), [format!("{text} 3"), format!("{text} 4")]);
        }
        assert_eq!(store.claim("run").first, 6, "no number is given twice");
    }
}

#[test]
fn damage_to_the_last_commit_is_noticed_once_the_store_was_closed() {
    let place = Place::new();
    {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let store = Embedded::open(place.folder.path()).unwrap();
        runtime.block_on(async {
            let lease = store.claim(&"run".into(), "me", crate::support::MINUTE).await.unwrap();
            let receipt =
                store.append(&lease, headwater_store::Class::Fact, &["the last fact".into()]).unwrap();
            receipt.await.unwrap();
        });
    }
    assert!(place.check().is_good());
    let offset = find(&place.last_segment(), "the last fact");
    flip(&place.last_segment(), offset);
    let report = place.check();
    assert!(!report.is_good(), "{report}");
    let store = place.open();
    assert_eq!(store.0.damages()[0].journal, Some("run".into()));
    assert_eq!(code(store.page("run", 0)), "store.corrupt");
}

#[test]
fn flipped_bit_in_a_sealed_segment_costs_one_journal_its_record() {
    let place = Place::new();
    let store = place.open_small();
    let lease = store.claim("run");
    let other = store.claim("other");
    for n in 0..40 {
        store.fact(&lease, format!("fact {n:0100}"));
        store.fact(&other, format!("other {n:0100}"));
    }
    drop(store);
    let sealed = place.segments()[1].clone();
    let offset = find(&sealed, "fact 0");
    flip(&sealed, offset);
    let report = place.check();
    let named = |damage: &&headwater_store::embedded::Damage| damage.journal == Some("run".into());
    assert!(report.damages.iter().any(|damage| named(&damage)), "{report}");
    assert!(report.to_string().contains(sealed.file_name().unwrap().to_str().unwrap()));
    let store = place.open_small();
    assert_eq!(store.bodies("other", 0).len(), 40);
    let mut after = 0;
    let error = loop {
        match store.page("run", after) {
            Ok(page) => after = page.records.last().unwrap().seq,
            Err(error) => break error,
        }
    };
    assert_eq!(error.code(), "store.corrupt");
    assert!(error.to_string().contains("0000000000000002.seg at offset"), "{error}");
    assert_eq!(store.page("run", after + 1).unwrap().records[0].seq, after + 2);
    let next = store.claim("run");
    store.fact(&next, "continues");
}

#[test]
fn damaged_footer_is_built_anew_and_nothing_is_lost() {
    let place = Place::new();
    let store = place.open_small();
    let lease = store.claim("run");
    for n in 0..40 {
        store.fact(&lease, format!("fact {n:0100}"));
        store.put(&format!("key {n}"), "value");
    }
    let expected = store.bodies("run", 0);
    drop(store);
    let sealed = place.segments()[1].clone();
    let whole = fs::read(&sealed).unwrap();
    let footer = usize::try_from(footer_offset(&sealed)).unwrap();
    for offset in footer..whole.len() {
        flip(&sealed, offset as u64);
        let report = place.check();
        assert!(report.is_good(), "{report}");
        assert_eq!(report.footers.len(), 1, "offset {offset}");
        let store = place.open_small();
        assert_eq!(store.bodies("run", 0), expected, "offset {offset}");
        assert_eq!(store.get("key 20").as_deref(), Some("value"));
        drop(store);
        fs::write(&sealed, &whole).unwrap();
    }
    for strange in [whole[..footer + 5].to_vec(), [&whole[..], b"garbage"].concat()] {
        fs::write(&sealed, strange).unwrap();
        let store = place.open_small();
        assert_eq!(store.bodies("run", 0), expected);
        assert!(store.0.damages().is_empty());
        store.drive(store.0.sweep()).unwrap();
        assert_eq!(store.bodies("run", 0), expected);
        drop(store);
        assert!(place.check().footers.is_empty(), "rewriting gives it a footer again");
    }
}

/// Where the footer of a segment begins, by its trailer.
fn footer_offset(path: &Path) -> u64 {
    let bytes = fs::read(path).unwrap();
    let trailer = &bytes[bytes.len() - 32..];
    u64::from(u32::from_le_bytes(trailer[8..12].try_into().unwrap()))
}

/// A store with some facts of one journal in several segments.
fn several_segments(place: &Place) {
    let store = place.open_small();
    let lease = store.claim("run");
    for n in 0..30 {
        store.fact(&lease, format!("fact {n:0100}"));
    }
}

#[test]
fn last_segment_without_a_header_is_damage_and_the_rest_is_served() {
    let place = Place::new();
    several_segments(&place);
    let last = place.last_segment();
    let kept = fs::read(&last).unwrap();
    for content in [&b""[..], b"HWSTORE\n", &[0; 64], &[0; 500]] {
        fs::write(&last, content).unwrap();
        assert!(!place.check().is_good());
        let store = place.open_small();
        assert!(!store.0.damages().is_empty());
        assert!(store.info("run").unwrap().tail.last > 10);
        drop(store);
        fs::remove_file(place.last_segment()).unwrap();
    }
    fs::write(&last, kept).unwrap();
    assert_eq!(place.open_small().bodies("run", 0).len(), 30);
}

#[test]
fn last_segment_that_was_removed_is_named() {
    let place = Place::new();
    several_segments(&place);
    let last = place.last_segment();
    fs::remove_file(&last).unwrap();
    let name = last.file_name().unwrap().to_str().unwrap();
    let report = place.check();
    assert!(report.to_string().contains(&format!("{name} at offset 0: the segment is missing")), "{report}");
    let store = place.open_small();
    assert_eq!(store.0.damages()[0].file, name);
    let lease = store.claim("run");
    store.fact(&lease, "continues");
    drop(store);
    // It is reported once: a segment of that name exists again.
    assert!(place.open_small().0.damages().is_empty());
}

#[test]
fn segment_that_was_not_yet_begun_is_begun_by_the_next_process() {
    let place = Place::new();
    several_segments(&place);
    // The process died when it had sealed a segment and not begun the next.
    fs::remove_file(place.last_segment()).unwrap();
    let next = place.folder.path().join(format!("{:016x}.seg.new", place.segments().len() + 1));
    for content in [&b""[..], b"HWSTORE\n", &[7; 64]] {
        fs::write(&next, content).unwrap();
        assert!(place.check().is_good());
        let store = place.open_small();
        assert!(store.0.damages().is_empty());
        assert!(!next.exists());
        drop(store);
        fs::remove_file(place.last_segment()).unwrap();
    }
    // Files of an interrupted rewriting go, and files of others stay.
    fs::write(place.folder.path().join("0000000000000001.seg.new"), "left over").unwrap();
    fs::write(place.folder.path().join("notes.txt"), "not ours").unwrap();
    drop(place.open_small());
    assert!(!place.folder.path().join("0000000000000001.seg.new").exists());
    assert!(place.folder.path().join("notes.txt").exists());
}

/// Damages a record at the end of a journal, in each way in which the journal may continue, and reads it.
#[test]
fn damaged_end_of_a_journal_is_an_error_and_not_an_end() {
    type End = fn(&crate::support::SteppedStore, &headwater_store::Lease);
    let ends: [(&str, End); 3] = [
        ("driven", |_, _| {}),
        ("released", |store, lease| store.drive(store.0.release(lease)).unwrap()),
        ("closed", |store, lease| store.drive(store.0.close(lease, None)).unwrap()),
    ];
    for (how, end) in ends {
        let place = Place::new();
        let store = place.open();
        let lease = store.claim("run");
        let other = store.claim("other");
        store.fact(&lease, "first");
        store.fact(&lease, "the last fact");
        end(&store, &lease);
        store.fact(&other, "noise");
        store.fact(&other, "noise");
        drop(store);
        let whole = fs::read(place.last_segment()).unwrap();
        let body = find(&place.last_segment(), "the last fact");
        // The body, its length, the count, the first sequence, the epoch, the journal's number, the kind, the length and
        // the checksum of its frame.
        for back in [0, 1, 2, 6, 9, 12, 13, 17, 16, 21] {
            flip(&place.last_segment(), body - back);
            let store = place.open();
            let error = store.page("run", 1).unwrap_err();
            assert_eq!(error.code(), "store.corrupt", "{how}, {back} bytes before: {error}");
            assert_eq!(bodies(&store.page("run", 0).unwrap()), ["first"], "{how}, {back}");
            assert_eq!(store.bodies("other", 0), ["noise", "noise"], "{how}, {back}");
            let named = store.0.damages().iter().any(|damage| damage.journal == Some("run".into()));
            assert!(named, "{how}, {back}: {:?}", store.0.damages());
            drop(store);
            fs::write(place.last_segment(), &whole).unwrap();
        }
    }
}

#[test]
fn damaged_end_is_an_error_though_the_journal_was_trimmed_after_it() {
    let place = Place::new();
    let store = place.open();
    let lease = store.claim("run");
    let other = store.claim("other");
    store.fact(&lease, "first");
    store.fact(&lease, "the last fact");
    store.drive(store.0.trim(&lease, 2)).unwrap();
    store.fact(&other, "noise");
    store.fact(&other, "noise");
    drop(store);
    flip(&place.last_segment(), find(&place.last_segment(), "the last fact"));
    let store = place.open();
    assert_eq!(code(store.page("run", 1)), "store.corrupt");
    assert_eq!(store.bodies("other", 0), ["noise", "noise"]);
}

#[test]
fn another_format_is_refused_with_both_numbers() {
    let place = Place::new();
    died(&place);
    for version in [1, 2, 9] {
        let mut bytes = fs::read(place.last_segment()).unwrap();
        bytes[8] = version;
        let sum = crc32c(&bytes[..12]);
        bytes[12..16].copy_from_slice(&sum.to_le_bytes());
        fs::write(place.last_segment(), bytes).unwrap();
        let error = Embedded::open(place.folder.path()).unwrap_err();
        assert_eq!(error.code(), "store.format");
        let text = error.to_string();
        assert!(text.contains(&format!("has format {version} and this program reads format 4")), "{text}");
        assert_eq!(code(check(place.files())), "store.format");
    }
}

fn crc32c(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| {
        (0..8).fold(
            sum ^ u32::from(*byte),
            |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0x82f6_3b78 } else { sum >> 1 },
        )
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[test]
fn segment_that_is_gone_is_noticed_by_the_journals_that_miss_it() {
    let place = Place::new();
    let store = place.open_small();
    let lease = store.claim("run");
    for n in 0..40 {
        store.fact(&lease, format!("fact {n:0100}"));
    }
    drop(store);
    fs::remove_file(&place.segments()[1]).unwrap();
    assert!(!place.check().is_good());
    let store = place.open_small();
    assert_eq!(store.0.damages()[0].journal, Some("run".into()));
    let before = store.page("run", 0).unwrap().records.len() as u64;
    assert_eq!(code(store.page("run", before)), "store.corrupt");
    assert_eq!(store.info("run").unwrap().tail.last, 40);
}

#[test]
fn partial_footer_counts_as_missing() {
    let place = Place::new();
    let store = place.open_small();
    let lease = store.claim("run");
    for n in 0..30 {
        store.fact(&lease, format!("fact {n:0100}"));
    }
    let last_of_second = store.page("run", 0).unwrap().records.len();
    drop(store);
    for later in &place.segments()[2..] {
        fs::remove_file(later).unwrap();
    }
    let sealed = place.last_segment();
    let whole = fs::read(&sealed).unwrap();
    let footer = usize::try_from(footer_offset(&sealed)).unwrap();
    let expected = place.open_small().bodies("run", 0);
    assert!(expected.len() > 15 && expected.len() < last_of_second);
    // The power was cut before the footer was durable: any part of it and of the marker before it may be missing.
    for missing in [footer - 40..footer, footer - 20..footer + 3, footer..footer + 4, footer + 1..whole.len()]
    {
        for later in &place.segments()[2..] {
            fs::remove_file(later).unwrap();
        }
        let mut bytes = whole.clone();
        bytes[missing].fill(0);
        fs::write(&sealed, bytes).unwrap();
        assert!(place.check().is_good(), "{}", place.check());
        let store = place.open_small();
        assert_eq!(store.bodies("run", 0), expected);
        let lease = store.claim("run");
        store.fact(&lease, "continues");
        assert!(store.0.damages().is_empty());
    }
}

#[test]
fn value_that_is_damaged_is_listed_without_its_bytes() {
    let place = Place::new();
    let store = place.open_small();
    for n in 0..40 {
        store.put(&format!("key {n:02}"), &format!("value {n:0100}"));
    }
    drop(store);
    let sealed = place.segments()[0].clone();
    flip(&sealed, find(&sealed, &format!("value {:0100}", 3)));
    let store = place.open_small();
    assert_eq!(code(store.drive(store.0.get("key 03"))), "store.corrupt");
    let listed = store.drive(store.0.list("key ", None, 100)).unwrap();
    assert_eq!(listed.len(), 40);
    for (key, value) in &listed {
        assert_eq!((value.damaged, value.bytes.is_empty()), (key == "key 03", key == "key 03"), "{key}");
    }
    let version = listed[3].1.version;
    let removed = store.drive(store.0.remove("key 03", headwater_store::Expect::Version(version)));
    assert!(removed.unwrap());
    assert_eq!(store.drive(store.0.list("key ", None, 100)).unwrap().len(), 39);
}

#[cfg(unix)]
#[test]
fn check_changes_neither_files_nor_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    died(&place);
    fs::remove_file(place.folder.path().join("lock")).unwrap();
    let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    open(place.folder.path());
    open(&place.last_segment());
    let files = headwater_store::embedded::Folder::unchanged(place.folder.path()).unwrap();
    assert!(check(std::sync::Arc::new(files)).unwrap().is_good());
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(place.folder.path()), mode(&place.last_segment())), (0o755, 0o755));
    assert!(!place.folder.path().join("lock").exists());
}
