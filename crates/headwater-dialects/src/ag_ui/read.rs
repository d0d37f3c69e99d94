//! Converts AG-UI events to ours, as the client would apply them. Each AG-UI message becomes one of ours.

mod lanes;
mod message;
mod run;

use std::collections::{HashMap, HashSet};

use headwater_protocol::{
    ApprovalRequested, BlockDelta, BlockKind, DataEvent, Error, ErrorKind, Event, Message, MessageId,
    MessageStarted, Origin, Part, PartState, Record, Role, ToolCall, ToolInputAvailable, ToolInputDelta,
    ToolOutput, ToolOutputError, ToolPart, UnknownEvent,
};
use serde_json::{Map, Value};

use super::{
    chunk::{
        Base, Chunk, Custom, MessagesSnapshot, ReasoningMessageChunk, TextMessageChunk, ToolCallEnd,
        ToolCallResult, ToolCallStart,
    },
    messages,
};
use crate::{decode::DecodeOutput, json::EmbeddedJson};

/// The messages that the client holds.
#[derive(Debug, Clone, Default)]
pub(super) struct EventReader {
    seq: u64,
    texts: HashMap<String, TextState>,
    /// The text of the last delta: most deltas go to the same one.
    last: Option<(String, TextState)>,
    calls: HashMap<String, CallState>,
    roles: HashMap<String, Role>,
    activities: HashMap<String, Value>,
    questions: HashSet<String>,
    /// Client tool calls, for clients that get no list of them at the end of the run.
    owed: Vec<headwater_protocol::ToolCallId>,
    lanes: lanes::ChunkLanes,
}

/// An open text or reasoning block.
#[derive(Debug, Clone, Copy)]
struct TextState {
    kind: BlockKind,
    /// The client has no message for it.
    lost: bool,
}

#[derive(Debug, Clone)]
struct CallState {
    tool: ToolCall,
    message: MessageId,
    args: String,
    /// A result arrived before the arguments ended: they count as complete.
    complete: bool,
    open: bool,
}

/// The time and message of an event.
#[derive(Debug, Clone, Default)]
struct EventPlace {
    time: u64,
    message: Option<MessageId>,
}

impl EventPlace {
    fn of(base: &Base<'_>) -> Self {
        let time = base.timestamp.and_then(|time| u64::try_from(time).ok()).unwrap_or(0);
        Self { time, message: None }
    }

    fn in_message(mut self, message: impl Into<MessageId>) -> Self {
        self.message = Some(message.into());
        self
    }
}

impl EventReader {
    fn emit(&mut self, place: &EventPlace, event: impl Into<Event>, out: &mut DecodeOutput) {
        let origin = Origin { message: place.message.clone(), ..Origin::default() };
        out.records.push(Record::new(self.seq, event).at(place.time).from(origin));
        self.seq += 1;
    }

    pub(super) fn has_no_lanes(&self) -> bool {
        self.lanes.is_empty()
    }

    /// Registers the messages that the client already holds.
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
        let call = CallState {
            tool: ToolCall {
                metadata: tool.metadata.clone(),
                ..ToolCall::new(tool.call.clone(), tool.name.clone())
            },
            message: message.id.clone(),
            args: tool.input.as_ref().map_or_else(|| tool.input_text.clone(), Value::to_string),
            complete: false,
            open: false,
        };
        self.calls.insert(tool.call.to_string(), call);
    }

    /// A delta of text or reasoning.
    pub(super) fn delta(
        &mut self,
        id: &str,
        delta: &str,
        time: u64,
        out: &mut DecodeOutput,
    ) -> Result<(), Error> {
        if self.last.as_ref().is_none_or(|(last, _)| last != id) {
            let text = self.texts.get(id).ok_or_else(|| out_of_place("text", id))?;
            self.last = Some((id.to_owned(), *text));
        }
        let Some((_, text)) = &self.last else { return Ok(()) };
        if text.lost {
            return Ok(());
        }
        let event = Event::BlockDelta(BlockDelta::new(text.kind, id, delta));
        self.emit(&EventPlace { time, message: Some(id.into()) }, event, out);
        Ok(())
    }

    /// A delta of a call's arguments.
    pub(super) fn args(
        &mut self,
        call: &str,
        delta: &str,
        time: u64,
        out: &mut DecodeOutput,
    ) -> Result<(), Error> {
        let known = self.calls.get_mut(call).filter(|known| known.open);
        let known = known.ok_or_else(|| out_of_place("call", call))?;
        known.args.push_str(delta);
        let place = EventPlace { time, message: Some(known.message.clone()) };
        let event = Event::ToolInputDelta(ToolInputDelta::new(known.tool.call.clone(), delta.to_owned()));
        self.emit(&place, event, out);
        Ok(())
    }

    /// An event of an unknown type, which the client drops.
    pub(super) fn unknown(&mut self, name: String, event: Map<String, Value>, out: &mut DecodeOutput) {
        let time = event.get("timestamp").and_then(Value::as_u64).unwrap_or(0);
        let place = EventPlace { time, message: None };
        self.emit(&place, UnknownEvent::new(name, Value::Object(event)), out);
    }

    pub(super) fn event(
        &mut self,
        name: &str,
        chunk: Chunk<'_>,
        subagent: Option<&str>,
        out: &mut DecodeOutput,
    ) -> Result<(), Error> {
        self.leave_lanes(&chunk, subagent, out)?;
        match chunk {
            Chunk::RunStarted(started) => self.run_started(&started, out),
            Chunk::RunFinished(finished) => self.run_finished(finished, out),
            Chunk::RunError(error) => self.run_failed(&error, out),
            Chunk::StepStarted(step) => {
                let name = Some(step.step_name.to_string());
                self.emit(&EventPlace::of(&step.base), Event::StepStarted { name }, out);
            }
            Chunk::StepFinished(step) => {
                let name = Some(step.step_name.to_string());
                self.emit(&EventPlace::of(&step.base), Event::StepFinished { name }, out);
            }
            Chunk::TextMessageStart(start) => {
                let role = start.role.as_deref().map_or(Role::Assistant, spoken);
                let name = start.name.as_ref().map(|name| Value::String(name.to_string()));
                self.start_text(&start.message_id, role, name, &start.base, out);
            }
            Chunk::ReasoningMessageStart(start) => {
                self.start_text(&start.message_id, Role::Reasoning, None, &start.base, out);
            }
            Chunk::TextMessageContent(delta) | Chunk::ReasoningMessageContent(delta) => {
                let place = EventPlace::of(&delta.base).in_message(&*delta.message_id);
                self.delta(&delta.message_id, &delta.delta, place.time, out)?;
                self.metadata(&place, &delta.base, out);
            }
            Chunk::TextMessageEnd(end) | Chunk::ReasoningMessageEnd(end) => {
                return self.end_text(&end.message_id, &end.base, out);
            }
            Chunk::ReasoningStart(_) | Chunk::ReasoningEnd(_) => {}
            Chunk::TextMessageChunk(chunk) => {
                let role = chunk.role.as_deref().map_or(Role::Assistant, spoken);
                return self.text_chunk(role, chunk, out);
            }
            Chunk::ReasoningMessageChunk(ReasoningMessageChunk { message_id, delta, base }) => {
                let chunk = TextMessageChunk { message_id, delta, base, ..Default::default() };
                return self.text_chunk(Role::Reasoning, chunk, out);
            }
            Chunk::ToolCallChunk(chunk) => return self.call_chunk(chunk, out),

            Chunk::ToolCallStart(start) => self.start_call(&start, out),
            Chunk::ToolCallArgs(args) => {
                return self.args(&args.tool_call_id, &args.delta, EventPlace::of(&args.base).time, out);
            }
            Chunk::ToolCallEnd(end) => self.end_call(&end, out),
            Chunk::ToolCallResult(result) => self.result(&result, out),

            Chunk::StateSnapshot(snapshot) => {
                let place = EventPlace::of(&snapshot.base);
                self.emit(&place, Event::StateSnapshot { state: snapshot.snapshot.into_owned() }, out);
            }
            Chunk::StateDelta(delta) => {
                let place = EventPlace::of(&delta.base);
                // The client skips unknown operations.
                let known = ["add", "remove", "replace", "move", "copy", "test"];
                let known = |op: &Value| op["op"].as_str().is_none_or(|op| known.contains(&op));
                let mut patch = delta.delta.into_owned();
                patch.retain(known);
                self.emit(&place, Event::StateDelta { patch }, out);
            }
            Chunk::MessagesSnapshot(snapshot) => self.snapshot(&snapshot, out),
            Chunk::ActivitySnapshot(activity) => self.activity(activity, out),
            Chunk::ActivityDelta(delta) => return self.patch_activity(&delta, out),
            Chunk::Custom(custom) => self.custom(custom, out),
            Chunk::ReasoningEncryptedValue(_)
            | Chunk::SubagentStarted(_)
            | Chunk::SubagentFinished(_)
            | Chunk::SubagentError(_)
            | Chunk::Raw(_) => {
                let data = serde_json::to_value(&chunk)
                    .map_err(|error| Error::new(ErrorKind::Field, format!("{name}: {error}")))?;
                self.emit(&EventPlace::default(), UnknownEvent::new(name.to_owned(), data), out);
            }
        }
        Ok(())
    }

    /// A call belongs to the assistant message that it names, or gets its own.
    fn start_call(&mut self, start: &ToolCallStart<'_>, out: &mut DecodeOutput) {
        let place = EventPlace::of(&start.base);
        let mut tool = ToolCall::new(&*start.tool_call_id, &*start.tool_call_name);
        tool.metadata = start.base.metadata.clone().filter(|map| !map.is_empty()).map(Value::Object);
        if let Some(known) = self.calls.get_mut(tool.call.as_str()) {
            // The client appends to the arguments that it has.
            known.tool.name.clone_from(&tool.name);
            (known.open, known.complete) = (true, false);
            let (tool, args) = (known.tool.clone(), known.args.clone());
            let place = place.in_message(known.message.clone());
            let call = tool.call.clone();
            self.emit(&place, Event::ToolInputStart(tool), out);
            if !args.is_empty() {
                self.emit(&place, ToolInputDelta::new(call, args), out);
            }
            return;
        }
        let message = match start.parent_message_id.as_deref() {
            Some(parent) if self.roles.get(parent).is_none_or(|role| *role == Role::Assistant) => parent,
            _ => tool.call.as_str(),
        };
        let message = MessageId::from(message);
        let place = place.in_message(message.clone());
        if self.roles.insert(message.to_string(), Role::Assistant).is_none() {
            let role = Role::Assistant;
            self.emit(&place, MessageStarted { message: message.clone(), role, ..Default::default() }, out);
        }
        let call =
            CallState { tool: tool.clone(), message, args: String::new(), complete: false, open: true };
        self.calls.insert(tool.call.to_string(), call);
        self.emit(&place, Event::ToolInputStart(tool), out);
    }

    fn end_call(&mut self, end: &ToolCallEnd<'_>, out: &mut DecodeOutput) {
        let Some(known) = self.calls.get_mut(&*end.tool_call_id) else { return };
        known.open = false;
        if known.complete {
            return;
        }
        let input = serde_json::from_str(&known.args).ok();
        let place = EventPlace::of(&end.base).in_message(known.message.clone());
        let tool = known.tool.clone();
        self.emit(&place, ToolInputAvailable::new(tool, input), out);
    }

    fn result(&mut self, result: &ToolCallResult<'_>, out: &mut DecodeOutput) {
        let call = &*result.tool_call_id;
        let message = MessageId::from(&*result.message_id);
        let mut place = EventPlace::of(&result.base).in_message(message.clone());
        let alone = match self.calls.get_mut(call) {
            Some(known) => {
                place = place.in_message(known.message.clone());
                if known.open {
                    known.complete = true;
                    let (tool, input) = (known.tool.clone(), serde_json::from_str(&known.args).ok());
                    self.emit(&place, ToolInputAvailable::new(tool, input), out);
                }
                false
            }
            None => {
                self.roles.insert(message.to_string(), Role::Tool);
                let (message, role) = (message.clone(), Role::Tool);
                self.emit(&place, MessageStarted { message, role, ..Default::default() }, out);
                true
            }
        };
        let output = messages::result_value(&result.content);
        let event = match result.base.tanstack("state") == Some("output-error") {
            true => Event::ToolOutputError(ToolOutputError {
                call: call.into(),
                error: output.as_str().map_or_else(|| output.to_string(), str::to_owned),
                ..Default::default()
            }),
            false => Event::ToolOutput(ToolOutput {
                call: call.into(),
                output,
                metadata: result.base.metadata.clone().filter(|map| !map.is_empty()).map(Value::Object),
                ..Default::default()
            }),
        };
        self.emit(&place, event, out);
        if alone {
            self.emit(&place, Event::MessageFinished { message }, out);
        }
    }

    fn snapshot(&mut self, snapshot: &MessagesSnapshot<'_>, out: &mut DecodeOutput) {
        let wires = &snapshot.messages.0;
        let mut messages = messages::read(wires, &mut EmbeddedJson::of_stream());
        // The client appends to an open text, whichever message it is in now.
        for message in messages.iter_mut().filter(|message| self.texts.contains_key(message.id.as_str())) {
            for part in &mut message.parts {
                if let Part::Text(text) | Part::Reasoning(text) = part {
                    text.state = PartState::Streaming;
                }
            }
        }
        // Reasoning and activities stay unless the snapshot has any.
        let has = |role: Role| wires.iter().any(|message| message.role == role);
        let (thoughts, activities) = (has(Role::Reasoning), has(Role::Activity));
        self.roles.retain(|_, role| {
            (*role == Role::Reasoning && !thoughts) || (*role == Role::Activity && !activities)
        });
        self.roles.extend(wires.iter().map(|message| (message.id.to_string(), message.role)));
        let roles = &self.roles;
        for (_, text) in self.texts.iter_mut().filter(|(id, _)| !roles.contains_key(*id)) {
            text.lost = true;
        }
        self.last = None;
        let open: Vec<String> = self.calls.drain().filter(|(_, call)| call.open).map(|(id, _)| id).collect();
        self.conversation(&messages);
        for id in open {
            if let Some(call) = self.calls.get_mut(&id) {
                call.open = true;
            }
        }
        self.emit(&EventPlace::of(&snapshot.base), Event::MessagesSnapshot { messages }, out);
    }

    fn custom(&mut self, custom: Custom<'_>, out: &mut DecodeOutput) {
        let mut place = EventPlace::of(&custom.base);
        let value = custom.value;
        let event = match &*custom.name {
            "approval-requested" => run::approval(&value),
            "tool-input-available" => {
                self.owed.extend(value.get("toolCallId").and_then(Value::as_str).map(Into::into));
                return;
            }
            "structured-output.start" => return,
            "structured-output.complete" => {
                let id = value.get("messageId").and_then(Value::as_str).map(str::to_owned);
                place.message = id.as_deref().map(MessageId::from);
                let data = value.get("object").cloned().unwrap_or_default();
                Some(Event::Data(DataEvent {
                    name: "structured-output".to_owned(),
                    id,
                    data,
                    ..Default::default()
                }))
            }
            _ => None,
        };
        if let Some(Event::ApprovalRequested(ApprovalRequested { approval, .. })) = &event {
            self.questions.insert(approval.to_string());
        }
        let event = event.unwrap_or_else(|| {
            Event::Data(DataEvent {
                name: custom.name.into_owned(),
                data: value.into_owned(),
                transient: true,
                ..Default::default()
            })
        });
        self.emit(&place, event, out);
    }
}

fn out_of_place(what: &str, id: &str) -> Error {
    Error::new(ErrorKind::Order, format!("no open {what} has the id '{id}'"))
}

/// The roles that a text message may have.
fn spoken(role: &str) -> Role {
    let roles = [Role::Developer, Role::System, Role::User];
    roles.into_iter().find(|known| known.as_str() == role).unwrap_or(Role::Assistant)
}
