//! Answers and stop requests sent to a run, and the permission to send them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt as _, future::join_all};
use headwater_models::scripted::{Fault, Rule, When};
use headwater_protocol::{BlockDelta, BlockKind, Event, EventKind, RequestId, RunStatus, ToolOutput};
use headwater_runtime::{Agent, Answer, Choice, Cx, Error, Next, NodeResult, Run, Start, Text};
use headwater_tools::{FunctionTool, ToolContext, ToolError, schemars::JsonSchema};
use serde::Deserialize;
use serde_json::json;

use crate::harness::{TestRun, World, one, scripted, token};

async fn ask(cx: Cx, _: ()) -> NodeResult {
    let question = Choice::new("Send?").option("yes", "Yes").option("no", "No");
    Ok(Next::message(cx.interrupt(question).await?))
}

async fn code(agent: &Agent, answered: Answer) -> String {
    agent.answer(answered).await.unwrap_err().code().to_owned()
}

/// Waits until a run has emitted a matching event.
async fn emitted(run: &Run, what: impl Fn(&Event) -> bool) {
    let mut events = std::pin::pin!(run.events(0));
    while let Some(record) = events.next().await {
        if what(&record.unwrap().event) {
            return;
        }
    }
    panic!("it was never emitted");
}

#[tokio::test]
async fn wrong_answers_have_specific_errors_and_leave_the_question_open() {
    let world = World::of(one(ask));
    let ran = world.start(Start::new("").owner("ada")).await;
    let other = world.start(Start::new("").owner("bob")).await;
    let (request, right) = (ran.question().request.clone(), token(ran.question()));
    let foreign = token(other.question());
    let given = |answer: &str| Answer::given(request.clone(), answer);
    let agent = &world.agent;

    let unknown = Answer::given("req_nothing", "yes").token(&*right);
    assert_eq!(code(agent, unknown).await, "request.unknown");
    assert_eq!(code(agent, given("yes")).await, "token.missing");
    assert_eq!(code(agent, given("yes").token("nonsense")).await, "token.invalid");
    assert_eq!(code(agent, given("yes").token(foreign)).await, "token.invalid", "a token of another run");
    let mut tampered = right.clone().into_bytes();
    tampered[0] = if tampered[0] == b'A' { b'B' } else { b'A' };
    let tampered = String::from_utf8(tampered).unwrap();
    assert_eq!(code(agent, given("yes").token(tampered)).await, "token.invalid");
    assert_eq!(code(agent, given("yes").by(Some("bob".into()))).await, "run.foreign");
    assert_eq!(code(agent, given("yes").token(&*right).by(Some("bob".into()))).await, "run.foreign");
    assert_eq!(
        code(agent, given("yes").by(None)).await,
        "run.foreign",
        "an anonymous caller is not the owner"
    );
    assert_eq!(code(agent, given("perhaps").token(&*right)).await, "answer.invalid");
    assert_eq!(code(agent, Answer::approved(request.clone()).token(&*right)).await, "answer.invalid");

    assert_eq!(TestRun::of(agent, agent.run(ran.id().clone())).await.status(), RunStatus::Waiting);
    let ran = ran.send(given("yes").by(Some("ada".into()))).await.unwrap();
    assert_eq!(ran.text(), "yes", "its owner needs no token");
    assert_eq!(code(agent, given("no").token(&*right)).await, "request.answered", "and once is enough");
}

#[tokio::test]
async fn repeated_answer_gets_the_result_of_the_first() {
    let world = World::of(one(ask));
    let agent = &world.agent;
    let ran = world.run("").await;
    let request = ran.question().request.clone();
    let given = |answer: &str| Answer::given(request.clone(), answer).token(token(ran.question()));
    let first = agent.answer(given("yes")).await.unwrap();
    // While the answer is on its way, and long after.
    for _ in 0..3 {
        let again = agent.answer(given("yes")).await.unwrap();
        assert_eq!((again.id(), again.since_seq()), (first.id(), first.since_seq()));
        assert_eq!(code(agent, given("no")).await, "request.answered");
        assert_eq!(agent.open_questions(ran.id()).await.unwrap().len(), 0);
        assert_eq!(agent.questions(None, 10).await.unwrap().len(), 0);
        world.idle().await;
    }
    assert_eq!(TestRun::of(agent, agent.run(ran.id().clone())).await.text(), "yes");
    assert_eq!(code(agent, given("perhaps")).await, "request.answered");
}

#[tokio::test]
async fn second_answer_is_refused_while_the_run_continues() {
    async fn twice(cx: Cx, _: ()) -> NodeResult {
        let first = cx.interrupt(Text::new("First?")).await?;
        cx.interrupt(Text::new("Second?")).await?;
        Ok(Next::message(first))
    }
    let world = World::of(one(twice));
    let ran = world.run("").await;
    let first = ran.question().clone();
    let ran = ran.answer("one").await;
    let again = Answer::given(first.request.clone(), "another").token(token(&first));
    assert_eq!(code(&world.agent, again).await, "request.answered");
    assert_eq!(ran.answer("two").await.text(), "one");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_answers_have_exactly_one_winner() {
    for _ in 0..20 {
        let world = World::of(one(ask));
        let ran = world.run("").await;
        // Some answers go through another process.
        let second = world.restarted(|agent| agent.workflow(one(ask)));
        let question = ran.question();
        let send = |nth: usize| {
            let agent = if nth.is_multiple_of(2) { &world.agent } else { &second.agent };
            let answer = if nth.is_multiple_of(3) { "yes" } else { "no" };
            let answered = Answer::given(question.request.clone(), answer).token(token(question));
            async move { agent.answer(answered).await.map(|_| answer) }
        };
        let sent: Vec<Result<&str, Error>> = join_all((0..8).map(send)).await;
        let won: Vec<_> = sent.iter().filter_map(|sent| sent.as_ref().ok()).collect();
        assert!(!won.is_empty() && won.iter().all(|answer| *answer == won[0]), "{sent:?}");
        let same = sent.iter().enumerate().filter(|(nth, _)| nth.is_multiple_of(3) == (*won[0] == "yes"));
        assert!(
            same.into_iter().all(|(_, sent)| sent.is_ok()),
            "the same answer is the one that won: {sent:?}"
        );
        for error in sent.iter().filter_map(|sent| sent.as_ref().err()) {
            assert!(matches!(error.code(), "request.answered" | "run.ended"), "{error}");
        }
        // A driver that released the run just before the answer arrived resumes it after a moment without a
        // driver.
        let mut settled = world.settled(ran.id()).await;
        for _ in 0..5_000 {
            if settled.status() != RunStatus::Waiting {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
            settled = world.settled(ran.id()).await;
        }
        assert_eq!(settled.text(), **won[0]);
    }
}

#[tokio::test]
async fn late_answer_fails_because_the_run_has_ended() {
    let world = World::of(one(ask));
    let ran = world.run("").await;
    let late = Answer::given(ran.question().request.clone(), "yes").token(token(ran.question()));
    let stopped = world.agent.stop(ran.id(), Some("enough")).await.unwrap();
    let ran = TestRun::of(&world.agent, stopped).await;
    assert_eq!(ran.status(), RunStatus::Cancelled);
    assert_eq!(ran.outcome.state.run().cancel_reason.as_deref(), Some("enough"));
    world.idle().await;
    assert_eq!(code(&world.agent, late).await, "run.ended");
    assert_eq!(world.agent.stop(ran.id(), None).await.unwrap_err().code(), "run.ended");
    assert_eq!(world.agent.stop(&"run_nothing".into(), None).await.unwrap_err().code(), "run.unknown");
}

#[tokio::test]
async fn answer_is_kept_when_its_process_cannot_resume_the_run() {
    let world = World::of(one(ask));
    let ran = world.run("").await;
    world.idle().await;
    // This process accepts answers but drives no runs.
    let deaf = world.restarted(|agent| agent.workflow(one(ask)));
    deaf.agent.abandon();
    let answered = Answer::given(ran.question().request.clone(), "yes").token(token(ran.question()));
    deaf.agent.answer(answered).await.unwrap();
    let third = world.restarted(|agent| agent.workflow(one(ask)));
    world.clock.advance(Duration::from_secs(60));
    third.agent.recover().await.unwrap();
    assert_eq!(third.settled(ran.id()).await.text(), "yes");
}

#[tokio::test(start_paused = true)]
async fn stop_aborts_the_model_and_keeps_text_and_usage() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        cx.reason("writer").id("first").input("first").await?;
        cx.reason("writer").id("second").input("second").await?;
        Ok(Next::message("never"))
    }
    let model = scripted([
        Rule::when(When::input("first")).text("One."),
        Rule::always().text("Half a sen").fault(Fault::stall()),
    ]);
    let world = World::with(one(node), |agent| agent.model("writer", model));
    let run = world.agent.start(Start::new("")).await.unwrap();
    emitted(&run, |event| matches!(event, Event::BlockDelta(BlockDelta { kind: BlockKind::Text, delta, .. }) if delta.contains("sen"))).await;
    let ran = TestRun::of(&world.agent, world.agent.stop(run.id(), None).await.unwrap()).await;
    assert_eq!(ran.status(), RunStatus::Cancelled);
    assert_eq!(ran.text(), "One.Half a sen");
    assert_eq!(ran.count("attempt-retracted"), 0, "earlier output stays");
    assert_eq!(
        ran.count_blocks(BlockKind::Text, EventKind::BlockStarted),
        ran.count_blocks(BlockKind::Text, EventKind::BlockEnded)
    );
    assert!(ran.outcome.state.run().usage.as_ref().is_some_and(|usage| usage.output_tokens == Some(1)));
    assert_eq!(ran.emitted().last(), Some(&"run-cancelled"));
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[tokio::test(start_paused = true)]
async fn stop_signals_a_tool_and_grants_a_grace_period() {
    let told_to_stop = Arc::new(AtomicBool::new(false));
    let signal = told_to_stop.clone();
    let slow = move |_: Nothing, context: ToolContext| {
        let signal = signal.clone();
        async move {
            context.progress(headwater_tools::ToolOutput::text("working"));
            context.cancel.cancelled().await;
            signal.store(true, Ordering::SeqCst);
            Ok::<_, ToolError>("cleaned up")
        }
    };
    async fn node(cx: Cx, _: ()) -> NodeResult {
        cx.reason("writer").agent_tools(["slow"]).input("go").await?;
        Ok(Next::message("never"))
    }
    let model = scripted([Rule::always().tool("slow", json!({}))]);
    let world = World::with(one(node), |agent| {
        agent.model("writer", model.clone()).tool(FunctionTool::new("slow", slow))
    });
    let run = world.agent.start(Start::new("")).await.unwrap();
    emitted(&run, |event| matches!(event, Event::ToolOutput(ToolOutput { preliminary: true, .. }))).await;
    let ran = TestRun::of(&world.agent, world.agent.stop(run.id(), None).await.unwrap()).await;
    assert_eq!(ran.status(), RunStatus::Cancelled);
    assert!(told_to_stop.load(Ordering::SeqCst));
    assert!(ran.wire().contains("cleaned up"), "what it gave in its moment is kept");
    assert_eq!(model.asked(), 1, "and nothing new is begun");
}

#[tokio::test(start_paused = true)]
async fn stop_ends_a_run_whose_tool_and_node_ignore_it() {
    let deaf = |_: Nothing| async { std::future::pending::<Result<String, ToolError>>().await };
    async fn node(cx: Cx, _: ()) -> NodeResult {
        cx.emit().status("begun")?;
        let _ = cx.reason("writer").agent_tools(["deaf"]).input("go").await;
        std::future::pending().await
    }
    let model = scripted([Rule::always().tool("deaf", json!({}))]);
    let world =
        World::with(one(node), |agent| agent.model("writer", model).tool(FunctionTool::new("deaf", deaf)));
    let run = world.agent.start(Start::new("")).await.unwrap();
    emitted(&run, |event| matches!(event, Event::ToolInputAvailable(_))).await;
    let ran = TestRun::of(&world.agent, world.agent.stop(run.id(), None).await.unwrap()).await;
    assert_eq!(ran.status(), RunStatus::Cancelled);
    let call = ran.outcome.state.messages()[0].parts.iter().find_map(|part| match part {
        headwater_protocol::Part::Tool(tool) => Some(tool),
        _ => None,
    });
    assert!(call.unwrap().state.is_settled(), "the call is closed, so that the conversation stays usable");
}

#[tokio::test]
async fn stop_of_a_run_without_driver_takes_effect_first() {
    let done = Arc::new(AtomicU32::new(0));
    let node = {
        let done = done.clone();
        move |cx: Cx, _: ()| {
            let done = done.clone();
            async move {
                cx.emit().status("begun")?;
                if cx.client_context().is_empty() {
                    let (_, ()) = tokio::join!(cx.interrupt(Text::new("?")).into_future(), async {});
                }
                cx.step("pay", || async { Ok(done.fetch_add(1, Ordering::SeqCst)) }).await?;
                Ok(Next::go())
            }
        }
    };
    let world = World::of(one(node));
    let ran = world.run("").await;
    world.idle().await;
    // Answer and stopped while no process was running.
    let deaf = world.restarted(|agent| agent.workflow(one(ask)).name("other process"));
    let answered = Answer::given(ran.question().request.clone(), "yes").token(token(ran.question()));
    deaf.agent.answer(answered).await.unwrap();
    deaf.agent.stop(ran.id(), Some("enough")).await.unwrap();
    world.agent.recover().await.unwrap();
    let ran = world.settled(ran.id()).await;
    assert_eq!(ran.status(), RunStatus::Cancelled);
    assert_eq!(done.load(Ordering::SeqCst), 0, "nothing was begun after the stop");
}

#[tokio::test]
async fn run_continues_without_readers() {
    let go = Arc::new(tokio::sync::Notify::new());
    let node = {
        let go = go.clone();
        move |cx: Cx, _: ()| {
            let go = go.clone();
            async move {
                cx.emit().status("begun")?;
                go.notified().await;
                Ok(Next::message("done"))
            }
        }
    };
    let world = World::of(one(node));
    let run = world.agent.start(Start::new("")).await.unwrap();
    {
        let mut reader = std::pin::pin!(run.events(0));
        assert!(reader.next().await.is_some());
    }
    let id = run.id().clone();
    drop(run);
    go.notify_one();
    assert_eq!(world.settled(&id).await.text(), "done");
}

#[tokio::test]
async fn reconnected_reader_sees_every_event_once_in_order() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        for nth in 0..50 {
            cx.emit().data("n", None, json!(nth))?;
        }
        Ok(Next::go())
    }
    let world = World::of(one(node));
    let ran = world.run("").await;
    let all: Vec<_> = ran.run.events(0).map(Result::unwrap).collect().await;
    for cut in [1, 7, all.len() - 1] {
        let seen = all[cut - 1].seq;
        let rest: Vec<_> = ran.run.events(seen).map(Result::unwrap).collect().await;
        assert_eq!(rest.len(), all.len() - cut);
        assert!(rest.iter().zip(&all[cut..]).all(|(a, b)| a.seq == b.seq && a.event == b.event));
    }
}

#[tokio::test]
async fn unknown_run_is_an_error_and_run_ids_are_unique() {
    let world = World::of(one(ask));
    let error = world.agent.run("run_nothing").outcome().await.unwrap_err();
    assert_eq!(error.code(), "run.unknown", "{error}");
    assert_eq!(world.agent.run("run_nothing").summary().await.unwrap_err().code(), "run.unknown");
    world.start(Start::new("").run("mine")).await;
    let error = world.agent.start(Start::new("").run("mine")).await.unwrap_err();
    assert_eq!(error.code(), "run.exists", "{error}");
    let request: RequestId = "req_x".into();
    assert_eq!(code(&world.agent, Answer::given(request, 1).token("x")).await, "request.unknown");
}
