//! Encodes the events of a run as MUI's chunks.
//!
//! A stream is one message for MUI's client, whatever messages the run has.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet},
};

use headwater_protocol::{
    self, ASK_USER, AttemptId, AttemptRetracted, BlockEnded, BlockKind, DataEvent, ErrorEvent, Event,
    FileEvent, FinishReason, Interrupt, InterruptAnswered, MessageId, MessageStarted, Origin, Part, PartId,
    Record, RunFinished, RunId, RunState, StructuredInvalidated, ToolCallId, UnknownEvent,
};
use serde_json::Value;

use super::{
    super::chunk::{
        Abort, BlockDelta, BlockRef, Chunk, Data, Empty, ErrorText, File, Finish, MessageMetadata,
        MessageUpdate, SourceDocument, SourceUrl, Start, ToolError, ToolInputAvailable, ToolOutputAvailable,
        is_known,
    },
    super::message::MuiParts,
    Sink,
};
use crate::growing_objects::GrowingObjects;

#[derive(Debug, Default)]
pub(super) struct MessageEncoder {
    run: Option<RunId>,
    /// The client's message.
    shown: Option<MessageId>,
    open: BTreeSet<(BlockKind, PartId)>,
    /// The block of the last delta: most deltas go to the same one.
    last: Option<(BlockKind, PartId)>,
    pub(super) calls: HashSet<ToolCallId>,
    pub(super) last_call: Option<ToolCallId>,
    /// The data that the client has, by name and id.
    data: HashSet<(String, String)>,
    objects: GrowingObjects,
    /// The state that the client shows, to be sent again after a retraction.
    pub(super) seen: RunState,
    /// The run waits for an answer.
    waiting: bool,
    ended: bool,
}

impl MessageEncoder {
    pub(super) fn emit_message(&mut self, record: &Record, sink: Sink<'_>) {
        if self.ended {
            return;
        }
        let Record { origin, event, .. } = record;
        self.waiting = event.kind().waits_after(self.waiting);
        match event {
            Event::BlockDelta(block) => self.delta(record, block, sink),
            Event::BlockStarted(block) => self.open_block(block.kind, record, &block.id, sink),
            Event::BlockEnded(block) => self.close_block(block.kind, record, &block.id, sink),
            Event::Message { content } => self.whole(record, content, sink),

            // A denial without a reason must repeat the reason of the answer.
            Event::ApprovalAnswered(_) => self.show(record),
            event if event.tool_call().is_some() => {
                self.begin(origin, sink);
                self.tool(record, sink);
            }

            Event::RunStarted(started) => self.run.clone_from(&started.run),
            Event::MessageStarted(MessageStarted { message, author, .. }) => {
                if self.shown.is_none() {
                    self.start(message, author.as_ref(), sink);
                }
                self.show(record);
            }
            Event::MessageFinished { .. } => self.send_objects(sink),
            Event::RunFinished(RunFinished { reason, .. }) => {
                self.begin(origin, sink);
                self.send_objects(sink);
                let reason = reason.as_ref().map(FinishReason::as_str);
                self.finish(reason, sink);
            }
            Event::RunCancelled { .. } => {
                self.begin(origin, sink);
                self.send_objects(sink);
                let message_id = self.shown.as_ref().map(|id| id.as_str().into());
                sink(&Chunk::Abort(Abort { message_id }));
                self.ended = true;
            }
            Event::RunFailed(error) | Event::Error(ErrorEvent { error, terminal: true, .. }) => {
                self.begin(origin, sink);
                self.send_objects(sink);
                sink(&Chunk::Error(ErrorText { error_text: (&error.message).into() }));
                self.ended = true;
            }
            Event::RunWaiting(_) => {
                self.begin(origin, sink);
                self.send_objects(sink);
            }
            Event::AttemptRetracted(AttemptRetracted { attempt, .. }) => self.retract(record, attempt, sink),

            Event::MessageMetadata { metadata } if metadata.is_object() => {
                self.begin(origin, sink);
                sink(&Chunk::MessageMetadata(MessageMetadata { metadata: Cow::Borrowed(metadata) }));
            }
            Event::StepStarted { .. } => {
                self.begin(origin, sink);
                self.show(record);
                sink(&Chunk::StartStep(Empty {}));
            }
            Event::StepFinished { .. } => {
                self.begin(origin, sink);
                sink(&Chunk::FinishStep(Empty {}));
            }
            Event::SourceUrl(_) | Event::SourceDocument(_) | Event::File(_) => {
                self.begin(origin, sink);
                self.show(record);
                found(&record.event, sink);
            }
            Event::Data(DataEvent { name, id, data, transient, .. }) => {
                self.begin(origin, sink);
                if *transient {
                    sink(&data_chunk(name, id.as_deref(), data, true));
                } else {
                    self.show(record);
                    self.data(name, id.as_deref(), data, sink);
                }
            }
            Event::Structured(update) => {
                self.begin(origin, sink);
                self.show(record);
                let grown = self.objects.apply(update, record.time).map(|object| object.data());
                if let Some(data) = grown {
                    self.data(&update.data_type, Some(&update.stream), &data, sink);
                }
            }
            Event::StructuredInvalidated(StructuredInvalidated { stream, .. }) => {
                self.show(record);
                if let Some(object) = self.objects.invalidate(stream)
                    && self.data.remove(&(object.data_type().to_owned(), stream.clone()))
                {
                    self.update(sink);
                }
            }
            Event::InterruptRequested(interrupt) => {
                self.begin(origin, sink);
                self.ask(record, interrupt, sink);
            }
            Event::InterruptAnswered(InterruptAnswered { request, answer, .. })
                if self.calls.contains(&ToolCallId::from(request.as_str())) =>
            {
                self.show(record);
                sink(&Chunk::ToolOutputAvailable(ToolOutputAvailable {
                    tool_call_id: request.as_str().into(),
                    output: answer.as_ref().map_or(Cow::Owned(Value::Null), Cow::Borrowed),
                    preliminary: None,
                }));
            }
            Event::InterruptExpired { request }
                if self.calls.contains(&ToolCallId::from(request.as_str())) =>
            {
                self.show(record);
                let (tool_call_id, error_text) = (request.as_str().into(), "The question expired.".into());
                sink(&Chunk::ToolOutputError(ToolError { tool_call_id, error_text }));
            }
            Event::Unknown(UnknownEvent { data, .. }) if self.shown.is_some() && may_pass(data) => {
                sink(&Chunk::Unknown(Cow::Borrowed(data)));
            }
            // The page shows nothing for the rest.
            _ => {}
        }
    }

    /// Ends the stream. If the run waits, the message is completed for now, or the client would report an
    /// error.
    pub(super) fn flush(&mut self, sink: Sink<'_>) {
        if self.waiting && !self.ended {
            self.finish(None, sink);
        }
    }

    fn finish(&mut self, reason: Option<&str>, sink: Sink<'_>) {
        sink(&Chunk::Finish(Finish {
            message_id: self.shown.as_ref().map(|id| id.as_str().into()),
            finish_reason: reason.map(Cow::Borrowed),
        }));
        self.ended = true;
    }

    /// Ensures that the client has its message.
    pub(super) fn begin(&mut self, origin: &Origin, sink: Sink<'_>) {
        if self.shown.is_none() {
            let id = origin.message.clone().unwrap_or_else(|| match &self.run {
                Some(run) => format!("message-{run}").into(),
                None => "message".into(),
            });
            self.start(&id, None, sink);
        }
    }

    fn start(&mut self, id: &MessageId, author: Option<&Value>, sink: Sink<'_>) {
        let author = author.map(Cow::Borrowed);
        sink(&Chunk::Start(Start { message_id: Some(id.as_str().into()), author }));
        self.shown = Some(id.clone());
    }

    pub(super) fn show(&mut self, record: &Record) {
        // Only structured and shared state can be refused, and neither is shown.
        let _ = self.seen.apply(record);
    }

    fn delta(&mut self, record: &Record, block: &headwater_protocol::BlockDelta, sink: Sink<'_>) {
        let headwater_protocol::BlockDelta { kind, id, delta, .. } = block;
        if !self.last.as_ref().is_some_and(|(last_kind, last)| last_kind == kind && last == id) {
            self.find_block(*kind, record, id, sink);
        }
        self.show(record);
        let delta = BlockDelta { id: id.as_str().into(), delta: delta.into() };
        sink(&match kind {
            BlockKind::Text => Chunk::TextDelta(delta),
            BlockKind::Reasoning => Chunk::ReasoningDelta(delta),
        });
    }

    /// Handles a delta of another block than the last one: finds it or opens it.
    fn find_block(&mut self, kind: BlockKind, record: &Record, id: &PartId, sink: Sink<'_>) {
        let block = (kind, id.clone());
        if !self.open.contains(&block) {
            self.begin(&record.origin, sink);
            sink(&block_start(kind, id));
            self.open.insert(block.clone());
        }
        self.last = Some(block);
    }

    fn open_block(&mut self, kind: BlockKind, record: &Record, id: &PartId, sink: Sink<'_>) {
        self.begin(&record.origin, sink);
        let block = (kind, id.clone());
        if self.open.contains(&block) {
            // The client would take the second start as the first.
            sink(&block_end(kind, id));
        }
        self.show(record);
        sink(&block_start(kind, id));
        self.open.insert(block.clone());
        self.last = Some(block);
    }

    fn close_block(&mut self, kind: BlockKind, record: &Record, id: &PartId, sink: Sink<'_>) {
        if self.open.remove(&(kind, id.clone())) {
            self.last = None;
            self.show(record);
            sink(&block_end(kind, id));
        }
    }

    fn whole(&mut self, record: &Record, content: &str, sink: Sink<'_>) {
        self.begin(&record.origin, sink);
        self.show(record);
        let mut id = PartId::from("message");
        while self.open.contains(&(BlockKind::Text, id.clone())) {
            id = format!("{id}-").into();
        }
        sink(&block_start(BlockKind::Text, &id));
        sink(&Chunk::TextDelta(BlockDelta { id: id.as_str().into(), delta: content.into() }));
        sink(&block_end(BlockKind::Text, &id));
    }

    fn data(&mut self, name: &str, id: Option<&str>, data: &Value, sink: Sink<'_>) {
        if id.is_some_and(|id| !self.data.insert((name.to_owned(), id.to_owned()))) {
            // The client would show both.
            return self.update(sink);
        }
        sink(&data_chunk(name, id, data, false));
    }

    /// Sends the objects that have grown since they were last sent.
    pub(super) fn send_objects(&mut self, sink: Sink<'_>) {
        if !self.ended && self.objects.unsent().count() > 0 {
            self.update(sink);
        }
    }

    /// A question is a client tool call. A repeated question stays where it is.
    fn ask(&mut self, record: &Record, interrupt: &Interrupt, sink: Sink<'_>) {
        self.show(record);
        if self.calls.insert(interrupt.request.as_str().into()) {
            sink(&Chunk::ToolInputAvailable(ToolInputAvailable {
                tool_call_id: interrupt.request.as_str().into(),
                tool_name: ASK_USER.into(),
                input: Some(Cow::Owned(interrupt.to_tool_input())),
                dynamic: None,
            }));
        }
    }

    /// Sends all parts of the message again.
    fn update(&self, sink: Sink<'_>) {
        let id = self.shown.as_ref().map_or("", MessageId::as_str);
        sink(&Chunk::MessageUpdate(MessageUpdate::new(id.into(), MuiParts(&self.seen))));
    }

    /// Sends all parts again to a client that may hold more of the open blocks. Their next deltas open them
    /// again.
    pub(super) fn restate(&mut self, sink: Sink<'_>) {
        if self.shown.is_none() || self.ended {
            return;
        }
        for (kind, id) in std::mem::take(&mut self.open) {
            sink(&block_end(kind, &id));
        }
        (self.last, self.last_call) = (None, None);
        self.update(sink);
    }

    /// Retracts an attempt. The client addresses a block by its position, so blocks that move are closed;
    /// their next deltas open them again.
    fn retract(&mut self, record: &Record, attempt: &AttemptId, sink: Sink<'_>) {
        let dead = |part: &Part| {
            let settled = matches!(part, Part::Tool(tool) if tool.state.is_settled());
            !settled && part.attempt() == Some(attempt)
        };
        let parts = || {
            let messages = self.seen.messages().iter();
            messages.flat_map(|message| message.parts.iter().map(move |part| (&message.id, part)))
        };
        let Some(first) = parts().position(|(_, part)| dead(part)) else {
            return;
        };
        let mut moved = Vec::new();
        for (message, part) in parts().skip(first) {
            let Some((kind, text)) = part.as_block() else { continue };
            let block = (kind, text.id.clone());
            if self.open.contains(&block) {
                moved.push((block, message.clone(), dead(part)));
            }
        }
        for ((kind, id), message, dies) in moved {
            if !self.open.remove(&(kind, id.clone())) {
                continue;
            }
            sink(&block_end(kind, &id));
            if !dies {
                let end = Event::BlockEnded(BlockEnded::new(kind, id));
                let origin = Origin { message: Some(message), ..Origin::default() };
                self.show(&Record::new(record.seq, end).from(origin));
            }
        }
        self.last = None;
        self.last_call = None;
        self.show(record);
        let parts = self.seen.messages().iter().flat_map(|message| &message.parts);
        self.calls = parts.filter_map(Part::as_tool).map(|tool| tool.call.clone()).collect();
        self.update(sink);
    }
}

fn block_start(kind: BlockKind, id: &PartId) -> Chunk<'_> {
    let start = BlockRef { id: id.as_str().into() };
    match kind {
        BlockKind::Text => Chunk::TextStart(start),
        BlockKind::Reasoning => Chunk::ReasoningStart(start),
    }
}

fn block_end(kind: BlockKind, id: &PartId) -> Chunk<'_> {
    let end = BlockRef { id: id.as_str().into() };
    match kind {
        BlockKind::Text => Chunk::TextEnd(end),
        BlockKind::Reasoning => Chunk::ReasoningEnd(end),
    }
}

fn data_chunk<'a>(name: &str, id: Option<&'a str>, data: &'a Value, transient: bool) -> Chunk<'a> {
    Chunk::Data(Data {
        kind: format!("data-{name}").into(),
        id: id.map(Cow::Borrowed),
        data: Cow::Borrowed(data),
        transient: transient.then_some(true),
    })
}

fn found(event: &Event, sink: Sink<'_>) {
    match event {
        Event::SourceUrl(headwater_protocol::SourceUrl { source, url, title, .. }) => {
            sink(&Chunk::SourceUrl(SourceUrl {
                source_id: source.into(),
                url: url.into(),
                title: title.as_deref().map(Cow::Borrowed),
            }));
        }
        Event::SourceDocument(headwater_protocol::SourceDocument { source, title, text, .. }) => {
            sink(&Chunk::SourceDocument(SourceDocument {
                source_id: source.into(),
                title: title.as_deref().map(Cow::Borrowed),
                text: text.as_deref().map(Cow::Borrowed),
            }));
        }
        Event::File(FileEvent { url, media_type, filename, id, .. }) => sink(&Chunk::File(File {
            media_type: media_type.into(),
            url: url.into(),
            filename: filename.as_deref().map(Cow::Borrowed),
            id: id.as_deref().map(Cow::Borrowed),
        })),
        _ => {}
    }
}

/// Whether an unknown chunk may be passed through: only if the client does not know it either.
fn may_pass(data: &Value) -> bool {
    let kind = data.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| !is_known(kind) && kind != "error" && kind != "ping")
}
