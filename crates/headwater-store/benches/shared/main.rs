//! How fast the stores on Redis and Postgres are, beside the bare engine with the same batching, which is the limit,
//! beside one write per record, and beside `resumable-stream`. `cargo xtask bench redis`, `cargo xtask bench postgres`.
//!
//! Every node, every bare writer and every reader is a process of its own: this program again, with a [role](node). This
//! process starts the engine, starts and stops the others, and looks at what the engine used. Compared figures are measured
//! in turns on an empty engine, and the best pass counts. Each figure is printed as a line of JSON, which `cargo xtask`
//! makes tables of.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench stops at the first thing that goes wrong"
)]

mod child;
mod engine;
mod node;
mod on_postgres;
mod on_redis;
mod samples;

use std::time::Duration;

use headwater_testkit::engines::{PostgresServer, RedisServer};

use self::{
    child::Child,
    engine::{Engine, Usage, machine_time},
};

/// The bytes of a record's body.
const RECORD: usize = 200;
/// Runs of each node, and what each appends before its last record, a fact, is waited for.
const RUNS: usize = 100;
const EACH: usize = 10;
/// How long each pass lasts, and how many there are.
const SECONDS: u64 = 3;
const PASSES: usize = 3;
/// Latency is measured while one record is appended each millisecond, to one of so many runs after the other.
const PACED_RUNS: usize = 20;
const PACED_RECORDS: usize = 5_000;
const READERS: usize = 5_000;
const LEASE: Duration = Duration::from_secs(3_600);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [node::FLAG, role @ ..] => node::run(role),
        ["redis"] => {
            // A rewrite of the file would fall into one pass and not into another.
            let options = RedisServer::options().config("appendfsync always");
            let server = options.config("auto-aof-rewrite-percentage 0").start();
            measure(&server.expect("the bench of Redis needs Redis"));
        }
        ["postgres"] => measure(&PostgresServer::start().expect("the bench of Postgres needs Postgres")),
        _ => eprintln!("usage: shared redis|postgres"),
    }
}

/// Prints one figure.
fn figure(name: &str, value: f64) {
    println!("{{\"name\":\"{name}\",\"value\":{value}}}");
}

fn measure<E: Engine>(server: &E) {
    for nodes in 1..=3 {
        appends(server, nodes);
    }
    let naive = load(server, "naive", 1);
    naive.print("naive");
    followed(server);
    latency(server);
    readers(server);
    if E::HAS_RESUMABLE_STREAM {
        resumable_stream(server);
    }
}

/// What a load did and what it took.
struct Load {
    per_second: f64,
    engine: Usage,
    /// Of all nodes.
    processor: f64,
    records: f64,
}

impl Load {
    fn print(&self, name: &str) {
        figure(&format!("{name}.per_second"), self.per_second);
        figure(&format!("{name}.engine_ms"), self.engine.processor * 1e6 / self.records);
        figure(&format!("{name}.node_ms"), self.processor * 1e6 / self.records);
        figure(&format!("{name}.kept"), self.engine.kept / self.records);
        figure(&format!("{name}.written"), self.engine.written / self.records);
    }
}

/// Lets so many processes do the same at the same time, on an empty engine.
fn load<E: Engine>(server: &E, role: &str, nodes: usize) -> Load {
    server.clear();
    let url = server.url();
    let mut children: Vec<Child> =
        (0..nodes).map(|node| Child::start(&[role, &url, &node.to_string()])).collect();
    let (before, busy) = (server.usage(), children.iter().map(Child::processor).sum::<f64>());
    children.iter_mut().for_each(Child::go);
    let results: Vec<_> = children.iter_mut().map(Child::result).collect();
    let records = results.iter().map(|result| result["records"]).sum();
    Load {
        per_second: results.iter().map(|result| result["records"] / result["seconds"]).sum(),
        engine: server.usage() - before,
        processor: children.iter().map(Child::processor).sum::<f64>() - busy,
        records,
    }
}

/// Appends of so many nodes beside as many bare writers.
fn appends<E: Engine>(server: &E, nodes: usize) {
    let mut best: [Option<Load>; 2] = [None, None];
    for _ in 0..PASSES {
        for (best, role) in best.iter_mut().zip(["bare", "append"]) {
            let load = load(server, role, nodes);
            eprintln!("{role}, {nodes} nodes: {:.0} records/s", load.per_second);
            if best.as_ref().is_none_or(|best| best.per_second < load.per_second) {
                *best = Some(load);
            }
        }
    }
    for (load, name) in best.iter().flatten().zip(["bare", "append"]) {
        load.print(&format!("{name}.{nodes}"));
    }
}

/// One node appends as fast as it can, and another one has a reader of each run.
fn followed<E: Engine>(server: &E) {
    server.clear();
    let url = server.url();
    let mut writer = Child::start(&["append", &url, "0"]);
    let mut reader = Child::start(&["follow", &url]);
    let before = server.usage();
    reader.go();
    writer.go();
    let (appended, read) = (writer.result(), reader.result());
    let engine = server.usage() - before;
    figure("followed.appended", appended["records"] / appended["seconds"]);
    figure("followed.per_second", read["records"] / read["seconds"]);
    figure("followed.engine_ms", engine.processor * 1e6 / read["records"]);
    eprintln!("followed: {:.0} records/s", read["records"] / read["seconds"]);
}

/// From an append to a reader on another node, while the machine has time to spare.
fn latency<E: Engine>(server: &E) {
    let url = server.url();
    let roles = [
        ("bare", ["bare-pace", ""], "bare-read"),
        ("fact", ["pace", "fact"], "read"),
        ("delta", ["pace", "delta"], "read"),
    ];
    for (name, [role, class], reader) in roles {
        server.clear();
        let writer = Child::start(&[role, &url, class]);
        let reader = Child::start(&[reader, &url]);
        paced(name, writer, reader);
    }
}

fn paced(name: &str, mut writer: Child, mut reader: Child) {
    let (busy, all) = machine_time();
    reader.go();
    writer.go();
    let read = reader.result();
    let (busy_then, all_then) = machine_time();
    let busy = (busy_then - busy) / (all_then - all);
    eprintln!("{name}: p50 {:.2} ms, p99 {:.2} ms, machine {busy:.2} busy", read["p50"], read["p99"]);
    figure(&format!("latency.{name}.p50"), read["p50"]);
    figure(&format!("latency.{name}.p99"), read["p99"]);
    figure(&format!("latency.{name}.busy"), busy);
}

/// The connections of a node with many readers of runs that another node drives.
fn readers<E: Engine>(server: &E) {
    server.clear();
    let url = server.url();
    let mut writer = Child::start(&["one", &url]);
    let others = server.connections();
    let mut reader = Child::start(&["wait", &url]);
    figure("readers.connections", (server.connections() - others) as f64);
    figure("readers.memory", reader.resident());
    reader.go();
    writer.go();
    let woken = reader.result();
    assert_eq!(woken["records"] as usize, READERS);
    figure("readers.p50", woken["p50"]);
    figure("readers.p99", woken["p99"]);
    figure("engine.memory", server.resident());
}

/// The npm package on the same server: it publishes chunks to readers on other nodes, and keeps none of them.
fn resumable_stream<E: Engine>(server: &E) {
    server.clear();
    let url = server.url();
    let Some(mut writer) = Child::node(&["write", &url, &RUNS.to_string(), &SECONDS.to_string()]) else {
        eprintln!("resumable-stream is not installed: skipped");
        return;
    };
    let mut reader = Child::node(&["read", &url, &RUNS.to_string(), &SECONDS.to_string()]).unwrap();
    let before = server.usage();
    reader.go();
    writer.go();
    let (read, _) = (reader.result(), writer.result());
    let engine = server.usage() - before;
    figure("resumable.per_second", read["records"] / read["seconds"]);
    figure("resumable.engine_ms", engine.processor * 1e6 / read["records"]);
    figure("resumable.node_ms", (reader.processor() + writer.processor()) * 1e6 / read["records"]);
    drop((reader, writer));

    server.clear();
    let (runs, records) = (PACED_RUNS.to_string(), PACED_RECORDS.to_string());
    let writer = Child::node(&["pace", &url, &runs, &records]).unwrap();
    let reader = Child::node(&["read-paced", &url, &runs, &records]).unwrap();
    paced("resumable", writer, reader);
}
