//! The named-event contract: its own example, the eleven points that it leaves open, and the laws of a dialect.

mod decisions;
mod objects;
mod plain;
mod requests;

use headwater_dialects::{EncodeOptions, Encoder, Finding, lint};
use headwater_protocol::{
    BlockDelta, BlockKind, ErrorEvent, ErrorInfo, Event, FinishReason, Framing, Message, MessageStarted,
    Origin, Record, Role, RunFinished, RunStarted, RunState, RunStatus, SourceUrl, StatusEvent, ToolCall,
    ToolInputAvailable, ToolOutput, ToolOutputError, Usage,
};
use serde_json::{Value, json};

use crate::flat::{FlatState, reduce_bytes};

/// The stream of the contract's document, with its elision filled in.
const EXAMPLE: &str = r#"event: meta
data: {"runId":"run_1","model":"gpt-5.1"}

event: message.start
data: {"messageId":"msg_1","role":"assistant"}

event: message.delta
data: {"messageId":"msg_1","delta":"Got it. Let me check that."}

event: tool.call
data: {"toolCallId":"tool_1","toolName":"webSearchBusiness","input":{"query":"Smith Masonry Denver"},"state":"input-available","messageId":"msg_1"}

event: tool.result
data: {"toolCallId":"tool_1","toolName":"webSearchBusiness","output":{"results":[{"name":"Smith Masonry","city":"Denver"}]},"state":"output-available","messageId":"msg_1"}

event: source
data: {"sourceId":"src_1","url":"https://example.com","title":"Example","toolCallId":"tool_1","messageId":"msg_1"}

event: message.end
data: {"messageId":"msg_1"}

event: done
data: {"runId":"run_1","finishReason":"stop"}

"#;

/// A stream of events, each a name and its data.
fn stream(events: &[(&str, Value)]) -> String {
    events.iter().map(|(name, data)| format!("event: {name}\ndata: {data}\n\n")).collect()
}

fn read(stream: &str) -> FlatState {
    reduce_bytes("agents", Framing::Sse, &[stream.as_bytes().to_vec()])
}

fn read_events(events: &[(&str, Value)]) -> FlatState {
    read(&stream(events))
}

fn encode(records: &[Record]) -> String {
    let mut encoder = Encoder::new(headwater_dialects::find("agents").unwrap(), &EncodeOptions::default());
    records.iter().for_each(|record| encoder.record(record));
    encoder.finish();
    String::from_utf8(encoder.take()).unwrap()
}

fn check(stream: &str) -> Vec<Finding> {
    lint(headwater_dialects::reader("agents").unwrap(), Framing::Sse, stream.as_bytes())
}

/// The names of the rules that a stream breaks.
fn broken(events: &[(&str, Value)]) -> Vec<&'static str> {
    check(&stream(events)).iter().map(|finding| finding.rule).collect()
}

/// A short description of a message's parts, in order.
fn parts(message: &Message) -> Vec<String> {
    let view = serde_json::to_value(message).unwrap();
    let short = |part: &Value| match part["type"].as_str().unwrap() {
        kind @ ("text" | "reasoning") => format!("{kind} {}", part["text"].as_str().unwrap()),
        "tool" => format!("tool {} {}", part["name"].as_str().unwrap(), part["state"].as_str().unwrap()),
        "source-url" => format!("source {}", part["source"].as_str().unwrap()),
        other => other.to_owned(),
    };
    view["parts"].as_array().unwrap().iter().map(short).collect()
}

fn view(state: &RunState) -> Value {
    serde_json::to_value(state.view()).unwrap()
}

#[test]
fn contract_example_is_decoded_without_findings() {
    let read = read(EXAMPLE);
    assert_eq!(read.decoded.errors, []);
    assert_eq!(check(EXAMPLE), []);
    assert_eq!(
        view(&read.state)["messages"],
        json!([{
            "id": "msg_1", "role": "assistant", "status": "sent",
            "parts": [
                { "type": "text", "text": "Got it. Let me check that.", "state": "done" },
                {
                    "type": "tool-webSearchBusiness", "toolName": "webSearchBusiness", "toolCallId": "tool_1",
                    "state": "output-available", "input": { "query": "Smith Masonry Denver" },
                    "output": { "results": [{ "name": "Smith Masonry", "city": "Denver" }] },
                },
                { "type": "source-url", "sourceId": "src_1", "url": "https://example.com", "title": "Example" },
            ],
        }]),
    );
    let run = read.state.run();
    assert_eq!(run.status, RunStatus::Finished);
    assert_eq!(run.started.model.as_deref(), Some("gpt-5.1"));
}

#[test]
fn contract_example_round_trips() {
    let again = encode(&read(EXAMPLE).decoded.records);
    assert_eq!(check(&again), []);
    let names: Vec<_> = again.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    let expected = "meta message.start message.delta tool.call tool.result source message.end done";
    assert_eq!(names.join(" "), expected);
    assert!(again.contains(r#""delta":"Got it. Let me check that."}"#));
    assert_eq!(view(&read(&again).state), view(&read(EXAMPLE).state));
}

#[test]
fn last_event_without_a_blank_line_is_read() {
    let cut = EXAMPLE.trim_end();
    assert_eq!(read(cut).decoded.errors, []);
    assert_eq!(view(&read(cut).state), view(&read(EXAMPLE).state));
    assert_eq!(check(cut), []);
}

#[test]
fn contract_events_have_exactly_its_fields() {
    let origin = |attempt: Option<&str>| Origin { attempt: attempt.map(Into::into), ..Origin::default() };
    let started = RunStarted {
        run: Some("run_1".into()),
        session: Some("s".into()),
        conversation: Some("k".into()),
        model: Some("gpt-5.1".into()),
        request: Some("req".into()),
        endpoint: Some("/api/chat".into()),
        ..RunStarted::default()
    };
    let text = Event::BlockDelta(BlockDelta::new(BlockKind::Text, "t", "a\n\u{2028}\"é"));
    let tool = ToolCall::new("c", "search");
    let output = Event::ToolOutput(ToolOutput {
        call: "c".into(),
        name: Some("search".into()),
        output: json!({ "n": 1 }),
        ..Default::default()
    });
    let failed = Event::ToolOutputError(ToolOutputError {
        call: "c".into(),
        name: Some("search".into()),
        error: "no".into(),
        ..Default::default()
    });
    let source = Event::SourceUrl(SourceUrl {
        source: "s".into(),
        url: "u".into(),
        title: Some("T".into()),
        call: Some("c".into()),
        ..Default::default()
    });
    let usage = Usage { input_tokens: Some(1), output_tokens: Some(2), ..Usage::default() };
    let error = ErrorInfo { retryable: Some(true), ..ErrorInfo::new("hm").code("server_error") };
    let finished = Event::RunFinished(RunFinished {
        reason: Some(FinishReason::ToolCalls),
        usage: Some(usage),
        ..Default::default()
    });
    let table = [
        (
            Record::new(0, Event::RunStarted(started)).at(1_768_155_720_000),
            r#"meta {"requestId":"req","runId":"run_1","sessionId":"s","conversationId":"k","model":"gpt-5.1","endpoint":"/api/chat","createdAt":"2026-01-11T18:22:00.000Z"}"#,
        ),
        (
            Record::new(
                1,
                Event::MessageStarted(MessageStarted {
                    message: "m".into(),
                    role: Role::Assistant,
                    ..Default::default()
                }),
            )
            .at(1_768_155_721_000),
            r#"message.start {"messageId":"m","role":"assistant","createdAt":"2026-01-11T18:22:01.000Z"}"#,
        ),
        (
            Record::new(2, text).from(origin(Some("at"))),
            "message.delta {\"messageId\":\"m\",\"partId\":\"t\",\"delta\":\"a\\n\u{2028}\\\"é\"}",
        ),
        (
            Record::new(3, Event::ToolInputAvailable(ToolInputAvailable::new(tool, json!({ "q": 1.5 })))),
            r#"tool.call {"toolCallId":"c","toolName":"search","input":{"q":1.5},"state":"input-available","messageId":"m"}"#,
        ),
        (
            Record::new(4, output),
            r#"tool.result {"toolCallId":"c","toolName":"search","output":{"n":1},"state":"output-available","messageId":"m"}"#,
        ),
        (
            Record::new(5, failed),
            r#"tool.result {"toolCallId":"c","toolName":"search","errorText":"no","state":"output-error","messageId":"m"}"#,
        ),
        (
            Record::new(6, source),
            r#"source {"sourceId":"s","url":"u","title":"T","toolCallId":"c","messageId":"m"}"#,
        ),
        (
            Record::new(
                7,
                Event::Status(StatusEvent {
                    state: Some("streaming".into()),
                    message: Some("on".into()),
                    ..Default::default()
                }),
            ),
            r#"status {"state":"streaming","message":"on"}"#,
        ),
        (
            Record::new(8, Event::Error(ErrorEvent { error, ..Default::default() })),
            r#"error {"message":"hm","code":"server_error","retryable":true,"terminal":false}"#,
        ),
        (Record::new(9, Event::MessageFinished { message: "m".into() }), r#"message.end {"messageId":"m"}"#),
        (
            Record::new(10, finished),
            r#"done {"runId":"run_1","finishReason":"tool-calls","usage":{"inputTokens":1,"outputTokens":2}}"#,
        ),
    ];
    let mut encoder = Encoder::new(headwater_dialects::find("agents").unwrap(), &EncodeOptions::default());
    for (record, expected) in &table {
        encoder.record(record);
        let (name, data) = expected.split_once(' ').unwrap();
        let sent = encoder.take();
        assert_eq!(String::from_utf8_lossy(&sent), format!("event: {name}\ndata: {data}\n\n"));
    }
    encoder.record(&Record::new(11, Event::Message { content: "after the end".into() }));
    encoder.finish();
    assert_eq!(encoder.bytes(), b"");
}

#[test]
fn invalid_frames_are_reported_with_their_position_and_skipped() {
    let read = read(
        "event: meta\ndata: {}\n\n\
         event: message.delta\ndata: {\"messageId\":\"m\",\"delta\":7}\n\n\
         event: message.delta\ndata: {oops\n\n\
         data: {\"messageId\":\"m\"}\n\n\
         event: message.delta\ndata: {\"messageId\":\"m\",\"delta\":\"fine\"}\n\n\
         event: done\ndata: {}\n\n",
    );
    let places: Vec<_> = read
        .decoded
        .errors
        .iter()
        .map(|error| (error.kind().as_str(), error.place().unwrap().frame))
        .collect();
    assert_eq!(places, [("field", 1), ("json", 2), ("unknown-type", 3)]);
    assert!(read.decoded.fatal().is_none());
    assert_eq!(read.state.messages()[0].plain_text(), "fine");
}

#[test]
fn every_lint_rule_has_a_violation() {
    let meta = || ("meta", json!({ "runId": "r" }));
    let start = || ("message.start", json!({ "messageId": "m", "role": "assistant" }));
    let call = || {
        (
            "tool.call",
            json!({ "toolCallId": "c", "toolName": "t", "state": "input-available", "messageId": "m" }),
        )
    };
    let source = || ("source", json!({ "sourceId": "s", "url": "u", "messageId": "m" }));
    let end = || ("message.end", json!({ "messageId": "m" }));
    let done = || ("done", json!({ "runId": "r" }));
    let delta = |call: &str| {
        (
            "tool.delta",
            json!({ "toolCallId": call, "delta": "", "state": "input-streaming", "messageId": "m" }),
        )
    };
    let result = |fields: Value| {
        let mut data =
            json!({ "toolCallId": "c", "state": "output-available", "messageId": "m", "output": 1 });
        data.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        ("tool.result", data)
    };
    let table: Vec<(&str, Vec<(&str, Value)>)> = vec![
        ("event-name", vec![meta(), ("", json!({})), done()]),
        ("json", vec![meta(), ("status", json!([1])), done()]),
        ("fields", vec![meta(), start(), ("message.delta", json!({ "messageId": "m", "delta": 1 })), done()]),
        ("date", vec![("meta", json!({ "createdAt": "yesterday" })), done()]),
        ("meta-first", vec![start(), meta(), done()]),
        ("meta-once", vec![meta(), meta(), done()]),
        ("message-started", vec![meta(), call(), done()]),
        ("message-start-once", vec![meta(), start(), start(), done()]),
        ("message-end", vec![meta(), start(), end(), end(), done()]),
        ("tool-delta-order", vec![meta(), start(), call(), delta("c"), done()]),
        ("tool-call-once", vec![meta(), start(), call(), call(), done()]),
        ("tool-known", vec![meta(), start(), result(json!({})), done()]),
        ("tool-message", vec![meta(), start(), call(), result(json!({ "messageId": "other" })), done()]),
        ("tool-state", vec![meta(), start(), call(), result(json!({ "state": "input-available" })), done()]),
        ("tool-outcome", vec![meta(), start(), call(), result(json!({ "state": "output-error" })), done()]),
        ("source-once", vec![meta(), start(), source(), source(), done()]),
        ("run-id", vec![meta(), ("done", json!({ "runId": "other" }))]),
        ("end-last", vec![meta(), done(), done()]),
        ("end-present", vec![meta(), start()]),
    ];
    for (rule, events) in &table {
        assert_eq!(broken(events), [*rule], "{events:?}");
    }
    let mut tested: Vec<_> = table.iter().map(|(rule, _)| *rule).collect();
    tested.push("framing");
    for rule in headwater_dialects::reader("agents").unwrap().lint_rules() {
        assert!(tested.contains(&rule.name), "{} is never broken", rule.name);
    }
}
