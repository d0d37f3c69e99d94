//! Sessions as a server uses them: repeated requests, lists, deletion, imported conversations, several
//! answers at once.

use std::{sync::Arc, time::Duration};

use headwater_models::scripted::{Call, Rule, When};
use headwater_protocol::{ClientTool, Message, MessageId, Role};
use headwater_runtime::{
    Agent, Answer, Choice, Cx, END, ErrorKind, Next, NodeResult, OpenQuestion, START, Session,
    SessionOptions, Start, Turn, TurnInput, WhenBusy, Workflow,
};
use headwater_store::{Memory, Store};
use serde_json::json;
use tokio::sync::Notify;

use super::{agent, agent_on, answer, send, texts};
use crate::harness::{World, one, scripted};

/// An agent whose runs report their start and continue on demand.
pub(super) fn held(store: Arc<dyn Store>, options: SessionOptions) -> (Agent, Arc<Notify>, Arc<Notify>) {
    let (go, began) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (inner, told) = (go.clone(), began.clone());
    let wait = move |_cx: Cx, input: String| {
        let (go, began) = (inner.clone(), told.clone());
        async move {
            began.notify_one();
            go.notified().await;
            Ok(Next::message(format!("noted {input}")))
        }
    };
    let workflow =
        Workflow::new("chat").node("wait", wait).edge(START, "wait").edge("wait", END).build().unwrap();
    let agent = Agent::builder().workflow(workflow).store(store).sessions(options).build().unwrap();
    (agent, go, began)
}

/// Asks two questions at once.
async fn both(cx: Cx, input: String) -> NodeResult {
    let colour = cx.interrupt(Choice::new("Colour?").option("r", "Red").option("b", "Blue")).id("colour");
    let size = cx.interrupt(Choice::new("Size?").option("s", "Small").option("l", "Large")).id("size");
    let (colour, size) = tokio::join!(async { colour.await }, async { size.await });
    Ok(Next::message(format!("{input}: {} {}", colour?, size?)))
}

async fn open(agent: &Agent, session: &Session) -> Vec<OpenQuestion> {
    let run = session.info().await.unwrap().waiting.unwrap();
    let mut open = agent.questions(None, 100).await.unwrap();
    open.retain(|question| question.run == run);
    open
}

fn given(open: &[OpenQuestion], asked: &str, with: &str) -> Answer {
    let asks = |question: &&OpenQuestion| question.interrupt().unwrap().question.as_deref() == Some(asked);
    let question = open.iter().find(asks).unwrap();
    Answer::given(question.request.clone(), with).token(question.token().unwrap())
}

#[tokio::test]
async fn repeated_request_returns_its_turn() {
    let agent = agent();
    let session = agent.new_session(None).await.unwrap();
    let turn = || Turn::new("one").key("request-1").key("message-1");
    let first = session.send(turn()).await.unwrap();
    let going = session.send(Turn::new("one").key("message-1")).await.unwrap();
    session.settled().await.unwrap();
    let after = session.send(turn()).await.unwrap();
    for again in [going, after] {
        assert!(again.repeated && !again.queued);
        assert_eq!((&again.run, &again.checkpoint), (&first.run, &first.checkpoint));
    }
    assert!(!first.repeated);
    assert_eq!(texts(&session).await, ["one", "0: one"]);

    send(&session, "two").await;
    assert!(!session.send(turn()).await.unwrap().repeated, "only the last turn is sent again");
    session.settled().await.unwrap();
    assert_eq!(session.info().await.unwrap().turns, 3);
}

#[tokio::test]
async fn rolled_back_request_is_new_and_the_current_one_is_not() {
    let agent = agent();
    let session = agent.new_session(None).await.unwrap();
    let first = session.send(Turn::new("one").key("1")).await.unwrap();
    session.settled().await.unwrap();
    session.send(Turn::new("two").key("2")).await.unwrap();
    session.settled().await.unwrap();
    session.undo().await.unwrap();
    let again = session.send(Turn::new("one").key("1")).await.unwrap();
    assert_eq!((again.repeated, &again.checkpoint), (true, &first.checkpoint));
    assert!(!session.send(Turn::new("two").key("2")).await.unwrap().repeated);
    session.settled().await.unwrap();
    assert_eq!(texts(&session).await, ["one", "0: one", "two", "2: two"]);
}

#[tokio::test]
async fn repeated_request_of_a_waiting_turn_keeps_its_question() {
    let agent = agent();
    let session = agent.new_session(None).await.unwrap();
    let first = session.send(Turn::new("report").key("r")).await.unwrap();
    session.settled().await.unwrap();
    let waits = session.send(Turn::new("report").key("r")).await.unwrap();
    assert_eq!((waits.repeated, &waits.run), (true, &first.run));
    let picked = answer(&agent, &session, "a").await;
    let answered = session.send(Turn::new("report").key("r")).await.unwrap();
    assert_eq!((answered.repeated, &answered.checkpoint), (true, &picked), "an answer continues the turn");
    answer(&agent, &session, "s").await;
    assert_eq!(session.info().await.unwrap().turns, 3);
}

#[tokio::test]
async fn concurrent_requests_with_one_key_begin_one_run() {
    for when in [WhenBusy::Queue, WhenBusy::Refuse, WhenBusy::Stop] {
        let store: Arc<dyn Store> = Arc::new(Memory::new());
        let options = SessionOptions::default().when_busy(when);
        let agents = [agent_on(store.clone(), options.clone()), agent_on(store, options)];
        let id = agents[0].new_session(None).await.unwrap().id().clone();
        let [one, two] = agents.each_ref().map(|agent| agent.session(id.clone(), None));
        for round in 0..5 {
            let turn = || Turn::new("hi").key(format!("key {round}"));
            let (left, right) = tokio::join!(one.send(turn()), two.send(turn()));
            let (left, right) = (left.unwrap(), right.unwrap());
            assert_eq!(left.run, right.run);
            assert_ne!(left.repeated, right.repeated);
            one.settled().await.unwrap();
        }
        assert_eq!(one.info().await.unwrap().turns, 5);
    }
}

#[tokio::test]
async fn repeated_request_is_queued_once() {
    let (agent, go, began) = held(Arc::new(Memory::new()), SessionOptions::default());
    let session = agent.new_session(None).await.unwrap();
    session.send(Turn::new("one").key("1")).await.unwrap();
    began.notified().await;
    let queued = session.send(Turn::new("two").key("2")).await.unwrap();
    let again = session.send(Turn::new("two").key("2")).await.unwrap();
    assert!(queued.queued && again.queued && again.repeated);
    assert_eq!(queued.run, again.run);
    assert_eq!(session.info().await.unwrap().queued, 1);
    go.notify_one();
    began.notified().await;
    go.notify_one();
    session.settled().await.unwrap();
    assert_eq!(texts(&session).await, ["one", "noted one", "two", "noted two"]);
}

#[tokio::test]
async fn sessions_are_listed_for_their_owner_newest_first_in_pages() {
    let world = World::of(super::workflow());
    let mut made = Vec::new();
    for number in 0..7 {
        let session = world.agent.new_session(Some("ann/x")).await.unwrap();
        send(&session, &format!("text {number}")).await;
        made.push(session.id().clone());
        world.agent.new_session((number % 2 == 0).then_some("bob")).await.unwrap();
        world.clock.advance(Duration::from_millis(5));
    }
    made.reverse();
    let mut found = Vec::new();
    let mut next = None;
    loop {
        let page = world.agent.sessions(Some("ann/x"), next.as_deref(), 3).await.unwrap();
        assert!(page.sessions.len() <= 3);
        found.extend(page.sessions);
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    let ids: Vec<_> = found.iter().map(|info| info.id.clone()).collect();
    assert_eq!(ids, made);
    assert_eq!(found[0].label.as_deref(), Some("text 6"));
    let chain = world.agent.session(made[0].clone(), Some("ann/x")).checkpoints(None, 1).await.unwrap();
    assert_eq!(found[0].last_run.as_ref(), Some(&chain[0].run));
    assert_eq!(found[0].last_message, Some(MessageId::from(format!("msg_{}", chain[0].run))));
    assert_eq!(world.agent.sessions(Some("bob"), None, 100).await.unwrap().sessions.len(), 4);
    assert_eq!(world.agent.sessions(None, None, 100).await.unwrap().sessions.len(), 3);
    assert_eq!(world.agent.sessions(Some("eve"), None, 100).await.unwrap().sessions, []);
    assert_eq!(world.agent.sessions(None, Some("?"), 1).await.unwrap_err().code(), "page.invalid");
    let other = world.restarted(|agent| agent.name("other").workflow(super::workflow()));
    assert_eq!(other.agent.sessions(Some("bob"), None, 100).await.unwrap().sessions, []);
}

#[tokio::test]
async fn session_label_is_that_of_its_first_turn() {
    let agent = agent();
    let session = agent.new_session(None).await.unwrap();
    let info = session.info().await.unwrap();
    assert_eq!((info.label, info.last_run, info.last_message), (None, None, None));
    session.send(Turn::new("one").label("x".repeat(200))).await.unwrap();
    session.settled().await.unwrap();
    let second = session.send("two").await.unwrap();
    session.settled().await.unwrap();
    let info = session.info().await.unwrap();
    assert_eq!(info.label, Some("x".repeat(80)));
    assert_eq!(info.last_run, Some(second.run));
    let fork = session.fork(&second.checkpoint, None).await.unwrap();
    assert_eq!(fork.info().await.unwrap().label, Some("x".repeat(80)));
    session.undo().await.unwrap();
    session.undo().await.unwrap();
    assert_eq!(session.info().await.unwrap().label, None);
    send(&session, "three").await;
    assert_eq!(session.info().await.unwrap().label.as_deref(), Some("three"));
}

/// The keys and journals of sessions and runs in a store.
async fn left(store: &Arc<dyn Store>) -> Vec<String> {
    let all = store.list("", None, 10_000).await.unwrap();
    let secret = |key: &str| key.starts_with("secret") || key.starts_with("waiting/");
    all.into_iter().map(|(key, _)| key).filter(|key| !secret(key)).collect()
}

#[tokio::test]
async fn deleted_session_leaves_nothing() {
    let world = World::of(super::workflow());
    let (agent, store) = (&world.agent, &world.store);
    let session = agent.new_session(Some("ann")).await.unwrap();
    let hello = send(&session, "hello").await;
    let asked = send(&session, "report").await;
    answer(agent, &session, "a").await;
    session.roll_back(&asked).await.unwrap();
    session.settled().await.unwrap();
    session.edit(&hello, "hello again").await.unwrap();
    session.settled().await.unwrap();
    send(&session, "report").await;
    world.idle().await;
    let runs: Vec<_> = agent.runs(None, 100).await.unwrap().into_iter().map(|meta| meta.run).collect();
    assert_eq!(runs.len(), 5);
    let error = agent.delete_session(session.id().clone(), Some("bob")).await.unwrap_err();
    assert_eq!(error.code(), "session.unknown");
    agent.delete_session(session.id().clone(), Some("ann")).await.unwrap();
    world.idle().await;
    assert_eq!(session.info().await.unwrap_err().code(), "session.unknown");
    assert_eq!(agent.sessions(Some("ann"), None, 10).await.unwrap().sessions, []);
    let left = left(store).await;
    assert!(left.is_empty(), "{left:?}");
    for run in runs {
        assert!(store.info(&run.as_str().into()).await.unwrap().is_none(), "{run}");
    }
    let again = agent.delete_session(session.id().clone(), Some("ann")).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::UnknownSession);
    agent.open_session(session.id().clone(), Some("bob")).await.unwrap();
}

#[tokio::test]
async fn deleting_a_session_stops_active_and_queued_turns() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let (agent, _go, began) = held(store.clone(), SessionOptions::default());
    let session = agent.new_session(None).await.unwrap();
    let first = session.send("one").await.unwrap();
    began.notified().await;
    let second = session.send("two").await.unwrap();
    agent.delete_session(session.id().clone(), None).await.unwrap();
    while agent.driving() > 0 {
        tokio::task::yield_now().await;
    }
    agent.recover().await.unwrap();
    for run in [first.run, second.run] {
        assert!(store.info(&run.as_str().into()).await.unwrap().is_none(), "{run}");
    }
    let left = left(&store).await;
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn fork_keeps_checkpoints_shared_with_a_deleted_session() {
    let world = World::of(super::workflow());
    let session = world.agent.new_session(None).await.unwrap();
    send(&session, "one").await;
    let asked = send(&session, "report").await;
    let fork = session.fork(&asked, None).await.unwrap();
    fork.settled().await.unwrap();
    answer(&world.agent, &session, "a").await;
    world.agent.delete_session(session.id().clone(), None).await.unwrap();
    answer(&world.agent, &fork, "b").await;
    answer(&world.agent, &fork, "l").await;
    fork.roll_back(&asked).await.unwrap();
    fork.settled().await.unwrap();
    answer(&world.agent, &fork, "a").await;
    answer(&world.agent, &fork, "s").await;
    let said = texts(&fork).await;
    assert_eq!(said[..3], ["one", "0: one", "report"]);
    assert!(said[3].starts_with("a/s/"), "{said:?}");
}

#[tokio::test]
async fn unreachable_checkpoints_are_deleted_after_a_while() {
    let world = World::of(super::workflow());
    let session = world.agent.new_session(None).await.unwrap();
    let base = send(&session, "base").await;
    let fork = session.fork(&base, None).await.unwrap();
    let mut counts = Vec::new();
    for round in 0..6 {
        send(&session, "one").await;
        let two = send(&session, "two").await;
        session.edit(&two, "zwei").await.unwrap();
        session.settled().await.unwrap();
        let kept = send(&session, "three").await;
        session.edit(&kept, "drei").await.unwrap();
        session.settled().await.unwrap();
        session.roll_back(&base).await.unwrap();
        world.idle().await;
        world.clock.advance(Duration::from_secs(120));
        world.agent.recover().await.unwrap();
        let mut keys = left(&world.store).await;
        keys.retain(|key| !key.starts_with("run/") && !key.starts_with("run-of/"));
        counts.push(keys.len());
        assert_eq!(counts[0], counts[round], "{keys:?}");
    }
    assert_eq!(texts(&fork).await, ["base", "0: base"]);
    send(&fork, "more").await;
    assert_eq!(world.store.list("checkpoint/", None, 100).await.unwrap().len(), 2);
}

#[tokio::test]
async fn session_can_import_a_conversation() {
    let agent = agent();
    let before = vec![
        Message::text("m1", Role::User, "What is up?"),
        Message::text("m2", Role::Assistant, "The sky."),
    ];
    let session = agent.seed_session(Some("page"), Some("ann"), before.clone()).await.unwrap();
    let info = session.info().await.unwrap();
    assert_eq!((info.turns, info.label.as_deref(), info.last_run), (1, Some("What is up?"), None));
    assert_eq!(info.last_message, Some("m2".into()));
    let seed = info.checkpoint.unwrap();
    let one = send(&session, "one").await;
    assert_eq!(texts(&session).await, ["What is up?", "The sky.", "one", "2: one"]);
    assert_eq!(session.history(Some(&seed), None, 10).await.unwrap().messages, before);
    assert_eq!(session.input(&seed).await.unwrap(), TurnInput::Seed);
    for error in [session.regenerate(&seed).await.unwrap_err(), session.edit(&seed, "x").await.unwrap_err()] {
        assert_eq!(error.code(), "turn.seeded");
    }
    let fork = session.fork(&seed, None).await.unwrap();
    send(&fork, "uno").await;
    session.edit(&one, "two").await.unwrap();
    session.settled().await.unwrap();
    assert_eq!(texts(&session).await.last().unwrap(), "2: two");
    session.roll_back(&seed).await.unwrap();
    assert_eq!(texts(&session).await, ["What is up?", "The sky."]);
    assert_eq!(texts(&fork).await.last().unwrap(), "2: uno");

    let taken = agent.seed_session(Some("page"), Some("ann"), before).await.unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::SessionExists);
    let empty = agent.seed_session(None, None, Vec::new()).await.unwrap();
    assert_eq!(empty.info().await.unwrap().turns, 0);
    send(&empty, "hi").await;
    assert_eq!(texts(&empty).await, ["hi", "0: hi"]);
}

#[tokio::test]
async fn several_answers_are_one_turn_and_resume_the_run_once() {
    let world = World::of(one(both));
    let agent = &world.agent;
    let session = agent.new_session(None).await.unwrap();
    send(&session, "shirt").await;
    let questions = open(agent, &session).await;
    let answers = vec![given(&questions, "Colour?", "r"), given(&questions, "Size?", "l")];
    let run = agent.answer_all(answers).await.unwrap();
    assert!(run.since_seq() > 0);
    assert_eq!(run.outcome().await.unwrap().text(), "shirt: r l");
    session.settled().await.unwrap();
    let info = session.info().await.unwrap();
    assert_eq!(info.turns, 2);
    match session.input(&info.checkpoint.clone().unwrap()).await.unwrap() {
        TurnInput::Answers(answers) => assert_eq!(answers.len(), 2),
        other => panic!("{other:?}"),
    }
    session.regenerate(&info.checkpoint.unwrap()).await.unwrap();
    session.settled().await.unwrap();
    assert_eq!(texts(&session).await, ["shirt", "shirt: r l"]);
}

#[tokio::test]
async fn answers_are_all_checked_before_any_is_recorded() {
    let world = World::of(one(both));
    let agent = &world.agent;
    let (one, two) = (agent.new_session(None).await.unwrap(), agent.new_session(None).await.unwrap());
    send(&one, "one").await;
    send(&two, "two").await;
    let (first, second) = (open(agent, &one).await, open(agent, &two).await);
    let code =
        |answers: Vec<Answer>| async move { agent.answer_all(answers).await.unwrap_err().code().to_owned() };
    let mixed = vec![given(&first, "Colour?", "r"), given(&second, "Size?", "s")];
    assert_eq!(code(mixed).await, "answers.several-runs");
    let wrong = vec![given(&first, "Colour?", "r"), given(&first, "Size?", "huge")];
    assert_eq!(code(wrong).await, "answer.invalid");
    let twice = vec![given(&first, "Colour?", "r"), given(&first, "Colour?", "b")];
    assert_eq!(code(twice).await, "answers.repeated");
    assert_eq!(code(Vec::new()).await, "answers.none");
    assert_eq!(open(agent, &one).await.len(), 2, "nothing was answered");
    assert_eq!(one.info().await.unwrap().turns, 1);
    let both = vec![given(&first, "Colour?", "b"), given(&first, "Size?", "s")];
    agent.answer_all(both.clone()).await.unwrap();
    one.settled().await.unwrap();
    assert_eq!(texts(&one).await, ["one", "one: b s"]);
    agent.answer_all(both.clone()).await.unwrap();
    let other = vec![given(&first, "Colour?", "r"), given(&first, "Size?", "s")];
    assert_eq!(code(other).await, "request.answered");
    assert_eq!(one.info().await.unwrap().turns, 2, "the same answers again begin nothing");
}

#[tokio::test]
async fn open_questions_are_listed_for_their_owner_and_name_the_tool_of_the_page() {
    async fn node(cx: Cx, _: String) -> NodeResult {
        cx.reason("writer").client_tools().input("go").await?;
        Ok(Next::go())
    }
    let model = scripted([
        Rule::when(When::after_tool("locate")).text("There."),
        Rule::always().tools([Call::new("locate", json!({ "near": "sea" })).id("c1")]),
    ]);
    let locate = ClientTool {
        name: "locate".into(),
        description: None,
        parameters: Some(json!({ "type": "object" })),
    };
    let world = World::with(one(node), |agent| agent.model("writer", model));
    let agent = &world.agent;
    for owner in [Some("ann"), Some("bob"), None] {
        let session = agent.new_session(owner).await.unwrap();
        let start = Start::new("go").client_tools(vec![locate.clone()]);
        session.send(Turn::from(start)).await.unwrap();
        session.settled().await.unwrap();
    }
    let mine = agent.questions_of(Some("ann"), None, 10).await.unwrap().questions;
    assert_eq!(mine.len(), 1);
    let (tool, input) = mine[0].client_tool().unwrap();
    assert_eq!((tool.call.as_str(), &*tool.name, input), ("c1", "locate", &json!({ "near": "sea" })));
    assert_eq!(agent.questions_of(None, None, 10).await.unwrap().questions[0].owner, None);
    assert!(agent.questions_of(Some("ann"), Some(&mine[0].request), 10).await.unwrap().questions.is_empty());
    let call = tool.call.clone();
    let run = agent.tool_output(&mine[0].run, &call, Some("ann".into()), Ok(json!("here"))).await.unwrap();
    run.outcome().await.unwrap();
    world.idle().await;
    assert!(agent.questions_of(Some("ann"), None, 10).await.unwrap().questions.is_empty());
    assert_eq!(agent.questions(None, 10).await.unwrap().len(), 2);
}
