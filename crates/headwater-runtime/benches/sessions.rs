//! What sessions cost: checkpoints at any length, going back, forking, storage; and agent files. `cargo xtask bench sessions`.
//!
//! Prints one line of JSON for each measurement: `{"what":"…","store":"…","value":N,"unit":"…"}`.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::indexing_slicing, clippy::cast_precision_loss)]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use headwater_protocol::CheckpointId;
use headwater_runtime::{
    Agent, AgentFile, Cx, END, FileOptions, Next, NodeResult, START, Session, SessionOptions, Workflow,
};
use headwater_store::{Memory, MemoryOptions, Store, embedded::Embedded};

/// How long the longest session is.
const TURNS: usize = 1_000;
/// How often a short thing is done; the middle one counts.
const TIMES: usize = 21;
/// How many agent files are loaded.
const FILES: usize = 1_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let memory = MemoryOptions { max_bytes: 8 << 30, ..MemoryOptions::default() };
        sessions("memory", Arc::new(Memory::with(memory))).await;
        let folder = tempfile::tempdir().unwrap();
        sessions("embedded", Arc::new(Embedded::open(folder.path()).unwrap())).await;
    });
    files();
}

fn figure(what: &str, store: &str, value: f64, unit: &str) {
    println!(r#"{{"what":"{what}","store":"{store}","value":{value:.3},"unit":"{unit}"}}"#);
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn middle(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    millis(times[times.len() / 2])
}

/// Answers with a paragraph, shows an object and writes a little state.
async fn reply(cx: Cx, input: String) -> NodeResult {
    let seen = cx.workflow_state("seen", 0_u64)?;
    seen.set(cx.messages().len() as u64)?;
    cx.structured("note").stream("note").set("last", &input)?;
    Ok(Next::message(format!("{input}: {}", "a line of an answer that says something. ".repeat(8))))
}

async fn sessions(name: &str, store: Arc<dyn Store>) {
    let workflow =
        Workflow::new("chat").node("reply", reply).edge(START, "reply").edge("reply", END).build().unwrap();
    // The same number of messages before each turn that is measured.
    let options = SessionOptions::default().last_messages(10);
    let agent = Agent::builder().workflow(workflow).store(store.clone()).sessions(options).build().unwrap();
    let session = agent.new_session(Some("ann")).await.unwrap();
    let mut turns: Vec<CheckpointId> = Vec::new();
    let mut took: Vec<Duration> = Vec::new();
    for turn in 1..=TURNS + TIMES / 2 {
        let begun = Instant::now();
        turns.push(session.send(format!("message {turn:06}")).await.unwrap().checkpoint);
        session.settled().await.unwrap();
        took.push(begun.elapsed());
        if turn == 100 || turn == TURNS {
            let each = stored(&*store).await as f64 / turn as f64;
            figure(&format!("storage per turn, of {turn} turns"), name, each, "bytes");
        }
    }
    for turn in [10, 100, TURNS] {
        let around = &took[turn - 1 - (TIMES / 2).min(turn - 1)..turn + TIMES / 2];
        figure(&format!("a turn with its checkpoint, turn {turn}"), name, middle(around.to_vec()), "ms");
        let value = store.get(&format!("checkpoint/{}", turns[turn - 1])).await.unwrap().unwrap();
        figure(&format!("checkpoint of turn {turn}"), name, value.bytes.len() as f64, "bytes");
    }
    moves(name, &session, &turns).await;
}

async fn moves(name: &str, session: &Session, turns: &[CheckpointId]) {
    let (mut forking, mut going, mut reading) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TIMES {
        let begun = Instant::now();
        let fork = session.fork(&turns[TURNS - 1], None).await.unwrap();
        forking.push(begun.elapsed());
        let begun = Instant::now();
        fork.roll_back(&turns[9]).await.unwrap();
        going.push(begun.elapsed());
        let begun = Instant::now();
        assert_eq!(session.history(None, None, 20).await.unwrap().messages.len(), 40);
        reading.push(begun.elapsed());
    }
    figure("fork of 1,000 turns", name, middle(forking), "ms");
    figure("roll back of 1,000 turns to turn 10", name, middle(going), "ms");
    figure("a page of 20 turns of 1,000", name, middle(reading), "ms");
}

/// What sessions keep beside the journals of their runs.
async fn stored(store: &dyn Store) -> usize {
    let mut sum = 0;
    for prefix in ["checkpoint", "session", "branch/", "summary"] {
        let mut after: Option<String> = None;
        loop {
            let page = store.list(prefix, after.as_deref(), 1_000).await.unwrap();
            sum += page.iter().map(|(key, value)| key.len() + value.bytes.len()).sum::<usize>();
            match page.last() {
                Some((key, _)) if page.len() == 1_000 => after = Some(key.clone()),
                _ => break,
            }
        }
    }
    sum
}

fn files() {
    let folder = tempfile::tempdir().unwrap();
    let text = include_str!("../../../examples/agents/email.yaml");
    let paths: Vec<_> = (0..FILES).map(|number| folder.path().join(format!("agent-{number}.yaml"))).collect();
    for path in &paths {
        std::fs::write(path, text).unwrap();
    }
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let begun = Instant::now();
    let files: Vec<_> = paths.iter().map(|path| AgentFile::read(path).unwrap()).collect();
    figure("reading and checking 1,000 agent files", "none", millis(begun.elapsed()), "ms");
    let begun = Instant::now();
    for file in &files {
        file.build(FileOptions::new(store.clone())).unwrap();
    }
    figure("building 1,000 agents of them", "none", millis(begun.elapsed()), "ms");
}
