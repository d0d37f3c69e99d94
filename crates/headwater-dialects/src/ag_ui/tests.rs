//! Our own streams, encoded and decoded.

mod tanstack;
mod waiting;

use headwater_protocol::{
    ApprovalRequested, AttemptRetracted, BlockDelta, BlockEnded, BlockKind, BlockStarted, Event, Executor,
    FinishReason, Framing, Interrupt, Message, MessageStarted, Origin, Record, Role, RunFinished, RunStarted,
    RunState, RunWaiting, ToolCall, ToolInputAvailable, ToolInputDelta, ToolInputError, ToolOutput,
};
use serde_json::{Value, json};

use crate::{DecodeOutput, Decoder, EncodeOptions, Encoder, find, lint};

fn dialect() -> &'static dyn crate::Dialect {
    find("ag-ui").unwrap()
}

fn reader() -> &'static dyn crate::Reader {
    crate::reader("ag-ui").unwrap()
}

fn started() -> Event {
    Event::RunStarted(RunStarted {
        run: Some("r1".into()),
        session: Some("t1".into()),
        ..RunStarted::default()
    })
}

fn record(attempt: Option<&str>, event: impl Into<Event>) -> Record {
    let attempt = attempt.map(Into::into);
    Record::new(0, event).from(Origin { message: Some("m1".into()), attempt, ..Origin::default() })
}

fn text(attempt: Option<&str>, id: &str, delta: &str) -> [Record; 3] {
    [
        record(attempt, BlockStarted::new(BlockKind::Text, id)),
        record(attempt, BlockDelta::new(BlockKind::Text, id, delta)),
        record(attempt, BlockEnded::new(BlockKind::Text, id)),
    ]
}

fn call(id: &str, input: Value) -> Record {
    let tool = ToolCall::new(id, "search");
    record(None, ToolInputAvailable::new(tool, Some(input)))
}

fn output(id: &str, output: Value) -> Record {
    record(None, ToolOutput::new(id, output))
}

fn encode(options: &EncodeOptions, records: &[Record]) -> String {
    let mut encoder = Encoder::new(dialect(), options);
    records.iter().for_each(|record| encoder.record(record));
    String::from_utf8(encoder.take()).unwrap()
}

/// The events without metadata.
fn events(body: &str) -> Vec<Value> {
    let strip = |line: &str| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        let object = event.as_object_mut().unwrap();
        object.shift_remove("metadata");
        event
    };
    body.split("\n\n").filter_map(|block| block.strip_prefix("data: ")).map(strip).collect()
}

fn types(body: &str) -> Vec<String> {
    events(body).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

fn decode(body: &str) -> DecodeOutput {
    let mut decoder = Decoder::new(reader(), Framing::Sse);
    let mut out = DecodeOutput::default();
    decoder.feed(body.as_bytes(), &mut out);
    decoder.finish(&mut out);
    out
}

fn modern() -> EncodeOptions {
    EncodeOptions::profile(super::V1)
}

#[test]
fn text_is_three_events_within_its_run() {
    let mut records = vec![Record::new(0, started())];
    records.extend(text(None, "x", "Hi"));
    let finished = Event::RunFinished(RunFinished {
        reason: Some(FinishReason::Stop),
        data: Some(json!(1)),
        ..Default::default()
    });
    records.push(Record::new(0, finished));
    let body = encode(&modern(), &records);
    let expected = concat!(
        r#"data: {"type":"RUN_STARTED","threadId":"t1","runId":"r1","protocolVersion":"1.0"}"#,
        "\n\n",
        r#"data: {"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}"#,
        "\n\n",
        r#"data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hi"}"#,
        "\n\n",
        r#"data: {"type":"TEXT_MESSAGE_END","messageId":"m1"}"#,
        "\n\n",
        r#"data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r1","result":1,"metadata":{"tanstack":{"finishReason":"stop"}}}"#,
        "\n\n",
    );
    assert_eq!(body, expected);
    let mut state = RunState::with_rules(reader().rules());
    decode(&body).records.iter().for_each(|record| state.apply(record).unwrap());
    assert_eq!(state.messages()[0].plain_text(), "Hi");
    assert_eq!(state.run().finish_reason, Some(FinishReason::Stop));
}

#[test]
fn parallel_calls_share_a_message_and_a_result_ends_it() {
    let mut records = vec![Record::new(0, started())];
    records.extend(text(None, "x", "Let me see"));
    records.extend([call("c1", json!({})), call("c2", json!({}))]);
    records.extend([output("c1", json!("one")), output("c2", json!({ "n": 2 }))]);
    records.extend(text(None, "y", "Done"));
    records.push(call("c3", json!({})));
    let body = encode(&modern(), &records);
    let ids: Vec<_> = events(&body)
        .iter()
        .filter_map(|event| match event["type"].as_str().unwrap() {
            "TEXT_MESSAGE_START" | "TOOL_CALL_RESULT" => event["messageId"].as_str().map(str::to_owned),
            "TOOL_CALL_START" => event["parentMessageId"].as_str().map(str::to_owned),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["m1", "m1", "m1", "m1-1", "m1-2", "m1-3", "m1-3"]);
}

#[test]
fn open_parts_are_closed_before_the_end_and_nothing_follows() {
    let records = [
        record(None, BlockDelta::new(BlockKind::Text, "x", "a")),
        record(None, BlockStarted::new(BlockKind::Reasoning, "y")),
        record(None, ToolCall::new("c", "search")),
        record(None, Event::StepStarted { name: None }),
        record(None, RunFinished::default()),
        record(None, BlockDelta::new(BlockKind::Text, "x", "late")),
    ];
    for profile in ["legacy", "1.0"] {
        let body = encode(&EncodeOptions::profile(dialect().profile(profile).unwrap()), &records);
        assert_eq!(types(&body).last().unwrap(), "RUN_FINISHED");
        assert_eq!(lint(reader(), Framing::Sse, body.as_bytes()), []);
        assert_eq!(decode(&body).errors, []);
    }
}

#[test]
fn retracted_attempt_restores_the_conversation() {
    let mut options = modern();
    options.messages = vec![Message::text("u1", Role::User, "Hello?")];
    let mut records = vec![Record::new(0, started())];
    records.push(record(None, BlockStarted::new(BlockKind::Reasoning, "p")));
    records.extend(text(None, "x", "Kept."));
    records.extend(text(Some("a1"), "y", "Dead."));
    let retracted = Event::AttemptRetracted(AttemptRetracted { attempt: "a1".into(), ..Default::default() });
    records.push(record(None, retracted));
    let body = encode(&options, &records);
    let last = events(&body).pop().unwrap();
    let said: Vec<_> = last["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| (message["id"].as_str().unwrap(), message["content"].as_str().unwrap()))
        .collect();
    assert_eq!(said, [("u1", "Hello?"), ("m1-1", ""), ("m1", "Kept.")]);

    let mut state = RunState::with_rules(reader().rules()).with_messages(options.messages);
    for record in decode(&body).records {
        state.apply(&record).unwrap();
    }
    let kept: String = state.messages().iter().map(Message::plain_text).collect();
    assert_eq!(kept, "Hello?Kept.");
}

#[test]
fn client_without_snapshots_separates_the_retracted_attempt() {
    let options = EncodeOptions::profile(dialect().profile("assistant-ui").unwrap());
    let mut records = vec![Record::new(0, started())];
    records.push(record(Some("a1"), BlockDelta::new(BlockKind::Text, "x", "Dead.")));
    records.push(record(Some("a1"), ToolCall::new("c", "search")));
    let retracted = AttemptRetracted { attempt: "a1".into(), ..Default::default() };
    records.push(record(None, Event::AttemptRetracted(retracted)));
    records.extend(text(Some("a2"), "y", "Alive."));
    records.push(record(None, RunFinished::default()));
    let body = encode(&options, &records);
    let events = events(&body);
    let of = |kind: &str, field: &str| -> Vec<_> {
        events.iter().filter(|event| event["type"] == kind).map(|event| event[field].clone()).collect()
    };
    assert_eq!(of("TEXT_MESSAGE_START", "messageId"), ["m1", "m1-2"], "{body}");
    assert_eq!(of("TOOL_CALL_RESULT", "toolCallId"), ["c"], "{body}");
    assert_eq!(of("MESSAGES_SNAPSHOT", "messages"), Vec::<Value>::new(), "{body}");
    assert_eq!(lint(reader(), Framing::Sse, body.as_bytes()), []);
}

#[test]
fn open_empty_text_is_in_every_snapshot() {
    let kept = Message::new("m1", Role::Assistant, headwater_protocol::MessageStatus::Sent);
    let records = [
        Record::new(0, started()),
        record(None, BlockStarted::new(BlockKind::Text, "x")),
        record(None, Event::MessagesSnapshot { messages: vec![kept] }),
        record(None, BlockDelta::new(BlockKind::Text, "x", "a")),
        record(None, BlockEnded::new(BlockKind::Text, "x")),
    ];
    let body = encode(&modern(), &records);
    let snapshot = events(&body).into_iter().find(|event| event["type"] == "MESSAGES_SNAPSHOT").unwrap();
    assert_eq!(snapshot["messages"], json!([{ "id": "m1", "role": "assistant", "content": "" }]), "{body}");
}

#[test]
fn stop_is_an_outcome_only_for_newer_clients() {
    let records = [Record::new(0, started()), Record::new(0, Event::RunCancelled { reason: None })];
    let last = |options: &EncodeOptions| events(&encode(options, &records)).pop().unwrap();
    assert_eq!(last(&modern())["outcome"], json!({ "type": "cancelled" }));
    assert_eq!(last(&EncodeOptions::default())["code"], "cancelled");
    for options in [modern(), EncodeOptions::default()] {
        let heard = decode(&encode(&options, &records)).records.pop().unwrap().event;
        assert!(matches!(heard, Event::RunCancelled { .. }), "{heard:?}");
    }
}

#[test]
fn reconnecting_client_gets_the_conversation_and_the_rest() {
    let mut records = vec![Record::new(0, started())];
    records.push(record(
        None,
        MessageStarted { message: "m1".into(), role: Role::Assistant, ..Default::default() },
    ));
    records.extend(text(None, "x", "Hello, ").into_iter().take(2));
    let mut state =
        RunState::with_rules(reader().rules()).with_messages(vec![Message::text("u1", Role::User, "Hi")]);
    records.iter().for_each(|record| state.apply(record).unwrap());
    let mut encoder = Encoder::new(dialect(), &modern());
    encoder.reentry(&state);
    encoder.record(&record(None, BlockDelta::new(BlockKind::Text, "x", "world")));
    let body = String::from_utf8(encoder.take()).unwrap();
    let mut all = events(&body);
    all.retain(|event| event["type"] != "CUSTOM");
    let kinds: Vec<_> = all.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let said = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT"];
    assert_eq!(kinds, [&["RUN_STARTED", "MESSAGES_SNAPSHOT"][..], &said].concat());
    let contents: Vec<_> =
        all[1]["messages"].as_array().unwrap().iter().map(|message| message["content"].as_str()).collect();
    assert_eq!(contents, [Some("Hi"), Some("")], "open parts are sent after their start");
    let mut again = RunState::with_rules(reader().rules());
    decode(&body).records.iter().for_each(|record| again.apply(record).unwrap());
    assert_eq!(again.messages()[1].plain_text(), "Hello, world");
    assert_eq!(again.messages()[1].parts.len(), 1);
}

#[test]
fn open_part_is_empty_in_the_snapshot_and_whole_after_its_start() {
    let thought = |delta: &str| Event::BlockDelta(BlockDelta::new(BlockKind::Reasoning, "r", delta));
    let input = |delta: &str| Event::ToolInputDelta(ToolInputDelta::new("c1", delta));
    let said = [
        Event::MessageStarted(MessageStarted {
            message: "m1".into(),
            role: Role::Assistant,
            ..Default::default()
        }),
        Event::BlockStarted(BlockStarted::new(BlockKind::Reasoning, "r")),
        thought("Hm, "),
        Event::ToolInputStart(ToolCall::new("c1", "search")),
        input("{\"q\":"),
    ];
    let rest = [thought("well"), input("1}")];
    for options in [EncodeOptions::default(), modern()] {
        let mut state = RunState::with_rules(reader().rules());
        state.apply(&Record::new(0, started())).unwrap();
        said.iter().for_each(|event| state.apply(&record(None, event.clone())).unwrap());
        let mut encoder = Encoder::new(dialect(), &options);
        encoder.reentry(&state);
        rest.iter().for_each(|event| encoder.record(&record(None, event.clone())));
        let body = String::from_utf8(encoder.take()).unwrap();
        let all = events(&body);
        let deltas = |kind: &str| -> String {
            let said = all.iter().filter(|event| event["type"] == kind);
            said.map(|event| event["delta"].as_str().unwrap()).collect()
        };
        assert_eq!(deltas("REASONING_MESSAGE_CONTENT"), "Hm, well");
        assert_eq!(deltas("TOOL_CALL_ARGS"), "{\"q\":1}");
        let snapshot = all.iter().find(|event| event["type"] == "MESSAGES_SNAPSHOT").unwrap();
        assert_eq!(snapshot["messages"][0]["content"], "");
        assert_eq!(snapshot["messages"][1]["toolCalls"][0]["function"]["arguments"], "");
        let mut again = RunState::with_rules(reader().rules());
        decode(&body).records.iter().for_each(|record| again.apply(record).unwrap());
        rest.iter().for_each(|event| state.apply(&record(None, event.clone())).unwrap());
        let thought: String =
            again.messages().iter().flat_map(|message| &message.parts).map(said_by).collect();
        assert_eq!(thought, "Hm, well{\"q\":1}");
    }
}

/// The text of a reasoning part, or the input of a call.
fn said_by(part: &headwater_protocol::Part) -> String {
    match part {
        headwater_protocol::Part::Reasoning(text) => text.text.clone(),
        headwater_protocol::Part::Tool(tool) => tool.input_text.clone(),
        _ => String::new(),
    }
}

#[test]
fn retraction_keeps_earlier_turns_with_the_same_attempt_name() {
    let mut earlier = RunState::with_rules(reader().rules());
    let within = |event: Event| {
        let origin = Origin { message: Some("m0".into()), attempt: Some("a1".into()), ..Origin::default() };
        Record::new(0, event).from(origin)
    };
    let tool = ToolCall::new("c0", "search");
    let said = [
        Event::BlockDelta(BlockDelta::new(BlockKind::Text, "x", "Before")),
        Event::ToolInputAvailable(ToolInputAvailable::new(tool, json!({}))),
    ];
    said.into_iter().for_each(|event| earlier.apply(&within(event)).unwrap());
    let options = EncodeOptions { messages: earlier.messages().to_vec(), ..EncodeOptions::default() };
    let mut records = vec![Record::new(0, started())];
    records.extend(text(Some("a1"), "y", "Dead"));
    records.push(record(None, AttemptRetracted { attempt: "a1".into(), ..Default::default() }));
    let all = events(&encode(&options, &records));
    let snapshot = all.iter().find(|event| event["type"] == "MESSAGES_SNAPSHOT").unwrap();
    assert_eq!(snapshot["messages"].as_array().unwrap().len(), 1, "{snapshot}");
    assert_eq!(snapshot["messages"][0]["content"], "Before");
    assert_eq!(snapshot["messages"][0]["toolCalls"][0]["id"], "c0");
}

#[test]
fn retraction_keeps_the_ids_of_a_reconnect() {
    let mut records = vec![Record::new(0, started())];
    let dead = Event::BlockDelta(BlockDelta::new(BlockKind::Reasoning, "r", "Dead"));
    records.push(record(Some("a1"), dead));
    records.push(record(None, AttemptRetracted { attempt: "a1".into(), ..Default::default() }));
    let alive = Event::BlockDelta(BlockDelta::new(BlockKind::Reasoning, "r2", "Alive"));
    records.push(record(Some("a2"), alive));
    records.push(record(Some("a2"), BlockEnded::new(BlockKind::Reasoning, "r2")));
    records.extend([call("c1", json!({})), output("c1", json!("done"))]);
    let stayed = events(&encode(&EncodeOptions::default(), &records));
    let mut state = RunState::with_rules(reader().rules());
    records.iter().for_each(|record| state.apply(record).unwrap());
    let mut encoder = Encoder::new(dialect(), &EncodeOptions::default());
    encoder.reentry(&state);
    let back = events(&String::from_utf8(encoder.take()).unwrap());
    let snapshot = back.iter().find(|event| event["type"] == "MESSAGES_SNAPSHOT").unwrap();
    let told: Vec<_> =
        snapshot["messages"].as_array().unwrap().iter().map(|message| &message["id"]).collect();
    let id = |kind: &str, key: &str| &stayed.iter().rfind(|event| event["type"] == kind).unwrap()[key];
    let seen = [
        id("REASONING_MESSAGE_CONTENT", "messageId"),
        id("TOOL_CALL_START", "parentMessageId"),
        id("TOOL_CALL_RESULT", "messageId"),
    ];
    assert_eq!(told, seen);
}

/// TanStack's page drops its last message at the first text, call or snapshot: reasoning before them would be
/// lost.
#[test]
fn joining_client_gets_the_conversation_before_reasoning() {
    let options =
        EncodeOptions { messages: vec![Message::text("u1", Role::User, "Hi")], ..EncodeOptions::default() };
    let records = [
        Record::new(0, started()),
        record(None, BlockStarted::new(BlockKind::Reasoning, "r")),
        record(None, BlockDelta::new(BlockKind::Reasoning, "r", "Hm")),
    ];
    for known in 0..2 {
        let mut state = RunState::with_rules(reader().rules());
        records[..known].iter().for_each(|record| state.apply(record).unwrap());
        let mut encoder = Encoder::new(dialect(), &options);
        encoder.reentry(&state);
        records[known..].iter().for_each(|record| encoder.record(record));
        let body = String::from_utf8(encoder.take()).unwrap();
        let all = events(&body);
        let kinds: Vec<_> = all.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(kinds[..3], ["RUN_STARTED", "MESSAGES_SNAPSHOT", "REASONING_START"], "{body}");
        assert_eq!(all[1]["messages"][0]["content"], "Hi");
    }
}

/// The client keeps its reasoning if a snapshot has none: reasoning lost with a process would be shown twice.
#[test]
fn reasoning_that_only_the_client_holds_is_blanked() {
    let options = EncodeOptions {
        messages: vec![Message::text("u1", Role::User, "Hi")],
        thought: Some("m-1".into()),
        ..EncodeOptions::default()
    };
    let mut state = RunState::with_rules(reader().rules());
    state.apply(&Record::new(0, started())).unwrap();
    let snapshot_of = |state: &RunState| {
        let mut encoder = Encoder::new(dialect(), &options);
        encoder.reentry(state);
        let body = String::from_utf8(encoder.take()).unwrap();
        let told = events(&body).into_iter().find(|event| event["type"] == "MESSAGES_SNAPSHOT").unwrap();
        told["messages"].as_array().unwrap().clone()
    };
    let messages = snapshot_of(&state);
    assert_eq!(messages[1..], [json!({ "id": "m-1", "role": "reasoning", "content": "" })]);
    for event in [
        Event::BlockStarted(BlockStarted::new(BlockKind::Reasoning, "r")),
        Event::BlockDelta(BlockDelta::new(BlockKind::Reasoning, "r", "Hm")),
        Event::BlockEnded(BlockEnded::new(BlockKind::Reasoning, "r")),
    ] {
        state.apply(&record(None, event)).unwrap();
    }
    let messages = snapshot_of(&state);
    assert_eq!(messages.iter().filter(|message| message["role"] == "reasoning").count(), 1);
}

#[test]
fn foreign_stream_is_decoded_like_the_client_does() {
    let body = concat!(
        "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n",
        "data: {\"type\":\"TEXT_MESSAGE_CHUNK\",\"messageId\":\"a\",\"delta\":\"He\"}\n\n",
        "data: {\"type\":\"TEXT_MESSAGE_CHUNK\",\"delta\":\"y\"}\n\n",
        "data: {\"type\":\"TOOL_CALL_CHUNK\",\"toolCallId\":\"c\",\"toolCallName\":\"find\",\"parentMessageId\":\"a\",\"delta\":\"{}\"}\n\n",
        "data: {\"type\":\"TOOL_CALL_RESULT\",\"messageId\":\"b\",\"toolCallId\":\"c\",\"content\":\"found\"}\n\n",
        "data: {\"type\":\"ACTIVITY_SNAPSHOT\",\"messageId\":\"d\",\"activityType\":\"plan\",\"content\":{\"n\":1}}\n\n",
        "data: {\"type\":\"NEW_THING\",\"x\":1}\n\n",
        "data: {\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n",
    );
    let decoded = decode(body);
    assert_eq!(decoded.errors, []);
    let mut state = RunState::with_rules(reader().rules());
    decoded.records.iter().for_each(|record| state.apply(record).unwrap());
    let [answer, plan] = state.messages() else { panic!("{:?}", state.messages()) };
    assert_eq!((answer.plain_text().as_str(), plan.role), ("Hey", Role::Activity));
    let tool = answer.tool("c").unwrap();
    assert_eq!((&tool.input, &tool.output), (&Some(json!({})), &Some(json!("found"))));
}

#[test]
fn activity_replaces_a_text_and_changes_its_kind() {
    let body = concat!(
        "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n",
        "data: {\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"a\"}\n\n",
        "data: {\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"a\"}\n\n",
        "data: {\"type\":\"ACTIVITY_SNAPSHOT\",\"messageId\":\"a\",\"activityType\":\"plan\",\"content\":{\"n\":1}}\n\n",
        "data: {\"type\":\"ACTIVITY_DELTA\",\"messageId\":\"a\",\"activityType\":\"done\",\"patch\":[{\"op\":\"replace\",\"path\":\"/n\",\"value\":2}]}\n\n",
    );
    let mut state = RunState::with_rules(reader().rules());
    decode(body).records.iter().for_each(|record| state.apply(record).unwrap());
    let view = serde_json::to_value(state.view()).unwrap();
    assert_eq!(view["messages"][0]["role"], "activity");
    assert_eq!(view["messages"][0]["parts"], json!([{ "type": "data-done", "id": "a", "data": { "n": 2 } }]));
}

#[test]
fn linter_reports_an_event_out_of_order() {
    let start = "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n";
    let table = [
        ("{\"type\":\"STEP_STARTED\",\"stepName\":\"a\"}", false, "order"),
        ("{\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"m\"}", true, "order"),
        ("{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}", true, "order"),
        ("{\"type\":\"TEXT_MESSAGE_END\",\"messageId\":5}", true, "field"),
        ("{\"type\":\"RUN_ERROR\",\"message\":\"m\",\"code\":null}", true, "field"),
        ("[DONE]", true, "json"),
    ];
    for (event, begun, rule) in table {
        let body = format!("{}data: {event}\n\n", if begun { start } else { "" });
        let found = lint(reader(), Framing::Sse, body.as_bytes());
        assert!(found.iter().any(|finding| finding.rule == rule), "{event}: {found:?}");
    }
    let found = lint(reader(), Framing::Sse, start.replace("\n\n", "\r\n\r\n").as_bytes());
    assert!(found.iter().any(|finding| finding.rule == "lf-only"), "{found:?}");
}

#[test]
fn object_is_an_activity_changed_by_patches() {
    use headwater_protocol::{StructuredOp, StructuredUpdate};
    let update = |op| Event::Structured(StructuredUpdate::new("s1", "table", op));
    let records: Vec<_> = [
        update(StructuredOp::append("rows", [json!(1)])),
        update(StructuredOp::append("rows", [json!(2)])),
        update(StructuredOp::finish(json!({ "rows": [1, 2, 3] }))),
        Event::RunFinished(RunFinished::default()),
    ]
    .into_iter()
    .map(|event| record(None, event))
    .collect();
    let all = events(&encode(&modern(), &records));
    let told: Vec<_> =
        all.iter().filter(|event| event["type"].as_str().unwrap().starts_with("ACTIVITY")).collect();
    assert_eq!((&told[0]["activityType"], &told[0]["content"]), (&json!("table"), &json!({ "rows": [1] })));
    assert_eq!(told[1]["type"], "ACTIVITY_DELTA");
    assert_eq!(told[1]["messageId"], told[0]["messageId"]);

    let mut state = RunState::with_rules(reader().rules());
    records.iter().for_each(|record| state.apply(record).unwrap());
    let mut encoder = Encoder::new(dialect(), &modern());
    encoder.reentry(&state);
    let back = events(&String::from_utf8(encoder.take()).unwrap());
    let activity = &back[1]["messages"][0];
    assert_eq!(
        (&activity["id"], &activity["content"]),
        (&told[0]["messageId"], &json!({ "rows": [1, 2, 3] }))
    );

    let all = events(&encode(&EncodeOptions::profile(super::TANSTACK), &records));
    let last = all.iter().rfind(|event| event["name"] == "structured-output.complete").unwrap();
    assert_eq!(last["value"]["object"], json!({ "rows": [1, 2, 3] }));
}

#[test]
fn handwritten_deltas_equal_serialised_chunks() {
    let mut records = text(None, "x", "Hi \"\u{2028}").to_vec();
    records.push(record(None, BlockDelta::new(BlockKind::Reasoning, "y", "Hm")));
    records.push(record(None, ToolCall::new("c", "search")));
    records.push(record(None, ToolInputDelta::new("c", "{}")));
    records.iter_mut().for_each(|record| record.time = 1_700_000_000_000);
    let mut said = String::new();
    let mut encoder = super::encode::AgUiEncoder::new(&EncodeOptions::default());
    for record in &records {
        encoder.chunks(record, &mut |chunk| {
            said.push_str(&format!("data: {}\n\n", serde_json::to_string(chunk).unwrap()));
        });
    }
    assert_eq!(encode(&EncodeOptions::default(), &records), said);
}

#[test]
fn client_does_not_get_its_own_tool_output_back() {
    let tool = ToolCall::new("c1", "pick").by(Executor::Client);
    let output = Event::ToolOutput(ToolOutput::new("c1", serde_json::json!("blue")));
    let before = [
        Event::RunStarted(RunStarted::default()),
        Event::ToolInputAvailable(ToolInputAvailable::new(tool, Some(serde_json::json!({})))),
        Event::RunWaiting(RunWaiting { tool_calls: vec!["c1".into()], ..Default::default() }),
    ];
    let mut encoder = crate::Encoder::new(&super::AgUi, &crate::EncodeOptions::default());
    for (seq, event) in before.into_iter().enumerate() {
        encoder.record(&Record::new(seq as u64 + 1, event));
    }
    encoder.next_response();
    encoder.record(&Record::new(4, output));
    let body = String::from_utf8(encoder.take()).unwrap();
    assert!(!body.contains("TOOL_CALL_RESULT"), "{body}");
}
