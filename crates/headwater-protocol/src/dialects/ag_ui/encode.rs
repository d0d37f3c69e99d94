//! From records to AG-UI events.
//!
//! The encoder keeps what the client holds, so that it can say the conversation again: when an attempt is taken
//! back, the client is sent the messages that are left.

mod reentry;
mod run;
mod text;
mod tool;

use std::{borrow::Cow, collections::HashSet, sync::Arc};

use serde_json::Value;

use super::{
    chunk::{
        ActivitySnapshot, Base, Chunk, Content, Custom, MessageDelta, MessagesSnapshot, Payload,
        SAFE_INTEGER, StateDelta, StateSnapshot, Step, ToolCallArgs,
    },
    ids::Ids,
    messages,
    notes::{Notes, RawEvent},
    schema,
    wire::WireMessage,
};
use crate::{
    carry,
    encode::{Encode, EncodeOptions},
    event::{Event, Record, Role, ToolCall},
    framing::{FrameWriter, Piece},
    id::{AttemptId, MessageId, PartId, ToolCallId},
    state::{Message, Part, RunState},
};

/// Where chunks go.
pub(super) type Sink<'s> = &'s mut dyn FnMut(&Chunk<'_>);

/// Turns records into AG-UI events.
///
/// ```
/// use headwater_protocol::{EncodeOptions, Event, Record, dialects::ag_ui};
///
/// let mut encoder = ag_ui::Encoder::new(&EncodeOptions::profile("1.0"));
/// let mut types = Vec::new();
/// let record = Record::new(0, Event::Message { content: "Hi".into() });
/// encoder.chunks(&record, &mut |chunk| types.push(chunk.name_and_base().0));
/// assert_eq!(types, ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]);
/// ```
#[derive(Debug)]
pub struct Encoder {
    legacy: bool,
    /// Whether the client keeps the thoughts that it has where a snapshot has none.
    keeps_thoughts: bool,
    /// What the client held before the run.
    history: Vec<Message>,
    /// A thought of this run that the client may hold.
    held_thought: Option<String>,
    /// What the run said.
    state: RunState,
    ids: Ids,
    phase: Phase,
    thread: String,
    run: String,
    texts: Vec<OpenText>,
    calls: Vec<OpenCall>,
    steps: Vec<(Option<String>, String)>,
    step_count: u32,
    subagents: Vec<String>,
    /// Questions and approvals that nobody answered yet.
    questions: Vec<Event>,
    /// Calls whose output so far is not the last.
    preliminary: Vec<ToolCallId>,
    /// This response goes on after one that ended because the run waited for its client.
    goes_on: bool,
    /// It was told of a run of which there was nothing yet: the client gets the conversation when it begins.
    history_due: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Before,
    Running,
    Waiting,
    Finished,
    Failed,
}

#[derive(Debug)]
struct OpenText {
    reasoning: bool,
    message: MessageId,
    part: PartId,
    attempt: Option<AttemptId>,
    wire: Arc<str>,
}

#[derive(Debug)]
struct OpenCall {
    tool: ToolCall,
    attempt: Option<AttemptId>,
}

/// The part of every event that the record gives.
fn at<'a>(record: &Record) -> Base<'a> {
    let timestamp = i64::try_from(record.time).ok().filter(|&time| time != 0 && record.time <= SAFE_INTEGER);
    Base { timestamp, ..Base::default() }
}

fn passing<'a>(record: &Record, notes: Notes<'a>) -> Base<'a> {
    Base { raw_event: Some(RawEvent::notes(notes)), ..at(record) }
}

fn implied() -> Notes<'static> {
    Notes { implied: true, ..Notes::default() }
}

/// The message and the attempt that a record names.
fn origin(record: &Record) -> Notes<'_> {
    Notes {
        message: record.origin.message.as_ref().map(|id| Cow::Borrowed(id.as_str())),
        attempt: record.origin.attempt.as_ref().map(|id| Cow::Borrowed(id.as_str())),
        ..Notes::default()
    }
}

impl Encoder {
    /// An encoder at the beginning of a stream.
    #[must_use]
    pub fn new(options: &EncodeOptions) -> Self {
        let mut ids = Ids::default();
        let mut history = options.messages.clone();
        for message in &mut history {
            // Every run counts its attempts anew: those of earlier ones are never taken back.
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
            legacy: options.profile.as_deref() != Some("1.0"),
            keeps_thoughts: options.profile.as_deref() != Some(super::TANSTACK),
            history,
            held_thought: options.thought.clone(),
            state: RunState::with_rules(super::rules()),
            ids,
            phase: Phase::Before,
            thread: String::new(),
            run: String::new(),
            texts: Vec::new(),
            calls: Vec::new(),
            steps: Vec::new(),
            step_count: 0,
            subagents: Vec::new(),
            questions: Vec::new(),
            preliminary: Vec::new(),
            goes_on: false,
            history_due: false,
        }
    }

    /// Gives the chunks of one record: none, one or several.
    pub fn chunks(&mut self, record: &Record, sink: &mut dyn FnMut(&Chunk<'_>)) {
        if let Event::RunStarted(started) = &record.event {
            return self.begin(record, started, sink);
        }
        match self.phase {
            Phase::Finished | Phase::Failed => return,
            Phase::Before => self.start(record, Notes { implied: true, ..Notes::default() }, None, sink),
            Phase::Waiting => self.start(record, Notes { resumed: true, ..Notes::default() }, None, sink),
            Phase::Running => {}
        }
        self.say(record, sink);
    }

    fn say(&mut self, record: &Record, sink: Sink<'_>) {
        match &record.event {
            Event::RunStarted(_) => {}
            Event::RunFinished { .. }
            | Event::RunFailed(_)
            | Event::RunCancelled { .. }
            | Event::RunWaiting { .. } => self.end(record, sink),
            Event::Error { terminal: true, .. } => self.end(record, sink),

            Event::AttemptRetracted { attempt, .. } => self.retract(record, attempt, sink),

            Event::Message { content } => self.whole(record, content, sink),

            Event::StepStarted { name } => self.start_step(record, name.as_deref(), sink),
            Event::StepFinished { name } => self.finish_step(record, name.as_deref(), sink),

            Event::TextStart { id, metadata } => self.start_text(record, false, id, metadata.as_ref(), sink),
            Event::TextDelta { id, delta, metadata } => {
                self.grow_text(record, false, id, delta, metadata.as_ref(), sink);
            }
            Event::TextEnd { id, metadata } => self.end_text(record, false, id, metadata.as_ref(), sink),
            Event::ReasoningStart { id, metadata } => {
                self.start_text(record, true, id, metadata.as_ref(), sink);
            }
            Event::ReasoningDelta { id, delta, metadata } => {
                self.grow_text(record, true, id, delta, metadata.as_ref(), sink);
            }
            Event::ReasoningEnd { id, metadata } => self.end_text(record, true, id, metadata.as_ref(), sink),

            Event::ToolInputStart(tool) => self.start_call(record, tool, sink),
            Event::ToolInputDelta { call, delta } => self.grow_call(record, call, delta, sink),
            Event::ToolInputAvailable { tool, input } => self.end_call(record, tool, input.as_ref(), sink),
            Event::ToolInputError { tool, input, error } => {
                self.refuse_call(record, tool, input.as_ref(), error, sink);
            }
            Event::ApprovalRequested { tool, input, .. } => self.ask(record, tool, input.as_ref(), sink),
            Event::ToolOutput { .. } | Event::ToolOutputError { .. } | Event::ToolDenied { .. } => {
                self.answer_call(record, sink);
            }

            Event::Data { name, data, .. } => self.data(record, name, data, sink),

            Event::StateSnapshot { state } => sink(&Chunk::StateSnapshot(StateSnapshot {
                snapshot: Cow::Borrowed(state),
                base: at(record),
            })),
            Event::StateDelta { patch } if schema::is_patch(patch) => {
                sink(&Chunk::StateDelta(StateDelta { delta: Cow::Borrowed(patch), base: at(record) }));
            }
            Event::MessagesSnapshot { messages } => self.replace_messages(record, messages, sink),

            Event::InterruptRequested(interrupt) => {
                self.answered(interrupt.request.as_str());
                self.questions.push(record.event.clone());
                self.carry(record, sink);
            }
            Event::InterruptAnswered { request, .. } | Event::InterruptExpired { request } => {
                self.answered(request.as_str());
                self.carry(record, sink);
            }
            Event::ApprovalAnswered { approval, .. } => {
                self.answered(approval.as_str());
                self.carry(record, sink);
            }

            Event::Unknown { name, data } => self.unknown(record, name, data, sink),

            Event::AttemptStarted { .. }
            | Event::AttemptFinished { .. }
            | Event::MessageStarted { .. }
            | Event::MessageFinished { .. }
            | Event::MessageMetadata { .. }
            | Event::SourceUrl { .. }
            | Event::SourceDocument { .. }
            | Event::File { .. }
            | Event::Structured(_)
            | Event::StructuredInvalidated { .. }
            | Event::StateDelta { .. }
            | Event::Status { .. }
            | Event::Transition { .. }
            | Event::Checkpoint { .. }
            | Event::Usage(_)
            | Event::Warning { .. }
            | Event::Error { .. }
            | Event::Trace { .. } => self.carry(record, sink),
        }
    }

    /// Says an event that AG-UI has no word for.
    fn carry(&mut self, record: &Record, sink: Sink<'_>) {
        if !matches!(record.event, Event::Structured(_) | Event::StructuredInvalidated { .. }) {
            self.reduce(record);
        }
        carried(record, sink);
    }

    fn reduce(&mut self, record: &Record) {
        // Only structured updates and patches can be refused, and neither is given to it.
        let _ = self.state.apply(record);
    }

    /// The message that a record belongs to, once it was reduced.
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
            Event::ApprovalRequested { approval, .. } => approval.as_str() != id,
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
        let base = if name == Some(&wire) {
            at(record)
        } else {
            passing(record, Notes { event: Some(Cow::Borrowed(&record.event)), ..origin(record) })
        };
        sink(&Chunk::StepStarted(Step { step_name: Cow::Borrowed(&wire), base }));
        self.steps.push((name.map(str::to_owned), wire));
    }

    fn finish_step(&mut self, record: &Record, name: Option<&str>, sink: Sink<'_>) {
        let Some(open) = self.steps.iter().rposition(|(open, _)| open.as_deref() == name) else {
            return self.carry(record, sink);
        };
        self.reduce(record);
        let (_, wire) = self.steps.remove(open);
        let base = if name == Some(&wire) {
            at(record)
        } else {
            passing(record, Notes { event: Some(Cow::Borrowed(&record.event)), ..origin(record) })
        };
        sink(&Chunk::StepFinished(Step { step_name: Cow::Borrowed(&wire), base }));
    }

    /// Data of the application: an activity if it stands in a message of its own, else a custom event.
    fn data(&mut self, record: &Record, name: &str, data: &Value, sink: Sink<'_>) {
        const OURS: [&str; 3] = [carry::NAME, "approval-requested", "tool-input-available"];
        if OURS.contains(&name) {
            return self.carry(record, sink);
        }
        self.reduce(record);
        let notes = Notes { event: Some(Cow::Borrowed(&record.event)), ..origin(record) };
        if let Some(message) = &record.origin.message
            && self.role_of(message) == Role::Activity
        {
            return sink(&Chunk::ActivitySnapshot(ActivitySnapshot {
                message_id: Cow::Borrowed(message.as_str()),
                activity_type: Cow::Borrowed(name),
                content: messages::object(data),
                replace: None,
                base: passing(record, notes),
            }));
        }
        let plain = matches!(&record.event, Event::Data { id: None, transient: true, .. });
        let base = if plain { at(record) } else { passing(record, notes) };
        let value = Payload::Json(Cow::Borrowed(data));
        sink(&Chunk::Custom(Custom { name: Cow::Borrowed(name), value, base }));
    }

    /// An attempt is taken back: what is open of it is closed, and the client gets the messages that are left.
    fn retract(&mut self, record: &Record, attempt: &AttemptId, sink: Sink<'_>) {
        while let Some(open) = self.texts.iter().rposition(|text| text.attempt.as_ref() == Some(attempt)) {
            self.close_text(record, open, implied(), sink);
        }
        while let Some(open) = self.calls.iter().rposition(|call| call.attempt.as_ref() == Some(attempt)) {
            self.close_call(record, open, implied(), sink);
        }
        let said = self.state.messages().iter().flat_map(|message| &message.parts);
        let said = said.filter(|part| part.attempt() == Some(attempt));
        let shown =
            said.into_iter().any(|part| matches!(part, Part::Text(_) | Part::Reasoning(_) | Part::Tool(_)));
        self.carry(record, sink);
        let parts = self.conversation().flat_map(|message| &message.parts);
        let left: HashSet<ToolCallId> = parts
            .filter_map(|part| match part {
                Part::Tool(tool) => Some(tool.call.clone()),
                _ => None,
            })
            .collect();
        let thought = self.ids.retract(attempt, &left);
        if shown && self.texts.is_empty() && self.calls.is_empty() {
            // The names that whoever comes back is told: the client adds what it has under another name at the end.
            let mut ids = Ids::default();
            self.conversation().for_each(|message| ids.adopt(message));
            self.ids = ids;
        }
        if shown {
            self.resync(record, thought.as_deref(), sink);
        }
    }

    /// The client gets the messages that were kept, and nothing is open any more.
    fn say_again(&mut self, sink: Sink<'_>) {
        if self.phase != Phase::Running {
            return;
        }
        self.texts.clear();
        self.calls.clear();
        // The name of the thought that it may have been told of.
        let current = self.state.current_message().map(|message| (message.id.clone(), message.role));
        let thought = current.map(|(message, role)| self.ids.clone().text(&message, role, true, None));
        let now = Record::new(0, Event::Warning { message: String::new(), code: None });
        self.say_conversation(&now, Notes { lost: true, ..implied() }, thought.as_deref(), sink);
    }

    /// Says the conversation again, so that the client holds what we hold. Our own readers need it not.
    fn resync(&mut self, record: &Record, gone_thought: Option<&str>, sink: Sink<'_>) {
        self.say_conversation(record, implied(), gone_thought, sink);
    }

    fn say_conversation(
        &mut self,
        record: &Record,
        notes: Notes<'_>,
        gone_thought: Option<&str>,
        sink: Sink<'_>,
    ) {
        let mut messages = self.write_conversation();
        messages.extend(gone_thought.and_then(|gone| self.blank(gone, &messages)));
        sink(&Chunk::MessagesSnapshot(MessagesSnapshot { messages, base: passing(record, notes) }));
    }

    /// The conversation in AG-UI's form. On TanStack's page a thought without words would be an answer without any.
    fn write_conversation(&self) -> Vec<WireMessage<'_>> {
        let mut messages = messages::write(self.conversation(), &self.ids);
        let blank = Some(Content::Text(Cow::Borrowed("")));
        let is_blank =
            |message: &WireMessage<'_>| message.role == Role::Reasoning && message.content == blank;
        while !self.keeps_thoughts && messages.last().is_some_and(is_blank) {
            messages.pop();
        }
        messages
    }

    /// A thought without words in the place of one that is gone, for a client that would keep it.
    fn blank<'a>(&self, gone: &'a str, messages: &[WireMessage<'_>]) -> Option<WireMessage<'a>> {
        if !self.keeps_thoughts || messages.iter().any(|message| message.role == Role::Reasoning) {
            return None;
        }
        let mut blank = WireMessage::new(gone, Role::Reasoning);
        blank.content = Some(Content::Text(Cow::Borrowed("")));
        Some(blank)
    }

    /// What the client holds, or should hold.
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
            self.close_text(record, open, implied(), sink);
        }
        let has = |call: &ToolCallId| messages.iter().any(|message| message.tool(call.as_str()).is_some());
        while let Some(open) = self.calls.iter().rposition(|open| !has(&open.tool.call)) {
            self.close_call(record, open, implied(), sink);
        }
        self.snapshot(at(record), sink);
    }

    /// Says the whole conversation, in AG-UI's form and as far as needed in ours.
    fn snapshot<'a>(&'a mut self, base: Base<'a>, sink: Sink<'_>) {
        let (ids, state) = (&mut self.ids, &self.state);
        for message in state.messages() {
            ids.adopt(message);
        }
        let mut messages = self.write_conversation();
        let mut base = base;
        let gone = self.held_thought.as_deref().and_then(|gone| self.blank(gone, &messages));
        if gone.is_some() || !messages::are_plain(self.conversation(), &messages) {
            let mut ours: Vec<Message> = self.conversation().cloned().collect();
            messages::without_texts(&mut ours);
            let notes = Notes { messages: Some(Cow::Owned(ours)), ..Notes::default() };
            base.raw_event = Some(RawEvent::notes(notes));
        }
        messages.extend(gone);
        sink(&Chunk::MessagesSnapshot(MessagesSnapshot { messages, base }));
    }

    /// Something that another AG-UI server said and we have no word for, as it was; or carried, where the client
    /// could not take it.
    fn unknown(&mut self, record: &Record, name: &str, data: &Value, sink: Sink<'_>) {
        let wanted = matches!(data.get("type"), Some(Value::String(kind)) if kind == name);
        let Some(mut event) = data.as_object().filter(|_| wanted).cloned() else {
            return self.carry(record, sink);
        };
        let fits = schema::clean(name, &mut event).is_ok();
        let tag = data.get("subagentRunId").and_then(Value::as_str).unwrap_or_default().to_owned();
        let known = match name {
            "RAW" => fits,
            "REASONING_ENCRYPTED_VALUE" => fits && tag.is_empty(),
            "SUBAGENT_STARTED" if fits && !self.legacy && data.get("parentSubagentRunId").is_none() => {
                let new = !self.subagents.contains(&tag);
                if new {
                    self.subagents.push(tag);
                }
                new
            }
            "SUBAGENT_FINISHED" | "SUBAGENT_ERROR" if fits && !self.legacy => {
                let open = self.subagents.iter().position(|open| *open == tag);
                open.map(|open| self.subagents.remove(open)).is_some()
            }
            _ => false,
        };
        match serde_json::from_value::<Chunk<'_>>(Value::Object(event)) {
            Ok(chunk) if known => sink(&chunk),
            _ => self.carry(record, sink),
        }
    }
}

/// An event in our own form, in a custom event that the client passes on to whoever asks for it.
fn carried(record: &Record, sink: Sink<'_>) {
    let notes = origin(record);
    let base = if notes == Notes::default() { at(record) } else { passing(record, notes) };
    let value = Payload::Event(&record.event);
    sink(&Chunk::Custom(Custom { name: Cow::Borrowed(carry::NAME), value, base }));
}

impl Encode for Encoder {
    fn record(&mut self, record: &Record, out: &mut FrameWriter) {
        self.chunks(record, &mut |chunk| write(chunk, out));
    }

    fn reentry(&mut self, state: &RunState, out: &mut FrameWriter) {
        self.rebuild(state, &mut |chunk| out.chunk(None, chunk));
    }

    fn restate(&mut self, _: Option<u64>, out: &mut FrameWriter) {
        self.say_again(&mut |chunk| out.chunk(None, chunk));
    }

    fn finish(&mut self, out: &mut FrameWriter) {
        self.cut(&mut |chunk| out.chunk(None, chunk));
    }

    /// The client takes nothing before `RUN_STARTED`.
    fn next_response(&mut self, out: &mut FrameWriter) {
        let notes = Notes { resumed: true, ..Notes::default() };
        let now = Record::new(0, Event::Message { content: String::new() });
        self.goes_on = true;
        self.start(&now, notes, None, &mut |chunk| out.chunk(None, chunk));
    }
}

/// Writes a chunk; deltas by hand.
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
    let Base { timestamp: Some(time), raw_event: None, metadata: None, subagent_run_id: None } = base else {
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
