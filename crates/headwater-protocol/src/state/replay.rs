//! Converts a state back to the fewest events that rebuild it.
//!
//! Sent to a client that reconnects without a cursor. The cost depends on the state, not on the history: a
//! text of a thousand deltas becomes one.

use serde_json::Value;

use super::{Rules, RunState, RunStatus};
use crate::{
    event::{
        Approval, ApprovalAnswered, ApprovalRequested, BlockDelta, BlockEnded, BlockKind, BlockStarted,
        ErrorEvent, Event, FileEvent, InterruptAnswered, Message, MessageStarted, MessageStatus, Origin,
        Part, PartState, QuestionPart, QuestionState, Record, Role, RunFinished, RunWaiting, SourceDocument,
        SourceUrl, TextPart, ToolCall, ToolDenied, ToolInputAvailable, ToolInputDelta, ToolInputError,
        ToolOutput, ToolOutputError, ToolPart, ToolState, UnknownEvent,
    },
    id::RequestId,
    structured::{StructuredOp, StructuredState, StructuredUpdate},
};

impl RunState {
    /// The fewest events that rebuild this state, including the end of the run.
    ///
    /// ```
    /// use headwater_protocol::{BlockDelta, BlockKind, Event, Record, RunState};
    ///
    /// let mut state = RunState::default();
    /// for delta in ["Hel", "lo"] {
    ///     let event = Event::BlockDelta(BlockDelta::new(BlockKind::Text, "t1", delta));
    ///     state.apply(&Record::new(0, event)).unwrap();
    /// }
    /// let events: Vec<_> = state.replay().into_iter().map(|record| record.event.kind().name()).collect();
    /// assert_eq!(events, ["run-started", "message-started", "block-started", "block-delta"]);
    /// ```
    #[must_use]
    pub fn replay(&self) -> Vec<Record> {
        let mut replay = ReplayWriter { state: self, rules: self.rules(), records: Vec::new() };
        replay.push(Origin::default(), Event::RunStarted(self.run().started.clone()));
        if let Some(state) = self.shared_state() {
            replay.push(Origin::default(), Event::StateSnapshot { state: state.clone() });
        }
        let mut open_steps = self.run().open_steps.iter();
        let steps = self.messages().iter().flat_map(|message| &message.parts);
        let steps = steps.filter(|part| matches!(part, Part::StepStart)).count();
        let mut closed_steps = steps.saturating_sub(self.run().open_steps.len());
        for message in self.messages().iter().filter(|message| is_output(message)) {
            replay.message(message, &mut closed_steps, &mut open_steps);
        }
        // Streams without a part in a message.
        let parts = || self.messages().iter().flat_map(|message| &message.parts);
        let placed = |stream: &str| {
            parts().any(|part| matches!(part, Part::Structured(part) if part.stream == stream))
        };
        for state in self.structured().iter().filter(|state| !placed(state.stream())) {
            replay.structured(&Origin::default(), state);
        }
        let placed = |request: &RequestId| {
            parts().any(|part| matches!(part, Part::Question(part) if part.interrupt.request == *request))
        };
        for interrupt in self.interrupts().iter().filter(|open| !placed(&open.request)) {
            replay.push(Origin::default(), Event::InterruptRequested(Box::new(interrupt.clone())));
        }
        replay.run(self);
        replay.records
    }

    /// The same without closed questions, for pages that show a question only while it is open.
    #[must_use]
    pub fn replay_open(&self) -> Vec<Record> {
        let open = |request: &RequestId| self.interrupts().iter().any(|open| open.request == *request);
        let mut records = self.replay();
        records.retain(|record| match &record.event {
            Event::InterruptRequested(interrupt) => open(&interrupt.request),
            Event::InterruptAnswered(_) | Event::InterruptExpired { .. } => false,
            _ => true,
        });
        records
    }
}

impl Message {
    /// The fewest events that rebuild this message.
    ///
    /// ```
    /// use headwater_protocol::{Message, Role};
    ///
    /// let message = Message::text("m1", Role::User, "Hi");
    /// let events: Vec<_> = message.replay().iter().map(|event| event.kind().name()).collect();
    /// assert_eq!(events, ["message-started", "block-started", "block-delta", "block-ended", "message-finished"]);
    /// ```
    #[must_use]
    pub fn replay(&self) -> Vec<Event> {
        let state = RunState::default();
        let mut replay = ReplayWriter { state: &state, rules: Rules::default(), records: Vec::new() };
        let mut steps = self.parts.iter().filter(|part| matches!(part, Part::StepStart)).count();
        replay.message(self, &mut steps, &mut std::iter::empty());
        replay.records.into_iter().map(|record| record.event).collect()
    }
}

/// Whether the run produced the message, rather than the user or the operator.
fn is_output(message: &Message) -> bool {
    !matches!(message.role, Role::User | Role::System | Role::Developer)
}

struct ReplayWriter<'s> {
    state: &'s RunState,
    rules: Rules,
    records: Vec<Record>,
}

impl ReplayWriter<'_> {
    fn push(&mut self, origin: Origin, event: impl Into<Event>) {
        let seq = self.records.len() as u64;
        self.records.push(Record::new(seq, event).from(origin));
    }

    fn structured(&mut self, origin: &Origin, state: &StructuredState) {
        for update in state.updates() {
            self.push(origin.clone(), Event::Structured(update));
        }
    }

    fn question(&mut self, origin: Origin, part: &QuestionPart) {
        let request = part.interrupt.request.clone();
        self.push(origin.clone(), Event::InterruptRequested(Box::new(part.interrupt.clone())));
        match part.state {
            QuestionState::Open => {}
            QuestionState::Answered => {
                let answer = part.answer.clone();
                self.push(origin, InterruptAnswered { request, answer, ..Default::default() });
            }
            QuestionState::Expired => self.push(origin, Event::InterruptExpired { request }),
        }
    }

    fn message<'a>(
        &mut self,
        message: &Message,
        closed_steps: &mut usize,
        open_steps: &mut impl Iterator<Item = &'a Option<String>>,
    ) {
        let origin = Origin { message: Some(message.id.clone()), ..Origin::default() };
        let (id, role, author) = (message.id.clone(), message.role, message.author.clone());
        self.push(origin.clone(), MessageStarted { message: id, role, author, ..Default::default() });
        if let Some(metadata) = &message.metadata {
            self.push(origin.clone(), Event::MessageMetadata { metadata: metadata.clone() });
        }
        let mut step_to_close = false;
        for part in &message.parts {
            let origin = Origin { attempt: part.attempt().cloned(), ..origin.clone() };
            if matches!(part, Part::StepStart) {
                if step_to_close {
                    self.push(origin.clone(), Event::StepFinished { name: None });
                }
                step_to_close = *closed_steps > 0;
                let name = if step_to_close {
                    *closed_steps -= 1;
                    None
                } else {
                    open_steps.next().cloned().flatten()
                };
                self.push(origin, Event::StepStarted { name });
            } else {
                self.part(origin, part);
            }
        }
        if step_to_close {
            self.push(origin.clone(), Event::StepFinished { name: None });
        }
        if message.status == MessageStatus::Sent {
            self.push(origin, Event::MessageFinished { message: message.id.clone() });
        }
    }

    fn block(&mut self, kind: BlockKind, origin: Origin, text: &TextPart) {
        let id = text.id.clone();
        let started = BlockStarted { metadata: text.metadata.clone(), ..BlockStarted::new(kind, id.clone()) };
        self.push(origin.clone(), started);
        if !text.text.is_empty() {
            self.push(origin.clone(), BlockDelta::new(kind, id.clone(), text.text.clone()));
        }
        if text.state == PartState::Done {
            self.push(origin, BlockEnded::new(kind, id));
        }
    }

    fn part(&mut self, origin: Origin, part: &Part) {
        match part {
            Part::Text(text) => self.block(BlockKind::Text, origin, text),
            Part::Reasoning(text) => self.block(BlockKind::Reasoning, origin, text),
            Part::Tool(tool) => self.tool(&origin, tool),
            Part::SourceUrl(source) => {
                let source = SourceUrl {
                    source: source.source.clone(),
                    url: source.url.clone().unwrap_or_default(),
                    title: source.title.clone(),
                    call: source.call.clone(),
                    metadata: source.metadata.clone(),
                    ..Default::default()
                };
                self.push(origin, source);
            }
            Part::SourceDocument(source) => {
                let event = Event::SourceDocument(SourceDocument {
                    source: source.source.clone(),
                    title: source.title.clone(),
                    media_type: source.media_type.clone(),
                    filename: source.filename.clone(),
                    text: source.text.clone(),
                    call: source.call.clone(),
                    metadata: source.metadata.clone(),
                    ..Default::default()
                });
                self.push(origin, event);
            }
            Part::File(file) => {
                let event = Event::File(FileEvent {
                    url: file.url.clone(),
                    media_type: file.media_type.clone(),
                    filename: file.filename.clone(),
                    id: file.id.clone(),
                    reasoning: file.reasoning,
                    metadata: file.metadata.clone(),
                    ..Default::default()
                });
                self.push(origin, event);
            }
            Part::Data(data) if !data.transient => self.push(origin, data.clone()),
            Part::Structured(part) => match self.state.structured().get(&part.stream) {
                Some(state) => self.structured(&origin, state),
                // An object of an earlier run.
                None => {
                    let op = StructuredOp::Final { data: part.data.clone() };
                    let update = StructuredUpdate::new(part.stream.clone(), part.data_type.clone(), op);
                    self.push(origin, Event::Structured(update));
                }
            },
            Part::Question(question) => self.question(origin, question),
            Part::Other { value: part } => {
                let name = part.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
                self.push(origin, UnknownEvent::new(name, part.clone()));
            }
            Part::Data(_) | Part::StepStart => {}
        }
    }

    fn tool(&mut self, origin: &Origin, part: &ToolPart) {
        let tool = part.tool_call();
        let (call, name) = (part.call.clone(), Some(part.name.clone()));
        self.lingering(origin, &tool, part);
        if part.state == ToolState::OutputError && part.approval.is_none() && part.output.is_none() {
            // A rejected input and a failed execution end in the same state; without an input, one event
            // expresses both.
            if part.input.is_none() {
                if self.rules.unknown_calls_are_ignored {
                    self.push(origin.clone(), Event::ToolInputStart(tool.clone()));
                }
                let error = part.error.clone().unwrap_or_default();
                return self.push(origin.clone(), ToolInputError { tool, error, ..Default::default() });
            }
        }
        if part.input.is_none() {
            self.push(origin.clone(), Event::ToolInputStart(tool.clone()));
            if !part.input_text.is_empty() {
                let delta = part.input_text.clone();
                self.push(origin.clone(), ToolInputDelta::new(call.clone(), delta));
            }
        }
        if part.input.is_some() || part.state != ToolState::InputStreaming {
            self.push(origin.clone(), ToolInputAvailable::new(tool.clone(), part.input.clone()));
        }
        if let Some(Approval { id: Some(id), approved, reason, signature, automatic, .. }) = &part.approval {
            let asked = ApprovalRequested {
                approval: id.clone(),
                tool,
                input: part.input.clone(),
                signature: signature.clone(),
                automatic: *automatic,
                ..Default::default()
            };
            self.push(origin.clone(), asked);
            if let Some(approved) = *approved {
                let (approval, call, reason) = (id.clone(), Some(call.clone()), reason.clone());
                let answered = ApprovalAnswered { approval, call, approved, reason, ..Default::default() };
                self.push(origin.clone(), answered);
            }
        }
        match part.state {
            ToolState::OutputAvailable => self.push(origin.clone(), output(part)),
            ToolState::OutputError => {
                let error = part.error.clone().unwrap_or_default();
                self.push(origin.clone(), ToolOutputError { call, name, error, ..Default::default() });
            }
            ToolState::OutputDenied => {
                let reason = part.approval.as_ref().and_then(|approval| approval.reason.clone());
                self.push(origin.clone(), ToolDenied { call, name, reason, ..Default::default() });
            }
            _ => {}
        }
    }

    /// Fields that a call kept from an earlier state.
    fn lingering(&mut self, origin: &Origin, tool: &ToolCall, part: &ToolPart) {
        let had_output = part.output.is_some() && part.state != ToolState::OutputAvailable;
        let had_error = part.error.is_some() && part.state != ToolState::OutputError;
        if !self.rules.tool_fields_linger || !(had_output || had_error) {
            return;
        }
        self.push(origin.clone(), Event::ToolInputStart(tool.clone()));
        if had_output {
            self.push(origin.clone(), output(part));
        }
        if let Some(error) = part.error.clone().filter(|_| had_error) {
            let (call, name) = (part.call.clone(), Some(part.name.clone()));
            self.push(origin.clone(), ToolOutputError { call, name, error, ..Default::default() });
        }
    }

    fn run(&mut self, state: &RunState) {
        let run = state.run();
        if let Some(error) = run.error.as_ref().filter(|_| run.status != RunStatus::Failed) {
            self.push(Origin::default(), ErrorEvent { error: error.clone(), ..Default::default() });
        }
        let end_says_usage = matches!(run.status, RunStatus::Waiting | RunStatus::Finished);
        if let Some(usage) = run.usage.as_ref().filter(|_| !end_says_usage) {
            self.push(Origin::default(), Event::Usage(usage.clone()));
        }
        let end = match run.status {
            RunStatus::Running => return,
            RunStatus::Waiting => Event::RunWaiting(RunWaiting {
                tool_calls: run.pending_tool_calls.clone(),
                usage: run.usage.clone(),
                ..Default::default()
            }),
            RunStatus::Finished => Event::RunFinished(RunFinished {
                reason: run.finish_reason.clone(),
                usage: run.usage.clone(),
                data: run.data.clone(),
                ..Default::default()
            }),
            RunStatus::Failed => Event::RunFailed(run.error.clone().unwrap_or_default()),
            RunStatus::Cancelled => Event::RunCancelled { reason: run.cancel_reason.clone() },
        };
        self.push(Origin::default(), end);
    }
}

fn output(part: &ToolPart) -> Event {
    Event::ToolOutput(ToolOutput {
        call: part.call.clone(),
        name: Some(part.name.clone()),
        output: part.output.clone().unwrap_or(Value::Null),
        structured: part.structured.clone(),
        is_error: part.is_error,
        preliminary: part.preliminary,
        metadata: part.output_metadata.clone(),
        ..Default::default()
    })
}
