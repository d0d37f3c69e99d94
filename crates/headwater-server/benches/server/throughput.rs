//! Many runs at once: how many deltas arrive in a second, and what each costs the server.

use std::sync::Arc;

use headwater_dialects::{Dialect, EncodeOptions, Encoder};
use headwater_runtime::{JournalEntry, Start};
use headwater_store::{Cursor, Memory};

use crate::{
    Size,
    child::Server,
    load::{Request, deliver, says},
    model::{Order, Pace},
    report::{Report, number, table},
    serve,
};

/// What one server did with one load.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// Deltas by the clock.
    pub(crate) per_second: f64,
    /// Microseconds on a core for each delta.
    pub(crate) cost: f64,
    bytes: f64,
}

impl Found {
    fn better(self, other: Option<Self>) -> Self {
        match other {
            Some(other) => Self {
                per_second: self.per_second.max(other.per_second),
                cost: self.cost.min(other.cost),
                bytes: self.bytes,
            },
            None => self,
        }
    }
}

/// Sends all requests, and measures the server.
pub(crate) async fn load(server: &Server, requests: Vec<Request>, deltas: usize) -> Found {
    let before = server.cpu();
    let delivered = deliver(server.address, requests, deltas, false).await;
    let cpu = server.cpu() - before;
    let count = delivered.deltas as f64;
    Found {
        per_second: count / delivered.wall.as_secs_f64(),
        cost: cpu * 1e6 / count,
        bytes: delivered.bytes as f64 / count,
    }
}

/// The requests of as many clients of a dialect.
pub(crate) fn clients(dialect: &str, pass: usize, runs: usize, order: &Order) -> Vec<Request> {
    (0..runs).map(|run| says(dialect, &format!("{dialect}-{pass}-{run}"), order)).collect()
}

/// The stream of one run in which nothing is merged, in a file that a bare server sends.
pub(crate) async fn record(dialect: &'static dyn Dialect, deltas: usize, file: &std::path::Path) {
    let (agent, _sign) = serve::agent(Arc::new(Memory::new()));
    let run = agent.start(Start::new(Order::new(deltas, Pace::Ready).text())).await.unwrap();
    run.outcome().await.unwrap();
    let secret = agent.secret().await.unwrap();
    let mut encoder = Encoder::new(dialect, &EncodeOptions::default());
    for entry in run.entries().await.unwrap() {
        let JournalEntry::Event(record) = entry else { continue };
        let cursor =
            |frame| Cursor { journal: run.id().as_str().into(), epoch: 1, seq: record.seq, frame, count: 0 };
        encoder.record_with_ids(&record, &mut |frame, _| cursor(frame).seal(secret)).unwrap();
    }
    encoder.finish();
    std::fs::write(file, encoder.take()).unwrap();
}

pub(crate) async fn measure(size: Size, asked: &dyn Fn(&str) -> bool, report: &mut Report) {
    let Size { runs, deltas, passes, .. } = size;
    println!("\n## {runs} runs × {deltas} deltas\n");
    let folder = tempfile::tempdir().unwrap();
    let mut rows = Vec::new();
    let mut ai_sdk = None;
    let mut tanstack = None;
    for (pace, named) in [(Pace::Turns, "one by one"), (Pace::Ready, "all at once")] {
        for dialect in headwater_dialects::CHAT.iter().copied().filter(|dialect| asked(dialect.name())) {
            let name = dialect.name();
            let file = folder.path().join(name);
            record(dialect, deltas, &file).await;
            let order = Order::new(deltas, pace);
            let (mut ours, mut bare) = (None, None);
            // In turns, each in a fresh process.
            for pass in 0..passes {
                let server = Server::start(&["headwater", "memory"]);
                ours = Some(load(&server, clients(name, pass, runs, &order), deltas).await.better(ours));
                drop(server);
                let server = Server::start(&["axum", file.to_str().unwrap()]);
                let request = Request::post("/", &order.text());
                bare = Some(load(&server, vec![request; runs], deltas).await.better(bare));
            }
            let (ours, bare) = (ours.unwrap(), bare.unwrap());
            rows.push([
                name.to_owned(),
                named.to_owned(),
                number(ours.per_second),
                number(bare.per_second),
                number(ours.per_second / bare.per_second),
                number(ours.cost),
                number(bare.cost),
                number(ours.bytes),
                number(bare.bytes),
            ]);
            if pace == Pace::Turns {
                let what = format!("{name}: events/s beside bare axum");
                report.at_least(&what, ours.per_second / bare.per_second, 0.6, "×");
                match name {
                    "ai-sdk" => ai_sdk = Some(ours),
                    "tanstack" => tanstack = Some(ours),
                    _ => {}
                }
            }
        }
    }
    table(
        &[
            "dialect",
            "the model speaks",
            "events/s",
            "bare axum",
            "ratio",
            "µs on a core per event",
            "bare axum",
            "bytes per event",
            "bare axum",
        ],
        rows,
    );
    vendors(size, [("ai-sdk", ai_sdk), ("tanstack", tanstack)], report).await;
}

/// The vendors' own servers with the same load.
async fn vendors(size: Size, ours: [(&str, Option<Found>); 2], report: &mut Report) {
    println!("\n### The vendors' servers in Node, one by one\n");
    let order = Order::new(size.deltas, Pace::Turns).text();
    let mut rows = Vec::new();
    for (path, dialect, aim) in [
        ("/ai/route", "ai-sdk", 15.0),
        ("/ai/encoder", "ai-sdk", 3.0),
        ("/tanstack/encoder", "tanstack", 3.0),
    ] {
        let Some(server) = Server::node() else {
            println!("there is no Node, or the vendors' packages are not installed: not measured");
            return;
        };
        let requests = vec![Request::post(path, &order); size.vendor_runs];
        // The first load is for its compiler.
        let mut found = load(&server, requests.clone(), size.deltas).await;
        for _ in 0..size.passes.min(2) {
            found = load(&server, requests.clone(), size.deltas).await.better(Some(found));
        }
        let Some(ours) = ours.iter().find(|(name, _)| *name == dialect).and_then(|(_, ours)| ours.as_ref())
        else {
            continue;
        };
        let ratio = found.cost / ours.cost;
        rows.push([
            path.trim_start_matches('/').to_owned(),
            number(found.per_second),
            number(found.cost),
            number(found.bytes),
            number(ratio),
        ]);
        report.at_least(&format!("{dialect}: per second on a core beside {path}"), ratio, aim, "×");
    }
    table(
        &["server", "events/s", "µs on a core per event", "bytes per event", "ours per second on a core"],
        rows,
    );
}
