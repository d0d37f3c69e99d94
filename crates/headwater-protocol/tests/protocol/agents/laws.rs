//! What holds for any run: it comes back as it was, in a stream that keeps the contract.

use headwater_protocol::{
    Choice, Decoded, Decoder, EncodeOptions, Encoder, ErrorInfo, Event, EventKind, Executor, FinishReason,
    Framing, Interrupt, Message, Origin, Record, Role, RunStarted, RunState, StructuredOp, StructuredUpdate,
    Support, ToolCall, Usage, dialects,
};
use serde_json::json;

use super::{check, encode, parts, plain::Plain, read, view};

fn usage() -> Usage {
    Usage { input_tokens: Some(3), output_tokens: Some(4), ..Usage::default() }
}

fn tool(call: &str) -> ToolCall {
    ToolCall {
        dynamic: Some(true),
        title: Some("Search".into()),
        metadata: Some(json!({ "p": 1 })),
        ..ToolCall::new(call, "search").by(Executor::Provider)
    }
}

/// A run in which every kind of event happens, and the fields that an event may have are all there.
fn everything() -> Vec<Event> {
    let meta = || Some(json!({ "openai": { "id": 1 } }));
    let mut interrupt = Interrupt::choice(
        "q1",
        "Send?",
        vec![Choice { id: "y".into(), label: "Yes".into(), description: Some("at once".into()) }],
    );
    interrupt.token = Some("tok".into());
    let output = |preliminary| Event::ToolOutput {
        call: "c1".into(),
        name: Some("search".into()),
        output: json!({ "hits": 2 }),
        structured: Some(json!({ "n": 2 })),
        is_error: true,
        preliminary,
        metadata: meta(),
    };
    vec![
        Event::RunStarted(RunStarted {
            run: Some("run_1".into()),
            session: Some("s".into()),
            conversation: Some("c".into()),
            parent: Some("run_0".into()),
            workflow: Some("w".into()),
            model: Some("gpt".into()),
            request: Some("req".into()),
            endpoint: Some("/api/chat".into()),
        }),
        Event::Status { state: Some("streaming".into()), message: Some("…".into()) },
        Event::MessageStarted {
            message: "m1".into(),
            role: Role::Assistant,
            author: Some(json!({ "n": "A" })),
        },
        Event::MessageMetadata { metadata: json!({ "a": { "b": 1 } }) },
        Event::StepStarted { name: Some("plan".into()) },
        Event::AttemptStarted { attempt: "at1".into(), model: Some("gpt".into()) },
        Event::ReasoningStart { id: "r1".into(), metadata: meta() },
        Event::ReasoningDelta { id: "r1".into(), delta: "hm\n\"é\"".into(), metadata: None },
        Event::ReasoningEnd { id: "r1".into(), metadata: meta() },
        Event::TextStart { id: "t1".into(), metadata: None },
        Event::TextDelta { id: "t1".into(), delta: "Hello".into(), metadata: None },
        Event::TextDelta { id: "t1".into(), delta: "".into(), metadata: meta() },
        Event::TextEnd { id: "t1".into(), metadata: None },
        Event::AttemptFinished { attempt: "at1".into() },
        Event::ToolInputStart(tool("c1")),
        Event::ToolInputDelta { call: "c1".into(), delta: "{\"q\":".into() },
        Event::ToolInputDelta { call: "c1".into(), delta: "1}".into() },
        Event::ToolInputAvailable { tool: tool("c1"), input: Some(json!({ "q": 1 })) },
        Event::ApprovalRequested {
            approval: "ap1".into(),
            tool: tool("c1"),
            input: Some(json!({ "q": 1 })),
            signature: Some("sig".into()),
            automatic: true,
        },
        Event::ApprovalAnswered {
            approval: "ap1".into(),
            call: Some("c1".into()),
            approved: true,
            reason: Some("ok".into()),
        },
        output(true),
        output(false),
        Event::ToolInputError { tool: tool("c2"), input: Some(json!("{")), error: "not JSON".into() },
        Event::ToolInputAvailable { tool: ToolCall::new("c3", "pay"), input: None },
        Event::ToolOutputError { call: "c3".into(), name: Some("pay".into()), error: "no".into() },
        Event::ToolInputAvailable { tool: ToolCall::new("c4", "pay"), input: Some(json!(null)) },
        Event::ToolDenied { call: "c4".into(), name: Some("pay".into()), reason: Some("dear".into()) },
        Event::SourceUrl {
            source: "s1".into(),
            url: "https://example.com".into(),
            title: Some("E".into()),
            call: Some("c1".into()),
            metadata: meta(),
        },
        Event::SourceDocument {
            source: "s2".into(),
            title: Some("D".into()),
            media_type: Some("application/pdf".into()),
            filename: Some("d.pdf".into()),
            text: Some("passage".into()),
            call: Some("c1".into()),
            metadata: meta(),
        },
        Event::File {
            url: "data:,x".into(),
            media_type: "text/plain".into(),
            filename: Some("x".into()),
            id: Some("f1".into()),
            reasoning: true,
            metadata: meta(),
        },
        Event::Data { name: "w".into(), id: Some("1".into()), data: json!({ "c": 1 }), transient: false },
        Event::Data { name: "w".into(), id: None, data: json!(null), transient: true },
        Event::Message { content: "A whole one".into() },
        Event::StepFinished { name: Some("plan".into()) },
        Event::Structured(StructuredUpdate::new("st", "email", StructuredOp::append("to", ["a"]))),
        Event::StructuredInvalidated { stream: "st".into(), checkpoint: Some("cp".into()) },
        Event::StateSnapshot { state: json!({ "n": 1 }) },
        Event::StateDelta { patch: vec![json!({ "op": "replace", "path": "/n", "value": 2 })] },
        Event::InterruptRequested(Box::new(interrupt)),
        Event::InterruptAnswered { request: "q1".into(), answer: Some(json!("y")) },
        Event::InterruptRequested(Box::new(Interrupt::text("q2", "Which?"))),
        Event::InterruptExpired { request: "q2".into() },
        Event::Transition { to: "other".into(), payload: Some(json!([1])) },
        Event::Checkpoint { checkpoint: "cp".into(), session: "s".into(), turn: 2, label: Some("l".into()) },
        Event::Usage(usage()),
        Event::Warning { message: "hm".into(), code: Some("w1".into()) },
        Event::Error { error: ErrorInfo::new("blip").code("x"), terminal: false },
        Event::Trace { trace: "t".into(), span: "s".into(), run: "run_1".into() },
        Event::Unknown { name: "CUSTOM_THING".into(), data: json!({ "x": [1] }) },
        Event::Unknown { name: "message.delta".into(), data: json!({ "not": "ours" }) },
        Event::MessagesSnapshot { messages: vec![Message::text("m0", Role::User, "hi")] },
        Event::MessageStarted { message: "m2".into(), role: Role::Assistant, author: None },
        Event::AttemptStarted { attempt: "at2".into(), model: None },
        Event::AttemptRetracted { attempt: "at2".into(), reason: Some("overloaded".into()) },
        Event::MessageFinished { message: "m2".into() },
        Event::RunWaiting { tool_calls: vec!["c1".into()], usage: Some(usage()) },
    ]
}

fn ends() -> [Event; 4] {
    [
        Event::RunFinished {
            reason: Some(FinishReason::Stop),
            usage: Some(usage()),
            data: Some(json!({ "r": 1 })),
        },
        Event::RunFailed(ErrorInfo { retryable: Some(true), ..ErrorInfo::new("no").code("x") }),
        Event::RunCancelled { reason: Some("user".into()) },
        Event::Error { error: ErrorInfo::new("fatal"), terminal: true },
    ]
}

fn records(events: &[Event]) -> Vec<Record> {
    events.iter().enumerate().map(|(seq, event)| Record::new(seq as u64, event.clone())).collect()
}

fn reduce(records: &[Record]) -> RunState {
    let mut state = RunState::with_rules(dialects::find("agents").unwrap().rules());
    for record in records {
        let _ = state.apply(record);
    }
    state.end_of_stream();
    state
}

/// A small generator: the tests must fail alike everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

#[test]
fn every_event_comes_back_as_it_was() {
    for end in ends() {
        let mut events = everything();
        events.push(end);
        let sent = encode(&records(&events));
        assert_eq!(check(&sent), [], "{sent}");
        let decoded = read(&sent).decoded;
        assert_eq!(decoded.errors, []);
        let back: Vec<_> = decoded.records.into_iter().map(|record| record.event).collect();
        assert_eq!(back, events);
    }
    let mut kinds: Vec<_> = everything().iter().chain(&ends()).map(Event::kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, EventKind::ALL, "an event is missing in this test");
    let agents = dialects::find("agents").unwrap();
    for kind in EventKind::ALL {
        assert_ne!(agents.support(*kind, agents.profile(None)), Support::Hidden, "{kind}");
    }
}

#[test]
fn lines_of_json_say_the_same() {
    let mut events = everything();
    events.extend([ends()[0].clone()]);
    let agents = dialects::find("agents").unwrap();
    let mut options = EncodeOptions::default();
    options.framing = Some(Framing::Ndjson);
    let mut encoder = Encoder::new(agents, &options);
    records(&events).iter().for_each(|record| encoder.record(record));
    let mut decoder = Decoder::new(agents, Framing::Ndjson);
    let mut decoded = Decoded::default();
    decoder.feed(encoder.bytes(), &mut decoded);
    decoder.finish(&mut decoded);
    assert_eq!(decoded.errors, []);
    let back: Vec<_> = decoded.records.into_iter().map(|record| record.event).collect();
    assert_eq!(back, events);
}

#[test]
fn a_waiting_run_ends_its_stream_and_is_not_finished() {
    let mut waiting = everything();
    let sent = encode(&records(&waiting));
    assert!(sent.ends_with(
        "event: done\ndata: {\"runId\":\"run_1\",\"finishReason\":\"waiting\",\"implied\":true}\n\n"
    ));
    assert_eq!(check(&sent), []);
    assert_eq!(view(&read(&sent).state)["run"]["status"], "waiting");
    // If it goes on and is cut, it looks cut.
    waiting.push(Event::Message { content: "on".into() });
    assert!(!encode(&records(&waiting)).contains("event: done"));
}

#[test]
fn any_order_of_events_keeps_the_contract_and_the_state() {
    let mut dice = Dice(7);
    for round in 0..300 {
        let mut events = everything();
        for at in (1..events.len()).rev() {
            events.swap(at, dice.roll(at + 1));
        }
        events.truncate(5 + dice.roll(events.len() - 4));
        for _ in 0..dice.roll(6) {
            let again = events[dice.roll(events.len())].clone();
            events.insert(dice.roll(events.len()), again);
        }
        events.push(ends()[dice.roll(4)].clone());
        let mut records = records(&events);
        for record in &mut records {
            let message = ["m1", "m2", "m3"].get(dice.roll(6)).map(|id| (*id).into());
            let attempt = ["at1", "at2"].get(dice.roll(5)).map(|id| (*id).into());
            record.origin = Origin { message, attempt, ..Origin::default() };
        }
        let sent = encode(&records);
        assert_eq!(check(&sent), [], "round {round}: {events:#?}\n{sent}");
        let read = read(&sent);
        assert_eq!(read.decoded.errors, [], "round {round}: {sent}");
        // Who does not know of snapshots sees their messages begin again.
        if !events.iter().any(|event| event.kind() == EventKind::MessagesSnapshot) {
            Plain::read(&sent);
        }
        // A call that goes back to its approval after its output has no state to agree on if its attempt dies.
        if !events.iter().any(|event| event.kind() == EventKind::AttemptRetracted) {
            assert_eq!(view(&read.state), view(&reduce(&records)), "round {round}: {events:#?}\n{sent}");
        }
    }
}

#[test]
fn a_client_that_comes_back_anywhere_sees_the_same() {
    let agents = dialects::find("agents").unwrap();
    // A snapshot of the conversation takes the run's own messages away, which a re-entry need not.
    let keep = |event: &Event| !matches!(event, Event::MessagesSnapshot { .. } | Event::Trace { .. });
    for end in ends() {
        let mut events: Vec<_> = everything().into_iter().filter(keep).collect();
        events.push(end);
        let records = records(&events);
        let whole = read(&encode(&records)).state;
        for cut in 0..=records.len() {
            let mut state = RunState::default();
            records[..cut].iter().for_each(|record| state.apply(record).unwrap());
            let mut encoder = Encoder::new(agents, &EncodeOptions::default());
            encoder.reentry(&state);
            records[cut..].iter().for_each(|record| encoder.record(record));
            encoder.finish();
            let sent = String::from_utf8(encoder.take()).unwrap();
            assert_eq!(check(&sent), [], "cut at {cut}: {sent}");
            let back = read(&sent);
            assert_eq!(back.decoded.errors, []);
            assert_eq!(view(&back.state), view(&whole), "cut at {cut}: {sent}");
        }
    }
}

#[test]
fn a_retracted_attempt_is_dropped_by_our_reader_and_followed_by_a_seam_for_others() {
    let by = |attempt: &str| Origin { attempt: Some(attempt.into()), ..Origin::default() };
    let text = |delta: &str| Event::TextDelta { id: "t1".into(), delta: delta.into(), metadata: None };
    let records = [
        Record::new(0, Event::AttemptStarted { attempt: "a".into(), model: None }),
        Record::new(1, text("dead")).from(by("a")),
        Record::new(2, Event::ToolInputStart(ToolCall::new("c1", "search"))).from(by("a")),
        Record::new(3, Event::AttemptRetracted { attempt: "a".into(), reason: None }),
        Record::new(4, Event::AttemptStarted { attempt: "b".into(), model: None }),
        Record::new(5, text("alive")).from(by("b")),
        Record::new(6, Event::ToolInputAvailable { tool: ToolCall::new("c1", "search"), input: None })
            .from(by("b")),
        Record::new(7, Event::AttemptFinished { attempt: "b".into() }),
        Record::new(8, Event::RunFinished { reason: None, usage: None, data: None }),
    ];
    let mut options = EncodeOptions::default();
    options.seam = "\n\n".into();
    let mut encoder = Encoder::new(dialects::find("agents").unwrap(), &options);
    records.iter().for_each(|record| encoder.record(record));
    let sent = String::from_utf8(encoder.take()).unwrap();
    assert!(
        sent.contains("data: {\"messageId\":\"message-1\",\"delta\":\"\\n\\n\",\"implied\":true}\n"),
        "{sent}"
    );
    assert_eq!(check(&sent), []);
    let read = read(&sent);
    assert_eq!(read.decoded.errors, []);
    assert_eq!(parts(&read.state.messages()[0]), ["text alive", "tool search input-available"]);
    let back: Vec<_> = read.decoded.records.into_iter().map(|record| record.event).collect();
    assert_eq!(back, records.map(|record| record.event));
}
