//! Usage of the command, and its error messages.

use std::{
    io::Read,
    process::{Command, Stdio},
};

use crate::run::{example, headwater};

#[test]
fn help_lists_every_command_and_exit_code() {
    let ran = headwater(&["--help"], "");
    assert_eq!(ran.code, Some(0));
    for word in [
        "inspect",
        "convert",
        "reduce",
        "lint",
        "extract",
        "dialects",
        "reason",
        "models",
        "replay",
        "check",
        "new",
        "schema",
        "serve",
        "proxy",
        "config",
        "health",
        "runs",
        "sessions",
        "interrupts",
        "doctor",
        "completions",
        "Exit codes:",
        "the stream is at fault",
    ] {
        assert!(ran.stdout.contains(word), "{word} is not in {}", ran.stdout);
    }
}

#[test]
fn unknown_dialect_suggests_the_nearest_one() {
    let ran = headwater(&["lint", "--dialect", "kortix"], "");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("a similar value exists: 'kortyx'"), "{}", ran.stderr);
    assert!(ran.stderr.contains("kortyx, tanstack, mui, agents, ai-sdk, ag-ui"), "{}", ran.stderr);
}

#[test]
fn unknown_profile_lists_the_profiles() {
    let ran = headwater(&["convert", "--to", "ai-sdk", "--profile", "ai-99", &example("kortyx.sse")], "");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.starts_with("error: ai-sdk has no profile `ai-99`: use one of "), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
}

#[test]
fn missing_file_is_reported() {
    let ran = headwater(&["reduce", "no-such.sse"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert_eq!(ran.stderr, "error: cannot read no-such.sse: there is no such file\n");
}

#[test]
fn input_that_is_not_a_stream_is_quoted() {
    let ran = headwater(&["inspect"], "<!doctype html><html></html>");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert_eq!(
        ran.stderr,
        "error: standard input is neither Server-Sent Events nor JSON lines: it begins with \
         \"<!doctype html><html></h\"; if it is one of them, choose with --framing\n"
    );
}

#[test]
fn unknown_stream_lists_the_dialects() {
    let ran = headwater(&["reduce"], "data: {\"choices\":[]}\n\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert_eq!(
        ran.stderr,
        "error: no dialect matches the first chunks of standard input: choose it with --dialect; \
         known dialects: native, kortyx, tanstack, mui, agents, ai-sdk, ag-ui, responses\n"
    );
}

#[test]
fn closed_output_is_not_an_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_headwater"))
        .args(["dialects", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn completions_are_printed_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = headwater(&["completions", shell], "");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
        for word in ["interrupts", "until-wait"] {
            assert!(ran.stdout.contains(word), "{shell}: {word}");
        }
    }
    // bash can read them, where it is installed.
    let script = headwater(&["completions", "bash"], "").stdout;
    if let Ok(status) = Command::new("bash").args(["-nc", &script]).status() {
        assert!(status.success());
    }
}
