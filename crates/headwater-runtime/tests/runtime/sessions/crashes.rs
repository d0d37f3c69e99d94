//! The process dies at every write of an operation on a session: afterwards the operation is done completely
//! or not at all.

use std::{sync::Arc, time::Duration};

use headwater_protocol::{CheckpointId, SessionId};
use headwater_runtime::{Agent, Session, SessionOptions};
use headwater_store::{ManualClock, Memory, MemoryOptions, Store};
use headwater_testkit::store::crash::CrashingStore;

use super::{answer, send, texts, workflow};

const LATER: Duration = Duration::from_secs(60);

fn process(store: Arc<dyn Store>, clock: &Arc<ManualClock>) -> Agent {
    let options = SessionOptions::default();
    Agent::builder().workflow(workflow()).store(store).clock(clock.clone()).sessions(options).build().unwrap()
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum SessionOperation {
    Send,
    Answer,
    RollBack,
    Fork,
    Regenerate,
}

/// The observable state of a session: its texts, its number of turns, and whether it waits.
type Facts = (Vec<String>, u64, bool);

async fn facts(session: &Session) -> Facts {
    session.settled().await.unwrap();
    let info = session.info().await.unwrap();
    let said = texts(session).await.into_iter();
    let said = said.map(|text| text.split("/id_").next().unwrap_or_default().to_owned()).collect();
    (said, info.turns, info.waiting.is_some())
}

async fn act(
    agent: &Agent,
    id: &SessionId,
    deed: SessionOperation,
    asked: &CheckpointId,
) -> Result<(), headwater_runtime::Error> {
    let session = agent.session(id.clone(), None);
    match deed {
        SessionOperation::Send => session.send("more").await.map(drop),
        SessionOperation::Answer => {
            let run = session.info().await?.waiting.unwrap();
            agent.answer(super::open(agent, &run, "s").await).await.map(drop)
        }
        SessionOperation::RollBack => session.roll_back(asked).await.map(drop),
        SessionOperation::Fork => session.fork(asked, Some("fork")).await.map(drop),
        SessionOperation::Regenerate => {
            let turn = session.info().await?.checkpoint.unwrap();
            session.regenerate(&turn).await.map(drop)
        }
    }
}

/// Creates a session that waits for its second answer and applies an operation, in a process that dies after
/// this many writes. Returns whether the operation was acknowledged, the state of the session and of its
/// fork, and whether the process died.
async fn story(deed: SessionOperation, writes: u64) -> (bool, Facts, Option<Facts>, bool) {
    let clock = Arc::new(ManualClock::at(1_000_000));
    let store = Arc::new(Memory::with(MemoryOptions { clock: clock.clone(), ..MemoryOptions::default() }));
    let agent = process(store.clone(), &clock);
    let session = agent.new_session(None).await.unwrap();
    send(&session, "hello").await;
    let asked = send(&session, "report").await;
    answer(&agent, &session, "a").await;
    while agent.driving() > 0 {
        tokio::task::yield_now().await;
    }

    let dying = Arc::new(CrashingStore::new(store.clone(), writes));
    let victim = process(dying.clone(), &clock);
    let done = act(&victim, session.id(), deed, &asked).await.is_ok();
    while victim.driving() > 0 {
        tokio::task::yield_now().await;
    }
    victim.abandon();
    let died = {
        let tripped = dying.tripped();
        let mut tripped = std::pin::pin!(tripped);
        std::future::poll_fn(|cx| std::task::Poll::Ready(tripped.as_mut().poll(cx).is_ready())).await
    };

    clock.advance(LATER);
    let next = process(store, &clock);
    next.recover().await.unwrap();
    let here = next.session(session.id().clone(), None);
    let fork = next.session("fork", None);
    let forked = if fork.info().await.is_ok() { Some(facts(&fork).await) } else { None };
    let facts = facts(&here).await;
    // The session is usable in any case.
    let before = texts(&here).await.len();
    send(&here, "after").await;
    assert_eq!(texts(&here).await.len(), before + 2);
    (done, facts, forked, died)
}

#[tokio::test]
async fn session_operations_are_atomic_at_any_crash() {
    for deed in [
        SessionOperation::Send,
        SessionOperation::Answer,
        SessionOperation::RollBack,
        SessionOperation::Fork,
        SessionOperation::Regenerate,
    ] {
        let (_, untouched, ..) = story(deed, 0).await;
        let (done, whole, fork, died) = story(deed, u64::MAX).await;
        assert!(done && !died, "{deed:?}");
        let mut deaths = 0;
        for writes in 0.. {
            let (done, found, forked, died) = story(deed, writes).await;
            assert!(
                found == whole || (found == untouched && !done),
                "{deed:?} after {writes} writes: {found:?}"
            );
            assert!(
                forked == fork || (forked.is_none() && !done),
                "{deed:?} after {writes} writes: {forked:?}"
            );
            if !died {
                break;
            }
            deaths += 1;
        }
        assert!(deaths > 1, "{deed:?} writes more than once");
    }
}

/// Whether a key does not belong to a session: the agent's secret, and the recovery times of runs.
fn kept_by_itself(key: &str) -> bool {
    key.starts_with("secret") || key.starts_with("waiting/")
}

/// Deletes a waiting session in a process that dies after this many writes. Returns whether it was
/// acknowledged, whether the session still exists, its leftovers if not, and whether the process died.
async fn deleting(writes: u64) -> (bool, bool, Vec<String>, bool) {
    let clock = Arc::new(ManualClock::at(1_000_000));
    let store = Arc::new(Memory::with(MemoryOptions { clock: clock.clone(), ..MemoryOptions::default() }));
    let agent = process(store.clone(), &clock);
    let session = agent.new_session(None).await.unwrap();
    let hello = send(&session, "hello").await;
    session.regenerate(&hello).await.unwrap();
    session.settled().await.unwrap();
    send(&session, "report").await;
    while agent.driving() > 0 {
        tokio::task::yield_now().await;
    }
    let dying = Arc::new(CrashingStore::new(store.clone(), writes));
    let victim = process(dying.clone(), &clock);
    let done = victim.delete_session(session.id().clone(), None).await.is_ok();
    while victim.driving() > 0 {
        tokio::task::yield_now().await;
    }
    victim.abandon();
    let died = {
        let mut tripped = std::pin::pin!(dying.tripped());
        std::future::poll_fn(|cx| std::task::Poll::Ready(tripped.as_mut().poll(cx).is_ready())).await
    };
    let next = process(store.clone(), &clock);
    for _ in 0..3 {
        clock.advance(LATER);
        next.recover().await.unwrap();
        while next.driving() > 0 {
            tokio::task::yield_now().await;
        }
    }
    let there = next.session(session.id().clone(), None).info().await.is_ok();
    if there {
        let session = next.session(session.id().clone(), None);
        assert_eq!(texts(&session).await.len(), 4);
        answer(&next, &session, "a").await;
    }
    let all = store.list("", None, 1_000).await.unwrap();
    let left = all.into_iter().map(|(key, _)| key).filter(|key| !kept_by_itself(key)).collect();
    (done, there, left, died)
}

#[tokio::test]
async fn session_deletion_is_atomic_at_any_crash() {
    let mut deaths = 0;
    for writes in 0.. {
        let (done, there, left, died) = deleting(writes).await;
        assert!(!(done && there), "after {writes} writes");
        assert!(there || left.is_empty(), "after {writes} writes: {left:?}");
        if !died {
            assert!(done && !there);
            break;
        }
        deaths += 1;
    }
    assert!(deaths > 5, "it writes more than a few times: {deaths}");
}
