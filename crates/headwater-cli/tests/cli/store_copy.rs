//! `headwater store copy` and `stats`: runs and sessions are served from the copy as from the original.

use std::{env, path::Path, thread};

use headwater_testkit::engines::{PostgresServer, RedisServer};
use serde_json::{Value, json};

use crate::{
    run::{CommandRun, headwater},
    server::{Answer, Server, ask, command},
};

fn copy(from: &Path, to: &Path, more: &[&str]) -> CommandRun {
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
    session_at(&server.address, id)
}

/// The same on the server with this address.
fn session_at(address: &str, id: &str) -> String {
    let post = |path: &str, body: Value| ask(address, "POST", path, &[], &body.to_string());
    let begun = post("/v1/sessions", json!({ "id": id, "agent": "chat" }));
    assert_eq!(begun.status, 201, "{begun:?}");
    let sent = post(&format!("/v1/sessions/{id}/messages"), json!({ "text": format!("hello {id}") }));
    let run = sent.json()["run"].as_str().unwrap().to_owned();
    assert_eq!(get(address, &format!("/v1/runs/{run}/events")).status, 200);
    run
}

fn get(address: &str, path: &str) -> Answer {
    ask(address, "GET", path, &[], "")
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
fn store_copy_reads_a_folder_in_use_from_a_backup() {
    let folder = tempfile::tempdir().unwrap();
    let data = |name: &str| folder.path().join(name);
    let store = |name: &str| folder.path().join(name).join("store");
    let server = Server::start(&data("one"), &[]);
    session(&server, "ann");
    let temporary = folder.path().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let copy = |more: &[&str]| {
        let (from, to) = (store("one"), store("two"));
        let mut command = command();
        command.args(["store", "copy", "--json"]).args([from, to]).args(more);
        let ran = command.env("TMPDIR", &temporary).output().unwrap();
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(0), "{said}");
        assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "the backup is removed");
        (serde_json::from_slice::<Value>(&ran.stdout).unwrap(), said)
    };
    let (copied, said) = copy(&[]);
    assert!(said.contains("in use by a server: copying a backup"), "{said}");
    assert_eq!(copied["journals"], json!({ "copied": 1, "unchanged": 0, "removed": 0, "failed": 0 }));
    // The server continues, and what it adds comes with the next pass, in use or not.
    session(&server, "bob");
    let (updated, _) = copy(&["--update"]);
    assert_eq!((&updated["journals"]["copied"], &updated["journals"]["unchanged"]), (&json!(1), &json!(1)));
    session(&server, "carl");
    let names = ["ann", "bob", "carl"];
    let export = |server: &Server, name: &str| server.get(&format!("/v1/sessions/{name}/export")).body;
    let documents = names.map(|name| export(&server, name));
    assert_eq!(server.terminate(), Some(0));
    let (last, said) = copy(&["--update"]);
    assert!(!said.contains("in use"), "{said}");
    assert_eq!((&last["journals"]["copied"], &last["problems"]), (&json!(1), &json!([])));
    let server = Server::start(&data("two"), &[]);
    assert_eq!(names.map(|name| export(&server, name)), documents);
    // A store that is written must not be in use.
    let refused = headwater(
        &["store", "copy", store("one").to_str().unwrap(), store("two").to_str().unwrap(), "--update"],
        "",
    );
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("stop its server first"), "{refused:?}");
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

/// Answers with a few words, so that many sessions are there soon.
const BRIEF: &str = r#"
name: chat
models:
  writer: { script: { name: writer, rules: [{ say: [{ text: "You wrote: {input}" }] }] } }
workflows:
  main: { start: answer, nodes: { answer: { reason: { model: writer } } } }
"#;

/// How many sessions are moved, unless `HEADWATER_COPIED` says so.
const SESSIONS: usize = 200;

/// Does something for each item, several at a time, and gives the results in their order.
fn in_parallel<T: Sync, R: Send>(items: &[T], act: impl Fn(&T) -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let act = &act;
        let parts = items.chunks(items.len().div_ceil(8));
        let parts: Vec<_> =
            parts.map(|part| scope.spawn(move || part.iter().map(act).collect::<Vec<_>>())).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

/// Folder, Postgres, Redis, folder: by URL, as an operator would move.
#[test]
fn store_copy_of_many_sessions_exports_the_same_after_every_kind_of_store() {
    let count = env::var("HEADWATER_COPIED").map_or(SESSIONS, |count| count.parse().unwrap());
    let (Some(postgres), Some(redis)) = (PostgresServer::start(), RedisServer::start()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = |name: &str| folder.path().join(name);
    let path = |name: &str| data(name).join("store").to_str().unwrap().to_owned();
    let agent = folder.path().join("brief.yaml");
    std::fs::write(&agent, BRIEF).unwrap();
    let serve = |name: &str| Server::start(&data(name), &[agent.to_str().unwrap(), "--set", "fsync=never"]);
    let ids: Vec<String> = (0..count).map(|number| format!("session-{number}")).collect();
    let export = |address: &str, id: &String| {
        let exported = get(address, &format!("/v1/sessions/{id}/export"));
        assert_eq!(exported.status, 200, "{exported:?}");
        assert!(exported.body.contains(&format!("You wrote: hello {id}")), "{exported:?}");
        exported.body
    };
    let server = serve("one");
    let address = server.address.as_str();
    let runs = in_parallel(&ids, |id| session_at(address, id));
    let some_runs: Vec<_> = runs.into_iter().step_by(count.div_ceil(10)).collect();
    let events = in_parallel(&some_runs, |run| get(address, &format!("/v1/runs/{run}/events")).body);
    let documents = in_parallel(&ids, |id| export(address, id));
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
        assert_eq!(counted["journals"]["closed"], count, "{counted}");
    }
    assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");

    let server = serve("two");
    for (run, events) in some_runs.iter().zip(&events) {
        assert_eq!(frames(&server.get(&format!("/v1/runs/{run}/events")).body), frames(events));
    }
    let address = server.address.as_str();
    let moved = in_parallel(&ids, |id| export(address, id));
    for (id, (moved, document)) in ids.iter().zip(moved.iter().zip(&documents)) {
        assert_eq!(moved, document, "{id}");
    }
    assert_eq!(server.terminate(), Some(0));
}
