use headwater_protocol::{
    ApprovalAnswered, ApprovalRequested, AttemptRetracted, BlockDelta, BlockKind, BlockStarted, ErrorEvent,
    ErrorInfo, FinishReason, Frame, Framing, Interrupt, InterruptAnswered, MessageStarted, RunFinished,
    RunStarted, RunWaiting, StructuredInvalidated, StructuredOp, StructuredUpdate, ToolCall,
    ToolInputAvailable, ToolInputDelta, ToolOutput, UnknownEvent,
};
use serde_json::{Value, json};

use super::*;

fn text(delta: &str) -> Event {
    Event::BlockDelta(BlockDelta::new(BlockKind::Text, "t", delta))
}

fn thought(delta: &str) -> Event {
    Event::BlockDelta(BlockDelta::new(BlockKind::Reasoning, "r", delta))
}

fn start(call: &str) -> Event {
    Event::ToolInputStart(ToolCall::new(call, "f"))
}

fn ready(call: &str, executor: Executor) -> Event {
    Event::ToolInputAvailable(ToolInputAvailable::new(
        ToolCall::new(call, "f").by(executor),
        json!({ "a": 1 }),
    ))
}

fn output(call: &str) -> Event {
    Event::ToolOutput(ToolOutput::new(call, json!({ "b": 2 })))
}

fn approval(call: &str) -> Event {
    Event::ApprovalRequested(ApprovalRequested {
        approval: format!("approval_{call}").into(),
        tool: ToolCall::new(call, "f"),
        input: Some(json!({ "a": 1 })),
        ..Default::default()
    })
}

fn finished() -> Event {
    Event::RunFinished(RunFinished { reason: Some(FinishReason::Stop), ..Default::default() })
}

/// What the page reads of the events, one line per known chunk.
fn page(options: &EncodeOptions, events: &[Event]) -> Vec<String> {
    let mut encoder = TanstackEncoder::new(options);
    let mut seen = Vec::new();
    for event in events {
        encoder.chunks(&Record::new(0, event.clone()), &mut |chunk| seen.extend(line(chunk)));
    }
    seen
}

fn line(chunk: &Chunk<'_>) -> Option<String> {
    let of = |text: &Option<Cow<'_, str>>| text.as_deref().unwrap_or("-").to_owned();
    match chunk {
        Chunk::Content(chunk) => Some(match &chunk.content {
            Some(content) => format!("text {:?} of {content:?}", of(&chunk.delta)),
            None => format!("text {:?}", of(&chunk.delta)),
        }),
        Chunk::Thinking(chunk) => Some(format!("thought {:?}", of(&chunk.delta))),
        Chunk::ToolCall(chunk) => {
            let call = chunk.tool_call.as_ref()?;
            Some(format!("call {} {}", of(&call.id), of(&call.function.as_ref()?.arguments)))
        }
        Chunk::ToolResult(chunk) => {
            let content = chunk.content.as_ref().and_then(Value::as_str).unwrap_or_default();
            Some(format!("result {} {content}", of(&chunk.tool_call_id)))
        }
        Chunk::Done(chunk) => Some(format!("done {}", of(&chunk.finish_reason))),
        Chunk::Failure(chunk) => Some(format!("error {}", of(&chunk.error.as_ref()?.message))),
        Chunk::ApprovalRequested(chunk) => Some(format!("approve {}", of(&chunk.tool_call_id))),
        Chunk::ToolInputAvailable(chunk) => Some(format!("execute {}", of(&chunk.tool_call_id))),
        Chunk::Other(_) => None,
    }
}

fn compact(events: &[Event]) -> Vec<String> {
    page(&EncodeOptions::default(), events)
}

#[test]
fn bytes_are_those_that_the_clients_reader_takes() {
    let mut encoder = TanstackEncoder::new(&EncodeOptions::default());
    let mut out = FrameWriter::new(Framing::Sse);
    let started = RunStarted { model: Some("gpt-4".into()), ..RunStarted::default() };
    encoder.record(&Record::new(0, Event::RunStarted(started)).at(5), &mut out);
    out.clear();
    encoder.record(&Record::new(1, text("Hello")).at(7), &mut out);
    encoder.record(&Record::new(2, finished()).at(8), &mut out);
    encoder.finish(&mut out);
    let expected = concat!(
        r#"data: {"type":"content","id":"chunk_1","model":"gpt-4","timestamp":7,"delta":"Hello","role":"assistant"}"#,
        "\n\n",
        r#"data: {"type":"done","id":"chunk_2","model":"gpt-4","timestamp":8,"finishReason":"stop"}"#,
        "\n\ndata: [DONE]\n\n",
    );
    assert_eq!(String::from_utf8_lossy(out.bytes()), expected);
}

#[test]
fn text_after_a_call_begins_a_new_segment_and_only_then() {
    let events =
        [text("A"), start("c"), ready("c", Executor::Server), output("c"), text("B"), text("C"), finished()];
    let expected = [
        r#"text "A""#,
        "call c ",
        r#"call c {"a":1}"#,
        "done tool_calls",
        r#"result c {"b":2}"#,
        r#"text "B" of """#,
        r#"text "C""#,
        "done stop",
    ];
    assert_eq!(compact(&events), expected);
    // A message that begins with a call has no segment to end.
    assert_eq!(compact(&[start("c"), text("A"), text("B")])[1..], [r#"text "A""#, r#"text "B""#]);
    // A call that continues while text is the last part must not begin a segment: the text would be lost.
    let late = Event::ToolInputDelta(ToolInputDelta::new("c", "{"));
    assert_eq!(compact(&[start("c"), text("A"), late, text("B")])[3..], [r#"text "B""#]);
}

#[test]
fn content_is_filled_as_asked() {
    let events = [text("A"), text("B"), start("c"), text("C"), text("D")];
    let texts = |content: ContentMode| -> Vec<String> {
        let options = EncodeOptions { content, ..EncodeOptions::default() };
        page(&options, &events).into_iter().filter(|line| line.starts_with("text")).collect()
    };
    assert_eq!(
        texts(ContentMode::Compact),
        [r#"text "A""#, r#"text "B""#, r#"text "C" of """#, r#"text "D""#]
    );
    let hybrid = [r#"text "A" of "A""#, r#"text "B" of "AB""#, r#"text "C" of """#, r#"text "D" of "CD""#];
    assert_eq!(texts(ContentMode::Hybrid), hybrid);
    let full = [r#"text "A" of "A""#, r#"text "B" of "AB""#, r#"text "C" of "ABC""#, r#"text "D" of "ABCD""#];
    assert_eq!(texts(ContentMode::Full), full);
}

#[test]
fn nothing_makes_the_page_repeat_a_text() {
    // The first reasoning block after a text is not sent …
    assert_eq!(
        compact(&[text("A"), thought("x"), start("c"), thought("y"), text("B")]),
        [r#"text "A""#, "call c ", r#"text "B" of """#,]
    );
    // … unless a call comes between, or there was reasoning before.
    assert_eq!(
        compact(&[text("A"), start("c"), thought("x"), text("B")])[2..],
        [r#"thought "x""#, r#"text "B" of """#]
    );
    assert_eq!(
        compact(&[thought("x"), text("A"), thought("y"), text("B")])[2..],
        [r#"thought "y""#, r#"text "B""#]
    );
    // A late output is preceded by an empty piece of its call.
    let events = [text("0"), ready("c", Executor::Server), text("A"), output("c"), text("B")];
    let expected = [
        r#"text "0""#,
        r#"call c {"a":1}"#,
        r#"text "A" of """#,
        "done tool_calls",
        "call c ",
        r#"result c {"b":2}"#,
        r#"text "B" of """#,
    ];
    assert_eq!(compact(&events), expected);
}

#[test]
fn empty_delta_is_not_for_the_page() {
    assert!(compact(&[text(""), thought("")]).is_empty());
}

#[test]
fn requests_to_the_page_come_after_the_turn() {
    let events = [
        ready("c1", Executor::Client),
        ready("c2", Executor::Server),
        approval("c2"),
        Event::RunWaiting(RunWaiting { tool_calls: vec!["c1".into()], ..Default::default() }),
    ];
    let expected =
        [r#"call c1 {"a":1}"#, r#"call c2 {"a":1}"#, "done tool_calls", "approve c2", "execute c1"];
    assert_eq!(compact(&events), expected);
    // An unannounced call is announced first, or the page would show nothing.
    assert_eq!(compact(&[approval("c")]), [r#"call c {"a":1}"#, "done tool_calls", "approve c"]);
    // A question is a client tool call.
    let question = Event::InterruptRequested(Box::new(Interrupt::text("q", "Which?")));
    let waiting = Event::RunWaiting(RunWaiting::default());
    let lines = compact(&[question, waiting]);
    assert_eq!(lines[0], r#"call q {"question":"Which?","kind":"text"}"#);
    assert_eq!(lines[1..], ["done tool_calls", "execute q"]);
}

#[test]
fn id_that_comes_again_gets_another_name() {
    let events =
        [ready("c", Executor::Server), output("c"), start("c"), ready("c", Executor::Server), output("c")];
    let expected = [
        r#"call c {"a":1}"#,
        "done tool_calls",
        r#"result c {"b":2}"#,
        "call c-2 ",
        r#"call c-2 {"a":1}"#,
        "done tool_calls",
        r#"result c-2 {"b":2}"#,
    ];
    assert_eq!(compact(&events), expected);
}

#[test]
fn failed_attempt_is_parted_by_the_seam_and_its_calls_end() {
    let options = EncodeOptions { seam: "\n---\n".into(), ..EncodeOptions::default() };
    let mut encoder = TanstackEncoder::new(&options);
    let mut seen = Vec::new();
    let records = [
        ("a1", text("dead")),
        ("a1", start("c")),
        ("a1", Event::AttemptRetracted(AttemptRetracted { attempt: "a1".into(), ..Default::default() })),
        ("a2", text("alive")),
    ];
    for (attempt, event) in records {
        let origin = headwater_protocol::Origin { attempt: Some(attempt.into()), ..Default::default() };
        encoder.chunks(&Record::new(0, event).from(origin), &mut |chunk| seen.extend(line(chunk)));
    }
    let expected = [
        r#"text "dead""#,
        "call c ",
        "done tool_calls",
        r#"result c {"error":"the call was retracted"}"#,
        r#"text "\n---\n" of """#,
        r#"text "alive""#,
    ];
    assert_eq!(seen, expected);
}

#[test]
fn nothing_follows_an_error() {
    let failed = Event::RunFailed(ErrorInfo::new("gone"));
    assert_eq!(compact(&[text("A"), failed, text("B"), finished()]), [r#"text "A""#, "error gone"]);
    // An error that does not end the run has no chunk.
    let stumble = Event::Error(ErrorEvent { error: ErrorInfo::new("x"), ..Default::default() });
    assert_eq!(compact(&[stumble, finished()]), ["done stop"]);
}

/// What the page reads of a run that takes several responses.
fn responses(all: &[&[Event]]) -> Vec<Vec<String>> {
    let mut encoder = TanstackEncoder::new(&EncodeOptions::profile(CLIENT_TOOLS));
    let mut out = FrameWriter::new(Framing::Sse);
    let told = all.iter().map(|events| {
        let mut seen = Vec::new();
        for event in *events {
            encoder.chunks(&Record::new(0, event.clone()), &mut |chunk| seen.extend(line(chunk)));
        }
        encoder.next_response(&mut out);
        seen
    });
    told.collect()
}

fn waiting(calls: &[&str]) -> Event {
    Event::RunWaiting(RunWaiting {
        tool_calls: calls.iter().map(|call| (*call).into()).collect(),
        ..Default::default()
    })
}

fn allowed(call: &str) -> Event {
    let approval = format!("approval_{call}").into();
    Event::ApprovalAnswered(ApprovalAnswered { approval, approved: true, ..Default::default() })
}

#[test]
fn page_gets_its_requests_first_and_the_servers_calls_at_the_end() {
    let first = [
        ready("s1", Executor::Server),
        ready("s2", Executor::Server),
        ready("c", Executor::Client),
        approval("s2"),
        output("s1"),
        waiting(&["c"]),
    ];
    let second = [allowed("s2"), output("s2"), text("A"), finished()];
    let seen = responses(&[&first, &second]);
    let asked = [r#"call c {"a":1}"#, r#"call s2 {"a":1}"#, "done tool_calls", "approve s2", "execute c"];
    assert_eq!(seen[0], asked);
    let told = [
        r#"result s2 {"b":2}"#,
        r#"text "A""#,
        r#"call s1 {"a":1}"#,
        "done tool_calls",
        r#"result s1 {"b":2}"#,
        "done stop",
    ];
    assert_eq!(seen[1], told);
}

#[test]
fn question_skipped_by_a_page_message_is_asked_again() {
    let first = [
        ready("s", Executor::Server),
        ready("c1", Executor::Client),
        ready("c2", Executor::Client),
        approval("s"),
        waiting(&["c1", "c2"]),
    ];
    let second = [output("c1"), waiting(&["c2"])];
    let expected = [
        r#"result c1 {"b":2}"#,
        r#"call c2 {"a":1}"#,
        r#"call s {"a":1}"#,
        "done tool_calls",
        "approve s",
        "execute c2",
    ];
    assert_eq!(responses(&[&first, &second])[1], expected);
}

#[test]
fn page_executes_nothing_before_a_person_allowed_it() {
    let first = [ready("c", Executor::Client), approval("c"), waiting(&[])];
    let second = [allowed("c"), waiting(&["c"])];
    let seen = responses(&[&first, &second]);
    assert_eq!(seen[0], [r#"call c {"a":1}"#, "done tool_calls", "approve c"]);
    assert_eq!(seen[1], [r#"call c {"a":1}"#, "done tool_calls", "execute c"]);
}

#[test]
fn reconnecting_page_gets_open_requests_and_nothing_else() {
    let mut state = RunState::with_rules(crate::reader("tanstack").unwrap().rules());
    let events = [
        ready("s", Executor::Server),
        ready("c1", Executor::Client),
        ready("c2", Executor::Client),
        approval("s"),
        allowed("s"),
        output("c1"),
        waiting(&["c2"]),
    ];
    events.into_iter().for_each(|event| state.apply(&Record::new(0, event)).unwrap());
    let mut encoder = TanstackEncoder::new(&EncodeOptions::profile(CLIENT_TOOLS));
    let mut out = FrameWriter::new(Framing::Ndjson);
    encoder.reentry(&state, &mut out);
    for event in [output("c2"), output("s"), finished()] {
        encoder.record(&Record::new(0, event), &mut out);
    }
    let text = String::from_utf8_lossy(out.bytes());
    let read = |data| {
        let frame = Frame { event: None, id: None, data, offset: 0, index: 0 };
        line(&Chunk::of_frame(&frame).unwrap())
    };
    let seen: Vec<_> = text.lines().filter_map(read).collect();
    let expected = [
        r#"call c2 {"a":1}"#,
        "done tool_calls",
        "execute c2",
        r#"result c2 {"b":2}"#,
        r#"call s {"a":1}"#,
        r#"call c1 {"a":1}"#,
        "done tool_calls",
        r#"result s {"b":2}"#,
        r#"result c1 {"b":2}"#,
        "done stop",
    ];
    assert_eq!(seen, expected);
}

#[test]
fn messages_of_others_are_not_shown() {
    let user =
        Event::MessageStarted(MessageStarted { message: "u".into(), role: Role::User, ..Default::default() });
    let assistant = Event::MessageStarted(MessageStarted {
        message: "a".into(),
        role: Role::Assistant,
        ..Default::default()
    });
    let events = [user, text("question"), assistant, text("answer")];
    assert_eq!(compact(&events), [r#"text "answer""#]);
}

#[test]
fn event_without_a_chunk_is_not_sent() {
    let mut encoder = TanstackEncoder::new(&EncodeOptions::default());
    let hidden = [
        Event::Unknown(UnknownEvent::new("weird", json!({ "type": "weird", "x": 1 }))),
        Event::StepStarted { name: None },
        Event::BlockStarted(BlockStarted::new(BlockKind::Text, "t")),
    ];
    for event in hidden {
        encoder.chunks(&Record::new(0, event), &mut |chunk| panic!("{chunk:?}"));
    }
}

fn update(op: StructuredOp) -> Event {
    Event::Structured(StructuredUpdate::new("s", "table", op))
}

#[test]
fn object_is_a_call_named_after_its_type_with_the_object_as_result() {
    let events = [
        text("A"),
        update(StructuredOp::append("rows", [1])),
        update(StructuredOp::append("rows", [2])),
        update(StructuredOp::finish(json!({ "rows": [1, 2, 3] }))),
        text("B"),
        finished(),
    ];
    let expected = [
        r#"text "A""#,
        "call s {}",
        "done tool_calls",
        r#"result s {"rows":[1]}"#,
        r#"result s {"rows":[1,2,3]}"#,
        r#"text "B" of """#,
        "done stop",
    ];
    assert_eq!(compact(&events), expected);
    let unfinished = [&events[1..3], &[finished()]].concat();
    let lines = compact(&unfinished);
    assert_eq!(lines[3], r#"result s {"rows":[1,2]}"#, "it is whole when the run ends");
    let withdrawn =
        Event::StructuredInvalidated(StructuredInvalidated { stream: "s".into(), ..Default::default() });
    let lines = compact(&[events[1].clone(), withdrawn]);
    assert_eq!(lines[3], r#"result s {"error":"the object was withdrawn"}"#);
}

#[test]
fn object_does_not_keep_a_page_from_answering() {
    let question = Event::InterruptRequested(Box::new(Interrupt::text("q", "Which?")));
    let answered = Event::InterruptAnswered(InterruptAnswered {
        request: "q".into(),
        answer: Some(json!("Rome")),
        ..Default::default()
    });
    let first = [update(StructuredOp::finish(json!({ "rows": [] }))), question, waiting(&[])];
    let seen = responses(&[&first, &[answered, text("A"), finished()]]);
    assert_eq!(seen[0][1..], ["done tool_calls", "execute q"]);
    assert!(seen[0][0].starts_with("call q "), "{seen:?}");
    let last = [r#"text "A""#, "call s {}", "done tool_calls", r#"result s {"rows":[]}"#, "done stop"];
    assert_eq!(seen[1], last);
}

#[test]
fn object_is_whole_for_a_reconnecting_page() {
    let mut state = RunState::default();
    for row in 0..3 {
        state.apply(&Record::new(0, update(StructuredOp::append("rows", [row])))).unwrap();
    }
    let mut encoder = TanstackEncoder::new(&EncodeOptions::default());
    let mut out = FrameWriter::new(Framing::Ndjson);
    encoder.reentry(&state, &mut out);
    let text = String::from_utf8_lossy(out.bytes());
    assert!(text.lines().last().unwrap().contains(r#""content":"{\"rows\":[0,1,2]}""#), "{text}");
}

#[test]
fn delta_is_written_as_its_chunk_serialises() {
    let mut encoder = TanstackEncoder::new(&EncodeOptions::default());
    let delta = Event::ToolInputDelta(ToolInputDelta::new("c", "{\"a"));
    for event in [text("é\n\"\u{0}"), start("c"), delta, text("B")] {
        encoder.chunks(&Record::new(0, event).at(1), &mut |chunk| {
            let mut out = FrameWriter::new(Framing::Ndjson);
            write(chunk, &mut out);
            let expected = serde_json::to_string(chunk).unwrap() + "\n";
            assert_eq!(String::from_utf8_lossy(out.bytes()), expected);
        });
    }
}

#[test]
fn call_that_has_its_output_is_not_to_be_executed_again() {
    let lines = compact(&[ready("c1", Executor::Client), output("c1"), finished()]);
    assert!(lines.contains(&r#"result c1 {"b":2}"#.to_owned()), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with("execute")), "{lines:?}");
}
