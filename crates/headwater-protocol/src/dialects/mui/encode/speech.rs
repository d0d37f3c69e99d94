//! What a run says, in MUI's chunks.
//!
//! A stream is one message for MUI's client. The messages of the run are told apart for our own readers.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet},
};

use serde_json::Value;

use super::{
    super::chunk::{
        Abort, BlockDelta, BlockEnd, BlockStart, Carried, Chunk, Data, Extra, File, Finish, MessageMetadata,
        MessageUpdated, SourceDocument, SourceUrl, Start, Step, UpdatedMessage,
    },
    super::message::Parts,
    Sink,
};
use crate::{
    event::{Event, FinishReason, Interrupt, Origin, Record, Role},
    id::{AttemptId, MessageId, PartId, RunId, ToolCallId},
    state::{Part, RunState},
};

/// How many events wait for the message to begin; then it begins without being asked to.
const MAX_BEFORE: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Speech {
    run: Option<RunId>,
    /// What came before the message, which must be the first thing that the client sees.
    before: Vec<Event>,
    /// The message that the client has.
    shown: Option<MessageId>,
    /// The message that was started last.
    current: Option<MessageId>,
    /// The open blocks: whether it is reasoning, and which.
    open: BTreeSet<(bool, PartId)>,
    /// The block of the last delta: most deltas go to the same one.
    last: Option<(bool, PartId)>,
    pub(super) calls: HashSet<ToolCallId>,
    pub(super) last_call: Option<ToolCallId>,
    data: HashSet<(Option<MessageId>, String, String)>,
    /// What the client shows by now, to be said again when something is taken back.
    pub(super) seen: RunState,
    /// Someone has to answer before the run goes on.
    waiting: bool,
    ended: bool,
}

impl Speech {
    pub(super) fn say(&mut self, record: &Record, sink: Sink<'_>) {
        if self.ended {
            return;
        }
        let Record { origin, event, .. } = record;
        self.waiting = matches!(event, Event::RunWaiting { .. });
        match event {
            Event::TextDelta { id, delta, metadata } => {
                self.delta(false, record, id, delta, metadata.as_ref(), sink);
            }
            Event::ReasoningDelta { id, delta, metadata } => {
                self.delta(true, record, id, delta, metadata.as_ref(), sink);
            }
            Event::TextStart { id, metadata } => {
                self.open_block(false, record, id, metadata.as_ref(), sink);
            }
            Event::ReasoningStart { id, metadata } => {
                self.open_block(true, record, id, metadata.as_ref(), sink);
            }
            Event::TextEnd { id, metadata } => self.close_block(false, record, id, metadata.as_ref(), sink),
            Event::ReasoningEnd { id, metadata } => {
                self.close_block(true, record, id, metadata.as_ref(), sink);
            }
            Event::Message { content } => self.whole(record, content, sink),

            Event::ToolInputStart(_)
            | Event::ToolInputDelta { .. }
            | Event::ToolInputAvailable { .. }
            | Event::ToolInputError { .. }
            | Event::ApprovalRequested { .. }
            | Event::ToolOutput { .. }
            | Event::ToolOutputError { .. }
            | Event::ToolDenied { .. } => {
                self.begin(origin, sink);
                self.tool(record, sink);
            }

            Event::RunStarted(started) => {
                self.run.clone_from(&started.run);
                self.carry(event, sink);
            }
            Event::MessageStarted { message, role, author } => {
                if self.shown.is_none() {
                    self.start(message, *role, author.as_ref(), sink);
                } else {
                    self.carry(event, sink);
                }
                self.current = Some(message.clone());
                self.show(record);
            }
            Event::RunFinished { reason, usage, data } => {
                self.begin(origin, sink);
                let hw = Extra {
                    usage: usage.as_ref().map(Cow::Borrowed),
                    data: data.as_ref().map(Cow::Borrowed),
                    ..Extra::default()
                };
                sink(&Chunk::Finish(Finish {
                    message_id: self.shown.as_ref().map(|id| id.as_str().into()),
                    finish_reason: reason.as_ref().map(FinishReason::as_str).map(Cow::Borrowed),
                    hw: hw.some(),
                }));
                self.ended = true;
            }
            Event::RunCancelled { reason } => {
                self.begin(origin, sink);
                let hw = Extra { reason: reason.as_deref().map(Cow::Borrowed), ..Extra::default() };
                sink(&Chunk::Abort(Abort {
                    message_id: self.shown.as_ref().map(|id| id.as_str().into()),
                    hw: hw.some(),
                }));
                self.ended = true;
            }
            Event::RunFailed(_) | Event::Error { terminal: true, .. } => {
                self.begin(origin, sink);
                self.carry(event, sink);
                self.ended = true;
            }
            Event::RunWaiting { .. } => {
                self.begin(origin, sink);
                self.carry(event, sink);
            }
            Event::AttemptRetracted { attempt, .. } => self.retract(record, attempt, sink),

            Event::MessageMetadata { metadata } if metadata.is_object() => {
                self.begin(origin, sink);
                let hw = self.extra(origin).some();
                let metadata = Cow::Borrowed(metadata);
                sink(&Chunk::MessageMetadata(MessageMetadata { metadata, hw }));
            }
            Event::StepStarted { name } | Event::StepFinished { name } => {
                self.begin(origin, sink);
                self.show(record);
                let name = name.as_deref().map(Cow::Borrowed);
                let hw = Extra { name, ..self.extra(origin) }.some();
                sink(&match event {
                    Event::StepStarted { .. } => Chunk::StartStep(Step { hw }),
                    _ => Chunk::FinishStep(Step { hw }),
                });
            }
            Event::SourceUrl { .. } | Event::SourceDocument { .. } | Event::File { .. } => {
                self.begin(origin, sink);
                self.show(record);
                self.found(record, sink);
            }
            Event::Data { name, id, data, transient: false } => {
                self.begin(origin, sink);
                self.data(record, name, id.as_deref(), data, sink);
            }
            Event::InterruptRequested(interrupt) => {
                self.begin(origin, sink);
                self.ask(record, interrupt, sink);
            }
            Event::Unknown { data, .. } if self.shown.is_some() && may_pass(data) => {
                sink(&Chunk::Unknown(Cow::Borrowed(data)));
            }

            Event::AttemptStarted { .. }
            | Event::AttemptFinished { .. }
            | Event::MessageFinished { .. }
            | Event::MessageMetadata { .. }
            | Event::ApprovalAnswered { .. }
            | Event::Data { .. }
            | Event::Structured(_)
            | Event::StructuredInvalidated { .. }
            | Event::StateSnapshot { .. }
            | Event::StateDelta { .. }
            | Event::MessagesSnapshot { .. }
            | Event::InterruptAnswered { .. }
            | Event::InterruptExpired { .. }
            | Event::Status { .. }
            | Event::Transition { .. }
            | Event::Checkpoint { .. }
            | Event::Usage(_)
            | Event::Warning { .. }
            | Event::Error { .. }
            | Event::Trace { .. }
            | Event::Unknown { .. } => {
                // A denial without a reason must repeat the one that the answer gave.
                if matches!(event, Event::ApprovalAnswered { .. }) {
                    self.show(record);
                }
                self.carry(event, sink);
            }
        }
    }

    /// The stream is over. What still waits for a message is said all the same; and if the run waits for
    /// someone, the message is complete for now, where the client would else report an error.
    pub(super) fn flush(&mut self, sink: Sink<'_>) {
        if !self.before.is_empty() {
            self.begin(&Origin::default(), sink);
        }
        if self.waiting && !self.ended {
            sink(&Chunk::Finish(Finish {
                message_id: self.shown.as_ref().map(|id| id.as_str().into()),
                finish_reason: None,
                hw: Extra { implied: true, ..Extra::default() }.some(),
            }));
            self.ended = true;
        }
    }

    /// Makes sure that the client has its message.
    pub(super) fn begin(&mut self, origin: &Origin, sink: Sink<'_>) {
        if self.shown.is_none() {
            let id = origin.message.clone().unwrap_or_else(|| match &self.run {
                Some(run) => format!("message-{run}").into(),
                None => "message".into(),
            });
            self.start(&id, Role::Assistant, None, sink);
        }
    }

    fn start(&mut self, id: &MessageId, role: Role, author: Option<&Value>, sink: Sink<'_>) {
        let before = std::mem::take(&mut self.before);
        let hw = Extra {
            before: before.into(),
            role: (role != Role::Assistant).then_some(role),
            ..Extra::default()
        };
        sink(&Chunk::Start(Start {
            message_id: Some(id.as_str().into()),
            author: author.map(Cow::Borrowed),
            hw: hw.some(),
        }));
        self.shown = Some(id.clone());
        self.current = Some(id.clone());
    }

    /// Says an event that MUI has no word for.
    pub(super) fn carry(&mut self, event: &Event, sink: Sink<'_>) {
        if self.shown.is_none() {
            if self.before.len() < MAX_BEFORE {
                self.before.push(event.clone());
                return;
            }
            self.begin(&Origin::default(), sink);
        }
        sink(&Chunk::HwEvent(Carried { event: Cow::Borrowed(event) }));
    }

    pub(super) fn show(&mut self, record: &Record) {
        // Only structured and shared state can be refused, and neither is shown.
        let _ = self.seen.apply(record);
    }

    /// Where a part comes from, as far as MUI's chunks do not say it.
    pub(super) fn extra<'a>(&self, origin: &'a Origin) -> Extra<'a> {
        let elsewhere = origin.message.as_ref().filter(|message| Some(*message) != self.current.as_ref());
        Extra {
            attempt: origin.attempt.as_ref().map(|attempt| attempt.as_str().into()),
            message: elsewhere.map(|message| message.as_str().into()),
            ..Extra::default()
        }
    }

    fn delta(
        &mut self,
        reasoning: bool,
        record: &Record,
        id: &PartId,
        delta: &str,
        metadata: Option<&Value>,
        sink: Sink<'_>,
    ) {
        if !self.last.as_ref().is_some_and(|(kind, last)| *kind == reasoning && last == id) {
            self.find_block(reasoning, record, id, sink);
        }
        self.show(record);
        let hw = metadata.and_then(|metadata| {
            Extra { metadata: Some(Cow::Borrowed(metadata)), ..Extra::default() }.some()
        });
        let delta = BlockDelta { id: id.as_str().into(), delta: delta.into(), hw };
        sink(&if reasoning { Chunk::ReasoningDelta(delta) } else { Chunk::TextDelta(delta) });
    }

    /// A delta goes to another block than the one before: that block is open, or opened now.
    fn find_block(&mut self, reasoning: bool, record: &Record, id: &PartId, sink: Sink<'_>) {
        let block = (reasoning, id.clone());
        if !self.open.contains(&block) {
            self.begin(&record.origin, sink);
            let hw = Extra { implied: true, ..self.extra(&record.origin) }.some();
            sink(&block_start(reasoning, id, hw));
            self.open.insert(block.clone());
        }
        self.last = Some(block);
    }

    fn open_block(
        &mut self,
        reasoning: bool,
        record: &Record,
        id: &PartId,
        metadata: Option<&Value>,
        sink: Sink<'_>,
    ) {
        self.begin(&record.origin, sink);
        let block = (reasoning, id.clone());
        if self.open.contains(&block) {
            // The client would take the second start for the first.
            sink(&block_end(reasoning, id, Extra { implied: true, ..Extra::default() }.some()));
        }
        self.show(record);
        let metadata = metadata.map(Cow::Borrowed);
        let hw = Extra { metadata, ..self.extra(&record.origin) }.some();
        sink(&block_start(reasoning, id, hw));
        self.open.insert(block.clone());
        self.last = Some(block);
    }

    fn close_block(
        &mut self,
        reasoning: bool,
        record: &Record,
        id: &PartId,
        metadata: Option<&Value>,
        sink: Sink<'_>,
    ) {
        if self.open.remove(&(reasoning, id.clone())) {
            self.last = None;
            self.show(record);
            let hw = Extra { metadata: metadata.map(Cow::Borrowed), ..Extra::default() }.some();
            sink(&block_end(reasoning, id, hw));
        }
    }

    fn whole(&mut self, record: &Record, content: &str, sink: Sink<'_>) {
        self.begin(&record.origin, sink);
        self.show(record);
        let mut id = PartId::from("message");
        while self.open.contains(&(false, id.clone())) {
            id = format!("{id}-").into();
        }
        let hw = Extra { whole: true, ..self.extra(&record.origin) }.some();
        sink(&block_start(false, &id, hw));
        let delta = BlockDelta { id: id.as_str().into(), delta: content.into(), hw: None };
        sink(&Chunk::TextDelta(delta));
        sink(&block_end(false, &id, None));
    }

    fn found(&mut self, record: &Record, sink: Sink<'_>) {
        match &record.event {
            Event::SourceUrl { source, url, title, call, metadata } => {
                let hw = Extra {
                    call: call.as_ref().map(|call| call.as_str().into()),
                    metadata: metadata.as_ref().map(Cow::Borrowed),
                    ..self.extra(&record.origin)
                };
                sink(&Chunk::SourceUrl(SourceUrl {
                    source_id: source.into(),
                    url: url.into(),
                    title: title.as_deref().map(Cow::Borrowed),
                    hw: hw.some(),
                }));
            }
            Event::SourceDocument { source, title, media_type, filename, text, call, metadata } => {
                let hw = Extra {
                    media_type: media_type.as_deref().map(Cow::Borrowed),
                    filename: filename.as_deref().map(Cow::Borrowed),
                    call: call.as_ref().map(|call| call.as_str().into()),
                    metadata: metadata.as_ref().map(Cow::Borrowed),
                    ..self.extra(&record.origin)
                };
                sink(&Chunk::SourceDocument(SourceDocument {
                    source_id: source.into(),
                    title: title.as_deref().map(Cow::Borrowed),
                    text: text.as_deref().map(Cow::Borrowed),
                    hw: hw.some(),
                }));
            }
            Event::File { url, media_type, filename, id, reasoning, metadata } => {
                let hw = Extra {
                    reasoning: *reasoning,
                    metadata: metadata.as_ref().map(Cow::Borrowed),
                    ..self.extra(&record.origin)
                };
                sink(&Chunk::File(File {
                    media_type: media_type.into(),
                    url: url.into(),
                    filename: filename.as_deref().map(Cow::Borrowed),
                    id: id.as_deref().map(Cow::Borrowed),
                    hw: hw.some(),
                }));
            }
            _ => {}
        }
    }

    fn data(&mut self, record: &Record, name: &str, id: Option<&str>, data: &Value, sink: Sink<'_>) {
        self.show(record);
        let message = record.origin.message.as_ref().or(self.current.as_ref()).cloned();
        if let Some(id) = id
            && !self.data.insert((message, name.to_owned(), id.to_owned()))
        {
            // The client would show both.
            return self.update(Some(&record.event), sink);
        }
        sink(&Chunk::Data(Data {
            kind: format!("data-{name}").into(),
            id: id.map(Cow::Borrowed),
            data: Cow::Borrowed(data),
            transient: None,
            hw: self.extra(&record.origin).some(),
        }));
    }

    /// A question is a part that a page can render, and an event for those who know it.
    fn ask(&mut self, record: &Record, interrupt: &Interrupt, sink: Sink<'_>) {
        let id = interrupt.request.to_string();
        let key = (self.current.clone(), "interrupt".to_owned(), id.clone());
        if !self.data.insert(key) {
            return self.carry(&record.event, sink);
        }
        let data = serde_json::to_value(interrupt).unwrap_or_default();
        let event = Event::Data {
            name: "interrupt".to_owned(),
            id: Some(id.clone()),
            data: data.clone(),
            transient: false,
        };
        self.show(&Record::new(record.seq, event).from(record.origin.clone()));
        sink(&Chunk::Data(Data {
            kind: "data-interrupt".into(),
            id: Some(id.into()),
            data: Cow::Owned(data),
            transient: None,
            hw: Extra { carried: true, ..Extra::default() }.some(),
        }));
    }

    /// Says all parts of the message again.
    fn update(&self, event: Option<&Event>, sink: Sink<'_>) {
        let id = self.shown.as_ref().map_or("", MessageId::as_str);
        sink(&Chunk::MessageUpdated(MessageUpdated {
            message: UpdatedMessage { id: id.into(), parts: Parts(&self.seen) },
            event: event.map(Cow::Borrowed),
        }));
    }

    /// Says all parts again to a client that may hold more of what is open. What comes for that opens it anew.
    pub(super) fn restate(&mut self, sink: Sink<'_>) {
        if self.shown.is_none() || self.ended {
            return;
        }
        for (reasoning, id) in std::mem::take(&mut self.open) {
            sink(&block_end(reasoning, &id, Extra { implied: true, ..Extra::default() }.some()));
        }
        (self.last, self.last_call) = (None, None);
        self.update(None, sink);
    }

    /// Takes an attempt back. The client goes on writing to a block by the place that it had, so the
    /// blocks that move are closed; what comes for them opens them anew.
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
            return self.carry(&record.event, sink);
        };
        let mut moved = Vec::new();
        for (message, part) in parts().skip(first) {
            let block = match part {
                Part::Text(text) => (false, text.id.clone()),
                Part::Reasoning(text) => (true, text.id.clone()),
                _ => continue,
            };
            if self.open.contains(&block) {
                moved.push((block, message.clone(), dead(part)));
            }
        }
        for ((reasoning, id), message, dies) in moved {
            if !self.open.remove(&(reasoning, id.clone())) {
                continue;
            }
            sink(&block_end(reasoning, &id, Extra { implied: true, ..Extra::default() }.some()));
            if !dies {
                let end = if reasoning {
                    Event::ReasoningEnd { id, metadata: None }
                } else {
                    Event::TextEnd { id, metadata: None }
                };
                let origin = Origin { message: Some(message), ..Origin::default() };
                self.show(&Record::new(record.seq, end).from(origin));
            }
        }
        self.last = None;
        self.last_call = None;
        self.show(record);
        self.calls =
            self.seen.messages().iter().flat_map(|message| &message.parts).filter_map(call).collect();
        self.update(Some(&record.event), sink);
    }
}

fn call(part: &Part) -> Option<ToolCallId> {
    match part {
        Part::Tool(tool) => Some(tool.call.clone()),
        _ => None,
    }
}

fn block_start<'a>(reasoning: bool, id: &'a PartId, hw: Option<Box<Extra<'a>>>) -> Chunk<'a> {
    let start = BlockStart { id: id.as_str().into(), hw };
    if reasoning { Chunk::ReasoningStart(start) } else { Chunk::TextStart(start) }
}

fn block_end<'a>(reasoning: bool, id: &'a PartId, hw: Option<Box<Extra<'a>>>) -> Chunk<'a> {
    let end = BlockEnd { id: id.as_str().into(), hw };
    if reasoning { Chunk::ReasoningEnd(end) } else { Chunk::TextEnd(end) }
}

/// Whether a chunk that we do not know may be sent as it came: the client must not know it either.
fn may_pass(data: &Value) -> bool {
    let kind = data.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| !super::super::is_known(kind) && kind != "error" && kind != "ping")
}
