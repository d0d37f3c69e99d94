//! The store in memory: the behaviour of every store, and what only this one promises.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use headwater_store::{Class, ErrorKind, Expect, ManualClock, Memory, MemoryOptions, Store};
use headwater_testkit::store::{Setup, behaviour};

async fn open(setup: Setup) -> Arc<dyn Store> {
    Arc::new(Memory::with(MemoryOptions {
        clock: setup.clock,
        max_record_bytes: setup.limits.record_bytes,
        max_value_bytes: setup.limits.value_bytes,
        max_journal_bytes: setup.limits.journal_bytes,
        ..MemoryOptions::default()
    }))
}

#[tokio::test]
async fn memory_shows_the_behaviour_of_every_store() {
    behaviour(open).await.unwrap_or_else(|failures| panic!("{failures}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn memory_shows_the_behaviour_of_every_store_on_many_threads() {
    behaviour(open).await.unwrap_or_else(|failures| panic!("{failures}"));
}

fn small(max_bytes: u64) -> Memory {
    Memory::with(MemoryOptions {
        max_bytes,
        clock: Arc::new(ManualClock::at(1_000)),
        ..MemoryOptions::default()
    })
}

const TTL: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_full_store_refuses_records_values_and_journals_until_something_goes() {
    let store = small(100_000);
    let run = "run".into();
    let lease = store.claim(&run, "driver", TTL).await.unwrap();
    let body = Bytes::from(vec![0; 1_000]);
    let refusal = loop {
        if let Err(error) = store.append(&lease, Class::Delta, std::slice::from_ref(&body)) {
            break error;
        }
    };
    assert_eq!(*refusal.kind(), ErrorKind::Full);
    let last = store.info(&run).await.unwrap().unwrap().tail.last;
    assert!((90..100).contains(&last), "{last} records of 1,000 bytes fit into 100,000");

    let put = store.put("key", body.clone(), Expect::Any, None).await.unwrap_err();
    assert_eq!(*put.kind(), ErrorKind::Full);
    assert!(store.get("key").await.unwrap().is_none());

    store.trim(&lease, last).await.unwrap();
    store.put("key", body.clone(), Expect::Any, None).await.unwrap();
    store.append(&lease, Class::Delta, &[body]).unwrap();
}

#[tokio::test]
async fn records_without_bytes_and_journals_without_records_fill_the_store_too() {
    let store = small(100_000);
    let lease = store.claim(&"run".into(), "driver", TTL).await.unwrap();
    while store.append(&lease, Class::Delta, &[Bytes::new()]).is_ok() {}
    let records = store.info(&lease.journal).await.unwrap().unwrap().tail.last;
    assert!(records < 10_000, "{records} empty records were taken");

    let store = small(100_000);
    let mut journals = 0;
    while store.claim(&format!("run {journals}").into(), "driver", TTL).await.is_ok() {
        journals += 1;
    }
    assert!(journals < 1_000, "{journals} empty journals were taken");
}

/// What goes gives back exactly what it took: a store that was emptied is as large as a new one.
#[tokio::test]
async fn whatever_goes_gives_its_room_back() {
    let clock = Arc::new(ManualClock::at(1_000));
    let options = MemoryOptions { clock: clock.clone(), ..MemoryOptions::default() };
    let store = Memory::with(options);
    let empty = format!("{store:?}");
    for round in 0..10 {
        let run = format!("run {round}").into();
        let lease = store.claim(&run, "driver", TTL).await.unwrap();
        store.append(&lease, Class::Fact, &["one".into(), Bytes::new(), "three".into()]).unwrap();
        store.trim(&lease, 2).await.unwrap();
        store.put("key", vec![1; round].into(), Expect::Any, None).await.unwrap();
        store.put(&format!("{round}"), "x".into(), Expect::Any, Some(TTL)).await.unwrap();
        store.release(&lease).await.unwrap();
        let lease = store.claim(&run, "driver", TTL).await.unwrap();
        if round % 2 == 0 {
            store.close(&lease, Some(TTL)).await.unwrap();
        } else {
            store.release(&lease).await.unwrap();
            store.delete(&run).await.unwrap();
        }
    }
    store.remove("key", Expect::Any).await.unwrap();
    assert_ne!(format!("{store:?}"), empty);
    clock.advance(TTL);
    let swept = store.sweep().await.unwrap();
    assert_eq!((swept.journals, swept.values), (5, 10));
    assert_eq!(format!("{store:?}"), empty);
}

#[tokio::test]
async fn two_stores_share_no_epoch() {
    let clock = Arc::new(ManualClock::at(1_000));
    let open = || Memory::with(MemoryOptions { clock: clock.clone(), ..MemoryOptions::default() });
    let (one, two) = (open(), open());
    let mut epochs = std::collections::HashSet::new();
    for n in 0..100 {
        let run = format!("run {n}").into();
        for store in [&one, &two] {
            assert!(epochs.insert(store.claim(&run, "driver", TTL).await.unwrap().epoch));
        }
    }
}

#[test]
fn an_idle_run_costs_less_than_a_kibibyte_beside_its_records() {
    let store = Memory::new();
    let runs: Vec<_> = (0..10_000).map(|number| format!("run_{number:026}").into()).collect();
    let used = allocation_counter::measure(|| {
        for run in &runs {
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(store.claim(run, "a driver's name", TTL).as_mut().poll(&mut context).is_ready());
        }
    });
    let each = used.bytes_current / i64::try_from(runs.len()).unwrap();
    assert!(each < 1_024, "{each} bytes for each run");
}

#[tokio::test]
async fn a_delta_allocates_next_to_nothing() {
    let store = Memory::new();
    let lease = store.claim(&"run".into(), "driver", TTL).await.unwrap();
    let body = [Bytes::from_static(b"a delta of some twenty bytes")];
    let append = || {
        for _ in 0..1_000 {
            drop(store.append(&lease, Class::Delta, &body).unwrap());
        }
    };
    append();
    let used = allocation_counter::measure(append);
    // The journal grows by doubling, now and then.
    assert!(used.count_total <= 2, "{used:?}");
}

#[tokio::test]
async fn a_wait_that_is_given_up_leaves_nothing_behind() {
    let store = Memory::new();
    let lease = store.claim(&"run".into(), "driver", TTL).await.unwrap();
    let used = allocation_counter::measure(|| {
        for _ in 0..100 {
            let mut waits: Vec<_> = (0..3).map(|_| store.wait(&lease.journal, 0)).collect();
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(waits.iter_mut().all(|wait| wait.as_mut().poll(&mut context).is_pending()));
        }
    });
    assert_eq!(used.bytes_current, 0, "{used:?}");
}
