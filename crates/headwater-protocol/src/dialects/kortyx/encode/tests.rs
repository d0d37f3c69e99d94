use serde_json::{Value, json};

use super::*;
use crate::{
    dialects::kortyx::Kortyx,
    encode::Encoder as Stream,
    event::{Choice, FinishReason, Interrupt, ToolCall, Usage},
    structured::StructuredUpdate,
};

fn from(node: &str, operation: &str, segment: &str) -> Origin {
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    Origin { node: some(node), operation: some(operation), segment: some(segment), ..Origin::default() }
}

fn attempt(attempt: &str) -> Origin {
    Origin { attempt: Some(attempt.into()), ..from("n", "op", "") }
}

fn delta(id: &str, delta: &str) -> Event {
    Event::TextDelta { id: id.into(), delta: delta.into(), metadata: None }
}

fn output(call: &str, name: Option<&str>) -> Event {
    Event::ToolOutput {
        call: call.into(),
        name: name.map(str::to_owned),
        output: json!("ok"),
        structured: None,
        is_error: false,
        preliminary: false,
        metadata: None,
    }
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
    Event::RunFinished { reason: None, usage: None, data: None }
}

#[test]
fn each_event_as_its_chunk() {
    let started = RunStarted { session: Some("s1".into()), run: Some("r1".into()), ..RunStarted::default() };
    let update = StructuredUpdate::new("st", "email", StructuredOp::text("body", "Hi"));
    let tool = ToolCall { title: Some("Look".into()), ..ToolCall::new("c1", "search") };
    let cases: Vec<(Event, &str)> = vec![
        (Event::RunStarted(started), r#"{"type":"session","sessionId":"s1","runId":"r1"}"#),
        (Event::RunStarted(RunStarted::default()), r#"{"type":"hw-event","event":{"type":"run-started"}}"#),
        (delta("t1", "a\nb"), r#"{"type":"text-delta","id":"t1","delta":"a\nb"}"#),
        (delta("text", "a"), r#"{"type":"text-delta","delta":"a"}"#),
        (Event::Message { content: "Hi".into() }, r#"{"type":"message","content":"Hi"}"#),
        (
            Event::Structured(update),
            r#"{"type":"structured-data","streamId":"st","dataType":"email","kind":"text-delta","path":"body","delta":"Hi"}"#,
        ),
        (
            Event::StructuredInvalidated { stream: "st".into(), checkpoint: None },
            r#"{"type":"structured-data-invalidated","streamId":"st","checkpointId":""}"#,
        ),
        (
            Event::ToolInputAvailable { tool, input: Some(json!({"q": 1})) },
            r#"{"type":"tool-call-start","tool":"search","toolCallId":"c1","input":{"q":1},"title":"Look"}"#,
        ),
        (
            Event::Transition { to: "other".into(), payload: None },
            r#"{"type":"transition","transitionTo":"other"}"#,
        ),
        (
            Event::Checkpoint { checkpoint: "cp".into(), session: "s".into(), turn: 2, label: None },
            r#"{"type":"checkpoint","id":"cp","sessionId":"s","turnIndex":2}"#,
        ),
        (
            Event::Trace { trace: "t".into(), span: "s".into(), run: "r".into() },
            r#"{"type":"trace","traceId":"t","spanId":"s","runId":"r","rootSpanName":"kortyx.run"}"#,
        ),
        (
            Event::Status { state: Some("busy".into()), message: Some("Wait".into()) },
            r#"{"type":"status","message":"Wait","state":"busy"}"#,
        ),
        (
            Event::Error { error: ErrorInfo::new("hm"), terminal: false },
            r#"{"type":"error","message":"hm","terminal":false}"#,
        ),
        (
            Event::Unknown { name: "weather".into(), data: json!({"type": "weather", "of": 1}) },
            r#"{"type":"weather","of":1}"#,
        ),
        (
            Event::Unknown { name: "done".into(), data: json!({"type": "done", "of": 1}) },
            r#"{"type":"hw-event","event":{"type":"unknown","name":"done","data":{"type":"done","of":1}}}"#,
        ),
        (
            Event::ReasoningDelta { id: "r1".into(), delta: "hm".into(), metadata: None },
            r#"{"type":"hw-event","event":{"type":"reasoning-delta","id":"r1","delta":"hm"}}"#,
        ),
    ];
    for (event, chunk) in cases {
        assert_eq!(plain([event]), [chunk, END]);
    }
}

const END: &str = "[DONE]";

#[test]
fn the_ends_of_a_run() {
    let question = || {
        let mut question = Interrupt::text("req", "Which city?");
        question.token = Some("tok".into());
        Event::InterruptRequested(Box::new(question))
    };
    let asked = r#"{"type":"interrupt","requestId":"req","resumeToken":"tok","input":{"kind":"text","multiple":false,"question":"Which city?","options":[]}}"#;
    let waiting = || Event::RunWaiting { tool_calls: Vec::new(), usage: None };
    let usage = Usage { input_tokens: Some(3), ..Usage::default() };
    let with_all = Event::RunFinished {
        reason: Some(FinishReason::Stop),
        usage: Some(usage),
        data: Some(json!({"answer": 42})),
    };
    let error = || ErrorInfo::new("boom").code("x");
    let done = r#"{"type":"done"}"#;

    assert_eq!(plain([]), [END]);
    assert_eq!(plain([finished(), Event::Message { content: "late".into() }, finished()]), [done, END]);
    assert_eq!(
        plain([with_all]),
        [r#"{"type":"done","data":{"answer":42},"reason":"stop","usage":{"inputTokens":3}}"#, END]
    );
    assert_eq!(
        plain([Event::RunFailed(error())]),
        [r#"{"type":"error","message":"boom","code":"x"}"#, done, END]
    );
    assert_eq!(
        plain([Event::Error { error: error(), terminal: true }]),
        [r#"{"type":"error","message":"boom","code":"x","terminal":true}"#, done, END]
    );
    assert_eq!(
        plain([Event::RunCancelled { reason: Some("stop".into()) }]),
        [r#"{"type":"done","hw-event":{"type":"run-cancelled","reason":"stop"}}"#, END]
    );
    assert_eq!(plain([question(), waiting()]), [asked, done, END]);
    assert_eq!(
        plain([question(), waiting(), finished()]),
        [asked, done, r#"{"type":"done","hw-event":{"type":"run-finished"}}"#, END],
        "a run that waits may go on"
    );
    assert_eq!(
        plain([Event::RunWaiting { tool_calls: vec!["c1".into()], usage: None }]),
        [r#"{"type":"done","hw-event":{"type":"run-waiting","toolCalls":["c1"]}}"#, END]
    );
    assert_eq!(
        plain([delta("text", "a")]),
        [r#"{"type":"text-delta","delta":"a"}"#, END],
        "cut, and looks so"
    );
}

#[test]
fn the_origin_stands_where_the_page_looks_for_it() {
    let records = [
        (from("n", "op", "seg"), delta("op:seg", "a")),
        (from("n", "op", ""), delta("t", "b")),
        (Origin { message: Some("m".into()), ..from("n", "", "") }, delta("n", "c")),
    ];
    assert_eq!(
        encode(&EncodeOptions::default(), &records),
        [
            r#"{"type":"text-delta","node":"n","opId":"op","segmentId":"seg","delta":"a"}"#,
            r#"{"type":"text-delta","node":"n","id":"t","opId":"op","delta":"b"}"#,
            r#"{"type":"text-delta","node":"n","delta":"c","messageId":"m"}"#,
            END
        ]
    );
}

#[test]
fn a_message_is_named_only_where_a_reader_would_take_another() {
    let started = |message: &str| Event::MessageStarted {
        message: message.into(),
        role: crate::event::Role::Assistant,
        author: None,
    };
    let of = |message: &str| Origin { message: Some(message.into()), ..Origin::default() };
    let records = [
        (Origin::default(), started("m1")),
        (of("m1"), delta("text", "a")),
        (of("m2"), delta("text", "b")),
        (of("m1"), delta("text", "c")),
    ];
    let keys: Vec<Option<Value>> = encode(&EncodeOptions::default(), &records)[1..4]
        .iter()
        .map(|chunk| serde_json::from_str::<Value>(chunk).unwrap().get("messageId").cloned())
        .collect();
    assert_eq!(keys, [None, Some(json!("m2")), Some(json!("m1"))]);
}

#[test]
fn a_retracted_attempt_is_closed_and_the_next_one_has_a_segment_of_its_own() {
    let options = EncodeOptions { seam: " […] ".into(), ..EncodeOptions::default() };
    let retracted = Event::AttemptRetracted { attempt: "a1".into(), reason: None };
    let records = [
        (attempt("a1"), delta("t", "dead")),
        (Origin::default(), retracted),
        (attempt("a2"), delta("t", "alive")),
    ];
    let text = |attempt: &str, delta: &str, filler: &str| {
        format!(
            r#"{{"type":"text-delta","node":"n","id":"t","opId":"op","segmentId":"{attempt}","delta":"{delta}","attempt":"{attempt}"{filler}}}"#
        )
    };
    assert_eq!(
        encode(&options, &records),
        [
            text("a1", "dead", ""),
            text("a1", " […] ", r#","filler":true"#),
            r#"{"type":"text-end","node":"n","id":"t","opId":"op","segmentId":"a1","attempt":"a1","filler":true}"#.to_owned(),
            r#"{"type":"hw-event","event":{"type":"attempt-retracted","attempt":"a1"}}"#.to_owned(),
            text("a2", "alive", ""),
            END.to_owned(),
        ]
    );
    assert_eq!(encode(&EncodeOptions::default(), &records).len(), 5, "no mark, no chunk for it");
}

#[test]
fn a_tool_call_is_started_before_it_ends() {
    let start = r#"{"type":"tool-call-start","tool":"search","toolCallId":"c1","filler":true}"#;
    let result = r#"{"type":"tool-call-result","tool":"search","toolCallId":"c1","content":"ok"}"#;
    assert_eq!(plain([output("c1", Some("search"))]), [start, result, END]);
    let again = serde_json::from_str::<Value>(&plain([output("c1", Some("search")), output("c1", None)])[2]);
    let again = again.unwrap();
    assert_eq!((&again["tool"], &again["unnamed"]), (&json!("search"), &json!(true)));
    let denied = Event::ToolDenied { call: "c1".into(), name: Some("search".into()), reason: None };
    assert_eq!(
        plain([denied]),
        [
            start,
            r#"{"type":"tool-call-result","tool":"search","toolCallId":"c1","content":"Tool call denied by user.","isError":true,"hw-event":{"type":"tool-denied","call":"c1","name":"search"}}"#,
            END
        ]
    );
}

#[test]
fn an_approval_is_a_choice_that_shows_the_tool_and_its_input() {
    let event = Event::ApprovalRequested {
        approval: "a1".into(),
        tool: ToolCall::new("c1", "pay"),
        input: Some(json!({"eur": 5})),
        signature: Some("sig".into()),
        automatic: false,
    };
    let chunks = plain([event, Event::RunWaiting { tool_calls: Vec::new(), usage: None }]);
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
fn a_choice_has_all_that_the_schema_demands() {
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
fn a_structured_stream_that_is_complete_does_not_go_on() {
    let update = |op| Event::Structured(StructuredUpdate::new("st", "t", op));
    let invalidated = Event::StructuredInvalidated { stream: "st".into(), checkpoint: Some("cp".into()) };
    let types: Vec<Value> = plain([
        update(StructuredOp::finish(1)),
        update(StructuredOp::set("a", 1)),
        invalidated,
        update(StructuredOp::set("a", 1)),
    ])[..4]
        .iter()
        .map(|chunk| serde_json::from_str::<Value>(chunk).unwrap()["type"].clone())
        .collect();
    assert_eq!(types, ["structured-data", "hw-event", "structured-data-invalidated", "structured-data"]);
}

#[test]
fn a_text_that_was_open_at_a_re_entry_goes_on_in_the_same_piece() {
    let origin = attempt("a1");
    let started = Event::TextStart { id: "t".into(), metadata: None };
    let mut state = crate::state::RunState::default();
    for (seq, event) in [started, delta("t", "Hello, ")].into_iter().enumerate() {
        state.apply(&Record::new(seq as u64, event).from(origin.clone())).unwrap();
    }
    let mut encoder = Stream::new(&Kortyx, &EncodeOptions::default());
    encoder.reentry(&state);
    encoder.record(&Record::new(2, delta("t", "world.")).from(origin.clone()));
    encoder.record(&Record::new(3, Event::TextEnd { id: "t".into(), metadata: None }).from(origin));
    let body = String::from_utf8(encoder.take()).unwrap();
    let chunks = body.split("\n\n").filter_map(|block| block.strip_prefix("data: "));
    let chunks: Vec<Value> = chunks.map(|chunk| serde_json::from_str(chunk).unwrap()).collect();
    let texts: Vec<_> =
        chunks.iter().filter(|chunk| chunk["type"].as_str().unwrap().starts_with("text-")).collect();
    let deltas: Vec<_> = texts.iter().filter_map(|chunk| chunk["delta"].as_str()).collect();
    assert_eq!(deltas, ["Hello, ", "world."]);
    // What Kortyx' page tells pieces of text by.
    let piece = |chunk: &Value| [&chunk["opId"], &chunk["segmentId"], &chunk["node"]].map(Value::clone);
    for chunk in &texts {
        assert_eq!(piece(chunk), piece(texts[0]), "{body}");
    }
}
