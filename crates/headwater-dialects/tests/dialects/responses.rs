//! A run that waits takes several responses: the first ends at the wait, the next continues after the answer.

use headwater_dialects::{EncodeOptions, Encoder};
use headwater_protocol::{
    ApprovalAnswered, ApprovalRequested, BlockDelta, BlockEnded, BlockKind, BlockStarted, Event,
    FinishReason, MessageStarted, Record, Role, RunFinished, RunStarted, RunWaiting, ToolCall,
    ToolInputAvailable, ToolOutput,
};
use serde_json::{Value, json};

/// Text, a call that needs approval, the wait; then the output, more text and the end.
fn run() -> (Vec<Record>, Vec<Record>) {
    let tool = ToolCall::new("call_1", "send");
    let before = [
        Event::RunStarted(RunStarted {
            run: Some("run_1".into()),
            session: Some("session_1".into()),
            ..RunStarted::default()
        }),
        Event::MessageStarted(MessageStarted {
            message: "m1".into(),
            role: Role::Assistant,
            ..Default::default()
        }),
        Event::StepStarted { name: None },
        Event::BlockStarted(BlockStarted::new(BlockKind::Text, "t1")),
        Event::BlockDelta(BlockDelta::new(BlockKind::Text, "t1", "I will send it.")),
        Event::BlockEnded(BlockEnded::new(BlockKind::Text, "t1")),
        Event::ToolInputAvailable(ToolInputAvailable::new(tool.clone(), json!({ "to": "ann" }))),
        Event::ApprovalRequested(ApprovalRequested {
            approval: "approval_1".into(),
            tool,
            input: Some(json!({ "to": "ann" })),
            ..Default::default()
        }),
        Event::RunWaiting(RunWaiting::default()),
    ];
    let after = [
        Event::ApprovalAnswered(ApprovalAnswered {
            approval: "approval_1".into(),
            approved: true,
            ..Default::default()
        }),
        Event::ToolOutput(ToolOutput::new("call_1", json!("sent"))),
        Event::StepFinished { name: None },
        Event::StepStarted { name: None },
        Event::BlockStarted(BlockStarted::new(BlockKind::Text, "t2")),
        Event::BlockDelta(BlockDelta::new(BlockKind::Text, "t2", "Done.")),
        Event::BlockEnded(BlockEnded::new(BlockKind::Text, "t2")),
        Event::StepFinished { name: None },
        Event::MessageFinished { message: "m1".into() },
        Event::RunFinished(RunFinished { reason: Some(FinishReason::Stop), ..Default::default() }),
    ];
    let mut seq = 0;
    let mut records = |events: Vec<Event>| -> Vec<Record> {
        let number = |event| {
            seq += 1;
            Record::new(seq, event)
        };
        events.into_iter().map(number).collect()
    };
    (records(before.to_vec()), records(after.to_vec()))
}

/// The chunks of the second response.
fn second(dialect: &str, profile: Option<&str>) -> Vec<Value> {
    let (before, after) = run();
    let mut options = EncodeOptions::default();
    options.profile = profile.and_then(|name| headwater_dialects::find(dialect).unwrap().profile(name));
    let mut encoder = Encoder::new(headwater_dialects::find(dialect).unwrap(), &options);
    before.iter().for_each(|record| encoder.record(record));
    encoder.next_response();
    after.iter().for_each(|record| encoder.record(record));
    encoder.finish();
    let body = String::from_utf8(encoder.take()).unwrap();
    let mut chunks = Vec::new();
    for block in body.split("\n\n").filter(|block| !block.is_empty()) {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
        let data = field("data: ").unwrap();
        let mut chunk: Value = serde_json::from_str(data).unwrap_or_else(|_| json!(data));
        if let Some(event) = field("event: ") {
            chunk["type"] = json!(event);
        }
        chunks.push(chunk);
    }
    chunks
}

fn types(chunks: &[Value], without: &[&str]) -> Vec<String> {
    let types = chunks.iter().map(|chunk| chunk["type"].as_str().unwrap_or("[DONE]").to_owned());
    types.filter(|name| !without.contains(&name.as_str())).collect()
}

#[test]
fn ai_sdk_continues_its_message_with_the_output_before_the_next_step() {
    let chunks = second("ai-sdk", None);
    assert_eq!(chunks[0], json!({ "type": "start", "messageId": "m1" }));
    let types = types(&chunks, &[]);
    let expected = [
        "start",
        "tool-output-available",
        "start-step",
        "text-start",
        "text-delta",
        "text-end",
        "finish-step",
        "finish",
        "[DONE]",
    ];
    assert_eq!(types, expected);
}

#[test]
fn ag_ui_starts_a_run_before_anything_else() {
    for profile in ["legacy", "1.0", "tanstack"] {
        let chunks = second("ag-ui", Some(profile));
        let types = types(&chunks, &["CUSTOM"]);
        assert_eq!(types[0], "RUN_STARTED");
        assert_eq!(chunks[0]["runId"], "run_1");
        assert!(types.contains(&"TOOL_CALL_RESULT".to_owned()), "{types:?}");
        assert_eq!(types.iter().filter(|name| *name == "RUN_STARTED").count(), 1);
        assert_eq!(types.last().unwrap(), "RUN_FINISHED");
    }
}

#[test]
fn agents_contract_repeats_meta() {
    let chunks = second("agents", None);
    assert_eq!(chunks[0]["type"], "meta");
    assert_eq!(chunks[0]["runId"], "run_1");
    let types = types(&chunks, &[]);
    assert_eq!(types.iter().filter(|name| *name == "meta").count(), 1);
    assert_eq!(types.last().unwrap(), "done");
}

#[test]
fn tanstack_starts_a_new_message() {
    let chunks = second("tanstack", None);
    let types = types(&chunks, &[]);
    assert_eq!(types, ["tool_result", "content", "done", "[DONE]"]);
    let content = chunks.iter().find(|chunk| chunk["type"] == "content").unwrap();
    assert_eq!(content["delta"], "Done.");
}

#[test]
fn kortyx_continues_and_ends_once() {
    let chunks = second("kortyx", None);
    let types = types(&chunks, &[]);
    assert_eq!(types.iter().filter(|name| *name == "done").count(), 1, "{types:?}");
    assert_eq!(types.last().unwrap(), "[DONE]");
}

#[test]
fn frame_ids_count_the_frames_read_of_a_record() {
    let mut encoder = Encoder::new(headwater_dialects::find("agents").unwrap(), &EncodeOptions::default());
    let record = Record::new(7, Event::Message { content: "Hi".into() });
    encoder
        .record_with_ids(&record, &mut |frame, last| format!("7.{frame}{}", if last { "!" } else { "" }))
        .unwrap();
    let body = String::from_utf8(encoder.take()).unwrap();
    let ids: Vec<_> = body.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    assert_eq!(ids, ["7.1", "7.2", "7.3!"]);
    assert!(body.starts_with("id: 7.1\nevent: meta\n"), "{body}");

    let mut silent = Encoder::new(headwater_dialects::find("kortyx").unwrap(), &EncodeOptions::default());
    silent.record_with_ids(&record, &mut |_, _| panic!("its client drops blocks with an id")).unwrap();
}
