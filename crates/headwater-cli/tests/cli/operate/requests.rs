//! `headwater interrupts`: questions, approvals and client tools.

use serde_json::{Value, json};

use super::{ANN, BOB, Desk, OPS};
use crate::{run::headwater, server::Server};

#[test]
fn open_requests_are_listed_and_answered() {
    let desk = Desk::start();
    let run = desk.done(ANN, "asks", "x", None);
    let page = desk.json(ANN, &["interrupts", "list"]);
    let open = &page["interrupts"][0];
    assert_eq!(
        (&open["run"], &open["kind"], &open["owner"]),
        (&json!(run), &json!("question"), &json!("ann"))
    );
    let request = open["request"].as_str().unwrap();
    let table = desk.text(OPS, &["interrupts", "list"]);
    assert!(table.contains(request) && table.contains("Which one?"), "{table}");
    assert_eq!(desk.json(BOB, &["interrupts", "list"])["interrupts"], json!([]));
    assert_eq!(desk.ran(BOB, &["interrupts", "answer", request, "a"]).code, Some(5));

    assert_eq!(desk.text(ANN, &["interrupts", "answer", request, "b"]), format!("{run} continues\n"));
    let none = desk.ran(ANN, &["interrupts", "list"]);
    assert_eq!((none.code, &*none.stdout, &*none.stderr), (Some(0), "", "note: no open requests\n"));
}

#[test]
fn approvals_and_client_tools_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"), &[]);
    let url = format!("http://{}", server.address);
    let cases: [(&str, &[&str], &str); 4] = [
        ("delete a.txt!", &["--approve"], "I deleted a.txt."),
        ("delete a.txt!", &["--deny", "--reason", "not that one"], "you said: not that one"),
        ("where am I?", &["--output", r#"{"city":"Oslo"}"#], "Oslo"),
        ("where am I?", &["--error", "no signal"], "no signal"),
    ];
    for (input, answer, expected) in cases {
        let begun = server.post("/v1/runs", &json!({ "agent": "tools", "input": input }));
        let run = begun.json()["run"].as_str().unwrap().to_owned();
        let ran = |args: &[&str]| headwater(&[args, &["--server", &url]].concat(), "");
        assert_eq!(ran(&["runs", "tail", &run, "--until-wait"]).code, Some(0));
        let details: Value = ran(&["runs", "show", &run, "--json"]).json();
        let request = details["waitsFor"][0]["request"].as_str().unwrap();
        let answered = ran(&[&["interrupts", "answer", request], answer].concat());
        assert_eq!(answered.code, Some(0), "{answered:?}");
        let shown = ran(&["runs", "tail", &run, "--until-wait"]);
        let joined = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(joined.contains(expected), "{expected} in {joined}");
    }
}
