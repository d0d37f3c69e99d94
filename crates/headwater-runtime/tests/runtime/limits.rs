//! Data larger than its limit ends the run or the call once. Nothing is asked or called again.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use headwater_models::{
    ContentPart, ModelMessage,
    scripted::{Rule, ScriptedModel, When},
};
use headwater_protocol::RunStatus;
use headwater_runtime::{Agent, AgentOptions, Cx, Next, NodeResult, RecoveryReport, Start};
use headwater_store::{
    Memory, MemoryOptions, ReadLimit, Store,
    embedded::{Embedded, Fsync, Options},
};
use headwater_tools::{FunctionTool, ToolContext, ToolError, UnfinishedPolicy};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    harness::{TestRun, World, memory, one, scripted},
    streaming_model::StreamingModel,
};

const MB: usize = 1_000_000;

async fn talk(cx: Cx, input: String) -> NodeResult {
    let reply = cx.reason("m").input(input).await?;
    Ok(Next::go().with_result(&reply.text.len())?)
}

/// Lets the leases expire and checks that an ended run is left alone.
async fn assert_over(world: &World, ran: &TestRun) {
    world.idle().await;
    world.clock.advance(Duration::from_secs(60));
    assert_eq!(world.agent.recover().await.unwrap(), RecoveryReport::default());
    assert_eq!(world.agent.driving(), 0);
    assert_eq!(ran.count("run-failed") + ran.count("run-finished"), 1, "readers see the end once");
}

#[tokio::test]
async fn model_answer_of_20_mb_ends_the_run_and_the_model_is_asked_once() {
    let model = StreamingModel::new("x".repeat(MB / 10), 200);
    // A node with retries does not ask again either.
    let node = headwater_runtime::NodeOptions::default().retry(headwater_runtime::Retry::times(3));
    let workflow = headwater_runtime::Workflow::new("one")
        .node_with("node", node, talk)
        .edge(headwater_runtime::START, "node")
        .build()
        .unwrap();
    let world = World::with(workflow, |agent| agent.model("m", model.clone()));
    let ran = world.run("hi").await;
    assert_eq!(ran.code(), "model.output-too-large");
    assert!(ran.error().contains("exceeded 4194304 bytes"), "{}", ran.error());
    assert!(ran.text().len() <= 4 << 20, "earlier output stays: {}", ran.text().len());
    assert_over(&world, &ran).await;
    assert_eq!(model.asked(), 1);
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[tokio::test]
async fn tool_output_of_17_mb_fails_the_call_and_the_tool_is_called_once() {
    for unfinished in [UnfinishedPolicy::Repeat, UnfinishedPolicy::Fail] {
        let calls = Arc::new(AtomicU64::new(0));
        let counted = calls.clone();
        let size = move |_: Nothing, _: ToolContext| {
            counted.fetch_add(1, Ordering::Relaxed);
            async { Ok::<_, ToolError>("y".repeat(17 * MB)) }
        };
        let model = scripted([
            Rule::when(When::after_tool("size")).text("Too much."),
            Rule::always().tool("size", json!({})),
        ]);
        async fn ask(cx: Cx, _: String) -> NodeResult {
            let reply = cx.reason("m").input("go").agent_tools(["size"]).await?;
            Ok(Next::go().with_result(&reply.text)?)
        }
        let tool = FunctionTool::new("size", size).unfinished(unfinished);
        let world = World::with(one(ask), |agent| agent.model("m", model.clone()).tool(tool));
        let ran = world.run("hi").await;
        assert_eq!(*ran.result(), "Too much.", "the run continues");
        assert_over(&world, &ran).await;
        assert_eq!((model.asked(), calls.load(Ordering::Relaxed)), (2, 1), "{unfinished:?}");
        assert!(ran.wire().len() < 10_000, "nothing of it is kept");
        assert!(received_size_error(&model), "the model gets the error");
    }
}

/// Whether the model got the error that a tool's output was too large.
fn received_size_error(model: &ScriptedModel) -> bool {
    let calls = model.calls();
    let results = calls.iter().flat_map(|call| &call.messages).filter_map(|message| match message {
        ModelMessage::Tool { content } => Some(content),
        _ => None,
    });
    results.flatten().any(|part| match part {
        ContentPart::ToolResult { output, .. } => json!(output).to_string().contains("`size` gave 17000"),
        _ => false,
    })
}

#[tokio::test]
async fn record_too_large_for_the_store_ends_the_run() {
    let done = Arc::new(AtomicU64::new(0));
    let counted = done.clone();
    let node = move |cx: Cx, _: String| {
        let counted = counted.clone();
        async move {
            let made: String = cx
                .step("make", || async move {
                    counted.fetch_add(1, Ordering::Relaxed);
                    Ok("z".repeat(17 * MB))
                })
                .await?;
            Ok(Next::go().with_result(&made.len())?)
        }
    };
    let world = World::of(one(node));
    let ran = world.run("hi").await;
    assert_eq!(ran.code(), "run.too-large");
    assert_over(&world, &ran).await;
    assert_eq!(done.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn question_too_large_for_the_store_ends_the_run() {
    async fn ask(cx: Cx, _: String) -> NodeResult {
        cx.interrupt(headwater_runtime::Text::new("?".repeat(2 * MB))).await?;
        Ok(Next::go())
    }
    let world = World::of(one(ask));
    let ran = world.run("hi").await;
    assert_eq!(ran.code(), "store.too-large");
    assert_over(&world, &ran).await;
}

#[tokio::test]
async fn run_with_a_full_journal_ends_with_an_event() {
    async fn emits(cx: Cx, _: String) -> NodeResult {
        loop {
            cx.emit().status("s".repeat(1_000))?;
            tokio::task::yield_now().await;
        }
    }
    // Once with the limit of the run, and once with a store whose limit is lower.
    let (store, clock) = memory();
    let small: Arc<dyn Store> = Arc::new(Memory::with(MemoryOptions {
        max_journal_bytes: 1 << 20,
        clock: clock.clone(),
        ..MemoryOptions::default()
    }));
    let mut options = AgentOptions::default();
    options.max_run_bytes = 1 << 20;
    for (store, options) in [(store, options), (small, AgentOptions::default())] {
        let world = World::on(store, clock.clone(), |agent| agent.workflow(one(emits)).options(options));
        let ran = world.run("hi").await;
        assert_eq!(ran.code(), "run.too-large");
        // Snapshots take some of the space: they hold the emits of an open visit.
        assert!(ran.count("status") > 400, "{}", ran.count("status"));
        assert_over(&world, &ran).await;
    }
}

#[tokio::test]
async fn run_that_crashed_at_its_limit_ends_or_can_be_stopped() {
    for stop in [false, true] {
        let talker = StreamingModel::quiet("word ", 1);
        let build =
            |agent: headwater_runtime::AgentBuilder| agent.workflow(one(talk)).model("m", talker.clone());
        let world = World::build(build);
        let run = world.agent.start(Start::new("hi")).await.unwrap().id().clone();
        while talker.asked() == 0 {
            tokio::task::yield_now().await;
        }
        world.agent.abandon();
        world.clock.advance(Duration::from_secs(60));
        // The next process has a lower limit than the size of the run.
        let mut options = AgentOptions::default();
        options.max_run_bytes = 300;
        let next = world.restarted(|agent| build(agent).options(options));
        if stop {
            next.agent.stop(&run, Some("enough")).await.unwrap();
        }
        next.agent.recover().await.unwrap();
        let ran = next.settled(&run).await;
        match stop {
            true => assert_eq!(ran.status(), RunStatus::Cancelled),
            false => assert_eq!(ran.code(), "run.too-large"),
        }
        assert_eq!(talker.asked(), 1, "the model is not asked again");
        next.clock.advance(Duration::from_secs(60));
        assert_eq!(next.agent.recover().await.unwrap(), RecoveryReport::default());
    }
}

fn embedded(folder: &Path) -> Arc<dyn Store> {
    let mut options = Options::default();
    options.fsync = Fsync::Never;
    Arc::new(Embedded::open_folder(folder, options).unwrap())
}

fn bytes_in(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap());
    files.map(|file| file.len()).sum()
}

/// Runs a workflow in a folder. Returns the size of its files, and of the events alone.
async fn on_disk(agent: headwater_runtime::AgentBuilder) -> (TestRun, u64, u64) {
    let folder = tempfile::tempdir().unwrap();
    let store = embedded(folder.path());
    let agent = agent.store(store.clone()).build().unwrap();
    let run = agent.start(Start::new("hi")).await.unwrap();
    let mut outcome = TestRun {
        agent: agent.clone(),
        outcome: run.outcome().await.unwrap(),
        run: run.clone(),
        events: Vec::new(),
    };
    while agent.driving() > 0 {
        tokio::task::yield_now().await;
    }
    outcome.run = run.clone();
    store.flush().await.unwrap();
    let (mut after, mut events, mut reader) = (0, 0, headwater_runtime::RecordReader::default());
    loop {
        let page = store.read(&run.id().as_str().into(), after, ReadLimit::default()).await.unwrap();
        let Some(last) = page.records.last() else { break };
        after = last.seq;
        for record in &page.records {
            if reader.visible_event(record).unwrap().is_some() {
                events += record.body.len() as u64;
            }
        }
    }
    (outcome, bytes_in(folder.path()), events)
}

#[tokio::test]
async fn text_of_12_mb_takes_less_than_three_times_that_on_disk() {
    async fn thrice(cx: Cx, _: String) -> NodeResult {
        for pass in 0..3 {
            cx.reason("m").id(format!("p{pass}")).input("go").await?;
        }
        Ok(Next::go())
    }
    let model = StreamingModel::new("x".repeat(MB / 10), 40);
    let (ran, bytes, _) = on_disk(Agent::builder().workflow(one(thrice)).model("m", model.clone())).await;
    assert_eq!((ran.status(), ran.text().len(), model.asked()), (RunStatus::Finished, 12 * MB, 3));
    println!("figure: 12 MB of text take {:.1} MB on disk", bytes as f64 / 1e6);
    assert!(bytes < 3 * 12 * MB as u64, "{bytes} bytes on disk");
}

#[tokio::test]
async fn deltas_by_the_hundred_thousand_take_disk_in_proportion() {
    let deltas = std::env::var("HEADWATER_DELTAS").map_or(100_000, |text| text.parse().unwrap());
    let model = StreamingModel::new("a word, ", deltas);
    let (ran, bytes, events) = on_disk(Agent::builder().workflow(one(talk)).model("m", model.clone())).await;
    assert_eq!((ran.text().len(), model.asked()), (8 * deltas, 1));
    println!(
        "figure: {deltas} deltas take {:.1} MB on disk, of which {:.1} MB are events",
        bytes as f64 / 1e6,
        events as f64 / 1e6
    );
    assert!(bytes < 2 * events, "{bytes} bytes on disk for {events} bytes of events");
}

#[test]
fn reattaching_to_a_run_of_12_mb_takes_memory_in_proportion_to_its_output() {
    async fn thrice(cx: Cx, _: String) -> NodeResult {
        for pass in 0..3 {
            cx.reason("m").id(format!("p{pass}")).input("go").await?;
        }
        Ok(Next::go())
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let model = StreamingModel::new("x".repeat(MB / 10), 40);
    let agent = Agent::builder().workflow(one(thrice)).model("m", model);
    let agent = agent.store(embedded(folder.path())).build().unwrap();
    let run = runtime.block_on(async {
        let run = agent.start(Start::new("hi")).await.unwrap();
        run.outcome().await.unwrap();
        while agent.driving() > 0 {
            tokio::task::yield_now().await;
        }
        run
    });
    let mut said = 0;
    let counted = allocation_counter::measure(|| {
        said = runtime.block_on(async {
            let (mut after, mut state) = run.snapshot().await.unwrap().unwrap();
            let mut reader = headwater_runtime::RecordReader::default();
            loop {
                let page =
                    agent.store().read(&run.id().as_str().into(), after, ReadLimit::default()).await.unwrap();
                for record in &page.records {
                    after = record.seq;
                    if let Some(record) = reader.visible_event(record).unwrap() {
                        state.apply(&record).unwrap();
                    }
                }
                if after >= page.tail.last {
                    break state.messages().iter().map(|message| message.plain_text().len()).sum::<usize>();
                }
            }
        });
    });
    assert_eq!(said, 12 * MB);
    println!("figure: reattaching to 12 MB of text takes {:.1} MB", counted.bytes_max as f64 / 1e6);
    assert!(counted.bytes_max < 60 * MB as u64, "{} bytes", counted.bytes_max);
}

#[tokio::test]
async fn tool_call_id_that_clients_cannot_return_is_replaced() {
    let call = |id: &str| headwater_models::scripted::Call::new("size", json!({})).id(id);
    let long = "x".repeat(257);
    let model = scripted([
        Rule::when(When::after_tool("size")).text("Done."),
        Rule::always().tools([call("good"), call("line\nbreak"), call(&long), call("nul\0")]),
    ]);
    async fn ask(cx: Cx, _: String) -> NodeResult {
        let reply = cx.reason("m").input("go").agent_tools(["size"]).await?;
        let ids: Vec<_> = reply.tool_results.iter().map(|made| made.call.to_string()).collect();
        Ok(Next::go().with_result(&ids)?)
    }
    let size = |_: Nothing, _: ToolContext| async { Ok::<_, ToolError>("1") };
    let tool = FunctionTool::new("size", size);
    let world = World::with(one(ask), |agent| agent.model("m", model.clone()).tool(tool));
    let ran = world.run("hi").await;
    let ids: Vec<String> = serde_json::from_value(ran.result().clone()).unwrap();
    assert_eq!((ids.len(), ids[0].as_str()), (4, "good"));
    assert!(ids.iter().all(|id| headwater_protocol::check_id(id).is_ok()), "{ids:?}");
    assert!(!ran.wire().contains(&long), "nothing of it is kept");
}
