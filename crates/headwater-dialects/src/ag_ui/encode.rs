//! Encodes records as AG-UI events.
//!
//! The encoder tracks the client's messages, so that it can send the conversation again without a retracted
//! attempt.

mod objects;
mod reentry;
mod run;
mod text;
mod tool;

use std::{borrow::Cow, sync::Arc};

use headwater_protocol::{
    ApprovalAnswered, ApprovalRequested, AttemptId, BlockKind, DataEvent, ErrorEvent, Event, FrameWriter,
    InterruptAnswered, Message, MessageId, Part, PartId, Piece, Record, Role, RunState, ToolCall, ToolCallId,
    ToolInputAvailable, ToolInputDelta, ToolInputError, UnknownEvent, WarningEvent,
};
use serde_json::Value;

use super::{
    chunk::{
        ActivitySnapshot, Base, Chunk, Content, Custom, MessageDelta, MessagesSnapshot, Raw,
        ReasoningEncryptedValue, SAFE_INTEGER, StateDelta, StateSnapshot, Step, ToolCallArgs, WireMessage,
        WireMessages,
    },
    ids::Ids,
    messages,
};
use crate::encode::{Encode, EncodeOptions, WriteChunk as _};

type Sink<'s> = &'s mut dyn FnMut(&Chunk<'_>);

/// Encodes records as AG-UI events.
#[derive(Debug, Default)]
pub(super) struct AgUiEncoder {
    legacy: bool,
    /// TanStack's client replaces everything by a snapshot; other clients keep reasoning messages that the
    /// snapshot lacks.
    tanstack: bool,
    /// Mark client tool calls and approvals with TanStack's custom events, as its clients before 1.0 need.
    marks_calls: bool,
    /// Client tool calls are interrupts too.
    tools_are_interrupts: bool,
    /// A stopped run ends normally.
    stop_is_end: bool,
    /// The client cannot remove the content of a retracted attempt.
    keeps_attempts: bool,
    /// The client's messages before the run.
    history: Vec<Message>,
    /// A reasoning message of this run that the client may hold.
    held_thought: Option<String>,
    /// The state of the run so far.
    state: RunState,
    ids: Ids,
    phase: StreamPhase,
    thread: String,
    run: String,
    texts: Vec<OpenText>,
    calls: Vec<StreamedCall>,
    steps: Vec<(Option<String>, String)>,
    step_count: u32,
    objects: objects::Objects,
    /// Open questions and approvals.
    questions: Vec<Event>,
    /// Calls whose latest output is preliminary.
    preliminary: Vec<ToolCallId>,
    /// This response continues after one that ended because the run waited for its client.
    goes_on: bool,
    /// The client joined before the run had any content: send the conversation when the run begins.
    history_due: bool,
    /// Send the conversation again once no text is open.
    resync_due: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum StreamPhase {
    #[default]
    Before,
    Running,
    Waiting,
    Finished,
    Failed,
}

#[derive(Debug)]
struct OpenText {
    kind: BlockKind,
    message: MessageId,
    part: PartId,
    attempt: Option<AttemptId>,
    wire: Arc<str>,
}

#[derive(Debug)]
struct StreamedCall {
    tool: ToolCall,
    attempt: Option<AttemptId>,
}

/// The common fields of an event, from its record.
fn at<'a>(record: &Record) -> Base<'a> {
    let timestamp = i64::try_from(record.time).ok().filter(|&time| time != 0 && record.time <= SAFE_INTEGER);
    Base { timestamp, ..Base::default() }
}

impl AgUiEncoder {
    /// An encoder at the beginning of a stream.
    pub(super) fn new(options: &EncodeOptions) -> Self {
        let tools_are_interrupts = options.profile == Some(super::TANSTACK_1);
        let tanstack = options.profile.is_some_and(super::is_tanstack);
        let mut ids = Ids::new(tanstack);
        let mut history = options.messages.clone();
        for message in &mut history {
            // Attempt numbers restart with every run: attempts of earlier runs are never retracted.
            for part in &mut message.parts {
                match part {
                    Part::Text(text) | Part::Reasoning(text) => text.attempt = None,
                    Part::Tool(tool) => tool.attempt = None,
                    _ => {}
                }
            }
            ids.adopt(message);
        }
        Self {
            legacy: options.profile != Some(super::V1),
            marks_calls: options.profile != Some(super::V1) && !tools_are_interrupts,
            tools_are_interrupts,
            tanstack,
            stop_is_end: options.profile == Some(super::COPILOTKIT),
            keeps_attempts: options.profile == Some(super::ASSISTANT_UI),
            history,
            held_thought: options.thought.clone(),
            state: RunState::with_rules(super::rules()),
            ids,
            ..Self::default()
        }
    }

    /// Passes the chunks of one record to the sink: none, one or several.
    pub(super) fn chunks(&mut self, record: &Record, sink: &mut dyn FnMut(&Chunk<'_>)) {
        if let Event::RunStarted(started) = &record.event {
            return self.begin(record, started, sink);
        }
        match self.phase {
            StreamPhase::Finished | StreamPhase::Failed => return,
            StreamPhase::Before | StreamPhase::Waiting => self.start(record, None, sink),
            StreamPhase::Running => {}
        }
        self.emit_record(record, sink);
    }

    fn emit_record(&mut self, record: &Record, sink: Sink<'_>) {
        match &record.event {
            Event::RunStarted(_) => {}
            Event::RunFinished(_)
            | Event::RunFailed(_)
            | Event::RunCancelled { .. }
            | Event::RunWaiting(_) => self.end(record, sink),
            Event::Error(ErrorEvent { terminal: true, .. }) => self.end(record, sink),

            Event::AttemptRetracted(retracted) => self.retract(record, &retracted.attempt, sink),

            Event::Message { content } => self.whole(record, content, sink),

            Event::StepStarted { name } => self.start_step(record, name.as_deref(), sink),
            Event::StepFinished { name } => self.finish_step(record, name.as_deref(), sink),

            Event::BlockStarted(block) => self.start_text(record, block, sink),
            Event::BlockDelta(block) => self.grow_text(record, block, sink),
            Event::BlockEnded(block) => self.end_text(record, block, sink),

            Event::ToolInputStart(tool) => self.start_call(record, tool, sink),
            Event::ToolInputDelta(ToolInputDelta { call, delta, .. }) => {
                self.grow_call(record, call, delta, sink);
            }
            Event::ToolInputAvailable(ToolInputAvailable { tool, input, .. }) => {
                self.end_call(record, tool, input.as_ref(), sink);
            }
            Event::ToolInputError(ToolInputError { tool, input, error, .. }) => {
                self.refuse_call(record, tool, input.as_ref(), error, sink);
            }
            Event::ApprovalRequested(ApprovalRequested { tool, input, .. }) => {
                self.ask(record, tool, input.as_ref(), sink);
            }
            Event::ToolOutput(_) | Event::ToolOutputError(_) | Event::ToolDenied(_) => {
                self.answer_call(record, sink);
            }

            Event::Data(DataEvent { name, data, .. }) => self.data(record, name, data, sink),

            Event::StateSnapshot { state } => sink(&Chunk::StateSnapshot(StateSnapshot {
                snapshot: Cow::Borrowed(state),
                base: at(record),
            })),
            Event::StateDelta { patch } if is_patch(patch) => {
                sink(&Chunk::StateDelta(StateDelta { delta: Cow::Borrowed(patch), base: at(record) }));
            }
            Event::MessagesSnapshot { messages } => self.replace_messages(record, messages, sink),

            Event::InterruptRequested(interrupt) => {
                self.answered(interrupt.request.as_str());
                self.questions.push(record.event.clone());
                self.reduce(record);
            }
            Event::InterruptAnswered(InterruptAnswered { request, .. })
            | Event::InterruptExpired { request } => {
                self.answered(request.as_str());
                self.reduce(record);
            }
            Event::ApprovalAnswered(ApprovalAnswered { approval, .. }) => {
                self.answered(approval.as_str());
                self.reduce(record);
            }

            Event::Structured(update) => self.grow_object(record, update, sink),
            Event::StructuredInvalidated(gone) => self.drop_object(record, &gone.stream, sink),
            Event::MessageFinished { .. } => {
                self.emit_unsent(record, sink);
                self.reduce(record);
            }
            Event::Unknown(UnknownEvent { name, data, .. }) => unknown(record, name, data, sink),

            // Not visible on a page, but some of these change the conversation that may be sent again.
            _ => self.reduce(record),
        }
    }

    fn reduce(&mut self, record: &Record) {
        // A structured update that does not apply changes nothing, here as on the page.
        let _ = self.state.apply(record);
    }

    /// The message of a record that has been reduced.
    fn target(&self, record: &Record) -> MessageId {
        let named = record.origin.message.clone();
        named
            .or_else(|| self.state.current_message().map(|message| message.id.clone()))
            .unwrap_or_else(|| "".into())
    }

    fn message(&self, message: &MessageId) -> Option<&Message> {
        self.state.messages().iter().rev().find(|known| known.id == *message)
    }

    fn role_of(&self, message: &MessageId) -> Role {
        self.message(message).map_or(Role::Assistant, |message| message.role)
    }

    fn answered(&mut self, id: &str) {
        self.questions.retain(|question| match question {
            Event::InterruptRequested(interrupt) => interrupt.request.as_str() != id,
            Event::ApprovalRequested(ApprovalRequested { approval, .. }) => approval.as_str() != id,
            _ => false,
        });
    }

    fn start_step(&mut self, record: &Record, name: Option<&str>, sink: Sink<'_>) {
        self.reduce(record);
        self.step_count += 1;
        let taken = |wanted: &str| self.steps.iter().any(|(_, wire)| wire == wanted);
        let wire = match name {
            Some(name) if !taken(name) => name.to_owned(),
            _ => {
                let base = name.unwrap_or("step");
                let mut number = self.step_count;
                while taken(&format!("{base} {number}")) {
                    number += 1;
                }
                format!("{base} {number}")
            }
        };
        sink(&Chunk::StepStarted(Step { step_name: Cow::Borrowed(&wire), base: at(record) }));
        self.steps.push((name.map(str::to_owned), wire));
    }

    fn finish_step(&mut self, record: &Record, name: Option<&str>, sink: Sink<'_>) {
        let Some(open) = self.steps.iter().rposition(|(open, _)| open.as_deref() == name) else {
            return self.reduce(record);
        };
        self.reduce(record);
        let (_, wire) = self.steps.remove(open);
        sink(&Chunk::StepFinished(Step { step_name: Cow::Borrowed(&wire), base: at(record) }));
    }

    /// Application data: an activity if it has its own message, else a custom event.
    fn data(&mut self, record: &Record, name: &str, data: &Value, sink: Sink<'_>) {
        self.reduce(record);
        if let Some(message) = &record.origin.message
            && self.role_of(message) == Role::Activity
        {
            return sink(&Chunk::ActivitySnapshot(ActivitySnapshot {
                message_id: Cow::Borrowed(message.as_str()),
                activity_type: Cow::Borrowed(name),
                content: messages::object(data),
                replace: None,
                base: at(record),
            }));
        }
        // TanStack's client would act on events with these names.
        let acts = name.starts_with("structured-output.");
        if !acts && !["approval-requested", "tool-input-available", "ui-resource"].contains(&name) {
            let (name, value) = (Cow::Borrowed(name), Cow::Borrowed(data));
            sink(&Chunk::Custom(Custom { name, value, base: at(record) }));
        }
    }

    /// Retracts an attempt: closes its open parts and sends the remaining messages.
    fn retract(&mut self, record: &Record, attempt: &AttemptId, sink: Sink<'_>) {
        while let Some(open) = self.texts.iter().rposition(|text| text.attempt.as_ref() == Some(attempt)) {
            self.close_text(record, open, sink);
        }
        while let Some(open) = self.calls.iter().rposition(|call| call.attempt.as_ref() == Some(attempt)) {
            self.close_call(record, open, sink);
        }
        let said = self.state.messages().iter().flat_map(|message| &message.parts);
        let said = said.filter(|part| part.attempt() == Some(attempt));
        let shown =
            said.into_iter().any(|part| matches!(part, Part::Text(_) | Part::Reasoning(_) | Part::Tool(_)));
        if self.keeps_attempts {
            return self.end_calls_of(record, attempt, sink);
        }
        self.reduce(record);
        let parts = self.conversation().flat_map(|message| &message.parts);
        let left = parts.filter_map(Part::as_tool).map(|tool| tool.call.clone()).collect();
        let thought = self.ids.retract(attempt, &left);
        if shown && self.texts.is_empty() && self.calls.is_empty() {
            // Rebuild the ids as for a re-entry: the client appends messages with an unknown id.
            let mut ids = Ids::new(self.tanstack);
            self.conversation().for_each(|message| ids.adopt(message));
            self.ids = ids;
        }
        if shown {
            self.resync(record, thought.as_deref(), sink);
        }
    }

    /// Sends the remaining messages; nothing is open any more.
    fn emit_missed(&mut self, sink: Sink<'_>) {
        if self.phase != StreamPhase::Running {
            return;
        }
        let now = Record::new(0, WarningEvent::default());
        self.close_texts_and_calls(&now, sink);
        // The id of a reasoning message that the client may have.
        let current = self.state.current_message().map(|message| (message.id.clone(), message.role));
        let thought =
            current.map(|(message, role)| self.ids.clone().text(&message, role, BlockKind::Reasoning, None));
        self.resync(&now, thought.as_deref(), sink);
    }

    /// Sends the conversation again, so that the client holds our state.
    fn resync(&mut self, record: &Record, gone_thought: Option<&str>, sink: Sink<'_>) {
        // At a snapshot TanStack's client forgets the text of an open block and would replace it by the rest.
        self.resync_due = self.tanstack && self.texts.iter().any(|open| open.kind == BlockKind::Text);
        if self.resync_due {
            return;
        }
        let mut messages = self.write_conversation();
        messages.extend(gone_thought.and_then(|gone| self.blank(gone, &messages)));
        let messages = WireMessages(messages);
        sink(&Chunk::MessagesSnapshot(MessagesSnapshot { messages, base: at(record) }));
        self.emit_missed_objects(record, sink);
    }

    /// The conversation in AG-UI's form. TanStack's page would show an empty reasoning message as an empty
    /// answer.
    fn write_conversation(&self) -> Vec<WireMessage<'_>> {
        let mut messages = messages::write(self.conversation(), &self.ids, &self.state, !self.tanstack);
        let blank = Some(Content::Text(Cow::Borrowed("")));
        let is_blank =
            |message: &WireMessage<'_>| message.role == Role::Reasoning && message.content == blank;
        while self.tanstack && messages.last().is_some_and(is_blank) {
            messages.pop();
        }
        // A block without text yet continues in its message.
        for open in self.texts.iter().filter(|open| open.kind == BlockKind::Text && !self.tanstack) {
            if messages.iter().all(|message| *message.id != *open.wire) {
                let mut empty = WireMessage::new(&*open.wire, Role::Assistant);
                empty.content = Some(Content::Text(Cow::Borrowed("")));
                messages.push(empty);
            }
        }
        messages
    }

    /// An empty reasoning message in place of a retracted one, for clients that would keep it.
    fn blank<'a>(&self, gone: &'a str, messages: &[WireMessage<'_>]) -> Option<WireMessage<'a>> {
        if self.tanstack || messages.iter().any(|message| message.role == Role::Reasoning) {
            return None;
        }
        let mut blank = WireMessage::new(gone, Role::Reasoning);
        blank.content = Some(Content::Text(Cow::Borrowed("")));
        Some(blank)
    }

    /// The messages that the client holds or should hold.
    fn conversation(&self) -> impl Iterator<Item = &Message> + Clone {
        let run = self.state.messages();
        let before = self.history.iter().filter(|message| run.iter().all(|known| known.id != message.id));
        before.chain(run)
    }

    fn replace_messages(&mut self, record: &Record, messages: &[Message], sink: Sink<'_>) {
        self.reduce(record);
        self.history.clear();
        while let Some(open) =
            self.texts.iter().rposition(|text| messages.iter().all(|known| known.id != text.message))
        {
            self.close_text(record, open, sink);
        }
        let has = |call: &ToolCallId| messages.iter().any(|message| message.tool(call.as_str()).is_some());
        while let Some(open) = self.calls.iter().rposition(|open| !has(&open.tool.call)) {
            self.close_call(record, open, sink);
        }
        self.snapshot(record, sink);
    }

    /// Sends the whole conversation.
    fn snapshot(&mut self, record: &Record, sink: Sink<'_>) {
        let (ids, state) = (&mut self.ids, &self.state);
        for message in state.messages() {
            ids.adopt(message);
        }
        let gone = self.held_thought.take();
        self.resync(record, gone.as_deref(), sink);
    }
}

/// Whether the client accepts these operations as a patch.
fn is_patch(patch: &[Value]) -> bool {
    serde_json::from_value::<json_patch::Patch>(Value::Array(patch.to_vec())).is_ok()
}

/// An event of another AG-UI server that its clients know but we do not model.
fn unknown(record: &Record, name: &str, data: &Value, sink: Sink<'_>) {
    let text = |key: &str| data.get(key).and_then(Value::as_str).map(Cow::Borrowed);
    if data.get("type").and_then(Value::as_str) != Some(name) {
        return;
    }
    if let ("RAW", Some(event)) = (name, data.get("event")) {
        let (event, source) = (Cow::Borrowed(event), text("source"));
        return sink(&Chunk::Raw(Raw { event, source, base: at(record) }));
    }
    if let ("REASONING_ENCRYPTED_VALUE", Some(subtype), Some(entity_id), Some(encrypted_value)) =
        (name, text("subtype"), text("entityId"), text("encryptedValue"))
    {
        let base = at(record);
        sink(&Chunk::ReasoningEncryptedValue(ReasoningEncryptedValue {
            subtype,
            entity_id,
            encrypted_value,
            base,
        }));
    }
}

impl Encode for AgUiEncoder {
    fn record(&mut self, record: &Record, out: &mut FrameWriter) {
        self.chunks(record, &mut |chunk| write(chunk, out));
    }

    fn reentry(&mut self, state: &RunState, out: &mut FrameWriter) {
        self.rebuild(state, &mut |chunk| out.chunk(None, chunk));
    }

    fn restate(&mut self, _: Option<u64>, out: &mut FrameWriter) {
        self.emit_missed(&mut |chunk| out.chunk(None, chunk));
    }

    fn finish(&mut self, out: &mut FrameWriter) {
        self.cut(&mut |chunk| out.chunk(None, chunk));
    }

    /// The client accepts nothing before `RUN_STARTED`.
    fn next_response(&mut self, out: &mut FrameWriter) {
        let now = Record::new(0, Event::Message { content: String::new() });
        self.goes_on = true;
        self.start(&now, None, &mut |chunk| out.chunk(None, chunk));
    }
}

/// Writes a chunk. Deltas are serialised by hand, because they are most of a stream.
fn write(chunk: &Chunk<'_>, out: &mut FrameWriter) {
    let (kind, id, delta, base) = match chunk {
        Chunk::TextMessageContent(MessageDelta { message_id, delta, base }) => {
            (r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"#, message_id, delta, base)
        }
        Chunk::ReasoningMessageContent(MessageDelta { message_id, delta, base }) => {
            (r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"#, message_id, delta, base)
        }
        Chunk::ToolCallArgs(ToolCallArgs { tool_call_id, delta, base }) => {
            (r#"{"type":"TOOL_CALL_ARGS","toolCallId":"#, tool_call_id, delta, base)
        }
        chunk => return out.chunk(None, chunk),
    };
    let Base { timestamp: Some(time), metadata: None, subagent_run_id: None } = base else {
        return out.chunk(None, chunk);
    };
    let Ok(time) = u64::try_from(*time) else {
        return out.chunk(None, chunk);
    };
    let pieces = [
        Piece::Json(kind),
        Piece::Text(id),
        Piece::Json(r#","delta":"#),
        Piece::Text(delta),
        Piece::Json(r#","timestamp":"#),
        Piece::Number(time),
        Piece::Json("}"),
    ];
    out.pieces(None, &pieces);
}
