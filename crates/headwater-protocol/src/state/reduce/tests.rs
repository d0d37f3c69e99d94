use serde_json::{Value, json};

use super::*;
use crate::{
    error::ErrorKind,
    event::{
        ApprovalAnswered, ApprovalRequested, AttemptRetracted, BlockDelta, BlockEnded, BlockKind, DataEvent,
        ErrorEvent, RunFinished, RunWaiting, ToolCall, ToolInputAvailable, ToolInputDelta, ToolOutput,
        ToolOutputError, Usage,
    },
};

fn reduce(rules: Rules, events: Vec<Event>) -> Value {
    let mut state = RunState::with_rules(rules);
    for (seq, event) in events.into_iter().enumerate() {
        state.apply(&Record::new(seq as u64, event)).unwrap();
    }
    serde_json::to_value(state.view()).unwrap()
}

fn parts(events: Vec<Event>) -> Value {
    reduce(Rules::default(), events)["messages"][0]["parts"].take()
}

fn text(id: &str, delta: &str) -> Event {
    Event::BlockDelta(BlockDelta::new(BlockKind::Text, id, delta))
}

fn data(id: Option<&str>, value: i64, transient: bool) -> Event {
    Event::Data(DataEvent {
        name: "n".into(),
        id: id.map(str::to_owned),
        data: json!(value),
        transient,
        ..Default::default()
    })
}

fn output(call: &str, value: i64, preliminary: bool) -> Event {
    Event::ToolOutput(ToolOutput {
        call: call.into(),
        output: json!(value),
        preliminary,
        ..Default::default()
    })
}

fn within(attempt: &str, event: impl Into<Event>) -> Record {
    Record::new(0, event).from(Origin { attempt: Some(attempt.into()), ..Origin::default() })
}

#[test]
fn interleaved_blocks_grow_in_place() {
    let events = vec![
        text("a", "1"),
        text("b", "2"),
        text("a", "3"),
        Event::BlockEnded(BlockEnded::new(BlockKind::Text, "a")),
        text("a", "4"),
    ];
    let expected = json!([
        { "type": "text", "text": "13", "state": "done" },
        { "type": "text", "text": "2", "state": "streaming" },
        { "type": "text", "text": "4", "state": "streaming" },
    ]);
    assert_eq!(parts(events), expected);
}

#[test]
fn events_after_the_end_of_a_run_are_ignored() {
    let end = |end: Event| vec![text("a", "1"), end, text("a", "2"), text("b", "3"), output("c", 1, false)];
    let finished = || Event::RunFinished(RunFinished::default());
    let failed = || Event::RunFailed(ErrorInfo::new("broken"));
    let cancelled = || Event::RunCancelled { reason: None };
    for last in [finished, failed, cancelled] {
        let state = reduce(Rules::default(), end(last()));
        let parts = state["messages"][0]["parts"].as_array().unwrap();
        assert_eq!((parts.len(), &parts[0]["text"]), (1, &json!("1")), "{state}");
        let on = reduce(Rules { goes_on_after_end: true, ..Rules::default() }, end(last()));
        assert_eq!(on["messages"][0]["parts"].as_array().unwrap().len(), 3, "{on}");
    }
    // Another run may begin, and a truncated stream may be continued.
    let mut again = end(finished());
    again.extend([Event::RunStarted(crate::event::RunStarted::default()), text("d", "4")]);
    let state = reduce(Rules::default(), again);
    assert!(state.to_string().contains("\"4\""), "{state}");
    let mut cut = RunState::default();
    cut.apply(&Record::new(0, text("a", "1"))).unwrap();
    cut.end_of_stream();
    cut.apply(&Record::new(1, text("a", "2"))).unwrap();
    assert_eq!(cut.messages()[0].plain_text(), "12");
}

#[test]
fn tool_call_passes_through_approval_to_its_output() {
    let tool = ToolCall::new("c1", "mail");
    let events = vec![
        Event::ToolInputStart(tool.clone()),
        Event::ToolInputDelta(ToolInputDelta::new("c1", "{\"to\"")),
        Event::ToolInputAvailable(ToolInputAvailable::new(tool.clone(), json!({ "to": "a" }))),
        Event::ApprovalRequested(ApprovalRequested { approval: "ap1".into(), tool, ..Default::default() }),
        Event::ApprovalAnswered(ApprovalAnswered {
            approval: "ap1".into(),
            approved: true,
            reason: Some("ok".into()),
            ..Default::default()
        }),
        output("c1", 1, true),
        output("c1", 2, false),
    ];
    let states: Vec<_> = (1..=events.len())
        .map(|count| parts(events[..count].to_vec())[0]["state"].as_str().unwrap().to_owned())
        .collect();
    let expected = [
        "input-streaming",
        "input-streaming",
        "input-available",
        "approval-requested",
        "approval-responded",
        "output-available",
        "output-available",
    ];
    assert_eq!(states, expected);
    let expected = json!([{
        "type": "tool-mail", "toolName": "mail", "toolCallId": "c1", "state": "output-available",
        "input": { "to": "a" }, "output": 2, "approval": { "id": "ap1", "approved": true, "reason": "ok" },
    }]);
    assert_eq!(parts(events), expected);
}

#[test]
fn streamed_input_is_kept_when_approval_is_requested() {
    let asked = ApprovalRequested {
        approval: "a".into(),
        tool: ToolCall::new("c", "t"),
        ..ApprovalRequested::default()
    };
    let events = vec![
        Event::ToolInputStart(ToolCall::new("c", "t")),
        Event::ToolInputDelta(ToolInputDelta::new("c", r#"{"q":1}"#)),
        Event::ApprovalRequested(asked),
    ];
    assert_eq!(parts(events)[0]["input"], json!({ "q": 1 }));
}

#[test]
fn error_replaces_an_output_unless_fields_linger() {
    let events = vec![
        output("c1", 1, false),
        Event::ToolOutputError(ToolOutputError {
            call: "c1".into(),
            error: "late".into(),
            ..Default::default()
        }),
    ];
    let ours = reduce(Rules::default(), events.clone());
    assert_eq!(ours["messages"][0]["parts"][0]["output"], Value::Null);
    let lingering = reduce(Rules { tool_fields_linger: true, ..Rules::default() }, events);
    assert_eq!(lingering["messages"][0]["parts"][0]["output"], 1);
}

#[test]
fn call_id_scope_follows_the_dialect() {
    let call = || Event::ToolInputStart(ToolCall::new("c1", "x"));
    let step = || Event::StepStarted { name: None };
    let events = vec![step(), call(), step(), call()];
    let count = |scope| {
        let view = reduce(Rules { tool_scope: scope, ..Rules::default() }, events.clone());
        let parts = view["messages"][0]["parts"].as_array().unwrap();
        parts.iter().filter(|part| part["type"] == "tool-x").count()
    };
    assert_eq!([count(ToolScope::Run), count(ToolScope::Message), count(ToolScope::Step)], [1, 1, 2]);
}

#[test]
fn data_is_replaced_by_id_and_transient_data_is_not_kept() {
    let events =
        vec![data(Some("d"), 1, false), data(None, 2, false), data(Some("d"), 3, false), data(None, 4, true)];
    let values = |view: Value| -> Vec<i64> {
        let parts = view["messages"][0]["parts"].as_array().unwrap();
        parts.iter().map(|part| part["data"].as_i64().unwrap()).collect()
    };
    assert_eq!(values(reduce(Rules::default(), events.clone())), [3, 2]);
    let kept = Rules { data_is_appended: true, transient_is_kept: true, ..Rules::default() };
    assert_eq!(values(reduce(kept, events)), [1, 2, 3, 4]);
}

#[test]
fn retracted_attempt_removes_its_output_but_not_completed_calls() {
    let mut state = RunState::default();
    let records = [
        within("a", text("t1", "dead")),
        within("a", ToolCall::new("c1", "done")),
        within("a", output("c1", 1, false)),
        within("a", ToolCall::new("c2", "half")),
        within("b", text("t2", "alive")),
        Record::new(0, AttemptRetracted { attempt: "a".into(), ..Default::default() }),
        within("b", text("t2", " still")),
    ];
    for record in &records {
        state.apply(record).unwrap();
    }
    let message = &state.messages()[0];
    assert_eq!(message.plain_text(), "alive still");
    assert!(message.tool("c1").is_some() && message.tool("c2").is_none());
}

#[test]
fn metadata_is_merged_recursively() {
    let events = |_| {
        vec![
            Event::MessageMetadata { metadata: json!({ "a": { "x": 1 }, "b": 1 }) },
            Event::MessageMetadata { metadata: json!({ "a": { "y": 2 }, "b": null }) },
        ]
    };
    let deep = reduce(Rules::default(), events(()));
    assert_eq!(deep["messages"][0]["metadata"], json!({ "a": { "x": 1, "y": 2 }, "b": null }));
    let shallow = reduce(Rules { metadata_is_shallow: true, ..Rules::default() }, events(()));
    assert_eq!(shallow["messages"][0]["metadata"], json!({ "a": { "y": 2 }, "b": null }));
}

#[test]
fn snapshot_replaces_adds_and_removes_messages() {
    let user = |id: &str, text: &str| Message::text(id, Role::User, text);
    let mut state = RunState::default().with_messages(vec![user("u1", "old"), user("u2", "gone")]);
    let snapshot = Event::MessagesSnapshot { messages: vec![user("u3", "new"), user("u1", "changed")] };
    state.apply(&Record::new(0, snapshot)).unwrap();
    let held: Vec<_> =
        state.messages().iter().map(|message| (message.id.as_str(), message.plain_text())).collect();
    assert_eq!(held, [("u1", "changed".to_owned()), ("u3", "new".to_owned())]);
}

#[test]
fn failed_patch_changes_nothing() {
    let mut state = RunState::default();
    state.apply(&Record::new(0, Event::StateSnapshot { state: json!({ "a": 1 }) })).unwrap();
    let patch = vec![
        json!({ "op": "replace", "path": "/a", "value": 2 }),
        json!({ "op": "remove", "path": "/nowhere" }),
    ];
    let refused = state.apply(&Record::new(1, Event::StateDelta { patch })).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::State);
    assert_eq!(state.shared_state(), Some(&json!({ "a": 1 })));
}

#[test]
fn end_of_a_run_sets_the_status_of_its_messages() {
    let status =
        |end: Event| reduce(Rules::default(), vec![text("t", "x"), end])["messages"][0]["status"].take();
    let usage = Some(Usage::default());
    assert_eq!(status(Event::RunFinished(RunFinished { usage, ..Default::default() })), "sent");
    assert_eq!(status(Event::RunCancelled { reason: None }), "cancelled");
    assert_eq!(status(Event::RunFailed(ErrorInfo::new("x"))), "error");
    assert_eq!(
        status(Event::Error(ErrorEvent { error: ErrorInfo::new("x"), terminal: true, ..Default::default() })),
        "error"
    );
    assert_eq!(
        status(Event::Error(ErrorEvent { error: ErrorInfo::new("x"), ..Default::default() })),
        "streaming"
    );
}

#[test]
fn run_waiting_for_a_client_tool_resumes_with_its_output() {
    let mut state = RunState::default();
    let waiting = Event::RunWaiting(RunWaiting { tool_calls: vec!["c".into()], ..Default::default() });
    let tool = ToolCall::new("c", "locate");
    for event in [Event::ToolInputAvailable(ToolInputAvailable::new(tool, None)), waiting] {
        state.apply(&Record::new(0, event)).unwrap();
    }
    assert_eq!(state.run().status, RunStatus::Waiting);
    state.apply(&Record::new(0, output("c", 1, false))).unwrap();
    assert_eq!(
        state.run().status,
        RunStatus::Running,
        "a reader that reconnects now must not see it waiting"
    );
}
