//! A committed folder of the current format: it is opened and read, and written anew it has the same bytes.
//!
//! `HEADWATER_BLESS=1 cargo test -p headwater-store --test store format::` makes it anew, when the format has got another
//! version.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use headwater_store::{Class, EpochStart, Expect, JournalInfo, Record, Store, Tail, Time};

use crate::support::{MINUTE, Place, SteppedStore, bodies, code};

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store/format-4")
}

/// The segments of a folder.
fn segments(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let segments = files.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "seg"));
    segments
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect()
}

/// A journal of another store, the clock of which went back.
fn foreign() -> (JournalInfo, Vec<Record>) {
    let epochs = vec![EpochStart { epoch: 9, first: 1 }, EpochStart { epoch: 12, first: 4 }];
    let record = |seq: u64, epoch, time| Record {
        seq,
        epoch,
        time: Time(time),
        class: Class::Delta,
        body: format!("record {seq}").into(),
    };
    let records = vec![record(2, 9, 500), record(3, 9, 400), record(4, 12, 600)];
    let tail = Tail { last: 4, closed: false };
    (JournalInfo { first: 2, tail, epochs, bytes: 24, goes: None, driven: false }, records)
}

/// Writes something of everything that the format has.
fn write(place: &Place) {
    let mut options = place.options();
    options.segment_bytes = 700;
    let store = place.open_with(options);
    let run = store.claim("run");
    store.fact(&run, "the first");
    store.fact(&run, "the second");
    store.delta(&run, "");
    store.fact(&run, "the fourth 🦀");
    store.drive(store.0.trim(&run, 2)).unwrap();
    store.drive(store.0.release(&run)).unwrap();
    let run = store.claim("run");
    store.fact(&run, "of another epoch");
    let ended = store.claim("ended");
    store.fact(&ended, "x".repeat(300));
    store.drive(store.0.close(&ended, Some(MINUTE))).unwrap();
    let gone = store.claim("gone");
    store.fact(&gone, "gone");
    store.drive(store.0.release(&gone)).unwrap();
    store.drive(store.0.delete(&gone.journal)).unwrap();
    store.put("for ever", "a value");
    store.drive(store.0.put("for a minute", "another".into(), Expect::Absent, Some(MINUTE))).unwrap();
    store.put("removed", "x");
    store.drive(store.0.remove("removed", Expect::Any)).unwrap();
    let (info, records) = foreign();
    for piece in records.chunks(2) {
        store.drive(store.0.restore(&"restored".into(), &info, piece)).unwrap();
    }
    store.fact(&run, "the last");
}

fn read(store: &SteppedStore) {
    assert!(store.0.damages().is_empty());
    let info = store.info("run").unwrap();
    assert_eq!((info.first, info.tail.last, info.tail.closed), (2, 6, false));
    let starts: Vec<u64> = info.epochs.iter().map(|start| start.first).collect();
    assert_eq!(starts, [1, 5]);
    let page = store.page("run", 1).unwrap();
    assert_eq!(bodies(&page), ["the second", "", "the fourth 🦀", "of another epoch", "the last"]);
    let classes: Vec<Class> = page.records.iter().map(|record| record.class).collect();
    assert_eq!(classes, [Class::Fact, Class::Delta, Class::Fact, Class::Fact, Class::Fact]);
    assert!(page.records.iter().all(|record| record.time == Time(1_000_000)));
    assert_eq!(code(store.page("run", 0)), "store.trimmed");
    let ended = store.info("ended").unwrap();
    assert_eq!((ended.tail.closed, ended.goes), (true, Some(Time(1_060_000))));
    assert_eq!(bodies(&store.page("ended", 0).unwrap()), ["x".repeat(300)]);
    assert_eq!(code(store.page("gone", 0)), "store.unknown");
    assert_eq!(store.get("for ever").as_deref(), Some("a value"));
    let value = store.drive(store.0.get("for a minute")).unwrap().unwrap();
    assert_eq!((&value.bytes[..], value.expires), (&b"another"[..], Some(Time(1_060_000))));
    assert_eq!(store.get("removed"), None);
    let (info, records) = foreign();
    assert_eq!(store.info("restored"), Some(info));
    assert_eq!(store.page("restored", 1).unwrap().records, records);
    assert_eq!(store.expired(), ["run".into()]);
}

#[test]
fn committed_folder_is_opened_and_read() {
    let place = Place::new();
    if std::env::var_os("HEADWATER_BLESS").is_some() {
        write(&place);
        let _ = fs::remove_dir_all(committed());
        fs::create_dir_all(committed()).unwrap();
        for (name, bytes) in segments(place.folder.path()) {
            fs::write(committed().join(name), bytes).unwrap();
        }
        return;
    }
    let files = segments(&committed());
    assert!(files.len() > 1, "a sealed segment and the active one");
    for (name, bytes) in files {
        fs::write(place.folder.path().join(name), bytes).unwrap();
    }
    assert!(place.check().is_good());
    read(&place.open());
    // What this process adds is read beside it.
    let store = place.open();
    let lease = store.claim("run");
    assert_eq!(store.fact(&lease, "added"), 7);
}

#[test]
fn written_anew_it_has_the_same_bytes() {
    if std::env::var_os("HEADWATER_BLESS").is_some() {
        return;
    }
    let place = Place::new();
    write(&place);
    assert!(
        segments(place.folder.path()) == segments(&committed()),
        "the bytes have changed: give the format another version, and make the folder anew as said above"
    );
    read(&place.open());
}
