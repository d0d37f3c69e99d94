//! Regression tests for conversation bugs of similar systems.

use std::{sync::Arc, time::Duration};

use headwater_protocol::Role;
use headwater_runtime::{Answer, Choice, Cx, END, ErrorKind, Next, NodeResult, START, Start, Turn, Workflow};
use headwater_store::Memory;
use serde_json::json;

use super::{agent, answer, open, send, texts, workflow};
use crate::harness::World;

#[tokio::test]
async fn condition_of_one_turn_does_not_apply_to_the_next() {
    async fn route(_cx: Cx, input: String) -> NodeResult {
        Ok(if input == "left" { Next::condition("left") } else { Next::go() })
    }
    async fn left(_cx: Cx, _: ()) -> NodeResult {
        Ok(Next::message("left"))
    }
    async fn plain(_cx: Cx, _: ()) -> NodeResult {
        Ok(Next::message("plain"))
    }
    let workflow = Workflow::new("w")
        .node("route", route)
        .node("left", left)
        .node("plain", plain)
        .edge(START, "route")
        .edge_when("route", "left", "left")
        .edge("route", "plain")
        .edge("left", END)
        .edge("plain", END)
        .build()
        .unwrap();
    let session = World::of(workflow).agent.new_session(None).await.unwrap();
    send(&session, "left").await;
    send(&session, "other").await;
    assert_eq!(texts(&session).await, ["left", "left", "other", "plain"]);
}

#[tokio::test]
async fn messages_are_in_the_history_once() {
    let agent = agent();
    let session = agent.new_session(None).await.unwrap();
    send(&session, "one").await;
    send(&session, "report").await;
    answer(&agent, &session, "a").await;
    answer(&agent, &session, "s").await;
    send(&session, "two").await;
    let messages = session.history(None, None, 100).await.unwrap().messages;
    let roles: Vec<_> = messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant].repeat(3));
    let mut ids: Vec<_> = messages.iter().map(|message| message.id.clone()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 6);
    assert_eq!(messages[5].plain_text(), "4: two", "and is given to the run once");
}

#[tokio::test]
async fn transition_after_an_answer_runs_in_the_same_turn() {
    async fn first(cx: Cx, _: String) -> NodeResult {
        cx.interrupt(Choice::new("Go?").option("y", "Yes")).id("go").await?;
        Ok(Next::transition("second"))
    }
    async fn second(_cx: Cx, _: ()) -> NodeResult {
        Ok(Next::message("handed over"))
    }
    let flow = |id: &str| Workflow::new(id);
    let world = World::build(|agent| {
        agent
            .workflow(flow("first").node("n", first).edge(START, "n").edge("n", END).build().unwrap())
            .workflow(flow("second").node("n", second).edge(START, "n").edge("n", END).build().unwrap())
            .default_workflow("first")
    });
    let session = world.agent.new_session(None).await.unwrap();
    send(&session, "x").await;
    let done = answer(&world.agent, &session, "y").await;
    assert_eq!(texts(&session).await, ["x", "handed over"]);
    assert!(session.checkpoint(&done).await.unwrap().workflow.starts_with("second"));
    session.regenerate(&done).await.unwrap();
    session.settled().await.unwrap();
    assert_eq!(texts(&session).await, ["x", "handed over"]);
}

#[tokio::test]
async fn unknown_workflow_is_an_error_and_leaves_no_turn() {
    let agent = agent();
    let session = agent.new_session(None).await.unwrap();
    let turn = Turn::from(Start::new("hi").workflow("support"));
    let error = session.send(turn).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownWorkflow);
    assert!(error.message().contains("`chat`"), "{error}");
    let info = session.info().await.unwrap();
    assert_eq!((info.turns, info.going, info.queued), (0, None, 0));
}

#[tokio::test]
async fn ended_runs_are_deleted_and_their_messages_stay() {
    let world = World::of(workflow());
    let session = world.agent.new_session(None).await.unwrap();
    let one = send(&session, "one").await;
    world.idle().await;
    world.clock.advance(Duration::from_secs(8 * 24 * 3_600));
    world.agent.recover().await.unwrap();
    assert!(world.agent.runs(None, 10).await.unwrap().is_empty());
    let gone = session.checkpoint(&one).await.unwrap().run;
    assert!(world.store.info(&gone.as_str().into()).await.unwrap().is_none());
    assert_eq!(texts(&session).await, ["one", "0: one"]);
    session.regenerate(&one).await.unwrap();
    session.settled().await.unwrap();
    assert_eq!(texts(&session).await, ["one", "0: one"], "what was written is done again without its run");
}

#[tokio::test]
async fn data_of_the_route_is_hidden_from_readers() {
    let agent = agent();
    let session = agent.new_session(None).await.unwrap();
    let start = Start::new("report").runtime_context(json!({ "secret": "hunter2" }));
    let sent = session.send(Turn::from(start)).await.unwrap();
    session.settled().await.unwrap();
    answer(&agent, &session, "a").await;
    answer(&agent, &session, "s").await;
    let events = agent.run(sent.run).recorded().await.unwrap();
    let state = session.state(None).await.unwrap();
    let told = format!(
        "{} {:?} {:?} {:?}",
        serde_json::to_string(&events).unwrap(),
        session.checkpoints(None, 10).await.unwrap(),
        state.messages,
        state.workflow_state
    );
    assert!(!told.contains("hunter2"), "{told}");
}

#[tokio::test]
async fn anonymous_callers_share_nothing() {
    let agent = agent();
    let (one, two) = (agent.new_session(None).await.unwrap(), agent.new_session(None).await.unwrap());
    assert_ne!(one.id(), two.id());
    assert!(one.id().as_str().len() > 20, "an id that cannot be guessed");
    send(&one, "my secret").await;
    send(&two, "hello").await;
    assert_eq!(texts(&two).await, ["hello", "0: hello"]);
    assert_eq!(texts(&one).await, ["my secret", "0: my secret"]);
}

#[tokio::test]
async fn session_of_another_owner_cannot_be_answered_forked_or_reset() {
    let agent = agent();
    let (ann, bob) =
        (agent.new_session(Some("ann")).await.unwrap(), agent.new_session(Some("bob")).await.unwrap());
    let asked = send(&ann, "report").await;
    send(&bob, "one").await;
    let run = ann.info().await.unwrap().waiting.unwrap();
    let request = open(&agent, &run, "a").await;
    let answered = agent.answer(request.by(Some("bob".into()))).await.unwrap_err();
    assert_eq!(answered.kind(), ErrorKind::Foreign);
    assert_eq!(bob.fork(&asked, None).await.unwrap_err().code(), "checkpoint.unknown");
    assert_eq!(bob.select(&asked).await.unwrap_err().code(), "checkpoint.unknown");
    assert_eq!(bob.history(Some(&asked), None, 1).await.unwrap_err().code(), "checkpoint.unknown");
    let stolen = agent.session(ann.id().clone(), Some("bob"));
    assert_eq!(stolen.fork(&asked, None).await.unwrap_err().code(), "session.unknown");
    assert_eq!(stolen.export().await.unwrap_err().code(), "session.unknown");
    assert_eq!(ann.info().await.unwrap().turns, 1);
}

#[tokio::test]
async fn late_answer_begins_nothing() {
    let world = World::of(workflow());
    let session = world.agent.new_session(None).await.unwrap();
    send(&session, "report").await;
    let run = session.info().await.unwrap().waiting.unwrap();
    let late = open(&world.agent, &run, "a").await;
    world.clock.advance(Duration::from_secs(8 * 24 * 3_600));
    assert_eq!(world.agent.answer(late.clone()).await.unwrap_err().kind(), ErrorKind::Expired);
    world.agent.recover().await.unwrap();
    session.settled().await.unwrap();
    world.idle().await;
    assert!(world.agent.answer(late).await.is_err());
    let runs: Vec<_> = session.checkpoints(None, 10).await.unwrap().iter().map(|at| at.run.clone()).collect();
    assert!(runs.iter().all(|at| *at == run), "no other run began: {runs:?}");
    send(&session, "one").await;
    assert_eq!(texts(&session).await.last().unwrap(), "2: one");
}

#[tokio::test]
async fn refused_answer_leaves_the_question_open_and_reveals_no_token() {
    let agent = agent();
    let session = agent.new_session(None).await.unwrap();
    let asked = send(&session, "report").await;
    let run = session.info().await.unwrap().waiting.unwrap();
    let question = agent.questions(None, 10).await.unwrap().remove(0);
    let token = question.token().unwrap().to_owned();
    let wrong = open(&agent, &run, "neither").await;
    let error = agent.answer(wrong).await.unwrap_err();
    assert_eq!(error.code(), "answer.invalid");
    let forged = Answer::given(question.request.clone(), "a").token(format!("{token}x"));
    let refused = agent.answer(forged).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Token);
    assert!(!format!("{error:?} {refused:?}").contains(&token));
    let info = session.info().await.unwrap();
    assert_eq!((info.checkpoint, info.waiting), (Some(asked), Some(run)));
    answer(&agent, &session, "a").await;
    let twice = Answer::given(question.request, "b").token(token);
    assert_eq!(agent.answer(twice).await.unwrap_err().kind(), ErrorKind::Answered);
}

#[tokio::test]
async fn concurrent_answers_count_once() {
    let store: Arc<Memory> = Arc::new(Memory::new());
    let agents = [0; 2].map(|_| super::agent_on(store.clone(), Default::default()));
    let session = agents[0].new_session(None).await.unwrap();
    send(&session, "report").await;
    let run = session.info().await.unwrap().waiting.unwrap();
    let (one, two) = (open(&agents[0], &run, "a").await, open(&agents[1], &run, "b").await);
    let (one, two) = tokio::join!(agents[0].answer(one), agents[1].answer(two));
    assert!(one.is_ok() ^ two.is_ok(), "{one:?} {two:?}");
    session.settled().await.unwrap();
    assert_eq!(session.info().await.unwrap().turns, 2);
}
