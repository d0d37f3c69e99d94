//! How long a delta takes from the model to the reader while the machine is half busy.

use std::time::Duration;

use crate::{
    Size,
    child::{Server, cpu},
    load::{Request, Sustained, sustain},
    model::{Order, Pace},
    report::{Report, number, percentile, table},
    throughput::{clients, record},
};

/// A delta comes so often, in microseconds: fifty a second, as a fast model speaks.
const EVERY: u64 = 20_000;

/// How often the load is brought closer to half of what the machine has.
const STEPS: usize = 3;

pub(crate) async fn measure(size: Size, report: &mut Report) {
    println!("\n## From the model to the reader's socket, on a machine that is half busy\n");
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let file = folder.path().join("recorded");
    record(headwater_dialects::find("ai-sdk").unwrap(), size.deltas, &file).await;
    let mut rows = Vec::new();
    for (name, arguments) in [
        ("bare axum", vec!["axum", file.to_str().unwrap()]),
        ("memory", vec!["headwater", "memory"]),
        ("embedded, fsync `never`", vec!["headwater", "embedded", store.to_str().unwrap()]),
    ] {
        let server = Server::start(&arguments);
        let order = Order::new(size.deltas, Pace::Every(EVERY));
        let mut pass = 0;
        let mut runs = size.runs / 4;
        let mut requests = |runs: usize| -> Vec<Request> {
            pass += 1;
            match arguments[0] {
                "axum" => vec![Request::post("/", &order.text()); runs],
                _ => clients("ai-sdk", pass, runs, &order),
            }
        };
        let mut readers = |runs| requests(runs).into_iter().zip(requests(runs)).map(<[_; 2]>::from).collect();
        let length = Duration::from_micros(EVERY) * u32::try_from(size.deltas).unwrap();
        for _ in 0..STEPS {
            let (share, _) = busy(&server, readers(runs), length).await;
            let factor = (0.5 / share.max(0.01)).clamp(0.25, 4.0);
            runs = ((runs as f64 * factor) as usize).max(1);
        }
        let (mut p50, mut p99, mut shares, mut rate) = (f64::MAX, f64::MAX, Vec::new(), 0.0);
        for _ in 0..size.passes {
            let (share, delivered) = busy(&server, readers(runs), length).await;
            shares.push(number(share));
            rate = delivered.deltas as f64 / delivered.wall.as_secs_f64();
            p50 = percentile(&delivered.ages, 0.5).min(p50);
            p99 = percentile(&delivered.ages, 0.99).min(p99);
        }
        let busy = shares.join(", ");
        rows.push([name.to_owned(), runs.to_string(), number(rate), busy, number(p50), number(p99)]);
        if arguments[0] == "headwater" {
            report.below(&format!("{name}: p50 from the model to the reader"), p50, 200.0, "µs");
            report.below(&format!("{name}: p99 from the model to the reader"), p99, 2_000.0, "µs");
        }
    }
    table(&["server", "runs at once", "events/s", "share of the machine", "p50 µs", "p99 µs"], rows);
}

/// Keeps up a load, and returns the share of the machine that the server and this process took.
async fn busy(server: &Server, readers: Vec<[Request; 2]>, length: Duration) -> (f64, Sustained) {
    let sustained = sustain(server.address, readers, length, || server.cpu() + cpu("self")).await;
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    (sustained.spent / sustained.wall.as_secs_f64() / cores, sustained)
}
