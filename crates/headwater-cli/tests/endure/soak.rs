//! A server under constant use, with a short retention.

use futures_util::future::join_all;
use headwater_protocol::RunStatus;
use serde_json::json;

use crate::{
    agent,
    client::{ask, at_once},
    report::{cases, held},
    server::{Server, memory},
};

const RUNS: usize = 10_000;
/// How much memory may grow between the end of the first third and the end.
const GROWTH: u64 = 48 << 20;
/// The maximum size of the folder: a few segments, and the data of three seconds.
const FOLDER: u64 = 400 << 20;

#[test]
fn server_under_constant_use_does_not_grow() {
    let count = cases(RUNS, 300);
    let folder = tempfile::tempdir().unwrap();
    let file = agent(folder.path());
    let data = folder.path().join("data");
    let server =
        Server::start(&data, &[file.to_str().unwrap(), "--set", "fsync=200ms", "--set", "when_busy=queue"]);
    let mut after_a_third = None;
    at_once(async {
        for first in (0..count).step_by(20) {
            let chat = |number: usize| {
                let address = server.address.clone();
                async move {
                    let parts = json!([{ "type": "text", "text": format!("run {number}") }]);
                    let message = json!({ "id": format!("u{number}"), "role": "user", "parts": parts });
                    let body = json!({ "id": format!("soak-{}", number / 3), "message": message });
                    let answer =
                        ask(&address, "POST", "/v1/ai-sdk/endure/chat", &body.to_string()).await.unwrap();
                    let expected = format!("run {number}: this was asked, and this is the answer.");
                    assert_eq!(answer.shown("ai-sdk"), (RunStatus::Finished, expected), "{answer:?}");
                }
            };
            join_all((first..count.min(first + 20)).map(chat)).await;
            if first >= count / 3 && after_a_third.is_none() {
                after_a_third = memory(server.pid(), "VmRSS");
            }
        }
    });
    if let (Some(before), Some(after)) = (after_a_third, memory(server.pid(), "VmRSS")) {
        let (before, after) = (before >> 20, after >> 20);
        assert!(after <= before + (GROWTH >> 20), "{before} MiB after a third, {after} MiB at the end");
        println!("{count} runs: {before} MiB after a third, {after} MiB at the end");
    }
    let size = size(&data);
    assert!(size < FOLDER, "{} MiB on disk", size >> 20);
    println!("{count} runs: {} MiB on disk", size >> 20);
    held(
        "runs one after another, kept for 3 s",
        RUNS,
        "memory flat within 48 MiB, less than 400 MiB on disk",
    );
}

fn size(folder: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let sizes = entries.map(|entry| {
        let known = entry.metadata().unwrap();
        if known.is_dir() { size(&entry.path()) } else { known.len() }
    });
    sizes.sum()
}
