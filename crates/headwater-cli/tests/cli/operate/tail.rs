//! `headwater runs tail`.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::Stdio,
};

use super::{ANN, Desk};
use crate::server::command;

#[test]
fn tail_shows_a_run_to_its_end() {
    let desk = Desk::start();
    let run = desk.begin(ANN, "says", "hello", None);
    let shown = desk.text(ANN, &["runs", "tail", &run]);
    for text in ["▶ started", "You said hello.", "■ finished"] {
        assert!(shown.contains(text), "{text} in {shown}");
    }
    let ran = desk.ran(ANN, &["runs", "tail", &run, "--json"]);
    let kinds: Vec<_> = ran.json_lines().iter().map(|record| record["event"]["type"].clone()).collect();
    assert_eq!(kinds.first().unwrap(), "run-started");
    assert_eq!(kinds.last().unwrap(), "run-finished");
}

#[test]
fn tail_ends_when_the_run_waits_if_asked_to() {
    let desk = Desk::start();
    let run = desk.begin(ANN, "asks", "x", None);
    let ran = desk.ran(ANN, &["runs", "tail", &run, "--until-wait"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("? interrupt   Which one?"), "{ran:?}");
    assert!(ran.stdout.contains("‖ waiting"), "{ran:?}");
}

#[test]
fn tail_prints_while_the_run_is_active_and_fails_with_it() {
    let desk = Desk::start();
    let run = desk.begin(ANN, "slow", "x", None);
    let mut child = command()
        .args(["runs", "tail", &run, "--server", &desk.url(), "--key", ANN])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut shown = String::new();
    while !shown.contains("started") {
        assert!(out.read_line(&mut shown).unwrap() > 0, "{shown}");
    }
    desk.text(ANN, &["runs", "stop", &run]);
    out.read_to_string(&mut shown).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{shown}");
    assert!(shown.contains("■ cancelled"), "{shown}");

    let failed = desk.begin(ANN, "fails", "x", None);
    let ran = desk.ran(ANN, &["runs", "tail", &failed]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("✗ failed"), "{ran:?}");
}

#[test]
fn tail_from_now_leaves_out_what_happened() {
    let desk = Desk::start();
    let run = desk.done(ANN, "asks", "x", None);
    let mut child = command()
        .args(["runs", "tail", &run, "--from-now", "--server", &desk.url(), "--key", ANN])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    desk.text(ANN, &["runs", "answer", &run, "a"]);
    let mut shown = String::new();
    child.stdout.take().unwrap().read_to_string(&mut shown).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{shown}");
    assert!(shown.contains("■ finished") || shown.is_empty(), "{shown}");
    assert!(!shown.contains("started"), "{shown}");
}
