//! Generated runs: whatever a runtime could record, in any valid order.

use headwater_protocol::{
    ApprovalAnswered, ApprovalRequested, AttemptRetracted, AttemptStarted, BlockDelta, BlockEnded, BlockKind,
    BlockStarted, CheckpointEvent, Choice, DataEvent, ErrorEvent, ErrorInfo, Event, Executor, FileEvent,
    FinishReason, Interrupt, MessageStarted, Origin, PartId, Record, Role, RunFinished, RunStarted,
    RunWaiting, SourceDocument, SourceUrl, StatusEvent, StructuredOp, StructuredUpdate, ToolCall, ToolCallId,
    ToolDenied, ToolInputAvailable, ToolInputDelta, ToolInputError, ToolOutput, ToolOutputError,
    TransitionEvent, Usage, WarningEvent,
};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value, json};

/// One step of a run; numbers choose among open items.
#[derive(Debug, Clone)]
enum Act {
    Text,
    Reasoning,
    Delta(usize, String),
    Close(usize),
    Call(&'static str, Executor, Value),
    CallDelta(usize, usize),
    CallReady(usize),
    CallRefused(usize),
    Ask(usize),
    Decide(usize, bool),
    Output(usize, Value, bool),
    CallFailed(usize, String),
    Page(Option<String>),
    Document,
    File,
    Data(&'static str, Option<&'static str>, Value, bool),
    Structured(&'static str, u8, String),
    Step,
    StepEnd,
    Metadata(Value),
    Whole(String),
    Status(String),
    Used(u64),
    Warn(String),
    Stumble(String),
    Transition,
    Checkpoint,
    Shared(Value),
    Attempt,
    Retract,
    Message,
}

/// How a run ends.
#[derive(Debug, Clone)]
enum End {
    Finished(FinishReason, Option<Usage>, Option<Value>),
    Failed(String),
    Cancelled,
    Waiting(bool),
    Open,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z ]{1,8}",
        1 => select(vec!["é", "😀", "\u{2028}", "\"\\", "\n\n", "data: x", "\u{0}", "[DONE]"]).prop_map(str::to_owned),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-1000i64..1000).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[a-c]{1,2}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    proptest::collection::btree_map("[a-c]{1,2}", value(), 0..3)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

fn act() -> impl Strategy<Value = Act> {
    let open = 0usize..4;
    prop_oneof![
        3 => Just(Act::Text),
        2 => Just(Act::Reasoning),
        8 => (open.clone(), text()).prop_map(|(at, text)| Act::Delta(at, text)),
        3 => open.clone().prop_map(Act::Close),
        3 => (select(vec!["search", "mail"]), select(vec![Executor::Server, Executor::Server, Executor::Client, Executor::Provider]), object())
            .prop_map(|(name, executor, input)| Act::Call(name, executor, input)),
        3 => (open.clone(), 1usize..9).prop_map(|(at, length)| Act::CallDelta(at, length)),
        3 => open.clone().prop_map(Act::CallReady),
        1 => open.clone().prop_map(Act::CallRefused),
        1 => open.clone().prop_map(Act::Ask),
        1 => (open.clone(), any::<bool>()).prop_map(|(at, yes)| Act::Decide(at, yes)),
        3 => (open.clone(), value(), any::<bool>()).prop_map(|(at, output, more)| Act::Output(at, output, more)),
        1 => (open.clone(), text()).prop_map(|(at, error)| Act::CallFailed(at, error)),
        1 => option::of(text()).prop_map(Act::Page),
        1 => Just(Act::Document),
        1 => Just(Act::File),
        2 => (select(vec!["chart", "note"]), option::of(select(vec!["d1", "d2"])), value(), any::<bool>())
            .prop_map(|(name, id, data, transient)| Act::Data(name, id, data, transient)),
        3 => (select(vec!["s1", "s2"]), 0u8..5, text()).prop_map(|(stream, op, text)| Act::Structured(stream, op, text)),
        1 => Just(Act::Step),
        1 => Just(Act::StepEnd),
        1 => object().prop_map(Act::Metadata),
        1 => text().prop_map(Act::Whole),
        1 => text().prop_map(Act::Status),
        1 => (0u64..99).prop_map(Act::Used),
        1 => text().prop_map(Act::Warn),
        1 => text().prop_map(Act::Stumble),
        1 => Just(Act::Transition),
        1 => Just(Act::Checkpoint),
        1 => object().prop_map(Act::Shared),
        2 => Just(Act::Attempt),
        1 => Just(Act::Retract),
        1 => Just(Act::Message),
    ]
}

fn end() -> impl Strategy<Value = End> {
    let reason = select(vec![
        FinishReason::Stop,
        FinishReason::Length,
        FinishReason::ContentFilter,
        FinishReason::ToolCalls,
    ]);
    prop_oneof![
        4 => (reason, option::of(1u64..99), option::of(object())).prop_map(|(reason, usage, data)| {
            End::Finished(reason, usage.map(usage_of), data)
        }),
        1 => text().prop_map(End::Failed),
        1 => Just(End::Cancelled),
        1 => any::<bool>().prop_map(End::Waiting),
        1 => Just(End::Open),
    ]
}

fn usage_of(tokens: u64) -> Usage {
    Usage {
        input_tokens: Some(tokens),
        output_tokens: Some(tokens + 1),
        total_tokens: Some(2 * tokens + 1),
        ..Usage::default()
    }
}

/// The records of a run.
pub(crate) fn run() -> impl Strategy<Value = Vec<Record>> {
    (vec(act(), 0..24), end()).prop_map(|(acts, end)| {
        let mut script = Script::default();
        script.begin();
        for act in acts {
            script.act(act);
        }
        script.end(end);
        script.records
    })
}

/// A run that has ended.
pub(crate) fn ended_run() -> impl Strategy<Value = Vec<Record>> {
    run().prop_filter("it must have ended", |records| {
        records.last().is_some_and(|record| record.event.kind().ends_run())
    })
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    Streaming,
    Ready,
    Asked,
    Decided(bool),
    Preliminary,
}

#[derive(Debug)]
struct Call {
    tool: ToolCall,
    stage: Stage,
    input: Value,
    /// How much of the input's text was streamed.
    streamed: usize,
    attempt: Option<u32>,
}

#[derive(Debug, Default)]
struct Script {
    records: Vec<Record>,
    ids: u32,
    messages: u32,
    /// The open attempt.
    attempt: Option<u32>,
    /// Open blocks: whether reasoning, id, attempt.
    blocks: Vec<(bool, PartId, Option<u32>)>,
    calls: Vec<Call>,
    steps: u32,
    finals: Vec<&'static str>,
}

impl Script {
    fn begin(&mut self) {
        self.emit(Event::RunStarted(RunStarted {
            run: Some("run_1".into()),
            session: Some("session_1".into()),
            workflow: Some("support".into()),
            model: Some("gpt-5.1".into()),
            ..RunStarted::default()
        }));
        self.act(Act::Message);
    }

    fn emit(&mut self, event: Event) {
        let origin = Origin {
            attempt: None,
            message: (self.messages > 0).then(|| format!("msg_{}", self.messages).into()),
            ..Origin::default()
        };
        self.emit_from(origin, event);
    }

    fn emit_in(&mut self, attempt: Option<u32>, event: Event) {
        let origin = Origin {
            attempt: attempt.map(|attempt| format!("attempt_{attempt}").into()),
            message: Some(format!("msg_{}", self.messages).into()),
            ..Origin::default()
        };
        self.emit_from(origin, event);
    }

    fn emit_from(&mut self, origin: Origin, event: Event) {
        let seq = self.records.len() as u64;
        self.records.push(Record::new(seq, event).at(1_700_000_000_000 + seq).from(origin));
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.ids += 1;
        format!("{prefix}_{}", self.ids)
    }

    fn call_at(&self, at: usize, stages: &[Stage]) -> Option<usize> {
        let fitting: Vec<_> =
            (0..self.calls.len()).filter(|&index| stages.contains(&self.calls[index].stage)).collect();
        (!fitting.is_empty()).then(|| fitting[at % fitting.len()])
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Text | Act::Reasoning => {
                let reasoning = matches!(act, Act::Reasoning);
                let id = PartId::from(self.fresh(if reasoning { "think" } else { "text" }));
                self.blocks.push((reasoning, id.clone(), self.attempt));
                let event = if reasoning {
                    Event::BlockStarted(BlockStarted::new(BlockKind::Reasoning, id))
                } else {
                    Event::BlockStarted(BlockStarted::new(BlockKind::Text, id))
                };
                self.emit_in(self.attempt, event);
            }
            Act::Delta(at, delta) => {
                if self.blocks.is_empty() {
                    return;
                }
                let (reasoning, id, attempt) = self.blocks[at % self.blocks.len()].clone();
                let event = if reasoning {
                    Event::BlockDelta(BlockDelta::new(BlockKind::Reasoning, id, delta))
                } else {
                    Event::BlockDelta(BlockDelta::new(BlockKind::Text, id, delta))
                };
                self.emit_in(attempt, event);
            }
            Act::Close(at) => {
                if !self.blocks.is_empty() {
                    self.close_block(at % self.blocks.len());
                }
            }
            Act::Call(name, executor, input) => {
                let tool = ToolCall::new(self.fresh("call"), name).by(executor);
                let (attempt, stage) = (self.attempt, Stage::Streaming);
                self.calls.push(Call { tool: tool.clone(), stage, input, streamed: 0, attempt });
                self.emit_in(attempt, Event::ToolInputStart(tool));
            }
            Act::CallDelta(at, length) => {
                if let Some(at) = self.call_at(at, &[Stage::Streaming]) {
                    self.stream_input(at, length);
                }
            }
            Act::CallReady(at) => {
                if let Some(at) = self.call_at(at, &[Stage::Streaming]) {
                    // A streamed input is completed by streaming.
                    if self.calls[at].streamed > 0 {
                        self.stream_input(at, usize::MAX);
                    }
                    self.calls[at].stage = Stage::Ready;
                    let (tool, input) = (self.calls[at].tool.clone(), self.calls[at].input.clone());
                    let event = Event::ToolInputAvailable(ToolInputAvailable::new(tool, Some(input)));
                    self.emit_in(self.calls[at].attempt, event);
                }
            }
            Act::CallRefused(at) => {
                if let Some(at) = self.call_at(at, &[Stage::Streaming]) {
                    let call = self.calls.remove(at);
                    let event = Event::ToolInputError(ToolInputError {
                        tool: call.tool,
                        input: Some(json!({ "bad": true })),
                        error: "not what the tool takes".into(),
                        ..Default::default()
                    });
                    self.emit_in(call.attempt, event);
                }
            }
            Act::Ask(at) => {
                if let Some(at) = self.call_at(at, &[Stage::Ready]) {
                    self.calls[at].stage = Stage::Asked;
                    let tool = self.calls[at].tool.clone();
                    let event = Event::ApprovalRequested(ApprovalRequested {
                        approval: format!("approval_{}", tool.call).into(),
                        input: Some(self.calls[at].input.clone()),
                        tool,
                        ..Default::default()
                    });
                    self.emit_in(self.calls[at].attempt, event);
                }
            }
            Act::Decide(at, approved) => {
                if let Some(at) = self.call_at(at, &[Stage::Asked]) {
                    self.calls[at].stage = Stage::Decided(approved);
                    let call = self.calls[at].tool.call.clone();
                    let event = Event::ApprovalAnswered(ApprovalAnswered {
                        approval: format!("approval_{call}").into(),
                        call: Some(call.clone()),
                        approved,
                        ..Default::default()
                    });
                    self.emit_in(self.calls[at].attempt, event);
                    if !approved {
                        let attempt = self.calls.remove(at).attempt;
                        self.emit_in(attempt, Event::ToolDenied(ToolDenied { call, ..Default::default() }));
                    }
                }
            }
            Act::Output(at, output, preliminary) => {
                let stages = [Stage::Ready, Stage::Decided(true), Stage::Preliminary];
                if let Some(at) = self.call_at(at, &stages) {
                    let call = self.calls[at].tool.call.clone();
                    let attempt = self.calls[at].attempt;
                    self.calls[at].stage = Stage::Preliminary;
                    if !preliminary {
                        self.calls.remove(at);
                    }
                    let event =
                        Event::ToolOutput(ToolOutput { call, output, preliminary, ..Default::default() });
                    self.emit_in(attempt, event);
                }
            }
            Act::CallFailed(at, error) => {
                let stages = [Stage::Ready, Stage::Decided(true), Stage::Preliminary];
                if let Some(at) = self.call_at(at, &stages) {
                    let Call { tool, attempt, .. } = self.calls.remove(at);
                    self.emit_in(
                        attempt,
                        Event::ToolOutputError(ToolOutputError {
                            call: tool.call,
                            error,
                            ..Default::default()
                        }),
                    );
                }
            }
            Act::Page(title) => {
                let source = self.fresh("src");
                let url = format!("https://example.com/{source}");
                self.emit(Event::SourceUrl(SourceUrl { source, url, title, ..Default::default() }));
            }
            Act::Document => {
                let source = self.fresh("doc");
                self.emit(Event::SourceDocument(SourceDocument {
                    source,
                    title: Some("Handbook".into()),
                    media_type: Some("application/pdf".into()),
                    filename: Some("handbook.pdf".into()),
                    ..Default::default()
                }));
            }
            Act::File => self.emit(Event::File(FileEvent {
                url: "https://example.com/chart.png".into(),
                media_type: "image/png".into(),
                ..Default::default()
            })),
            Act::Data(name, id, data, transient) => {
                self.emit(Event::Data(DataEvent {
                    name: name.into(),
                    id: id.map(str::to_owned),
                    data,
                    transient,
                    ..Default::default()
                }));
            }
            Act::Structured(stream, op, text) => {
                if self.finals.contains(&stream) {
                    return;
                }
                let op = match op {
                    0 => StructuredOp::set("head.subject", text),
                    1 => StructuredOp::append("items", [Value::from(text)]),
                    2 => StructuredOp::set("rows.0.cell", text),
                    3 => {
                        self.finals.push(stream);
                        StructuredOp::finish(json!({ "done": text }))
                    }
                    _ => StructuredOp::text("body", text),
                };
                self.emit(Event::Structured(StructuredUpdate::new(stream, "email.compose", op)));
            }
            Act::Step => {
                if self.steps == 0 {
                    self.steps = 1;
                    self.emit(Event::StepStarted { name: None });
                }
            }
            Act::StepEnd => {
                if self.steps == 1 {
                    self.steps = 0;
                    self.emit(Event::StepFinished { name: None });
                }
            }
            Act::Metadata(metadata) => self.emit(Event::MessageMetadata { metadata }),
            Act::Whole(content) => self.emit(Event::Message { content }),
            Act::Status(message) => {
                self.emit(Event::Status(StatusEvent {
                    state: Some("streaming".into()),
                    message: Some(message),
                    ..Default::default()
                }));
            }
            Act::Used(tokens) => self.emit(Event::Usage(usage_of(tokens))),
            Act::Warn(message) => self.emit(Event::Warning(WarningEvent { message, ..Default::default() })),
            Act::Stumble(message) => {
                self.emit(Event::Error(ErrorEvent { error: ErrorInfo::new(message), ..Default::default() }));
            }
            Act::Transition => {
                self.emit(Event::Transition(TransitionEvent {
                    to: "billing".into(),
                    payload: Some(json!({ "a": 1 })),
                    ..Default::default()
                }));
            }
            Act::Checkpoint => {
                let checkpoint = self.fresh("cp").into();
                self.emit(Event::Checkpoint(CheckpointEvent {
                    checkpoint,
                    session: "session_1".into(),
                    turn: 1,
                    ..Default::default()
                }));
            }
            Act::Shared(state) => self.emit(Event::StateSnapshot { state }),
            Act::Attempt => {
                if self.attempt.is_none() {
                    self.ids += 1;
                    self.attempt = Some(self.ids);
                    let attempt = format!("attempt_{}", self.ids).into();
                    self.emit(Event::AttemptStarted(AttemptStarted { attempt, ..Default::default() }));
                }
            }
            Act::Retract => {
                if let Some(dead) = self.attempt.take() {
                    self.blocks.retain(|(.., attempt)| *attempt != Some(dead));
                    self.calls.retain(|call| call.attempt != Some(dead));
                    let attempt = format!("attempt_{dead}").into();
                    self.emit(Event::AttemptRetracted(AttemptRetracted { attempt, ..Default::default() }));
                }
            }
            Act::Message => {
                self.close_all();
                if self.messages > 0 {
                    let message = format!("msg_{}", self.messages).into();
                    self.emit(Event::MessageFinished { message });
                }
                self.messages += 1;
                let message = format!("msg_{}", self.messages).into();
                self.emit(Event::MessageStarted(MessageStarted {
                    message,
                    role: Role::Assistant,
                    ..Default::default()
                }));
            }
        }
    }

    /// The next characters of a call's input, if there are any.
    fn stream_input(&mut self, at: usize, length: usize) {
        let Call { tool, input, streamed, attempt, .. } = &mut self.calls[at];
        let delta: String = input.to_string().chars().skip(*streamed).take(length).collect();
        *streamed += delta.chars().count();
        let (call, attempt) = (tool.call.clone(), *attempt);
        if !delta.is_empty() {
            self.emit_in(attempt, Event::ToolInputDelta(ToolInputDelta::new(call, delta)));
        }
    }

    fn close_block(&mut self, at: usize) {
        let (reasoning, id, attempt) = self.blocks.remove(at);
        let event = if reasoning {
            Event::BlockEnded(BlockEnded::new(BlockKind::Reasoning, id))
        } else {
            Event::BlockEnded(BlockEnded::new(BlockKind::Text, id))
        };
        self.emit_in(attempt, event);
    }

    /// A message is finished together with everything in it.
    fn close_all(&mut self) {
        while !self.blocks.is_empty() {
            self.close_block(0);
        }
        while let Some(at) = self.call_at(0, &[Stage::Streaming]) {
            self.act(Act::CallReady(at));
        }
        self.calls.clear();
        self.act(Act::StepEnd);
        if let Some(attempt) = self.attempt.take() {
            self.emit(Event::AttemptFinished { attempt: format!("attempt_{attempt}").into() });
        }
    }

    fn end(&mut self, end: End) {
        if matches!(end, End::Open) {
            return;
        }
        let waits: Vec<ToolCallId> = self
            .calls
            .iter()
            .filter(|call| call.stage == Stage::Ready && call.tool.executor == Executor::Client)
            .map(|call| call.tool.call.clone())
            .collect();
        if !matches!(end, End::Failed(_) | End::Cancelled) {
            self.close_all();
            let message = format!("msg_{}", self.messages).into();
            self.emit(Event::MessageFinished { message });
        }
        match end {
            End::Finished(reason, usage, data) => {
                self.emit(Event::RunFinished(RunFinished {
                    reason: Some(reason),
                    usage,
                    data,
                    ..Default::default()
                }));
            }
            End::Failed(message) => self.emit(Event::RunFailed(ErrorInfo::new(message).code("model"))),
            End::Cancelled => self.emit(Event::RunCancelled { reason: None }),
            End::Waiting(choice) => {
                let question = if choice {
                    let option = Choice { id: "send".into(), label: "Send".into(), description: None };
                    Interrupt::choice("req_1", "Send it?", vec![option])
                } else {
                    Interrupt::text("req_1", "Which city?")
                };
                let question = Interrupt { token: Some("token_1".into()), ..question };
                self.emit(Event::InterruptRequested(Box::new(question)));
                self.emit(Event::RunWaiting(RunWaiting { tool_calls: waits, ..Default::default() }));
            }
            End::Open => {}
        }
    }
}
