//! Encodes events as chunks.
//!
//! The client keeps one assistant message per response, and its reaction to a chunk depends on what it has
//! seen, so the encoder tracks a few facts about the page in [`ClientPage`]. The resulting rules avoid hazards of
//! the published client (0.2.2), each handled in one place:
//!
//! - a delta is never missing and never empty, which would render `undefined` or end the run;
//! - after a tool call, text begins a new segment only if the chunk has `content: ""`, and only then may it
//!   have it, or text is repeated or lost ([`TanstackEncoder::text`]);
//! - a part between two texts without a tool call repeats the text before it, so such reasoning is not sent,
//!   and such an output is preceded by its call ([`TanstackEncoder::thought`], [`TanstackEncoder::result`]);
//! - approvals and client tool calls come after `done(tool_calls)` ([`TanstackEncoder::settle`]), and the page
//!   executes nothing before the run waits for it ([`asked`]);
//! - a visible server call keeps the page from continuing ([`later`]);
//! - a reused call id gets another name on the page ([`calls`]);
//! - nothing follows an error.

mod calls;
mod deferred_calls;
mod object;
mod page_requests;
mod reentry;
mod run;
mod tool;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;

use calls::Calls;
use deferred_calls::DeferredCalls;
use headwater_protocol::{
    ApprovalRequested, AttemptId, AttemptRetracted, AttemptStarted, BlockDelta, BlockKind, ErrorEvent, Event,
    Executor, FrameWriter, Framing, MessageId, MessageStarted, PartId, Record, Role, RunState, ToolCallId,
    ToolInputAvailable, ToolInputError,
};

use super::{
    CLIENT_TOOLS, END_MARKER,
    chunk::{Base, Call, Chunk, Content, Function, Thinking, ToolCall},
};
use crate::{
    encode::{Encode, EncodeOptions, Pieces, WriteChunk as _},
    growing_objects::GrowingObjects,
    profile::ContentMode,
};

/// Encodes a run for TanStack AI's client.
#[derive(Debug, Default)]
pub(super) struct TanstackEncoder {
    mode: ContentMode,
    seam: String,
    /// The source of `content`: the text of the segment or of the whole response. Empty in compact mode.
    said: String,
    thought: String,
    page: ClientPage,
    calls: Calls,
    /// Messages of other roles, which are not shown.
    hidden: Vec<MessageId>,
    hides: bool,
    /// The reasoning block that is not shown.
    unseen: Option<PartId>,
    /// The attempt of the last text.
    speaker: Option<AttemptId>,
    /// That attempt was retracted.
    seam_due: bool,
    end: End,
    /// The server's calls are sent later: see the profile `client-tools`.
    tells_later: bool,
    later: DeferredCalls,
    /// The open requests to the page.
    asked: Vec<Event>,
    /// Requests answered before this response began: calls and questions by id.
    answered: HashSet<String>,
    /// The calls that are not shown yet.
    unseen_calls: HashSet<ToolCallId>,
    objects: GrowingObjects,
    /// The objects that have a call in this response.
    object_calls: HashSet<String>,
    buffers: ChunkBuffers,
}

/// Buffers for writing chunks, kept so that writing one does not allocate.
#[derive(Debug, Default)]
struct ChunkBuffers {
    id: String,
    model: String,
}

/// The facts about the page that the next chunk depends on.
#[derive(Debug, Default)]
struct ClientPage {
    /// The current segment has text.
    has_text: bool,
    /// The last part is a text.
    ends_with_text: bool,
    /// A call was streamed since the segment began.
    call_since_text: bool,
    /// There is a reasoning part, which gets all reasoning.
    has_thoughts: bool,
    /// A call was streamed since the last `done`.
    turn_is_open: bool,
    /// Only approvals and client tool calls came since the last `done`.
    turn_is_over: bool,
}

impl ClientPage {
    /// Whether a part added now makes the next text repeat the one before.
    fn would_repeat(&self) -> bool {
        self.has_text && !self.call_since_text
    }

    fn add_part(&mut self) {
        self.ends_with_text = false;
    }

    /// Records that a chunk of a call was sent.
    fn call(&mut self) {
        self.call_since_text = true;
        self.turn_is_open = true;
        self.turn_is_over = false;
    }
}

/// How the stream ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum End {
    #[default]
    Open,
    Ended,
    /// Nothing may follow.
    Failed,
}

/// Receives chunks, and holds the common fields of one record's chunks.
struct ChunkSink<'s> {
    to: &'s mut dyn FnMut(&Chunk<'_>),
    record: &'s Record,
    buffers: &'s mut ChunkBuffers,
    count: u32,
}

impl ChunkSink<'_> {
    /// The receiver of the next chunk, and its base fields.
    fn next(&mut self) -> (&mut dyn FnMut(&Chunk<'_>), Base<'_>) {
        let Self { to, record, buffers: ChunkBuffers { id, model }, count } = self;
        id.clear();
        // Writing to a string never fails.
        let _ = match *count {
            0 => write!(id, "chunk_{}", record.seq),
            more => write!(id, "chunk_{}.{more}", record.seq),
        };
        *count += 1;
        let base = Base {
            id: Some(Cow::Borrowed(id)),
            model: Some(Cow::Borrowed(model)),
            timestamp: Some(record.time),
        };
        (*to, base)
    }
}

impl TanstackEncoder {
    pub(super) fn new(options: &EncodeOptions) -> Self {
        Self {
            mode: options.content,
            seam: options.seam.clone(),
            tells_later: options.profile == Some(CLIENT_TOOLS),
            buffers: ChunkBuffers { id: String::new(), model: UNKNOWN_MODEL.to_owned() },
            objects: GrowingObjects::as_text(),
            ..Self::default()
        }
    }

    /// Passes the chunks of one record to the sink: none, one or several.
    pub(super) fn chunks(&mut self, record: &Record, to: &mut dyn FnMut(&Chunk<'_>)) {
        if self.end == End::Failed {
            return;
        }
        let mut buffers = std::mem::take(&mut self.buffers);
        self.encode(&mut ChunkSink { to, record, buffers: &mut buffers, count: 0 });
        self.buffers = buffers;
    }

    fn encode(&mut self, sink: &mut ChunkSink<'_>) {
        let record = sink.record;
        self.record_request(&record.event);
        match &record.event {
            Event::BlockDelta(BlockDelta { kind: BlockKind::Text, delta, .. })
            | Event::Message { content: delta } => self.text(sink, delta),
            Event::BlockDelta(BlockDelta { kind: BlockKind::Reasoning, id, delta, .. }) => {
                self.thought(sink, id, delta);
            }

            Event::InterruptRequested(_) | Event::InterruptAnswered(_) | Event::InterruptExpired { .. } => {
                self.tool_event(sink);
            }
            event if event.tool_call().is_some() => self.tool_event(sink),
            Event::Structured(update) => self.structured(sink, update),
            Event::StructuredInvalidated(gone) => self.invalidate(sink, &gone.stream),

            Event::RunStarted(started) => {
                set_model(sink.buffers, started.model.as_deref());
                self.end = End::Open;
            }
            Event::RunFinished(_)
            | Event::RunFailed(_)
            | Event::RunCancelled { .. }
            | Event::RunWaiting(_)
            | Event::Error(ErrorEvent { terminal: true, .. }) => self.run_end(sink),

            Event::AttemptStarted(AttemptStarted { model, .. }) => set_model(sink.buffers, model.as_deref()),
            Event::AttemptFinished { .. } | Event::StepFinished { .. } => self.settle(sink),
            Event::MessageFinished { .. } => {
                self.send_grown_objects(sink);
                self.settle(sink);
            }
            Event::AttemptRetracted(AttemptRetracted { attempt, .. }) => {
                self.seam_due |= self.speaker.as_ref() == Some(attempt);
                self.later.retract(attempt);
                self.retract(sink, attempt);
            }
            Event::MessageStarted(MessageStarted { message, role, .. }) => {
                self.hides = !matches!(role, Role::Assistant | Role::Tool | Role::Reasoning);
                self.hidden.retain(|hidden| hidden != message);
                if self.hides {
                    self.hidden.push(message.clone());
                }
            }
            // The protocol has no chunk for other events.
            _ => {}
        }
    }

    fn tool_event(&mut self, sink: &mut ChunkSink<'_>) {
        if self.is_hidden(sink.record) {
            return;
        }
        if self.is_unseen(&sink.record.event) {
            self.later.note(sink.record);
        } else {
            self.tool(sink);
        }
    }

    fn is_hidden(&self, record: &Record) -> bool {
        match &record.origin.message {
            Some(message) if !self.hidden.is_empty() => self.hidden.contains(message),
            Some(_) => false,
            None => self.hides,
        }
    }

    /// Whether to hide an event from the page: a decision made before, or a call on which the page would wait
    /// in vain.
    fn is_unseen(&mut self, event: &Event) -> bool {
        match event {
            Event::ApprovalRequested(ApprovalRequested { approval, .. })
                if self.answered.contains(approval.as_str()) =>
            {
                true
            }
            Event::InterruptRequested(question) if self.answered.contains(question.request.as_str()) => true,
            _ if !self.tells_later => false,
            Event::ToolInputStart(tool)
            | Event::ToolInputAvailable(ToolInputAvailable { tool, .. })
            | Event::ToolInputError(ToolInputError { tool, .. }) => {
                let asked = tool.executor == Executor::Client && !self.answered.contains(tool.call.as_str());
                // A visible call stays visible: a person was asked about it.
                let unseen = !asked && self.calls.find(&tool.call).is_none();
                if unseen {
                    self.unseen_calls.insert(tool.call.clone());
                }
                unseen
            }
            Event::ApprovalRequested(ApprovalRequested { tool, automatic: false, .. }) => {
                self.unseen_calls.remove(&tool.call);
                self.later.forget(&tool.call);
                false
            }
            event => event.tool_call().is_some_and(|call| self.unseen_calls.contains(call)),
        }
    }

    fn text(&mut self, sink: &mut ChunkSink<'_>, delta: &str) {
        // An empty delta without `content` ends the run on the page.
        if delta.is_empty() || self.is_hidden(sink.record) {
            return;
        }
        if std::mem::take(&mut self.seam_due) && !self.seam.is_empty() {
            let seam = std::mem::take(&mut self.seam);
            self.delta(sink, &seam);
            self.seam = seam;
        }
        let attempt = &sink.record.origin.attempt;
        if self.speaker != *attempt {
            self.speaker.clone_from(attempt);
        }
        self.delta(sink, delta);
    }

    fn delta(&mut self, sink: &mut ChunkSink<'_>, delta: &str) {
        let content = self.content(delta);
        let (to, base) = sink.next();
        let delta = Some(Cow::Borrowed(delta));
        to(&Chunk::Content(Content { delta, content, role: ROLE, ..Content::at(base) }));
    }

    /// The `content` next to a delta; updates the facts about the page.
    fn content(&mut self, delta: &str) -> Option<Cow<'_, str>> {
        let page = &mut self.page;
        let begins = page.has_text && !page.ends_with_text;
        page.call_since_text &= !begins;
        page.has_text = true;
        page.ends_with_text = true;
        page.turn_is_over = false;
        match self.mode {
            ContentMode::Compact => begins.then_some(Cow::Borrowed("")),
            ContentMode::Hybrid => {
                if begins {
                    self.said.clear();
                }
                self.said.push_str(delta);
                Some(Cow::Borrowed(if begins { "" } else { &self.said }))
            }
            ContentMode::Full => {
                self.said.push_str(delta);
                Some(Cow::Borrowed(&self.said))
            }
        }
    }

    fn thought(&mut self, sink: &mut ChunkSink<'_>, part: &PartId, delta: &str) {
        if !self.page.has_thoughts && self.page.would_repeat() && self.unseen.as_ref() != Some(part) {
            self.unseen = Some(part.clone());
        }
        if delta.is_empty() || self.is_hidden(sink.record) || self.unseen.as_ref() == Some(part) {
            return;
        }
        if !self.page.has_thoughts {
            self.page.has_thoughts = true;
            self.page.add_part();
        }
        self.page.turn_is_over = false;
        let content = (self.mode != ContentMode::Compact).then(|| {
            self.thought.push_str(delta);
            Cow::Borrowed(self.thought.as_str())
        });
        let (to, base) = sink.next();
        let delta = Some(Cow::Borrowed(delta));
        to(&Chunk::Thinking(Thinking { delta, content, ..Thinking::at(base) }));
    }
}

impl Encode for TanstackEncoder {
    fn record(&mut self, record: &Record, out: &mut FrameWriter) {
        self.chunks(record, &mut |chunk| write(chunk, out));
    }

    fn reentry(&mut self, state: &RunState, out: &mut FrameWriter) {
        self.rebuild(state, out);
    }

    fn finish(&mut self, out: &mut FrameWriter) {
        // A truncated stream must not claim to be complete.
        if self.end != End::Open && out.framing() == Framing::Sse {
            out.raw(END_MARKER);
        }
    }

    /// A response is a new message, in which the page knows no earlier calls.
    fn next_response(&mut self, _: &mut FrameWriter) {
        self.page = ClientPage::default();
        self.calls = Calls::default();
        self.object_calls.clear();
        self.said.clear();
        self.thought.clear();
        self.speaker = None;
        self.seam_due = false;
        self.end = End::Open;
    }
}

/// Writes a chunk; plain deltas are serialised by hand.
fn write(chunk: &Chunk<'_>, out: &mut FrameWriter) {
    match chunk {
        Chunk::Content(Content { id: Some(id), model, timestamp, delta, content, role }) => {
            let pieces = Pieces::<20>::new(r#"{"type":"content""#)
                .text(r#","id":"#, Some(id))
                .text(r#","model":"#, model.as_deref())
                .number(r#","timestamp":"#, *timestamp)
                .text(r#","delta":"#, delta.as_deref())
                .text(r#","content":"#, content.as_deref())
                .text(r#","role":"#, role.as_deref())
                .json("}");
            out.pieces(None, pieces.list());
        }
        Chunk::ToolCall(ToolCall {
            id: Some(id),
            model,
            timestamp,
            tool_call:
                Some(Call {
                    id: Some(known),
                    kind: Some(kind),
                    function: Some(Function { name: Some(name), arguments }),
                }),
            index,
        }) => {
            let pieces = Pieces::<25>::new(r#"{"type":"tool_call""#)
                .text(r#","id":"#, Some(id))
                .text(r#","model":"#, model.as_deref())
                .number(r#","timestamp":"#, *timestamp)
                .text(r#","toolCall":{"id":"#, Some(known))
                .text(r#","type":"#, Some(kind))
                .text(r#","function":{"name":"#, Some(name))
                .text(r#","arguments":"#, arguments.as_deref())
                .json("}}")
                .number(r#","index":"#, *index)
                .json("}");
            out.pieces(None, pieces.list());
        }
        chunk => out.chunk(None, chunk),
    }
}

/// Every chunk needs a model name, even if it is unknown.
const UNKNOWN_MODEL: &str = "unknown";

const ROLE: Option<Cow<'static, str>> = Some(Cow::Borrowed("assistant"));

fn set_model(buffers: &mut ChunkBuffers, model: Option<&str>) {
    if let Some(model) = model {
        buffers.model.clear();
        buffers.model.push_str(model);
    }
}

#[cfg(test)]
mod tests;
