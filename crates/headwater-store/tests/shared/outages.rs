//! An engine that fails and recovers: nothing that was acknowledged is lost, and nothing is there twice.

use std::{sync::Arc, time::Duration};

use headwater_store::{Class, Expect, JournalId, Lease, Store, remote::Options};
use headwater_testkit::balancer::LinkState;
use tokio::task::JoinSet;

use crate::engine::{Engine, balanced, bodies, code, fact, never_polls, on_every_engine, soon, until};

on_every_engine!(
    engine_that_is_killed_loses_and_repeats_nothing,
    connections_that_are_cut_lose_and_repeat_nothing,
    store_stops_when_the_engine_stays_away,
    store_stops_when_the_engine_says_nothing,
    readers_get_an_error_when_the_engine_says_nothing,
    listener_whose_connection_was_forgotten_is_replaced,
    full_buffer_is_busy_until_the_engine_is_back,
);

const MINUTE: Duration = Duration::from_secs(60);
const RUNS: usize = 6;
const RECORDS: usize = 150;

/// Appends numbers, facts and deltas, and waits for each fact.
async fn count(store: Arc<dyn Store>, lease: Lease) -> headwater_store::Result<JournalId> {
    for n in 1..=RECORDS {
        let class = if n % 3 == 0 { Class::Fact } else { Class::Delta };
        let receipt = store.append(&lease, class, &[n.to_string().into()])?;
        if class == Class::Fact {
            assert_eq!(receipt.await?, n as u64);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    store.close(&lease, None).await?;
    Ok(lease.journal)
}

/// Puts a value again and again, each time after the one before.
async fn count_value(store: Arc<dyn Store>) -> headwater_store::Result<()> {
    let mut expect = Expect::Absent;
    for n in 1..=RECORDS / 2 {
        let version = store.put("counter", n.to_string().into(), expect, None).await?;
        expect = Expect::Version(version);
    }
    Ok(())
}

async fn survives<E: Engine>(url: String, disturb: impl AsyncFnOnce()) {
    let store = E::connect(url.clone(), never_polls()).await.unwrap();
    let mut runs = JoinSet::new();
    for run in 0..RUNS {
        let lease = store.claim(&format!("run {run}").into(), "driver", MINUTE).await.unwrap();
        runs.spawn(count(store.clone(), lease));
    }
    let counter = tokio::spawn(count_value(store.clone()));
    disturb().await;
    let fresh = E::connect(url, never_polls()).await.unwrap();
    let expected: Vec<String> = (1..=RECORDS).map(|n| n.to_string()).collect();
    while let Some(run) = soon("a run", runs.join_next()).await {
        let run = run.unwrap().unwrap();
        for store in [&store, &fresh] {
            assert_eq!(bodies(&**store, &run).await, expected);
        }
    }
    soon("the counter", counter).await.unwrap().unwrap();
    assert_eq!(fresh.get("counter").await.unwrap().unwrap().bytes, (RECORDS / 2).to_string());
}

async fn engine_that_is_killed_loses_and_repeats_nothing<E: Engine>(mut server: E) {
    survives::<E>(server.url(), async || {
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(60)).await;
            server.kill();
            tokio::time::sleep(Duration::from_millis(50)).await;
            server.restart();
        }
    })
    .await;
}

async fn connections_that_are_cut_lose_and_repeat_nothing<E: Engine>(server: E) {
    let (balancer, url) = balanced(&server);
    survives::<E>(url, async || {
        for _ in 0..40 {
            tokio::time::sleep(Duration::from_millis(11)).await;
            balancer.reset(0);
        }
    })
    .await;
}

async fn store_stops_when_the_engine_stays_away<E: Engine>(mut server: E) {
    let mut options = never_polls();
    options.give_up_after = Duration::from_millis(300);
    options.patience = Duration::from_millis(300);
    let store = server.open_with(options).await;
    let lease = store.claim(&"run".into(), "driver", MINUTE).await.unwrap();
    fact(&*store, &lease, "one").await.unwrap();
    server.kill();
    let error = fact(&*store, &lease, "two").await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), ("store.unavailable", true), "{error}");
    soon("the store stops", store.stopped()).await;
    assert_eq!(code(store.append(&lease, Class::Delta, &["x".into()])), "store.stopped");
    assert_eq!(code(store.put("key", "x".into(), Expect::Any, None).await), "store.stopped");
    assert_eq!(code(store.get("key").await), "store.unavailable");
    assert_eq!(code(store.info(&lease.journal).await), "store.unavailable");
    server.restart();
    // Reads continue by themselves.
    assert_eq!(bodies(&*store, &lease.journal).await, ["one"]);
}

/// Options for an engine that answers within a second or not at all.
fn impatient() -> Options {
    let mut options = never_polls();
    options.request_timeout = Duration::from_secs(1);
    options
}

/// A URL whose connections take a second at most, where the URL says that.
fn connects_within_a_second(url: String) -> String {
    match url.split_once('?') {
        _ if url.starts_with("redis") => url,
        Some(_) => format!("{url}&connect_timeout=1"),
        None => format!("{url}?connect_timeout=1"),
    }
}

/// Packets are dropped, also those of new connections: the writer must not wait for a handshake for ever.
async fn store_stops_when_the_engine_says_nothing<E: Engine>(server: E) {
    let (balancer, url) = balanced(&server);
    let mut options = impatient();
    options.give_up_after = Duration::from_secs(2);
    options.patience = Duration::from_secs(2);
    let store = E::connect(connects_within_a_second(url), options).await.unwrap();
    let lease = store.claim(&"run".into(), "driver", MINUTE).await.unwrap();
    fact(&*store, &lease, "one").await.unwrap();
    balancer.set_link(0, LinkState::Stalled);
    let error = soon("the fact", fact(&*store, &lease, "two")).await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), ("store.unavailable", true), "{error}");
    soon("the store stops", store.stopped()).await;
    assert_eq!(code(soon("the value", store.get("key")).await), "store.unavailable");
}

/// Many at once, those that wait for another node's records too: none waits longer because of the others.
async fn readers_get_an_error_when_the_engine_says_nothing<E: Engine>(server: E) {
    let (balancer, url) = balanced(&server);
    let driver = server.open().await;
    let lease = driver.claim(&"run".into(), "driver", MINUTE).await.unwrap();
    fact(&*driver, &lease, "one").await.unwrap();
    let mut options = impatient();
    options.read_patience = Duration::from_secs(1);
    options.poll = Duration::from_secs(1);
    let store = E::connect(url, options).await.unwrap();
    assert_eq!(store.wait(&lease.journal, 0).await.unwrap().last, 1);
    let mut readers = JoinSet::new();
    for _ in 0..50 {
        let (store, run) = (store.clone(), lease.journal.clone());
        readers.spawn(async move { store.wait(&run, 1).await.map(drop) });
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    balancer.set_link(0, LinkState::Stalled);
    for _ in 0..50 {
        let (store, run) = (store.clone(), lease.journal.clone());
        readers.spawn(async move { store.info(&run).await.map(drop) });
    }
    while let Some(read) = soon("a reader", readers.join_next()).await {
        assert_eq!(code(read.unwrap()), "store.unavailable");
    }
    balancer.set_link(0, LinkState::Open);
    until("it is read again", async || store.info(&lease.journal).await.is_ok()).await;
}

/// Nothing but announcements wakes a watch here, and no announcement comes over a connection that a firewall has forgotten.
async fn listener_whose_connection_was_forgotten_is_replaced<E: Engine>(server: E) {
    let (balancer, url) = balanced(&server);
    let (store, other) = (E::connect(url, impatient()).await.unwrap(), server.open().await);
    let mut watch = store.watch("key");
    balancer.forget(0);
    other.put("key", "one".into(), Expect::Any, None).await.unwrap();
    soon("the watch looks again", watch.changed()).await;
    assert_eq!(store.get("key").await.unwrap().unwrap().bytes, "one");
    // The new connection has announcements.
    other.put("key", "two".into(), Expect::Any, None).await.unwrap();
    soon("the watch is woken", watch.changed()).await;
}

async fn full_buffer_is_busy_until_the_engine_is_back<E: Engine>(server: E) {
    let (balancer, url) = balanced(&server);
    let mut options = never_polls();
    options.max_pending_bytes = 10_000;
    let store = E::connect(url, options).await.unwrap();
    let lease = store.claim(&"run".into(), "driver", MINUTE).await.unwrap();
    balancer.set_link(0, LinkState::Cut);
    let mut taken = 0;
    let refusal = loop {
        match store.append(&lease, Class::Delta, &[vec![b'x'; 1_000].into()]) {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
        // The writer takes what fits into one commit, and the rest gathers.
        assert!(taken < 100, "nothing is refused");
        tokio::task::yield_now().await;
    };
    assert_eq!((refusal.code(), refusal.is_retryable()), ("store.busy", true));
    // Facts have twice as much room.
    let late = store.append(&lease, Class::Fact, &["fact".into()]).unwrap();
    balancer.set_link(0, LinkState::Open);
    assert_eq!(soon("the fact", late).await.unwrap(), taken + 1);
    soon("room", store.room()).await.unwrap();
    store.append(&lease, Class::Delta, &[vec![b'x'; 1_000].into()]).unwrap();
}
