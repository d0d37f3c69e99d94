//! What an operator's lists cost: `GET /v1/runs` with filters on 100,000 runs in the embedded store. `cargo xtask bench operate`.
//!
//! Prints one line of JSON for each measurement: `{"what":"…","value":N,"unit":"…"}`. `RUNS` sets another number.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::indexing_slicing, clippy::cast_precision_loss)]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::stream::{self, StreamExt as _};
use headwater_runtime::{
    Agent, Choice, Cx, END, Next, NodeError, NodeResult, Owners, RunFilter, START, Start, Workflow,
};
use headwater_server::{Agents, ApiKeys, Options, Server, serve};
use headwater_store::embedded::{Embedded, Fsync, Options as StoreOptions};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How often a list is asked for; the middle one counts.
const TIMES: usize = 41;

async fn reply(cx: Cx, input: String) -> NodeResult {
    if input.contains("wait") {
        cx.interrupt(Choice::new("Which?").option("a", "A").option("b", "B")).id("which").await?;
    }
    if input.contains("fail") {
        return Err(NodeError::new("it went wrong"));
    }
    Ok(Next::message("done"))
}

fn figure(what: &str, value: f64, unit: &str) {
    println!(r#"{{"what":"{what}","value":{value:.3},"unit":"{unit}"}}"#);
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[tokio::main]
async fn main() {
    // As Cargo runs the tests of a workspace, there is nothing to do.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let runs: usize = std::env::var("RUNS").map_or(100_000, |runs| runs.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let mut options = StoreOptions::default();
    options.fsync = Fsync::Never;
    let store = Arc::new(Embedded::open_folder(folder.path(), options).unwrap());
    let workflow =
        Workflow::new("reply").node("reply", reply).edge(START, "reply").edge("reply", END).build().unwrap();
    let agent = Agent::builder().name("demo").workflow(workflow).store(store).build().unwrap();
    begin(&agent, runs).await;
    let page = agent.runs_of(Owners::All, &RunFilter::default(), None, 1).await.unwrap();
    assert_eq!(page.runs.len(), 1);

    let keys = ApiKeys::new().add("owner-7", "key-of-owner").add_operator("ops", "key-of-ops");
    let server = Server::new(Agents::new().add("demo", agent), Options::default().authenticator(keys));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1/runs", listener.local_addr().unwrap());
    let router = server.application(axum::Router::new());
    tokio::spawn(serve(listener, router, std::future::pending()));
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::new();
    let first = Instant::now();
    let found = list(&http, &base, "?status=failed", "key-of-ops").await;
    figure("first filtered list, which builds the index", millis(first.elapsed()), "ms");
    assert!(found > 0);
    for (what, query, key) in [
        ("no filter, operator", "", "key-of-ops"),
        ("status=failed, operator", "?status=failed", "key-of-ops"),
        ("status=waiting, operator", "?status=waiting", "key-of-ops"),
        ("status=cancelled (none), operator", "?status=cancelled", "key-of-ops"),
        ("agent and status, operator", "?agent=demo&status=failed", "key-of-ops"),
        ("q of one old run, operator", "?q=number%2017%20", "key-of-ops"),
        ("q that nothing has, operator", "?q=zanzibar", "key-of-ops"),
        ("status=failed, owner of 1 %", "?status=failed", "key-of-owner"),
        ("q of 1 %, owner of 1 %", "?q=needle", "key-of-owner"),
    ] {
        let mut took = Vec::new();
        for _ in 0..TIMES {
            let begun = Instant::now();
            list(&http, &base, query, key).await;
            took.push(begun.elapsed());
        }
        took.sort_unstable();
        figure(what, millis(took[TIMES / 2]), "ms");
        figure(&format!("{what}, slowest"), millis(took[TIMES - 1]), "ms");
    }
}

/// 1 % fail, 0.2 % wait, 1 % belong to each of a hundred owners.
async fn begin(agent: &Agent, runs: usize) {
    let begun = Instant::now();
    stream::iter(0..runs)
        .for_each_concurrent(256, |number| async move {
            let what = match number % 1_000 {
                3 | 103 | 203 | 303 | 403 | 503 | 603 | 703 | 803 | 903 => "fail needle",
                11 | 511 => "wait",
                _ => "please summarise the attached report in a few plain sentences",
            };
            let start = Start::new(format!("{what}: number {number} of many"))
                .owner(format!("owner-{}", number % 100));
            let run = agent.start(start).await.unwrap();
            if what != "wait" {
                run.outcome().await.unwrap();
            }
        })
        .await;
    while agent.driving() > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    figure("runs", runs as f64, "runs");
    figure("to make them", begun.elapsed().as_secs_f64(), "s");
}

async fn list(http: &reqwest::Client, base: &str, query: &str, key: &str) -> usize {
    let answer = http.get(format!("{base}{query}")).bearer_auth(key).send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.status());
    let body: serde_json::Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
    body["runs"].as_array().unwrap().len()
}
