use super::*;
use crate::{
    encode::Encoder as Writer,
    event::{FinishReason, Origin, Role, ToolCall, Usage},
    framing::Framing,
    lint::lint,
};
use serde_json::json;

fn write(profile: &str, records: &[Record]) -> String {
    let mut options = EncodeOptions::profile(profile);
    options.seam = "[again] ".to_owned();
    let mut writer = Writer::new(&super::super::AiSdk, &options);
    records.iter().for_each(|record| writer.record(record));
    writer.finish();
    let bytes = writer.take();
    let findings = lint(&super::super::AiSdk, Framing::Sse, &bytes);
    assert!(findings.is_empty(), "{findings:?}");
    String::from_utf8(bytes).unwrap()
}

/// The types of the chunks, marks as the events that they carry and what they cover.
fn outline(profile: &str, records: &[Record]) -> Vec<String> {
    let text = write(profile, records);
    let chunks = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != DONE);
    let outlined = chunks.map(|chunk| match Chunk::read(chunk).unwrap() {
        Chunk::Mark(Mark { event: Some(event), covers, .. }) => format!("{}+{covers}", event.kind()),
        Chunk::Mark(Mark { covers, .. }) => format!("mark+{covers}"),
        chunk => serde_json::to_value(chunk).unwrap()["type"].as_str().unwrap().to_owned(),
    });
    outlined.collect()
}

fn run(attempt: Option<&str>, events: Vec<Event>) -> Vec<Record> {
    let mut current = attempt.map(AttemptId::from);
    let mut records = Vec::new();
    for (seq, event) in events.into_iter().enumerate() {
        if let Event::AttemptStarted { attempt, .. } = &event {
            current = Some(attempt.clone());
        }
        let origin = Origin { attempt: current.clone(), message: Some("m1".into()), ..Origin::default() };
        records.push(Record::new(seq as u64, event).from(origin));
    }
    records
}

fn start() -> Event {
    Event::MessageStarted { message: "m1".into(), role: Role::Assistant, author: None }
}

fn delta(id: &str, delta: &str) -> Event {
    Event::TextDelta { id: id.into(), delta: delta.into(), metadata: None }
}

fn text_start(id: &str) -> Event {
    Event::TextStart { id: id.into(), metadata: None }
}

fn text_end(id: &str) -> Event {
    Event::TextEnd { id: id.into(), metadata: None }
}

fn finished() -> Event {
    Event::RunFinished { reason: Some(FinishReason::Stop), usage: None, data: None }
}

#[test]
fn a_plain_answer_is_said_in_plain_chunks() {
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
fn what_is_open_is_closed_before_the_end() {
    let events = vec![start(), Event::StepStarted { name: None }, delta("t", "Hi"), finished()];
    assert_eq!(
        outline("strict", &run(None, events)),
        [
            "start",
            "start-step",
            "text-delta+2",
            "text-start",
            "text-delta",
            "run-finished+3",
            "text-end",
            "finish-step",
            "finish",
        ]
    );
}

#[test]
fn a_dead_attempt_is_reset_or_seamed() {
    let events = || {
        let mut events = vec![
            start(),
            Event::AttemptStarted { attempt: "a1".into(), model: None },
            text_start("t1"),
            delta("t1", "dead"),
            Event::AttemptRetracted { attempt: "a1".into(), reason: None },
            Event::AttemptStarted { attempt: "a2".into(), model: None },
            text_start("t2"),
            delta("t2", "alive"),
            text_end("t2"),
        ];
        events.push(finished());
        run(None, events)
    };
    let exact = outline("ai-7", &events());
    let expected = ["attempt-retracted+1", "reset-step", "attempt-started+0", "text-start"];
    assert!(exact.windows(4).any(|window| window == expected), "{exact:?}");
    let seam = outline("strict", &events());
    let expected = ["attempt-retracted+4", "text-end", "text-start", "text-delta", "text-end"];
    assert!(seam.windows(5).any(|window| window == expected), "{seam:?}");
    assert!(write("strict", &events()).contains("[again] "));
}

#[test]
fn a_call_of_a_dead_attempt_fails_in_a_step_of_its_own() {
    let events = vec![
        start(),
        Event::AttemptStarted { attempt: "a1".into(), model: None },
        Event::ToolInputStart(ToolCall::new("c1", "search")),
        Event::AttemptRetracted { attempt: "a1".into(), reason: None },
        finished(),
    ];
    let chunks = outline("strict", &run(None, events));
    let expected = ["tool-output-error", "start-step", "text-start", "text-delta", "text-end"];
    assert!(chunks.windows(5).any(|window| window == expected), "{chunks:?}");
}

#[test]
fn the_default_profile_sends_no_key_that_old_clients_reject() {
    let metadata = || Some(json!({ "p": { "k": 1 } }));
    let tool =
        ToolCall { title: Some("Search".into()), metadata: metadata(), ..ToolCall::new("c1", "search") };
    let records = run(
        None,
        vec![
            start(),
            Event::ToolInputStart(tool.clone()),
            Event::ToolInputAvailable { tool: tool.clone(), input: Some(json!({})) },
            Event::ApprovalRequested {
                approval: "ap".into(),
                tool,
                input: Some(json!({})),
                signature: Some("sig".into()),
                automatic: true,
            },
            Event::ApprovalAnswered {
                approval: "ap".into(),
                call: Some("c1".into()),
                approved: true,
                reason: None,
            },
            Event::ToolOutput {
                call: "c1".into(),
                name: None,
                output: json!(1),
                structured: None,
                is_error: false,
                preliminary: false,
                metadata: metadata(),
            },
            Event::RunCancelled { reason: Some("stop".into()) },
        ],
    );
    let strict = write("strict", &records);
    let chunks = strict.lines().filter(|line| line.starts_with("data: ") && !line.contains("hw-event"));
    let chunks: Vec<_> = chunks.collect();
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
fn a_run_that_waits_ends_its_stream_and_a_cut_one_says_so() {
    let mut events = vec![start(), Event::ToolInputStart(ToolCall::new("c1", "ask"))];
    let cut = outline("strict", &run(None, events.clone()));
    assert_eq!(cut.last_chunk(), Some(&["mark+2", "error", "finish"].map(str::to_owned)));
    events.push(Event::RunWaiting { tool_calls: vec!["c1".into()], usage: Some(Usage::default()) });
    let waits = outline("strict", &run(None, events));
    assert_eq!(waits.last_chunk(), Some(&["run-waiting+0", "mark+1", "finish"].map(str::to_owned)));
}

#[test]
fn an_output_alone_belongs_to_the_message_that_is_gone_on_with() {
    let output = |call: &str| Event::ToolOutputError { call: call.into(), name: None, error: "no".into() };
    let chunks = outline("strict", &run(None, vec![start(), output("c1"), finished()]));
    assert_eq!(chunks, ["start", "tool-output-error+1", "tool-output-error", "finish"]);
    let later = vec![start(), text_start("t"), text_end("t"), output("c1"), finished()];
    let chunks = outline("strict", &run(None, later));
    assert!(chunks.contains(&"tool-input-available".to_owned()), "{chunks:?}");
}
