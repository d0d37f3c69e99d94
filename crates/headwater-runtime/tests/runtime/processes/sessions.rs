//! A session used by several processes at once.

use std::time::Duration;

use headwater_protocol::RunStatus;
use headwater_runtime::{Agent, Session, SessionOptions, Turn, WhenBusy};

use super::{two, with};
use crate::{
    harness::{TestRun, World, memory},
    streaming_model::StreamingModel,
};

async fn sessions(first: &Agent, second: &Agent) -> (Session, Session) {
    let here = first.open_session("s", Some("ann")).await.unwrap();
    (here, second.session("s", Some("ann")))
}

/// Sends a message and waits until its model is called.
async fn send(session: &Session, talker: &StreamingModel, text: &str) -> headwater_protocol::RunId {
    let asked = talker.asked();
    let sent = session.send(Turn::new(text)).await.unwrap();
    while talker.asked() == asked {
        tokio::task::yield_now().await;
    }
    sent.run
}

#[tokio::test]
async fn second_message_through_another_process_waits_for_its_turn() {
    let talker = StreamingModel::quiet("word ", 1);
    let (first, second) = two(&talker);
    let (here, there) = sessions(&first.agent, &second.agent).await;
    let going = send(&here, &talker, "one").await;
    let queued = there.send(Turn::new("two").when_busy(WhenBusy::Queue)).await.unwrap();
    assert!(queued.queued);
    assert_eq!(there.info().await.unwrap().going, Some(going));
    assert_eq!(here.queue().await.unwrap().len(), 1, "the queue is the same everywhere");
    let begun = tokio::spawn({
        let queued = queued.clone();
        async move { queued.begun().await.map(|run| run.id().clone()) }
    });
    talker.speak(2);
    assert_eq!(begun.await.unwrap().unwrap(), queued.run, "who waits for it there is woken");
    there.settled().await.unwrap();
    assert_eq!(there.history(None, None, 10).await.unwrap().messages.len(), 4);
}

#[tokio::test]
async fn second_message_through_another_process_is_refused() {
    let talker = StreamingModel::quiet("word ", 1);
    let (first, second) = two(&talker);
    let (here, there) = sessions(&first.agent, &second.agent).await;
    send(&here, &talker, "one").await;
    let refused = there.send(Turn::new("two").when_busy(WhenBusy::Refuse)).await.unwrap_err();
    assert_eq!(refused.code(), "session.busy");
    talker.speak(1);
    here.settled().await.unwrap();
}

#[tokio::test]
async fn second_message_through_another_process_stops_the_first() {
    let talker = StreamingModel::quiet("word ", 1);
    let (first, second) = two(&talker);
    let (here, there) = sessions(&first.agent, &second.agent).await;
    let stopped = send(&here, &talker, "one").await;
    let next = there.send(Turn::new("two").when_busy(WhenBusy::Stop)).await.unwrap();
    while talker.asked() < 2 {
        tokio::task::yield_now().await;
    }
    talker.speak(1);
    there.settled().await.unwrap();
    assert_eq!(second.settled(&stopped).await.status(), RunStatus::Cancelled);
    assert_eq!(TestRun::of(&second.agent, second.agent.run(next.run)).await.status(), RunStatus::Finished);
}

#[tokio::test]
async fn turn_is_edited_and_done_again_while_another_process_answers_the_next_one() {
    let talker = StreamingModel::quiet("word ", 1);
    let (first, second) = two(&talker);
    let (here, there) = sessions(&first.agent, &second.agent).await;
    talker.speak(1);
    let done = here.send(Turn::new("one")).await.unwrap();
    here.settled().await.unwrap();
    let going = send(&here, &talker, "two").await;
    there.make_room().await.unwrap();
    assert_eq!(second.settled(&going).await.status(), RunStatus::Cancelled);
    talker.speak(2);
    there.edit(&done.checkpoint, "eins").await.unwrap();
    there.settled().await.unwrap();
    let variant = there.info().await.unwrap().checkpoint.unwrap();
    here.regenerate(&variant).await.unwrap();
    here.settled().await.unwrap();
    let said: Vec<_> = there
        .history(None, None, 10)
        .await
        .unwrap()
        .messages
        .iter()
        .map(headwater_protocol::Message::plain_text)
        .collect();
    assert_eq!(said, ["eins", "word "]);
}

#[tokio::test]
async fn request_that_reaches_two_processes_begins_one_turn() {
    let talker = StreamingModel::new("word ", 1);
    let (first, second) = two(&talker);
    let (here, there) = sessions(&first.agent, &second.agent).await;
    let turn = || Turn::new("one").request_key("request-1");
    let (one, other) = tokio::join!(here.send(turn()), there.send(turn()));
    assert_eq!(one.unwrap().run, other.unwrap().run);
    here.settled().await.unwrap();
    there.settled().await.unwrap();
    assert_eq!(talker.asked(), 1);
}

#[tokio::test]
async fn session_is_deleted_while_another_process_answers_in_it() {
    let talker = StreamingModel::quiet("word ", 1);
    let (first, second) = two(&talker);
    let (here, _) = sessions(&first.agent, &second.agent).await;
    let run = send(&here, &talker, "one").await;
    second.agent.delete_session("s", Some("ann")).await.unwrap();
    assert_eq!(here.info().await.unwrap_err().code(), "session.unknown");
    first.idle().await;
    second.agent.recover().await.unwrap();
    assert_eq!(second.agent.run(run).summary().await.unwrap_err().code(), "run.unknown");
    assert_eq!(second.store.list("session", None, 10).await.unwrap(), []);
}

#[tokio::test]
async fn sweeps_of_two_processes_at_once_do_no_harm() {
    let talker = StreamingModel::new("word ", 1);
    let (store, clock) = memory();
    let keeping = SessionOptions::default().keep_checkpoints(2);
    let build = |agent| with(&talker)(agent).sessions(keeping.clone());
    let first = World::on(store, clock.clone(), build);
    let second = first.restarted(build);
    let (here, there) = sessions(&first.agent, &second.agent).await;
    for turn in 0..24 {
        let session = if turn % 2 == 0 { &here } else { &there };
        session.send(Turn::new(format!("{turn}"))).await.unwrap();
        session.settled().await.unwrap();
        if turn % 5 == 4 {
            session.undo().await.unwrap();
        }
    }
    let before: Vec<_> = there.history(None, None, 100).await.unwrap().messages;
    for _ in 0..6 {
        clock.advance(Duration::from_secs(61));
        let (one, other) = tokio::join!(first.agent.recover(), second.agent.recover());
        assert_eq!((one.unwrap().stuck, other.unwrap().stuck), (Vec::new(), Vec::new()));
        assert_eq!(there.history(None, None, 100).await.unwrap().messages, before);
    }
    assert_eq!(second.store.list("session-sweep/", None, 10).await.unwrap(), [], "and all of it is done");
    clock.advance(Duration::from_secs(8 * 24 * 3_600));
    let (one, other) = tokio::join!(first.agent.recover(), second.agent.recover());
    one.unwrap();
    other.unwrap();
    here.send(Turn::new("after")).await.unwrap();
    here.settled().await.unwrap();
    assert_eq!(there.history(None, None, 100).await.unwrap().messages.len(), before.len() + 2);
}
