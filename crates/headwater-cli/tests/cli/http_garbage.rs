//! Whatever is sent to any route, the real server answers with no 5xx, does not panic, does not grow without bound, and
//! everything that it stored before still reads.
//!
//! `HEADWATER_REQUESTS=100000 cargo test --release -p headwater-cli --test cli http_garbage` sends so many requests, as
//! `cargo xtask garbage --http` does; `HEADWATER_SEED` picks others.

mod client;
mod generate;

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, Mutex},
    thread,
};

use serde_json::Value;

use self::{
    client::{Client, Reply},
    generate::{Generator, Known, Random, Routes},
};
use crate::server::Server;

/// How many requests are sent between two looks at what was stored.
const BATCH: u64 = 500;
const CLIENTS: u64 = 4;
/// What the server may hold beyond what it held at the start, and for each request that it was sent.
const GROWTH: u64 = 96 << 20;
const GROWTH_PER_REQUEST: u64 = 6 << 10;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

/// A line of `/proc/PID/status`, in bytes.
pub(crate) fn memory(pid: u32, line: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let found = status.lines().find_map(|known| known.strip_prefix(line)?.strip_prefix(':'))?;
    found.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// The request as it was sent, to find out why it failed.
fn describe(request: &generate::Request, seed: u64) -> String {
    let body = String::from_utf8_lossy(&request.body);
    let body: String = body.chars().take(600).collect();
    format!("seed {seed}: {} {} {:?} {body:?}", request.method, request.target, request.headers)
}

/// A 503 is an answer where the document says so; every other 5xx is a fault.
fn check(reply: &Reply, request: &generate::Request, seed: u64) {
    let documented = reply.status == 503 && reply.head.to_ascii_lowercase().contains("retry-after");
    assert!(reply.status < 500 || documented, "{}: {} {}", describe(request, seed), reply.status, reply.body);
    if (400..500).contains(&reply.status) && request.method != "HEAD" && !reply.body.is_empty() {
        let told: Value = serde_json::from_str(&reply.body).unwrap_or_default();
        assert!(told["code"].is_string(), "{}: {} {}", describe(request, seed), reply.status, reply.body);
    }
}

/// Everything that lists name, page by page.
fn listed(client: &mut Client, route: &str, field: &str, id: &str) -> BTreeSet<String> {
    let (mut found, mut after) = (BTreeSet::new(), String::new());
    loop {
        let reply = client.get(&format!("{route}limit=500{after}"));
        assert_eq!(reply.status, 200, "{route}: {}", reply.body);
        let page: Value = serde_json::from_str(&reply.body).unwrap();
        let items = page[field].as_array().unwrap();
        found.extend(items.iter().map(|item| item[id].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={}", client::escape(next)),
            None => return found,
        }
    }
}

/// The names of the agents, which an error lists.
fn agents(client: &mut Client) -> Vec<String> {
    let reply = client.get("/v1/sessions?agent=no-such-agent");
    let told: Value = serde_json::from_str(&reply.body).unwrap();
    let names = told["error"].as_str().unwrap().split('`').skip(1).step_by(2);
    let names: Vec<_> = names.filter(|name| *name != "no-such-agent").map(str::to_owned).collect();
    assert!(names.len() > 2, "{}", reply.body);
    names
}

/// Reads everything that is new, and a part of what was read before; everything if `all`.
fn read_back(
    address: &str,
    known: &Mutex<Known>,
    read: &mut BTreeSet<String>,
    random: &mut Random,
    all: bool,
) {
    let mut client = Client::new(address);
    let mut due = |id: &str| all || read.insert(id.to_owned()) || random.below(20) == 0;
    let mut sessions = BTreeSet::new();
    for agent in agents(&mut client) {
        let route = format!("/v1/sessions?agent={}&", client::escape(&agent));
        sessions.extend(listed(&mut client, &route, "sessions", "id"));
    }
    for session in sessions.iter().filter(|id| due(id)) {
        let session = format!("/v1/sessions/{}", client::escape(session));
        for what in ["", "/messages", "/checkpoints", "/export"] {
            let reply = client.get(&format!("{session}{what}"));
            assert_eq!(reply.status, 200, "{session}{what}: {}", reply.body);
        }
    }
    let runs = listed(&mut client, "/v1/runs?", "runs", "run");
    for run in runs.iter().filter(|id| due(id)) {
        for what in ["", "/events?until=wait"] {
            let reply = client.get(&format!("/v1/runs/{run}{what}"));
            assert_eq!(reply.status, 200, "{run}{what}: {}", reply.body);
        }
    }
    known.lock().unwrap().listed(&sessions, &runs);
}

/// Sends requests in batches, each followed by a look at everything that was stored.
fn attack(data: &Path, requests: u64, seed: u64) -> String {
    let server = Server::start(data, &["--set", "fsync=never", "--set", "log.level=warn"]);
    let mut client = Client::new(&server.address);
    let document: Value = serde_json::from_str(&client.get("/openapi.json").body).unwrap();
    let routes = Arc::new(Routes::of(&document));
    let known = Arc::new(Mutex::new(Known::default()));
    let mut read = BTreeSet::new();
    let mut random = Random::new(seed);
    let start = memory(server.pid(), "VmRSS");
    let (mut sent, mut statuses) = (0, [0_u64; 6]);
    while sent < requests {
        let batch = BATCH.min(requests - sent);
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (routes, known, address) = (routes.clone(), known.clone(), server.address.clone());
                let (from, until) = (sent + batch * number / CLIENTS, sent + batch * (number + 1) / CLIENTS);
                thread::spawn(move || {
                    let mut client = Client::new(&address);
                    let mut statuses = [0; 6];
                    for at in from..until {
                        let seed = seed.wrapping_add(at);
                        let known_now = known.lock().unwrap().clone();
                        let request = Generator::new(seed, &routes, &known_now).request();
                        let reply = client.send(&request);
                        let reply =
                            reply.unwrap_or_else(|error| panic!("{}: {error}", describe(&request, seed)));
                        check(&reply, &request, seed);
                        known.lock().unwrap().learn(&reply);
                        statuses[usize::from(reply.status / 100).min(5)] += 1;
                    }
                    statuses
                })
            })
            .collect();
        for client in clients {
            let counted = client.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            statuses.iter_mut().zip(counted).for_each(|(all, one)| *all += one);
        }
        sent += batch;
        read_back(&server.address, &known, &mut read, &mut random, false);
    }
    read_back(&server.address, &known, &mut read, &mut random, true);
    let end = memory(server.pid(), "VmRSS");
    if let (Some(start), Some(end)) = (start, end) {
        let allowed = start + GROWTH + GROWTH_PER_REQUEST * requests;
        assert!(end < allowed, "{} MiB at first, {} MiB after {requests} requests", start >> 20, end >> 20);
    }
    assert!(!server.logged().iter().any(|line| line.contains("panicked")), "the server panicked");
    let peak = memory(server.pid(), "VmHWM").unwrap_or(0) >> 20;
    let [_, _, taken, moved, refused, failed] = statuses;
    format!(
        "{requests} requests to {} routes: {} answered, {refused} refused, {failed} told to come back; {} sessions \
         and runs read back; peak {peak} MiB",
        routes.len(),
        taken + moved,
        read.len()
    )
}

#[test]
fn server_survives_anything_that_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let told = attack(&data, number("HEADWATER_REQUESTS", 600), number("HEADWATER_SEED", 1));
    println!("told: {told}");
    // What was stored is read by a process that knows nothing else.
    let server = Server::start(&data, &["--set", "log.level=warn"]);
    let known = Mutex::new(Known::default());
    read_back(&server.address, &known, &mut BTreeSet::new(), &mut Random::new(1), true);
    assert!(!server.logged().iter().any(|line| line.contains("ERROR") || line.contains("panicked")));
}
