//! A single model call that is aborted, by a signal or because the node drops it: its text is retracted, and
//! a resumed run does not pay for the call again.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use headwater_models::scripted::{Rule, ScriptedModel, When};
use headwater_protocol::{AttemptRetracted, Event, RunStatus};
use headwater_runtime::{Choice, Cx, Next, NodeResult, replay};
use headwater_tools::{FunctionTool, ToolContext, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::harness::{TestRun, World, one, scripted};

/// A model that writes one word and then nothing for an hour.
fn slow() -> ScriptedModel {
    scripted([Rule::always().text("half an answer").delay(Duration::from_secs(3600)).text(" and the rest")])
}

fn reasons(ran: &TestRun) -> Vec<&str> {
    let reasons = ran.events.iter().filter_map(|event| match event {
        Event::AttemptRetracted(AttemptRetracted { reason, .. }) => {
            Some(reason.as_deref().unwrap_or_default())
        }
        _ => None,
    });
    reasons.collect()
}

/// Checks a run with an aborted call, before it waits and after another process has resumed it with the
/// answer.
async fn check(world: World, model: ScriptedModel, node: impl Fn() -> World) {
    let ran = world.run("").await;
    assert_eq!(ran.status(), RunStatus::Waiting, "{:?}", ran.outcome.state.run().error);
    assert_eq!(reasons(&ran), ["model.aborted: the call was aborted"]);
    assert_eq!(ran.count("attempt-finished"), 0);
    assert!(!ran.text().contains("half"), "its output is retracted: {}", ran.text());
    assert_eq!(model.asked(), 1);
    world.agent.abandon();
    let next = node();
    let ran = TestRun { agent: next.agent.clone(), run: next.agent.run(ran.id().clone()), ..ran };
    let ran = ran.answer("yes").await;
    assert_eq!(ran.result(), "model.aborted", "the call fails as it did");
    assert_eq!(model.asked(), 1, "the model is not asked again");
    assert_eq!(reasons(&ran).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn call_aborted_by_a_signal_is_not_paid_for_again() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let enough = tokio::time::sleep(Duration::from_secs(1));
        let error =
            cx.reason("slow").input("").fallback("slow").attempts(5).abort_when(enough).await.unwrap_err();
        let choice = Choice::new("Continue?").option("yes", "Yes");
        cx.interrupt(choice).await?;
        Ok(Next::go().with_result(&error.code())?)
    }
    let model = slow();
    let world = World::with(one(node), |agent| agent.model("slow", model.clone()));
    let again = || world.restarted(|agent| agent.workflow(one(node)).model("slow", model.clone()));
    check(world.clone(), model.clone(), again).await;
}

#[tokio::test(start_paused = true)]
async fn call_dropped_by_the_node_is_not_paid_for_again() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let call = cx.reason("slow").id("slow").input("");
        let code = tokio::select! {
            reply = call => reply.map_or_else(|error| error.code().to_owned(), |reply| reply.text),
            () = tokio::time::sleep(Duration::from_secs(1)) => "dropped".to_owned(),
        };
        let choice = Choice::new("Continue?").option("yes", "Yes");
        cx.interrupt(choice).await?;
        Ok(Next::go().with_result(&code)?)
    }
    let model = slow();
    let world = World::with(one(node), |agent| agent.model("slow", model.clone()));
    let again = || world.restarted(|agent| agent.workflow(one(node)).model("slow", model.clone()));
    check(world.clone(), model.clone(), again).await;
}

#[tokio::test(start_paused = true)]
async fn signal_set_before_the_call_skips_the_model() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let error = cx.reason("slow").input("").abort_when(std::future::ready(())).await.unwrap_err();
        Ok(Next::go().with_result(&error.code())?)
    }
    let model = slow();
    let ran = World::with(one(node), |agent| agent.model("slow", model.clone())).run("").await;
    assert_eq!(ran.result(), "model.aborted");
    assert_eq!(model.asked(), 0);
}

#[tokio::test(start_paused = true)]
async fn releasing_a_run_aborts_no_call() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let reply = cx.reason("slow").input("").await?;
        Ok(Next::go().with_result(&reply.text)?)
    }
    let model = slow();
    let world = World::with(one(node), |agent| agent.model("slow", model.clone()));
    let run = world.agent.start(headwater_runtime::Start::new("")).await.unwrap();
    while model.asked() == 0 {
        tokio::task::yield_now().await;
    }
    world.agent.abandon();
    let next = world.restarted(|agent| agent.workflow(one(node)).model("slow", model.clone()));
    world.clock.advance(Duration::from_secs(60));
    next.agent.recover().await.unwrap();
    let ran = TestRun::of(&next.agent, next.agent.run(run.id().clone())).await;
    assert_eq!(ran.result(), "half an answer and the rest");
    assert_eq!(reasons(&ran), ["attempt.abandoned: the process that asked the model died"]);
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[tokio::test(start_paused = true)]
async fn call_dropped_while_a_tool_runs_is_not_paid_for_again() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let call = cx.reason("m").id("call").input("").agent_tools(["quick", "slow"]);
        let code = tokio::select! {
            reply = call => reply.map_or_else(|error| error.code().to_owned(), |reply| reply.text),
            () = tokio::time::sleep(Duration::from_secs(1)) => "dropped".to_owned(),
        };
        cx.interrupt(Choice::new("Continue?").option("yes", "Yes")).await?;
        Ok(Next::go().with_result(&code)?)
    }
    let model = scripted([
        Rule::when(When::pass(0)).text("Let me look. ").tool("quick", json!({})).tool("slow", json!({})),
        Rule::always().text("There it is."),
    ]);
    let called = Arc::new(AtomicU64::new(0));
    let tool = |name: &'static str, time: Duration| {
        let called = called.clone();
        FunctionTool::new(name, move |_: Nothing, _: ToolContext| {
            called.fetch_add(1, Ordering::Relaxed);
            async move {
                tokio::time::sleep(time).await;
                Ok::<_, ToolError>("found")
            }
        })
    };
    let build = |agent: headwater_runtime::AgentBuilder| {
        let quick = tool("quick", Duration::from_millis(1));
        agent.workflow(one(node)).model("m", model.clone()).tool(quick).tool(tool("slow", Duration::MAX))
    };
    let world = World::build(build);
    let ran = world.run("").await;
    assert_eq!(ran.status(), RunStatus::Waiting, "{:?}", ran.outcome.state.run().error);
    assert_eq!((ran.count("step-started"), ran.count("step-finished")), (1, 1));
    assert_eq!(ran.count("tool-output-error"), 1, "the call that was dropped is closed");
    world.agent.abandon();

    let next = world.restarted(build);
    let ran = TestRun { agent: next.agent.clone(), run: next.agent.run(ran.id().clone()), ..ran };
    let ran = ran.answer("yes").await;
    assert_eq!(ran.result(), "model.aborted", "the call fails");
    assert_eq!((model.asked(), called.load(Ordering::Relaxed)), (1, 2), "nothing is done again");
    assert_eq!(ran.count("step-finished"), 1);
    let replayed = replay(&next.agent, ran.id().clone()).await.unwrap();
    assert!(replayed.is_same(), "{:?}", replayed.divergence);
}
