//! The log lines of `headwater serve` about runs and requests, and the caller's data in an agent file.

use std::fs;

use serde_json::{Value, json};

use crate::server::Server;

/// A word that occurs only in messages.
const SECRET: &str = "zanzibar";

const AGENT: &str = r#"
name: talk
client: { workflows: ["*"] }
models:
  m:
    script:
      name: m
      rules:
        - say: [{ text: "You said {input}." }]
workflows:
  talk:
    start: answer
    nodes:
      answer: { reason: { model: m, prompt: "{{ input }} for {{ context.principal }}" } }
  fail:
    start: answer
    nodes:
      answer: { message: "zanzibar {{ context.nothing.at.all }}" }
  ask:
    start: ask
    nodes:
      ask: { interrupt: { ask: "About zanzibar?" } }
"#;

fn field(line: &str, name: &str) -> Value {
    let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    line["fields"][name].clone()
}

fn start(server: &Server, body: &Value) -> String {
    let key = ("authorization", "Bearer 0123456789abcdef");
    let started = server.ask("POST", "/v1/runs", &[key, ("x-request-id", "my-request")], &body.to_string());
    assert_eq!(started.status, 201, "{started:?}");
    assert!(started.head.to_lowercase().contains("x-request-id: my-request"), "{}", started.head);
    started.json()["run"].as_str().unwrap().to_owned()
}

#[test]
fn run_logs_one_line_per_step() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("talk.yaml");
    fs::write(&file, AGENT).unwrap();
    let level = "log.level=info,headwater::request=debug";
    let server = Server::start(
        &folder.path().join("data"),
        &[
            file.to_str().unwrap(),
            "--api-key",
            "ann=0123456789abcdef",
            "--set",
            "log.format=json",
            "--set",
            level,
        ],
    );
    let key = ("authorization", "Bearer 0123456789abcdef");

    let run = start(&server, &json!({ "input": SECRET, "workflow": "talk", "session": "s1" }));
    let mut lines = server.logged_until("run finished");
    let events = server.ask("GET", &format!("/v1/runs/{run}/events"), &[key], "");
    assert!(events.body.contains("You said zanzibar for ann."), "{}", events.body);

    let failed = start(&server, &json!({ "input": SECRET, "workflow": "fail" }));
    lines.extend(server.logged_until("run failed"));
    let waiting = start(&server, &json!({ "input": SECRET, "workflow": "ask" }));
    lines.extend(server.logged_until("run waiting"));
    let stopped = server.ask("POST", &format!("/v1/runs/{waiting}/stop"), &[key], "");
    assert_eq!(stopped.status, 200, "{stopped:?}");
    lines.extend(server.logged_until("run cancelled"));

    let messages = |run: &str| -> Vec<String> {
        let of_run = lines.iter().filter(|line| field(line, "run") == run);
        let of_run = of_run.filter(|line| line.contains("headwater::run"));
        of_run.map(|line| field(line, "message").as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(messages(&run), ["run started", "run finished"]);
    assert_eq!(messages(&failed), ["run started", "run failed"]);
    assert_eq!(messages(&waiting), ["run started", "run waiting", "run resumed", "run cancelled"]);

    let finished = lines.iter().find(|line| line.contains("run finished")).unwrap();
    assert_eq!(field(finished, "agent"), "talk");
    assert_eq!(field(finished, "session"), "s1");
    assert!(field(finished, "ms").is_u64(), "{finished}");
    let failed = lines.iter().find(|line| line.contains("run failed")).unwrap();
    assert!(field(failed, "code").is_string(), "{failed}");

    let request = lines.iter().find(|line| line.contains("headwater::request")).unwrap();
    let expected = [("method", json!("POST")), ("route", json!("/v1/runs")), ("status", json!(201))];
    for (name, value) in expected {
        assert_eq!(field(request, name), value, "{request}");
    }
    assert_eq!(field(request, "request"), "my-request");
    for line in &lines {
        assert!(!line.contains(SECRET) && !line.contains("0123456789abcdef"), "{line}");
    }
}
