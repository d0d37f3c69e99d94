//! Bodies of real clients, each with one change.

use serde_json::{Value, json};

use crate::{ANN, BOB, KEYS, foreign::says, lives, report::attack, server::Server};

const DIALECTS: [&str; 6] = ["kortyx", "tanstack", "mui", "agents", "ai-sdk", "ag-ui"];

/// The bodies to change, with their routes. A session named by one of them is created by it.
fn originals(document: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for dialect in DIALECTS {
        let chat = format!("/v1/{dialect}/chat");
        let session = format!("mutated-{dialect}");
        all.push((chat.clone(), says(dialect, &session)));
        let mut resumes = says(dialect, &session);
        resumes["resume"] =
            json!([{ "interruptId": "req_1", "status": "resolved", "payload": { "approved": true } }]);
        resumes["tools"] =
            json!([{ "name": "look", "description": "d", "parameters": { "type": "object" } }]);
        all.push((chat, resumes));
        let checkpoint = json!({ "action": "list", "sessionId": session, "checkpointId": "cp_1" });
        all.push((format!("/v1/{dialect}/checkpoints"), checkpoint));
    }
    let post = |path: &str, body: Value| (path.to_owned(), body);
    all.extend([
        post(
            "/v1/runs",
            json!({ "agent": "chat", "input": "hello", "session": "mutated-run", "context": { "a": [1] },
                "data": { "b": 2 }, "workflow": "chat", "checkpoint": "cp_1" }),
        ),
        post("/v1/sessions", json!({ "id": "mutated", "agent": "chat", "metadata": { "a": { "b": [1] } } })),
        post("/v1/sessions/mutated/messages", json!({ "text": "hello", "checkpoint": "cp_1" })),
        post(
            "/v1/runs/$RUN/answer",
            json!({ "request": "$REQUEST", "approved": true, "token": "$TOKEN", "input": { "a": 1 }, "reason": "r" }),
        ),
        post("/v1/sessions", json!({ "import": document })),
    ]);
    for action in ["rollback", "fork", "regenerate", "edit", "select"] {
        let path = format!("/v1/sessions/mutated/checkpoints/$CHECKPOINT/{action}");
        all.push((
            path,
            json!({ "id": "mutated-fork", "text": "hello again", "input": "hello", "context": {} }),
        ));
    }
    all
}

/// Replacement values: other types, limits of numbers, and strings with a special meaning somewhere.
fn replacements() -> Vec<String> {
    let deep = format!("{}{}", "[".repeat(63), "]".repeat(63));
    let values = [
        "null",
        "true",
        "false",
        "0",
        "-1",
        "1.5",
        "1e308",
        "1e999",
        "18446744073709551616",
        "\"\"",
        "[]",
        "{}",
        "[null]",
        "{\"\":0}",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "\"../../etc/passwd\"",
        "\"__proto__\"",
        "\"{{ input }}\"",
        "\"\\u202e\"",
        "NaN",
        "'x'",
    ];
    let mut all: Vec<_> = values.map(str::to_owned).to_vec();
    all.extend([deep, format!("\"{}\"", "x".repeat(5_000)), format!("[{}0]", "0,".repeat(2_000))]);
    all
}

/// The JSON pointers of all nested values.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| places(value, &format!("{at}/{name}"), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, value)| places(value, &format!("{at}/{n}"), found));
        }
        _ => {}
    }
}

/// A body with each of its values replaced, removed and repeated, and its text truncated.
fn mutations(original: &Value) -> Vec<String> {
    const MARK: &str = "\u{1}mark";
    let mut all = Vec::new();
    let mut found = Vec::new();
    places(original, "", &mut found);
    let marked = serde_json::to_string(MARK).unwrap();
    for place in &found {
        let mut body = original.clone();
        let value = body.pointer_mut(place).unwrap();
        let before = std::mem::replace(value, json!(MARK));
        let text = body.to_string();
        all.extend(replacements().iter().map(|with| text.replace(&marked, with)));
        // Doubled: as a list of two, and for a field as a duplicate key.
        all.push(text.replace(&marked, &json!([before, before]).to_string()));
        if let Some((parent, name)) = place.rsplit_once('/')
            && let Some(fields) = body.pointer_mut(parent).and_then(Value::as_object_mut)
        {
            fields.remove(name);
            all.push(body.to_string());
            all.push(text.replace(&marked, &format!("{before},{}:{before}", json!(name))));
        }
    }
    let whole = original.to_string();
    all.extend((1..8).map(|eighth| whole[..whole.len() * eighth / 8].to_owned()));
    all.extend([format!("{whole}{whole}"), format!("\u{feff}{whole}"), format!("{whole}\u{0}")]);
    all
}

#[test]
fn mutated_bodies_are_answered_and_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"), &KEYS);
    let post = |path: &str, body: &Value| server.ask("POST", path, &[ANN], &body.to_string()).json();
    let get = |path: &str| server.ask("GET", path, &[ANN], "");
    let sent = post("/v1/runs", &json!({ "agent": "chat", "input": "hello", "session": "mutated" }));
    get(&format!("/v1/runs/{}/events", sent["run"].as_str().unwrap()));
    let checkpoint = get("/v1/sessions/mutated").json()["checkpoint"].as_str().unwrap().to_owned();
    let document = get("/v1/sessions/mutated/export").json();
    let asked = post("/v1/runs", &json!({ "agent": "tools", "input": "delete notes.txt" }));
    let run = asked["run"].as_str().unwrap().to_owned();
    get(&format!("/v1/runs/{run}/events?dialect=agents"));
    let open = get(&format!("/v1/runs/{run}")).json()["waitsFor"][0].clone();
    let fill = |text: &str| {
        let text = text.replace("$CHECKPOINT", &checkpoint).replace("$RUN", &run);
        let text = text.replace("$REQUEST", open["request"].as_str().unwrap());
        text.replace("$TOKEN", open["token"].as_str().unwrap())
    };
    let mut cases = Vec::new();
    for (path, original) in originals(&document) {
        cases.extend(mutations(&original).into_iter().map(|body| (path.clone(), body)));
    }
    attack("mutated bodies", &cases, |(path, body)| {
        let status = server.ask("POST", &fill(path), &[ANN], &fill(body)).status;
        if (200..500).contains(&status) {
            return Ok(());
        }
        Err(format!("{path}: {status} for {}", body.chars().take(300).collect::<String>()))
    });
    for key in [ANN, BOB] {
        for path in ["/v1/sessions?agent=chat&limit=500", "/v1/runs?limit=500", "/v1/interrupts"] {
            let answer = server.ask("GET", path, &[key], "");
            assert_eq!(answer.status, 200, "{path}: {}", answer.body);
            assert_eq!(answer.json()["unreadable"], json!([]), "{path}: {}", answer.body);
        }
    }
    lives(&server).unwrap();
    assert!(!server.logged().iter().any(|line| line.contains("panicked")));
}
