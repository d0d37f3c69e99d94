use headwater_protocol::{
    ApprovalRequested, Executor, MessageStarted, Role, ToolCall, ToolInputAvailable, ToolInputDelta,
    ToolOutput,
};

use super::*;
use crate::{Encoder, responses::Responses};

fn started() -> Event {
    Event::RunStarted(RunStarted {
        run: Some("run_1".into()),
        model: Some("demo".into()),
        ..RunStarted::default()
    })
}

fn delta(kind: BlockKind, text: &str) -> Event {
    Event::BlockDelta(BlockDelta::new(kind, "b1", text))
}

fn within(attempt: &str, event: Event) -> Record {
    Record::new(0, event).from(Origin { attempt: Some(attempt.into()), ..Origin::default() })
}

/// The events of a run, each as type and data.
fn encode(records: impl IntoIterator<Item = Record>) -> Vec<(String, Value)> {
    let mut encoder = Encoder::new(&Responses, &EncodeOptions::default());
    for (seq, mut record) in (1..).zip(records) {
        record.seq = seq;
        encoder.record(&record);
    }
    encoder.finish();
    let body = String::from_utf8(encoder.take()).unwrap();
    let frames = body.split("\n\n").filter_map(|frame| frame.split_once("\ndata: "));
    let read = |(event, data): (&str, &str)| {
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(event.strip_prefix("event: "), data["type"].as_str(), "{data}");
        (data["type"].as_str().unwrap().to_owned(), data)
    };
    frames.map(read).collect()
}

fn plain(events: impl IntoIterator<Item = Event>) -> Vec<(String, Value)> {
    encode(events.into_iter().map(|event| Record::new(0, event)))
}

fn types(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(kind, _)| kind.trim_start_matches("response.")).collect()
}

fn last(events: &[(String, Value)]) -> &Value {
    &events.last().unwrap().1["response"]
}

#[test]
fn text_and_reasoning_are_items_with_numbered_events() {
    let events = plain([
        started(),
        Event::MessageStarted(MessageStarted { message: "m1".into(), role: Role::Assistant, author: None }),
        Event::BlockStarted(BlockStarted::new(BlockKind::Reasoning, "b1")),
        delta(BlockKind::Reasoning, "Hm."),
        Event::BlockEnded(BlockEnded::new(BlockKind::Reasoning, "b1")),
        Event::BlockStarted(BlockStarted::new(BlockKind::Text, "empty")),
        Event::BlockEnded(BlockEnded::new(BlockKind::Text, "empty")),
        delta(BlockKind::Text, "Hel"),
        delta(BlockKind::Text, "lo"),
        Event::RunFinished(RunFinished::default()),
    ]);
    let expected = [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ];
    assert_eq!(types(&events), expected);
    for (number, (_, data)) in events.iter().enumerate() {
        assert_eq!(data["sequence_number"], number);
    }
    let response = last(&events);
    assert_eq!((&response["id"], &response["model"]), (&json!("resp_run_1.0"), &json!("demo")));
    assert_eq!(response["output"][0]["summary"][0]["text"], "Hm.");
    assert_eq!(response["output"][1]["content"][0]["text"], "Hello");
}

#[test]
fn failed_attempt_is_absent_from_the_output() {
    let text = |attempt: &str, text: &str| within(attempt, delta(BlockKind::Text, text));
    let gone = AttemptRetracted { attempt: "a1".into(), reason: None };
    let events = encode([
        Record::new(0, started()),
        text("a1", "Goo"),
        Record::new(0, Event::AttemptRetracted(gone)),
        text("a2", "Hello"),
        Record::new(0, Event::RunFinished(RunFinished::default())),
    ]);
    let closed: Vec<_> = events.iter().filter(|(kind, _)| kind.ends_with("output_item.done")).collect();
    assert_eq!(
        (&closed[0].1["item"]["status"], &closed[1].1["item"]["status"]),
        (&json!("incomplete"), &json!("completed"))
    );
    let output = last(&events)["output"].as_array().unwrap();
    assert_eq!((output.len(), &output[0]["content"][0]["text"]), (1, &json!("Hello")));
}

#[test]
fn call_of_the_client_is_sent_when_the_run_waits_for_it() {
    let tool = |call: &str| ToolCall::new(call, "locate").by(Executor::Client);
    let events = plain([
        started(),
        Event::ToolInputStart(tool("c1")),
        Event::ToolInputDelta(ToolInputDelta::new("c1", "{\"a\":")),
        Event::ToolInputAvailable(ToolInputAvailable::new(tool("c1"), json!({ "a": 1 }))),
        Event::ToolInputAvailable(ToolInputAvailable::new(tool("c2"), json!({}))),
        Event::RunWaiting(RunWaiting { tool_calls: vec!["c1".into()], ..RunWaiting::default() }),
    ]);
    let expected = [
        "created",
        "in_progress",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ];
    assert_eq!(types(&events), expected);
    let call = &last(&events)["output"][0];
    assert_eq!((&call["call_id"], &call["arguments"]), (&json!("c1"), &json!("{\"a\":1}")));
}

#[test]
fn call_of_the_agent_is_an_mcp_call_and_its_approval_a_request() {
    let tool = || ToolCall::new("c1", "delete");
    let input = json!({ "path": "x" });
    let before = [
        started(),
        Event::ToolInputAvailable(ToolInputAvailable::new(tool(), input.clone())),
        Event::ApprovalRequested(ApprovalRequested {
            approval: "req_1".into(),
            tool: tool(),
            input: Some(input),
            ..ApprovalRequested::default()
        }),
        Event::RunWaiting(RunWaiting::default()),
    ];
    let events = plain(before.clone());
    let output = last(&events)["output"].as_array().unwrap();
    assert_eq!((output.len(), &output[0]["type"]), (1, &json!("mcp_approval_request")));

    let mut encoder = Encoder::new(&Responses, &EncodeOptions::default());
    for (seq, event) in (1..).zip(before) {
        encoder.record(&Record::new(seq, event));
    }
    encoder.next_response();
    encoder.record(&Record::new(5, Event::ToolOutput(ToolOutput::new("c1", json!({ "ok": true })))));
    encoder.record(&Record::new(6, Event::RunFinished(RunFinished::default())));
    let body = String::from_utf8(encoder.take()).unwrap();
    assert!(
        body.starts_with(
            "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,"
        )
    );
    for part in ["resp_run_1.4", r#""output":"{\"ok\":true}""#, r#""approval_request_id":"req_1""#] {
        assert!(body.contains(part), "no {part} in {body}");
    }
}

#[test]
fn question_is_a_call_of_ask_user_until_it_is_answered() {
    let asks = || Event::InterruptRequested(Box::new(Interrupt::text("req_1", "Which city?")));
    let events = plain([started(), asks(), Event::RunWaiting(RunWaiting::default())]);
    let call = &last(&events)["output"][0];
    assert_eq!((&call["name"], &call["call_id"]), (&json!("ask_user"), &json!("req_1")));
    let answered = Event::InterruptAnswered(InterruptAnswered { request: "req_1".into(), answer: None });
    let events = plain([started(), asks(), answered, Event::RunWaiting(RunWaiting::default())]);
    assert_eq!(last(&events)["output"], json!([]));
}

#[test]
fn end_has_its_reason() {
    let cut = |reason| Event::RunFinished(RunFinished { reason: Some(reason), ..RunFinished::default() });
    for (end, kind, status) in [
        (cut(FinishReason::Stop), "completed", "completed"),
        (cut(FinishReason::Length), "incomplete", "incomplete"),
        (cut(FinishReason::ContentFilter), "incomplete", "incomplete"),
        (Event::RunFailed(ErrorInfo::new("no")), "failed", "failed"),
        (Event::RunCancelled { reason: None }, "incomplete", "cancelled"),
    ] {
        let events = plain([started(), delta(BlockKind::Text, "x"), end]);
        assert_eq!((*types(&events).last().unwrap(), &last(&events)["status"]), (kind, &json!(status)));
    }
}

#[test]
fn usage_of_a_response_is_its_own() {
    let usage =
        |output| Some(Usage { input_tokens: Some(1), output_tokens: Some(output), ..Usage::default() });
    let mut encoder = ResponsesEncoder::new(&EncodeOptions::default());
    let mut out = FrameWriter::new(headwater_protocol::Framing::Sse);
    encoder.record(&Record::new(1, started()), &mut out);
    encoder.record(
        &Record::new(2, Event::RunWaiting(RunWaiting { usage: usage(5), ..RunWaiting::default() })),
        &mut out,
    );
    encoder.next_response(&mut out);
    let end = RunFinished { usage: usage(7), ..RunFinished::default() };
    encoder.record(&Record::new(3, Event::RunFinished(end)), &mut out);
    assert_eq!(encoder.document().usage.unwrap().output_tokens, Some(2));
}
