//! Messages queued behind an active turn: listed, edited, removed, sent ahead, in this process and after a
//! restart.

use std::{sync::Arc, time::Duration};

use headwater_protocol::{FilePart, Message, Part, Role, RunId, RunStatus};
use headwater_runtime::{Agent, Cx, END, ErrorKind, NodeResult, START, Session, Turn, Workflow};
use headwater_store::{ManualClock, Memory, MemoryOptions, Store};
use tokio::sync::Notify;

use super::{texts, workflow};

/// A store, its clock, and an agent whose runs report their start and then never end.
struct StalledSession {
    store: Arc<dyn Store>,
    clock: Arc<ManualClock>,
    agent: Agent,
    began: Arc<Notify>,
}

impl StalledSession {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::at(1_000_000));
        let options = MemoryOptions { clock: clock.clone(), ..Default::default() };
        let store: Arc<dyn Store> = Arc::new(Memory::with(options));
        let began = Arc::new(Notify::new());
        let told = began.clone();
        let stall = move |_cx: Cx, _input: String| {
            told.notify_one();
            std::future::pending::<NodeResult>()
        };
        let stall =
            Workflow::new("chat").node("say", stall).edge(START, "say").edge("say", END).build().unwrap();
        let agent =
            Agent::builder().workflow(stall).store(store.clone()).clock(clock.clone()).build().unwrap();
        Self { store, clock, agent, began }
    }

    /// A session with an active turn and these messages queued.
    async fn session(&self, waiting: &[&str]) -> (Session, Vec<RunId>) {
        let session = self.agent.new_session(Some("ann")).await.unwrap();
        session.send("first").await.unwrap();
        self.began.notified().await;
        let mut runs = Vec::new();
        for text in waiting {
            let sent = session.send(*text).await.unwrap();
            assert!(sent.queued);
            runs.push(sent.run);
        }
        (session, runs)
    }

    /// The session in a process that starts after this one died, with an agent that answers.
    async fn restarted(self, session: &Session) -> Session {
        self.agent.abandon();
        self.clock.advance(Duration::from_secs(60));
        let next = Agent::builder().workflow(workflow()).store(self.store).clock(self.clock).build().unwrap();
        next.recover().await.unwrap();
        next.session(session.id().clone(), Some("ann"))
    }
}

async fn waiting(session: &Session) -> Vec<String> {
    session.queue().await.unwrap().iter().map(|queued| queued.message.plain_text()).collect()
}

#[tokio::test]
async fn queue_lists_messages_in_the_order_of_their_turns() {
    let stalled = StalledSession::new();
    let (session, runs) = stalled.session(&["two", "three"]).await;
    let queue = session.queue().await.unwrap();
    assert_eq!(queue.iter().map(|queued| queued.run.clone()).collect::<Vec<_>>(), runs);
    assert_eq!(waiting(&session).await, ["two", "three"]);
    assert_eq!(queue[0].queued, 1_000_000);
    let empty = stalled.agent.new_session(Some("ann")).await.unwrap();
    assert_eq!(empty.queue().await.unwrap(), []);
}

#[tokio::test]
async fn edited_message_keeps_its_place_and_its_files_after_a_restart() {
    let stalled = StalledSession::new();
    let (session, runs) = stalled.session(&["two"]).await;
    let mut message = Message::text("m3", Role::User, "three");
    message.parts.push(Part::File(FilePart {
        url: "https://example.com/a.png".to_owned(),
        media_type: "image/png".to_owned(),
        ..FilePart::default()
    }));
    let third = session.send(Turn::new("three").message(message)).await.unwrap();
    session.send("four").await.unwrap();
    let edited = session.edit_queued(&third.run, "drei").await.unwrap();
    assert_eq!(edited.message.parts.len(), 2, "{:?}", edited.message);
    assert_eq!(session.edit_queued(&runs[0], "zwei").await.unwrap().message.plain_text(), "zwei");
    assert_eq!(waiting(&session).await, ["zwei", "drei", "four"]);
    let session = stalled.restarted(&session).await;
    session.settled().await.unwrap();
    let expected = ["first", "0: first", "zwei", "2: zwei", "drei", "4: drei", "four", "6: four"];
    assert_eq!(texts(&session).await, expected);
}

#[tokio::test]
async fn removed_message_never_begins_after_a_restart() {
    let stalled = StalledSession::new();
    let (session, runs) = stalled.session(&["two", "three"]).await;
    assert_eq!(session.remove_queued(&runs[0]).await.unwrap().message.plain_text(), "two");
    let again = session.remove_queued(&runs[0]).await.unwrap_err();
    assert_eq!((again.kind(), again.code()), (ErrorKind::UnknownRun, "run.unknown"));
    let session = stalled.restarted(&session).await;
    session.settled().await.unwrap();
    assert_eq!(texts(&session).await, ["first", "0: first", "three", "2: three"]);
}

#[tokio::test]
async fn message_sent_ahead_stops_the_active_turn_and_is_next() {
    let stalled = StalledSession::new();
    let (session, runs) = stalled.session(&["two", "three"]).await;
    let active = session.info().await.unwrap().going.unwrap();
    let sent = session.send_queued(&runs[1]).await.unwrap();
    assert_eq!(sent.run, runs[1]);
    sent.begun().await.unwrap();
    let outcome = stalled.agent.run(active).outcome().await.unwrap();
    assert_eq!(outcome.status(), RunStatus::Cancelled);
    assert_eq!(session.info().await.unwrap().going, Some(runs[1].clone()));
    assert_eq!(waiting(&session).await, ["two"]);
}

#[tokio::test]
async fn message_sent_ahead_is_next_after_a_restart() {
    let stalled = StalledSession::new();
    let (session, runs) = stalled.session(&["two", "three"]).await;
    session.send_queued(&runs[1]).await.unwrap();
    let session = stalled.restarted(&session).await;
    session.settled().await.unwrap();
    let said = texts(&session).await;
    let asked: Vec<_> = said.iter().filter(|text| !text.contains(':')).collect();
    assert_eq!(asked, ["first", "three", "two"], "{said:?}");
}

#[tokio::test]
async fn turn_that_has_begun_is_not_in_the_queue() {
    let stalled = StalledSession::new();
    let (session, runs) = stalled.session(&["two"]).await;
    let active = session.info().await.unwrap().going.unwrap();
    for error in [
        session.edit_queued(&active, "x").await.unwrap_err(),
        session.remove_queued(&active).await.unwrap_err(),
        session.send_queued(&active).await.unwrap_err(),
    ] {
        assert_eq!((error.kind(), error.code()), (ErrorKind::SessionBusy, "queue.begun"));
    }
    let other = stalled.agent.open_session("other", Some("bob")).await.unwrap();
    for run in [&active, &runs[0]] {
        let error = other.remove_queued(run).await.unwrap_err();
        assert_eq!(error.code(), "run.unknown", "the runs of another session are not disclosed");
    }
    assert_eq!(waiting(&session).await, ["two"]);
}
