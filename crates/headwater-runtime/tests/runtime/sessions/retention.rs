//! Old checkpoints are merged: the conversation stays, but they cannot be returned to.

use std::time::Duration;

use headwater_protocol::{CheckpointId, Message};
use headwater_runtime::{Session, SessionOptions};

use super::{answer, send, texts, workflow};
use crate::harness::World;

fn world(options: SessionOptions) -> World {
    World::with(workflow(), |agent| agent.sessions(options))
}

/// Lets time pass until old checkpoints have been marked, merged and swept.
async fn report(world: &World) {
    for _ in 0..4 {
        world.idle().await;
        world.clock.advance(Duration::from_secs(120));
        world.agent.recover().await.unwrap();
    }
}

async fn checkpoints(world: &World) -> usize {
    world.store.list("checkpoint/", None, 1_000).await.unwrap().len()
}

async fn said(session: &Session, turns: u64) {
    let expected: Vec<String> = (0..turns)
        .flat_map(|turn| [format!("text {turn}"), format!("{}: text {turn}", (2 * turn).min(50))])
        .collect();
    assert_eq!(texts(session).await, expected);
    // Paged reads return the same.
    let mut pages: Vec<Vec<Message>> = Vec::new();
    let mut before = None;
    loop {
        let page = session.history(None, before, 3).await.unwrap();
        pages.push(page.messages);
        before = page.before;
        if before.is_none() {
            break;
        }
    }
    let paged: Vec<_> = pages.iter().rev().flatten().map(Message::plain_text).collect();
    assert_eq!(paged, expected);
}

#[tokio::test]
async fn checkpoints_beyond_a_number_are_merged_and_the_conversation_stays_whole() {
    let world = world(SessionOptions::default().keep_checkpoints(3));
    let session = world.agent.new_session(None).await.unwrap();
    let mut turns: Vec<CheckpointId> = Vec::new();
    for number in 0..25 {
        turns.push(send(&session, &format!("text {number}")).await);
        if number % 6 == 0 {
            report(&world).await;
        }
    }
    report(&world).await;
    said(&session, 25).await;
    let kept = session.checkpoints(None, 100).await.unwrap().len();
    assert!((3..=12).contains(&kept), "{kept}");
    assert!(checkpoints(&world).await <= kept + 2);
    for old in &turns[..25 - kept] {
        assert_eq!(session.roll_back(old).await.unwrap_err().code(), "checkpoint.retired");
        assert_eq!(session.fork(old, None).await.unwrap_err().code(), "checkpoint.retired");
        assert_eq!(session.checkpoint(old).await.unwrap_err().code(), "checkpoint.retired");
    }
    let never = CheckpointId::from(format!("{}x", turns[0]));
    assert_eq!(session.roll_back(&never).await.unwrap_err().code(), "checkpoint.unknown");
    let other = world.agent.new_session(Some("bob")).await.unwrap();
    let foreign = send(&other, "text 0").await;
    for error in [
        session.roll_back(&foreign).await.unwrap_err(),
        session.fork(&foreign, None).await.unwrap_err(),
        session.checkpoint(&foreign).await.unwrap_err(),
    ] {
        assert_eq!(error.code(), "checkpoint.unknown", "what another session has does not show");
    }
    world.agent.delete_session(other.id().clone(), Some("bob")).await.unwrap();

    let oldest = &turns[25 - kept];
    session.regenerate(oldest).await.unwrap();
    session.settled().await.unwrap();
    said(&session, 26 - kept as u64).await;
    session.select(&turns[24]).await.unwrap();
    said(&session, 25).await;
    let fork = session.fork(&turns[24], None).await.unwrap();
    said(&fork, 25).await;
    session.roll_back(oldest).await.unwrap();
    said(&session, 26 - kept as u64).await;
    let undo = session.undo().await.unwrap_err();
    assert_eq!(undo.code(), "checkpoint.retired");
    report(&world).await;
    said(&session, 26 - kept as u64).await;
    said(&fork, 25).await;
}

#[tokio::test]
async fn checkpoints_beyond_an_age_are_merged_and_a_fork_keeps_its_own() {
    let world = world(SessionOptions::default().keep_for(Duration::from_secs(3_600)));
    let session = world.agent.new_session(None).await.unwrap();
    let mut turns = Vec::new();
    for number in 0..6 {
        turns.push(send(&session, &format!("text {number}")).await);
    }
    world.clock.advance(Duration::from_secs(3_000));
    let fork = session.fork(&turns[2], None).await.unwrap();
    send(&fork, "text 3").await;
    world.clock.advance(Duration::from_secs(1_200));
    for number in 6..17 {
        turns.push(send(&session, &format!("text {number}")).await);
    }
    report(&world).await;
    said(&session, 17).await;
    said(&fork, 4).await;
    assert_eq!(session.roll_back(&turns[5]).await.unwrap_err().code(), "checkpoint.retired");
    session.roll_back(&turns[6]).await.unwrap();
    assert!(session.fork(&turns[6], None).await.is_ok());
    let code = fork.roll_back(&turns[1]).await.unwrap_err();
    assert_eq!(code.code(), "checkpoint.retired", "its age is what it is");
    send(&fork, "text 4").await;
    said(&fork, 5).await;
    report(&world).await;
    said(&fork, 5).await;
    said(&session, 7).await;
}

#[tokio::test]
async fn fork_keeps_shared_checkpoints_alive() {
    let world = world(SessionOptions::default().keep_checkpoints(2));
    let session = world.agent.new_session(None).await.unwrap();
    let mut turns = Vec::new();
    for number in 0..4 {
        turns.push(send(&session, &format!("text {number}")).await);
    }
    let fork = session.fork(&turns[3], None).await.unwrap();
    for number in 4..17 {
        turns.push(send(&session, &format!("text {number}")).await);
    }
    report(&world).await;
    said(&session, 17).await;
    assert_eq!(session.roll_back(&turns[3]).await.unwrap_err().code(), "checkpoint.retired");
    fork.undo().await.unwrap();
    said(&fork, 3).await;
    let between = world.store.list("checkpoint/", None, 100).await.unwrap().len();
    assert!(between < 12, "what only the session had is merged: {between}");
}

#[tokio::test]
async fn questions_and_structured_streams_survive_the_merge_of_earlier_turns() {
    let world = world(SessionOptions::default().keep_checkpoints(1));
    let session = world.agent.new_session(None).await.unwrap();
    for _ in 0..3 {
        send(&session, "report").await;
        answer(&world.agent, &session, "a").await;
        answer(&world.agent, &session, "s").await;
    }
    send(&session, "report").await;
    answer(&world.agent, &session, "b").await;
    let before = session.state(None).await.unwrap();
    report(&world).await;
    let after = session.state(None).await.unwrap();
    assert_eq!(before.messages, after.messages);
    assert_eq!(before.structured.get("canvas"), after.structured.get("canvas"));
    assert_eq!(before.workflow_state, after.workflow_state);
    assert!(checkpoints(&world).await < 5);
    let last = answer(&world.agent, &session, "l").await;
    session.regenerate(&last).await.unwrap();
    session.settled().await.unwrap();
    assert!(texts(&session).await[7].starts_with("b/l/"));
}
