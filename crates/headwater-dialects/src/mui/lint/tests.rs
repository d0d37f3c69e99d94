use headwater_protocol::Framing;
use serde_json::json;

use super::*;
use crate::{lint_stream::lint, mui::Mui};

fn found(chunks: &[Value]) -> Vec<&'static str> {
    let stream: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    lint(&Mui, Framing::Sse, stream.as_bytes()).into_iter().map(|finding| finding.rule).collect()
}

/// The chunks between a `start` and a `finish`.
fn within(chunks: &[Value]) -> Vec<&'static str> {
    let mut all = vec![json!({ "type": "start", "messageId": "m" })];
    all.extend_from_slice(chunks);
    all.push(json!({ "type": "finish", "messageId": "m" }));
    found(&all)
}

#[test]
fn each_rule_has_a_violation() {
    let start = json!({ "type": "start", "messageId": "m" });
    let finish = json!({ "type": "finish", "messageId": "m" });
    let call = json!({ "type": "tool-input-available", "toolCallId": "c", "toolName": "t", "input": {} });
    let output = json!({ "type": "tool-output-available", "toolCallId": "c", "output": 1 });
    let numbered = |sequence: Value| json!({ "sequence": sequence, "chunk": { "type": "ping" } });
    let named = |id: Value| json!({ "eventId": id, "chunk": { "type": "ping" } });
    let asks = json!({ "type": "tool-approval-request", "toolCallId": "d", "toolName": "t" });
    let table = [
        ("chunk", within(&[json!({ "x": 1 })])),
        ("no-chunk-field", within(&[json!({ "type": "data-x", "chunk": { "type": "ping" } })])),
        ("dense-sequence", within(&[numbered(json!(0)), numbered(json!(2))])),
        ("dense-sequence", within(&[numbered(json!("0"))])),
        ("unique-event-id", within(&[named(json!("a")), named(json!("a"))])),
        ("unique-event-id", within(&[named(json!(7))])),
        ("start-first", found(&[json!({ "type": "start-step" }), finish.clone()])),
        ("one-start", within(&[json!({ "type": "start", "messageId": "m" })])),
        ("nothing-after-end", found(&[start.clone(), finish.clone(), finish.clone()])),
        ("terminal", found(std::slice::from_ref(&start))),
        ("message-id", found(&[start.clone(), json!({ "type": "abort", "messageId": "other" })])),
        ("field", within(&[json!({ "type": "file", "url": "u" })])),
        ("field", within(&[json!({ "type": "source-document", "sourceId": "s", "title": null })])),
        ("block-order", within(&[json!({ "type": "text-delta", "id": "t", "delta": "x" })])),
        ("tool-announced", within(std::slice::from_ref(&output))),
        ("tool-settled", within(&[call.clone(), output.clone(), call.clone()])),
        ("nothing-after-end", within(&[json!({ "type": "error", "errorText": "x" })])),
    ];
    for (rule, found) in table {
        assert_eq!(found, [rule]);
    }
    assert_eq!(within(&[asks]), ["approval", "approval"]);
    let data = json!({ "type": "data-x", "id": "k", "data": 1 });
    assert_eq!(within(&[data.clone(), data]), ["data-id-once"]);
    let lines = b"data: {\"type\":\ndata: \"start\",\"messageId\":\"m\"}\n\ndata: {\"type\":\"finish\",\"messageId\":\"m\"}\n\n";
    assert_eq!(lint(&Mui, Framing::Sse, lines)[0].rule, "single-line");
    assert!(RULES.iter().all(|rule| !rule.demands.is_empty()));
}

#[test]
fn failure_and_transient_data_have_no_findings() {
    let start = json!({ "type": "start", "messageId": "m" });
    assert_eq!(found(&[start, json!({ "type": "error", "errorText": "x" })]), [""; 0]);
    let data = json!({ "type": "data-x", "id": "k", "data": 1, "transient": true });
    assert_eq!(within(&[data.clone(), data]), [""; 0]);
}
