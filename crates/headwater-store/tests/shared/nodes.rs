//! Two stores on one engine, as two nodes have them.

use std::{sync::Arc, time::Duration};

use headwater_store::{Class, Clock, Expect, JournalId, Monotonic, ReadLimit, SystemClock, Tail, Time};
use tokio::task::JoinSet;

use crate::engine::{Engine, bodies, code, fact, never_polls, on_every_engine, records, soon, until};

on_every_engine!(
    paused_driver_is_fenced,
    reader_on_another_node_is_woken,
    reader_on_another_node_sees_the_end_and_the_deletion,
    watch_on_another_node_is_woken,
    reader_is_woken_although_its_announcement_was_lost,
    wall_clocks_of_nodes_decide_nothing,
    thousand_readers_share_a_few_connections,
);

const MINUTE: Duration = Duration::from_secs(60);

async fn paused_driver_is_fenced<E: Engine>(server: E) {
    let (old, new) = (server.open().await, server.open().await);
    let run: JournalId = "run".into();
    let paused = old.claim(&run, "old", Duration::from_millis(200)).await.unwrap();
    assert_eq!(fact(&*old, &paused, "one").await.unwrap(), 1);
    until("the lease runs out", async || new.expired(10).await.unwrap() == [run.clone()]).await;
    let lease = new.claim(&run, "new", MINUTE).await.unwrap();
    assert_eq!((lease.first, lease.epoch > paused.epoch), (2, true));

    // The paused node wakes up. It does not know yet: it shows a delta to its own readers, and no other node sees it.
    let seen = old.append(&paused, Class::Delta, &["lost".into()]).unwrap();
    assert_eq!(seen.await.unwrap(), 2);
    let reader = old.wait(&run, 2);
    assert_eq!(code(fact(&*old, &paused, "lost too").await), "store.stale");
    // Its readers get an error about the lost records, and start again with their cursors.
    assert_eq!(code(soon("the reader", reader).await), "store.unavailable");
    assert_eq!(code(old.append(&paused, Class::Delta, &["x".into()])), "store.stale");
    assert_eq!(code(old.renew(&paused, MINUTE).await), "store.stale");
    assert_eq!(code(old.close(&paused, None).await), "store.stale");

    fact(&*new, &lease, "two").await.unwrap();
    assert_eq!(bodies(&*new, &run).await, ["one", "two"]);
    // The old node's readers get the error for a moment; those that start again are served.
    until("the old node serves readers again", async || old.wait(&run, 1).await.is_ok()).await;
    until("readers beyond what was lost, too", async || {
        old.read(&run, 2, ReadLimit::default()).await.is_ok()
    })
    .await;
    assert_eq!(bodies(&*old, &run).await, ["one", "two"]);
}

async fn reader_on_another_node_is_woken<E: Engine>(server: E) {
    let (writer, reader) = (server.open().await, server.open().await);
    let run: JournalId = "run".into();
    let lease = writer.claim(&run, "driver", MINUTE).await.unwrap();
    for (seq, class) in (1..=20).zip([Class::Fact, Class::Delta].into_iter().cycle()) {
        let wait = tokio::spawn({
            let (reader, run) = (reader.clone(), run.clone());
            async move { reader.wait(&run, seq - 1).await }
        });
        drop(writer.append(&lease, class, &[seq.to_string().into()]).unwrap());
        let tail = soon("the reader", wait).await.unwrap().unwrap();
        assert_eq!(tail, Tail { last: seq, closed: false });
        let page = reader.read(&run, seq - 1, ReadLimit::default()).await.unwrap();
        assert_eq!(page.records.len(), 1);
        assert_eq!((page.records[0].seq, page.records[0].class), (seq, class));
    }
}

async fn reader_on_another_node_sees_the_end_and_the_deletion<E: Engine>(server: E) {
    let (writer, reader) = (server.open().await, server.open().await);
    for deletes in [false, true] {
        let run: JournalId = format!("run {deletes}").into();
        let lease = writer.claim(&run, "driver", MINUTE).await.unwrap();
        fact(&*writer, &lease, "one").await.unwrap();
        assert_eq!(reader.wait(&run, 0).await.unwrap().last, 1);
        let wait = tokio::spawn({
            let (reader, run) = (reader.clone(), run.clone());
            async move { reader.wait(&run, 1).await }
        });
        if deletes {
            writer.release(&lease).await.unwrap();
            writer.delete(&run).await.unwrap();
            assert_eq!(code(soon("the reader", wait).await.unwrap()), "store.unknown");
        } else {
            writer.close(&lease, None).await.unwrap();
            let tail = soon("the reader", wait).await.unwrap().unwrap();
            assert_eq!(tail, Tail { last: 1, closed: true });
        }
    }
}

async fn watch_on_another_node_is_woken<E: Engine>(server: E) {
    let (one, two) = (server.open().await, server.open().await);
    let mut watch = two.watch("inbox/run\0/");
    for (round, key) in ["inbox/run\0/a", "inbox/run\0/ü", "inbox/run\0/"].into_iter().enumerate() {
        one.put(key, format!("{round}").into(), Expect::Absent, None).await.unwrap();
        soon("the watch after a put", watch.changed()).await;
        assert_eq!(two.get(key).await.unwrap().unwrap().bytes, format!("{round}"));
        one.remove(key, Expect::Any).await.unwrap();
        soon("the watch after a removal", watch.changed()).await;
    }
}

async fn reader_is_woken_although_its_announcement_was_lost<E: Engine>(server: E) {
    let mut options = never_polls();
    options.poll = Duration::from_millis(50);
    let (writer, reader) = (server.open().await, server.open_with(options).await);
    let run: JournalId = "run".into();
    let lease = writer.claim(&run, "driver", MINUTE).await.unwrap();
    for round in 1..=3 {
        let wait = tokio::spawn({
            let (reader, run) = (reader.clone(), run.clone());
            async move { reader.wait(&run, round - 1).await }
        });
        let mut watch = reader.watch("key");
        server.cut_listeners();
        fact(&*writer, &lease, "x").await.unwrap();
        writer.put("key", "x".into(), Expect::Any, None).await.unwrap();
        assert_eq!(soon("the reader", wait).await.unwrap().unwrap().last, round);
        soon("the watch", watch.changed()).await;
        until("the store listens again", async || server.connections() >= 4).await;
    }
}

/// A node whose wall clock is wrong.
#[derive(Debug)]
struct SkewedClock(i64);

impl Clock for SkewedClock {
    fn now(&self) -> Time {
        Time(SystemClock.now().0.saturating_add_signed(self.0 * 1_000))
    }

    fn monotonic(&self) -> Monotonic {
        SystemClock.monotonic()
    }
}

async fn wall_clocks_of_nodes_decide_nothing<E: Engine>(server: E) {
    const DAY: i64 = 86_400;
    let open = async |skew: i64| {
        let mut options = never_polls();
        options.clock = Arc::new(SkewedClock(skew));
        server.open_with(options).await
    };
    let (behind, ahead) = (open(-DAY).await, open(DAY).await);
    let run: JournalId = "run".into();
    let lease = behind.claim(&run, "behind", MINUTE).await.unwrap();
    behind.put("key", "x".into(), Expect::Any, Some(MINUTE)).await.unwrap();
    // A day is more than a minute, on whichever side it is.
    assert_eq!(code(ahead.claim(&run, "ahead", MINUTE).await), "store.held");
    assert_eq!(ahead.expired(10).await.unwrap(), []);
    assert_eq!(ahead.sweep().await.unwrap().values, 0);
    assert!(ahead.get("key").await.unwrap().is_some());
    fact(&*behind, &lease, "behind").await.unwrap();
    behind.release(&lease).await.unwrap();
    let lease = ahead.claim(&run, "ahead", Duration::from_millis(100)).await.unwrap();
    fact(&*ahead, &lease, "ahead").await.unwrap();
    until("the lease runs out", async || behind.expired(10).await.unwrap() == [run.clone()]).await;
    ahead.put("gone", "x".into(), Expect::Any, Some(Duration::from_millis(1))).await.unwrap();
    until("the value goes", async || behind.get("gone").await.unwrap().is_none()).await;
    // Records have the engine's time.
    let real = SystemClock.now().0;
    for record in records(&*behind, &run).await {
        assert!(record.time.0.abs_diff(real) < 3_600_000, "{:?} at {real}", record.time);
    }
}

async fn thousand_readers_share_a_few_connections<E: Engine>(server: E) {
    let (writer, reader) = (server.open().await, server.open().await);
    let mut readers = JoinSet::new();
    let mut leases = Vec::new();
    for run in 0..50 {
        let lease = writer.claim(&format!("run {run}").into(), "driver", MINUTE).await.unwrap();
        for _ in 0..20 {
            let (reader, run) = (reader.clone(), lease.journal.clone());
            readers.spawn(async move {
                let tail = reader.wait(&run, 0).await?;
                reader.read(&run, 0, ReadLimit::default()).await.map(|page| (tail.last, page.records.len()))
            });
        }
        leases.push(lease);
    }
    // Each of the two has at most 8.
    assert!(server.connections() <= 16, "{} connections", server.connections());
    for lease in &leases {
        drop(writer.append(lease, Class::Delta, &["x".into()]).unwrap());
    }
    writer.flush().await.unwrap();
    while let Some(read) = soon("a reader", readers.join_next()).await {
        assert_eq!(read.unwrap().unwrap(), (1, 1));
    }
    assert!(server.connections() <= 16, "{} connections", server.connections());
}
