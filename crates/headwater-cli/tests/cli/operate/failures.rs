//! Wrong keys, servers that are down, and ids that do not exist: each command has the same exit codes.

use std::net::TcpListener;

use super::{ANN, Desk};
use crate::run::headwater;

/// A call of each command with ids that do not exist.
const COMMANDS: [&[&str]; 16] = [
    &["runs", "show", "run_x"],
    &["runs", "tail", "run_x"],
    &["runs", "stop", "run_x"],
    &["runs", "fork", "run_x"],
    &["runs", "answer", "run_x", "yes"],
    &["runs", "export", "run_x"],
    &["interrupts", "answer", "req_x", "yes"],
    &["sessions", "show", "x"],
    &["sessions", "messages", "x"],
    &["sessions", "rename", "x", "label"],
    &["sessions", "archive", "x"],
    &["sessions", "delete", "x"],
    &["sessions", "export", "x"],
    &["sessions", "queue", "list", "x"],
    &["sessions", "queue", "edit", "x", "run_x", "text"],
    &["sessions", "queue", "send", "x", "run_x"],
];

const LISTS: [&[&str]; 3] = [&["runs", "list"], &["sessions", "list"], &["interrupts", "list"]];

#[test]
fn wrong_key_is_exit_code_4() {
    let desk = Desk::start();
    for args in COMMANDS.iter().chain(&LISTS) {
        let ran = desk.ran("mistaken-0123456789", args);
        assert_eq!((ran.code, &*ran.stdout), (Some(4), ""), "{args:?} {ran:?}");
        assert!(ran.stderr.contains("give a key with --key or $HEADWATER_KEY (auth.unknown)"), "{ran:?}");
        assert!(!ran.stderr.contains("mistaken"), "the key is not shown: {ran:?}");
    }
    let ran = headwater(&["runs", "list", "--server", &desk.url()], "");
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.stderr.contains("(auth.missing)"), "{ran:?}");
}

#[test]
fn unknown_id_is_exit_code_5() {
    let desk = Desk::start();
    for args in COMMANDS {
        let ran = desk.ran(ANN, args);
        assert_eq!((ran.code, &*ran.stdout), (Some(5), ""), "{args:?} {ran:?}");
        assert!(ran.stderr.contains(".unknown)"), "{args:?} {ran:?}");
    }
}

#[test]
fn server_that_is_down_is_exit_code_3() {
    // A port that nothing listens on.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    for args in [&["runs", "list"][..], &["runs", "show", "run_x"], &["sessions", "messages", "x"]] {
        let ran = headwater(&[args, &["--server", &url]].concat(), "");
        assert_eq!((ran.code, &*ran.stdout), (Some(3), ""), "{args:?} {ran:?}");
        assert!(ran.stderr.contains("is it running? --server URL names another one (network)"), "{ran:?}");
    }
    let ran = headwater(&["runs", "list", "--server", "not a url"], "");
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn answer_needs_exactly_one_form() {
    for (args, message) in [
        (&[][..], "required arguments were not provided"),
        (&["--approve", "--deny"], "cannot be used with"),
        (&["--reason", "no"], "required arguments were not provided"),
        (&["--value", "{"], "it is not JSON"),
    ] {
        let ran = headwater(&[&["interrupts", "answer", "req_x"], args].concat(), "");
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{args:?} {ran:?}");
        assert!(ran.stderr.contains(message), "{args:?} {ran:?}");
    }
}
