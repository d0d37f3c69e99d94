use headwater_protocol::{
    self, ApprovalAnswered, ApprovalRequested, AttemptRetracted, AttemptStarted, BlockEnded, BlockKind,
    BlockStarted, DataEvent, FinishReason, Framing, Interrupt, InterruptAnswered, MessageStarted, Origin,
    Role, RunFinished, RunWaiting, StatusEvent, StructuredInvalidated, StructuredOp, StructuredUpdate,
    ToolCall, ToolInputAvailable, ToolOutput, ToolOutputError, Usage,
};
use serde_json::json;

use super::*;
use crate::{encoder::Encoder as Writer, lint_stream::lint};

fn write(profile: &str, records: &[Record]) -> String {
    let mut options =
        EncodeOptions::profile(crate::Dialect::profile(&crate::ai_sdk::AiSdk, profile).unwrap());
    options.seam = "[again] ".to_owned();
    let mut writer = Writer::new(&super::super::AiSdk, &options);
    records.iter().for_each(|record| writer.record(record));
    writer.finish();
    let bytes = writer.take();
    let findings = lint(&super::super::AiSdk, Framing::Sse, &bytes);
    assert!(findings.is_empty(), "{findings:?}");
    String::from_utf8(bytes).unwrap()
}

/// The types of the chunks.
fn outline(profile: &str, records: &[Record]) -> Vec<String> {
    let chunks = chunks(profile, records);
    chunks.iter().map(|chunk| chunk["type"].as_str().unwrap().to_owned()).collect()
}

fn chunks(profile: &str, records: &[Record]) -> Vec<Value> {
    let text = write(profile, records);
    let chunks = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != DONE);
    chunks.map(|chunk| serde_json::from_str(chunk).unwrap()).collect()
}

fn run(attempt: Option<&str>, events: Vec<Event>) -> Vec<Record> {
    let mut current = attempt.map(AttemptId::from);
    let mut records = Vec::new();
    for (seq, event) in events.into_iter().enumerate() {
        if let Event::AttemptStarted(AttemptStarted { attempt, .. }) = &event {
            current = Some(attempt.clone());
        }
        let origin = Origin { attempt: current.clone(), message: Some("m1".into()), ..Origin::default() };
        records.push(Record::new(seq as u64, event).from(origin));
    }
    records
}

fn start() -> Event {
    Event::MessageStarted(MessageStarted {
        message: "m1".into(),
        role: Role::Assistant,
        ..Default::default()
    })
}

fn delta(id: &str, delta: &str) -> Event {
    Event::BlockDelta(headwater_protocol::BlockDelta::new(BlockKind::Text, id, delta))
}

fn text_start(id: &str) -> Event {
    Event::BlockStarted(BlockStarted::new(BlockKind::Text, id))
}

fn text_end(id: &str) -> Event {
    Event::BlockEnded(BlockEnded::new(BlockKind::Text, id))
}

fn finished() -> Event {
    Event::RunFinished(RunFinished { reason: Some(FinishReason::Stop), ..Default::default() })
}

#[test]
fn plain_answer_is_written_in_plain_chunks() {
    let events = vec![
        start(),
        Event::StepStarted { name: None },
        text_start("t"),
        delta("t", "Hi \"you\"\n"),
        text_end("t"),
        Event::StepFinished { name: None },
        finished(),
    ];
    let expected = r#"data: {"type":"start","messageId":"m1"}

data: {"type":"start-step"}

data: {"type":"text-start","id":"t"}

data: {"type":"text-delta","id":"t","delta":"Hi \"you\"\n"}

data: {"type":"text-end","id":"t"}

data: {"type":"finish-step"}

data: {"type":"finish","finishReason":"stop"}

data: [DONE]

"#;
    for profile in ["strict", "ai-7"] {
        assert_eq!(write(profile, &run(None, events.clone())), expected);
    }
}

#[test]
fn open_block_is_closed_before_the_end() {
    let events = vec![start(), Event::StepStarted { name: None }, delta("t", "Hi"), finished()];
    assert_eq!(
        outline("strict", &run(None, events)),
        ["start", "start-step", "text-start", "text-delta", "text-end", "finish-step", "finish",]
    );
}

#[test]
fn retracted_attempt_is_reset_or_seamed() {
    let events = || {
        let mut events = vec![
            start(),
            Event::AttemptStarted(AttemptStarted { attempt: "a1".into(), ..Default::default() }),
            text_start("t1"),
            delta("t1", "dead"),
            Event::AttemptRetracted(AttemptRetracted { attempt: "a1".into(), ..Default::default() }),
            Event::AttemptStarted(AttemptStarted { attempt: "a2".into(), ..Default::default() }),
            text_start("t2"),
            delta("t2", "alive"),
            text_end("t2"),
        ];
        events.push(finished());
        run(None, events)
    };
    let exact = outline("ai-7", &events());
    let expected = ["reset-step", "text-start"];
    assert!(exact.windows(2).any(|window| window == expected), "{exact:?}");
    let seam = outline("strict", &events());
    let expected = ["text-end", "text-start", "text-delta", "text-end"];
    assert!(seam.windows(4).any(|window| window == expected), "{seam:?}");
    assert!(write("strict", &events()).contains("[again] "));
}

#[test]
fn call_of_a_retracted_attempt_fails_in_a_step_of_its_own() {
    let events = vec![
        start(),
        Event::AttemptStarted(AttemptStarted { attempt: "a1".into(), ..Default::default() }),
        Event::ToolInputStart(ToolCall::new("c1", "search")),
        Event::AttemptRetracted(AttemptRetracted { attempt: "a1".into(), ..Default::default() }),
        finished(),
    ];
    let chunks = outline("strict", &run(None, events));
    let expected = ["tool-output-error", "start-step", "text-start", "text-delta", "text-end"];
    assert!(chunks.windows(5).any(|window| window == expected), "{chunks:?}");
}

#[test]
fn default_profile_sends_no_key_that_old_clients_reject() {
    let metadata = || Some(json!({ "p": { "k": 1 } }));
    let tool =
        ToolCall { title: Some("Search".into()), metadata: metadata(), ..ToolCall::new("c1", "search") };
    let records = run(
        None,
        vec![
            start(),
            Event::ToolInputStart(tool.clone()),
            Event::ToolInputAvailable(ToolInputAvailable::new(tool.clone(), json!({}))),
            Event::ApprovalRequested(ApprovalRequested {
                approval: "ap".into(),
                tool,
                input: Some(json!({})),
                signature: Some("sig".into()),
                automatic: true,
                ..Default::default()
            }),
            Event::ApprovalAnswered(ApprovalAnswered {
                approval: "ap".into(),
                call: Some("c1".into()),
                approved: true,
                ..Default::default()
            }),
            Event::ToolOutput(ToolOutput {
                call: "c1".into(),
                output: json!(1),
                metadata: metadata(),
                ..Default::default()
            }),
            Event::RunCancelled { reason: Some("stop".into()) },
        ],
    );
    let strict = write("strict", &records);
    let chunks: Vec<_> = strict.lines().filter(|line| line.starts_with("data: ")).collect();
    assert_eq!(
        chunks,
        [
            r#"data: {"type":"start","messageId":"m1"}"#,
            r#"data: {"type":"tool-input-start","toolCallId":"c1","toolName":"search"}"#,
            r#"data: {"type":"tool-input-available","toolCallId":"c1","toolName":"search","input":{},"providerMetadata":{"p":{"k":1}}}"#,
            r#"data: {"type":"tool-approval-request","approvalId":"ap","toolCallId":"c1"}"#,
            r#"data: {"type":"tool-output-available","toolCallId":"c1","output":1}"#,
            r#"data: {"type":"abort"}"#,
            "data: [DONE]",
        ]
    );
    let newest = write("ai-7", &records);
    for key in
        ["\"title\"", "\"signature\"", "\"isAutomatic\"", "tool-approval-response", "\"reason\":\"stop\""]
    {
        assert!(newest.contains(key), "{key}");
    }
}

#[test]
fn waiting_run_ends_its_stream_and_cut_stream_has_an_error() {
    let mut events = vec![start(), Event::ToolInputStart(ToolCall::new("c1", "ask"))];
    let cut = outline("strict", &run(None, events.clone()));
    assert_eq!(cut.last_chunk(), Some(&["error", "finish"].map(str::to_owned)));
    events.push(Event::RunWaiting(RunWaiting {
        tool_calls: vec!["c1".into()],
        usage: Some(Usage::default()),
        ..Default::default()
    }));
    let waits = outline("strict", &run(None, events));
    assert_eq!(waits.last_chunk(), Some(&["tool-input-start", "finish"].map(str::to_owned)));
}

#[test]
fn lone_output_belongs_to_the_continued_message() {
    let output = |call: &str| {
        Event::ToolOutputError(ToolOutputError {
            call: call.into(),
            error: "no".into(),
            ..Default::default()
        })
    };
    let chunks = outline("strict", &run(None, vec![start(), output("c1"), finished()]));
    assert_eq!(chunks, ["start", "tool-output-error", "finish"]);
    let later = vec![start(), text_start("t"), text_end("t"), output("c1"), finished()];
    let chunks = outline("strict", &run(None, later));
    assert!(chunks.contains(&"tool-input-available".to_owned()), "{chunks:?}");
}

fn update(op: StructuredOp) -> Event {
    Event::Structured(StructuredUpdate::new("s1", "table", op))
}

#[test]
fn structured_object_is_a_data_part_that_is_replaced() {
    let rows = |count: usize| update(StructuredOp::append("rows", vec!["x".repeat(60); count]));
    let mut events = vec![start()];
    events.extend((0..300).map(|_| rows(1)));
    events.push(finished());
    let chunks = chunks("strict", &run(None, events));
    let parts: Vec<_> = chunks.iter().filter(|chunk| chunk["type"] == "data-table").collect();
    assert!(parts.iter().all(|part| part["id"] == "s1" && part.get("transient").is_none()));
    let whole = parts.last().unwrap();
    assert_eq!(whole["data"]["rows"].as_array().unwrap().len(), 300, "the rest is sent at the end");
    let sent: usize = parts.iter().map(|part| part.to_string().len()).sum();
    assert!(sent < 7 * whole.to_string().len(), "{sent}");
}

#[test]
fn invalidated_object_becomes_empty() {
    let invalid =
        Event::StructuredInvalidated(StructuredInvalidated { stream: "s1".into(), ..Default::default() });
    let records = run(None, vec![start(), update(StructuredOp::set("a", 1)), invalid, finished()]);
    let chunks = chunks("strict", &records);
    let parts: Vec<_> = chunks.iter().filter(|chunk| chunk["type"] == "data-table").collect();
    assert_eq!(parts.len(), 2);
    assert_eq!(parts[1], &json!({ "type": "data-table", "id": "s1", "data": {} }));
}

#[test]
fn data_of_a_reset_step_is_sent_again() {
    let chart = Event::Data(DataEvent { name: "chart".into(), data: json!([1]), ..Default::default() });
    let records = run(
        None,
        vec![
            start(),
            Event::AttemptStarted(AttemptStarted { attempt: "a1".into(), ..Default::default() }),
            delta("t1", "dead"),
            chart,
            update(StructuredOp::set("a", 1)),
            Event::AttemptRetracted(AttemptRetracted { attempt: "a1".into(), ..Default::default() }),
            finished(),
        ],
    );
    let types = outline("ai-7", &records);
    let reset = types.iter().position(|name| name == "reset-step").unwrap();
    assert_eq!(types[reset + 1..], ["data-chart", "data-table", "finish-step", "finish"]);
}

#[test]
fn question_is_a_call_that_the_page_answers() {
    let question = Interrupt::text("req_1", "Which city?");
    let asked = vec![
        start(),
        Event::StepStarted { name: None },
        Event::InterruptRequested(Box::new(question)),
        Event::RunWaiting(RunWaiting::default()),
    ];
    let mut records = run(None, asked);
    let sent = chunks("strict", &records);
    let call = sent.iter().find(|chunk| chunk["type"] == "tool-input-available").unwrap();
    assert_eq!((call["toolName"].as_str(), call["toolCallId"].as_str()), (Some("ask_user"), Some("req_1")));
    assert_eq!(call["input"]["question"], "Which city?");
    assert_eq!(sent.last().unwrap(), &json!({ "type": "finish", "finishReason": "tool-calls" }));

    let answer = Event::InterruptAnswered(InterruptAnswered {
        request: "req_1".into(),
        answer: Some(json!("Oslo")),
        ..Default::default()
    });
    records.extend(run(None, vec![answer, delta("t", "Cold."), finished()]));
    let sent = chunks("strict", &records);
    let output = sent.iter().position(|chunk| chunk["type"] == "tool-output-available").unwrap();
    assert_eq!(sent[output]["output"], "Oslo");
    let types: Vec<_> = sent[output + 1..].iter().map(|chunk| chunk["type"].as_str().unwrap()).collect();
    // A page that sends answers automatically would send this one forever if the text were in the same step.
    assert_eq!(
        types,
        ["finish-step", "start-step", "text-start", "text-delta", "text-end", "finish-step", "finish"]
    );

    let mut state = RunState::default();
    records[..records.len() - 1].iter().for_each(|record| state.apply(record).unwrap());
    let mut writer = Writer::new(&super::super::AiSdk, &EncodeOptions::default());
    writer.reentry(&state);
    let again = String::from_utf8(writer.take()).unwrap();
    assert!(again.contains(r#""toolCallId":"req_1","output":"Oslo""#), "{again}");
}

#[test]
fn expired_question_is_a_call_that_failed() {
    let question = Interrupt::text("req_1", "Which city?");
    let expired = Event::InterruptExpired { request: "req_1".into() };
    let records = run(None, vec![Event::InterruptRequested(Box::new(question)), expired, finished()]);
    let chunks = chunks("strict", &records);
    let error =
        json!({ "type": "tool-output-error", "toolCallId": "req_1", "errorText": "The question expired." });
    assert!(chunks.contains(&error), "{chunks:?}");
}

#[test]
fn status_and_transient_data_reach_only_the_listener() {
    let records = run(
        None,
        vec![
            Event::Status(StatusEvent { state: Some("searching".into()), ..Default::default() }),
            Event::Data(DataEvent {
                name: "progress".into(),
                data: json!(1),
                transient: true,
                ..Default::default()
            }),
            start(),
            finished(),
        ],
    );
    assert_eq!(outline("strict", &records), ["data-status", "data-progress", "start", "finish"]);
    assert!(chunks("strict", &records)[..2].iter().all(|chunk| chunk["transient"] == true));
}

#[test]
fn deltas_written_by_hand_are_what_serde_writes() {
    let (id, delta) = (Cow::Borrowed("a\"b"), Cow::Borrowed("\u{2028}\"\\\n\u{0}é"));
    let block = BlockDelta { id: id.clone(), delta: delta.clone(), provider_metadata: None };
    let input = ToolInputDelta { tool_call_id: id, input_text_delta: delta };
    for chunk in [Chunk::TextDelta(block.clone()), Chunk::ReasoningDelta(block), Chunk::ToolInputDelta(input)]
    {
        let mut out = FrameWriter::new(Framing::Ndjson);
        super::write(&chunk, &mut out);
        assert_eq!(String::from_utf8(out.take()).unwrap().trim_end(), serde_json::to_string(&chunk).unwrap());
    }
}

#[test]
fn old_clients_get_neither_approvals_nor_finish_reasons() {
    let asked = ApprovalRequested {
        approval: "a1".into(),
        tool: ToolCall::new("c1", "pay"),
        input: Some(json!({ "sum": 5 })),
        ..ApprovalRequested::default()
    };
    let denied = headwater_protocol::ToolDenied { call: "c1".into(), ..Default::default() };
    let records =
        run(None, vec![start(), Event::ApprovalRequested(asked), Event::ToolDenied(denied), finished()]);
    let chunks = chunks("ai-5.0", &records);
    let types: Vec<_> = chunks.iter().map(|chunk| chunk["type"].as_str().unwrap()).collect();
    let expected = ["start", "tool-input-available", "data-approval", "tool-output-error", "finish"];
    assert_eq!(types, expected);
    let data = json!({ "approvalId": "a1", "toolCallId": "c1", "toolName": "pay" });
    assert_eq!((&chunks[2]["data"], &chunks[4]), (&data, &json!({ "type": "finish" })));
}
