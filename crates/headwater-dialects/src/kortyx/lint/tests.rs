use super::*;
use crate::{kortyx::Kortyx, lint_stream::lint};

fn rules(body: &str) -> Vec<&'static str> {
    lint(&Kortyx, Framing::Sse, body.as_bytes()).into_iter().map(|finding| finding.rule).collect()
}

fn rules_of(chunks: &[&str]) -> Vec<&'static str> {
    let body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    rules(&(body + "data: {\"type\":\"done\"}\n\ndata: [DONE]\n\n"))
}

const END: &str = "data: {\"type\":\"done\"}\n\ndata: [DONE]\n\n";

#[test]
fn valid_stream_has_no_findings() {
    assert!(rules(END).is_empty());
    assert!(rules(&format!(":\n\n{END}")).is_empty(), "a comment keeps the connection open");
    assert!(rules("data: {\"type\":\"error\",\"message\":\"x\"}\n\ndata: [DONE]\n\n").is_empty());
    assert!(
        rules_of(&[
            r#"{"type":"tool-call-start","tool":"a","toolCallId":"c"}"#,
            r#"{"type":"tool-call-result","tool":"a","toolCallId":"c","content":1}"#,
            r#"{"type":"interrupt","requestId":"r","resumeToken":"t","input":{"kind":"text","multiple":false,"options":[]}}"#,
        ])
        .is_empty()
    );
}

#[test]
fn hazards_of_its_parser_are_found() {
    let delta = r#"{"type":"text-delta","delta":"a"}"#;
    for (block, rule) in [
        (format!("id: 7\ndata: {delta}\n\n"), "block-begins-with-data"),
        (format!("event: x\ndata: {delta}\n\n"), "block-begins-with-data"),
        (format!(": c\ndata: {delta}\n\n"), "block-begins-with-data"),
        (format!("data:{delta}\n\n"), "block-begins-with-data"),
        (format!("\ndata: {delta}\n\n"), "block-begins-with-data"),
        (format!("data: {delta}\nid: 7\n\n"), "only-data-in-a-block"),
        ("data: {\"type\":\"text-delta\",\ndata: \"delta\":\"a\"}\n\n".to_owned(), "only-data-in-a-block"),
        (format!("data: {delta}\r\n\r\n"), "lines-end-with-lf"),
    ] {
        let findings = lint(&Kortyx, Framing::Sse, format!("{block}{END}").as_bytes());
        let found: Vec<_> = findings.iter().map(|finding| (finding.rule, finding.frame)).collect();
        assert_eq!(found, [(rule, Some(0))], "{block:?}");
    }
    assert_eq!(
        rules(&format!("data: {delta}")),
        ["last-block-is-ended", "done-exactly-once", "done-marker-at-the-end"]
    );
}

#[test]
fn order_of_chunks_is_checked() {
    assert_eq!(rules(""), ["done-exactly-once", "done-marker-at-the-end"]);
    assert_eq!(rules("data: [DONE]\n\n"), ["done-exactly-once"]);
    assert_eq!(rules("data: {\"type\":\"done\"}\n\n"), ["done-marker-at-the-end"]);
    assert_eq!(rules(&format!("{END}{END}")), ["done-marker-at-the-end", "done-marker-at-the-end"]);
    assert_eq!(rules_of(&[r#"{"type":"done"}"#]), ["nothing-after-done", "done-exactly-once"]);
    assert_eq!(
        rules_of(&[r#"{"type":"done"}"#, r#"{"type":"status","message":"x"}"#])[0],
        "nothing-after-done"
    );
}

#[test]
fn waiting_run_may_continue_after_its_done() {
    let asked =
        r#"{"type":"interrupt","requestId":"r","resumeToken":"t","input":{"kind":"text","multiple":false}}"#;
    let done = r#"{"type":"done"}"#;
    let answered = r#"{"type":"text-delta","delta":"Thanks."}"#;
    assert!(rules_of(&[asked, done, answered]).is_empty());
    assert_eq!(rules_of(&[asked, done, answered, done]), ["nothing-after-done", "done-exactly-once"]);
}

#[test]
fn shape_of_chunks_is_checked() {
    for (chunk, rule) in [
        ("42", "chunk-is-an-object"),
        ("{oops", "chunk-is-an-object"),
        (r#"{"type":"weather"}"#, "known-type"),
        (r#"{"type":"text-delta"}"#, "fields-of-the-type"),
        (
            r#"{"type":"trace","traceId":"t","spanId":"s","runId":"r","rootSpanName":"x"}"#,
            "fields-of-the-type",
        ),
        (r#"{"type":"tool-call-result","tool":"a","toolCallId":"c","content":1}"#, "tool-call-was-started"),
        (r#"{"type":"tool-call-error","tool":"a","toolCallId":"c","message":"x"}"#, "tool-call-was-started"),
        (
            r#"{"type":"interrupt","requestId":"r","resumeToken":"t","input":{"kind":"text","multiple":false,"options":[{"id":"x","label":"X"}]}}"#,
            "question-can-be-shown",
        ),
        (
            r#"{"type":"structured-data","streamId":"s","dataType":"t","kind":"set","path":"a..b","value":1}"#,
            "structured-update-fits",
        ),
    ] {
        assert_eq!(rules_of(&[chunk]), [rule], "{chunk}");
    }
}

#[test]
fn structured_update_after_final_is_found() {
    let last = r#"{"type":"structured-data","streamId":"s","dataType":"t","kind":"final","data":1}"#;
    let invalidated = r#"{"type":"structured-data-invalidated","streamId":"s","checkpointId":"c"}"#;
    assert_eq!(rules_of(&[last, last]), ["nothing-after-final"]);
    assert!(rules_of(&[last, invalidated, last]).is_empty());
}

#[test]
fn every_rule_is_listed() {
    let mut names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), RULES.len());
}
