//! The end of a stream whose run waits for a person or for the page.

use super::*;

#[test]
fn waiting_run_lists_its_interrupts() {
    let waiting = Event::RunWaiting(RunWaiting { tool_calls: vec!["c1".into()], ..Default::default() });
    let tool = ToolCall::new("c1", "pick").by(Executor::Client);
    let pick = record(None, ToolInputAvailable::new(tool, json!({ "of": 3 })));
    let records = [Record::new(0, started()), pick, Record::new(0, waiting)];

    let body = encode(&modern(), &records);
    let pending = json!({ "type": "success", "pendingToolCallIds": ["c1"] });
    assert_eq!(events(&body).pop().unwrap()["outcome"], pending);

    let body = encode(&EncodeOptions::default(), &records);
    let (mut all, custom) = (events(&body), "tool-input-available");
    assert_eq!(all.pop().unwrap().get("outcome"), None);
    assert_eq!(all.pop().unwrap()["name"], custom);
    assert_eq!(decode(&body).records.last().unwrap().event, records[2].event);

    let question = Event::InterruptRequested(Box::new(Interrupt::text("q1", "Which city?")));
    let approval = Event::ApprovalRequested(ApprovalRequested {
        approval: "ok1".into(),
        tool: ToolCall::new("c2", "send"),
        input: Some(json!({})),
        ..Default::default()
    });
    let waiting = Event::RunWaiting(RunWaiting::default());
    let body = encode(&modern(), &[question, approval, waiting].map(|event| record(None, event)));
    let end = events(&body).pop().unwrap();
    let asked = end["outcome"]["interrupts"].as_array().unwrap();
    assert_eq!([&asked[0]["id"], &asked[1]["id"]], ["q1", "ok1"]);
    assert_eq!([&asked[1]["reason"], &asked[1]["toolCallId"]], ["tool_call", "c2"]);
    assert_eq!(lint(reader(), Framing::Sse, body.as_bytes()), []);
}

#[test]
fn approval_in_a_snapshot_is_not_repeated_at_the_end() {
    let approval = Event::ApprovalRequested(ApprovalRequested {
        approval: "ok1".into(),
        tool: ToolCall::new("c1", "send"),
        input: Some(json!({})),
        ..Default::default()
    });
    let seen = [Record::new(0, started()), call("c1", json!({})), record(None, approval)];
    let mut state = RunState::with_rules(reader().rules());
    seen.iter().for_each(|record| state.apply(record).unwrap());
    for profile in dialect().profiles() {
        let mut encoder = Encoder::new(dialect(), &EncodeOptions::profile(profile));
        encoder.reentry(&state);
        let question = Event::InterruptRequested(Box::new(Interrupt::text("q1", "Which city?")));
        encoder.record(&record(None, question));
        encoder.record(&record(None, RunWaiting::default()));
        encoder.finish();
        let heard = decode(&String::from_utf8(encoder.take()).unwrap());
        let questions: Vec<_> = heard
            .records
            .iter()
            .filter_map(|record| match &record.event {
                Event::InterruptRequested(interrupt) => Some(interrupt.request.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(questions, ["q1"], "{}", profile.name);
    }
}

#[test]
fn call_is_marked_for_approval_only_when_the_run_waits() {
    let delete = ToolCall::new("c1", "delete");
    let ask = ApprovalRequested { approval: "a1".into(), tool: delete.clone(), ..Default::default() };
    let records = [
        Record::new(0, started()),
        record(None, ToolInputAvailable::new(delete, json!({}))),
        record(None, ask),
        call("c2", json!({})),
        record(None, ToolOutput::new("c2", json!("done"))),
        record(None, RunWaiting::default()),
    ];
    let types = types(&encode(&EncodeOptions::profile(super::super::TANSTACK), &records));
    assert!(
        types.ends_with(&["TOOL_CALL_RESULT".into(), "CUSTOM".into(), "RUN_FINISHED".into()]),
        "{types:?}"
    );
}
