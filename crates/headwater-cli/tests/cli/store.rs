//! `headwater store`, and what the server does when its store has stopped.

use std::{fs, path::Path};

use serde_json::json;

use crate::{
    run::{Ran, headwater},
    server::Server,
};

/// Starts a run, reads it to its end, and gives its id.
fn run(server: &Server, input: &str) -> String {
    let started = server.post("/v1/runs", &json!({ "agent": "table", "input": input }));
    assert_eq!(started.status, 201, "{started:?}");
    let run = started.json()["run"].as_str().unwrap().to_owned();
    assert_eq!(server.get(&format!("/v1/runs/{run}/events")).status, 200);
    run
}

fn store(action: &[&str], folder: &Path) -> Ran {
    let mut args = vec!["store"];
    args.extend(action);
    args.push(folder.to_str().unwrap());
    headwater(&args, "")
}

#[test]
fn store_check_names_what_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let (data, path) = (folder.path().join("data"), folder.path().join("data/store"));
    let missing = store(&["check"], &path);
    assert_eq!(missing.code, Some(2), "{missing:?}");
    assert!(!path.exists(), "a check makes no folder");
    let server = Server::start(&data, &[]);
    let run = run(&server, "planets");
    let used = store(&["check"], &path);
    assert_eq!(used.code, Some(2), "{used:?}");
    assert!(used.stderr.contains("stop its server first"), "{used:?}");
    assert_eq!(server.terminate(), Some(0));
    let good = store(&["check"], &path);
    assert_eq!(good.code, Some(0), "{good:?}");
    assert!(good.stdout.contains("1 segments") && good.stdout.contains("good"), "{good:?}");
    // The last event of the run.
    let segment = path.join("0000000000000001.seg");
    let mut bytes = fs::read(&segment).unwrap();
    let end = bytes.windows(13).rposition(|window| window == b"\"run-finished").unwrap();
    bytes[end + 2] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let damaged = store(&["check"], &path);
    assert_eq!(damaged.code, Some(1), "{damaged:?}");
    let named = "damaged: 0000000000000001.seg at offset";
    assert!(damaged.stdout.contains(named) && damaged.stdout.contains(&run), "{damaged:?}");

    // No dialect reports the whole run: the stream is cut, or the response is an error.
    let server = Server::start(&data, &[]);
    server.wait_for_log("the store is damaged");
    for dialect in ["kortyx", "agents", "ai-sdk", "ag-ui", "mui", "tanstack"] {
        let cut = server.get(&format!("/v1/runs/{run}/events?dialect={dialect}"));
        let told = cut.status == 500 && cut.json()["code"] == "store.corrupt";
        let whole = cut.body.contains("[DONE]") || cut.head.contains("content-length") || cut.ended;
        assert!(told || !whole, "{dialect}: {cut:?}");
    }
}

#[test]
fn store_delete_run_removes_a_run_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let (data, path) = (folder.path().join("data"), folder.path().join("data/store"));
    let server = Server::start(&data, &[]);
    let (gone, kept) = (run(&server, "planets"), run(&server, "planets"));
    assert_eq!(server.terminate(), Some(0));
    let removed = store(&["delete-run", &gone], &path);
    assert_eq!(removed.code, Some(0), "{removed:?}");
    assert!(removed.stdout.contains(&format!("removed run {gone}: its journal and ")), "{removed:?}");
    let again = store(&["delete-run", &gone], &path);
    assert_eq!((again.code, again.stdout.contains("there is no run")), (Some(1), true), "{again:?}");
    let server = Server::start(&data, &[]);
    assert_eq!(server.get(&format!("/v1/runs/{gone}")).status, 404);
    assert_eq!(server.get(&format!("/v1/runs/{kept}")).status, 200);
}

/// Starts runs until one is refused, and gives those that were begun.
#[cfg(target_os = "linux")]
fn fill(server: &Server) -> Vec<String> {
    let mut begun = Vec::new();
    loop {
        let body = json!({ "agent": "table", "input": "x".repeat(20_000) });
        let started = server.post("/v1/runs", &body);
        if started.status == 201 {
            begun.push(started.json()["run"].as_str().unwrap().to_owned());
            continue;
        }
        assert_eq!((started.status, &started.json()["code"]), (503, &json!("store.stopped")), "{started:?}");
        assert!(started.head.to_lowercase().contains("retry-after: "), "{started:?}");
        return begun;
    }
}

#[cfg(target_os = "linux")]
#[test]
fn server_exits_when_its_store_has_stopped_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start_small(&data, 400, &[]);
    // The last answers may meet a process that is about to end.
    let (run, mut begun) = (run(&server, "planets"), Vec::new());
    let body = json!({ "agent": "table", "input": "x".repeat(20_000) }).to_string();
    while let Some(started) = server.try_post("/v1/runs", &body).filter(|answer| answer.status == 201) {
        begun.push(started.json()["run"].as_str().unwrap().to_owned());
    }
    server.wait_for_log("the store has stopped: exiting");
    assert_eq!(server.ended(), Some(3));
    let server = Server::start(&data, &[]);
    for run in begun.iter().chain([&run]) {
        assert_eq!(server.get(&format!("/v1/runs/{run}")).status, 200, "what was acknowledged is there");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn server_recovers_when_there_is_room_again() {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start_small(&data, 400, &["--set", "store_on_failure=recover"]);
    let begun = fill(&server);
    for path in ["/healthz", "/readyz"] {
        let red = server.get(path);
        assert_eq!((red.status, &red.json()["code"]), (503, &json!("store.stopped")), "{path}: {red:?}");
    }
    assert!(!begun.is_empty());
    // What was acknowledged can still be read.
    assert_eq!(server.get(&format!("/v1/runs/{}", begun[0])).status, 200);
    let pid = Pid::from_raw(i32::try_from(server.pid()).unwrap());
    prlimit(pid, Resource::Fsize, Rlimit { current: None, maximum: None }).unwrap();
    server.wait_for_log("the store has recovered");
    assert_eq!(server.get("/healthz").status, 200);
    run(&server, "planets");
    for run in &begun {
        assert_eq!(server.get(&format!("/v1/runs/{run}")).status, 200, "what was acknowledged is there");
    }
    assert_eq!(server.terminate(), Some(0));
}

#[cfg(unix)]
#[test]
fn data_folder_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let server = Server::start(&data, &[]);
    assert_eq!((mode(&data), mode(&data.join("store"))), (0o700, 0o700));
    drop(server);
    fs::set_permissions(data.join("store"), fs::Permissions::from_mode(0o755)).unwrap();
    let server = Server::start(&data, &[]);
    server.wait_for_log("others than the owner could read the store");
    assert_eq!(mode(&data.join("store")), 0o700);
}
