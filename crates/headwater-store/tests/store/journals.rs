//! Journals and leases.

use std::task::{Context, Waker};

use headwater_store::{Class, Cursor, EpochStart, Expect, Place as CursorPlace, ReadLimit, Store};

use crate::support::{MINUTE, Place, bodies, code};

#[test]
fn fact_is_seen_when_it_is_durable_and_a_delta_at_once() {
    let place = Place::new();
    let store = place.open();
    let lease = store.claim("run");
    store.delta(&lease, "a");
    assert_eq!(bodies(&store.page("run", 0).unwrap()), ["a"]);
    let receipt = store.0.append(&lease, Class::Fact, &["b".into()]).unwrap();
    store.delta(&lease, "c");
    assert_eq!(bodies(&store.page("run", 0).unwrap()), ["a"], "nothing passes a fact that is not durable");
    assert_eq!(store.drive(receipt).unwrap(), 2);
    assert_eq!(bodies(&store.page("run", 0).unwrap()), ["a", "b", "c"]);
}

#[test]
fn deltas_flow_again_once_the_fact_before_them_is_durable() {
    let place = Place::new();
    let store = place.open();
    let lease = store.claim("run");
    let _fact = store.0.append(&lease, Class::Fact, &["fact".into()]).unwrap();
    store.0.step().unwrap();
    store.delta(&lease, "delta");
    assert_eq!(store.page("run", 0).unwrap().tail.last, 2);
}

#[test]
fn no_more_deltas_than_the_limit_are_seen_before_they_are_durable() {
    let place = Place::new();
    let store = place.open();
    let lease = store.claim("run");
    for _ in 0..300 {
        store.delta(&lease, "x");
    }
    assert_eq!(store.info("run").unwrap().tail.last, 256);
    store.0.step().unwrap();
    assert_eq!(store.info("run").unwrap().tail.last, 300);
}

#[test]
fn records_are_read_back_the_same_from_memory_and_from_every_segment() {
    let place = Place::new();
    let store = place.open_small();
    let lease = store.claim("run");
    let other = store.claim("other");
    let mut expected = Vec::new();
    for n in 0..100 {
        store.0.append(&other, Class::Delta, &["noise".into()]).unwrap();
        let body = format!("record {n} {}", "x".repeat(n));
        store.fact(&lease, body.clone());
        expected.push(body);
    }
    assert!(place.segments().len() > 5);
    assert_eq!(store.bodies("run", 0), expected);
    assert_eq!(store.bodies("run", 50), expected[50..]);
    let live = store.page("run", 0).unwrap();
    drop(store);
    let store = place.open_small();
    assert_eq!(store.bodies("run", 0), expected);
    assert_eq!(store.page("run", 0).unwrap().records, live.records);
    assert_eq!(store.info("run").unwrap().bytes, expected.iter().map(String::len).sum::<usize>() as u64);
    assert!(place.open_again_is_refused());
}

impl Place {
    fn open_again_is_refused(&self) -> bool {
        let error = headwater_store::Embedded::open(self.folder.path()).unwrap_err();
        error.code() == "store.locked" && error.to_string().contains("in use by another process")
    }
}

#[test]
fn page_keeps_to_its_limit_and_gives_one_record_at_least() {
    let place = Place::new();
    let store = place.open_small();
    let lease = store.claim("run");
    for _ in 0..50 {
        store.fact(&lease, "0123456789".repeat(20));
    }
    for after in [0, 10, 48] {
        let read = |records, bytes| {
            let page =
                store.drive(store.0.read(&lease.journal, after, ReadLimit { records, bytes })).unwrap();
            page.records.len()
        };
        assert_eq!(read(1_000, 10), 1);
        assert_eq!(read(2, 10_000), 2);
        assert_eq!(read(1_000, 401), 2);
    }
}

#[test]
fn only_the_newest_epoch_writes() {
    let place = Place::new();
    let store = place.open();
    let old = store.claim("run");
    store.fact(&old, "old");
    assert_eq!(code(store.drive(store.0.claim(&"run".into(), "b", MINUTE))), "store.held");
    place.clock.advance(MINUTE);
    assert_eq!(store.expired(), ["run".into()]);
    let new = store.claim("run");
    assert!(new.epoch > old.epoch);
    assert_eq!(new.first, 2);
    assert_eq!(code(store.0.append(&old, Class::Fact, &["late".into()])), "store.stale");
    assert_eq!(code(store.drive(store.0.renew(&old, MINUTE))), "store.stale");
    assert!(store.expired().is_empty());
    store.drive(store.0.release(&new)).unwrap();
    assert!(store.expired().is_empty());
    assert_eq!(code(store.0.append(&new, Class::Fact, &["late".into()])), "store.stale");
}

#[test]
fn expired_lease_can_be_renewed_until_another_claim() {
    let place = Place::new();
    let store = place.open();
    let lease = store.claim("run");
    place.clock.advance(MINUTE * 2);
    let renewed = store.drive(store.0.renew(&lease, MINUTE)).unwrap();
    assert!(renewed.expires > lease.expires);
    assert!(store.expired().is_empty());
    store.fact(&renewed, "still here");
}

#[test]
fn leases_of_a_dead_process_have_run_out_and_cannot_write_any_more() {
    let place = Place::new();
    let store = place.open();
    let died = store.claim("died");
    let gave_back = store.claim("gave back");
    let closed = store.claim("closed");
    store.drive(store.0.release(&gave_back)).unwrap();
    store.drive(store.0.close(&closed, None)).unwrap();
    drop(store);
    let store = place.open();
    assert_eq!(store.expired(), ["died".into()]);
    assert_eq!(code(store.0.append(&died, Class::Fact, &["late".into()])), "store.stale");
    assert_eq!(code(store.drive(store.0.claim(&"closed".into(), "b", MINUTE))), "store.closed");
    assert!(store.claim("died").epoch > closed.epoch);
}

#[test]
fn cursor_after_lost_deltas_is_moved_to_the_next_epoch() {
    let place = Place::new();
    let store = place.open();
    let lease = store.claim("run");
    store.fact(&lease, "kept");
    store.delta(&lease, "seen");
    store.delta(&lease, "seen too");
    assert_eq!(store.info("run").unwrap().tail.last, 3);
    drop(store);
    let store = place.open();
    let next = store.claim("run");
    assert_eq!(next.first, 2);
    store.fact(&next, "took over");
    let info = store.info("run").unwrap();
    assert_eq!(
        info.epochs,
        [EpochStart { epoch: lease.epoch, first: 1 }, EpochStart { epoch: next.epoch, first: 2 }]
    );
    let cursor = Cursor { journal: "run".into(), epoch: lease.epoch, seq: 3, frame: 0, count: 0 };
    assert_eq!(cursor.place(&"run".into(), &info).unwrap(), CursorPlace::Moved(1));
}

#[test]
fn closed_journal_takes_no_more_and_wakes_its_waiters() {
    let place = Place::new();
    let store = place.open();
    let lease = store.claim("run");
    store.fact(&lease, "end");
    let waiting = store.0.wait(&lease.journal, 1);
    store.drive(store.0.close(&lease, Some(MINUTE))).unwrap();
    assert!(store.drive(waiting).unwrap().closed);
    assert_eq!(code(store.0.append(&lease, Class::Fact, &["late".into()])), "store.closed");
    assert!(store.info("run").unwrap().goes.is_some());
}

#[test]
fn trimmed_journal_keeps_its_numbers_and_counts_the_rest() {
    let place = Place::new();
    let store = place.open_small();
    let lease = store.claim("run");
    for n in 0..60 {
        store.fact(&lease, format!("{n:0100}"));
    }
    store.0.append(&lease, Class::Delta, &["one".into(), "two".into(), "three".into()]).unwrap();
    store.drive(store.0.trim(&lease, 62)).unwrap();
    let after = |store: &crate::support::SteppedStore| {
        let info = store.info("run").unwrap();
        assert_eq!((info.first, info.tail.last, info.bytes), (62, 63, 8));
        assert_eq!(code(store.page("run", 60)), "store.trimmed");
        assert_eq!(bodies(&store.page("run", 61).unwrap()), ["two", "three"]);
    };
    after(&store);
    drop(store);
    let store = place.open_small();
    after(&store);
    drop(store);
    assert!(place.check().is_good());
}

#[test]
fn oversized_requests_are_refused_with_nothing_appended() {
    let place = Place::new();
    let mut options = place.options();
    options.max_record_bytes = 10;
    options.max_journal_bytes = 25;
    let store = place.open_with(options);
    let lease = store.claim("run");
    assert_eq!(code(store.0.append(&lease, Class::Fact, &["0123456789a".into()])), "store.too-large");
    store.fact(&lease, "0123456789");
    store.fact(&lease, "0123456789");
    assert_eq!(code(store.0.append(&lease, Class::Fact, &["0123456789".into()])), "store.full");
    store.drive(store.0.trim(&lease, 2)).unwrap();
    assert_eq!(store.fact(&lease, "0123456789"), 3);
}

#[test]
fn deltas_of_a_disk_that_is_too_slow_wait_for_room_and_facts_still_have_some() {
    let place = Place::new();
    let mut options = place.options();
    options.max_pending_bytes = 1_000;
    let store = place.open_with(options);
    let lease = store.claim("run");
    let ready = |room: &mut headwater_store::Pending<'_, ()>| {
        room.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
    };
    store.delta(&lease, "x".repeat(300));
    assert!(ready(&mut store.0.room()), "under half of the limit");
    store.delta(&lease, "x".repeat(300));
    let mut room = store.0.room();
    assert!(!ready(&mut room));
    let refused = store.0.append(&lease, Class::Delta, &["x".repeat(300).into()]).unwrap_err();
    assert_eq!((refused.code(), refused.is_retryable()), ("store.busy", true));
    let fact = store.0.append(&lease, Class::Fact, &["x".repeat(900).into()]).unwrap();
    let refused = store.0.append(&lease, Class::Fact, &["x".repeat(900).into()]);
    assert_eq!(code(refused), "store.busy");
    // A value waits by itself.
    let mut put = store.0.put("key", "x".repeat(500).into(), Expect::Any, None);
    assert!(put.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert!(!ready(&mut room));
    store.0.step().unwrap();
    assert!(ready(&mut room));
    store.drive(put).unwrap();
    assert_eq!(store.drive(fact).unwrap(), 3, "no part of the refused append is stored");
    store.delta(&lease, "x".repeat(300));
}

#[test]
fn deleted_journal_is_gone_and_one_of_its_name_begins_anew() {
    let place = Place::new();
    let store = place.open();
    let lease = store.claim("run");
    store.fact(&lease, "old");
    assert_eq!(code(store.drive(store.0.delete(&lease.journal))), "store.held");
    store.drive(store.0.release(&lease)).unwrap();
    let deleting = store.0.delete(&lease.journal);
    store.drive(deleting).unwrap();
    assert_eq!(code(store.page("run", 0)), "store.unknown");
    store.drive(store.0.delete(&lease.journal)).unwrap();
    let new = store.claim("run");
    assert!(new.epoch > lease.epoch);
    assert_eq!(new.first, 1);
    store.fact(&new, "new");
    drop(store);
    let store = place.open();
    assert_eq!(store.bodies("run", 0), ["new"]);
}
