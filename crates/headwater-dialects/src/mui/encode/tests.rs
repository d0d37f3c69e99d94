use headwater_protocol::{
    ApprovalRequested, AttemptRetracted, AttemptStarted, BlockDelta, BlockEnded, BlockKind, BlockStarted,
    DataEvent, ErrorInfo, Event, Executor, FinishReason, Framing, Interrupt, InterruptAnswered,
    MessageStarted, Origin, Role, RunFinished, RunStarted, RunWaiting, SourceDocument, StructuredInvalidated,
    StructuredOp, StructuredUpdate, ToolCall, ToolDenied, ToolInputAvailable, ToolInputDelta, ToolOutput,
    UnknownEvent, Usage,
};
use serde_json::{Value, json};

use super::*;

fn from(message: &str, attempt: Option<&str>) -> Origin {
    Origin { message: Some(message.into()), attempt: attempt.map(Into::into), ..Origin::default() }
}

fn record(event: impl Into<Event>) -> Record {
    Record::new(0, event).from(from("m1", None))
}

fn started() -> Event {
    Event::MessageStarted(MessageStarted {
        message: "m1".into(),
        role: Role::Assistant,
        ..Default::default()
    })
}

fn start(id: &str) -> Event {
    Event::BlockStarted(BlockStarted::new(BlockKind::Text, id))
}

fn delta(id: &str, delta: &str) -> Event {
    Event::BlockDelta(BlockDelta::new(BlockKind::Text, id, delta))
}

fn finished() -> Event {
    Event::RunFinished(RunFinished { reason: Some(FinishReason::Stop), ..Default::default() })
}

fn chunks(records: &[Record]) -> Vec<Value> {
    let mut encoder = MuiEncoder::new(&EncodeOptions::default());
    let mut chunks = Vec::new();
    for record in records {
        encoder.messages.emit_message(record, &mut |chunk| chunks.push(serde_json::to_value(chunk).unwrap()));
    }
    chunks
}

/// The chunks after the start of the message.
fn said(events: &[Event]) -> Vec<Value> {
    let events = [&[started()], events].concat();
    chunks(&events.into_iter().map(record).collect::<Vec<_>>()).split_off(1)
}

fn types(chunks: &[Value]) -> Vec<&str> {
    chunks.iter().map(|chunk| chunk["type"].as_str().unwrap()).collect()
}

#[test]
fn stream_is_numbered_densely_from_its_start() {
    let mut encoder = MuiEncoder::new(&EncodeOptions { sequence: 7, ..EncodeOptions::default() });
    let mut out = FrameWriter::new(Framing::Sse);
    let run = Event::RunStarted(RunStarted { run: Some("r1".into()), ..RunStarted::default() });
    for event in [run, started(), start("t"), delta("t", "é\n"), finished(), delta("t", "late")] {
        encoder.record(&record(event), &mut out);
    }
    encoder.finish(&mut out);
    let expected = [
        r#"{"eventId":"m1:7","sequence":7,"chunk":{"type":"start","messageId":"m1"}}"#,
        r#"{"eventId":"m1:8","sequence":8,"chunk":{"type":"text-start","id":"t"}}"#,
        r#"{"eventId":"m1:9","sequence":9,"chunk":{"type":"text-delta","id":"t","delta":"é\n"}}"#,
        r#"{"eventId":"m1:10","sequence":10,"chunk":{"type":"finish","messageId":"m1","finishReason":"stop"}}"#,
    ];
    let expected: String = expected.iter().map(|data| format!("data: {data}\n\n")).collect();
    assert_eq!(String::from_utf8(out.take()).unwrap(), expected);
}

#[test]
fn chunks_have_the_fields_of_the_client() {
    let call = ToolCall { dynamic: Some(true), ..ToolCall::new("c", "mail").by(Executor::Client) };
    let id = || "c".into();
    let table = [
        (
            Event::ToolInputStart(call.clone()),
            json!({ "type": "tool-input-start", "toolCallId": "c", "toolName": "mail", "dynamic": true }),
        ),
        (
            Event::ToolInputDelta(ToolInputDelta::new(id(), "{")),
            json!({ "type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": "{" }),
        ),
        (
            Event::ToolInputAvailable(ToolInputAvailable::new(
                ToolCall::new("c", "mail"),
                json!({ "to": "a" }),
            )),
            json!({ "type": "tool-input-available", "toolCallId": "c", "toolName": "mail", "input": { "to": "a" } }),
        ),
        // The client erases fields that an approval request leaves out.
        (
            Event::ApprovalRequested(ApprovalRequested {
                approval: "ap".into(),
                tool: ToolCall::new("c", ""),
                ..Default::default()
            }),
            json!({ "type": "tool-approval-request", "toolCallId": "c", "toolName": "mail", "input": { "to": "a" },
                    "approvalId": "ap" }),
        ),
        (
            Event::ToolDenied(ToolDenied { call: id(), reason: Some("no".into()), ..Default::default() }),
            json!({ "type": "tool-output-denied", "toolCallId": "c", "reason": "no" }),
        ),
        (
            Event::SourceDocument(SourceDocument {
                source: "s".into(),
                media_type: Some("text/plain".into()),
                text: Some("passage".into()),
                ..Default::default()
            }),
            json!({ "type": "source-document", "sourceId": "s", "text": "passage" }),
        ),
        (
            Event::Data(DataEvent {
                name: "chart".into(),
                id: Some("k".into()),
                data: json!(1),
                ..Default::default()
            }),
            json!({ "type": "data-chart", "id": "k", "data": 1 }),
        ),
        (
            Event::Data(DataEvent {
                name: "tick".into(),
                data: json!(1),
                transient: true,
                ..Default::default()
            }),
            json!({ "type": "data-tick", "data": 1, "transient": true }),
        ),
        (
            Event::InterruptRequested(Box::new(Interrupt::text("r1", "Which city?"))),
            json!({ "type": "tool-input-available", "toolCallId": "r1", "toolName": "ask_user",
                    "input": { "question": "Which city?", "kind": "text" } }),
        ),
        (
            Event::InterruptAnswered(InterruptAnswered {
                request: "r1".into(),
                answer: Some(json!("Oslo")),
                ..Default::default()
            }),
            json!({ "type": "tool-output-available", "toolCallId": "r1", "output": "Oslo" }),
        ),
        (Event::StepStarted { name: Some("plan".into()) }, json!({ "type": "start-step" })),
        (
            Event::MessageMetadata { metadata: json!({ "a": 1 }) },
            json!({ "type": "message-metadata", "metadata": { "a": 1 } }),
        ),
        (
            Event::Unknown(UnknownEvent::new("banana", json!({ "type": "banana", "n": 1 }))),
            json!({ "type": "banana", "n": 1 }),
        ),
        (
            Event::RunFinished(RunFinished {
                usage: Some(Usage { input_tokens: Some(1), ..Usage::default() }),
                ..Default::default()
            }),
            json!({ "type": "finish", "messageId": "m1" }),
        ),
    ];
    let events: Vec<_> = table.iter().map(|(event, _)| event.clone()).collect();
    for (chunk, (_, expected)) in said(&events).iter().zip(&table) {
        assert_eq!(chunk, expected);
    }
}

#[test]
fn missing_parts_are_replaced() {
    let chunks = chunks(&[Record::new(0, delta("t", "x")), Record::new(1, delta("t", "y"))]);
    assert_eq!(types(&chunks), ["start", "text-start", "text-delta", "text-delta"]);
    let output = Event::ToolOutput(ToolOutput {
        call: "c".into(),
        name: Some("mail".into()),
        output: json!(1),
        ..Default::default()
    });
    let said_output = said(&[output]);
    assert_eq!(types(&said_output), ["tool-input-start", "tool-output-available"]);
    assert_eq!(said_output[0]["toolName"], "mail");
    let end = Event::BlockEnded(BlockEnded::new(BlockKind::Text, "t"));
    assert_eq!(types(&said(&[end, start("t"), start("t")])), ["text-start", "text-end", "text-start"]);
    let late = [finished(), start("t"), finished()];
    assert_eq!(types(&said(&late)), ["finish"]);
}

#[test]
fn unknown_chunk_that_the_client_knows_is_not_sent() {
    for kind in ["finish", "error", "data-x", "ping"] {
        let unknown = Event::Unknown(UnknownEvent::new(kind, json!({ "type": kind })));
        assert!(said(&[unknown]).is_empty(), "{kind}");
    }
}

#[test]
fn failed_run_ends_with_an_error_and_cancelled_run_with_abort() {
    let failed = said(&[Event::RunFailed(ErrorInfo::new("gone")), finished()]);
    assert_eq!(failed, [json!({ "type": "error", "errorText": "gone" })]);
    let stopped = said(&[Event::RunCancelled { reason: Some("bored".into()) }]);
    assert_eq!(stopped, [json!({ "type": "abort", "messageId": "m1" })]);
    let nothing = chunks(&[Record::new(0, ErrorInfo::new("gone"))]);
    assert_eq!(types(&nothing), ["start", "error"]);
}

#[test]
fn stream_that_is_closed_while_the_run_waits_completes_its_message() {
    let mut encoder = MuiEncoder::new(&EncodeOptions::default());
    let mut out = FrameWriter::new(Framing::Ndjson);
    for event in [started(), Event::RunWaiting(RunWaiting::default())] {
        encoder.record(&record(event), &mut out);
    }
    encoder.finish(&mut out);
    encoder.finish(&mut out);
    let lines = String::from_utf8(out.take()).unwrap();
    let last = r#"{"eventId":"m1:1","sequence":1,"chunk":{"type":"finish","messageId":"m1"}}"#;
    assert_eq!(lines.lines().nth(1), Some(last));
    assert_eq!(lines.lines().count(), 2);
}

#[test]
fn attempt_is_retracted_with_the_parts_that_stay() {
    let attempt = Some("a1");
    let records = [
        record(started()),
        record(start("kept")),
        record(delta("kept", "Kept")),
        record(AttemptStarted { attempt: "a1".into(), ..Default::default() }),
        Record::new(0, start("dead")).from(from("m1", attempt)),
        Record::new(0, delta("dead", "Dead")).from(from("m1", attempt)),
        record(start("moved")),
        record(AttemptRetracted { attempt: "a1".into(), ..Default::default() }),
        record(delta("kept", ", still")),
        record(delta("moved", "On")),
    ];
    let chunks = chunks(&records).split_off(6);
    let ends = |id: &str| json!({ "type": "text-end", "id": id });
    assert_eq!(chunks[0], ends("dead"));
    assert_eq!(chunks[1], ends("moved"));
    assert_eq!(
        chunks[2],
        json!({
            "type": "message-updated",
            "message": { "id": "m1", "parts": [
                { "type": "text", "text": "Kept", "state": "streaming" },
                { "type": "text", "text": "", "state": "done" },
            ] },
        })
    );
    assert_eq!(types(&chunks[3..]), ["text-delta", "text-start", "text-delta"]);
}

#[test]
fn data_of_the_same_id_is_replaced_by_saying_the_parts_again() {
    let data = |value: u8| {
        Event::Data(DataEvent {
            name: "chart".into(),
            id: Some("k".into()),
            data: json!(value),
            ..Default::default()
        })
    };
    let chunks = said(&[data(1), data(2)]);
    assert_eq!(types(&chunks), ["data-chart", "message-updated"]);
    assert_eq!(chunks[1]["message"]["parts"], json!([{ "type": "data-chart", "data": 2, "id": "k" }]));
}

#[test]
fn structured_object_is_a_data_part_until_it_is_invalidated() {
    let update = |op| Event::Structured(StructuredUpdate::new("s", "table", op));
    let chunks = said(&[
        update(StructuredOp::append("rows", [1])),
        update(StructuredOp::append("rows", [2])),
        Event::MessageFinished { message: "m1".into() },
        Event::StructuredInvalidated(StructuredInvalidated { stream: "s".into(), ..Default::default() }),
    ]);
    assert_eq!(types(&chunks), ["data-table", "message-updated", "message-updated"]);
    assert_eq!(chunks[0]["data"], json!({ "rows": [1] }));
    let part = json!({ "type": "data-table", "id": "s", "data": { "rows": [1, 2] } });
    assert_eq!(chunks[1]["message"]["parts"], json!([part]));
    assert_eq!(chunks[2]["message"]["parts"], json!([]));
}

#[test]
fn deltas_written_by_hand_are_what_serde_writes() {
    let delta = |id: &str| delta(id, "\u{2028}\"\\\n\u{0}é");
    for event in [delta("t"), Event::ToolInputDelta(ToolInputDelta::new("c", "{\""))] {
        let records = [record(started()), record(event)];
        let expected = chunks(&records).pop().unwrap();
        let mut encoder = MuiEncoder::new(&EncodeOptions::default());
        let mut out = FrameWriter::new(Framing::Ndjson);
        records.iter().for_each(|record| encoder.record(record, &mut out));
        let lines = String::from_utf8(out.take()).unwrap();
        let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        assert_eq!(last["chunk"], expected);
    }
}
