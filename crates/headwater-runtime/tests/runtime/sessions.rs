//! Sessions: ordered turns, checkpoints to return to and to branch from, repeated answers.

mod budget;
mod crashes;
mod documents;
mod lessons;
mod model;
mod owners;
mod people;
mod positions;
mod prior_messages;
mod queue;
mod repeated_requests;
mod retention;
mod serving;
mod unreadable;

use std::sync::Arc;

use headwater_protocol::{CheckpointEvent, CheckpointId, Event, Message, RunId, StructuredInvalidated};
use headwater_runtime::{
    Agent, Answer, CheckpointStatus, Choice, Cx, END, ErrorKind, Next, NodeResult, START, Session,
    SessionOptions, Turn, WhenBusy, Workflow,
};
use headwater_store::{Memory, Store};
use serde_json::json;

/// Replies with the number of messages it knows; asks for a project and a template if the input is `report`.
async fn reply(cx: Cx, input: String) -> NodeResult {
    if input != "report" {
        return Ok(Next::message(format!("{}: {input}", cx.messages().len())));
    }
    let canvas = cx.structured("report").stream("canvas");
    let project =
        cx.interrupt(Choice::new("Project?").option("a", "A").option("b", "B")).id("project").await?;
    canvas.set("project", &project)?;
    let template =
        cx.interrupt(Choice::new("Template?").option("s", "S").option("l", "L")).id("template").await?;
    canvas.set("template", &template)?;
    let summary = cx.id()?;
    Ok(Next::message(format!("{project}/{template}/{summary}")))
}

pub(crate) fn workflow() -> Workflow {
    Workflow::new("chat").node("say", reply).edge(START, "say").edge("say", END).build().unwrap()
}

pub(crate) fn agent_on(store: Arc<dyn Store>, options: SessionOptions) -> Agent {
    Agent::builder().workflow(workflow()).store(store).sessions(options).build().unwrap()
}

fn agent() -> Agent {
    agent_on(Arc::new(Memory::new()), SessionOptions::default())
}

async fn texts(session: &Session) -> Vec<String> {
    let history = session.history(None, None, usize::MAX).await.unwrap();
    history.messages.iter().map(Message::plain_text).collect()
}

async fn send(session: &Session, text: &str) -> CheckpointId {
    let sent = session.send(text).await.unwrap();
    session.settled().await.unwrap();
    sent.checkpoint
}

/// Answers the session's only open question.
async fn answer(agent: &Agent, session: &Session, with: &str) -> CheckpointId {
    let run = session.info().await.unwrap().waiting.unwrap();
    agent.answer(open(agent, &run, with).await).await.unwrap();
    session.settled().await.unwrap();
    session.info().await.unwrap().checkpoint.unwrap()
}

async fn open(agent: &Agent, run: &RunId, with: &str) -> Answer {
    let questions = agent.questions(None, 100).await.unwrap();
    let question = questions.iter().find(|question| question.run == *run).unwrap();
    Answer::given(question.request.clone(), with).token(question.token().unwrap())
}

#[tokio::test]
async fn turns_follow_each_other_and_know_the_history() {
    let agent = agent();
    let session = agent.new_session(None).await.unwrap();
    send(&session, "one").await;
    send(&session, "two").await;
    assert_eq!(texts(&session).await, ["one", "0: one", "two", "2: two"]);
    let checkpoints = session.checkpoints(None, 10).await.unwrap();
    assert_eq!(checkpoints.iter().map(|checkpoint| checkpoint.turn).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(checkpoints[0].parent.as_ref(), Some(&checkpoints[1].id));
    assert_eq!(checkpoints[0].label.as_deref(), Some("two"));
    let events = agent.run(checkpoints[0].run.clone()).recorded().await.unwrap();
    let told = events.iter().any(|event| matches!(event, Event::Checkpoint(CheckpointEvent { checkpoint, turn: 2, .. }) if *checkpoint == checkpoints[0].id));
    assert!(told, "readers of the run get its checkpoint");
}

#[tokio::test]
async fn history_of_a_run_stays_within_its_budget() {
    let agent = agent_on(Arc::new(Memory::new()), SessionOptions::default().last_messages(3));
    let session = agent.new_session(None).await.unwrap();
    for text in ["one", "two", "three"] {
        send(&session, text).await;
    }
    assert_eq!(texts(&session).await.last().unwrap(), "3: three");
}

#[tokio::test]
async fn regenerated_turn_keeps_its_earlier_answers() {
    let agent = agent();
    let session = agent.new_session(Some("ann")).await.unwrap();
    let asked = send(&session, "report").await;
    let picked = answer(&agent, &session, "a").await;
    let written = answer(&agent, &session, "s").await;
    let first = texts(&session).await;
    assert_eq!(first.len(), 2, "answers continue the same message: {first:?}");
    assert!(first[1].starts_with("a/s/"));

    let again = session.regenerate(&written).await.unwrap();
    session.settled().await.unwrap();
    let second = texts(&session).await;
    assert_eq!(second.len(), 2, "{second:?}");
    assert!(second[1].starts_with("a/s/") && second[1] != first[1], "{first:?} {second:?}");
    let variants = session.variants(&again.checkpoint).await.unwrap();
    let told: Vec<_> = variants.iter().map(|variant| (&variant.checkpoint.id, variant.selected)).collect();
    assert_eq!(told, [(&written, false), (&again.checkpoint, true)]);

    session.select(&written).await.unwrap();
    assert_eq!(texts(&session).await, first);

    let other =
        session.answer_again(&picked, headwater_runtime::AnswerValue::Given(json!("b"))).await.unwrap();
    session.settled().await.unwrap();
    assert_eq!(session.checkpoint(&other.checkpoint).await.unwrap().status, CheckpointStatus::Waiting);
    answer(&agent, &session, "l").await;
    assert!(texts(&session).await[1].starts_with("b/l/"));
    assert_eq!(
        session.state(None).await.unwrap().structured.get("canvas").unwrap().data(),
        Some(&json!({"project": "b", "template": "l"}))
    );
    assert_eq!(
        session.state(Some(&picked)).await.unwrap().structured.get("canvas").unwrap().data(),
        Some(&json!({"project": "a"}))
    );
    assert!(session.state(Some(&asked)).await.unwrap().structured.get("canvas").is_none());
}

#[tokio::test]
async fn returning_to_a_question_asks_again_and_closes_later_turns() {
    let agent = agent();
    let session = agent.new_session(None).await.unwrap();
    let asked = send(&session, "report").await;
    let first = session.info().await.unwrap().waiting.unwrap();
    answer(&agent, &session, "a").await;
    let late = open(&agent, &first, "s").await;
    let undone = session.roll_back(&asked).await.unwrap();
    session.settled().await.unwrap();
    assert_eq!(undone.streams, ["canvas"]);
    assert_eq!(undone.requests.len(), 1);
    assert_eq!(agent.answer(late).await.unwrap_err().kind(), ErrorKind::Retracted);
    let info = session.info().await.unwrap();
    assert_eq!((info.turns, info.checkpoint), (1, Some(asked)));
    let second = info.waiting.unwrap();
    assert_ne!(first, second);
    let events = agent.run(second).recorded().await.unwrap();
    let told = events.iter().any(|event| matches!(event, Event::StructuredInvalidated(StructuredInvalidated { stream, checkpoint: Some(_), .. }) if stream == "canvas"));
    assert!(told, "readers get an event: {events:?}");
    answer(&agent, &session, "b").await;
    answer(&agent, &session, "s").await;
    assert!(texts(&session).await[1].starts_with("b/s/"));
}

#[tokio::test]
async fn fork_is_independent_of_its_parent() {
    let agent = agent();
    let session = agent.new_session(Some("ann")).await.unwrap();
    send(&session, "one").await;
    let asked = send(&session, "report").await;
    let fork = session.fork(&asked, Some("mine")).await.unwrap();
    fork.settled().await.unwrap();
    let (here, there) = (session.info().await.unwrap().waiting, fork.info().await.unwrap().waiting);
    assert!(here.is_some() && there.is_some() && here != there, "each has a question of its own");
    answer(&agent, &fork, "b").await;
    answer(&agent, &fork, "l").await;
    assert!(texts(&fork).await[3].starts_with("b/l/"));
    assert_eq!(session.info().await.unwrap().turns, 2);
    answer(&agent, &session, "a").await;
    answer(&agent, &session, "s").await;
    assert!(texts(&session).await[3].starts_with("a/s/"));
    let taken = session.fork(&asked, Some("mine")).await.unwrap_err();
    assert_eq!(taken.code(), "session.exists");
}

#[tokio::test]
async fn edit_keeps_the_old_turn_and_its_successors() {
    let agent = agent();
    let session = agent.new_session(None).await.unwrap();
    let one = send(&session, "one").await;
    send(&session, "two").await;
    let edited = session.edit(&one, "uno").await.unwrap();
    session.settled().await.unwrap();
    assert_eq!(texts(&session).await, ["uno", "0: uno"]);
    session.select(&one).await.unwrap();
    assert_eq!(texts(&session).await, ["one", "0: one", "two", "2: two"]);
    session.undo().await.unwrap();
    session.undo().await.unwrap();
    assert!(texts(&session).await.is_empty());
    assert_eq!(session.checkpoint(&one).await.unwrap_err().code(), "checkpoint.unknown");
    assert_eq!(session.select(&edited.checkpoint).await.unwrap_err().code(), "checkpoint.unknown");
}

#[tokio::test]
async fn invalid_requests_have_specific_errors() {
    let agent = agent();
    let session = agent.new_session(Some("ann")).await.unwrap();
    let one = send(&session, "one").await;
    let foreign = agent.session(session.id().clone(), Some("bob"));
    assert_eq!(foreign.send("hi").await.unwrap_err().code(), "session.unknown");
    assert_eq!(foreign.roll_back(&one).await.unwrap_err().code(), "session.unknown");
    assert_eq!(foreign.history(None, None, 1).await.unwrap_err().code(), "session.unknown");
    let own = agent.open_session(session.id().clone(), Some("bob")).await.unwrap();
    assert_eq!(own.info().await.unwrap().turns, 0, "names of two owners do not meet");
    assert_eq!(agent.session("none", None).send("hi").await.unwrap_err().code(), "session.unknown");
    assert_eq!(session.roll_back(&"cp_none".into()).await.unwrap_err().code(), "checkpoint.unknown");
    let other = agent.new_session(Some("ann")).await.unwrap();
    send(&other, "one").await;
    assert_eq!(other.roll_back(&one).await.unwrap_err().code(), "checkpoint.unknown");
    let wrong = Turn::from(headwater_runtime::Start::new("x").workflow("none"));
    assert_eq!(session.send(wrong).await.unwrap_err().code(), "workflow.unknown");
}

#[tokio::test]
async fn concurrent_messages_of_two_processes_never_interleave() {
    for when in [WhenBusy::Queue, WhenBusy::Refuse, WhenBusy::Stop] {
        let store: Arc<dyn Store> = Arc::new(Memory::new());
        let options = SessionOptions::default().when_busy(when);
        let agents = [agent_on(store.clone(), options.clone()), agent_on(store, options)];
        let id = agents[0].new_session(None).await.unwrap().id().clone();
        let sessions = agents.each_ref().map(|agent| agent.session(id.clone(), None));
        let mut sent = 0;
        for round in 0..5 {
            let (one, two) =
                tokio::join!(sessions[0].send(format!("{round}a")), sessions[1].send(format!("{round}b")));
            for sent_now in [one, two] {
                match sent_now {
                    Ok(_) => sent += 1,
                    Err(error) => assert!(when == WhenBusy::Refuse && error.kind() == ErrorKind::SessionBusy),
                }
            }
        }
        sessions[0].settled().await.unwrap();
        let said = texts(&sessions[1]).await;
        assert_eq!(said.len(), 2 * sent, "{said:?}");
        for (turn, pair) in said.chunks(2).enumerate() {
            if when != WhenBusy::Stop {
                assert_eq!(pair[1], format!("{}: {}", 2 * turn, pair[0]), "{said:?}");
            }
        }
    }
}

#[tokio::test]
async fn session_does_not_move_during_an_active_run() {
    let (go, wait) = (Arc::new(tokio::sync::Notify::new()), Arc::new(tokio::sync::Notify::new()));
    let (inner, began) = (go.clone(), wait.clone());
    let slow = move |_cx: Cx, _input: String| {
        let (go, began) = (inner.clone(), began.clone());
        async move {
            began.notify_one();
            go.notified().await;
            Ok(Next::message("done"))
        }
    };
    let workflow =
        Workflow::new("slow").node("slow", slow).edge(START, "slow").edge("slow", END).build().unwrap();
    let agent = Agent::builder().workflow(workflow).store(Arc::new(Memory::new())).build().unwrap();
    let session = agent.new_session(None).await.unwrap();
    let first = session.send("one").await.unwrap();
    wait.notified().await;
    let queued = session.send("two").await.unwrap();
    assert!(queued.queued);
    assert_eq!(session.undo().await.unwrap_err().code(), "session.busy");
    go.notify_one();
    let run = queued.begun().await.unwrap();
    wait.notified().await;
    assert_eq!(session.roll_back(&first.checkpoint).await.unwrap_err().code(), "session.busy");
    go.notify_one();
    assert_eq!(run.outcome().await.unwrap().text(), "done");
    session.settled().await.unwrap();
    session.roll_back(&first.checkpoint).await.unwrap();
    assert_eq!(texts(&session).await, ["one", "done"]);
}

#[tokio::test]
async fn queued_turn_is_active_as_soon_as_the_turn_before_it_has_ended() {
    let go = Arc::new(tokio::sync::Semaphore::new(0));
    let gate = go.clone();
    let slow = move |_cx: Cx, _input: String| {
        let gate = gate.clone();
        async move {
            drop(gate.acquire().await);
            Ok(Next::message("done"))
        }
    };
    let workflow =
        Workflow::new("slow").node("slow", slow).edge(START, "slow").edge("slow", END).build().unwrap();
    let agent = Agent::builder().workflow(workflow).store(Arc::new(Memory::new())).build().unwrap();
    let session = agent.new_session(None).await.unwrap();
    session.send("one").await.unwrap();
    for text in ["two", "three", "four"] {
        assert!(session.send(text).await.unwrap().queued);
    }
    go.add_permits(1);
    loop {
        let info = session.info().await.unwrap();
        assert!(info.going.is_some() || info.queued == 0, "{} messages wait and none is active", info.queued);
        if info.turns == 4 {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(texts(&session).await, ["one", "done", "two", "done", "three", "done", "four", "done"]);
}

#[tokio::test]
async fn queued_turn_starts_in_another_process() {
    let clock = Arc::new(headwater_store::ManualClock::at(1_000_000));
    let options = headwater_store::MemoryOptions { clock: clock.clone(), ..Default::default() };
    let store: Arc<dyn Store> = Arc::new(Memory::with(options));
    let began = Arc::new(tokio::sync::Notify::new());
    let told = began.clone();
    let stuck = move |_cx: Cx, _input: String| {
        told.notify_one();
        std::future::pending::<NodeResult>()
    };
    let stuck = Workflow::new("chat").node("say", stuck).edge(START, "say").edge("say", END).build().unwrap();
    let dying = Agent::builder().workflow(stuck).store(store.clone()).clock(clock.clone()).build().unwrap();
    let session = dying.new_session(None).await.unwrap();
    session.send("one").await.unwrap();
    began.notified().await;
    assert!(session.send("two").await.unwrap().queued);
    dying.abandon();

    clock.advance(std::time::Duration::from_secs(60));
    let next = Agent::builder().workflow(workflow()).store(store).clock(clock).build().unwrap();
    next.recover().await.unwrap();
    let session = next.session(session.id().clone(), None);
    session.settled().await.unwrap();
    assert_eq!(texts(&session).await, ["one", "0: one", "two", "2: two"]);
}

#[tokio::test]
async fn checkpoint_size_is_proportional_to_its_turn() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let agent = agent_on(store.clone(), SessionOptions::default());
    let session = agent.new_session(None).await.unwrap();
    for turn in 0..120 {
        send(&session, &format!("text {turn:04}")).await;
    }
    let values = store.list("checkpoint/", None, 1_000).await.unwrap();
    assert_eq!(values.len(), 120);
    let sizes: Vec<_> = values.iter().map(|(_, value)| value.bytes.len()).collect();
    let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
    assert!(most - least < 200, "a checkpoint has from {least} to {most} bytes");
    let head = store.list("session/", None, 10).await.unwrap();
    assert!(head[0].1.bytes.len() < 1_000);
}
