//! Leases: one process drives a run at a time, whatever the clocks show, and a run that keeps killing its
//! process is abandoned.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use headwater_models::scripted::{Rule, ScriptedModel, When};
use headwater_protocol::{RunId, RunStatus};
use headwater_runtime::{Agent, AgentOptions, Cx, Next, NodeResult, Start};
use headwater_store::{Clock as _, Embedded, Store, Time};
use headwater_tools::{FunctionTool, ToolContext, ToolError, UnfinishedPolicy};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::{
    harness::{TestRun, World, memory, one, scripted},
    streaming_model::StreamingModel,
};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// A tool that ends on demand, counts its calls and notes whether it was dropped.
#[derive(Clone)]
struct Slow {
    calls: Arc<AtomicU64>,
    dropped: Arc<AtomicBool>,
    go: Arc<Semaphore>,
}

impl Slow {
    fn new() -> Self {
        Self { calls: Arc::default(), dropped: Arc::default(), go: Arc::new(Semaphore::new(0)) }
    }

    fn tool(&self, name: &str, unfinished: UnfinishedPolicy) -> FunctionTool<Nothing> {
        struct OnDrop(Arc<AtomicBool>);
        impl Drop for OnDrop {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let slow = self.clone();
        let call = move |_: Nothing, _: ToolContext| {
            let slow = slow.clone();
            async move {
                slow.calls.fetch_add(1, Ordering::SeqCst);
                let _dropped = OnDrop(slow.dropped.clone());
                slow.go.acquire().await.unwrap().forget();
                Ok::<_, ToolError>("done")
            }
        };
        FunctionTool::new(name, call).unfinished(unfinished)
    }

    fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }
}

async fn reply(cx: Cx, input: String) -> NodeResult {
    let reply = match input.as_str() {
        "talk" => cx.reason("talker").input("hi").await?,
        tool => cx.reason("m").input(tool).agent_tools([tool]).await?,
    };
    Ok(Next::go().with_result(&reply.text)?)
}

fn calls_tools() -> ScriptedModel {
    scripted([
        Rule::when(When::after_tool("fragile")).text("It is {tool.fragile}."),
        Rule::when(When::after_tool("repeatable")).text("It is {tool.repeatable}."),
        Rule::when(When::input("fragile")).tool("fragile", json!({})),
        Rule::when(When::input("repeatable")).tool("repeatable", json!({})),
    ])
}

#[tokio::test]
async fn clock_steps_repeat_no_model_and_no_tool_call() {
    const DAY: i64 = 24 * 3_600;
    // Steps of the wall clock alone, and of all clocks: a machine that was suspended for that long.
    for (step, all) in [(40, false), (DAY, false), (-DAY, false), (-40, false), (40, true), (DAY, true)] {
        let (store, clock) = memory();
        let (talker, model, slow) = (StreamingModel::quiet("word ", 1), calls_tools(), Slow::new());
        let world = World::on(store, clock.clone(), |agent| {
            agent
                .workflow(one(reply))
                .model("talker", talker.clone())
                .model("m", model.clone())
                .tool(slow.tool("fragile", UnfinishedPolicy::Fail))
                .tool(slow.tool("repeatable", UnfinishedPolicy::Repeat))
        });
        let mut runs = Vec::new();
        for number in 0..20 {
            let input = ["talk", "talk", "fragile", "repeatable"][number % 4];
            let run = world.agent.start(Start::new(input)).await.unwrap();
            runs.push((run.id().clone(), input));
        }
        while talker.asked() < 10 || slow.calls() < 10 {
            tokio::task::yield_now().await;
        }
        if all {
            clock.advance(Duration::from_secs(step.unsigned_abs()));
        } else {
            clock.set_wall(Time(clock.now().0.checked_add_signed(step * 1_000).unwrap()));
        }
        for _ in 0..3 {
            let report = world.agent.recover().await.unwrap();
            assert_eq!(
                report,
                headwater_runtime::RecoveryReport::default(),
                "{step} s: nothing is taken over"
            );
        }
        assert_eq!(world.agent.driving(), 20, "{step} s");
        talker.speak(10);
        slow.go.add_permits(10);
        world.idle().await;
        for (run, input) in runs {
            let ran = TestRun::of(&world.agent, world.agent.run(run)).await;
            let expected = if input == "talk" { "word " } else { "It is done." };
            assert_eq!(*ran.result(), expected, "{step} s");
            assert_eq!(ran.count("attempt-retracted"), 0, "{step} s");
        }
        assert_eq!((talker.asked(), model.asked(), slow.calls()), (10, 20, 10), "{step} s, all: {all}");
    }
}

#[tokio::test(start_paused = true)]
async fn driver_without_lease_stops_its_work_at_once() {
    let (store, clock) = memory();
    let slow = Slow::new();
    let build = |slow: &Slow| {
        let tool = slow.tool("repeatable", UnfinishedPolicy::Repeat);
        |agent: headwater_runtime::AgentBuilder| {
            agent.workflow(one(reply)).model("m", calls_tools()).tool(tool)
        }
    };
    let first = World::on(store.clone(), clock.clone(), build(&slow));
    let run = first.agent.start(Start::new("repeatable")).await.unwrap();
    while slow.calls() == 0 {
        tokio::task::yield_now().await;
    }
    // For the first process no time passes: it is suspended.
    clock.advance(Duration::from_secs(60));
    let other = Slow::new();
    let second = World::on(store, clock, build(&other));
    assert_eq!(second.agent.recover().await.unwrap().taken_over, [run.id().clone()]);
    // Its next renewal reports the loss.
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(first.agent.driving(), 0);
    assert!(slow.dropped.load(Ordering::SeqCst), "the tool is not left running");
    other.go.add_permits(1);
    let ran = second.settled(run.id()).await;
    assert_eq!(*ran.result(), "It is done.");
}

#[tokio::test]
async fn run_that_always_crashes_is_abandoned() {
    let (store, clock) = memory();
    let talker = StreamingModel::quiet("word ", 1);
    let build =
        |agent: headwater_runtime::AgentBuilder| agent.workflow(one(reply)).model("talker", talker.clone());
    let mut world = World::on(store, clock.clone(), build);
    let run = world.agent.start(Start::new("talk")).await.unwrap().id().clone();
    let most = AgentOptions::default().max_takeovers;
    for takeover in 0..=most {
        while talker.asked() == u64::from(takeover) {
            tokio::task::yield_now().await;
        }
        world.agent.abandon();
        clock.advance(Duration::from_secs(60));
        world = world.restarted(build);
        let report = world.agent.recover().await.unwrap();
        assert_eq!(report.taken_over.len(), usize::from(takeover < most), "takeover {takeover}");
    }
    let ran = world.settled(&run).await;
    assert_eq!(ran.code(), "run.abandoned");
    assert!(ran.error().contains("taken over 10 times"), "{}", ran.error());
    assert_eq!(ran.run.summary().await.unwrap().status, RunStatus::Failed);
    assert_eq!(talker.asked(), u64::from(most) + 1, "and the model is not asked any more");
    clock.advance(Duration::from_secs(60));
    assert_eq!(world.agent.recover().await.unwrap(), headwater_runtime::RecoveryReport::default());
}

#[tokio::test]
async fn run_that_makes_progress_is_not_abandoned() {
    async fn steps(cx: Cx, _: ()) -> NodeResult {
        for step in 0..30 {
            cx.step(&format!("s{step}"), || async { Ok(()) }).await?;
            cx.reason("talker").id(format!("r{step}")).input("hi").await?;
        }
        Ok(Next::go())
    }
    let (store, clock) = memory();
    let talker = StreamingModel::quiet("word ", 1);
    let build =
        |agent: headwater_runtime::AgentBuilder| agent.workflow(one(steps)).model("talker", talker.clone());
    let mut world = World::on(store, clock.clone(), build);
    let run = world.agent.start(Start::new("")).await.unwrap().id().clone();
    for _ in 0..15 {
        let asked = talker.asked();
        talker.speak(1);
        while talker.asked() < asked + 1 {
            tokio::task::yield_now().await;
        }
        world.agent.abandon();
        clock.advance(Duration::from_secs(60));
        world = world.restarted(build);
        assert_eq!(world.agent.recover().await.unwrap().taken_over, std::slice::from_ref(&run));
    }
    talker.speak(1_000);
    assert_eq!(world.settled(&run).await.status(), RunStatus::Finished);
}

#[tokio::test]
async fn stop_reports_its_effect() {
    let talker = StreamingModel::quiet("word ", 1);
    let world = World::with(one(reply), |agent| agent.model("talker", talker.clone()));
    let mut ended = [0, 0];
    for round in 0..200 {
        let run = world.agent.start(Start::new("talk")).await.unwrap();
        talker.speak(1);
        for _ in 0..round % 40 {
            tokio::task::yield_now().await;
        }
        let stopped = match world.agent.stop(run.id(), None).await {
            Ok(run) => run.ended_by_stop(Duration::from_secs(60)).await.unwrap().unwrap(),
            Err(error) => {
                assert_eq!(error.code(), "run.ended");
                false
            }
        };
        let ran = world.settled(run.id()).await;
        assert_eq!(stopped, ran.status() == RunStatus::Cancelled, "round {round}: {:?}", ran.status());
        ended[usize::from(stopped)] += 1;
    }
    assert!(ended[0] > 0 && ended[1] > 0, "both are tried: {ended:?}");
}

const FOLDER: &str = "HEADWATER_SUSPEND_IN";

#[test]
fn process_suspended_for_longer_than_its_leases_continues_and_repeats_nothing() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        drive(Path::new(&folder));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "leases::process_suspended_for_longer_than_its_leases_continues_and_repeats_nothing",
            "--nocapture",
        ])
        .env(FOLDER, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.ends_with("all are under way")), "the process did not begin");
    let signal = |name: &str| {
        let status = Command::new("kill").args([name, &process.id().to_string()]).status().unwrap();
        assert!(status.success());
    };
    signal("-STOP");
    // Longer than a lease of half a second.
    std::thread::sleep(Duration::from_millis(1_200));
    signal("-CONT");
    let told = lines.find(|line| line.starts_with("done: "));
    assert!(process.wait().unwrap().success());
    assert_eq!(
        told.as_deref(),
        Some("done: 20 finished, 10 and 20 models asked, 10 tools called, 0 retracted")
    );
}

#[tokio::main(flavor = "current_thread")]
async fn drive(folder: &Path) {
    let store: Arc<dyn Store> = Arc::new(Embedded::open(folder).unwrap());
    let (talker, model, slow) = (StreamingModel::quiet("word ", 1), calls_tools(), Slow::new());
    let mut options = AgentOptions::default();
    options.lease = Duration::from_millis(500);
    let agent = Agent::builder()
        .workflow(one(reply))
        .model("talker", talker.clone())
        .model("m", model.clone())
        .tool(slow.tool("fragile", UnfinishedPolicy::Fail))
        .tool(slow.tool("repeatable", UnfinishedPolicy::Repeat))
        .options(options)
        .store(store)
        .build()
        .unwrap();
    let mut runs: Vec<RunId> = Vec::new();
    for number in 0..20 {
        let input = ["talk", "talk", "fragile", "repeatable"][number % 4];
        runs.push(agent.start(Start::new(input)).await.unwrap().id().clone());
    }
    while talker.asked() < 10 || slow.calls() < 10 {
        tokio::task::yield_now().await;
    }
    println!("all are under way");
    // Either a renewal or recovery comes first after the process continues.
    for _ in 0..40 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        agent.recover().await.unwrap();
    }
    talker.speak(10);
    slow.go.add_permits(10);
    let (mut finished, mut retracted) = (0, 0);
    for run in runs {
        let ran = TestRun::of(&agent, agent.run(run)).await;
        finished += u32::from(ran.status() == RunStatus::Finished);
        retracted += ran.count("attempt-retracted");
    }
    println!(
        "done: {finished} finished, {} and {} models asked, {} tools called, {retracted} retracted",
        talker.asked(),
        model.asked(),
        slow.calls()
    );
}
