//! Our own JSON form round-trips: events, messages, every kind of part, with any content.

use std::collections::BTreeSet;

use headwater_protocol::{
    Approval, ApprovalAnswered, ApprovalRequested, AttemptRetracted, AttemptStarted, BlockDelta, BlockEnded,
    BlockKind, BlockStarted, CheckpointEvent, Choice, DataEvent, ErrorEvent, ErrorInfo, Event, EventKind,
    Executor, FileEvent, FilePart, FinishReason, Interrupt, InterruptAnswered, Message, MessageStarted,
    MessageStatus, Origin, Part, PartState, Record, Role, RunFinished, RunStarted, RunState, RunStatus,
    RunWaiting, SourceDocument, SourcePart, SourceUrl, StatusEvent, StructuredInvalidated, StructuredOp,
    StructuredUpdate, TextPart, ToolCall, ToolDenied, ToolInputAvailable, ToolInputDelta, ToolInputError,
    ToolOutput, ToolOutputError, ToolPart, ToolState, TraceEvent, TransitionEvent, UnknownEvent, Usage,
    WarningEvent,
};
use proptest::{collection::vec, prelude::*, sample::select};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

/// Keys that our own form uses, and others that a page may send.
const KEYS: [&str; 16] = [
    "type", "role", "id", "value", "event", "effect", "seq", "time", "origin", "state", "data", "kind", "",
    "é", "a.b", "\u{0}",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![select(&KEYS[..]).prop_map(str::to_owned), any::<String>(), Just("other".to_owned())]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("a number of JSON", |number| serde_json::Number::from_f64(number)
            .map(Value::from)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((text(), inner), 0..4).prop_map(object)
        ]
    })
}

fn object(fields: Vec<(String, Value)>) -> Value {
    Value::Object(fields.into_iter().collect())
}

fn fields() -> impl Strategy<Value = Map<String, Value>> {
    vec((text(), value()), 0..5).prop_map(|fields| fields.into_iter().collect())
}

/// One part of each kind.
fn parts(text: &str, value: &Value, fields: &Map<String, Value>) -> Vec<Part> {
    let some = || Some(value.clone());
    let block = TextPart {
        text: text.to_owned(),
        metadata: some(),
        attempt: Some(text.into()),
        state: PartState::Done,
        ..TextPart::open(text)
    };
    let approval = Approval {
        id: Some(text.into()),
        approved: Some(true),
        reason: Some(text.to_owned()),
        signature: Some(text.to_owned()),
        automatic: true,
        extra: fields.clone(),
    };
    let tool = ToolPart {
        state: ToolState::OutputAvailable,
        dynamic: Some(true),
        executor: Executor::Client,
        title: Some(text.to_owned()),
        input_text: text.to_owned(),
        input: some(),
        output: Some(Value::Null),
        structured: some(),
        is_error: true,
        preliminary: true,
        error: Some(text.to_owned()),
        approval: Some(approval),
        metadata: some(),
        output_metadata: some(),
        attempt: Some(text.into()),
        ..ToolPart::new(text, text)
    };
    let source = SourcePart {
        source: text.to_owned(),
        url: Some(text.to_owned()),
        metadata: some(),
        call: Some(text.into()),
        ..SourcePart::default()
    };
    let file = FilePart { url: text.to_owned(), metadata: some(), reasoning: true, ..FilePart::default() };
    let data =
        DataEvent { name: text.to_owned(), id: Some(text.to_owned()), data: value.clone(), transient: true };
    let mut typed = fields.clone();
    typed.insert("type".to_owned(), Value::from(text));
    vec![
        Part::Text(block.clone()),
        Part::Reasoning(block),
        Part::Tool(Box::new(tool)),
        Part::SourceUrl(source.clone()),
        Part::SourceDocument(source),
        Part::File(file),
        Part::Data(data),
        Part::StepStart,
        Part::Other { value: Value::Object(typed) },
        Part::Other { value: value.clone() },
        Part::Other { value: Value::Null },
    ]
}

fn message(text: &str, value: &Value, fields: &Map<String, Value>) -> Message {
    Message {
        metadata: Some(value.clone()),
        author: Some(Value::Object(fields.clone())),
        parts: parts(text, value, fields),
        ..Message::new(text, Role::User, MessageStatus::Sent)
    }
}

/// At least one event of each kind.
#[allow(clippy::too_many_lines, reason = "a list of all events")]
fn events(word: &str, value: &Value, fields: &Map<String, Value>) -> Vec<Event> {
    let text = || word.to_owned();
    let maybe = || Some(text());
    let some = || Some(value.clone());
    let tool = || ToolCall {
        dynamic: Some(false),
        title: maybe(),
        metadata: some(),
        ..ToolCall::new(word, word).by(Executor::Provider)
    };
    let usage = || Usage { input_tokens: Some(u64::MAX), ..Usage::default() };
    let interrupt = Interrupt {
        response_schema: some(),
        meta: Some(fields.clone()),
        id: maybe(),
        options: vec![Choice { id: text(), label: text(), description: maybe() }],
        ..Interrupt::text(word, word)
    };
    let error = || ErrorInfo { retryable: Some(true), ..ErrorInfo::new(word).code(word) };
    let update = |op| {
        let mut update = StructuredUpdate::new(word, word, op);
        update.id = maybe();
        Event::Structured(update)
    };
    vec![
        Event::RunStarted(RunStarted { run: Some(word.into()), model: maybe(), ..RunStarted::default() }),
        Event::RunFinished(RunFinished {
            reason: Some(FinishReason::parse(word)),
            usage: Some(usage()),
            data: Some(Value::Object(fields.clone())),
            ..Default::default()
        }),
        Event::RunFailed(error()),
        Event::RunCancelled { reason: maybe() },
        Event::RunWaiting(RunWaiting {
            tool_calls: vec![word.into()],
            usage: Some(usage()),
            ..Default::default()
        }),
        Event::AttemptStarted(AttemptStarted { attempt: word.into(), model: maybe(), ..Default::default() }),
        Event::AttemptFinished { attempt: word.into() },
        Event::AttemptRetracted(AttemptRetracted {
            attempt: word.into(),
            reason: maybe(),
            ..Default::default()
        }),
        Event::MessageStarted(MessageStarted {
            message: word.into(),
            role: Role::Developer,
            author: some(),
            ..Default::default()
        }),
        Event::MessageFinished { message: word.into() },
        Event::MessageMetadata { metadata: value.clone() },
        Event::Message { content: text() },
        Event::StepStarted { name: maybe() },
        Event::StepFinished { name: maybe() },
        Event::BlockStarted(BlockStarted { metadata: some(), ..BlockStarted::new(BlockKind::Text, word) }),
        Event::BlockDelta(BlockDelta { metadata: some(), ..BlockDelta::new(BlockKind::Text, word, text()) }),
        Event::BlockEnded(BlockEnded { metadata: some(), ..BlockEnded::new(BlockKind::Text, word) }),
        Event::BlockStarted(BlockStarted {
            metadata: some(),
            ..BlockStarted::new(BlockKind::Reasoning, word)
        }),
        Event::BlockDelta(BlockDelta {
            metadata: some(),
            ..BlockDelta::new(BlockKind::Reasoning, word, text())
        }),
        Event::BlockEnded(BlockEnded { metadata: some(), ..BlockEnded::new(BlockKind::Reasoning, word) }),
        Event::ToolInputStart(tool()),
        Event::ToolInputDelta(ToolInputDelta::new(word, text())),
        Event::ToolInputAvailable(ToolInputAvailable::new(tool(), some())),
        Event::ToolInputAvailable(ToolInputAvailable::new(tool(), Some(Value::Null))),
        Event::ToolInputError(ToolInputError {
            tool: tool(),
            input: some(),
            error: text(),
            ..Default::default()
        }),
        Event::ApprovalRequested(ApprovalRequested {
            approval: word.into(),
            tool: tool(),
            input: some(),
            signature: maybe(),
            automatic: true,
            ..Default::default()
        }),
        Event::ApprovalAnswered(ApprovalAnswered {
            approval: word.into(),
            call: Some(word.into()),
            approved: true,
            reason: maybe(),
            ..Default::default()
        }),
        Event::ToolOutput(ToolOutput {
            call: word.into(),
            name: maybe(),
            output: value.clone(),
            structured: Some(Value::Null),
            is_error: true,
            preliminary: true,
            metadata: some(),
            ..Default::default()
        }),
        Event::ToolOutputError(ToolOutputError {
            call: word.into(),
            name: maybe(),
            error: text(),
            ..Default::default()
        }),
        Event::ToolDenied(ToolDenied {
            call: word.into(),
            name: maybe(),
            reason: maybe(),
            ..Default::default()
        }),
        Event::SourceUrl(SourceUrl {
            source: text(),
            url: text(),
            title: maybe(),
            call: Some(word.into()),
            metadata: some(),
            ..Default::default()
        }),
        Event::SourceDocument(SourceDocument {
            source: text(),
            title: maybe(),
            media_type: maybe(),
            filename: maybe(),
            text: maybe(),
            metadata: some(),
            ..Default::default()
        }),
        Event::File(FileEvent {
            url: text(),
            media_type: text(),
            filename: maybe(),
            id: maybe(),
            reasoning: true,
            metadata: some(),
            ..Default::default()
        }),
        Event::Data(DataEvent {
            name: text(),
            id: maybe(),
            data: value.clone(),
            transient: true,
            ..Default::default()
        }),
        update(StructuredOp::Set { path: "a.b".to_owned(), value: some() }),
        update(StructuredOp::Append { path: "a".to_owned(), items: vec![value.clone()] }),
        update(StructuredOp::TextDelta { path: "a".to_owned(), delta: text() }),
        update(StructuredOp::Final { data: Some(Value::Object(fields.clone())) }),
        Event::StructuredInvalidated(StructuredInvalidated {
            stream: text(),
            checkpoint: Some(word.into()),
            ..Default::default()
        }),
        Event::StateSnapshot { state: value.clone() },
        Event::StateDelta { patch: vec![value.clone()] },
        Event::MessagesSnapshot { messages: vec![message(word, value, fields)] },
        Event::InterruptRequested(Box::new(interrupt)),
        Event::InterruptAnswered(InterruptAnswered {
            request: word.into(),
            answer: some(),
            ..Default::default()
        }),
        Event::InterruptExpired { request: word.into() },
        Event::Status(StatusEvent { state: maybe(), message: maybe(), ..Default::default() }),
        Event::Transition(TransitionEvent { to: text(), payload: some(), ..Default::default() }),
        Event::Checkpoint(CheckpointEvent {
            checkpoint: word.into(),
            session: word.into(),
            turn: 1,
            label: maybe(),
            ..Default::default()
        }),
        Event::Usage(usage()),
        Event::Warning(WarningEvent { message: text(), code: maybe(), ..Default::default() }),
        Event::Error(ErrorEvent { error: error(), terminal: true, ..Default::default() }),
        Event::Trace(TraceEvent { trace: text(), span: text(), run: word.into(), ..Default::default() }),
        Event::Unknown(UnknownEvent::new(text(), value.clone())),
        Event::Unknown(UnknownEvent::new(text(), Value::Object(fields.clone()))),
    ]
}

fn reads_back<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(written: &T) {
    let bytes = serde_json::to_vec(written).unwrap();
    match serde_json::from_slice::<T>(&bytes) {
        Ok(read) => assert_eq!(read, *written),
        Err(error) => panic!("{error}: {}", String::from_utf8_lossy(&bytes)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_event_and_part_round_trips(text in text(), value in value(), fields in fields()) {
        reads_back(&message(&text, &value, &fields));
        for event in events(&text, &value, &fields) {
            let origin = Origin { message: Some(text.as_str().into()), ..Origin::default() };
            reads_back(&Record::new(7, event).at(1).from(origin));
        }
    }
}

#[test]
fn round_trip_covers_every_kind_of_event() {
    let kinds: BTreeSet<_> = events("a", &Value::Null, &Map::new()).iter().map(Event::kind).collect();
    assert_eq!(kinds, EventKind::ALL.iter().copied().collect());
}

#[test]
fn run_state_leaves_waiting_with_the_kinds_marked_so() {
    for event in events("a", &Value::Null, &Map::new()) {
        let kind = event.kind();
        let mut state = RunState::default();
        for before in [Event::RunStarted(RunStarted::default()), Event::RunWaiting(RunWaiting::default())] {
            state.apply(&Record::new(1, before)).unwrap();
        }
        assert_eq!(state.run().status, RunStatus::Waiting);
        // Some samples do not fit the empty state, which does not matter for its status.
        state.apply(&Record::new(2, event)).ok();
        let waits = kind == EventKind::RunWaiting || kind.leaves_waiting();
        assert_eq!(state.run().status == RunStatus::Waiting, waits, "{kind}");
    }
}

#[test]
fn unknown_part_keeps_its_type_and_content() {
    let part = json!({ "type": "my-widget", "value": 1 });
    let written = serde_json::to_value(Part::Other { value: part.clone() }).unwrap();
    assert_eq!(written, json!({ "type": "other", "value": part }));
    assert_eq!(serde_json::from_value::<Part>(written).unwrap(), Part::Other { value: part });
}
