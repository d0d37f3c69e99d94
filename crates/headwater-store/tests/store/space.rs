//! Retention, and reclaimed space.

use std::sync::Arc;

use headwater_store::{
    Class, Embedded, Expect, Lease, ReadLimit, Store,
    embedded::{Fsync, Writer, compact},
};

use crate::support::{MINUTE, Place, SteppedStore, code, text};

fn fill(store: &SteppedStore, journal: &str, records: usize) {
    let lease = store.claim(journal);
    for n in 0..records {
        store.fact(&lease, format!("{journal} {n:0100}"));
    }
    store.drive(store.0.close(&lease, Some(MINUTE))).unwrap();
}

#[test]
fn journal_whose_time_is_over_goes_with_its_segments() {
    let place = Place::new();
    let store = place.open_small();
    for run in 0..20 {
        fill(&store, &format!("run {run}"), 10);
    }
    let before = place.bytes();
    assert_eq!(store.drive(store.0.sweep()).unwrap().journals, 0);
    place.clock.advance(MINUTE);
    let swept = store.drive(store.0.sweep()).unwrap();
    assert_eq!(swept.journals, 20);
    assert!(place.bytes() < before / 5, "{before} to {}", place.bytes());
    assert_eq!(code(store.page("run 3", 0)), "store.unknown");
    drop(store);
    let store = place.open_small();
    assert_eq!(code(store.page("run 3", 0)), "store.unknown");
    assert!(store.expired().is_empty());
    drop(store);
    assert!(place.check().is_good());
}

#[test]
fn live_records_of_a_rewritten_segment_are_all_there() {
    let place = Place::new();
    let store = place.open_small();
    let keeper = store.claim("keeper");
    for run in 0..30 {
        store.fact(&keeper, format!("kept {run}"));
        store.put(&format!("kept/{run}"), &format!("value {run}"));
        store.put("often", &format!("{run} {}", "x".repeat(100)));
        fill(&store, &format!("run {run}"), 10);
    }
    let (before, segments) = (place.bytes(), place.segments().len());
    place.clock.advance(MINUTE);
    let swept = store.drive(store.0.sweep()).unwrap();
    assert!(swept.bytes > before / 2);
    assert!(place.bytes() < before / 2);
    let all_there = |store: &SteppedStore| {
        let expected: Vec<_> = (0..30).map(|run| format!("kept {run}")).collect();
        assert_eq!(store.bodies("keeper", 0), expected);
        for run in 0..30 {
            assert_eq!(store.get(&format!("kept/{run}")), Some(format!("value {run}")));
            assert_eq!(code(store.page(&format!("run {run}"), 0)), "store.unknown");
        }
        assert!(store.get("often").unwrap().starts_with("29 "));
    };
    all_there(&store);
    drop(store);
    assert!(place.segments().len() <= segments + 1);
    assert!(place.check().is_good(), "{}", place.check());
    let store = place.open_small();
    all_there(&store);
    drop(store);
    compact(place.files()).unwrap();
    assert!(place.check().is_good());
    all_there(&place.open_small());
}

#[test]
fn removed_data_stays_removed_in_any_order_of_rewrites() {
    let place = Place::new();
    let store = place.open_small();
    let keeper = store.claim("keeper");
    // Old segments that stay, since most of them lives.
    for n in 0..10 {
        store.put(&format!("removed/{n}"), "old");
        store.put(&format!("live/{n}"), &"x".repeat(150));
    }
    let deleted = store.claim("deleted");
    store.fact(&deleted, "old");
    store.fact(&keeper, "x".repeat(2_000));
    store.drive(store.0.release(&deleted)).unwrap();
    for n in 0..10 {
        store.drive(store.0.remove(&format!("removed/{n}"), headwater_store::Expect::Any)).unwrap();
    }
    store.drive(store.0.delete(&"deleted".into())).unwrap();
    // Segments in which all is dead, but the removals.
    for _ in 0..40 {
        store.put("churn", &"y".repeat(200));
    }
    let gone = |store: &SteppedStore| {
        assert_eq!(store.drive(store.0.list("removed/", None, 100)).unwrap(), []);
        assert_eq!(store.info("deleted"), None);
        assert_eq!(store.drive(store.0.list("live/", None, 100)).unwrap().len(), 10);
    };
    for _ in 0..3 {
        assert!(store.drive(store.0.sweep()).is_ok());
        gone(&store);
    }
    drop(store);
    gone(&place.open_small());
    for _ in 0..3 {
        compact(place.files()).unwrap();
        gone(&place.open_small());
    }
    assert!(place.check().is_good());
}

#[test]
fn compacting_an_empty_or_a_fully_deleted_store_leaves_a_small_folder() {
    let place = Place::new();
    compact(place.files()).unwrap();
    let store = place.open_small();
    for run in 0..20 {
        fill(&store, &format!("run {run}"), 10);
        store.drive(store.0.delete(&format!("run {run}").as_str().into())).unwrap();
    }
    let epoch = store.claim("last").epoch;
    drop(store);
    compact(place.files()).unwrap();
    compact(place.files()).unwrap();
    assert!(place.bytes() < 1_000, "{}", place.bytes());
    let store = place.open_small();
    assert!(store.claim("new").epoch > epoch);
}

#[test]
fn readers_of_a_segment_continue_while_it_is_rewritten() {
    let place = Place::new();
    let store = place.open_small();
    let keeper = store.claim("keeper");
    for n in 0..20 {
        store.fact(&keeper, format!("kept {n}"));
        fill(&store, &format!("run {n}"), 5);
    }
    assert_eq!(store.bodies("keeper", 0).len(), 20);
    place.clock.advance(MINUTE);
    let first = store.bodies("keeper", 10);
    store.drive(store.0.sweep()).unwrap();
    assert_eq!(store.bodies("keeper", 10), first);
    store.fact(&keeper, "and on");
    assert_eq!(store.bodies("keeper", 20), ["and on"]);
}

#[test]
fn long_lived_records_do_not_keep_a_file_for_each_old_segment() {
    let place = Place::new();
    let mut options = place.options();
    options.segment_bytes = 8_000;
    options.fsync = Fsync::Never;
    let store = place.open_with(options);
    let keeper = store.claim("keeper");
    let mut expected = Vec::new();
    for round in 0..40 {
        expected.push(format!("kept {round}"));
        store.fact(&keeper, format!("kept {round}"));
        store.put(&format!("kept/{round}"), "value");
        fill(&store, &format!("run {round}"), 60);
        place.clock.advance(MINUTE);
        store.drive(store.0.sweep()).unwrap();
        assert_eq!(store.bodies("keeper", 0), expected);
    }
    assert!(place.segments().len() < 15, "{} segments", place.segments().len());
    let all_there = |store: &SteppedStore| {
        assert_eq!(store.bodies("keeper", 0), expected);
        assert_eq!(
            store.info("keeper").unwrap().bytes,
            expected.iter().map(String::len).sum::<usize>() as u64
        );
        for round in 0..40 {
            assert_eq!(store.get(&format!("kept/{round}")).as_deref(), Some("value"));
        }
    };
    all_there(&store);
    drop(store);
    assert!(place.check().is_good());
    all_there(&place.open_small());
}

#[test]
fn segments_that_were_joined_and_are_still_there_count_once() {
    let place = Place::new();
    let store = place.open_small();
    let keeper = store.claim("keeper");
    for n in 0..12 {
        store.fact(&keeper, format!("kept {n}"));
        store.put("value", &format!("at {n}"));
        fill(&store, &format!("run {n}"), 20);
    }
    let expected = store.bodies("keeper", 0);
    let old: Vec<_> =
        place.segments().iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
    place.clock.advance(MINUTE);
    store.drive(store.0.sweep()).unwrap();
    drop(store);
    // As if the process had died before the old files were removed, one or all of them.
    for (path, bytes) in old.iter().rev().filter(|(path, _)| !path.exists()).collect::<Vec<_>>() {
        std::fs::write(path, bytes).unwrap();
        let report = place.check();
        assert!(report.is_good(), "{report}");
        let store = place.open_small();
        assert_eq!(store.bodies("keeper", 0), expected);
        assert_eq!(store.get("value").as_deref(), Some("at 11"));
    }
    let store = place.open_small();
    store.drive(store.0.sweep()).unwrap();
    assert_eq!(store.bodies("keeper", 0), expected);
}

#[test]
fn readers_see_the_same_records_while_segments_are_rewritten_joined_and_removed_under_them() {
    const ROUNDS: u64 = 60;
    let place = Place::new();
    let mut options = place.options();
    options.writer = Writer::Thread;
    options.segment_bytes = 6_000;
    options.tail_bytes = 0;
    options.fsync = Fsync::Never;
    options.max_open_files = 2;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let store = Arc::new(Embedded::open_folder(place.folder.path(), options).unwrap());
        let keeper: Lease = store.claim(&"keeper".into(), "me", MINUTE * 1_000).await.unwrap();
        let mut readers = tokio::task::JoinSet::new();
        for _ in 0..3 {
            let store = store.clone();
            readers.spawn(async move {
                let journal = "keeper".into();
                let mut after = 0;
                loop {
                    let limit = ReadLimit { records: 4, bytes: 10_000 };
                    let page = store.read(&journal, after, limit).await.unwrap();
                    for record in &page.records {
                        after += 1;
                        assert_eq!((record.seq, text(record)), (after, format!("kept {after}")));
                    }
                    if page.tail.closed && after == ROUNDS {
                        return;
                    }
                    // From the front again, so that all segments are read all the time.
                    if after == page.tail.last && !page.tail.closed {
                        after = 0;
                        tokio::task::yield_now().await;
                    }
                    let key = format!("kept/{}", page.tail.last / 2);
                    if let Some(value) = store.get(&key).await.unwrap() {
                        assert_eq!(value.bytes, key.as_bytes());
                    }
                }
            });
        }
        for round in 1..=ROUNDS {
            store.append(&keeper, Class::Fact, &[format!("kept {round}").into()]).unwrap().await.unwrap();
            let key = format!("kept/{round}");
            store.put(&key, key.clone().into(), Expect::Any, None).await.unwrap();
            let lease = store.claim(&format!("run {round}").into(), "me", MINUTE).await.unwrap();
            for _ in 0..20 {
                drop(store.append(&lease, Class::Delta, &[vec![b'x'; 300].into()]).unwrap());
            }
            store.close(&lease, Some(MINUTE)).await.unwrap();
            place.clock.advance(MINUTE);
            store.sweep().await.unwrap();
        }
        store.close(&keeper, None).await.unwrap();
        while let Some(read) = readers.join_next().await {
            read.unwrap();
        }
    });
    let report = place.check();
    assert!(report.is_good(), "{report}");
}
