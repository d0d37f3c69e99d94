use headwater_protocol::{
    ApprovalRequested, BlockDelta, BlockKind, ErrorEvent, Framing, InterruptKind, RunFinished, RunWaiting,
    ToolOutput,
};
use serde_json::json;

use super::*;
use crate::{encode::EncodeOptions, encoder::Encoder as Stream, kortyx::Kortyx};

fn decode(body: &[u8]) -> DecodeOutput {
    let mut decoder = crate::decoder::Decoder::new(&Kortyx, Framing::Sse);
    let mut out = DecodeOutput::default();
    decoder.feed(body, &mut out);
    decoder.finish(&mut out);
    out
}

fn read(chunks: &[&str]) -> DecodeOutput {
    let body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    decode(body.as_bytes())
}

fn events(chunks: &[&str]) -> Vec<Event> {
    read(chunks).records.into_iter().map(|record| record.event).collect()
}

fn finished(data: Option<Value>) -> Event {
    Event::RunFinished(RunFinished { data, ..Default::default() })
}

#[test]
fn run_ends_are_decoded() {
    let done = r#"{"type":"done"}"#;
    let error = r#"{"type":"error","message":"boom"}"#;
    let asked =
        r#"{"type":"interrupt","requestId":"r","resumeToken":"t","input":{"kind":"text","multiple":false}}"#;
    let boom = || ErrorInfo::new("boom");
    let waiting = Event::RunWaiting(RunWaiting::default());

    assert_eq!(events(&[r#"{"type":"done","data":{"a":1}}"#, "[DONE]"]), [finished(Some(json!({"a": 1})))]);
    assert_eq!(events(&[error, done, "[DONE]"]), [Event::RunFailed(boom())]);
    assert_eq!(
        events(&[error, "[DONE]"]),
        [Event::RunFailed(boom())],
        "its server ends failed runs like this"
    );
    assert_eq!(events(&[error]), [Event::RunFailed(boom())]);
    assert_eq!(events(&[asked, done])[1], waiting);
    let later = events(&[error, r#"{"type":"status","message":"on"}"#, done]);
    assert_eq!(later[0], Event::Error(ErrorEvent { error: boom(), ..Default::default() }));
    assert_eq!(later[2], finished(None));
}

#[test]
fn truncated_stream_is_reported() {
    let delta = r#"{"type":"text-delta","delta":"a"}"#;
    let cut = |chunks: &[&str]| read(chunks).errors.iter().any(|error| error.kind() == ErrorKind::Cut);
    assert!(cut(&[delta]));
    assert!(cut(&[delta, "[DONE]"]), "the source ended, the run did not");
    assert!(cut(&[]));
    assert!(!cut(&[delta, r#"{"type":"done"}"#]));
    assert!(!cut(&[r#"{"type":"error","message":"x"}"#, "[DONE]"]));
}

#[test]
fn blocks_are_distinguished_like_on_the_page() {
    let ids: Vec<String> = events(&[
        r#"{"type":"text-delta","delta":"a"}"#,
        r#"{"type":"text-delta","delta":"a","node":"n"}"#,
        r#"{"type":"text-delta","delta":"a","node":"n","opId":"op"}"#,
        r#"{"type":"text-delta","delta":"a","node":"n","segmentId":"s"}"#,
        r#"{"type":"text-delta","delta":"a","node":"n","opId":"op","segmentId":"s"}"#,
        r#"{"type":"text-delta","delta":"a","id":"\u0069","opId":"op","segmentId":"s"}"#,
        r#"{"type":"text-delta","delta":"a","id":"\u0069","node":"n"}"#,
    ])
    .into_iter()
    .map(|event| match event {
        Event::BlockDelta(BlockDelta { kind: BlockKind::Text, id, .. }) => id.to_string(),
        other => panic!("{other:?}"),
    })
    .collect();
    assert_eq!(ids, ["text", "n", "op", "s", "op:s", "op:s", "i"]);
}

#[test]
fn old_form_of_a_tool_output_is_decoded() {
    let events =
        events(&[r#"{"type":"tool-result","tool":"search","content":{"a":1}}"#, r#"{"type":"tool-result"}"#]);
    let Event::ToolOutput(ToolOutput { call, name, output, .. }) = &events[0] else { panic!("{events:?}") };
    assert_eq!((call.as_str(), name.as_deref(), output), ("tool-result-1", Some("search"), &json!({"a": 1})));
    assert!(matches!(&events[1], Event::ToolOutput(ToolOutput { output: Value::Null, name: None, .. })));
}

#[test]
fn question_fields_are_read_from_either_place() {
    let events = events(&[
        r#"{"type":"interrupt","requestId":"r","resumeToken":"t","workflow":"w","node":"n","id":"outer","schemaId":"sc","meta":{"a":1},"input":{"kind":"choice","multiple":false,"question":"Which?","id":"inner","options":[{"id":"x","label":"X"}]}}"#,
    ]);
    let Event::InterruptRequested(question) = &events[0] else { panic!("{events:?}") };
    assert_eq!((question.id.as_deref(), question.schema_id.as_deref()), (Some("inner"), Some("sc")));
    assert_eq!(question.kind, InterruptKind::Choice);
    assert_eq!(question.meta.as_ref().unwrap()["a"], 1);
    assert_eq!(question.token.as_deref(), Some("t"));
}

#[test]
fn chunks_after_the_end_are_decoded_and_reported_once() {
    let late = r#"{"type":"text-delta","delta":"late"}"#;
    let decoded = read(&[r#"{"type":"done"}"#, late, late, "[DONE]", late]);
    assert_eq!(decoded.records.len(), 3);
    assert_eq!(decoded.errors.len(), 1);
    assert_eq!(decoded.errors[0].kind(), ErrorKind::Order);
    assert_eq!(decoded.errors[0].place().unwrap().frame, 1);
}

#[test]
fn invalid_chunk_is_reported_and_skipped() {
    let decoded = read(&["42", "{oops", r#"{"type":"text-delta"}"#, r#"{"type":"done"}"#]);
    let places: Vec<_> = decoded.errors.iter().map(|error| error.place().unwrap().frame).collect();
    assert_eq!(places, [0, 1, 2]);
    assert_eq!(decoded.records.len(), 1);
    assert!(decoded.fatal().is_none(), "its client reads on");
}

#[test]
fn session_starts_the_run_once() {
    let session = r#"{"type":"session","sessionId":"s1"}"#;
    let started = RunStarted { session: Some("s1".into()), ..RunStarted::default() };
    assert_eq!(events(&[session, session]), [Event::RunStarted(started)]);
}

#[test]
fn approval_round_trips_with_tool_and_input() {
    let approval = Event::ApprovalRequested(ApprovalRequested {
        approval: "a1".into(),
        tool: ToolCall::new("c1", "pay"),
        input: Some(json!({"eur": 5})),
        signature: Some("sig".into()),
        ..Default::default()
    });
    let mut encoder = Stream::new(&Kortyx, &EncodeOptions::default());
    encoder.record(&Record::new(0, approval.clone()));
    encoder.record(&Record::new(1, RunWaiting::default()));
    let events: Vec<_> = decode(encoder.bytes()).records.into_iter().map(|record| record.event).collect();
    assert_eq!(events[1], approval);
    assert!(matches!(events[2], Event::RunWaiting(_)));
}

#[test]
fn run_continues_after_the_done_of_a_wait() {
    let asked =
        r#"{"type":"interrupt","requestId":"r","resumeToken":"t","input":{"kind":"text","multiple":false}}"#;
    let done = r#"{"type":"done"}"#;
    let decoded = read(&[asked, done, r#"{"type":"text-delta","delta":"a"}"#, done, "[DONE]"]);
    assert!(decoded.errors.is_empty(), "{:?}", decoded.errors);
    assert_eq!(decoded.records.last().unwrap().event, finished(None));
}
