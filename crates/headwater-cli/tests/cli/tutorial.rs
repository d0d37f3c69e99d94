//! The tutorial, with the files and commands that it prints.

use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::server::{Server, command};

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorial.md")).unwrap()
}

/// The files that the page has its reader save.
fn files(page: &str) -> Vec<(&str, &str)> {
    let parts = page.split("<!-- file: ").skip(1);
    parts
        .map(|part| {
            let (name, rest) = part.split_once(" -->\n```").unwrap();
            let (_, code) = rest.split_once('\n').unwrap();
            (name, code.split_once("\n```").unwrap().0)
        })
        .collect()
}

/// The run, once its status is this.
fn wait_for(server: &Server, run: &str, status: &str) -> Value {
    let begun = Instant::now();
    loop {
        let found = server.get(&format!("/v1/runs/{run}")).json();
        if found["run"]["status"] == status {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{found}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn tutorial_works_as_printed() {
    if !Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return;
    }
    let (page, folder) = (page(), tempfile::tempdir().unwrap());
    let files = files(&page);
    assert_eq!(
        files.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        ["shop.mjs", "desk.yaml", "index.html"]
    );
    for (name, code) in &files {
        fs::write(folder.path().join(name), format!("{code}\n")).unwrap();
    }
    for line in page.lines().filter_map(|line| line.strip_prefix("$ headwater ")) {
        let words: Vec<_> = line.split_whitespace().collect();
        if words[0] != "serve" {
            let ran = command().args(&words).current_dir(folder.path()).output().unwrap();
            assert!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
        }
    }
    let desk = folder.path().join("desk.yaml");
    let data = folder.path().join("data");
    let server = Server::start(&data, &[desk.to_str().unwrap()]);
    let begin = json!({ "agent": "desk", "input": "My order 1042 arrived broken" });
    let run = server.post("/v1/runs", &begin).json()["run"].as_str().unwrap().to_owned();
    let waiting = wait_for(&server, &run, "waiting");
    assert_eq!(waiting["waitsFor"][0]["tool"]["name"], "refund");

    // The server is killed while the question is open, and another one continues.
    server.kill();
    let server = Server::start(&data, &[desk.to_str().unwrap()]);
    let answered = server.post(&format!("/v1/runs/{run}/answer"), &json!({ "approved": true }));
    assert_eq!(answered.status, 202, "{answered:?}");
    wait_for(&server, &run, "finished");
    let events = server.get(&format!("/v1/runs/{run}/events?until=end")).body;
    for name in files[2].1.split("on('").skip(1).filter_map(|rest| rest.split('\'').next()) {
        assert!(
            events.contains(&format!("event: {name}\n")),
            "the page listens for {name}, which never comes"
        );
    }
    assert!(events.contains("Paid 49 back"), "{events}");
    // The order was looked up once, before the kill, and refunded once.
    assert_eq!(events.matches("event: tool-output\n").count(), 2, "{events}");
    let log = server.end();
    assert!(!log.contains("panicked"), "{log}");
}
