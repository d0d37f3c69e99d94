//! For any input, a command exits with a documented code and without a panic.

use crate::run::{CommandRun, DIALECTS, headwater, read_example};

const COMMANDS: [&[&str]; 5] = [
    &["inspect", "--dialect"],
    &["inspect", "--json", "--dialect"],
    &["reduce", "--dialect"],
    &["lint", "--dialect"],
    &["convert", "--to", "kortyx", "--from"],
];

fn check(ran: &CommandRun, what: &str) {
    assert!(matches!(ran.code, Some(0..=2)), "{what}: {ran:?}");
    assert!(!ran.stderr.contains("panicked"), "{what}: {ran:?}");
    // A failing command prints an error.
    assert!(ran.code != Some(2) || ran.stderr.starts_with("error: "), "{what}: {ran:?}");
}

fn every_command(input: &[u8], what: &str) {
    for command in COMMANDS {
        for dialect in DIALECTS {
            let args = [command, &[dialect]].concat();
            check(&headwater(&args, input), &format!("{args:?} on {what}"));
        }
    }
}

/// Pseudo-random bytes, the same on every run.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_be_bytes()[0]
    };
    (0..length).map(next).collect()
}

#[test]
fn empty_input() {
    every_command(b"", "nothing");
    every_command(b"\n\n \r\n", "white space");
    for dialect in DIALECTS {
        let ran = headwater(&["reduce", "--dialect", dialect], "");
        assert_eq!(ran.json()["run"]["status"], "failed", "{dialect}");
        assert_eq!(ran.json()["run"]["error"]["code"], "cut", "{dialect}");
        let ran = headwater(&["convert", "--from", dialect, "--to", "kortyx"], "");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{dialect}");
    }
}

#[test]
fn noise_is_refused() {
    let noise = noise(4_096);
    every_command(&noise, "noise");
    for framing in ["sse", "ndjson"] {
        for dialect in DIALECTS {
            let ran = headwater(&["reduce", "--dialect", dialect, "--framing", framing], noise.clone());
            check(&ran, dialect);
            assert_eq!(ran.json()["run"]["status"], "failed", "{dialect}");
        }
    }
}

#[test]
fn noise_in_frames_is_survived() {
    let lines: Vec<u8> =
        noise(2_048).chunks(64).flat_map(|line| [b"data: ", line, b"\n\n"].concat()).collect();
    every_command(&lines, "noise in frames");
}

#[test]
fn line_beyond_the_limit_is_refused() {
    let huge = format!("data: {{\"type\":\"{}\"}}\n\n", "x".repeat(17 * 1024 * 1024));
    for dialect in DIALECTS {
        let ran = headwater(&["reduce", "--dialect", dialect], huge.as_str());
        check(&ran, dialect);
        assert!(ran.stderr.contains("larger than 16777216 bytes"), "{dialect}: {}", ran.stderr);
        assert_eq!(ran.json()["run"]["status"], "failed", "{dialect}");
    }
}

#[test]
fn invalid_utf8_is_survived() {
    for dialect in DIALECTS {
        let stream = read_example(&format!("{dialect}.sse"));
        // Put a byte that never occurs in UTF-8 into the first text delta.
        let at = stream.windows(9).position(|window| window == b"\"delta\":\"").unwrap() + 9;
        let broken = [&stream[..at], b"\xFF", &stream[at..]].concat();
        let ran = headwater(&["reduce", "--dialect", dialect], broken);
        check(&ran, dialect);
        assert!(ran.stdout.contains('\u{FFFD}'), "{dialect}: {}", ran.stdout);
    }
}

#[test]
fn stream_truncated_anywhere_is_reported_as_truncated() {
    for dialect in DIALECTS {
        let stream = read_example(&format!("{dialect}.sse"));
        // No example ends within its first half.
        for cut in (1..stream.len() / 2).step_by(stream.len() / 12) {
            let ran = headwater(&["reduce", "--dialect", dialect], &stream[..cut]);
            check(&ran, dialect);
            assert_eq!(ran.json()["run"]["status"], "failed", "{dialect} at {cut}");
            let ran = headwater(&["inspect", "--dialect", dialect], &stream[..cut]);
            assert_eq!(ran.code, Some(1), "{dialect} at {cut}");
        }
    }
}

#[test]
fn control_characters_are_escaped_on_the_terminal() {
    let stream = "data: {\"type\":\"message\",\"content\":\"\\u001b[2Jgone\\u202e\"}\n\ndata: {\"type\":\"done\"}\n\ndata: [DONE]\n\n";
    let ran = headwater(&["inspect", "--dialect", "kortyx", "--color", "always"], stream);
    assert!(ran.stdout.contains("␛[2Jgone\u{FFFD}"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("\u{1b}[2J"), "{}", ran.stdout);
}
