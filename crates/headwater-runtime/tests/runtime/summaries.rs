//! Run summaries: lists of runs without reading their journals.

use std::time::Duration;

use headwater_models::scripted::{Rule, Script, ScriptedModel, When};
use headwater_protocol::{RunId, RunStatus, Usage};
use headwater_runtime::{
    Agent, Choice, Cx, END, Next, NodeError, NodeResult, Owners, RunFilter, RunSummary, START, Start,
    Workflow,
};

use crate::harness::World;

async fn step(cx: Cx, input: String) -> NodeResult {
    match input.as_str() {
        "ask" => {
            let choice = Choice::new("Which?").option("a", "A").option("b", "B");
            let answer = cx.interrupt(choice).id("which").await?;
            Ok(Next::message(answer.to_string()))
        }
        "fail" => Err(NodeError::new("it went wrong")),
        "stall" => std::future::pending().await,
        _ => {
            cx.reason(cx.model("model")?).id("reply").input(input).await?;
            Ok(Next::go())
        }
    }
}

fn world() -> World {
    let workflow =
        Workflow::new("w").node("step", step).edge(START, "step").edge("step", END).build().unwrap();
    let script = Script::new("script").rule(Rule::when(When::input_contains("hello")).text("Hi there."));
    World::with(workflow, |agent| agent.model("model", ScriptedModel::new(script)))
}

/// Runs an owner's input until it ends or waits, and advances the clock by a second.
async fn run(world: &World, owner: &str, input: &str) -> RunId {
    let ran = world.start(Start::new(input).owner(owner)).await;
    world.idle().await;
    world.clock.advance(Duration::from_secs(1));
    ran.id().clone()
}

async fn listed(agent: &Agent, filter: &RunFilter) -> Vec<RunId> {
    let page = agent.runs_of(Owners::One(Some("ann")), filter, None, 100).await.unwrap();
    assert_eq!(page.next, None);
    page.runs.into_iter().map(|run| run.run).collect()
}

async fn summary(world: &World, run: &RunId) -> RunSummary {
    world.agent.run(run.clone()).summary().await.unwrap()
}

#[tokio::test]
async fn summary_has_status_error_model_tokens_and_times() {
    let world = world();
    let done = summary(&world, &run(&world, "ann", "hello").await).await;
    assert_eq!((done.status, done.error.clone()), (RunStatus::Finished, None));
    assert_eq!(done.model.as_deref(), Some("scripted:script"));
    assert!(done.usage != Usage::default(), "{done:?}");
    assert_eq!((done.created, done.ended), (1_700_000_000_000, Some(1_700_000_000_000)));
    let failed = summary(&world, &run(&world, "ann", "fail").await).await;
    assert_eq!((failed.status, failed.error.as_deref()), (RunStatus::Failed, Some("node.failed")));
    assert_eq!(failed.ended, Some(1_700_000_001_000));
    let asked = run(&world, "ann", "ask").await;
    let waits = summary(&world, &asked).await;
    assert_eq!((waits.status, waits.ended), (RunStatus::Waiting, None));
    assert!(waits.until > Some(waits.updated));
    let stopped = world.agent.stop(&asked, None).await.unwrap();
    stopped.outcome().await.unwrap();
    world.idle().await;
    let stopped = summary(&world, &asked).await;
    assert_eq!((stopped.status, stopped.error, stopped.until), (RunStatus::Cancelled, None, None));
    assert_eq!((stopped.created, stopped.ended), (1_700_000_002_000, Some(1_700_000_003_000)));
}

#[tokio::test]
async fn runs_are_listed_newest_first_by_filter() {
    let world = world();
    let mut runs = Vec::new();
    for input in ["hello", "fail", "ask", "hello"] {
        runs.push(run(&world, "ann", input).await);
        run(&world, "bob", input).await;
    }
    let session = world.agent.open_session("s", Some("ann")).await.unwrap();
    let turn = session.send("hello").await.unwrap().run;
    session.settled().await.unwrap();
    world.idle().await;
    let filter = RunFilter::default();
    let newest_first: Vec<_> = [&turn].into_iter().chain(runs.iter().rev()).cloned().collect();
    assert_eq!(listed(&world.agent, &filter).await, newest_first);
    let status = |status| RunFilter { status: Some(status), ..RunFilter::default() };
    assert_eq!(listed(&world.agent, &status(RunStatus::Failed)).await, [runs[1].clone()]);
    assert_eq!(listed(&world.agent, &status(RunStatus::Waiting)).await, [runs[2].clone()]);
    assert_eq!(listed(&world.agent, &status(RunStatus::Cancelled)).await, Vec::<RunId>::new());
    let in_session = RunFilter { session: Some("s".into()), ..RunFilter::default() };
    assert_eq!(listed(&world.agent, &in_session).await, std::slice::from_ref(&turn));
    let since = RunFilter { since: Some(1_700_000_006_000), ..RunFilter::default() };
    assert_eq!(listed(&world.agent, &since).await, [turn, runs[3].clone()]);
    let agent = |name: &str| RunFilter { agent: Some(name.to_owned()), ..RunFilter::default() };
    assert_eq!(listed(&world.agent, &agent(world.agent.name())).await.len(), 5);
    assert_eq!(listed(&world.agent, &agent("other")).await, Vec::<RunId>::new());
}

#[tokio::test]
async fn pages_of_a_filtered_list_have_each_run_once() {
    let world = world();
    let mut failed = Vec::new();
    for input in ["fail", "hello", "hello", "fail", "fail", "hello", "fail"] {
        let run = run(&world, "ann", input).await;
        if input == "fail" {
            failed.insert(0, run);
        }
    }
    let filter = RunFilter { status: Some(RunStatus::Failed), ..RunFilter::default() };
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = world.agent.runs_of(Owners::One(Some("ann")), &filter, after.as_ref(), 2).await.unwrap();
        assert!(page.runs.len() <= 2);
        found.extend(page.runs.into_iter().map(|run| run.run));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, failed);
}
