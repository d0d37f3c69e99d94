//! What a short chat costs: processor time, system calls, fsyncs and bytes written.

use std::{
    collections::HashMap,
    process::{Command, Stdio},
    time::Duration,
};

use crate::{
    Size,
    child::Server,
    load::{Request, in_turns, says},
    model::{Order, Pace},
    report::{Report, number, table},
    throughput::record,
};

/// The deltas of a short answer.
const DELTAS: usize = 6;

/// Chats at once on a busy server.
const BUSY: usize = 50;

pub(crate) async fn measure(size: Size, report: &mut Report) {
    println!("\n## A chat of {DELTAS} deltas in a new session, {} of them\n", size.chats);
    let folder = tempfile::tempdir().unwrap();
    let order = Order::new(DELTAS, Pace::Ready);
    let file = folder.path().join("recorded");
    record(headwater_dialects::find("ai-sdk").unwrap(), DELTAS, &file).await;
    let mut rows = Vec::new();
    let stores = [("memory", "memory"), ("embedded, fsync never", "embedded"), ("embedded", "commit")];
    for (name, store) in stores {
        for connections in [BUSY, 1] {
            let place = folder.path().join(format!("{store}-{connections}"));
            let server = match store {
                "memory" => Server::start(&["headwater", "memory"]),
                _ => Server::start(&["headwater", store, place.to_str().unwrap()]),
            };
            let chats = |pass: &str, count: usize| -> Vec<Request> {
                (0..count).map(|chat| says("ai-sdk", &format!("{pass}-{chat}"), &order)).collect()
            };
            in_turns(server.address, chats("warm", size.chats / 4), connections).await;
            let mut cost = f64::MAX;
            let before = server.written();
            for pass in 0..size.passes {
                cost = cost.min(spent(&server, chats(&pass.to_string(), size.chats), connections).await);
            }
            let after = server.written();
            let each = |at: usize| (after[at] - before[at]) / (size.chats * size.passes) as f64;
            let calls = traced(&server, chats("traced", size.chats / 4), connections).await;
            let count = |calls: &HashMap<String, f64>, names: &[&str]| {
                names.iter().filter_map(|name| calls.get(*name)).sum::<f64>() / (size.chats / 4) as f64
            };
            let syncs = calls.as_ref().map(|calls| count(calls, &["fsync", "fdatasync"]));
            let all = calls.as_ref().map(|calls| count(calls, &["total"]));
            let connected = if connections == 1 { "alone" } else { "busy" };
            report.figure(&format!("hello {connected} ms"), name, cost / 1e3);
            if let Some(syncs) = syncs {
                report.figure(&format!("hello {connected} fsyncs"), name, syncs);
            }
            let shown = |number_of: Option<f64>| number_of.map_or("no strace".to_owned(), number);
            rows.push([
                format!("{name}, {connections} at once"),
                number(cost),
                shown(syncs),
                shown(all),
                number(each(0)),
                number(each(1)),
            ]);
        }
    }
    for (name, server, path) in others(file.to_str().unwrap()) {
        let requests = vec![Request::post(path, &order.text()); size.chats];
        in_turns(server.address, requests.clone(), BUSY).await;
        let cost = spent(&server, requests, BUSY).await;
        let none = String::new;
        rows.push([format!("{name}, {BUSY} at once"), number(cost), none(), none(), none(), none()]);
    }
    table(&["store", "µs on a core", "fsyncs", "system calls", "bytes written", "bytes to the disk"], rows);
}

/// Bare axum, and the servers in Node where they are installed.
fn others(file: &str) -> Vec<(&'static str, Server, &'static str)> {
    let mut others = vec![("bare axum", Server::start(&["axum", file]), "/")];
    for path in ["/node/loop", "/ag-ui/encoder", "/tanstack/encoder", "/ai/route"] {
        others.extend(Server::node().map(|server| (path.trim_start_matches('/'), server, path)));
    }
    others
}

/// The microseconds on a core for each of the requests.
async fn spent(server: &Server, requests: Vec<Request>, connections: usize) -> f64 {
    let (count, before) = (requests.len(), server.cpu());
    in_turns(server.address, requests, connections).await;
    (server.cpu() - before) * 1e6 / count as f64
}

/// The system calls of a server while it answers, by their names; `None` where there is no strace.
async fn traced(server: &Server, requests: Vec<Request>, connections: usize) -> Option<HashMap<String, f64>> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let process = server.process().to_string();
    let mut strace = Command::new("strace");
    strace.args(["-f", "-c", "-p", &process, "-o"]).arg(file.path());
    let mut strace = strace.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    while !is_traced(&process) {
        if strace.try_wait().unwrap().is_some() {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    in_turns(server.address, requests, connections).await;
    let id = rustix::process::Pid::from_raw(i32::try_from(strace.id()).unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    strace.wait().unwrap();
    let summary = std::fs::read_to_string(file.path()).unwrap();
    Some(summary.lines().filter_map(calls_of).collect())
}

/// Whether all threads of a process are traced.
fn is_traced(process: &str) -> bool {
    let threads: Vec<_> = std::fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten().collect();
    threads.iter().all(|thread| {
        let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        status.lines().any(|line| line.starts_with("TracerPid:") && !line.ends_with("\t0"))
    })
}

/// A line of the summary: share, seconds, microseconds per call, calls, errors if there were some, name.
fn calls_of(line: &str) -> Option<(String, f64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let calls = words.get(3)?.parse().ok()?;
    Some(((*words.last()?).to_owned(), calls))
}
