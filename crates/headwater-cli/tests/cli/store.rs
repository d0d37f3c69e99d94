//! `headwater store`, and the server's behaviour when its store stops.

use std::{fs, path::Path};

use headwater_store::{Embedded, Expect, Store as _};
use serde_json::json;

use crate::{
    run::{CommandRun, headwater},
    server::Server,
};

/// Starts a run, reads it to its end, and returns its id.
fn run(server: &Server, input: &str) -> String {
    let started = server.post("/v1/runs", &json!({ "agent": "table", "input": input }));
    assert_eq!(started.status, 201, "{started:?}");
    let run = started.json()["run"].as_str().unwrap().to_owned();
    assert_eq!(server.get(&format!("/v1/runs/{run}/events")).status, 200);
    run
}

fn store(action: &[&str], folder: &Path) -> CommandRun {
    let mut args = vec!["store"];
    args.extend(action);
    args.push(folder.to_str().unwrap());
    headwater(&args, "")
}

#[test]
fn store_check_reports_damage() {
    let folder = tempfile::tempdir().unwrap();
    let (data, path) = (folder.path().join("data"), folder.path().join("data/store"));
    let missing = store(&["check"], &path);
    assert_eq!(missing.code, Some(2), "{missing:?}");
    assert!(!path.exists(), "a check creates no folder");
    let server = Server::start(&data, &[]);
    let run = run(&server, "planets");
    let used = store(&["check"], &path);
    assert_eq!(used.code, Some(2), "{used:?}");
    assert!(used.stderr.contains("stop its server first"), "{used:?}");
    assert_eq!(server.terminate(), Some(0));
    #[cfg(unix)]
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let good = store(&["check"], &path);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o755, "a check changes nothing");
    }
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

    // No dialect shows the whole run: the stream is truncated, or the response is an error.
    let server = Server::start(&data, &[]);
    server.wait_for_log("the store is damaged");
    for dialect in ["kortyx", "agents", "ai-sdk", "ag-ui", "mui", "tanstack"] {
        let cut = server.get(&format!("/v1/runs/{run}/events?dialect={dialect}"));
        let told = cut.status == 500 && cut.json()["code"] == "store.corrupt";
        let whole = cut.body.contains("[DONE]") || cut.head.contains("content-length") || cut.ended;
        assert!(told || !whole, "{dialect}: {cut:?}");
    }
}

/// Completes the first segment of a store, so that it has a footer and is never written again.
fn seal(store: &Path) {
    let mut options = headwater_store::embedded::Options::default();
    options.segment_bytes = 4_096;
    let opened = Embedded::open_folder(store, options).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for _ in 0..3 {
        runtime.block_on(opened.put("filler", vec![b'x'; 4_096].into(), Expect::Any, None)).unwrap();
    }
    runtime.block_on(opened.remove("filler", Expect::Any)).unwrap();
    drop(opened);
    assert!(store.join("0000000000000002.seg").exists());
}

/// Flips a bit in every occurrence of a text in the first segment, and returns the number of occurrences.
fn damage(store: &Path, text: &str) -> usize {
    let segment = store.join("0000000000000001.seg");
    let mut bytes = fs::read(&segment).unwrap();
    let found = bytes.windows(text.len()).enumerate().filter(|(_, window)| *window == text.as_bytes());
    let places: Vec<_> = found.map(|(at, _)| at).collect();
    for at in &places {
        bytes[at + 1] ^= 1;
    }
    fs::write(&segment, bytes).unwrap();
    places.len()
}

#[test]
fn damaged_session_is_listed_and_can_be_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let (data, path) = (folder.path().join("data"), folder.path().join("data/store"));
    let server = Server::start(&data, &[]);
    for session in ["whole", "without-head", "without-checkpoint"] {
        let begun = server.post("/v1/sessions", &json!({ "id": session, "agent": "chat" }));
        assert_eq!(begun.status, 201, "{begun:?}");
        let message = json!({ "text": format!("hello from {session}") });
        let sent = server.post(&format!("/v1/sessions/{session}/messages"), &message);
        let run = sent.json()["run"].as_str().unwrap().to_owned();
        assert_eq!(server.get(&format!("/v1/runs/{run}/events")).status, 200);
        assert_eq!(server.get(&format!("/v1/sessions/{session}")).status, 200);
    }
    let checkpoint = server.get("/v1/sessions/without-checkpoint").json()["checkpoint"].clone();
    assert_eq!(server.terminate(), Some(0));
    seal(&path);
    assert!(damage(&path, r#"{"id":"without-head","agent""#) >= 1);
    assert!(damage(&path, &format!(r#"{{"id":{checkpoint},"#)) >= 1);

    let server = Server::start(&data, &[]);
    let list = server.get("/v1/sessions?agent=chat");
    assert_eq!(list.status, 200, "{list:?}");
    let list = list.json();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list["sessions"][0]["id"], "whole");
    let mut unreadable: Vec<_> = list["unreadable"].as_array().unwrap().clone();
    unreadable.sort_by_key(ToString::to_string);
    assert_eq!(unreadable, [json!("without-checkpoint"), json!("without-head")]);
    for session in ["without-head", "without-checkpoint"] {
        let path = format!("/v1/sessions/{session}");
        let deleted = server.ask("DELETE", &path, &[], "");
        assert_eq!(deleted.status, 204, "{deleted:?}");
        assert_eq!(server.get(&path).status, 404, "{session}");
    }
    let list = server.get("/v1/sessions?agent=chat").json();
    assert_eq!((list["sessions"].as_array().unwrap().len(), &list["unreadable"]), (1, &json!([])), "{list}");
}

#[test]
fn store_delete_run_removes_a_run_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let (data, path) = (folder.path().join("data"), folder.path().join("data/store"));
    let server = Server::start(&data, &[]);
    let (gone, kept, damaged) = (run(&server, "planets"), run(&server, "planets"), run(&server, "planets"));
    assert_eq!(server.terminate(), Some(0));
    seal(&path);
    for run in [&gone, &damaged] {
        assert!(damage(&path, &format!("\"{run}\"")) >= 2, "records and values of {run}");
    }
    let checked = store(&["check"], &path);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert!(checked.stdout.contains(&format!("value run/{gone}/")), "{checked:?}");
    let removed = store(&["delete-run", &gone], &path);
    assert_eq!(removed.code, Some(0), "{removed:?}");
    assert!(removed.stdout.contains(&format!("removed run {gone}: its journal and ")), "{removed:?}");
    assert!(removed.stdout.contains("damaged values that may belong to any run"), "{removed:?}");
    let again = store(&["delete-run", &gone], &path);
    assert_eq!((again.code, again.stdout.contains("there is no run")), (Some(1), true), "{again:?}");
    let server = Server::start(&data, &[]);
    assert_eq!(server.get(&format!("/v1/runs/{gone}")).status, 404);
    assert_eq!(server.get(&format!("/v1/runs/{kept}")).status, 200);
}

/// Starts runs until one is refused, and returns those that were started.
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
fn server_exits_when_its_store_stops_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start_small(&data, 400, &[]);
    // The last requests may reach a process that is about to exit.
    let (run, mut begun) = (run(&server, "planets"), Vec::new());
    let body = json!({ "agent": "table", "input": "x".repeat(20_000) }).to_string();
    while let Some(started) = server.try_post("/v1/runs", &body).filter(|answer| answer.status == 201) {
        begun.push(started.json()["run"].as_str().unwrap().to_owned());
    }
    server.wait_for_log("the store has stopped: exiting");
    assert_eq!(server.ended(), Some(3));
    let server = Server::start(&data, &[]);
    for run in begun.iter().chain([&run]) {
        assert_eq!(server.get(&format!("/v1/runs/{run}")).status, 200, "acknowledged runs are still there");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn start_on_full_disk_exits_with_the_retry_code() {
    let folder = tempfile::tempdir().unwrap();
    let mut serve = crate::server::small(0);
    serve.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder.path().join("data"));
    let ended = serve.current_dir(folder.path()).output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(3), "{errors}");
    assert!(errors.contains("cannot open the store in") && errors.contains("make room"), "{errors}");
}

#[cfg(target_os = "linux")]
#[test]
fn server_recovers_when_disk_space_returns() {
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
    // Acknowledged runs can still be read.
    assert_eq!(server.get(&format!("/v1/runs/{}", begun[0])).status, 200);
    let pid = Pid::from_raw(i32::try_from(server.pid()).unwrap());
    prlimit(pid, Resource::Fsize, Rlimit { current: None, maximum: None }).unwrap();
    server.wait_for_log("the store has recovered");
    assert_eq!(server.get("/healthz").status, 200);
    run(&server, "planets");
    for run in &begun {
        assert_eq!(server.get(&format!("/v1/runs/{run}")).status, 200, "acknowledged runs are still there");
    }
    assert_eq!(server.terminate(), Some(0));
}

#[cfg(unix)]
#[test]
fn data_folder_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let server = Server::start(&data, &[]);
    assert_eq!((mode(&data), mode(&data.join("store"))), (0o700, 0o700));
    drop(server);
    fs::set_permissions(data.join("store"), fs::Permissions::from_mode(0o755)).unwrap();
    let server = Server::start(&data, &[]);
    server.wait_for_log("the store was readable by other users");
    assert_eq!(mode(&data.join("store")), 0o700);
}

#[test]
fn backup_of_a_running_server_is_restored_with_all_that_had_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (data, path) = (folder.path().join("data"), folder.path().join("data/store"));
    let server = Server::start(&data, &[]);
    let mut runs: Vec<String> = (0..5).map(|number| run(&server, &format!("planets {number}"))).collect();
    // Runs continue while the store is copied.
    let address = server.address.clone();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let busy = std::thread::spawn(move || {
        while stopped.try_recv().is_err() {
            let body = json!({ "agent": "table", "input": "moons" }).to_string();
            crate::server::ask(&address, "POST", "/v1/runs", &[("content-type", "application/json")], &body);
        }
    });
    let backups: Vec<_> = (0..3).map(|number| folder.path().join(format!("backup-{number}"))).collect();
    for backup in &backups {
        runs.push(run(&server, "one more"));
        let done = headwater(&["store", "backup", backup.to_str().unwrap(), path.to_str().unwrap()], "");
        assert_eq!(done.code, Some(0), "{done:?}");
        let again = headwater(&["store", "backup", backup.to_str().unwrap(), path.to_str().unwrap()], "");
        assert!(again.code == Some(2) && again.stderr.contains("is not empty"), "{again:?}");
    }
    stop.send(()).unwrap();
    busy.join().unwrap();
    server.kill();

    let other = folder.path().join("other");
    let last = backups.last().unwrap().to_str().unwrap();
    let restored = headwater(&["store", "restore", last, other.join("store").to_str().unwrap()], "");
    assert_eq!(restored.code, Some(0), "{restored:?}");
    let server = Server::start(&other, &[]);
    for run in &runs {
        let found = server.get(&format!("/v1/runs/{run}"));
        assert_eq!(found.json()["run"]["status"], "finished", "{found:?}");
    }
    assert_eq!(server.terminate(), Some(0));
    let compacted = store(&["compact"], &other.join("store"));
    assert_eq!(compacted.code, Some(0), "{compacted:?}");
    let good = store(&["check"], &other.join("store"));
    assert_eq!(good.code, Some(0), "{good:?}");
}
