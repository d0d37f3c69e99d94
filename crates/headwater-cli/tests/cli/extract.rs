//! `headwater extract`.

use serde_json::{Value, json};

use crate::run::{example, headwater};

const EMAIL: [&str; 6] = ["--set", "subject", "--text", "body", "--append", "bullets"];

fn extract(args: &[&str], stdin: &str) -> (Option<i32>, Vec<Value>) {
    let ran = headwater(&[&["extract"], args].concat(), stdin);
    assert_eq!(ran.stderr, "");
    (ran.code, ran.json_lines())
}

#[test]
fn email_fields_are_emitted_as_they_arrive() {
    let ran =
        headwater(&[&["extract"], &EMAIL[..], &["--piece", "32", &example("../email.json")]].concat(), "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let data = json!({
        "subject": "Beta access is open",
        "body": "Hi team,\n\nBeta access is open.",
        "bullets": ["Faster setup", "Live streaming UI"],
    });
    assert_eq!(
        ran.json_lines(),
        [
            json!({"at": 0, "kind": "set", "path": "subject", "value": "Beta access is open"}),
            json!({"at": 1, "kind": "text-delta", "path": "body", "delta": "Hi team,\n\nBeta access"}),
            json!({"at": 2, "kind": "text-delta", "path": "body", "delta": " is open."}),
            json!({"at": 3, "kind": "append", "path": "bullets", "items": ["Faster setup", "Live streaming UI"]}),
            json!({"at": 4, "kind": "final", "data": data}),
        ]
    );
}

#[test]
fn document_is_one_piece_by_default() {
    let (code, lines) =
        extract(&["--set", "rows.*.id"], "Sure!\n```json\n{\"rows\":[{\"id\":1},{\"id\":2}]}\n```");
    assert_eq!(code, Some(0));
    assert_eq!(
        lines,
        [
            json!({"at": 0, "kind": "set", "path": "rows.0.id", "value": 1}),
            json!({"at": 0, "kind": "set", "path": "rows.1.id", "value": 2}),
            json!({"at": 1, "kind": "final", "data": {"rows": [{"id": 1}, {"id": 2}]}}),
        ]
    );
}

#[test]
fn deltas_are_read_from_lines() {
    let deltas = "\"{\\\"a\\\":\\\"x\\ud83d\"\n\"\\ude00\"\n\"\"\n\"\\\"}\"\n";
    let (code, lines) = extract(&["--deltas", "--text", "a"], deltas);
    assert_eq!(code, Some(0));
    assert_eq!(
        lines,
        [
            json!({"at": 0, "kind": "text-delta", "path": "a", "delta": "x"}),
            json!({"at": 1, "kind": "text-delta", "path": "a", "delta": "😀"}),
            json!({"at": 4, "kind": "final", "data": {"a": "x😀"}}),
        ]
    );
}

#[test]
fn invalid_or_truncated_json_is_reported_with_its_offset() {
    let (code, lines) = extract(&["--append", "a", "--piece", "4"], "{\"a\":[1,2;3]}");
    assert_eq!(code, Some(1));
    assert_eq!(
        lines,
        [
            json!({"at": 1, "kind": "append", "path": "a", "items": [1]}),
            json!({"at": 2, "kind": "append", "path": "a", "items": [2]}),
            json!({
                "at": 2,
                "error": "expected a comma or the end of the array, found `;`, at line 1 column 10",
                "offset": 9,
            }),
        ]
    );
    let (code, lines) = extract(&["--piece", "4"], "{\"a\":[1,");
    assert_eq!(code, Some(1));
    assert_eq!(
        lines,
        [json!({"at": 2, "error": "the text ends before a value, at line 1 column 9", "offset": 8})]
    );
    let (code, lines) = extract(&[], "");
    assert_eq!(code, Some(1));
    assert_eq!(
        lines,
        [json!({"at": 0, "error": "the text ends before any value began, at line 1 column 1", "offset": 0})]
    );
}

#[test]
fn repeated_key_retracts_the_earlier_value() {
    let (_, lines) = extract(&["--text", "a"], r#"{"a":"x","a":"y"}"#);
    assert_eq!(lines[1], json!({"at": 0, "kind": "set", "path": "a"}));
}

#[test]
fn wrong_usage_is_reported() {
    let table: [(&[&str], &str); 4] = [
        (&["--set", "a..b"], "error: the path `a..b` of a set field has an empty segment"),
        (&["--piece", "0"], "error: invalid value '0'"),
        (
            &["--piece", "3", "--deltas"],
            "error: the argument '--piece <BYTES>' cannot be used with '--deltas'",
        ),
        (&["--deltas"], "error: line 1 must be a JSON string"),
    ];
    for (args, message) in table {
        let ran = headwater(&[&["extract"], args].concat(), "{}");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(ran.stderr.starts_with(message), "{}", ran.stderr);
    }
}
