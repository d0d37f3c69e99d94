//! Encodes all events except attempts and tools.

use std::borrow::Cow;

use headwater_protocol::{
    self, AttemptRetracted, AttemptStarted, BlockDelta, BlockEnded, BlockKind, BlockStarted, DataEvent,
    ErrorEvent, Event, FileEvent, FinishReason, FrameWriter, MessageId, MessageStarted, Record, Role,
    RunFinished, StatusEvent, StructuredInvalidated, StructuredUpdate, UnknownEvent,
};
use serde_json::{Value, json};

use super::{
    AiSdkEncoder, Audience, OpenPart, Step, block_delta, block_end, block_start, finish, provider_metadata,
    start, text,
};
use crate::{
    ai_sdk::chunk::{Abort, Chunk, Data, File, MessageMetadata, SourceDocument, SourceUrl},
    growing_objects::GrownObject,
};

impl AiSdkEncoder {
    pub(super) fn event(&mut self, record: &Record, out: &mut FrameWriter) {
        let attempt = record.origin.attempt.as_ref();
        match &record.event {
            Event::MessageStarted(MessageStarted { message, role, .. }) => {
                self.start_message(message, *role, out);
            }
            Event::MessageMetadata { metadata } if metadata.is_object() => {
                let message_metadata = Cow::Borrowed(metadata);
                self.put(&Chunk::MessageMetadata(MessageMetadata { message_metadata }), out);
            }
            Event::MessageFinished { .. } => self.send_objects(out),
            Event::Message { content } => {
                self.holds(attempt);
                self.whole_text("message", content, out);
            }

            // Steps that would split a text or call are not sent: clients end texts with the step and take a
            // call in another step as another call.
            Event::StepStarted { .. } => {
                let tears = self.step.open && !self.blocks.is_empty() || !self.calls_are_ready();
                if !tears {
                    self.boundary(out);
                }
            }
            // An empty step is kept for the parts that follow.
            Event::StepFinished { .. } if self.blocks.is_empty() && self.has_content() => {
                self.finish_step(out);
            }

            Event::BlockStarted(block) => self.start_block(record, block, out),
            Event::BlockDelta(block) => self.grow_block(record, block, out),
            Event::BlockEnded(block) => self.end_block(record, block, out),

            Event::SourceUrl(headwater_protocol::SourceUrl { source, url, title, metadata, .. }) => {
                self.holds(attempt);
                let (title, provider_metadata) =
                    (title.as_ref().map(text), provider_metadata(metadata.as_ref()));
                let chunk = SourceUrl { source_id: text(source), url: text(url), title, provider_metadata };
                self.put(&Chunk::SourceUrl(chunk), out);
            }
            Event::SourceDocument(document) => {
                self.holds(attempt);
                let headwater_protocol::SourceDocument { source, title, filename, .. } = document;
                let chunk = SourceDocument {
                    source_id: text(source),
                    media_type: document.media_type.as_ref().map_or(Cow::Borrowed("text/plain"), text),
                    title: title.as_ref().or(filename.as_ref()).map_or(text(source), text),
                    filename: filename.as_ref().map(text),
                    provider_metadata: provider_metadata(document.metadata.as_ref()),
                };
                self.put(&Chunk::SourceDocument(chunk), out);
            }
            Event::File(FileEvent { reasoning: true, .. }) if self.audience != Audience::Ai7 => {}
            Event::File(FileEvent { url, media_type, reasoning, metadata, .. }) => {
                self.holds(attempt);
                let provider_metadata = provider_metadata(metadata.as_ref());
                let chunk = File { url: text(url), media_type: text(media_type), provider_metadata };
                let chunk = if *reasoning { Chunk::ReasoningFile(chunk) } else { Chunk::File(chunk) };
                self.put(&chunk, out);
            }
            Event::Data(DataEvent { name, id, data, transient, .. }) => {
                let (id, data) = (id.as_ref().map(text), Cow::Borrowed(data));
                self.data(
                    Data { kind: data_kind(name), id, data, transient: transient.then_some(true) },
                    out,
                );
            }
            Event::Status(StatusEvent { state, message, .. }) => {
                let data = Cow::Owned(json!({ "state": state, "message": message }));
                self.data(Data { kind: text("data-status"), id: None, data, transient: Some(true) }, out);
            }
            Event::Structured(update) => self.structured(update, record.time, out),
            Event::StructuredInvalidated(StructuredInvalidated { stream, .. }) => {
                self.invalidate(stream, out);
            }

            Event::AttemptStarted(AttemptStarted { attempt, .. }) => self.start_attempt(attempt, out),
            Event::AttemptFinished { attempt } => drop(self.attempt.take_if(|open| open == attempt)),
            Event::AttemptRetracted(AttemptRetracted { attempt, .. }) => self.retract(attempt, out),

            Event::RunFinished(RunFinished { reason, .. }) => {
                self.close_all(out);
                self.put(&finish(reason.as_ref().map(finish_word)), out);
                self.ended = true;
            }
            Event::RunFailed(error) | Event::Error(ErrorEvent { error, terminal: true, .. }) => {
                self.close_all(out);
                self.fail(&error.message, out);
                self.ended = true;
            }
            Event::RunCancelled { reason } => {
                self.close_all(out);
                let reason = reason.as_ref().filter(|_| self.audience == Audience::Ai7).map(text);
                self.put(&Chunk::Abort(Abort { reason }), out);
                self.ended = true;
            }
            Event::RunWaiting(_) => {
                self.send_objects(out);
                self.waiting = true;
            }
            Event::Unknown(UnknownEvent { name, data, .. }) if self.audience == Audience::Ai7 => {
                self.unknown(name, data, out);
            }
            // The rest is about tools, or is not shown on a page.
            _ => self.tool_event(record, out),
        }
    }

    fn start_message(&mut self, message: &MessageId, role: Role, out: &mut FrameWriter) {
        let shown = !matches!(role, Role::User | Role::System | Role::Developer);
        let again = self.current.as_ref() == Some(message);
        self.messages.insert(message.clone(), shown);
        self.current = Some(message.clone());
        if !shown {
        } else if !self.started {
            self.put(&start(Some(message)), out);
            // An attempt that began before its message still gets its own step.
            if self.audience == Audience::Ai7 && self.attempt.is_some() {
                self.boundary(out);
            }
        } else if !again && self.has_content() && self.is_quiet() {
            self.boundary(out);
        }
    }

    /// A whole text part.
    pub(super) fn whole_text(&mut self, name: &str, content: &str, out: &mut FrameWriter) {
        self.made += 1;
        let id = format!("{name}-{}", self.made);
        self.put(&block_start(BlockKind::Text, &id, None), out);
        self.put(&block_delta(BlockKind::Text, &id, content, None), out);
        self.put(&block_end(BlockKind::Text, &id, None), out);
    }

    fn start_block(&mut self, record: &Record, block: &BlockStarted, out: &mut FrameWriter) {
        let (kind, id) = (block.kind, &block.id);
        self.close_blocks(|open| open.kind == kind && open.id == *id, out);
        self.put(&block_start(kind, id.as_str(), block.metadata.as_ref()), out);
        let (message, attempt) = (self.wanted_message(record).cloned(), record.origin.attempt.clone());
        self.holds(attempt.as_ref());
        self.blocks.push(OpenPart { kind, id: id.clone(), message, attempt });
    }

    /// A delta of a block that is not open on the wire opens it.
    fn grow_block(&mut self, record: &Record, block: &BlockDelta, out: &mut FrameWriter) {
        if !self.is_open(block.kind, &block.id, record) {
            self.start_block(record, &BlockStarted::new(block.kind, block.id.clone()), out);
        }
        self.put(&block_delta(block.kind, block.id.as_str(), &block.delta, block.metadata.as_ref()), out);
    }

    fn end_block(&mut self, record: &Record, block: &BlockEnded, out: &mut FrameWriter) {
        if self.is_open(block.kind, &block.id, record) {
            self.blocks.retain(|open| open.kind != block.kind || open.id != block.id);
            self.put(&block_end(block.kind, block.id.as_str(), block.metadata.as_ref()), out);
        }
    }

    pub(super) fn data(&mut self, data: Data<'_>, out: &mut FrameWriter) {
        if data.transient != Some(true) {
            self.keep(&data);
        }
        self.put(&Chunk::Data(data), out);
    }

    /// Remembers data, which belongs to no attempt but is dropped by a reset.
    fn keep(&mut self, data: &Data<'_>) {
        if self.audience != Audience::Ai7 || !self.step.seen {
            return self.holds(None);
        }
        self.step.kept.retain(|kept| data.id.is_none() || kept.id != data.id || kept.kind != data.kind);
        self.step.kept.push(Data {
            kind: Cow::Owned(data.kind.to_string()),
            id: data.id.as_ref().map(|id| Cow::Owned(id.to_string())),
            data: Cow::Owned(data.data.as_ref().clone()),
            transient: None,
        });
    }

    fn structured(&mut self, update: &StructuredUpdate, time: u64, out: &mut FrameWriter) {
        if let Some(data) = self.objects.apply(update, time).map(|object| object_data(&object)) {
            self.data(data, out);
        }
    }

    /// Sends the objects that have grown since they were last sent.
    pub(super) fn send_objects(&mut self, out: &mut FrameWriter) {
        let unsent: Vec<_> = self.objects.unsent().map(|object| object_data(&object)).collect();
        for data in unsent {
            self.data(data, out);
        }
    }

    /// A part cannot be removed, so the object becomes empty, as before its first field. A page that shows
    /// growing objects can show an empty one but would fail at `null`.
    fn invalidate(&mut self, stream: &str, out: &mut FrameWriter) {
        if let Some(object) = self.objects.invalidate(stream) {
            let (kind, id) = (data_kind(object.data_type()), Some(text(stream)));
            self.step.kept.retain(|kept| kept.id != id || kept.kind != kind);
            let data = Cow::Owned(json!({}));
            self.put(&Chunk::Data(Data { kind, id, data, transient: None }), out);
        }
    }

    /// Chunks that only version 7 knows are passed through to it.
    fn unknown(&mut self, name: &str, data: &Value, out: &mut FrameWriter) {
        let own = matches!(name, "custom" | "steering-message" | "reset-step");
        let typed = data.get("type").and_then(Value::as_str) == Some(name);
        if !own || !typed || Chunk::read(&data.to_string()).is_err() {
            return;
        }
        if name == "reset-step" {
            self.blocks.clear();
            self.calls.clear();
            self.approvals.clear();
            self.step = Step { open: self.step.open, seen: self.step.seen, ..Step::default() };
        } else {
            self.holds(None);
        }
        self.put(&Chunk::Raw(Cow::Borrowed(data)), out);
    }
}

fn data_kind(name: &str) -> Cow<'static, str> {
    Cow::Owned(format!("data-{name}"))
}

fn object_data(object: &GrownObject<'_>) -> Data<'static> {
    let data = object.data();
    Data {
        kind: data_kind(object.state.data_type()),
        id: Some(Cow::Owned(object.state.stream().to_owned())),
        data: Cow::Owned(if data.is_null() { json!({}) } else { data }),
        transient: None,
    }
}

/// Whether the event changes a message.
pub(super) fn in_message(event: &Event) -> bool {
    match event {
        Event::Message { .. }
        | Event::MessageMetadata { .. }
        | Event::StepStarted { .. }
        | Event::BlockStarted(_)
        | Event::BlockDelta(_)
        | Event::BlockEnded(_)
        | Event::SourceUrl(_)
        | Event::SourceDocument(_)
        | Event::File(_)
        | Event::Unknown(_) => true,
        Event::Data(data) => !data.transient,
        Event::ApprovalAnswered(_) => false,
        event => event.tool_call().is_some(),
    }
}

/// The finish reason as one of the client's fixed words.
fn finish_word(reason: &FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::ContentFilter => "content-filter",
        FinishReason::ToolCalls => "tool-calls",
        FinishReason::Error => "error",
        _ => "other",
    }
}
