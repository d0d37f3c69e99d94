//! A server on a small store in memory: ended runs make room, a full store is reported, and no stream is left hanging.

use std::{fs, path::Path, thread};

use serde_json::json;

use crate::server::{Answer, Server, ask};

/// `tell` says many words, `slow` does so with a pause before each, and `wait` asks, and keeps its input.
const AGENTS: [(&str, &str); 3] = [
    (
        "repeat",
        "name: repeat
models:
  m: { script: { name: m, rules: [{ say: [{ text: WORDS }] }] } }
workflows:
  repeat: { start: say, nodes: { say: { reason: { model: m, prompt: \"{{ input }}\" } } } }
",
    ),
    (
        "slow",
        "name: slow
models:
  m: { script: { name: m, pace: 2, rules: [{ say: [{ text: WORDS }] }] } }
workflows:
  slow: { start: say, nodes: { say: { reason: { model: m, prompt: \"{{ input }}\" } } } }
",
    ),
    (
        "wait",
        "name: wait
workflows:
  wait: { start: ask, nodes: { ask: { interrupt: { ask: Continue? } } } }
",
    ),
];

const WORDS: usize = 20_000;

fn start(folder: &Path) -> Server {
    let agents = folder.join("agents");
    fs::create_dir(&agents).unwrap();
    for (name, file) in AGENTS {
        let words = format!("\"{}\"", "word ".repeat(WORDS));
        fs::write(agents.join(format!("{name}.yaml")), file.replace("WORDS", &words)).unwrap();
    }
    let agents = agents.to_str().unwrap();
    Server::start(&folder.join("data"), &[agents, "--store", "memory:?max=8MiB"])
}

fn begin(server: &Server, agent: &str, input: &str) -> Answer {
    server.post("/v1/runs", &json!({ "agent": agent, "input": input }))
}

fn run_of(started: &Answer) -> String {
    assert_eq!(started.status, 201, "{started:?}");
    started.json()["run"].as_str().unwrap().to_owned()
}

#[test]
fn ended_runs_of_a_small_memory_store_make_room() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let mut runs = Vec::new();
    // Several times as much text as the store has room for.
    for _ in 0..200 {
        let run = run_of(&begin(&server, "repeat", "continue"));
        let events = server.get(&format!("/v1/runs/{run}/events"));
        assert!(events.body.contains("run-finished"), "run {}: {}", runs.len(), tail(&events.body));
        runs.push(run);
    }
    assert_eq!(server.get("/readyz").status, 200);
    let events = |run: &str| server.get(&format!("/v1/runs/{run}/events")).status;
    assert_eq!(
        (events(&runs[0]), events(&runs[199])),
        (404, 200),
        "the oldest run went, the newest is there"
    );
}

#[test]
fn full_memory_store_is_reported_and_ends_the_streams_of_its_runs() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let run = run_of(&begin(&server, "slow", "continue"));
    let (address, path) = (server.address.clone(), format!("/v1/runs/{run}/events?dialect=ai-sdk"));
    let reader = thread::spawn(move || ask(&address, "GET", &path, &[], ""));
    // Runs that wait are kept, so they fill the store.
    let input = "x".repeat(200_000);
    let mut waiting = 0;
    let refused = loop {
        let started = begin(&server, "wait", &input);
        if started.status != 201 {
            break started;
        }
        waiting += 1;
        assert!(waiting < 100, "the store has a limit");
    };
    assert!(waiting > 10, "{waiting}: {refused:?}");
    assert_eq!((refused.status, &refused.json()["code"]), (503, &json!("store.full")), "{refused:?}");
    // A run that failed for want of room makes room again: smaller ones fill the rest.
    let is_full = || {
        let ready = server.get("/readyz");
        ready.status == 503 && ready.json()["code"] == "store.full"
    };
    let mut small = 0;
    while !is_full() {
        begin(&server, "wait", &input[..1_000]);
        small += 1;
        assert!(small < 5_000, "the store has a limit");
    }
    let read = reader.join().unwrap();
    assert_eq!(read.status, 200);
    // The run fails, and is dropped at once for the next one that waits. So its reader gets the error, or a cut stream: never
    // an end that looks complete, and never heartbeats only.
    let has_error = read.body.contains("\"type\":\"error\"");
    assert!(has_error || !read.ended, "{}", tail(&read.body));
    let failed = server.get(&format!("/v1/runs/{run}"));
    let is_failed = failed.status == 200 && failed.json()["status"] == "failed";
    assert!(is_failed || failed.status == 404, "{failed:?}");
    // The process lives, and what is there can be read.
    assert_eq!(server.get("/healthz").status, 200);
    assert_eq!(server.get("/v1/interrupts").status, 200);
}

fn tail(text: &str) -> &str {
    &text[text.len().saturating_sub(500)..]
}
