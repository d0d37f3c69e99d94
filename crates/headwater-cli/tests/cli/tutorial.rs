//! The tutorial, with the files and commands that it prints.

use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    reason::provider::{Provider, Reply},
    server::{Server, command},
};

fn documents(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)).unwrap()
}

fn page() -> String {
    documents("tutorial.md")
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
    for name in ["block-delta", "structured", "approval-requested", "approval-answered"] {
        assert!(events.contains(&format!("event: {name}\n")), "{name} never comes: {events}");
        assert!(files[2].1.contains(&format!("on('{name}'")), "the page does not listen for {name}");
    }
    // Those that come only when something goes wrong exist too.
    let schema = documents("native.schema.json");
    for name in files[2].1.split("on('").skip(1).filter_map(|rest| rest.split('\'').next()) {
        assert!(schema.contains(&format!("\"const\": \"{name}\"")), "there is no event {name}");
    }
    assert!(events.contains("Paid 49 back"), "{events}");
    // The order was looked up once, before the kill, and refunded once.
    assert_eq!(events.matches("event: tool-output\n").count(), 2, "{events}");
    let log = server.end();
    assert!(!log.contains("panicked"), "{log}");
}

/// A reply of Anthropic's that is this text.
fn reply(text: &str) -> Reply {
    let events = [
        json!({ "type": "message_start", "message": { "id": "m", "usage": { "input_tokens": 3 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 5 } }),
        json!({ "type": "message_stop" }),
    ];
    Reply::stream(&events.map(|event| format!("data: {event}\n\n")).concat())
}

#[test]
fn last_step_asks_the_provider_that_it_names() {
    let (page, folder) = (page(), tempfile::tempdir().unwrap());
    let files = files(&page);
    let desk = files.iter().find(|(name, _)| *name == "desk.yaml").unwrap().1;
    let (before, rest) = desk.split_once("models:\n").unwrap();
    let (_, after) = rest.split_once("\nmcp:").unwrap();
    let (_, models) = page.split_once("<!-- models -->\n```yaml\n").unwrap();
    let models = models.split_once("\n```").unwrap().0;
    // Without the shop: it is the same for every model, and needs Node.
    let (_, workflows) = after.split_once("\nworkflows:").unwrap();
    let workflows = workflows.replace("          mcp: [shop]\n", "");
    fs::write(folder.path().join("desk.yaml"), format!("{before}{models}\n\nworkflows:{workflows}\n"))
        .unwrap();

    let case = json!({ "order": 1042, "problem": "It arrived broken.", "steps": ["Found the order"] });
    let provider = Provider::answering(move |asked| {
        let schema = asked["output_config"]["format"]["type"] == "json_schema";
        reply(&if schema { case.to_string() } else { "I am sorry about that.".to_owned() })
    });
    let desk = folder.path().join("desk.yaml");
    let server = Server::start_with(
        "127.0.0.1:0",
        &folder.path().join("data"),
        &[desk.to_str().unwrap()],
        &[("ANTHROPIC_API_KEY", "sk-test"), ("ANTHROPIC_BASE_URL", &provider.url())],
    );
    let begin = json!({ "agent": "desk", "input": "My order 1042 arrived broken" });
    let run = server.post("/v1/runs", &begin).json()["run"].as_str().unwrap().to_owned();
    wait_for(&server, &run, "finished");
    let events = server.get(&format!("/v1/runs/{run}/events?until=end")).body;
    assert!(events.contains("I am sorry") && events.contains("Found the order"), "{events}");
    let asked = provider.asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    for request in asked {
        assert!(
            models.contains(&format!("anthropic:{}", request.body["model"].as_str().unwrap())),
            "{request:?}"
        );
    }
}
