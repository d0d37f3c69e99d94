//! `headwater runs list`, `show`, `stop`, `fork`, `answer` and `export`.

use serde_json::json;

use super::{ANN, Desk, values};
use crate::run::headwater;

#[test]
fn runs_are_filtered_and_listed_newest_first() {
    let desk = Desk::start();
    let said = desk.done(ANN, "says", "find the needle", Some("chat"));
    let asked = desk.done(ANN, "asks", "what now", None);
    let failed = desk.done(ANN, "fails", "no answer", None);

    let list = |args: &[&str]| {
        let page = desk.json(ANN, &[&["runs", "list"], args].concat());
        values(&page["runs"], "id").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(list(&[]), [&*failed, &*asked, &*said]);
    assert_eq!(list(&["--status", "waiting"]), [&*asked]);
    assert_eq!(list(&["--agent", "says"]), [&*said]);
    assert_eq!(list(&["--session", "chat"]), [&*said]);
    assert_eq!(list(&["-q", "NEEDLE"]), [&*said]);
    assert_eq!(list(&["--since", "1h"]).len(), 3);
    assert_eq!(list(&["--since", "2100-01-01T00:00:00Z"]).len(), 0);
    assert_eq!(list(&["--limit", "1"]), [&*failed]);

    let page = desk.json(ANN, &["runs", "list", "--agent", "says"]);
    assert_eq!(page["runs"][0]["input"], "find the needle");
    assert_eq!(page["runs"][0]["owner"], "ann");

    let ran = desk.ran(ANN, &["runs", "list", "--limit", "2"]);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{ran:?}");
    assert!(lines[0].starts_with("RUN ") && lines[0].contains("STATUS"), "{ran:?}");
    assert!(lines[1].starts_with(&failed) && lines[1].contains("failed"), "{ran:?}");
    assert!(lines.iter().all(|line| line.chars().count() <= 100), "{ran:?}");
    assert!(ran.stderr.contains("there are more runs: raise --limit"), "{ran:?}");

    let none = desk.ran(ANN, &["runs", "list", "--status", "cancelled"]);
    assert_eq!((none.code, &*none.stdout, &*none.stderr), (Some(0), "", "note: no runs\n"));
}

#[test]
fn unusable_filters_are_refused_before_a_request() {
    for (args, message) in [
        (["--status", "done"], "[possible values: running, waiting, finished, failed, cancelled]"),
        (["--since", "yesterday"], "`yesterday` is neither a time such as"),
        (["--limit", "0"], "invalid value '0'"),
    ] {
        let ran = headwater(&[&["runs", "list", "--server", "http://127.0.0.1:9"], &args[..]].concat(), "");
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(message), "{ran:?}");
    }
}

#[test]
fn waiting_run_is_shown_with_its_question_and_answered() {
    let desk = Desk::start();
    let run = desk.done(ANN, "asks", "what now", None);
    let shown = desk.text(ANN, &["runs", "show", &run]);
    let details = desk.json(ANN, &["runs", "show", &run]);
    let request = details["waitsFor"][0]["request"].as_str().unwrap();
    for text in
        [&*run, "waiting", "Which one?", "a  Apple", &format!("headwater interrupts answer {request} ANSWER")]
    {
        assert!(shown.contains(text), "{text} in {shown}");
    }
    assert_eq!(details["run"]["status"], "waiting");

    let invalid = desk.ran(ANN, &["runs", "answer", &run, "c"]);
    assert_eq!((invalid.code, &*invalid.stdout), (Some(2), ""), "{invalid:?}");
    assert!(invalid.stderr.contains("(answer.invalid)"), "{invalid:?}");
    assert_eq!(desk.json(ANN, &["runs", "answer", &run, "a", "--request", request]), json!({ "run": run }));
    let other = desk.ran(ANN, &["runs", "answer", &run, "b", "--request", request]);
    assert_eq!((other.code, &*other.stdout), (Some(6), ""), "{other:?}");
    assert!(other.stderr.contains("(request.answered)"), "{other:?}");
    assert_eq!(desk.ran(ANN, &["runs", "tail", &run]).code, Some(0));
    assert!(desk.text(ANN, &["runs", "show", &run]).contains("finished"));
}

#[test]
fn run_is_stopped_once() {
    let desk = Desk::start();
    let run = desk.begin(ANN, "slow", "x", None);
    assert_eq!(desk.json(ANN, &["runs", "stop", &run]), json!({ "run": run, "stopped": true }));
    assert_eq!(desk.json(ANN, &["runs", "stop", &run]), json!({ "run": run, "stopped": false }));
    assert_eq!(desk.text(ANN, &["runs", "stop", &run]), format!("{run} had ended already\n"));
}

#[test]
fn run_is_forked_into_a_session_of_its_own() {
    let desk = Desk::start();
    let first = desk.done(ANN, "says", "one", Some("chat"));
    desk.done(ANN, "says", "two", Some("chat"));
    let forked = desk.json(ANN, &["runs", "fork", &first, "--as", "other"]);
    assert_eq!((&forked["id"], &forked["turns"]), (&json!("other"), &json!(1)));
    let messages = desk.text(ANN, &["sessions", "messages", "other"]);
    assert!(messages.contains("You said one.") && !messages.contains("two"), "{messages}");

    let again = desk.ran(ANN, &["runs", "fork", &first, "--as", "other"]);
    assert_eq!(again.code, Some(6), "{again:?}");
    let alone = desk.done(ANN, "says", "alone", None);
    let ran = desk.ran(ANN, &["runs", "fork", &alone]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert!(ran.stderr.contains("belongs to no session"), "{ran:?}");
}

#[test]
fn exported_run_can_be_read_by_the_other_commands() {
    let desk = Desk::start();
    let run = desk.done(ANN, "says", "hello", None);
    let file = desk.folder.path().join("run.sse");
    let file = file.to_str().unwrap();
    assert_eq!(desk.text(ANN, &["runs", "export", &run, "-o", file]), "");
    let reduced = headwater(&["reduce", file], "");
    assert!(reduced.stdout.contains("You said hello."), "{reduced:?}");

    let again = desk.ran(ANN, &["runs", "export", &run, "-o", file]);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.stderr.contains("it exists already: choose another name"), "{again:?}");

    let stream = desk.text(ANN, &["runs", "export", &run, "--dialect", "ai-sdk"]);
    let shown = headwater(&["inspect", "--dialect", "ai-sdk"], stream);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stdout.contains("You said hello."), "{shown:?}");
    let lines = desk.text(ANN, &["runs", "export", &run, "--framing", "ndjson"]);
    assert!(lines.lines().any(|line| line.starts_with('{') && line.contains("run-finished")), "{lines}");
}
