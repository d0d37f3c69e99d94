//! One test for each point that the contract leaves open, in the order of `docs/dialects.md`.

use headwater_dialects::RequestCursor;
use headwater_protocol::{
    BlockDelta, BlockKind, ErrorKind, Event, FinishReason, MessageStatus, Origin, Record, Role, RunFinished,
    RunStatus, StatusEvent, ToolInputDelta, ToolState, UnknownEvent, Usage,
};
use serde_json::{Value, json};

use super::{broken, check, encode, parts, read, read_events, stream};

fn begin() -> [(&'static str, Value); 2] {
    [
        ("meta", json!({ "runId": "run_1" })),
        ("message.start", json!({ "messageId": "m1", "role": "assistant" })),
    ]
}

fn within(events: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
    let mut all = begin().to_vec();
    all.extend_from_slice(events);
    all.push(("done", json!({ "runId": "run_1", "finishReason": "stop" })));
    all
}

fn delta(text: &str) -> (&'static str, Value) {
    ("message.delta", json!({ "messageId": "m1", "delta": text }))
}

fn tool_delta(call: &str, name: Option<&str>, text: &str) -> (&'static str, Value) {
    let mut data =
        json!({ "toolCallId": call, "delta": text, "state": "input-streaming", "messageId": "m1" });
    if let Some(name) = name {
        data["toolName"] = json!(name);
    }
    ("tool.delta", data)
}

fn tool_call(call: &str, input: &Value) -> (&'static str, Value) {
    let data = json!({ "toolCallId": call, "toolName": "search", "input": input,
                       "state": "input-available", "messageId": "m1" });
    ("tool.call", data)
}

fn tool_result(call: &str, output: &Value) -> (&'static str, Value) {
    let data = json!({ "toolCallId": call, "toolName": "search", "output": output,
                       "state": "output-available", "messageId": "m1" });
    ("tool.result", data)
}

fn order_errors(events: &[(&str, Value)]) -> Vec<u64> {
    let errors = read_events(events).decoded.errors;
    let order = errors.iter().filter(|error| error.kind() == ErrorKind::Order);
    order.map(|error| error.place().unwrap().frame).collect()
}

#[test]
fn decision_1_tool_delta_may_name_the_tool_and_comes_before_the_call() {
    let named = read_events(&within(&[tool_delta("c1", Some("search"), "{\"q\":")]));
    assert_eq!(parts(&named.state.messages()[0]), ["tool search input-streaming"]);

    // Without a name the part still exists, and the call fills the name in.
    let unnamed = [tool_delta("c1", None, "{}")];
    assert_eq!(parts(&read_events(&within(&unnamed)).state.messages()[0]), ["tool  input-streaming"]);
    assert_eq!(check(&stream(&within(&unnamed))), []);
    let filled = [tool_delta("c1", None, "{}"), tool_call("c1", &json!({}))];
    assert_eq!(parts(&read_events(&within(&filled)).state.messages()[0]), ["tool search input-available"]);

    // We name it on the first, empty delta only.
    let records = [
        Record::new(0, Event::ToolInputStart(headwater_protocol::ToolCall::new("c1", "search"))),
        Record::new(1, Event::ToolInputDelta(ToolInputDelta::new("c1", "{"))),
    ];
    let sent = encode(&records);
    let deltas: Vec<_> = sent.lines().filter(|line| line.contains("\"delta\"")).collect();
    assert_eq!(
        deltas,
        [
            r#"data: {"toolCallId":"c1","toolName":"search","delta":"","state":"input-streaming","messageId":"message-1"}"#,
            r#"data: {"toolCallId":"c1","delta":"{","state":"input-streaming","messageId":"message-1"}"#,
        ],
    );
}

#[test]
fn decision_2_input_is_raw_text_until_the_call_and_never_goes_back() {
    let events = within(&[
        tool_delta("c1", Some("search"), "{\"q\":\"Den"),
        tool_delta("c1", None, "ver\"}"),
        tool_call("c1", &json!({ "q": "Denver" })),
        tool_delta("c1", None, "more"),
    ]);
    assert_eq!(order_errors(&events), [5]);
    let read_all = read_events(&events);
    let tool = read_all.state.messages()[0].tool("c1").unwrap().clone();
    assert_eq!((tool.state, tool.input), (ToolState::InputAvailable, Some(json!({ "q": "Denver" }))));
    assert_eq!(broken(&events), ["tool-delta-order"]);

    let half = read_events(&events[..4]);
    assert_eq!(half.state.messages()[0].tool("c1").unwrap().input_text, "{\"q\":\"Denver\"}");
}

#[test]
fn decision_3_a_delta_after_another_part_opens_a_new_text_part() {
    let events = within(&[
        delta("a"),
        delta("b"),
        tool_call("c1", &json!({})),
        delta("c"),
        // A result changes an existing part: the text continues.
        tool_result("c1", &json!(1)),
        delta("d"),
        ("source", json!({ "sourceId": "s1", "url": "u", "messageId": "m1" })),
        delta("e"),
    ]);
    let read = read_events(&events);
    assert_eq!(
        parts(&read.state.messages()[0]),
        ["text ab", "tool search output-available", "text cd", "source s1", "text e"],
    );
    assert_eq!(check(&stream(&events)), []);

    // A named part is continued, wherever it is.
    let named = |part: &str, text: &str| {
        ("message.delta", json!({ "messageId": "m1", "partId": part, "delta": text }))
    };
    let woven = within(&[named("x", "1"), named("y", "2"), tool_call("c1", &json!({})), named("x", "3")]);
    let parts = parts(&read_events(&woven).state.messages()[0]);
    assert_eq!(parts, ["text 13", "text 2", "tool search input-available"]);
}

#[test]
fn decision_4_error_is_terminal_if_marked_so_or_last() {
    let error = |terminal: Option<bool>| {
        let mut data = json!({ "message": "no", "code": "server_error", "retryable": true });
        if let Some(terminal) = terminal {
            data["terminal"] = json!(terminal);
        }
        ("error", data)
    };
    let end = || ("message.end", json!({ "messageId": "m1" }));
    let done = || ("done", json!({ "usage": { "inputTokens": 3 } }));
    let table = [
        (vec![error(Some(true))], RunStatus::Failed),
        (vec![error(None)], RunStatus::Failed),
        (vec![error(None), done()], RunStatus::Failed),
        (vec![error(None), end(), done()], RunStatus::Failed),
        (vec![error(None), delta("on"), done()], RunStatus::Finished),
        (vec![error(Some(false)), done()], RunStatus::Finished),
        (vec![error(Some(true)), done()], RunStatus::Failed),
    ];
    for (events, status) in table {
        let mut all = begin().to_vec();
        all.extend(events);
        let read = read_events(&all);
        assert_eq!(read.decoded.errors, [], "{all:?}");
        assert_eq!(read.state.run().status, status, "{all:?}");
        assert_eq!(read.state.run().error.as_ref().unwrap().code.as_deref(), Some("server_error"));
    }

    // The failure is the last event: after `done` a plain reader would be `ready`.
    let sent = encode(&[Record::new(0, Event::RunFailed(headwater_protocol::ErrorInfo::new("no")))]);
    assert!(sent.ends_with("event: error\ndata: {\"message\":\"no\",\"terminal\":true}\n\n"), "{sent}");
    assert_eq!(check(&sent), []);
    let mut after = begin().to_vec();
    after.extend([error(Some(true)), done()]);
    assert_eq!(broken(&after), ["end-last"]);
}

#[test]
fn decision_5_a_stream_without_done_was_cut_and_nothing_counts_after_it() {
    let mut cut = begin().to_vec();
    cut.push(delta("hal"));
    let read = read_events(&cut);
    assert_eq!(read.decoded.errors[0].kind(), ErrorKind::Cut);
    assert_eq!(read.state.run().status, RunStatus::Failed);
    assert_eq!(read.state.messages()[0].status, MessageStatus::Error);

    // `done` ends the open messages.
    let open = within(&[delta("whole")]);
    let read = read_events(&open);
    assert_eq!(read.decoded.errors, []);
    assert_eq!(read.state.messages()[0].status, MessageStatus::Sent);

    let mut late = open.clone();
    late.extend([delta("late"), ("done", json!({})), ("meta", json!({}))]);
    assert_eq!(order_errors(&late), [4, 5, 6]);
    assert_eq!(read_events(&late).state.messages()[0].plain_text(), "whole");

    let twice = within(&[("meta", json!({ "runId": "other" }))]);
    assert_eq!(order_errors(&twice), [2]);
    assert_eq!(read_events(&twice).state.run().started.run.as_ref().unwrap().as_str(), "run_1");

    // We never send `done` for a run that did not end.
    assert!(!encode(&[Record::new(0, Event::Message { content: "hal".into() })]).contains("event: done"));
}

#[test]
fn decision_6_an_event_belongs_to_the_message_that_it_names() {
    let to = |message: &str, text: &str| ("message.delta", json!({ "messageId": message, "delta": text }));
    let events = within(&[
        to("m1", "a"),
        // A message without a start begins here …
        to("m2", "b"),
        // … and both are open.
        to("m1", "c"),
        tool_call("c1", &json!({})),
        ("message.end", json!({ "messageId": "m1" })),
        // A result goes to the message that holds the call, even after its end.
        (
            "tool.result",
            json!({ "toolCallId": "c1", "output": 1, "state": "output-available", "messageId": "m2" }),
        ),
        to("m2", "d"),
    ]);
    let read = read_events(&events);
    assert_eq!(read.decoded.errors, []);
    assert_eq!(parts(&read.state.messages()[0]), ["text ac", "tool search output-available"]);
    assert_eq!(parts(&read.state.messages()[1]), ["text bd"]);

    // Text after the end gets its own part; the message stays ended.
    let late =
        within(&[to("m1", "a"), ("message.end", json!({ "messageId": "m1" })), to("m1", "b"), to("m1", "c")]);
    let read = read_events(&late);
    assert_eq!((read.decoded.errors.len(), check(&stream(&late)).len()), (0, 0));
    assert_eq!(parts(&read.state.messages()[0]), ["text a", "text bc"]);
    let before_done = read_events(&late[..6]);
    assert_eq!(before_done.state.messages()[0].status, MessageStatus::Sent);

    // Without any id there is still a message.
    let bare = read_events(&[("message.delta", json!({ "delta": "hi" })), ("done", json!({}))]);
    assert_eq!(parts(&bare.state.messages()[0]), ["text hi"]);

    // A message is started once, whatever comes later.
    let message = || Origin { message: Some("m1".into()), ..Origin::default() };
    let text = || Event::BlockDelta(BlockDelta::new(BlockKind::Text, "t", "x"));
    let records = [
        Record::new(0, text()).from(message()),
        Record::new(1, Event::MessageFinished { message: "m1".into() }),
        Record::new(2, text()).from(message()),
        Record::new(3, Event::RunFinished(RunFinished::default())),
    ];
    let sent = encode(&records);
    assert_eq!(sent.matches("event: message.start\n").count(), 1, "{sent}");
    assert_eq!(check(&sent), []);
}

#[test]
fn decision_7_repeated_events_count_once_and_a_cursor_resumes() {
    let source = || ("source", json!({ "sourceId": "s1", "url": "u", "messageId": "m1" }));
    let events = within(&[
        ("message.start", json!({ "messageId": "m1", "role": "user" })),
        tool_call("c1", &json!({ "first": true })),
        tool_result("c1", &json!(1)),
        tool_call("c1", &json!({ "first": false })),
        source(),
        source(),
        tool_result("c1", &json!(1)),
    ]);
    let read_all = read_events(&events);
    assert_eq!(read_all.decoded.errors, []);
    let message = &read_all.state.messages()[0];
    assert_eq!(message.role, Role::Assistant);
    assert_eq!(parts(message), ["tool search output-available", "source s1"]);
    assert_eq!(message.tool("c1").unwrap().input, Some(json!({ "first": true })));

    // Cursors are `id:` lines, a comment keeps the connection open, `Last-Event-ID` resumes.
    let dialect = headwater_dialects::find("agents").unwrap();
    let mut encoder =
        headwater_dialects::Encoder::new(dialect, &headwater_dialects::EncodeOptions::default());
    encoder.record(&Record::new(0, Event::RunStarted(headwater_protocol::RunStarted::default())));
    encoder.clear();
    let event = Event::Status(StatusEvent { state: Some("streaming".into()), ..Default::default() });
    encoder.record_with_ids(&Record::new(1, event), &mut |_, _| "run_1.7".to_owned()).unwrap();
    assert_eq!(
        String::from_utf8_lossy(encoder.bytes()),
        "id: run_1.7\nevent: status\ndata: {\"state\":\"streaming\"}\n\n",
    );
    assert_eq!(encoder.profile().keep_alive, headwater_dialects::KeepAlive::Comment);
    let request = headwater_dialects::RawRequest {
        method: "GET",
        target: "/api/chat/run_1/stream",
        headers: &[("Last-Event-ID", "run_1.7")],
        body: b"",
    };
    let request = dialect.parse_request(&request).unwrap();
    assert_eq!(request.cursor, Some(RequestCursor::EventId("run_1.7".into())));
    assert_eq!(request.run.unwrap().as_str(), "run_1");

    // A reader that saw nothing before the cursor can read the rest.
    let tail = read(
        "event: tool.delta\ndata: {\"toolCallId\":\"c1\",\"delta\":\"}\",\"state\":\"input-streaming\",\"messageId\":\"m1\"}\n\nevent: done\ndata: {}\n\n",
    );
    assert_eq!(tail.decoded.errors, []);
    let kinds: Vec<_> = tail.decoded.records.iter().map(|record| record.event.kind().name()).collect();
    assert_eq!(kinds, ["tool-input-delta", "run-finished"]);
}

#[test]
fn decision_8_extensions_are_few_and_in_the_same_style() {
    let m1 = |mut data: Value| {
        data["messageId"] = json!("m1");
        data
    };
    let asked = json!({ "toolCallId": "c1", "toolName": "search", "state": "approval-requested",
                        "approval": { "id": "a1", "signature": "sig" } });
    let answered = json!({ "toolCallId": "c1", "toolName": "search", "state": "approval-responded",
                           "approval": { "id": "a1", "approved": false } });
    let denied =
        json!({ "toolCallId": "c1", "toolName": "search", "state": "output-denied", "reason": "too dear" });
    let events = within(&[
        ("reasoning.delta", m1(json!({ "partId": "r", "delta": "hm" }))),
        tool_call("c1", &json!({})),
        ("tool.call", m1(asked)),
        ("tool.call", m1(answered)),
        ("tool.result", m1(denied)),
        ("file", m1(json!({ "url": "https://example.com/a.png", "mediaType": "image/png" }))),
        ("data", m1(json!({ "name": "weather", "dataId": "w", "data": { "c": 21 } }))),
        ("data", json!({ "name": "progress", "data": 50, "transient": true })),
    ]);
    assert_eq!(check(&stream(&events)), []);
    let read = read_events(&events);
    assert_eq!(read.decoded.errors, []);
    let message = &read.state.messages()[0];
    assert_eq!(parts(message), ["reasoning hm", "tool search output-denied", "file", "data"]);
    let denied = message.tool("c1").unwrap().approval.clone().unwrap();
    assert_eq!((denied.approved, denied.reason.as_deref()), (Some(false), Some("too dear")));
    assert_eq!(denied.signature.as_deref(), Some("sig"));

    // `null` is an output; no output at all is read as `null`.
    let null = read_events(&within(&[tool_call("c1", &json!(null)), tool_result("c1", &json!(null))]));
    let tool = null.state.messages()[0].tool("c1").unwrap().clone();
    assert_eq!((tool.input, tool.output), (Some(json!(null)), Some(json!(null))));
}

#[test]
fn decision_9_states_are_open_words_and_usage_counts_what_we_count() {
    for state in ["submitted", "streaming", "waiting", "ready", "error", "rendering the invoice"] {
        let events = within(&[("status", json!({ "state": state, "message": "…" }))]);
        assert_eq!(check(&stream(&events)), []);
        let event = Event::Status(StatusEvent {
            state: Some(state.into()),
            message: Some("…".into()),
            ..Default::default()
        });
        assert!(read_events(&events).decoded.records.iter().any(|record| record.event == event));
    }
    for (word, reason) in [
        ("stop", FinishReason::Stop),
        ("tool-calls", FinishReason::ToolCalls),
        ("content_filter", FinishReason::ContentFilter),
        ("guardrail", FinishReason::Other("guardrail".into())),
    ] {
        let usage = json!({ "inputTokens": 5, "outputTokens": 6, "totalTokens": 11, "reasoningTokens": 2,
                            "cachedInputTokens": 1 });
        let read =
            read_events(&[begin()[0].clone(), ("done", json!({ "finishReason": word, "usage": usage }))]);
        let run = read.state.run();
        assert_eq!(run.finish_reason, Some(reason));
        let expected = Usage {
            input_tokens: Some(5),
            output_tokens: Some(6),
            total_tokens: Some(11),
            reasoning_tokens: Some(2),
            cached_input_tokens: Some(1),
            cache_write_tokens: None,
        };
        assert_eq!(run.usage, Some(expected));
    }
}

#[test]
fn decision_10_roles_dates_and_unknown_fields() {
    let read = read_events(&[
        ("meta", json!({ "createdAt": "2026-01-11T18:22:00.000Z", "colour": "blue" })),
        ("message.start", json!({ "messageId": "m0" })),
        (
            "message.start",
            json!({ "messageId": "m1", "role": "user", "createdAt": "2026-01-11T18:22:01.000Z" }),
        ),
        ("message.start", json!({ "messageId": "m2", "role": "system" })),
        ("message.start", json!({ "messageId": "m3", "role": "narrator", "createdAt": "noon" })),
        ("confetti", json!({ "amount": 3 })),
        ("done", json!({})),
    ]);
    let roles: Vec<_> = read.state.messages().iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::Assistant, Role::User, Role::System, Role::Assistant]);
    let kinds: Vec<_> =
        read.decoded.errors.iter().map(|error| (error.kind(), error.place().unwrap().frame)).collect();
    assert_eq!(kinds, [(ErrorKind::Field, 4), (ErrorKind::Field, 4)]);
    let times: Vec<_> = read.decoded.records.iter().map(|record| record.time).collect();
    assert_eq!(times[..3], [1_768_155_720_000, 0, 1_768_155_721_000]);

    // Unknown events are kept.
    let confetti = Event::Unknown(UnknownEvent::new("confetti", json!({ "amount": 3 })));
    assert!(read.decoded.records.iter().any(|record| record.event == confetti));
}

#[test]
fn decision_11_leaving_does_not_stop_and_tool_choice_is_passed_on() {
    let dialect = headwater_dialects::find("agents").unwrap();
    let stop = headwater_dialects::RawRequest::post("/api/chat/run_1/stop", b"{}");
    let stop = dialect.parse_request(&stop).unwrap();
    assert_eq!(stop.action, headwater_dialects::Action::Stop);
    assert_eq!(stop.run.unwrap().as_str(), "run_1");

    for choice in [json!("auto"), json!({ "type": "tool", "toolName": "search" })] {
        let body = json!({ "messages": [{ "id": "u", "role": "user", "parts": [] }], "toolChoice": choice });
        let body = body.to_string();
        let request = headwater_dialects::RawRequest::post("/api/chat", body.as_bytes());
        assert_eq!(dialect.parse_request(&request).unwrap().tool_choice, Some(choice));
    }
    let body = br#"{"messages":[],"toolChoice":3}"#;
    let error = dialect.parse_request(&headwater_dialects::RawRequest::post("/api/chat", body)).unwrap_err();
    assert_eq!(error.to_string(), "`toolChoice` must be a string or an object, not a number");

    // A stopped run is reported as such.
    let sent = encode(&[Record::new(0, Event::RunCancelled { reason: Some("user".into()) })]);
    assert!(sent.ends_with("event: done\ndata: {\"finishReason\":\"cancelled\"}\n\n"));
    assert_eq!(read(&sent).state.run().status, RunStatus::Cancelled);
}
