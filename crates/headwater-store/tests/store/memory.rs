//! The store in memory: the behaviour of every store, and what only this one promises.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use headwater_store::{Class, Clock as _, ErrorKind, Expect, ManualClock, Memory, MemoryOptions, Store};
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
async fn full_store_refuses_records_values_and_journals_until_something_goes() {
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
    assert!((85..100).contains(&last), "{last} records of 1,000 bytes fit into 100,000");
    assert_eq!(*store.claim(&"other".into(), "driver", TTL).await.unwrap_err().kind(), ErrorKind::Full);
    assert_eq!(*store.flush().await.unwrap_err().kind(), ErrorKind::Full);

    // A run can still end: facts and values have a reserve.
    store.append(&lease, Class::Fact, std::slice::from_ref(&body)).unwrap();
    let mut kept = 0;
    let put = loop {
        match store.put(&format!("key {kept}"), body.clone(), Expect::Any, None).await {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(*put.kind(), ErrorKind::Full);
    assert!((3..8).contains(&kept), "{kept} values of 1,000 bytes fit into the reserve");
    assert!(store.get(&format!("key {kept}")).await.unwrap().is_none());

    store.trim(&lease, last).await.unwrap();
    store.flush().await.unwrap();
    store.put("key", body.clone(), Expect::Any, None).await.unwrap();
    store.append(&lease, Class::Delta, &[body]).unwrap();
}

#[tokio::test]
async fn full_store_drops_the_oldest_ended_journals_and_no_others() {
    let clock = Arc::new(ManualClock::at(1_000));
    let options = MemoryOptions { max_bytes: 100_000, clock: clock.clone(), ..MemoryOptions::default() };
    let store = Memory::with(options);
    let body = Bytes::from(vec![0; 1_000]);
    let fill = async |name: &str, keep: Option<Duration>| {
        let lease = store.claim(&name.into(), "driver", TTL).await.unwrap();
        store.append(&lease, Class::Delta, &vec![body.clone(); 10]).unwrap();
        store.close(&lease, keep).await.unwrap();
        clock.advance(Duration::from_secs(1));
    };
    let waiting = store.claim(&"waiting".into(), "driver", TTL).await.unwrap();
    store.append(&waiting, Class::Fact, std::slice::from_ref(&body)).unwrap();
    store.release(&waiting).await.unwrap();
    fill("forever", None).await;
    for number in 0..40 {
        fill(&format!("run {number}"), Some(TTL * 60)).await;
        store.flush().await.unwrap();
    }
    let there = async |name: &str| store.info(&name.into()).await.unwrap().is_some();
    assert!(there("waiting").await && there("forever").await, "only what ends anyway may go before its time");
    let kept: Vec<_> =
        futures_util::future::join_all((0..40).map(async |number| there(&format!("run {number}")).await))
            .await;
    let gone = kept.iter().filter(|kept| !**kept).count();
    assert!((25..39).contains(&gone), "{gone} of 40 ended journals of 10,000 bytes are gone");
    assert!(kept.iter().skip(gone).all(|kept| *kept), "the oldest went first: {kept:?}");
    let error = store.read(&"run 0".into(), 0, headwater_store::ReadLimit::default()).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unknown);
}

/// Packed records are the records that were appended, from any place on and after any trim.
#[tokio::test]
async fn packed_records_are_read_as_they_were_appended() {
    let clock = Arc::new(ManualClock::at(1_000));
    let store = Memory::with(MemoryOptions { clock: clock.clone(), ..MemoryOptions::default() });
    let lease = store.claim(&"run".into(), "driver", TTL * 1_000).await.unwrap();
    let mut expected = Vec::new();
    for number in 0..1_500_u64 {
        let class = if number % 7 == 0 { Class::Fact } else { Class::Delta };
        let size = if number % 500 == 499 { 300_000 } else { (number % 30) as usize };
        let body = Bytes::from(vec![number as u8; size]);
        store.append(&lease, class, std::slice::from_ref(&body)).unwrap();
        expected.push((number + 1, clock.now(), class, body));
        clock.advance(Duration::from_millis(number % 3));
    }
    let all = headwater_store::ReadLimit { records: usize::MAX, bytes: usize::MAX };
    let read = async |after: u64| {
        let page = store.read(&lease.journal, after, all).await.unwrap();
        let records = page.records.into_iter();
        records.map(|record| (record.seq, record.time, record.class, record.body)).collect::<Vec<_>>()
    };
    for after in [0, 1, 255, 256, 257, 499, 500, 1_280, 1_499, 1_500] {
        assert_eq!(read(after).await, expected[after as usize..], "after {after}");
    }
    for before in [2, 300, 500, 501, 1_400] {
        store.trim(&lease, before).await.unwrap();
        assert_eq!(read(before - 1).await, expected[before as usize - 1..], "trimmed before {before}");
    }
    store.close(&lease, None).await.unwrap();
    assert_eq!(read(1_450).await, expected[1_450..]);
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
fn idle_run_costs_less_than_a_kibibyte_beside_its_records() {
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
async fn delta_allocates_next_to_nothing() {
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
    // Two for each block of 256 records, and the list of blocks grows by doubling.
    assert!(used.count_total <= 10, "{used:?}");
    assert!(
        used.bytes_current <= 1_000 * (28 + 10),
        "packed records take their bytes and little more: {used:?}"
    );
}

#[tokio::test]
async fn wait_that_is_given_up_leaves_nothing_behind() {
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
