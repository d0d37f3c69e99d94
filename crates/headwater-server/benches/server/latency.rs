//! How long a delta takes from the model to the reader while the server is about half busy.

use crate::{
    Size,
    child::Server,
    load::{Request, deliver},
    model::{Order, Pace},
    report::{Report, number, percentile, table},
    throughput::{clients, load, record},
};

/// A delta comes so often, in microseconds: fifty a second, as a fast model speaks.
const EVERY: u64 = 20_000;

pub(crate) async fn measure(size: Size, report: &mut Report) {
    println!("\n## From the model to the reader's socket\n");
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let file = folder.path().join("recorded");
    record(headwater_protocol::dialects::find("ai-sdk").unwrap(), size.deltas, &file).await;
    let mut rows = Vec::new();
    for (name, arguments) in [
        ("bare axum", vec!["axum", file.to_str().unwrap()]),
        ("memory", vec!["headwater", "memory"]),
        ("embedded, fsync `never`", vec!["headwater", "embedded", store.to_str().unwrap()]),
    ] {
        let server = Server::start(&arguments);
        let requests = |pass: usize, runs: usize, order: &Order| match arguments[0] {
            "axum" => vec![Request::post("/", &order.text()); runs],
            _ => clients("ai-sdk", pass, runs, order),
        };
        // What it can do at most, on this machine with this load generator; then half of that.
        let most =
            load(&server, requests(0, size.runs, &Order::new(size.deltas, Pace::Turns)), size.deltas).await;
        let half = most.per_second / 2.0;
        let runs = ((half * EVERY as f64 / 1e6) as usize).max(1);
        let order = Order::new(size.deltas, Pace::Every(EVERY));
        let (mut p50, mut p99, mut share) = (f64::MAX, f64::MAX, 0.0);
        for pass in 1..=size.passes {
            let before = server.cpu();
            let delivered = deliver(server.address, requests(pass, runs, &order), size.deltas, true).await;
            share = (server.cpu() - before) / delivered.wall.as_secs_f64();
            // The first deltas fall into the beginning of all runs at once.
            p50 = p50.min(percentile(&delivered.ages, 0.5));
            p99 = p99.min(percentile(&delivered.ages, 0.99));
        }
        rows.push([name.to_owned(), number(half), runs.to_string(), number(share), number(p50), number(p99)]);
        if arguments[0] == "headwater" {
            report.below(&format!("{name}: p50 from the model to the reader"), p50, 200.0, "µs");
            report.below(&format!("{name}: p99 from the model to the reader"), p99, 2_000.0, "µs");
        }
    }
    table(&["server", "events/s aimed at", "runs", "cores busy", "p50 µs", "p99 µs"], rows);
}
