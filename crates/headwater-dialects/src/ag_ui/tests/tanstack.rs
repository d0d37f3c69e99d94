//! Requirements of TanStack's page beyond AG-UI's own events.

use super::*;

#[test]
fn tanstack_text_after_an_object_begins_a_new_message() {
    use headwater_protocol::{StructuredOp, StructuredUpdate};
    let update = StructuredUpdate::new("s1", "table", StructuredOp::append("rows", [json!(1)]));
    let mut records = vec![Record::new(0, started()), record(None, Event::Structured(update))];
    records.extend(text(None, "x", "Done"));
    let starts = |profile: &'static crate::Profile| -> Vec<String> {
        let all = events(&encode(&EncodeOptions::profile(profile), &records));
        let starts = all.iter().filter(|event| event["type"] == "TEXT_MESSAGE_START");
        starts.map(|event| event["messageId"].as_str().unwrap().to_owned()).collect()
    };
    let [object, said] = starts(super::super::TANSTACK).try_into().unwrap();
    let [own] = <[String; 1]>::try_from(starts(super::super::V1)).unwrap();
    assert_eq!(said, format!("{own}-1"));
    assert!(object.starts_with(&format!("{own}-object-")), "{object}");
}

#[test]
fn tanstack_question_is_bound_to_its_run() {
    let question = Event::InterruptRequested(Box::new(Interrupt::text("q1", "Which city?")));
    let waiting = Event::RunWaiting(headwater_protocol::RunWaiting::default());
    let records = [Record::new(0, started()), record(None, question), record(None, waiting)];
    let body = encode(&EncodeOptions::profile(super::super::TANSTACK), &records);
    let end = events(&body).pop().unwrap();
    let asked = &end["outcome"]["interrupts"][0];
    let binding =
        json!({ "v": 1, "kind": "generic", "interruptId": "q1", "interruptedRunId": "r1", "generation": 0 });
    assert_eq!(asked["metadata"]["tanstack:interruptBinding"], binding);
    assert_eq!(asked.get("responseSchema"), None);
}

#[test]
fn tanstack_page_message_equals_the_live_page() {
    let call = |id: &str| headwater_protocol::ToolInputAvailable::new(ToolCall::new(id, "f"), json!({}));
    let records = [
        record(None, call("done")),
        record(None, call("failed")),
        record(None, call("open")),
        output("done", json!({ "a": 1 })),
        record(
            None,
            headwater_protocol::ToolOutputError {
                call: "failed".into(),
                error: "no".into(),
                ..Default::default()
            },
        ),
        record(None, Event::InterruptRequested(Box::new(Interrupt::text("q1", "Which city?")))),
    ];
    let mut state = RunState::with_rules(super::super::rules());
    records.iter().for_each(|record| state.apply(record).unwrap());
    let page = dialect().page_message(&state.messages()[0]);
    let parts = page["parts"].as_array().unwrap();
    let calls: Vec<_> = parts
        .iter()
        .filter(|part| part["type"] == "tool-call")
        .map(|part| (part["id"].as_str().unwrap(), part["state"].as_str().unwrap(), part.get("output")))
        .collect();
    let (given, error) = (json!({ "a": 1 }), json!("no"));
    assert_eq!(
        calls,
        [
            ("done", "complete", Some(&given)),
            ("failed", "error", Some(&error)),
            ("open", "input-complete", None)
        ]
    );
}

/// A text around a call whose input is refused.
fn text_around_a_refused_call() -> [Record; 9] {
    let refused = ToolInputError {
        tool: ToolCall::new("c1", "search"),
        input: Some(json!({ "bad": true })),
        error: "not what the tool takes".to_owned(),
        ..ToolInputError::default()
    };
    [
        record(None, started()),
        record(None, Event::ToolInputStart(ToolCall::new("c1", "search"))),
        record(None, ToolInputDelta::new("c1", "{")),
        record(None, BlockStarted::new(BlockKind::Text, "p1")),
        record(None, BlockDelta::new(BlockKind::Text, "p1", "One ")),
        record(None, Event::ToolInputError(refused)),
        record(None, BlockDelta::new(BlockKind::Text, "p1", "text.")),
        record(None, BlockEnded::new(BlockKind::Text, "p1")),
        record(None, RunFinished::default()),
    ]
}

#[test]
fn open_text_continues_after_a_snapshot() {
    let mut state = RunState::with_rules(super::super::rules());
    for record in &decode(&encode(&modern(), &text_around_a_refused_call())).records {
        let _ = state.apply(record);
    }
    let parts = state.messages().iter().flat_map(|message| &message.parts);
    let texts: Vec<_> = parts.filter_map(|part| Some(part.as_block()?.1.text.clone())).collect();
    assert_eq!(texts, ["One text."]);
}

#[test]
fn tanstack_snapshot_waits_for_the_end_of_a_text() {
    let options = EncodeOptions::profile(super::super::TANSTACK);
    let types = types(&encode(&options, &text_around_a_refused_call()));
    let at = |wanted: &str| types.iter().rposition(|kind| kind == wanted).unwrap();
    assert_eq!(at("MESSAGES_SNAPSHOT"), at("TEXT_MESSAGE_END") + 1, "{types:?}");
}

#[test]
fn tanstack_1_client_tools_are_interrupts() {
    let tool = ToolCall::new("c1", "locate").by(Executor::Client);
    let delete = ApprovalRequested {
        approval: "a1".into(),
        tool: ToolCall::new("c2", "delete"),
        ..Default::default()
    };
    let records = [
        Record::new(0, started()),
        record(None, ToolInputAvailable::new(tool, json!({}))),
        record(None, ToolInputAvailable::new(ToolCall::new("c2", "delete"), json!({}))),
        record(None, delete),
        record(None, Event::RunWaiting(RunWaiting { tool_calls: vec!["c1".into()], ..Default::default() })),
    ];
    let body = encode(&EncodeOptions::profile(super::super::TANSTACK_1), &records);
    assert!(!body.contains("CUSTOM"), "{body}");
    let end = events(&body).pop().unwrap();
    let interrupts = end["outcome"]["interrupts"].as_array().unwrap();
    let bound = |at: usize| &interrupts[at]["metadata"]["tanstack:interruptBinding"];
    assert_eq!(
        (bound(0)["kind"].as_str(), bound(1)["kind"].as_str()),
        (Some("generic"), Some("client-tool-execution"))
    );
    assert_eq!(bound(1)["interruptId"], interrupts[1]["id"]);
    assert_eq!((&bound(1)["toolCallId"], &interrupts[1]["toolCallId"]), (&json!("c1"), &json!("c1")));
}
