//! The chat in a pipe.

use tempfile::tempdir;

use super::survey;
use crate::run::headwater;

#[test]
fn pipe_gets_text_without_escapes() {
    let ran = headwater(&["chat"], "hello\n\nwhat did I say?\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("**Hello!** I am the demo agent `chat`"), "{ran:?}");
    assert!(ran.stdout.ends_with("Before this you said:\n\n> hello\n"), "{ran:?}");
    assert!(!ran.stdout.contains('\u{1B}'), "{ran:?}");
}

#[test]
fn retracted_text_does_not_reach_a_pipe() {
    let ran = headwater(&["chat", "--agent", "flaky"], "hi\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("The first model died"), "{ran:?}");
}

#[test]
fn lines_of_a_pipe_answer_questions() {
    let folder = tempdir().unwrap();
    let file = survey(folder.path());
    let ran = headwater(&["chat", &file], "go\nOslo\n1, 3\nmany\n3\nyes\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("? Which city?"), "{ran:?}");
    assert!(ran.stdout.ends_with("Oslo, fish+cake, 3 days\n"), "{ran:?}");
}

#[test]
fn input_that_ends_before_the_answer_is_a_fault() {
    let ran = headwater(&["chat", "--agent", "tools"], "delete notes.txt\n");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("waits for an answer"), "{ran:?}");
    let ran = headwater(&["chat"], "error\n/what\n");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("the demo was asked to fail") && ran.stderr.contains("`/what`"), "{ran:?}");
}

#[test]
fn wrong_target_has_a_clear_message() {
    for (args, message) in [
        (&["chat", "nothing.yaml"][..], "cannot find nothing.yaml"),
        (&["chat", "--agent", "chatt"], "unknown agent `chatt`: use one of"),
        (&["chat", "http://127.0.0.1:1"], "cannot reach the server"),
    ] {
        let ran = headwater(args, "hello\n");
        assert!(ran.code != Some(0) && ran.stderr.contains(message), "{ran:?}");
    }
}
