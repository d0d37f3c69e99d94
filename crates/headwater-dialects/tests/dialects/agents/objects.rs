//! Objects, questions and retries for a reader of the contract.

use headwater_protocol::{
    AttemptRetracted, BlockDelta, BlockKind, Event, Interrupt, InterruptAnswered, MessageStarted, Origin,
    Part, Record, Role, RunFinished, RunStarted, RunState, RunStatus, RunWaiting, StructuredOp,
    StructuredUpdate, ToolState,
};
use serde_json::json;

use super::{check, encode, parts, read};

fn records(events: Vec<Event>) -> Vec<Record> {
    let origin = |attempt: &str| Origin { attempt: Some(attempt.into()), ..Origin::default() };
    let place = |(at, event): (usize, Event)| {
        let record = Record::new(at as u64, event);
        match &record.event {
            Event::BlockDelta(BlockDelta { kind: BlockKind::Text, id, .. }) => {
                let attempt = origin(id.as_str());
                record.from(attempt)
            }
            _ => record,
        }
    };
    events.into_iter().enumerate().map(place).collect()
}

fn begin() -> Vec<Event> {
    vec![
        Event::RunStarted(RunStarted { run: Some("run_1".into()), ..RunStarted::default() }),
        Event::MessageStarted(MessageStarted {
            message: "m1".into(),
            role: Role::Assistant,
            ..Default::default()
        }),
    ]
}

fn question_run() -> Vec<Record> {
    let mut events = begin();
    events.push(Event::InterruptRequested(Box::new(Interrupt::text("req_1", "Which city?"))));
    events.push(Event::RunWaiting(RunWaiting::default()));
    records(events)
}

#[test]
fn object_is_a_data_part_that_is_replaced_while_it_grows() {
    let mut events = begin();
    for row in 0..50 {
        let op = StructuredOp::append("rows", [json!({ "row": row })]);
        events.push(Event::Structured(StructuredUpdate::new("s1", "table", op)));
    }
    events.push(Event::RunFinished(RunFinished::default()));
    let sent = encode(&records(events));
    assert_eq!(check(&sent), []);
    let read = read(&sent);
    let Part::Data(part) = &read.state.messages()[0].parts[0] else { panic!("{sent}") };
    assert_eq!((part.name.as_str(), part.id.as_deref()), ("table", Some("s1")));
    assert_eq!(part.data["rows"].as_array().unwrap().len(), 50);
    assert_eq!(read.state.messages()[0].parts.len(), 1);
}

#[test]
fn question_is_a_call_that_the_page_answers_with_its_output() {
    let sent = encode(&question_run());
    assert_eq!(check(&sent), []);
    let asked = read(&sent);
    assert_eq!(asked.state.run().status, RunStatus::Waiting);
    let tool = asked.state.messages()[0].tool("req_1").unwrap();
    assert_eq!((tool.name.as_str(), tool.state), ("ask_user", ToolState::InputAvailable));
    assert_eq!(tool.input.as_ref().unwrap()["question"], "Which city?");

    let mut message = headwater_dialects::ui_message::write(&asked.state.messages()[0]);
    message["parts"][0]["state"] = json!("output-available");
    message["parts"][0]["output"] = json!("Oslo");
    let body = json!({ "sessionId": "s", "messages": [message] }).to_string();
    let request = headwater_dialects::RawRequest::post("/api/chat", body.as_bytes());
    let request = headwater_dialects::find("agents").unwrap().parse_request(&request).unwrap();
    assert_eq!(request.tool_results[0].call.as_str(), "req_1");
    assert_eq!(request.tool_results[0].output, Some(json!("Oslo")));
}

#[test]
fn closed_question_is_there_again_after_reentry() {
    let mut state = RunState::with_rules(headwater_dialects::reader("agents").unwrap().rules());
    let mut records = question_run();
    let answer = Some(json!("Oslo"));
    records.push(Record::new(
        9,
        Event::InterruptAnswered(InterruptAnswered { request: "req_1".into(), answer, ..Default::default() }),
    ));
    for record in &records {
        state.apply(record).unwrap();
    }
    let dialect = headwater_dialects::find("agents").unwrap();
    let mut encoder =
        headwater_dialects::Encoder::new(dialect, &headwater_dialects::EncodeOptions::default());
    encoder.reentry(&state);
    let again = read(&String::from_utf8(encoder.take()).unwrap());
    let tool = again.state.messages()[0].tool("req_1").unwrap();
    assert_eq!((tool.state, &tool.output), (ToolState::OutputAvailable, &Some(json!("Oslo"))));
}

#[test]
fn retracted_text_stays_and_the_next_attempt_begins_a_new_part() {
    let delta = |id: &str, delta: &str| Event::BlockDelta(BlockDelta::new(BlockKind::Text, id, delta));
    let mut events = begin();
    events.push(delta("a1", "Hel"));
    events.push(Event::AttemptRetracted(AttemptRetracted { attempt: "a1".into(), ..Default::default() }));
    events.push(delta("a2", "Hello"));
    events.push(Event::RunFinished(RunFinished::default()));
    let sent = encode(&records(events));
    assert!(sent.contains("event: status\ndata: {\"state\":\"retrying\"}\n\n"), "{sent}");
    assert_eq!(parts(&read(&sent).state.messages()[0]), ["text Hel", "text Hello"]);
}

#[test]
fn part_has_the_same_id_after_reentry() {
    let mut events = begin();
    events.push(Event::BlockDelta(BlockDelta::new(BlockKind::Text, "a1", "Hel")));
    events.push(Event::AttemptRetracted(AttemptRetracted { attempt: "a1".into(), reason: None }));
    events.push(Event::BlockDelta(BlockDelta::new(BlockKind::Text, "a2", "Hello")));
    let mut records = records(events);
    for record in &mut records {
        if let Event::BlockDelta(block) = &record.event {
            record.origin.attempt = Some(block.id.as_str().into());
        }
    }
    let mut state = RunState::default();
    records.iter().for_each(|record| state.apply(record).unwrap());
    let dialect = headwater_dialects::find("agents").unwrap();
    let mut told = headwater_dialects::Encoder::new(dialect, &headwater_dialects::EncodeOptions::default());
    told.reentry(&state);
    let told = String::from_utf8(told.take()).unwrap();
    let live = encode(&records);
    for stream in [&told, &live] {
        assert!(stream.contains(r#""partId":"a2","delta":"Hello""#), "{stream}");
    }
}

#[test]
fn result_after_an_error_is_kept() {
    let stream = "event: meta\ndata: {}\n\nevent: message.start\ndata: {\"messageId\":\"m\"}\n\n\
                  event: error\ndata: {\"message\":\"no\"}\n\n\
                  event: done\ndata: {\"finishReason\":null,\"data\":{\"rows\":2}}\n\n";
    assert_eq!(check(stream), []);
    let read = read(stream);
    assert_eq!(read.state.run().status, RunStatus::Failed);
    let Part::Data(part) = &read.state.messages()[0].parts[0] else { panic!("no data") };
    assert_eq!(part.data, json!({ "rows": 2 }));
}
