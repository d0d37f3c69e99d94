//! Concurrent runs in all dialects, and a server that is stopped during runs.

use futures_util::future::join_all;
use headwater_protocol::RunStatus;
use serde_json::{Value, json};

use crate::{
    agent,
    client::{ask, at_once, open},
    report::{cases, held},
    server::{Server, memory},
};

const ACTIVE: usize = 2_000;
const STOPPED: usize = 300;
/// The maximum peak memory of the server while all runs are active.
const PEAK: u64 = 400 << 20;

/// A request as each dialect's client sends it.
fn request(number: usize, text: &str) -> (&'static str, Value) {
    let parts = json!([{ "type": "text", "text": text }]);
    let ui = json!({ "id": format!("u{number}"), "role": "user", "parts": parts });
    let plain = json!({ "id": format!("u{number}"), "role": "user", "content": text });
    let id = format!("conversation-{number}");
    match number % 6 {
        0 => ("ai-sdk", json!({ "id": id, "messages": [ui] })),
        1 => ("agents", json!({ "sessionId": id, "messages": [ui] })),
        2 => ("mui", json!({ "conversationId": id, "message": ui, "messages": [] })),
        3 => ("kortyx", json!({ "sessionId": id, "messages": [plain] })),
        4 => ("tanstack", json!({ "messages": [plain], "data": { "conversationId": id } })),
        _ => (
            "ag-ui",
            json!({
                "threadId": id, "runId": format!("r{number}"), "state": {}, "tools": [], "context": [],
                "forwardedProps": {}, "messages": [plain],
            }),
        ),
    }
}

#[test]
fn concurrent_runs_in_every_dialect_finish() {
    let count = cases(ACTIVE, 90);
    let folder = tempfile::tempdir().unwrap();
    let file = agent(folder.path());
    let settings = [file.to_str().unwrap(), "--set", "fsync=200ms"];
    let server = Server::start(&folder.path().join("data"), &settings);
    at_once(async {
        let chat = |number: usize| {
            let (dialect, body) = request(number, &format!("slow {number}"));
            let path = format!("/v1/{dialect}/endure/chat");
            let address = server.address.clone();
            async move { (number, dialect, open(&address, "POST", &path, &body.to_string()).await.unwrap()) }
        };
        let mut open = Vec::with_capacity(count);
        for batch in 0..count.div_ceil(100) {
            open.extend(join_all((batch * 100..count.min(batch * 100 + 100)).map(chat)).await);
        }
        let ends = open
            .into_iter()
            .map(|(number, dialect, stream)| async move { (number, dialect, stream.end().await) });
        for (number, dialect, answer) in join_all(ends).await {
            assert_eq!(answer.status, 200, "{dialect}: {}", String::from_utf8_lossy(&answer.body));
            let (status, text) = answer.shown(dialect);
            let expected =
                format!("slow {number}: one two three four five six seven eight nine ten eleven twelve.");
            assert_eq!((status, text), (RunStatus::Finished, expected), "{dialect}");
        }
    });
    if let Some(peak) = memory(server.pid(), "VmHWM") {
        assert!(peak < PEAK, "{} MiB at the peak", peak >> 20);
        println!("{count} runs: {} MiB at the peak", peak >> 20);
    }
    held("runs at once, in six dialects", ACTIVE, "every text whole, less than 400 MiB at the peak");
}

#[test]
fn runs_of_a_stopped_server_finish_in_the_next_process() {
    let count = cases(STOPPED, 30);
    let folder = tempfile::tempdir().unwrap();
    let file = agent(folder.path());
    let data = folder.path().join("data");
    let settings = [file.to_str().unwrap()];
    let server = Server::start(&data, &settings);
    let runs = at_once(async {
        let start = |number: usize| {
            let body = json!({ "agent": "endure", "input": format!("slow {number}") }).to_string();
            let address = server.address.clone();
            async move { ask(&address, "POST", "/v1/runs", &body).await.unwrap() }
        };
        let started = join_all((0..count).map(start)).await;
        started.iter().map(|run| run.json()["run"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    });
    assert_eq!(server.terminate(), Some(0));
    let server = Server::start(&data, &settings);
    at_once(async {
        let address = server.address.clone();
        let events = |run: String| {
            // Interrupted attempts are retracted while these readers watch, so the wire must support
            // retraction.
            let (address, path) = (address.clone(), format!("/v1/runs/{run}/events?until=end"));
            async move { ask(&address, "GET", &path, "").await.unwrap() }
        };
        for (number, answer) in join_all(runs.into_iter().map(events)).await.into_iter().enumerate() {
            let (status, text) = answer.shown("native");
            let expected =
                format!("slow {number}: one two three four five six seven eight nine ten eleven twelve.");
            assert_eq!((status, text), (RunStatus::Finished, expected));
        }
    });
    held("streaming runs under a server that gets SIGTERM", STOPPED, "all of them end with the next process");
}
