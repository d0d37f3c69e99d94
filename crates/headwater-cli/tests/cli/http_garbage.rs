//! Random requests to every route: the real server never responds with an undocumented 5xx, does not panic,
//! does not grow without bound, and everything stored before stays readable.
//!
//! `HEADWATER_REQUESTS=100000 cargo test --release -p headwater-command --test cli http_garbage` sends that many
//! requests, as `cargo xtask garbage --http` does; `HEADWATER_SEED` picks others.

mod client;
mod generate;

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};

use self::{
    client::{Client, Reply},
    generate::{Generator, KnownIds, Routes},
};
use crate::server::{Server, memory};

/// The minimum number of requests between two checks of the stored data. Each check reads everything, so
/// batches grow with the amount of data.
const BATCH: u64 = 200;
const CLIENTS: u64 = 4;
/// The memory that the server may use beyond its start: its bounded caches and the index of its store.
/// Requests that store nothing must cost nothing.
const CACHES: u64 = 96 << 20;
const PER_SESSION_OR_RUN: u64 = 16 << 10;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

/// The request as it was sent, for the failure message.
fn describe(request: &generate::Request, seed: u64) -> String {
    let body = String::from_utf8_lossy(&request.body);
    let body: String = body.chars().take(600).collect();
    format!("seed {seed}: {} {} {:?} {body:?}", request.method, request.target, request.headers)
}

/// A 503 is allowed where the API documents it; every other 5xx is a failure.
fn check(reply: &Reply, request: &generate::Request, seed: u64) {
    let documented = reply.status == 503 && reply.head.to_ascii_lowercase().contains("retry-after");
    assert!(reply.status < 500 || documented, "{}: {} {}", describe(request, seed), reply.status, reply.body);
    if (400..500).contains(&reply.status) && request.method != "HEAD" && !reply.body.is_empty() {
        let told: Value = serde_json::from_str(&reply.body).unwrap_or_default();
        // A dialect's clients may expect another error format.
        let code = told["code"].as_str().or(told["error"]["code"].as_str());
        assert!(code.is_some(), "{}: {} {}", describe(request, seed), reply.status, reply.body);
    }
}

/// All ids of a list, page by page.
fn listed(client: &mut Client, route: &str, field: &str, id: &str) -> BTreeSet<String> {
    let (mut found, mut after) = (BTreeSet::new(), String::new());
    loop {
        let reply = client.get(&format!("{route}limit=500{after}"));
        assert_eq!(reply.status, 200, "{route}: {}", reply.body);
        let page: Value = serde_json::from_str(&reply.body).unwrap();
        assert_eq!(page["unreadable"], json!([]), "{route}");
        let items = page[field].as_array().unwrap();
        found.extend(items.iter().map(|item| item[id].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={}", client::escape(next)),
            None => return found,
        }
    }
}

/// The names of the agents, taken from an error message.
fn agents(client: &mut Client) -> Vec<String> {
    let reply = client.get("/v1/sessions?agent=no-such-agent");
    let told: Value = serde_json::from_str(&reply.body).unwrap();
    let names: Vec<_> =
        told["known"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    assert!(names.len() > 2, "{}", reply.body);
    names
}

/// The data that the server has acknowledged.
#[derive(Debug, Default)]
struct StoreContent {
    /// The sessions of the last check, and those named in responses since then.
    sessions: BTreeSet<String>,
    /// The sessions deleted since the last check. One of them may have been created again.
    deleted: BTreeSet<String>,
}

impl StoreContent {
    fn learn(&mut self, request: &generate::Request, reply: &Reply) {
        if !(200..300).contains(&reply.status) {
            return;
        }
        match deleted_session(request) {
            Some(id) => _ = self.deleted.insert(id),
            None => self.sessions.extend(reply.header("x-session-id").map(str::to_owned)),
        }
    }
}

/// The session that the request deletes: `/v1/sessions/{id}`, or `/v1/{dialect}/threads/{id}`, where the pages
/// of some dialects do it.
fn deleted_session(request: &generate::Request) -> Option<String> {
    let path = request.target.split('?').next()?;
    let parts: Vec<_> = path.split('/').skip(1).collect();
    match parts[..] {
        _ if request.method != "DELETE" => None,
        ["v1", "sessions", id] | ["v1", _, "threads", id] => Some(client::unescape(id)),
        _ => None,
    }
}

/// All data found by a check.
struct Look {
    sessions: BTreeSet<String>,
    runs: BTreeSet<String>,
}

/// Reads every session and every run to its end.
fn read_back(address: &str) -> Look {
    let mut client = Client::new(address);
    let mut sessions = BTreeSet::new();
    for agent in agents(&mut client) {
        let route = format!("/v1/sessions?archived=true&agent={}&", client::escape(&agent));
        sessions.extend(listed(&mut client, &route, "sessions", "id"));
    }
    for session in &sessions {
        let session = format!("/v1/sessions/{}", client::escape(session));
        for what in ["", "/messages", "/checkpoints", "/export"] {
            let reply = client.get(&format!("{session}{what}"));
            assert_eq!(reply.status, 200, "{session}{what}: {}", reply.body);
        }
    }
    let mut runs = listed(&mut client, "/v1/runs?", "runs", "id");
    let mut gone = BTreeSet::new();
    for run in &runs {
        for what in ["", "/events?until=wait"] {
            let reply = client.get(&format!("/v1/runs/{run}{what}"));
            if reply.status == 404 {
                gone.insert(run.clone());
                break;
            }
            assert_eq!(reply.status, 200, "{run}{what}: {}", reply.body);
            assert!(!reply.body.is_empty(), "{run}{what} is empty");
        }
    }
    // Runs of deleted sessions and retracted turns are removed in the background: then no list has them.
    if !gone.is_empty() {
        let now = listed(&mut client, "/v1/runs?", "runs", "id");
        let unread: Vec<_> = gone.intersection(&now).collect();
        assert!(unread.is_empty(), "runs are listed that cannot be read: {unread:?}");
        runs.retain(|run| !gone.contains(run));
    }
    Look { sessions, runs }
}

/// Fails if the server has logged an error.
fn no_errors(server: &Server) {
    let logged = server.logged();
    let errors: Vec<_> =
        logged.iter().filter(|line| line.contains("ERROR") || line.contains("panicked")).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// Sends requests in batches, each followed by a check of all stored data.
fn attack(data: &Path, requests: u64, seed: u64) -> String {
    let server = Server::start(data, &["--set", "fsync=never", "--set", "log.level=warn"]);
    let mut client = Client::new(&server.address);
    let document: Value = serde_json::from_str(&client.get("/openapi.json").body).unwrap();
    let routes = Arc::new(Routes::of(&document));
    let known = Arc::new(Mutex::new(KnownIds::default()));
    let stored = Arc::new(Mutex::new(StoreContent::default()));
    let start = memory(server.pid(), "VmRSS");
    let (mut sent, mut statuses, mut batches, mut items) = (0, [0_u64; 6], 0, 0);
    while sent < requests {
        let batch = BATCH.max(sent / 2).min(requests - sent);
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (routes, known, stored) = (routes.clone(), known.clone(), stored.clone());
                let address = server.address.clone();
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
                        stored.lock().unwrap().learn(&request, &reply);
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
        batches += 1;
        let Look { sessions, runs } = read_back(&server.address);
        let before = std::mem::take(&mut *stored.lock().unwrap());
        let lost: Vec<_> =
            before.sessions.difference(&before.deleted).filter(|id| !sessions.contains(*id)).collect();
        assert!(lost.is_empty(), "sessions are gone that were not deleted: {lost:?}");
        no_errors(&server);
        items = (sessions.len() + runs.len()) as u64;
        if let (Some(start), Some(now)) = (start, memory(server.pid(), "VmRSS")) {
            let allowed = start + CACHES + PER_SESSION_OR_RUN * items;
            let (start, now_mib) = (start >> 20, now >> 20);
            assert!(
                now < allowed,
                "{start} MiB at first, {now_mib} MiB after {sent} requests with {items} sessions and runs"
            );
            println!("{sent} requests, {items} sessions and runs, {now_mib} MiB");
        }
        known.lock().unwrap().listed(&sessions, &runs);
        stored.lock().unwrap().sessions = sessions;
    }
    let peak = memory(server.pid(), "VmHWM").unwrap_or(0) >> 20;
    let [_, _, taken, moved, refused, failed] = statuses;
    format!(
        "{requests} requests to {} routes: {} answered, {refused} refused, {failed} asked to retry; {items} sessions \
         and runs read back after {batches} batches; peak {peak} MiB",
        routes.len(),
        taken + moved,
    )
}

#[test]
fn server_survives_random_requests() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let told = attack(&data, number("HEADWATER_REQUESTS", 600), number("HEADWATER_SEED", 1));
    println!("figure: {told}");
    // Read the stored data in a fresh process.
    let server = Server::start(&data, &["--set", "log.level=warn"]);
    read_back(&server.address);
    no_errors(&server);
}
