//! What the client builds from each event, as events of ours.

mod message;
mod run;

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::{
    chunk::{
        Base, Chunk, Custom, MessagesSnapshot, Payload, Step, ToolCallEnd, ToolCallResult, ToolCallStart,
    },
    messages,
    notes::Notes,
};
use crate::{
    carry,
    decode::Decoded,
    error::{Error, ErrorKind},
    event::{Event, Origin, Record, Role, ToolCall},
    id::{AttemptId, MessageId, PartId, ToolCallId},
    json::EmbeddedJson,
    state::{Message, Part, ToolPart},
};

/// What is known of the messages that the client holds.
#[derive(Debug, Clone, Default)]
pub(super) struct Apply {
    seq: u64,
    texts: HashMap<String, Text>,
    /// The text that the last delta went to: most deltas go to the same one.
    last: Option<(String, Text)>,
    calls: HashMap<String, Call>,
    /// AG-UI's messages by id.
    roles: HashMap<String, Role>,
    activities: HashMap<String, Value>,
    questions: HashSet<String>,
}

/// A text or a thought that is open.
#[derive(Debug, Clone)]
struct Text {
    message: MessageId,
    part: PartId,
    attempt: Option<AttemptId>,
    reasoning: bool,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Our encoder said where it belongs.
    Ours,
    /// It is a message of its own.
    Theirs,
    /// All of it comes at once.
    Whole,
    /// The client has no message for it.
    Lost,
}

#[derive(Debug, Clone)]
struct Call {
    tool: ToolCall,
    message: MessageId,
    attempt: Option<AttemptId>,
    args: String,
    /// A result came while the arguments were still open: they count as complete.
    complete: bool,
    open: bool,
}

/// Where and when an event happened.
#[derive(Debug, Clone, Default)]
struct Place {
    time: u64,
    message: Option<MessageId>,
    attempt: Option<AttemptId>,
}

impl Place {
    fn of(base: &Base<'_>) -> Self {
        Self {
            time: base.timestamp.and_then(|time| u64::try_from(time).ok()).unwrap_or(0),
            ..Self::default()
        }
    }

    fn in_message(mut self, message: impl Into<MessageId>) -> Self {
        self.message = Some(message.into());
        self
    }

    fn noted(mut self, notes: Option<&Notes<'_>>) -> Self {
        if let Some(notes) = notes {
            self.message = notes.message.as_deref().map(Into::into).or(self.message);
            self.attempt = notes.attempt.as_deref().map(Into::into);
        }
        self
    }
}

impl Apply {
    fn emit(&mut self, place: &Place, event: Event, out: &mut Decoded) {
        let origin =
            Origin { message: place.message.clone(), attempt: place.attempt.clone(), ..Origin::default() };
        out.records.push(Record::new(self.seq, event).at(place.time).from(origin));
        self.seq += 1;
    }

    /// The messages that the client holds already.
    pub(super) fn conversation(&mut self, messages: &[Message]) {
        for message in messages {
            self.roles.insert(message.id.to_string(), message.role);
            for part in &message.parts {
                match part {
                    Part::Tool(tool) => self.know_call(message, tool),
                    Part::Data(data) if message.role == Role::Activity => {
                        self.activities.insert(message.id.to_string(), data.data.clone());
                    }
                    _ => {}
                }
            }
        }
    }

    fn know_call(&mut self, message: &Message, tool: &ToolPart) {
        let call = Call {
            tool: ToolCall {
                call: tool.call.clone(),
                name: tool.name.clone(),
                dynamic: tool.dynamic,
                executor: tool.executor,
                title: tool.title.clone(),
                metadata: tool.metadata.clone(),
            },
            message: message.id.clone(),
            attempt: tool.attempt.clone(),
            args: tool.input.as_ref().map_or_else(|| tool.input_text.clone(), Value::to_string),
            complete: false,
            open: false,
        };
        self.calls.insert(tool.call.to_string(), call);
    }

    /// More of a text or a thought.
    pub(super) fn delta(&mut self, wire: &str, delta: &str, time: u64, out: &mut Decoded) {
        if self.last.as_ref().is_none_or(|(last, _)| last != wire) {
            let Some(text) = self.texts.get(wire) else { return };
            self.last = Some((wire.to_owned(), text.clone()));
        }
        let Some((_, text)) = &self.last else { return };
        let id = text.part.clone();
        let delta = delta.to_owned();
        let event = match (text.kind, text.reasoning) {
            (Kind::Lost, _) => return,
            (Kind::Whole, _) => Event::Message { content: delta },
            (_, true) => Event::ReasoningDelta { id, delta, metadata: None },
            (_, false) => Event::TextDelta { id, delta, metadata: None },
        };
        let place = Place { time, message: Some(text.message.clone()), attempt: text.attempt.clone() };
        self.emit(&place, event, out);
    }

    /// More of a call's arguments.
    pub(super) fn args(&mut self, call: &str, delta: &str, time: u64, out: &mut Decoded) {
        let Some(known) = self.calls.get_mut(call) else { return };
        known.args.push_str(delta);
        let place = Place { time, message: Some(known.message.clone()), attempt: known.attempt.clone() };
        let event = Event::ToolInputDelta { call: known.tool.call.clone(), delta: delta.to_owned() };
        self.emit(&place, event, out);
    }

    /// A type that AG-UI does not have: the client drops it.
    pub(super) fn unknown(&mut self, name: String, event: Map<String, Value>, out: &mut Decoded) {
        let time = event.get("timestamp").and_then(Value::as_u64).unwrap_or(0);
        let place = Place { time, ..Place::default() };
        self.emit(&place, Event::Unknown { name, data: Value::Object(event) }, out);
    }

    /// Any event that may come now.
    pub(super) fn event(&mut self, chunk: &Chunk<'_>, out: &mut Decoded) -> Result<(), Error> {
        match chunk {
            Chunk::RunStarted(started) => self.run_started(started, out),
            Chunk::RunFinished(finished) => self.run_finished(finished, out),
            Chunk::RunError(error) => self.run_failed(error, out),
            Chunk::StepStarted(step) => self.step(step, true, out),
            Chunk::StepFinished(step) => self.step(step, false, out),

            Chunk::TextMessageStart(start) => {
                let role = start.role.as_deref().and_then(spoken).unwrap_or(Role::Assistant);
                let name = start.name.as_ref().map(|name| Value::String(name.to_string()));
                self.start_text(&start.message_id, false, role, name, &start.base, out);
            }
            Chunk::ReasoningMessageStart(start) => {
                self.start_text(&start.message_id, true, Role::Reasoning, None, &start.base, out);
            }
            Chunk::TextMessageContent(delta) | Chunk::ReasoningMessageContent(delta) => {
                self.noted_delta(&delta.message_id, &delta.delta, &delta.base, out);
            }
            Chunk::TextMessageEnd(end) | Chunk::ReasoningMessageEnd(end) => {
                self.end_text(&end.message_id, &end.base, out);
            }
            Chunk::ReasoningStart(_) | Chunk::ReasoningEnd(_) => {}

            Chunk::ToolCallStart(start) => self.start_call(start, out),
            Chunk::ToolCallArgs(args) => {
                let time = Place::of(&args.base).time;
                if args.base.passing().is_some_and(|notes| notes.implied) {
                    if let Some(known) = self.calls.get_mut(&*args.tool_call_id) {
                        known.args.push_str(&args.delta);
                    }
                } else {
                    self.args(&args.tool_call_id, &args.delta, time, out);
                }
            }
            Chunk::ToolCallEnd(end) => self.end_call(end, out),
            Chunk::ToolCallResult(result) => self.result(result, out),

            Chunk::StateSnapshot(snapshot) => {
                let event = Event::StateSnapshot { state: snapshot.snapshot.clone().into_owned() };
                self.emit(&Place::of(&snapshot.base), event, out);
            }
            Chunk::StateDelta(delta) => {
                let event = Event::StateDelta { patch: delta.delta.clone().into_owned() };
                self.emit(&Place::of(&delta.base), event, out);
            }
            Chunk::MessagesSnapshot(snapshot) => self.snapshot(snapshot, out),

            Chunk::ActivitySnapshot(activity) => self.activity(activity, out),
            Chunk::ActivityDelta(delta) => return self.patch_activity(delta, out),

            Chunk::Custom(custom) => self.custom(custom, out),

            Chunk::ReasoningEncryptedValue(_)
            | Chunk::SubagentStarted(_)
            | Chunk::SubagentFinished(_)
            | Chunk::SubagentError(_)
            | Chunk::Raw(_) => {
                let (name, base) = chunk.name_and_base();
                if base.passing().is_some_and(|notes| notes.implied) {
                    return Ok(());
                }
                let data = serde_json::to_value(chunk)
                    .map_err(|error| Error::new(ErrorKind::Field, format!("{name}: {error}")))?;
                self.emit(&Place::of(base), Event::Unknown { name: name.to_owned(), data }, out);
            }
            // Expanded before they come here.
            Chunk::TextMessageChunk(_) | Chunk::ToolCallChunk(_) | Chunk::ReasoningMessageChunk(_) => {}
        }
        Ok(())
    }

    fn step(&mut self, step: &Step<'_>, starts: bool, out: &mut Decoded) {
        let place = Place::of(&step.base);
        if let Some(notes) = step.base.passing() {
            if let Some(event) = &notes.event {
                self.emit(&place.noted(Some(notes)), event.clone().into_owned(), out);
            }
            return;
        }
        let name = Some(step.step_name.to_string());
        let event = if starts { Event::StepStarted { name } } else { Event::StepFinished { name } };
        self.emit(&place, event, out);
    }

    fn start_call(&mut self, start: &ToolCallStart<'_>, out: &mut Decoded) {
        let id = &*start.tool_call_id;
        let mut place = Place::of(&start.base);
        let parent = start.parent_message_id.as_deref();
        let tool = ToolCall::new(id, &*start.tool_call_name);
        let Some(notes) = start.base.kept() else {
            return self.start_their_call(tool, parent, &start.base, out);
        };
        place = place.in_message(parent.unwrap_or(id)).noted(Some(notes));
        let message = place.message.clone().unwrap_or_else(|| id.into());
        let tool = notes.tool.clone().map_or(tool, std::borrow::Cow::into_owned);
        let held = self.calls.remove(id).filter(|_| notes.resumed || notes.implied);
        let args = held.map(|call| call.args).unwrap_or_default();
        let call = Call {
            tool: tool.clone(),
            message,
            attempt: place.attempt.clone(),
            args,
            complete: false,
            open: true,
        };
        self.calls.insert(id.to_owned(), call);
        if !notes.implied && !notes.resumed {
            self.emit(&place, Event::ToolInputStart(tool), out);
        }
    }

    /// A call of another server: it is part of the assistant's message that it names, or a message of its own.
    fn start_their_call(
        &mut self,
        mut tool: ToolCall,
        parent: Option<&str>,
        base: &Base<'_>,
        out: &mut Decoded,
    ) {
        let place = Place::of(base);
        let other = base.metadata.as_ref().map(|metadata| &metadata.other).filter(|other| !other.is_empty());
        tool.metadata = other.map(|other| Value::Object(other.clone()));
        if let Some(known) = self.calls.get_mut(tool.call.as_str()) {
            // The client appends to the arguments that it has.
            known.tool.name.clone_from(&tool.name);
            (known.open, known.complete) = (true, false);
            let (message, tool, args) = (known.message.clone(), known.tool.clone(), known.args.clone());
            let place = place.in_message(message);
            let call = tool.call.clone();
            self.emit(&place, Event::ToolInputStart(tool), out);
            if !args.is_empty() {
                self.emit(&place, Event::ToolInputDelta { call, delta: args }, out);
            }
            return;
        }
        let message = match parent {
            Some(parent) if self.roles.get(parent).is_none_or(|role| *role == Role::Assistant) => parent,
            _ => tool.call.as_str(),
        };
        let message = MessageId::from(message);
        let place = place.in_message(message.clone());
        if self.roles.insert(message.to_string(), Role::Assistant).is_none() {
            let event =
                Event::MessageStarted { message: message.clone(), role: Role::Assistant, author: None };
            self.emit(&place, event, out);
        }
        let call = Call {
            tool: tool.clone(),
            message,
            attempt: None,
            args: String::new(),
            complete: false,
            open: true,
        };
        self.calls.insert(tool.call.to_string(), call);
        self.emit(&place, Event::ToolInputStart(tool), out);
    }

    fn end_call(&mut self, end: &ToolCallEnd<'_>, out: &mut Decoded) {
        let notes = end.base.passing();
        if notes.is_some_and(|notes| notes.implied) {
            return;
        }
        let Some(known) = self.calls.get_mut(&*end.tool_call_id) else { return };
        known.open = false;
        if known.complete {
            return;
        }
        let said = notes.and_then(|notes| notes.input.clone()).map(std::borrow::Cow::into_owned);
        let written = || serde_json::from_str(&known.args).ok();
        let input = match notes {
            Some(notes) if notes.no_input => None,
            _ => said.or_else(written),
        };
        let tool = notes.and_then(|notes| notes.tool.clone()).map(std::borrow::Cow::into_owned);
        let tool = tool.unwrap_or_else(|| known.tool.clone());
        let place = Place {
            message: Some(known.message.clone()),
            attempt: known.attempt.clone(),
            ..Place::of(&end.base)
        };
        let said = notes.and_then(|notes| notes.event.clone()).map(std::borrow::Cow::into_owned);
        self.emit(&place, said.unwrap_or(Event::ToolInputAvailable { tool, input }), out);
    }

    fn result(&mut self, result: &ToolCallResult<'_>, out: &mut Decoded) {
        let (kept, passing) = (result.base.kept(), result.base.passing());
        if kept.is_some_and(|notes| notes.implied) {
            return;
        }
        let call = &*result.tool_call_id;
        let known = self.calls.get(call).map(|known| (known.message.clone(), known.attempt.clone()));
        let alone = known.is_none() && kept.is_none();
        let mut place = Place::of(&result.base).in_message(&*result.message_id);
        if let Some((message, attempt)) = known {
            (place.message, place.attempt) = (Some(message), attempt);
        }
        place = place.noted(kept);
        if let Some(known) = self.calls.get_mut(call).filter(|known| known.open && kept.is_none()) {
            known.complete = true;
            let (tool, input) = (known.tool.clone(), serde_json::from_str(&known.args).ok());
            self.emit(&place, Event::ToolInputAvailable { tool, input }, out);
        }
        if alone {
            let message = MessageId::from(&*result.message_id);
            self.roles.insert(message.to_string(), Role::Tool);
            self.emit(&place, Event::MessageStarted { message, role: Role::Tool, author: None }, out);
        }
        let event = match passing.and_then(|notes| notes.event.clone()) {
            Some(event) => event.into_owned(),
            None => {
                let metadata = result.base.metadata.as_ref();
                let other = metadata.map(|metadata| &metadata.other).filter(|other| !other.is_empty());
                Event::ToolOutput {
                    call: call.into(),
                    name: None,
                    output: messages::result_value(&result.content, kept, &mut EmbeddedJson::of_stream()),
                    structured: None,
                    is_error: metadata.is_some_and(|metadata| metadata.failed),
                    preliminary: false,
                    metadata: other.map(|other| Value::Object(other.clone())),
                }
            }
        };
        self.emit(&place, event, out);
        if alone {
            let message = MessageId::from(&*result.message_id);
            self.emit(&place, Event::MessageFinished { message }, out);
        }
    }

    fn snapshot(&mut self, snapshot: &MessagesSnapshot<'_>, out: &mut Decoded) {
        let notes = snapshot.base.passing();
        if notes.is_some_and(|notes| notes.lost) {
            self.last = None;
            self.texts.clear();
            self.calls.retain(|_, call| !call.open);
        }
        if notes.is_some_and(|notes| notes.implied) {
            return;
        }
        let wires = &snapshot.messages;
        let ours = notes.and_then(|notes| notes.messages.clone()).map(std::borrow::Cow::into_owned);
        let messages = match ours {
            Some(messages) => messages::with_texts(messages, wires),
            None => messages::read(wires, &mut EmbeddedJson::of_stream()),
        };
        // Thoughts and activities stay unless the snapshot has any.
        let has = |role: Role| wires.iter().any(|message| message.role == role);
        let (thoughts, activities) = (has(Role::Reasoning), has(Role::Activity));
        self.roles.retain(|_, role| {
            (*role == Role::Reasoning && !thoughts) || (*role == Role::Activity && !activities)
        });
        self.roles.extend(wires.iter().map(|message| (message.id.to_string(), message.role)));
        let roles = &self.roles;
        for text in self.texts.iter_mut().filter(|(wire, _)| !roles.contains_key(*wire)) {
            text.1.kind = Kind::Lost;
        }
        self.last = None;
        self.calls.clear();
        self.conversation(&messages);
        self.emit(&Place::of(&snapshot.base), Event::MessagesSnapshot { messages }, out);
    }

    fn custom(&mut self, custom: &Custom<'_>, out: &mut Decoded) {
        let Payload::Json(value) = &custom.value else { return };
        let notes = custom.base.passing();
        let place = Place::of(&custom.base).noted(notes);
        if notes.is_some_and(|notes| notes.implied) {
            // A snapshot has told the call's state already, but the end of the run names the question once more.
            if let Some(Event::ApprovalRequested { approval, .. }) = asked(&custom.name, value) {
                self.questions.insert(approval.to_string());
            }
            return;
        }
        let said = notes.and_then(|notes| notes.event.clone()).map(std::borrow::Cow::into_owned);
        let carried =
            || (custom.name == carry::NAME).then(|| carry::read(value.clone().into_owned())).flatten();
        let event =
            said.or_else(carried).or_else(|| asked(&custom.name, value)).unwrap_or_else(|| Event::Data {
                name: custom.name.to_string(),
                id: None,
                data: value.clone().into_owned(),
                transient: true,
            });
        match &event {
            Event::InterruptRequested(interrupt) => {
                self.questions.insert(interrupt.request.to_string());
            }
            Event::ApprovalRequested { approval, .. } => {
                self.questions.insert(approval.to_string());
            }
            _ => {}
        }
        self.emit(&place, event, out);
    }
}

/// The approval that TanStack's servers ask for.
fn asked(name: &str, value: &Value) -> Option<Event> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let approval = value.get("approval").filter(|_| name == "approval-requested")?;
    let call = ToolCallId::from(text(value, "toolCallId")?);
    Some(Event::ApprovalRequested {
        approval: text(approval, "id")?.into(),
        tool: ToolCall::new(call, text(value, "toolName")?),
        input: value.get("input").filter(|input| !input.is_null()).cloned(),
        signature: None,
        automatic: false,
    })
}

/// The roles that a text message may have.
fn spoken(role: &str) -> Option<Role> {
    [Role::Developer, Role::System, Role::Assistant, Role::User]
        .into_iter()
        .find(|known| known.as_str() == role)
}
