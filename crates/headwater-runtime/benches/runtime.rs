//! What the runtime costs: runs, deltas, waiting runs, replay; in memory and on disk. `cargo xtask bench runtime`.
//!
//! Prints one line of JSON for each measurement: `{"what":"…","store":"…","value":N,"unit":"…"}`.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::indexing_slicing, clippy::cast_precision_loss)]

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use futures_util::StreamExt as _;
use headwater_models::{
    Model, ModelRequest, ModelStream,
    scripted::{Rule, Script, ScriptedModel},
};
use headwater_runtime::{
    Agent, Answer, Cx, END, Next, NodeResult, START, Start, Text, Workflow, WorkflowBuilder,
};
use headwater_store::{Memory, MemoryOptions, Store, embedded::Embedded};

/// How many runs are under way at once.
const AT_ONCE: usize = 64;

/// Names the store whose memory this process is to measure, and nothing else.
const MEMORY_OF: &str = "HEADWATER_BENCH_MEMORY_OF";

fn main() {
    // One thread, to measure one core.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if let Ok(which) = std::env::var(MEMORY_OF) {
        let (kind, store) = which.split_once(' ').unwrap();
        let (store, open) = *STORES.iter().find(|(name, _)| *name == store).unwrap();
        return runtime.block_on(async {
            match kind {
                "waiting" => waiting(store, open).await,
                _ => running(store, open).await,
            }
        });
    }
    // One figure for `cargo xtask bench engine`.
    if std::env::args().any(|argument| argument == "one-node") {
        let (store, open) = STORES[0];
        let best = (0..3).map(|_| runtime.block_on(one_node_runs(open))).fold(0.0, f64::max);
        println!(r#"{{"figure":"runs per core second","of":"{store}","value":{best:.1}}}"#);
        return;
    }
    runtime.block_on(async {
        for (store, open) in STORES {
            runs(store, *open).await;
            deltas(store, *open).await;
            replay(store, *open).await;
            // A process of their own: what this one has freed would be used again and count for nothing.
            for kind in ["waiting", "running"] {
                let mut itself = std::process::Command::new(std::env::current_exe().unwrap());
                assert!(itself.env(MEMORY_OF, format!("{kind} {store}")).status().unwrap().success());
            }
        }
    });
}

type Open = fn(&tempfile::TempDir) -> Arc<dyn Store>;

const STORES: &[(&str, Open)] = &[
    ("memory", |_| Arc::new(Memory::with(MemoryOptions { max_bytes: 8 << 30, ..MemoryOptions::default() }))),
    ("embedded", |folder| Arc::new(Embedded::open(folder.path()).unwrap())),
];

fn figure(what: &str, store: &str, value: f64, unit: &str) {
    println!(r#"{{"what":"{what}","store":"{store}","value":{value:.3},"unit":"{unit}"}}"#);
}

async fn speak(cx: Cx, input: String) -> NodeResult {
    cx.reason("m").input(input).await?;
    Ok(Next::go())
}

async fn pass_on(_: Cx, _: ()) -> NodeResult {
    Ok(Next::go())
}

async fn ask(cx: Cx, _: ()) -> NodeResult {
    let answer = cx.interrupt(Text::new("Which colour?")).await?;
    Ok(Next::message(answer))
}

/// A workflow of so many nodes in a row, of which the last asks a model.
fn chain(nodes: usize) -> WorkflowBuilder {
    let mut workflow = Workflow::new("chain").node("last", speak);
    let mut from = START.to_owned();
    for node in 1..nodes {
        let name = format!("n{node}");
        workflow = workflow.node(&name, pass_on).edge(from, &name);
        from = name;
    }
    workflow.edge(from, "last").edge("last", END)
}

fn one_node<T: serde::de::DeserializeOwned + 'static>(
    node: impl headwater_runtime::NodeFunction<T>,
) -> WorkflowBuilder {
    Workflow::new("one").node("node", node).edge(START, "node").edge("node", END)
}

fn agent(store: Arc<dyn Store>, workflow: WorkflowBuilder, model: impl Model) -> Agent {
    let model: Arc<dyn Model> = Arc::new(model);
    Agent::builder().workflow(workflow.build().unwrap()).model("m", model).store(store).build().unwrap()
}

fn short() -> ScriptedModel {
    ScriptedModel::new(Script::new("short").rule(Rule::always().text("Hello to you.")))
}

/// Runs of one node in a second of this thread.
async fn one_node_runs(open: Open) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let agent = agent(open(&folder), chain(1), short());
    let (count, worked) = (20_000, on_cpu());
    run_all(&agent, count).await;
    f64::from(count) / (on_cpu() - worked)
}

/// Starts runs and reads each to its end.
async fn run_all(agent: &Agent, count: u32) {
    futures_util::stream::iter(0..count)
        .for_each_concurrent(AT_ONCE, |_| async {
            let run = agent.start(Start::new("hi")).await.unwrap();
            let mut events = std::pin::pin!(run.events(0));
            while events.next().await.is_some() {}
        })
        .await;
}

/// Runs a second.
async fn runs(store: &str, open: Open) {
    for nodes in [1, 10] {
        let folder = tempfile::tempdir().unwrap();
        let agent = agent(open(&folder), chain(nodes), short());
        let count = if store == "memory" { 20_000 } else { 2_000 };
        let (began, worked) = (Instant::now(), on_cpu());
        run_all(&agent, count).await;
        let (seconds, worked) = (began.elapsed().as_secs_f64(), on_cpu() - worked);
        figure(&format!("runs of {nodes} nodes"), store, f64::from(count) / seconds, "runs/s");
        let what = format!("runs of {nodes} nodes, per second of this thread");
        figure(&what, store, f64::from(count) / worked, "runs/s");
    }
}

/// A model that notes when it was asked for each piece of its answer.
#[derive(Debug, Clone)]
struct Watched {
    model: ScriptedModel,
    asked: Arc<Mutex<Vec<Instant>>>,
}

impl Model for Watched {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn ask(&self, request: ModelRequest) -> ModelStream {
        let (mut stream, asked) = (self.model.ask(request), self.asked.clone());
        Box::pin(futures_util::stream::poll_fn(move |cx| {
            asked.lock().unwrap().push(Instant::now());
            stream.poll_next_unpin(cx)
        }))
    }
}

/// What the runtime adds to each delta: the time from one piece to the next, beside that of the bare stream.
async fn deltas(store: &str, open: Open) {
    let text = "word ".repeat(20_000);
    let script = Script::new("long").rule(Rule::always().text(text));
    let watched = Watched { model: ScriptedModel::new(script), asked: Arc::default() };
    let gaps = |watched: &Watched| {
        let asked = std::mem::take(&mut *watched.asked.lock().unwrap());
        let mut gaps: Vec<f64> =
            asked.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64() * 1e6).collect();
        gaps.sort_by(f64::total_cmp);
        gaps
    };
    let at = |gaps: &[f64], share: f64| gaps[((gaps.len() - 1) as f64 * share) as usize];

    let mut bare = watched.ask(ModelRequest::new("hi"));
    while bare.next().await.is_some() {}
    let bare = gaps(&watched);

    let folder = tempfile::tempdir().unwrap();
    let agent = agent(open(&folder), one_node(speak), watched.clone());
    let run = agent.start(Start::new("hi")).await.unwrap();
    run.outcome().await.unwrap();
    let ours = gaps(&watched);
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
        figure(&format!("added per delta, {name}"), store, at(&ours, share) - at(&bare, share), "µs");
    }
    let mean = |gaps: &[f64]| gaps.iter().sum::<f64>() / gaps.len() as f64;
    figure("added per delta, mean", store, mean(&ours) - mean(&bare), "µs");
}

/// How long it takes to come to where a run of 1,000 effects was, until it continues.
async fn replay(store: &str, open: Open) {
    async fn busy(cx: Cx, _: ()) -> NodeResult {
        for number in 0..1_000_u32 {
            cx.step("step", || async move { Ok(number) }).await?;
        }
        cx.interrupt(Text::new("Continue?")).await?;
        Ok(Next::go())
    }
    let folder = tempfile::tempdir().unwrap();
    let agent = agent(open(&folder), one_node(busy), short());
    let mut best = f64::MAX;
    for _ in 0..5 {
        let run = agent.start(Start::new("hi")).await.unwrap();
        let outcome = run.outcome().await.unwrap();
        settled(&agent).await;
        let asked = outcome.state.interrupts()[0].request.clone();
        let began = Instant::now();
        let run = agent.answer(Answer::given(asked, "yes").by(None)).await.unwrap();
        run.outcome().await.unwrap();
        best = best.min(began.elapsed().as_secs_f64() * 1e3);
        settled(&agent).await;
    }
    figure("answer and replay of 1,000 effects", store, best, "ms");
}

async fn settled(agent: &Agent) {
    while agent.driving() > 0 {
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
}

/// What a waiting run takes.
async fn waiting(store: &str, open: Open) {
    let folder = tempfile::tempdir().unwrap();
    let kept = open(&folder);
    let waiting = agent(kept, one_node(ask), short());
    // Warm up, so that one-time allocations are not counted.
    waiting.start(Start::new("hi")).await.unwrap().outcome().await.unwrap();
    let count = 20_000;
    let before = resident();
    futures_util::stream::iter(0..count)
        .for_each_concurrent(AT_ONCE, |_| async {
            waiting.start(Start::new("hi")).await.unwrap().outcome().await.unwrap();
        })
        .await;
    settled(&waiting).await;
    figure("memory per waiting run", store, (resident() - before) / f64::from(count), "bytes");
}

/// What a run takes whose model is speaking.
async fn running(store: &str, open: Open) {
    let folder = tempfile::tempdir().unwrap();
    let stalled = Script::new("stalled")
        .rule(Rule::always().text("Hel").fault(headwater_models::scripted::Fault::stall()));
    let running = agent(open(&folder), one_node(speak), ScriptedModel::new(stalled));
    let count = 5_000;
    let before = resident();
    for _ in 0..count {
        running.start(Start::new("hi")).await.unwrap();
    }
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    figure("memory per running run", store, (resident() - before) / f64::from(count), "bytes");
    running.abandon();
}

/// The seconds that this thread was on a core, whatever else the machine did meanwhile.
fn on_cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = stat.split_whitespace().next().and_then(|number| number.parse::<f64>().ok());
    nanoseconds.unwrap_or(0.0) / 1e9
}

/// What the process takes of the system's memory.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    let kilobytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) * 1024.0
}
