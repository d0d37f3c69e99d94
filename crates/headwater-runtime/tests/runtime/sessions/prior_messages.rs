//! The conversation before a run is in the checkpoints of its session, and not in the run's journal.

use std::time::Duration;

use headwater_protocol::{Message, RunId};
use headwater_runtime::{Cx, END, Next, NodeResult, START, SessionOptions, Text, Workflow, replay};
use headwater_store::JournalId;

use super::{answer, send, texts, workflow};
use crate::harness::World;

const QUESTIONS: usize = 5;

/// Asks several questions if its input is `ask`, and then replies with the earlier messages.
async fn recall(cx: Cx, input: String) -> NodeResult {
    if input == "ask" {
        for number in 0..QUESTIONS {
            cx.interrupt(Text::new("Continue?")).id(format!("question {number}")).await?;
        }
    }
    let known: Vec<_> = cx.messages().iter().map(Message::plain_text).collect();
    Ok(Next::message(format!("after {}: {}", known.len(), known.last().cloned().unwrap_or_default())))
}

fn recalling() -> Workflow {
    Workflow::new("chat").node("say", recall).edge(START, "say").edge("say", END).build().unwrap()
}

async fn bytes_of(world: &World, run: &RunId) -> u64 {
    world.store.info(&JournalId::from(run.as_str())).await.unwrap().unwrap().bytes
}

#[tokio::test]
async fn journal_of_a_turn_has_no_copy_of_the_messages_before_it() {
    let world = World::of(workflow());
    let session = world.agent.new_session(None).await.unwrap();
    let text = "many words ".repeat(30);
    let first = session.send(text.as_str()).await.unwrap();
    session.settled().await.unwrap();
    for _ in 0..20 {
        send(&session, &text).await;
    }
    let last = session.send(text.as_str()).await.unwrap();
    session.settled().await.unwrap();
    assert_eq!(texts(&session).await.last().unwrap(), &format!("42: {text}"));
    let (first, last) = (bytes_of(&world, &first.run).await, bytes_of(&world, &last.run).await);
    assert!(last < first + 200, "{first} bytes for the first turn, {last} for the last");
}

#[tokio::test]
async fn resumed_run_has_the_conversation_that_it_began_with_after_retention() {
    let options = || SessionOptions::default().keep_checkpoints(1);
    let world = World::with(recalling(), |agent| agent.sessions(options()));
    let session = world.agent.open_session("s", None).await.unwrap();
    for number in 0..5 {
        send(&session, &format!("text {number}")).await;
    }
    send(&session, "ask").await;
    for _ in 0..QUESTIONS - 1 {
        answer(&world.agent, &session, "yes").await;
        for _ in 0..4 {
            world.idle().await;
            world.clock.advance(Duration::from_secs(120));
            world.agent.recover().await.unwrap();
        }
    }
    let kept = world.store.list("checkpoint/", None, 100).await.unwrap().len();
    assert!(kept < 5 + QUESTIONS, "{kept} checkpoints: none were merged");
    // Another process takes the run over.
    let other = world.restarted(|agent| agent.workflow(recalling()).sessions(options()));
    let session = other.agent.session("s", None);
    answer(&other.agent, &session, "yes").await;
    let said = texts(&session).await;
    assert_eq!(said.last().unwrap(), &format!("after 10: {}", said[9]));
}

#[tokio::test]
async fn run_of_a_session_is_replayed_with_the_conversation_before_it() {
    let world = World::of(workflow());
    let session = world.agent.new_session(None).await.unwrap();
    send(&session, "one").await;
    let second = session.send("two").await.unwrap();
    session.settled().await.unwrap();
    send(&session, "three").await;
    let replayed = replay(&world.agent, second.run.clone()).await.unwrap();
    assert!(replayed.is_same(), "{:?}", replayed.divergence);
}
