//! Small values.

use headwater_store::{Expect, Store};

use crate::support::{MINUTE, Place, code};

#[test]
fn value_is_seen_when_it_is_durable_and_survives() {
    let place = Place::new();
    let store = place.open();
    let mut put = store.0.put("key", "value".into(), Expect::Absent, None);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(put.as_mut().poll(&mut context).is_pending());
    assert_eq!(store.get("key"), None);
    let version = store.drive(put).unwrap();
    assert_eq!(store.get("key").as_deref(), Some("value"));
    drop(store);
    let store = place.open();
    assert_eq!(store.drive(store.0.get("key")).unwrap().unwrap().version, version);
    assert_eq!(store.get("key").as_deref(), Some("value"));
}

#[test]
fn of_two_writes_that_expect_the_same_one_wins() {
    let place = Place::new();
    let store = place.open();
    let version = store.put("turn", "1");
    let first = store.0.put("turn", "2".into(), Expect::Version(version), None);
    let second = store.0.put("turn", "two".into(), Expect::Version(version), None);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut first = first;
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert_eq!(code(store.drive(second)), "store.conflict");
    store.drive(first).unwrap();
    assert_eq!(store.get("turn").as_deref(), Some("2"));
    assert_eq!(code(store.drive(store.0.put("turn", "x".into(), Expect::Absent, None))), "store.conflict");
    assert_eq!(code(store.drive(store.0.remove("turn", Expect::Version(version)))), "store.conflict");
    assert!(store.drive(store.0.remove("turn", Expect::Any)).unwrap());
    assert!(!store.drive(store.0.remove("turn", Expect::Any)).unwrap());
}

#[test]
fn versions_never_repeat_even_after_everything_was_removed() {
    let place = Place::new();
    let store = place.open_small();
    let mut newest = 0;
    for round in 0..40 {
        let version = store.put("key", &"v".repeat(200));
        assert!(version > newest, "round {round}");
        newest = version;
        store.drive(store.0.remove("key", Expect::Any)).unwrap();
    }
    store.drive(store.0.sweep()).unwrap();
    drop(store);
    headwater_store::embedded::compact(place.files()).unwrap();
    let store = place.open();
    assert!(store.put("key", "new") > newest);
}

#[test]
fn value_goes_when_its_time_is_over() {
    let place = Place::new();
    let store = place.open();
    store.drive(store.0.put("short", "x".into(), Expect::Any, Some(MINUTE))).unwrap();
    store.put("long", "y");
    place.clock.advance(MINUTE);
    assert_eq!(store.get("short"), None);
    assert_eq!(store.drive(store.0.list("", None, 10)).unwrap().len(), 1);
    store.drive(store.0.put("short", "again".into(), Expect::Absent, Some(MINUTE))).unwrap();
    place.clock.advance(MINUTE);
    assert_eq!(store.drive(store.0.sweep()).unwrap().values, 1);
    drop(store);
    let store = place.open();
    assert_eq!((store.get("short"), store.get("long").as_deref()), (None, Some("y")));
}

#[test]
fn list_is_ordered_and_continues_after_a_key() {
    let place = Place::new();
    let store = place.open_small();
    for key in ["b/2", "a/1", "b/1", "b/3", "c"] {
        store.put(key, key);
    }
    let keys = |after, limit| {
        let found = store.drive(store.0.list("b/", after, limit)).unwrap();
        found.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
    };
    assert_eq!(keys(None, 2), ["b/1", "b/2"]);
    assert_eq!(keys(Some("b/2"), 2), ["b/3"]);
    assert_eq!(keys(Some("a"), 1), ["b/1"]);
    assert!(keys(Some("b/3"), 5).is_empty());
}

#[test]
fn watch_wakes_for_its_prefix_only_and_not_before_the_change_is_durable() {
    let place = Place::new();
    let store = place.open();
    let mut inbox = store.0.watch("inbox/1/");
    let mut other = store.0.watch("inbox/2/");
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut woken = |watch: &mut headwater_store::Watch| {
        let changed = std::pin::pin!(watch.changed());
        changed.poll(&mut context).is_ready()
    };
    store.put("inbox/1/stop", "now");
    assert!(woken(&mut inbox));
    assert!(!woken(&mut inbox));
    assert!(!woken(&mut other));
    store.drive(store.0.remove("inbox/1/stop", Expect::Any)).unwrap();
    assert!(woken(&mut inbox));
}

#[test]
fn expiry_of_a_value_is_visible_only_once_durable() {
    let place = Place::new();
    let store = place.open();
    store.put("key", "value");
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut first = store.0.remove("key", Expect::Any);
    assert!(first.as_mut().poll(&mut context).is_pending());
    let mut second = store.0.remove("key", Expect::Any);
    assert!(second.as_mut().poll(&mut context).is_pending());
    assert!(store.drive(first).unwrap());
    assert!(!store.drive(second).unwrap());
}
