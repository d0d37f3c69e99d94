//! Answers to a question with a token that is not its own.

use serde_json::{Value, json};

use crate::{
    ANN, BOB, KEYS,
    foreign::tampered,
    report::attack,
    server::{Server, ask},
};

/// A run that waits for an approval: its id and the open question.
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
    assert_eq!(state["waitsFor"][0]["request"], open["request"], "the question is still open: {state}");
    assert_eq!(answer(ANN, &run, &open["request"], &open["token"]).status, 202, "and accepts its own token");
}

#[test]
fn racing_answers_are_accepted_once() {
    const ROUNDS: usize = 10;
    const RACING: usize = 20;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"), &KEYS);
    let mut cases = Vec::new();
    for round in 0..ROUNDS {
        let (run, open) = waits(&server, &format!("{round}.txt"));
        let start = std::sync::Barrier::new(RACING);
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let racing: Vec<_> = (0..RACING)
                .map(|number| {
                    let (address, start, run, open) = (&server.address, &start, &run, &open);
                    scope.spawn(move || {
                        // Each answer has its own text: an identical answer would count as a repetition of
                        // the first.
                        let body = json!({ "request": open["request"], "token": open["token"],
                            "approved": number % 2 == 0, "reason": format!("reason {number}") });
                        start.wait();
                        ask(address, "POST", &format!("/v1/runs/{run}/answer"), &[ANN], &body.to_string())
                            .status
                    })
                })
                .collect();
            racing.into_iter().map(|racer| racer.join().unwrap()).collect()
        });
        let accepted = statuses.iter().filter(|status| **status == 202).count();
        cases.extend(statuses.into_iter().map(|status| (round, accepted, status)));
    }
    attack("racing answers", &cases, |(round, accepted, status)| match (accepted, status) {
        (1, 202 | 409) => Ok(()),
        _ => Err(format!("round {round}: {accepted} answers were accepted, this one got {status}")),
    });
}
