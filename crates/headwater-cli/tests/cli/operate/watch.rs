//! `--watch` on a terminal, which `script` provides.

use std::{
    io::Read as _,
    process::{Command, Stdio},
};

use super::{ANN, Desk};
use crate::server::binary;

#[test]
fn watch_needs_a_terminal() {
    let desk = Desk::start();
    for list in ["runs", "sessions", "interrupts"] {
        let ran = desk.ran(ANN, &[list, "list", "--watch"]);
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains("--watch needs a terminal"), "{ran:?}");
    }
}

#[test]
fn watched_list_shows_what_changes() {
    let desk = Desk::start();
    let run = desk.begin(ANN, "slow", "x", None);
    let line = format!("exec {} runs list --watch --server {} --key {ANN}", binary().display(), desk.url());
    let mut child = Command::new("script")
        .args(["-qfec", &line, "/dev/null"])
        .env("COLUMNS", "100")
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut shown = String::new();
    let mut until = |text: &str| {
        let mut piece = [0; 4096];
        while !shown.contains(text) {
            let read = out.read(&mut piece).unwrap();
            assert!(read > 0, "{text} in {shown}");
            shown.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
    };
    until(&run);
    until("running");
    desk.text(ANN, &["runs", "stop", &run]);
    until("cancelled");
    // Ctrl-C, as a person types it.
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"\x03").unwrap();
    until("\x1b[?1049l");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
