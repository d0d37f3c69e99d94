//! Encodes records as named events.
//!
//! A reader of the contract needs a message before its parts and a call before its result. If the run lacks
//! one of them, the encoder adds it.

use std::collections::{HashMap, HashSet};

use headwater_protocol::{
    ASK_USER, ApprovalAnswered, ApprovalId, ApprovalRequested, AttemptId, AttemptRetracted, BlockDelta,
    BlockEnded, BlockKind, DataEvent, ErrorEvent, Event, FileEvent, FinishReason, FrameWriter, Interrupt,
    InterruptAnswered, Message, MessageId, MessageStarted, Origin, PartId, Record, Role, RunFinished,
    RunStarted, RunState, RunWaiting, SourceUrl, StatusEvent, StructuredInvalidated, ToolCallId, ToolDenied,
    ToolInputAvailable, ToolInputDelta, ToolInputError, ToolOutput, ToolOutputError, ToolState, Usage,
};
use serde_json::Value;

use super::frames::{
    Field, ShownToolCall, date, delta_name, json, maybe, send, send_approval, send_call, send_data,
    send_delta, send_error, send_result, send_tool_delta, text,
};
use crate::{
    encode::{Encode, EncodeOptions},
    growing_objects::GrowingObjects,
};

/// Encodes a run as a stream of named events.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentsEncoder {
    seam: String,
    started: Option<RunStarted>,
    begun: bool,
    ended: bool,
    waiting: bool,
    /// The usage so far; sent at the end.
    usage: Option<Usage>,
    /// The messages in order of their start, and whether they are open.
    messages: Vec<(MessageId, bool)>,
    current: Option<MessageId>,
    calls: HashMap<ToolCallId, ShownToolCall>,
    approvals: HashMap<ApprovalId, ToolCallId>,
    sources: HashSet<(MessageId, String)>,
    /// The open blocks. There are few, so a linear search beats a map.
    blocks: Vec<FrameBlock>,
    part_ids: HashMap<String, u32>,
    /// A block without text yet. Most get their first delta next, which makes a separate frame unnecessary.
    unsent_block: Option<BlockKey>,
    objects: GrowingObjects,
    object_messages: HashMap<String, MessageId>,
}

type BlockKey = (MessageId, BlockKind, PartId);

#[derive(Debug, Clone)]
struct FrameBlock {
    key: BlockKey,
    /// Its `partId`.
    part: String,
    attempt: Option<AttemptId>,
}

impl AgentsEncoder {
    pub(super) fn new(options: &EncodeOptions) -> Self {
        Self { seam: options.seam.clone(), ..Self::default() }
    }

    fn meta(started: &RunStarted, time: u64, out: &mut FrameWriter) {
        let created = date(time);
        let fields = [
            ("requestId", maybe(started.request.as_ref())),
            ("runId", maybe(started.run.as_ref())),
            ("sessionId", maybe(started.session.as_ref())),
            ("conversationId", maybe(started.conversation.as_ref())),
            ("model", maybe(started.model.as_ref())),
            ("endpoint", maybe(started.endpoint.as_ref())),
            ("createdAt", maybe(created.as_ref())),
        ];
        send("meta", &fields, out);
    }

    fn event(&mut self, record: &Record, out: &mut FrameWriter) {
        let origin = &record.origin;
        match &record.event {
            Event::RunFinished(RunFinished { reason, usage, data, .. }) => {
                let reason = reason.as_ref().map(FinishReason::as_str);
                self.usage = usage.clone().or(self.usage.take());
                self.done(reason, data.as_ref(), out);
            }
            Event::RunCancelled { .. } => self.done(Some("cancelled"), None, out),
            Event::RunFailed(error) => {
                self.close(out);
                self.ended = true;
                send_error(error, true, out);
            }
            Event::RunWaiting(RunWaiting { usage, .. }) => {
                self.send_objects(out);
                self.waiting = true;
                self.usage = usage.clone().or(self.usage.take());
                send("status", &[("state", text("waiting"))], out);
            }
            Event::AttemptRetracted(AttemptRetracted { attempt, reason, .. }) => {
                self.retract(attempt, reason.as_ref(), out);
            }

            Event::MessageStarted(MessageStarted { message, role, .. }) => {
                self.current = Some(message.clone());
                self.start(message, *role, record.time, out);
            }
            Event::MessageFinished { message } => {
                self.send_objects(out);
                self.send_block(out);
                self.finish_message(message, out);
            }
            Event::MessagesSnapshot { messages } => self.add_messages(messages, out),

            Event::Message { content } => {
                let message = self.part(origin, out);
                let part = self.part_id("message");
                send_delta("message.delta", &message, &part, content, out);
            }
            Event::BlockStarted(block) => self.start_block(block.kind, &block.id, origin, out),
            Event::BlockDelta(block) => self.delta(block, origin, out),
            Event::BlockEnded(block) => self.end_block(block, origin, out),

            Event::ToolInputStart(tool) if !self.calls.contains_key(&tool.call) => {
                let message = self.add_call(&tool.call, &tool.name, origin, out);
                send_tool_delta(&tool.call, Some(&tool.name), "", &message, out);
            }
            Event::ToolInputDelta(ToolInputDelta { call, delta, .. }) => {
                let known = self.calls.get(call).map(|known| (known.message.clone(), known.called));
                match known {
                    Some((_, true)) => {}
                    Some((message, false)) => send_tool_delta(call, None, delta, &message, out),
                    None => {
                        let message = self.add_call(call, "", origin, out);
                        send_tool_delta(call, None, delta, &message, out);
                    }
                }
            }
            Event::ToolInputAvailable(ToolInputAvailable { tool, input, .. }) => {
                self.call(&tool.call, Some(&tool.name), input.as_ref(), origin, out);
            }
            Event::ToolInputError(ToolInputError { tool, input, error, .. }) => {
                let known = self.call(&tool.call, Some(&tool.name), input.as_ref(), origin, out);
                send_result(&tool.call, &known, ToolState::OutputError, ("errorText", text(error)), out);
            }
            Event::ApprovalRequested(asked) => {
                let ApprovalRequested { approval, tool, input, signature, automatic, .. } = asked;
                let known = self.call(&tool.call, Some(&tool.name), input.as_ref(), origin, out);
                self.approvals.insert(approval.clone(), tool.call.clone());
                let fields = [
                    ("id", text(approval)),
                    ("signature", maybe(signature.as_ref())),
                    ("isAutomatic", automatic.then_some(Field::Flag(true))),
                ];
                send_approval(&tool.call, &known, json(input.as_ref()), &fields, out);
            }
            Event::ApprovalAnswered(ApprovalAnswered { approval, call, approved, reason, .. }) => {
                let call = call.as_ref().or_else(|| self.approvals.get(approval));
                if let Some((call, known)) = call.and_then(|call| self.calls.get_key_value(call)) {
                    let answered = [
                        ("id", text(approval)),
                        ("approved", Some(Field::Flag(*approved))),
                        ("reason", maybe(reason.as_ref())),
                    ];
                    send_approval(call, known, None, &answered, out);
                }
            }
            Event::ToolOutput(ToolOutput { call, name, output, .. }) => {
                let known = self.call(call, name.as_deref(), None, origin, out);
                send_result(call, &known, ToolState::OutputAvailable, ("output", json(Some(output))), out);
            }
            Event::ToolOutputError(ToolOutputError { call, name, error, .. }) => {
                let known = self.call(call, name.as_deref(), None, origin, out);
                send_result(call, &known, ToolState::OutputError, ("errorText", text(error)), out);
            }
            Event::ToolDenied(ToolDenied { call, name, reason, .. }) => {
                let known = self.call(call, name.as_deref(), None, origin, out);
                send_result(call, &known, ToolState::OutputDenied, ("reason", maybe(reason.as_ref())), out);
            }

            Event::SourceUrl(SourceUrl { source, url, title, call, .. }) => {
                let message = self.part(origin, out);
                if self.sources.insert((message.clone(), source.clone())) {
                    let fields = [
                        ("sourceId", text(source)),
                        ("url", text(url)),
                        ("title", maybe(title.as_ref())),
                        ("toolCallId", maybe(call.as_ref())),
                        ("messageId", text(&message)),
                    ];
                    send("source", &fields, out);
                }
            }
            Event::File(FileEvent { url, media_type, filename, .. }) => {
                let message = self.part(origin, out);
                let fields = [
                    ("url", text(url)),
                    ("mediaType", text(media_type)),
                    ("filename", maybe(filename.as_ref())),
                    ("messageId", text(&message)),
                ];
                send("file", &fields, out);
            }
            Event::Data(DataEvent { name, id, data, transient, .. }) => {
                // Transient data is not kept, so it needs no message.
                let message = (!transient).then(|| self.part(origin, out));
                send_data(name, id.as_deref(), data, message.as_ref(), out);
            }
            Event::Structured(update) => {
                let message = self.part(origin, out);
                self.object_messages.entry(update.stream.clone()).or_insert(message);
                if let Some(object) = self.objects.apply(update, record.time) {
                    let message = self.object_messages.get(&update.stream);
                    let data = object.data();
                    send_data(object.state.data_type(), Some(object.state.stream()), &data, message, out);
                }
            }
            Event::StructuredInvalidated(StructuredInvalidated { stream, .. }) => {
                let message = self.object_messages.remove(stream);
                if let Some(object) = self.objects.invalidate(stream) {
                    send_data(object.data_type(), Some(stream), &Value::Null, message.as_ref(), out);
                }
            }

            Event::InterruptRequested(interrupt) => self.ask(interrupt, origin, out),
            Event::InterruptAnswered(InterruptAnswered { request, answer, .. }) => {
                let call = ToolCallId::from(request.as_str());
                if let Some(known) = self.calls.get(&call) {
                    let answer = answer.as_ref().unwrap_or(&Value::Null);
                    let output = ("output", json(Some(answer)));
                    send_result(&call, known, ToolState::OutputAvailable, output, out);
                }
            }
            Event::InterruptExpired { request } => {
                let call = ToolCallId::from(request.as_str());
                if let Some(known) = self.calls.get(&call) {
                    let error = ("errorText", text("The question expired."));
                    send_result(&call, known, ToolState::OutputError, error, out);
                }
            }

            Event::Status(StatusEvent { state, message, .. }) => {
                let fields = [("state", maybe(state.as_ref())), ("message", maybe(message.as_ref()))];
                send("status", &fields, out);
            }
            Event::Usage(usage) => self.usage = Some(usage.clone()),
            // A failing run ends with a terminal error of its own.
            Event::Error(ErrorEvent { error, .. }) => send_error(error, false, out),
            _ => {}
        }
    }

    /// The message of a new part. An empty block before the part is sent first, to keep the order.
    fn part(&mut self, origin: &Origin, out: &mut FrameWriter) -> MessageId {
        self.send_block(out);
        self.target(origin, out)
    }

    fn send_block(&mut self, out: &mut FrameWriter) {
        if let Some(key) = self.unsent_block.take()
            && let Some(block) = self.blocks.iter().find(|block| block.key == key)
        {
            send_delta(delta_name(key.1), &key.0, &block.part, "", out);
        }
    }

    fn target(&mut self, origin: &Origin, out: &mut FrameWriter) -> MessageId {
        let id = match origin.message.as_ref().or(self.current.as_ref()) {
            Some(id) => id.clone(),
            None => MessageId::from(format!("message-{}", self.messages.len() + 1)),
        };
        if self.current.is_none() {
            self.current = Some(id.clone());
        }
        self.start(&id, Role::Assistant, 0, out);
        id
    }

    /// Starts a message once: a reader adds a message for each `message.start`.
    fn start(&mut self, id: &MessageId, role: Role, time: u64, out: &mut FrameWriter) {
        if self.messages.iter().rev().any(|(known, _)| known == id) {
            return;
        }
        self.messages.push((id.clone(), true));
        let created = date(time);
        let fields =
            [("messageId", text(id)), ("role", text(role.as_str())), ("createdAt", maybe(created.as_ref()))];
        send("message.start", &fields, out);
    }

    fn finish_message(&mut self, id: &MessageId, out: &mut FrameWriter) {
        let open = self.messages.iter_mut().rev().find(|(known, open)| known == id && *open);
        if let Some((id, open)) = open {
            *open = false;
            send("message.end", &[("messageId", text(id))], out);
        }
    }

    /// Adds messages of a snapshot that the stream lacks. Existing ones cannot be replaced.
    fn add_messages(&mut self, messages: &[Message], out: &mut FrameWriter) {
        for message in messages {
            if self.messages.iter().any(|(known, _)| *known == message.id) {
                continue;
            }
            let state = RunState::default().with_messages(vec![message.clone()]);
            let records = state.replay();
            records.iter().skip(1).for_each(|record| self.event(record, out));
        }
    }

    /// The `partId` of a new part: its own id, so that it stays the same after a reconnect by cursor; with a
    /// number added if the id was used before.
    fn part_id(&mut self, id: &str) -> String {
        let uses = self.part_ids.entry(id.to_owned()).or_default();
        *uses += 1;
        if *uses == 1 { id.to_owned() } else { format!("{id}~{uses}") }
    }

    fn start_block(&mut self, kind: BlockKind, id: &PartId, origin: &Origin, out: &mut FrameWriter) {
        let message = self.part(origin, out);
        let key = (message, kind, id.clone());
        let part = self.part_id(id.as_str());
        self.blocks.retain(|block| block.key != key);
        self.blocks.push(FrameBlock { key: key.clone(), part, attempt: origin.attempt.clone() });
        self.unsent_block = Some(key);
    }

    fn delta(&mut self, block: &BlockDelta, origin: &Origin, out: &mut FrameWriter) {
        let BlockDelta { kind, id, delta, .. } = block;
        if self.open_block(*kind, id, origin).is_none() {
            self.start_block(*kind, id, origin, out);
        }
        if delta.is_empty() {
            return;
        }
        if let Some(unsent) = self.unsent_block.take() {
            let own = self.open_block(*kind, id, origin).is_some_and(|block| block.key == unsent);
            if !own {
                self.unsent_block = Some(unsent);
                self.send_block(out);
            }
        }
        if let Some(block) = self.open_block(*kind, id, origin) {
            send_delta(delta_name(*kind), &block.key.0, &block.part, delta, out);
        }
    }

    /// The open block of a delta.
    fn open_block(&self, kind: BlockKind, id: &PartId, origin: &Origin) -> Option<&FrameBlock> {
        let message = origin.message.as_ref().or(self.current.as_ref())?;
        self.blocks.iter().rev().find(|block| {
            let (of, known, named) = &block.key;
            named == id && *known == kind && of == message
        })
    }

    fn end_block(&mut self, block: &BlockEnded, origin: &Origin, out: &mut FrameWriter) {
        if let Some(message) = origin.message.as_ref().or(self.current.as_ref()) {
            let key = (message.clone(), block.kind, block.id.clone());
            if self.unsent_block.as_ref() == Some(&key) {
                self.send_block(out);
            }
            self.blocks.retain(|block| block.key != key);
        }
    }

    fn add_call(
        &mut self,
        call: &ToolCallId,
        name: &str,
        origin: &Origin,
        out: &mut FrameWriter,
    ) -> MessageId {
        let message = self.part(origin, out);
        let known = ShownToolCall { message: message.clone(), name: name.to_owned(), called: false };
        self.calls.insert(call.clone(), known);
        message
    }

    /// Sends `tool.call` before anything else about a call, because readers show a call from then on.
    fn call(
        &mut self,
        call: &ToolCallId,
        name: Option<&str>,
        input: Option<&Value>,
        origin: &Origin,
        out: &mut FrameWriter,
    ) -> ShownToolCall {
        if !self.calls.contains_key(call) {
            self.add_call(call, "", origin, out);
        }
        let Some(known) = self.calls.get_mut(call) else {
            return ShownToolCall { message: MessageId::from(""), name: String::new(), called: true };
        };
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            name.clone_into(&mut known.name);
        }
        if !std::mem::replace(&mut known.called, true) {
            send_call(call, known, ToolState::InputAvailable, json(input), None, out);
        }
        known.clone()
    }

    /// A question is a client tool call; its output is the answer.
    fn ask(&mut self, interrupt: &Interrupt, origin: &Origin, out: &mut FrameWriter) {
        let call = ToolCallId::from(interrupt.request.as_str());
        self.call(&call, Some(ASK_USER), Some(&interrupt.to_tool_input()), origin, out);
    }

    /// The contract cannot remove text: it stays, and the next attempt begins new parts.
    fn retract(&mut self, attempt: &AttemptId, reason: Option<&String>, out: &mut FrameWriter) {
        let message = self.blocks.iter().find(|block| block.attempt.as_ref() == Some(attempt));
        let message = message.map(|block| block.key.0.clone());
        self.blocks.retain(|block| block.attempt.as_ref() != Some(attempt));
        self.unsent_block.take_if(|key| !self.blocks.iter().any(|block| block.key == *key));
        send("status", &[("state", text("retrying")), ("message", maybe(reason))], out);
        if let Some(message) = message.filter(|_| !self.seam.is_empty()) {
            let part = self.part_id("seam");
            send_delta("message.delta", &message, &part, &self.seam, out);
        }
    }

    fn send_objects(&mut self, out: &mut FrameWriter) {
        for object in self.objects.unsent() {
            let message = self.object_messages.get(object.state.stream());
            send_data(object.state.data_type(), Some(object.state.stream()), &object.data(), message, out);
        }
    }

    fn close(&mut self, out: &mut FrameWriter) {
        self.send_block(out);
        self.send_objects(out);
        for (id, open) in &mut self.messages {
            if std::mem::take(open) {
                send("message.end", &[("messageId", text(id))], out);
            }
        }
    }

    fn done(&mut self, reason: Option<&str>, data: Option<&Value>, out: &mut FrameWriter) {
        self.close(out);
        self.ended = true;
        self.send_done(reason, data, out);
    }

    fn send_done(&self, reason: Option<&str>, data: Option<&Value>, out: &mut FrameWriter) {
        let run = self.started.as_ref().and_then(|started| started.run.as_ref());
        let fields = [
            ("runId", maybe(run)),
            ("finishReason", reason.map(Field::Text)),
            ("usage", self.usage.as_ref().map(Field::Usage)),
            ("data", json(data)),
        ];
        send("done", &fields, out);
    }
}

impl Encode for AgentsEncoder {
    fn record(&mut self, record: &Record, out: &mut FrameWriter) {
        if self.ended {
            return;
        }
        if !self.begun {
            self.begun = true;
            let started = match &record.event {
                Event::RunStarted(started) => started.clone(),
                _ => RunStarted::default(),
            };
            Self::meta(&started, record.time, out);
            self.started = Some(started);
        }
        if !record.event.kind().leaves_waiting() {
            self.waiting = false;
        }
        self.event(record, out);
    }

    fn reentry(&mut self, state: &RunState, out: &mut FrameWriter) {
        // `meta` names the run, so earlier records need no name.
        let nameless = |record: &&Record| match &record.event {
            Event::RunStarted(started) => *started == RunStarted::default(),
            _ => false,
        };
        for record in state.replay().iter().filter(|record| !nameless(record)) {
            self.record(record, out);
        }
        self.send_objects(out);
        // The reader already has the user's messages.
        for message in state.messages() {
            if !self.messages.iter().any(|(known, _)| *known == message.id) {
                self.messages.push((message.id.clone(), false));
            }
        }
        self.current = state.current_message().map(|message| message.id.clone());
    }

    fn finish(&mut self, out: &mut FrameWriter) {
        if !self.ended {
            self.send_objects(out);
        }
        if std::mem::take(&mut self.waiting) && !self.ended {
            self.send_done(Some("waiting"), None, out);
        }
    }

    fn next_response(&mut self, out: &mut FrameWriter) {
        self.ended = false;
        self.waiting = false;
        Self::meta(self.started.as_ref().unwrap_or(&RunStarted::default()), 0, out);
    }
}
