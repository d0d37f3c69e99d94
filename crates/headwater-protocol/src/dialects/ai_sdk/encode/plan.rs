//! How each event is said.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{Audience, Block, Encoder, Holds, Step, text};
use crate::{
    carry,
    dialects::ai_sdk::chunk::{
        self, Abort, BlockDelta, Chunk, Data, ErrorText, File, Finish, MessageMetadata, SourceDocument,
        SourceUrl, Start, TextEnd, is_provider_metadata,
    },
    event::{Event, FinishReason, Interrupt, Record, Role},
    id::PartId,
};

/// The chunks that say an event, and whether a mark must say it too.
#[derive(Debug, Default)]
pub(super) struct Plan<'a> {
    pub(super) marked: bool,
    pub(super) chunks: Vec<Chunk<'a>>,
}

impl<'a> Plan<'a> {
    /// To be said by a mark, with chunks or without.
    pub(super) fn marked() -> Self {
        Self { marked: true, chunks: Vec::new() }
    }

    /// To be said by one chunk, which says all of it unless `lossy`.
    fn one(chunk: Chunk<'a>, lossy: bool) -> Self {
        Self { marked: lossy, chunks: vec![chunk] }
    }

    pub(super) fn push(&mut self, chunk: Chunk<'a>) {
        self.chunks.push(chunk);
    }

    pub(super) fn close(&mut self, reasoning: bool, id: &str) {
        let id = Cow::Owned(id.to_owned());
        self.push(if reasoning {
            Chunk::ReasoningEnd(chunk::Block { id, provider_metadata: None })
        } else {
            Chunk::TextEnd(TextEnd { id, provider_metadata: None, citations: None })
        });
    }

    /// A whole text of its own.
    pub(super) fn text(&mut self, id: String, content: Cow<'a, str>) {
        let block = chunk::Block { id: Cow::Owned(id.clone()), provider_metadata: None };
        self.push(Chunk::TextStart(block));
        let delta = BlockDelta { id: Cow::Owned(id.clone()), delta: content, provider_metadata: None };
        self.push(Chunk::TextDelta(delta));
        self.close(false, &id);
    }

    /// The run failed. The chat client stops at the error; others read on to the finish.
    pub(super) fn error(&mut self, message: impl Into<Cow<'a, str>>) {
        self.push(Chunk::Error(ErrorText { error_text: message.into() }));
        let finish_reason = Some(Cow::Borrowed("error"));
        self.push(Chunk::Finish(Finish { finish_reason, message_metadata: None }));
    }
}

/// Provider metadata that the client takes, and whether something is left.
pub(super) fn metadata(metadata: Option<&Value>) -> (Option<Cow<'_, Value>>, bool) {
    match metadata {
        Some(value) if is_provider_metadata(value) => (Some(Cow::Borrowed(value)), false),
        Some(_) => (None, true),
        None => (None, false),
    }
}

impl Encoder {
    pub(super) fn plan<'a>(&mut self, record: &'a Record) -> Plan<'a> {
        if self.is_silent(record) {
            return Plan::marked();
        }
        let attempt = record.origin.attempt.as_ref();
        match &record.event {
            Event::MessageStarted { message, role, author } => {
                let shown = !matches!(role, Role::User | Role::System | Role::Developer);
                self.messages.insert(message.clone(), shown);
                let mut plan = Plan::marked();
                if shown && !self.started {
                    plan.marked = *role != Role::Assistant || author.is_some();
                    let message_id = Some(text(message));
                    plan.push(Chunk::Start(Start { message_id, message_metadata: None }));
                    // An attempt that began before its message still gets a step of its own.
                    if self.audience == Audience::Ai7 && self.place.attempt.is_some() {
                        plan.marked = true;
                        self.boundary(&mut plan);
                    }
                } else if shown && self.place.message.as_ref() != Some(message) && self.has_content() {
                    self.boundary(&mut plan);
                }
                plan
            }
            Event::MessageMetadata { metadata } => {
                if !metadata.is_object() {
                    return Plan::marked();
                }
                let message_metadata = Cow::Borrowed(metadata);
                Plan::one(Chunk::MessageMetadata(MessageMetadata { message_metadata }), false)
            }
            Event::Message { content } => {
                self.holds(attempt);
                self.made += 1;
                let mut plan = Plan::marked();
                plan.text(format!("hw-message-{}", self.made), text(content));
                plan
            }

            Event::StepStarted { name } => {
                let mut plan = Plan { marked: name.is_some() || self.step.open, chunks: Vec::new() };
                plan.marked |= !self.blocks.is_empty();
                self.boundary(&mut plan);
                plan
            }
            Event::StepFinished { name } => {
                let mut plan = Plan { marked: name.is_some() || !self.step.open, chunks: Vec::new() };
                if self.step.open {
                    plan.marked |= !self.blocks.is_empty();
                    self.close_all(&mut plan);
                }
                plan
            }

            Event::TextStart { id, metadata } => self.start_block(record, false, id, metadata.as_ref()),
            Event::ReasoningStart { id, metadata } => self.start_block(record, true, id, metadata.as_ref()),
            Event::TextDelta { id, delta, metadata } => {
                self.grow_block(record, false, id, delta, metadata.as_ref())
            }
            Event::ReasoningDelta { id, delta, metadata } => {
                self.grow_block(record, true, id, delta, metadata.as_ref())
            }
            Event::TextEnd { id, metadata } => self.end_block(record, false, id, metadata.as_ref()),
            Event::ReasoningEnd { id, metadata } => self.end_block(record, true, id, metadata.as_ref()),

            Event::ToolInputStart(_)
            | Event::ToolInputDelta { .. }
            | Event::ToolInputAvailable { .. }
            | Event::ToolInputError { .. }
            | Event::ApprovalRequested { .. }
            | Event::ApprovalAnswered { .. }
            | Event::ToolOutput { .. }
            | Event::ToolOutputError { .. }
            | Event::ToolDenied { .. } => self.plan_tool(record),

            Event::SourceUrl { source, url, title, call, metadata: said } => {
                self.holds(attempt);
                let (provider_metadata, rest) = metadata(said.as_ref());
                let title = title.as_ref().map(text);
                let chunk = SourceUrl { source_id: text(source), url: text(url), title, provider_metadata };
                Plan::one(Chunk::SourceUrl(chunk), rest || call.is_some())
            }
            Event::SourceDocument {
                source,
                title,
                media_type,
                filename,
                text: passage,
                call,
                metadata: said,
            } => {
                self.holds(attempt);
                let (provider_metadata, rest) = metadata(said.as_ref());
                let whole = title.is_some() && media_type.is_some() && passage.is_none() && call.is_none();
                let chunk = SourceDocument {
                    source_id: text(source),
                    media_type: media_type.as_ref().map_or(Cow::Borrowed("text/plain"), text),
                    title: title.as_ref().or(filename.as_ref()).map_or(text(source), text),
                    filename: filename.as_ref().map(text),
                    provider_metadata,
                };
                Plan::one(Chunk::SourceDocument(chunk), rest || !whole)
            }
            Event::File { reasoning: true, .. } if self.audience == Audience::Strict => Plan::marked(),
            Event::File { url, media_type, filename, id, reasoning, metadata: said } => {
                self.holds(attempt);
                let (provider_metadata, rest) = metadata(said.as_ref());
                let chunk = File { url: text(url), media_type: text(media_type), provider_metadata };
                let chunk = if *reasoning { Chunk::ReasoningFile(chunk) } else { Chunk::File(chunk) };
                Plan::one(chunk, rest || filename.is_some() || id.is_some())
            }
            Event::Data { name, .. } if name == carry::NAME => Plan::marked(),
            Event::Data { name, id, data, transient } => {
                if !transient {
                    self.holds(None);
                }
                let chunk = Data {
                    name: text(name),
                    id: id.as_ref().map(text),
                    data: Cow::Borrowed(data),
                    transient: transient.then_some(true),
                };
                Plan::one(Chunk::Data(chunk), false)
            }

            Event::InterruptRequested(interrupt) => self.interrupt(interrupt),
            Event::InterruptAnswered { request, answer } => {
                let data = json!({ "request": request, "state": "answered", "answer": answer });
                self.interrupt_data(request.as_str(), data)
            }
            Event::InterruptExpired { request } => {
                self.interrupt_data(request.as_str(), json!({ "request": request, "state": "expired" }))
            }

            Event::AttemptStarted { .. } => self.start_attempt(),
            Event::AttemptRetracted { attempt, .. } => self.retract(attempt),

            Event::RunFinished { reason, usage, data } => {
                let mut plan = Plan::default();
                self.close_all(&mut plan);
                let word = reason.as_ref().map(finish_word);
                let whole = reason.as_ref().is_none_or(|reason| Some(reason.as_str()) == word);
                plan.marked = !plan.chunks.is_empty() || usage.is_some() || data.is_some() || !whole;
                let finish_reason = word.map(Cow::Borrowed);
                plan.push(Chunk::Finish(Finish { finish_reason, message_metadata: None }));
                self.ended = true;
                plan
            }
            Event::RunFailed(error) | Event::Error { error, terminal: true } => {
                let mut plan = Plan::marked();
                self.close_all(&mut plan);
                plan.error(&*error.message);
                self.ended = true;
                plan
            }
            Event::RunCancelled { reason } => {
                let mut plan = Plan::default();
                self.close_all(&mut plan);
                let said = reason.as_ref().filter(|_| self.audience == Audience::Ai7).map(text);
                plan.marked = !plan.chunks.is_empty() || reason.is_some() != said.is_some();
                plan.push(Chunk::Abort(Abort { reason: said }));
                self.ended = true;
                plan
            }
            Event::RunWaiting { .. } => {
                self.waiting = true;
                Plan::marked()
            }

            Event::Unknown { name, data } => self.unknown(name, data),

            Event::RunStarted(_) => {
                self.waiting = false;
                Plan::marked()
            }
            Event::MessageFinished { .. }
            | Event::AttemptFinished { .. }
            | Event::Structured(_)
            | Event::StructuredInvalidated { .. }
            | Event::StateSnapshot { .. }
            | Event::StateDelta { .. }
            | Event::MessagesSnapshot { .. }
            | Event::Status { .. }
            | Event::Transition { .. }
            | Event::Checkpoint { .. }
            | Event::Usage(_)
            | Event::Warning { .. }
            | Event::Error { terminal: false, .. }
            | Event::Trace { .. } => Plan::marked(),
        }
    }

    /// Whether the step has anything that a new message must be told from.
    fn has_content(&self) -> bool {
        !matches!(self.step.holds, Holds::Nothing)
    }

    fn start_block<'a>(
        &mut self,
        record: &'a Record,
        reasoning: bool,
        id: &'a PartId,
        said: Option<&'a Value>,
    ) -> Plan<'a> {
        let mut plan = Plan::default();
        self.close_blocks(&mut plan, |open| open.reasoning == reasoning && open.id == *id);
        let (provider_metadata, rest) = metadata(said);
        plan.marked = rest || !plan.chunks.is_empty();
        let block = chunk::Block { id: text(id), provider_metadata };
        plan.push(if reasoning { Chunk::ReasoningStart(block) } else { Chunk::TextStart(block) });
        self.open_block(record, reasoning, id);
        plan
    }

    fn open_block(&mut self, record: &Record, reasoning: bool, id: &PartId) {
        let (message, attempt) = (self.wanted_message(record), record.origin.attempt.clone());
        self.holds(attempt.as_ref());
        self.blocks.push(Block { reasoning, id: id.clone(), message, attempt });
    }

    /// A delta of a block that is not open on the wire opens it.
    fn grow_block<'a>(
        &mut self,
        record: &'a Record,
        reasoning: bool,
        id: &'a PartId,
        delta: &'a str,
        said: Option<&'a Value>,
    ) -> Plan<'a> {
        let mut plan = Plan::default();
        let wanted = self.wanted_message(record);
        let same = |open: &Block| open.reasoning == reasoning && open.id == *id;
        if !self.blocks.iter().any(|open| same(open) && open.message == wanted) {
            self.close_blocks(&mut plan, same);
            let block = chunk::Block { id: text(id), provider_metadata: None };
            plan.push(if reasoning { Chunk::ReasoningStart(block) } else { Chunk::TextStart(block) });
            self.open_block(record, reasoning, id);
        }
        let (provider_metadata, rest) = metadata(said);
        plan.marked = rest || !plan.chunks.is_empty();
        let chunk = BlockDelta { id: text(id), delta: text(delta), provider_metadata };
        plan.push(if reasoning { Chunk::ReasoningDelta(chunk) } else { Chunk::TextDelta(chunk) });
        plan
    }

    /// The end of a block that is not open on the wire is only for our own readers.
    fn end_block<'a>(
        &mut self,
        record: &'a Record,
        reasoning: bool,
        id: &'a PartId,
        said: Option<&'a Value>,
    ) -> Plan<'a> {
        let wanted = self.wanted_message(record);
        let open = self
            .blocks
            .iter()
            .position(|open| open.reasoning == reasoning && open.id == *id && open.message == wanted);
        let Some(open) = open else {
            return Plan::marked();
        };
        self.blocks.remove(open);
        let (provider_metadata, rest) = metadata(said);
        let id = text(id);
        let chunk = if reasoning {
            Chunk::ReasoningEnd(chunk::Block { id, provider_metadata })
        } else {
            Chunk::TextEnd(TextEnd { id, provider_metadata, citations: None })
        };
        Plan::one(chunk, rest)
    }

    /// A question is a data part that the page can show and replace.
    fn interrupt<'a>(&mut self, interrupt: &Interrupt) -> Plan<'a> {
        let mut data = serde_json::to_value(interrupt).unwrap_or_default();
        if let Value::Object(map) = &mut data {
            map.insert("state".to_owned(), json!("open"));
        }
        self.interrupt_data(interrupt.request.as_str(), data)
    }

    fn interrupt_data<'a>(&mut self, request: &str, data: Value) -> Plan<'a> {
        self.holds(None);
        let chunk = Data {
            name: Cow::Borrowed("interrupt"),
            id: Some(Cow::Owned(request.to_owned())),
            data: Cow::Owned(data),
            transient: None,
        };
        Plan::one(Chunk::Data(chunk), true)
    }

    /// What only version 7 knows goes to it as it came.
    fn unknown<'a>(&mut self, name: &str, data: &'a Value) -> Plan<'a> {
        let own = matches!(name, "custom" | "steering-message" | "reset-step");
        let typed = data.get("type").and_then(Value::as_str) == Some(name);
        let whole = own && typed && Chunk::read(&data.to_string()).is_ok();
        if !whole || self.audience == Audience::Strict {
            return Plan::marked();
        }
        if name == "reset-step" {
            self.blocks.clear();
            self.calls.clear();
            self.approvals.clear();
            self.step = Step { holds: Holds::Nothing, ..std::mem::take(&mut self.step) };
        } else {
            self.holds(None);
        }
        Plan::one(Chunk::Raw(Cow::Borrowed(data)), false)
    }
}

/// The word of the client's closed list.
fn finish_word(reason: &FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::ContentFilter => "content-filter",
        FinishReason::ToolCalls => "tool-calls",
        FinishReason::Error => "error",
        FinishReason::Other(_) => "other",
    }
}
