use headwater_protocol::{
    ApprovalRequested, AttemptRetracted, BlockDelta, BlockEnded, BlockKind, BlockStarted, CheckpointEvent,
    Choice, ErrorEvent, ErrorInfo, Executor, FinishReason, Interrupt, RunFinished, RunStarted, RunWaiting,
    StatusEvent, StructuredInvalidated, ToolCall, ToolDenied, ToolInputAvailable, ToolInputError, ToolOutput,
    TraceEvent, TransitionEvent, UnknownEvent, Usage,
};
use serde_json::{Value, json};

use super::*;
use crate::{encoder::Encoder as Stream, kortyx::Kortyx};

fn from(node: &str, operation: &str, segment: &str) -> Origin {
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    Origin { node: some(node), operation: some(operation), segment: some(segment), ..Origin::default() }
}

fn attempt(attempt: &str) -> Origin {
    Origin { attempt: Some(attempt.into()), ..from("n", "op", "") }
}

fn delta(id: &str, delta: &str) -> Event {
    Event::BlockDelta(BlockDelta::new(BlockKind::Text, id, delta))
}

fn output(call: &str, name: Option<&str>) -> Event {
    Event::ToolOutput(ToolOutput {
        call: call.into(),
        name: name.map(str::to_owned),
        output: json!("ok"),
        ..Default::default()
    })
}

fn encode(options: &EncodeOptions, records: &[(Origin, Event)]) -> Vec<String> {
    let mut encoder = Stream::new(&Kortyx, options);
    for (seq, (origin, event)) in records.iter().enumerate() {
        encoder.record(&Record::new(seq as u64, event.clone()).from(origin.clone()));
    }
    encoder.finish();
    let body = String::from_utf8(encoder.take()).unwrap();
    assert!(body.ends_with("\n\n"));
    let block = |block: &str| block.strip_prefix("data: ").expect("a block begins with data").to_owned();
    body.trim_end_matches("\n\n").split("\n\n").map(block).collect()
}

fn plain(events: impl IntoIterator<Item = Event>) -> Vec<String> {
    let records: Vec<_> = events.into_iter().map(|event| (Origin::default(), event)).collect();
    encode(&EncodeOptions::default(), &records)
}

fn finished() -> Event {
    Event::RunFinished(RunFinished::default())
}

#[test]
fn each_event_as_its_chunk() {
    let started = RunStarted { session: Some("s1".into()), run: Some("r1".into()), ..RunStarted::default() };
    let update = StructuredUpdate::new("st", "email", StructuredOp::text("body", "Hi"));
    let tool = ToolCall { title: Some("Look".into()), ..ToolCall::new("c1", "search") };
    let cases: Vec<(Event, &str)> = vec![
        (Event::RunStarted(started), r#"{"type":"session","sessionId":"s1"}"#),
        (delta("t1", "a\nb"), r#"{"type":"text-delta","segmentId":"t1","delta":"a\nb"}"#),
        (delta("text", "a"), r#"{"type":"text-delta","delta":"a"}"#),
        (Event::Message { content: "Hi".into() }, r#"{"type":"message","content":"Hi"}"#),
        (
            Event::Structured(update),
            r#"{"type":"structured-data","streamId":"st","dataType":"email","kind":"text-delta","path":"body","delta":"Hi"}"#,
        ),
        (
            Event::StructuredInvalidated(StructuredInvalidated { stream: "st".into(), ..Default::default() }),
            r#"{"type":"structured-data-invalidated","streamId":"st","checkpointId":""}"#,
        ),
        (
            Event::ToolInputAvailable(ToolInputAvailable::new(tool, json!({"q": 1}))),
            r#"{"type":"tool-call-start","tool":"search","toolCallId":"c1","input":{"q":1}}"#,
        ),
        (
            Event::Transition(TransitionEvent { to: "other".into(), ..Default::default() }),
            r#"{"type":"transition","transitionTo":"other"}"#,
        ),
        (
            Event::Checkpoint(CheckpointEvent {
                checkpoint: "cp".into(),
                session: "s".into(),
                turn: 2,
                ..Default::default()
            }),
            r#"{"type":"checkpoint","id":"cp","sessionId":"s","turnIndex":2}"#,
        ),
        (
            Event::Trace(TraceEvent {
                trace: "t".into(),
                span: "s".into(),
                run: "r".into(),
                ..Default::default()
            }),
            r#"{"type":"trace","traceId":"t","spanId":"s","runId":"r","rootSpanName":"kortyx.run"}"#,
        ),
        (
            Event::Status(StatusEvent {
                state: Some("busy".into()),
                message: Some("Wait".into()),
                ..Default::default()
            }),
            r#"{"type":"status","message":"Wait"}"#,
        ),
    ];
    for (event, chunk) in cases {
        assert_eq!(plain([event]), [chunk, END]);
    }
    for hidden in [
        Event::RunStarted(RunStarted::default()),
        Event::Error(ErrorEvent { error: ErrorInfo::new("hm"), ..Default::default() }),
        Event::Unknown(UnknownEvent::new("weather", json!({"type": "weather", "of": 1}))),
        Event::BlockDelta(BlockDelta::new(BlockKind::Reasoning, "r1", "hm")),
    ] {
        assert_eq!(plain([hidden]), [END]);
    }
}

const END: &str = "[DONE]";

#[test]
fn ends_of_a_run() {
    let question = || {
        let mut question = Interrupt::text("req", "Which city?");
        question.token = Some("tok".into());
        Event::InterruptRequested(Box::new(question))
    };
    let asked = r#"{"type":"interrupt","requestId":"req","resumeToken":"tok","input":{"question":"Which city?","kind":"text","multiple":false,"options":[]}}"#;
    let waiting = || Event::RunWaiting(RunWaiting::default());
    let usage = Usage { input_tokens: Some(3), ..Usage::default() };
    let with_all = Event::RunFinished(RunFinished {
        reason: Some(FinishReason::Stop),
        usage: Some(usage),
        data: Some(json!({"answer": 42})),
        ..Default::default()
    });
    let error = || ErrorInfo::new("boom").code("x");
    let done = r#"{"type":"done"}"#;

    assert_eq!(plain([]), [END]);
    assert_eq!(plain([finished(), Event::Message { content: "late".into() }, finished()]), [done, END]);
    assert_eq!(plain([with_all]), [r#"{"type":"done","data":{"answer":42}}"#, END]);
    assert_eq!(plain([Event::RunFailed(error())]), [r#"{"type":"error","message":"boom"}"#, done, END]);
    assert_eq!(
        plain([Event::Error(ErrorEvent { error: error(), terminal: true, ..Default::default() })]),
        [r#"{"type":"error","message":"boom"}"#, done, END]
    );
    assert_eq!(plain([Event::RunCancelled { reason: Some("stop".into()) }]), [done, END]);
    assert_eq!(plain([question(), waiting()]), [asked, done, END]);
    assert_eq!(
        plain([question(), waiting(), finished()]),
        [asked, done, done, END],
        "a run that waits may continue"
    );
    assert_eq!(
        plain([Event::RunWaiting(RunWaiting { tool_calls: vec!["c1".into()], ..Default::default() })]),
        [done, END]
    );
    assert_eq!(
        plain([delta("text", "a")]),
        [r#"{"type":"text-delta","delta":"a"}"#, END],
        "cut, and looks so"
    );
}

#[test]
fn each_text_has_a_segment_of_its_own() {
    let started = || Event::BlockStarted(BlockStarted::new(BlockKind::Text, "t"));
    let records = [
        (from("n", "op", "seg"), delta("op:seg", "a")),
        (from("n", "op", ""), delta("t", "b")),
        (from("n", "op", ""), delta("u", "c")),
        (from("n", "op", ""), delta("t", "d")),
        (from("n", "", ""), started()),
        (from("n", "", ""), delta("t", "e")),
    ];
    assert_eq!(
        encode(&EncodeOptions::default(), &records),
        [
            r#"{"type":"text-delta","node":"n","opId":"op","segmentId":"seg","delta":"a"}"#,
            r#"{"type":"text-delta","node":"n","segmentId":"t","delta":"b"}"#,
            r#"{"type":"text-delta","node":"n","segmentId":"u","delta":"c"}"#,
            r#"{"type":"text-delta","node":"n","segmentId":"t","delta":"d"}"#,
            r#"{"type":"text-start","node":"n","segmentId":"t~2"}"#,
            r#"{"type":"text-delta","node":"n","segmentId":"t~2","delta":"e"}"#,
            END
        ]
    );
}

#[test]
fn delta_is_written_as_its_chunk_serialises() {
    for (node, operation, segment) in [(None, None, None), (Some("n\""), Some("\u{0}"), Some("é"))] {
        let some = |text: Option<&'static str>| text.map(Cow::Borrowed);
        let delta = Cow::Borrowed("a\n\"\u{2028}");
        let (node, op_id, segment_id) = (some(node), some(operation), some(segment));
        let chunk = Chunk::TextDelta(TextDelta { node, id: None, op_id, segment_id, delta });
        let mut out = FrameWriter::new(headwater_protocol::Framing::Sse);
        write(&chunk, &mut out);
        let expected = format!("data: {}\n\n", serde_json::to_string(&chunk).unwrap());
        assert_eq!(String::from_utf8(out.take()).unwrap(), expected);
    }
}

#[test]
fn retracted_attempt_is_closed_and_the_next_one_has_a_segment_of_its_own() {
    let options = EncodeOptions { seam: " […] ".into(), ..EncodeOptions::default() };
    let retracted = Event::AttemptRetracted(AttemptRetracted { attempt: "a1".into(), ..Default::default() });
    let records = [
        (attempt("a1"), delta("t", "dead")),
        (Origin::default(), retracted),
        (attempt("a2"), delta("t", "alive")),
    ];
    let text = |segment: &str, delta: &str| {
        format!(r#"{{"type":"text-delta","node":"n","segmentId":"{segment}","delta":"{delta}"}}"#)
    };
    assert_eq!(
        encode(&options, &records),
        [
            text("t", "dead"),
            text("t", " […] "),
            r#"{"type":"text-end","node":"n","segmentId":"t"}"#.to_owned(),
            text("t~2", "alive"),
            END.to_owned(),
        ]
    );
    assert_eq!(encode(&EncodeOptions::default(), &records).len(), 4, "no mark, no chunk for it");
}

#[test]
fn tool_call_is_started_before_it_ends() {
    let start = r#"{"type":"tool-call-start","tool":"search","toolCallId":"c1"}"#;
    let result = r#"{"type":"tool-call-result","tool":"search","toolCallId":"c1","content":"ok"}"#;
    assert_eq!(plain([output("c1", Some("search"))]), [start, result, END]);
    let again = plain([output("c1", Some("search")), output("c1", None)]);
    assert_eq!(again, [start, result, result, END], "the call keeps its name");
    let denied = Event::ToolDenied(ToolDenied {
        call: "c1".into(),
        name: Some("search".into()),
        ..Default::default()
    });
    assert_eq!(
        plain([denied]),
        [
            start,
            r#"{"type":"tool-call-result","tool":"search","toolCallId":"c1","isError":true,"content":"Tool call denied by user."}"#,
            END
        ]
    );
}

#[test]
fn approval_is_a_choice_that_shows_the_tool_and_its_input() {
    let event = Event::ApprovalRequested(ApprovalRequested {
        approval: "a1".into(),
        tool: ToolCall::new("c1", "pay"),
        input: Some(json!({"eur": 5})),
        signature: Some("sig".into()),
        ..Default::default()
    });
    let chunks = plain([event, Event::RunWaiting(RunWaiting::default())]);
    let asked: Value = serde_json::from_str(&chunks[1]).unwrap();
    assert_eq!(asked["requestId"], "approval:a1");
    assert_eq!(asked["resumeToken"], "sig");
    assert_eq!(asked["id"], "tool:c1");
    assert_eq!(asked["input"]["question"], "Approve pay?");
    assert_eq!(asked["input"]["meta"], json!({"tool": "pay", "toolCallId": "c1", "input": {"eur": 5}}));
    assert_eq!(asked["input"]["options"][0], json!({"id": "approve", "label": "Approve"}));
    assert_eq!(chunks[2], r#"{"type":"done"}"#);
}

#[test]
fn choice_has_all_that_the_schema_demands() {
    let option = Choice { id: "x".into(), label: "X".into(), description: None };
    let mut question = Interrupt::choice("req", "Which?", vec![option]);
    question.id = Some("pick".into());
    question.schema_id = Some("sc".into());
    let chunks = plain([Event::InterruptRequested(Box::new(question))]);
    let asked: Value = serde_json::from_str(&chunks[0]).unwrap();
    assert_eq!(asked["resumeToken"], "req", "there is always a token");
    for place in [&asked, &asked["input"]] {
        assert_eq!((&place["id"], &place["schemaId"]), (&json!("pick"), &json!("sc")));
    }
    assert_eq!(asked["input"]["multiple"], false);
}

#[test]
fn structured_update_that_the_page_cannot_apply_is_not_sent() {
    let update = |op| Event::Structured(StructuredUpdate::new("st", "t", op));
    let invalidated = Event::StructuredInvalidated(StructuredInvalidated {
        stream: "st".into(),
        checkpoint: Some("cp".into()),
        ..Default::default()
    });
    let chunks = plain([
        update(StructuredOp::set("~user", 1)),
        update(StructuredOp::set("a~1b", 1)),
        update(StructuredOp::append("rows.~:7", [1])),
        update(StructuredOp::finish(json!({"a.b": 1}))),
        update(StructuredOp::set("a", 1)),
        invalidated,
        update(StructuredOp::set("a", 1)),
    ]);
    let chunks: Vec<Value> = chunks.iter().filter_map(|chunk| serde_json::from_str(chunk).ok()).collect();
    let seen: Vec<_> = chunks.iter().map(|chunk| (chunk["path"].as_str(), chunk["kind"].as_str())).collect();
    assert_eq!(
        seen,
        [(Some("~user"), Some("set")), (None, Some("final")), (None, None), (Some("a"), Some("set")),]
    );
}

#[test]
fn text_that_was_open_at_a_re_entry_continues_in_the_same_piece() {
    let origin = attempt("a1");
    let started = Event::BlockStarted(BlockStarted::new(BlockKind::Text, "t"));
    let mut state = headwater_protocol::RunState::default();
    for (seq, event) in [started, delta("t", "Hello, ")].into_iter().enumerate() {
        state.apply(&Record::new(seq as u64, event).from(origin.clone())).unwrap();
    }
    let mut encoder = Stream::new(&Kortyx, &EncodeOptions::default());
    encoder.reentry(&state);
    encoder.record(&Record::new(2, delta("t", "world.")).from(origin.clone()));
    encoder.record(&Record::new(3, BlockEnded::new(BlockKind::Text, "t")).from(origin));
    let body = String::from_utf8(encoder.take()).unwrap();
    let chunks = body.split("\n\n").filter_map(|block| block.strip_prefix("data: "));
    let chunks: Vec<Value> = chunks.map(|chunk| serde_json::from_str(chunk).unwrap()).collect();
    let texts: Vec<_> =
        chunks.iter().filter(|chunk| chunk["type"].as_str().unwrap().starts_with("text-")).collect();
    let deltas: Vec<_> = texts.iter().filter_map(|chunk| chunk["delta"].as_str()).collect();
    assert_eq!(deltas, ["Hello, ", "world."]);
    // The fields by which Kortyx' page identifies blocks.
    let piece = |chunk: &Value| [&chunk["opId"], &chunk["segmentId"], &chunk["node"]].map(Value::clone);
    for chunk in &texts {
        assert_eq!(piece(chunk), piece(texts[0]), "{body}");
    }
}

#[test]
fn calls_that_no_node_asked_to_show_are_not_sent() {
    let quiet = |call: &str| ToolCall { quiet: true, ..ToolCall::new(call, "search") };
    let asked = ApprovalRequested { approval: "a1".into(), tool: quiet("c2"), ..Default::default() };
    let denied = ToolDenied { call: "c2".into(), ..Default::default() };
    let sent = plain([
        ToolInputAvailable { tool: quiet("c1"), input: Some(json!({})) }.into(),
        output("c1", Some("search")),
        asked.into(),
        denied.into(),
        ToolInputError { tool: quiet("c3"), error: "no".into(), ..Default::default() }.into(),
        // The page itself has to execute it.
        ToolInputAvailable { tool: quiet("c4").by(Executor::Client), input: Some(json!({})) }.into(),
    ]);
    let kinds = sent.iter().filter_map(|chunk| serde_json::from_str::<Value>(chunk).ok());
    let kinds: Vec<_> = kinds.map(|chunk| chunk["type"].clone()).collect();
    assert_eq!(kinds, ["interrupt", "tool-call-start"]);
}
