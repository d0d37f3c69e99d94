//! `headwater store copy` and `stats`: runs and sessions are served from the copy as from the original.

use std::path::Path;

use headwater_testkit::engines::{PostgresServer, RedisServer};
use serde_json::{Value, json};

use crate::{
    run::{Ran, headwater},
    server::Server,
};

fn copy(from: &Path, to: &Path, more: &[&str]) -> Ran {
    let mut args = vec!["store", "copy", from.to_str().unwrap(), to.to_str().unwrap()];
    args.extend(more);
    headwater(&args, "")
}

fn stats(store: &Path) -> Value {
    let ran = headwater(&["store", "stats", "--json", store.to_str().unwrap()], "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json()
}

/// Creates a session with one turn, and returns its run.
fn session(server: &Server, id: &str) -> String {
    let begun = server.post("/v1/sessions", &json!({ "id": id, "agent": "chat" }));
    assert_eq!(begun.status, 201, "{begun:?}");
    let sent = server.post(&format!("/v1/sessions/{id}/messages"), &json!({ "text": format!("hello {id}") }));
    let run = sent.json()["run"].as_str().unwrap().to_owned();
    assert_eq!(server.get(&format!("/v1/runs/{run}/events")).status, 200);
    run
}

fn frames(body: &str) -> Vec<&str> {
    body.split("\n\n").filter(|frame| frame.contains("data:")).collect()
}

fn cursor(frame: &str) -> &str {
    frame.lines().find_map(|line| line.strip_prefix("id:")).unwrap().trim()
}

#[test]
fn store_copy_moves_sessions_runs_and_cursors() {
    let folder = tempfile::tempdir().unwrap();
    let data = |name: &str| folder.path().join(name);
    let store = |name: &str| folder.path().join(name).join("store");
    let server = Server::start(&data("one"), &[]);
    let runs = ["ann", "bob"].map(|name| session(&server, name));
    let used = copy(&store("one"), &store("two"), &[]);
    assert_eq!(used.code, Some(2), "{used:?}");
    assert!(used.stderr.contains("stop its server first"), "{used:?}");
    let events = runs.clone().map(|run| server.get(&format!("/v1/runs/{run}/events")).body);
    let documents = ["ann", "bob"].map(|name| server.get(&format!("/v1/sessions/{name}/export")).body);
    assert_eq!(server.terminate(), Some(0));

    let copied = copy(&store("one"), &store("two"), &["--json"]);
    assert_eq!(copied.code, Some(0), "{copied:?}");
    let first = copied.json();
    assert_eq!(
        (&first["journals"]["copied"], &first["journals"]["failed"]),
        (&json!(2), &json!(0)),
        "{first}"
    );
    assert_eq!(first["problems"], json!([]));
    let second = copy(&store("two"), &store("three"), &["--json"]).json();
    assert_eq!(first["digest"], second["digest"], "{first} {second}");
    let (one, three) = (stats(&store("one")), stats(&store("three")));
    for same in ["journals", "records", "recordBytes", "values", "oldest", "newest"] {
        assert_eq!(one[same], three[same], "{same}");
    }
    assert_eq!((&one["journals"]["total"], &one["journals"]["closed"]), (&json!(2), &json!(2)));

    let server = Server::start(&data("three"), &[]);
    for (run, events) in runs.iter().zip(&events) {
        let there = server.get(&format!("/v1/runs/{run}/events")).body;
        assert_eq!(frames(&there), frames(events));
        // A page that was disconnected in the middle resumes at its cursor.
        let all = frames(events);
        let (before, after) = all.split_at(all.len() / 2);
        let rest = server.get(&format!("/v1/runs/{run}/events?after={}", cursor(before.last().unwrap())));
        assert_eq!(rest.status, 200, "{rest:?}");
        assert_eq!(frames(&rest.body), after);
    }
    for (name, document) in ["ann", "bob"].iter().zip(&documents) {
        assert_eq!(server.get(&format!("/v1/sessions/{name}/export")).body, *document);
    }
    session(&server, "carl");
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn store_copy_updates_a_copy_and_refuses_other_stores() {
    let folder = tempfile::tempdir().unwrap();
    let data = |name: &str| folder.path().join(name);
    let store = |name: &str| folder.path().join(name).join("store");
    let server = Server::start(&data("one"), &[]);
    session(&server, "ann");
    session(&server, "bob");
    assert_eq!(server.terminate(), Some(0));
    let (one, two) = (store("one"), store("two"));
    assert_eq!(copy(&one, &two, &[]).code, Some(0));

    let server = Server::start(&data("one"), &[]);
    assert_eq!(server.ask("DELETE", "/v1/sessions/ann", &[], "").status, 204);
    session(&server, "carl");
    assert_eq!(server.terminate(), Some(0));
    let refused = copy(&one, &two, &[]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("the target is not empty"), "{refused:?}");
    let updated = copy(&one, &two, &["--update"]);
    assert_eq!(updated.code, Some(0), "{updated:?}");
    assert!(updated.stdout.contains("read back and compared"), "{updated:?}");
    let server = Server::start(&data("two"), &[]);
    let status = |name: &str| server.get(&format!("/v1/sessions/{name}")).status;
    assert_eq!(["ann", "bob", "carl"].map(status), [404, 200, 200]);
    assert_eq!(server.terminate(), Some(0));

    let server = Server::start(&data("other"), &[]);
    session(&server, "dora");
    assert_eq!(server.terminate(), Some(0));
    let foreign = copy(&one, &store("other"), &["--update"]);
    assert_eq!(foreign.code, Some(2), "{foreign:?}");
    assert!(foreign.stderr.contains("is not a copy of it"), "{foreign:?}");
    let missing = copy(&store("none"), &store("new"), &[]);
    assert_eq!(missing.code, Some(2), "{missing:?}");
    assert!(missing.stderr.contains("there is no such folder") && !store("new").exists(), "{missing:?}");
    let itself = copy(&one, &folder.path().join("one/../one/store"), &[]);
    assert_eq!(itself.code, Some(2), "{itself:?}");
    assert!(itself.stderr.contains("into itself"), "{itself:?}");
    for url in ["memory:", "ftp://host"] {
        let wrong = headwater(&["store", "stats", url], "");
        assert_eq!(wrong.code, Some(2), "{wrong:?}");
    }
}

#[test]
fn store_stats_counts_journals_values_and_space() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"), &[]);
    session(&server, "ann");
    assert_eq!(server.terminate(), Some(0));
    let store = folder.path().join("data/store");
    let ran = headwater(&["store", "stats", store.to_str().unwrap()], "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for text in
        ["journals  1: 0 active, 0 waiting, 1 closed", "in the largest journal", "of session", "space  "]
    {
        assert!(ran.stdout.contains(text), "{text}: {}", ran.stdout);
    }
}

/// Folder, Postgres, Redis, folder: by URL, as an operator would move.
#[test]
fn store_copy_works_between_all_kinds_of_stores() {
    let (Some(postgres), Some(redis)) = (PostgresServer::start(), RedisServer::start()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = |name: &str| folder.path().join(name);
    let path = |name: &str| data(name).join("store").to_str().unwrap().to_owned();
    let server = Server::start(&data("one"), &[]);
    let runs = ["ann", "bob"].map(|name| session(&server, name));
    let events = runs.clone().map(|run| server.get(&format!("/v1/runs/{run}/events")).body);
    let documents = ["ann", "bob"].map(|name| server.get(&format!("/v1/sessions/{name}/export")).body);
    assert_eq!(server.terminate(), Some(0));

    let stores = [path("one"), postgres.url(), redis.url(), path("two")];
    let mut digests = Vec::new();
    for pair in stores.windows(2) {
        let copied = headwater(&["store", "copy", "--json", &pair[0], &pair[1]], "");
        assert_eq!(copied.code, Some(0), "{copied:?}");
        digests.push(copied.json()["digest"].clone());
        let checked = headwater(&["store", "check", &pair[1]], "");
        assert_eq!((checked.code, checked.stdout.contains("good")), (Some(0), true), "{checked:?}");
        let counted = headwater(&["store", "stats", "--json", &pair[1]], "").json();
        assert_eq!(counted["journals"]["closed"], 2, "{counted}");
    }
    assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");

    let server = Server::start(&data("two"), &[]);
    for (run, events) in runs.iter().zip(&events) {
        assert_eq!(frames(&server.get(&format!("/v1/runs/{run}/events")).body), frames(events));
    }
    for (name, document) in ["ann", "bob"].iter().zip(&documents) {
        assert_eq!(server.get(&format!("/v1/sessions/{name}/export")).body, *document);
    }
    assert_eq!(server.terminate(), Some(0));
}
