//! Answers to a question with a token that is not its own.

use serde_json::{Value, json};

use crate::{ANN, BOB, KEYS, foreign::tampered, report::attack, server::Server};

/// A run that waits for an approval: its id, and what it waits for.
fn waits(server: &Server, file: &str) -> (String, Value) {
    let asked = json!({ "agent": "tools", "input": format!("delete {file}") }).to_string();
    let run = server.ask("POST", "/v1/runs", &[ANN], &asked).json()["run"].as_str().unwrap().to_owned();
    server.ask("GET", &format!("/v1/runs/{run}/events?dialect=agents"), &[ANN], "");
    let open = server.ask("GET", &format!("/v1/runs/{run}"), &[ANN], "").json()["waitsFor"][0].clone();
    assert!(open["token"].is_string(), "{open}");
    (run, open)
}

#[test]
fn tampered_approvals_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"), &KEYS);
    let (run, open) = waits(&server, "one.txt");
    let (other_run, other) = waits(&server, "two.txt");
    let answer = |key: (&str, &str), run: &str, request: &Value, token: &Value| {
        let body = json!({ "request": request, "approved": true, "token": token }).to_string();
        server.ask("POST", &format!("/v1/runs/{run}/answer"), &[key], &body)
    };
    let mut tokens: Vec<Value> =
        tampered(open["token"].as_str().unwrap(), 215).into_iter().map(Value::from).collect();
    tokens.extend([
        other["token"].clone(),
        open["request"].clone(),
        json!(run),
        json!(7),
        json!([]),
        json!({}),
        json!(true),
    ]);
    attack("tampered approvals", &tokens, |token| {
        let status = answer(ANN, &run, &open["request"], token).status;
        if (400..500).contains(&status) { Ok(()) } else { Err(format!("{status} for {token}")) }
    });
    assert_eq!(
        answer(BOB, &run, &open["request"], &open["token"]).status,
        404,
        "the right token of another principal"
    );
    assert_ne!(
        answer(ANN, &other_run, &open["request"], &open["token"]).status,
        202,
        "the question of another run"
    );
    let state = server.ask("GET", &format!("/v1/runs/{run}"), &[ANN], "").json();
    assert_eq!(state["waitsFor"][0]["request"], open["request"], "the question is open: {state}");
    assert_eq!(answer(ANN, &run, &open["request"], &open["token"]).status, 202, "and takes its own token");
}
