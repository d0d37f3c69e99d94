//! Events in, chunks out.
//!
//! The client keeps one assistant message per response, and what it makes of a chunk depends on what it
//! has seen: so the encoder keeps the few facts of [`Page`] about what the page shows. The rules that
//! follow from them are hazards of the published client (0.2.2), each met in one place:
//!
//! - a delta is never missing and never empty, which would render `undefined` or end the run;
//! - after a tool call the next text begins a new segment only if the chunk says `content: ""`, and
//!   only then may it say so, or text is repeated or lost ([`Encoder::text`]);
//! - a part that comes between two texts without a tool call repeats the text before it, so such
//!   thoughts are carried unseen, and such an output is preceded by its call ([`Encoder::thought`],
//!   [`Encoder::result`]);
//! - approvals and calls for the page come after `done(tool_calls)` ([`Encoder::settle`]), and the page executes
//!   nothing before the run waits for it ([`asked`]);
//! - a call of the server that is shown keeps the page from going on ([`later`]);
//! - a call id that comes again gets another name on the page ([`calls`]);
//! - nothing follows an error.

mod asked;
mod calls;
mod later;
mod reentry;
mod run;
mod tool;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::Value;

use super::{
    CLIENT_TOOLS, END_MARKER,
    chunk::{Base, Call, Carried, Chunk, Content, Function, TYPES, Thinking, ToolCall},
};
use crate::{
    carry,
    dialect::ContentMode,
    encode::{Encode, EncodeOptions},
    event::{Event, Executor, Record, Role},
    framing::{FrameWriter, Framing, Pieces},
    id::{AttemptId, MessageId, PartId, ToolCallId},
    state::RunState,
};

use calls::Calls;
use later::Later;

/// Encodes a run for TanStack AI's client.
///
/// ```
/// use headwater_protocol::{EncodeOptions, Event, Record};
/// use headwater_protocol::dialects::tanstack::{Chunk, Encoder};
///
/// let mut encoder = Encoder::new(&EncodeOptions::default());
/// let mut deltas = Vec::new();
/// let event = Event::TextDelta { id: "t1".into(), delta: "Hello".into(), metadata: None };
/// encoder.chunks(&Record::new(7, event), &mut |chunk| {
///     if let Chunk::Content(content) = chunk {
///         deltas.push((content.id.clone().unwrap().into_owned(), content.delta.clone().unwrap().into_owned()));
///     }
/// });
/// assert_eq!(deltas, [("chunk_7".to_owned(), "Hello".to_owned())]);
/// ```
#[derive(Debug)]
pub struct Encoder {
    mode: ContentMode,
    seam: String,
    /// What `content` is taken from: the segment's text, or the whole response's. Empty in compact mode.
    said: String,
    thought: String,
    page: Page,
    calls: Calls,
    /// Messages that are not the assistant's, and so are not shown.
    hidden: Vec<MessageId>,
    hides: bool,
    /// The block of thoughts that is carried unseen.
    unseen: Option<PartId>,
    /// The attempt that said the last text.
    speaker: Option<AttemptId>,
    /// That attempt was taken back.
    seam_due: bool,
    end: End,
    /// The server's calls are told later: see the profile `client-tools`.
    tells_later: bool,
    later: Later,
    /// What the page is asked for and has not given.
    asked: Vec<Event>,
    /// What was answered before this response began: calls by their ids, requests by theirs.
    answered: HashSet<String>,
    /// The calls that are carried unseen.
    unseen_calls: HashSet<ToolCallId>,
    pen: Pen,
}

/// What chunks are written with: kept, so that writing one allocates nothing.
#[derive(Debug, Default)]
struct Pen {
    id: String,
    model: String,
}

/// What the page shows, as far as the next chunk depends on it.
#[derive(Debug, Default)]
struct Page {
    /// The current segment has text.
    has_text: bool,
    /// The last part is a text.
    ends_with_text: bool,
    /// A call was streamed since the segment began.
    call_since_text: bool,
    /// There is a part of thoughts, to which all thoughts go.
    has_thoughts: bool,
    /// A call was streamed since the last `done`.
    turn_is_open: bool,
    /// Nothing but approvals and calls for the page came since the last `done`.
    turn_is_over: bool,
}

impl Page {
    /// Whether a part that is added now makes the next text repeat the one before.
    fn would_repeat(&self) -> bool {
        self.has_text && !self.call_since_text
    }

    fn add_part(&mut self) {
        self.ends_with_text = false;
    }

    /// A chunk of a call was sent.
    fn call(&mut self) {
        self.call_since_text = true;
        self.turn_is_open = true;
        self.turn_is_over = false;
    }
}

/// How the stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    Ended,
    /// Nothing may follow.
    Failed,
}

/// Where chunks go, with what all chunks of one record have in common.
struct Sink<'s> {
    to: &'s mut dyn FnMut(&Chunk<'_>),
    record: &'s Record,
    pen: &'s mut Pen,
    count: u32,
}

impl Sink<'_> {
    /// Where the next chunk goes, and how it begins.
    fn next(&mut self) -> (&mut dyn FnMut(&Chunk<'_>), Base<'_>) {
        let Self { to, record, pen: Pen { id, model }, count } = self;
        id.clear();
        // A string takes everything.
        let _ = match *count {
            0 => write!(id, "chunk_{}", record.seq),
            more => write!(id, "chunk_{}.{more}", record.seq),
        };
        *count += 1;
        let base = Base {
            id: Some(Cow::Borrowed(id)),
            model: Some(Cow::Borrowed(model)),
            timestamp: Some(record.time),
            message: record.origin.message.as_ref().map(|id| Cow::Borrowed(id.as_str())),
            attempt: record.origin.attempt.as_ref().map(|id| Cow::Borrowed(id.as_str())),
        };
        (*to, base)
    }

    /// Sends the record's event as it is, in a chunk that the page passes over.
    fn carry(&mut self) {
        let event = &self.record.event;
        let (to, base) = self.next();
        to(&Chunk::Carried(Carried { event: Some(Cow::Borrowed(event)), ..Carried::at(base) }));
    }
}

impl Encoder {
    /// An encoder at the beginning of a response.
    #[must_use]
    pub fn new(options: &EncodeOptions) -> Self {
        Self {
            mode: options.content,
            seam: options.seam.clone(),
            said: String::new(),
            thought: String::new(),
            page: Page::default(),
            calls: Calls::default(),
            hidden: Vec::new(),
            hides: false,
            unseen: None,
            speaker: None,
            seam_due: false,
            end: End::Open,
            tells_later: options.profile.as_deref() == Some(CLIENT_TOOLS),
            later: Later::default(),
            asked: Vec::new(),
            answered: HashSet::new(),
            unseen_calls: HashSet::new(),
            pen: Pen { id: String::new(), model: UNKNOWN_MODEL.to_owned() },
        }
    }

    /// The chunks of one record: none, one or several.
    pub fn chunks(&mut self, record: &Record, to: &mut dyn FnMut(&Chunk<'_>)) {
        if self.end == End::Failed {
            return;
        }
        let mut pen = std::mem::take(&mut self.pen);
        self.encode(&mut Sink { to, record, pen: &mut pen, count: 0 });
        self.pen = pen;
    }

    fn encode(&mut self, sink: &mut Sink<'_>) {
        let record = sink.record;
        self.note_asked(&record.event);
        match &record.event {
            Event::TextDelta { id, delta, metadata } => {
                self.text(sink, Some(id.as_str()), delta, metadata.as_ref());
            }
            Event::Message { content } => self.text(sink, None, content, None),
            Event::ReasoningDelta { id, delta, metadata } => {
                self.thought(sink, id, delta, metadata.as_ref());
            }

            Event::ToolInputStart(_)
            | Event::ToolInputDelta { .. }
            | Event::ToolInputAvailable { .. }
            | Event::ToolInputError { .. }
            | Event::ApprovalRequested { .. }
            | Event::ToolOutput { .. }
            | Event::ToolOutputError { .. }
            | Event::ToolDenied { .. }
            | Event::InterruptRequested(_)
            | Event::InterruptAnswered { .. }
            | Event::InterruptExpired { .. } => {
                if self.is_hidden(record) {
                    sink.carry();
                } else if self.is_unseen(&record.event) {
                    self.later.note(record);
                    sink.carry();
                } else {
                    self.tool(sink);
                }
            }

            Event::RunStarted(started) => {
                set_model(sink.pen, started.model.as_deref());
                self.end = End::Open;
                sink.carry();
            }
            Event::RunFinished { .. }
            | Event::RunFailed(_)
            | Event::RunCancelled { .. }
            | Event::RunWaiting { .. }
            | Event::Error { terminal: true, .. } => self.run_end(sink),

            Event::AttemptStarted { model, .. } => {
                set_model(sink.pen, model.as_deref());
                sink.carry();
            }
            Event::AttemptFinished { .. } | Event::StepFinished { .. } | Event::MessageFinished { .. } => {
                self.settle(sink);
                sink.carry();
            }
            Event::AttemptRetracted { attempt, .. } => {
                self.seam_due |= self.speaker.as_ref() == Some(attempt);
                self.later.retract(attempt);
                self.retract(sink, attempt);
                sink.carry();
            }

            Event::MessageStarted { message, role, .. } => {
                self.hides = !matches!(role, Role::Assistant | Role::Tool | Role::Reasoning);
                self.hidden.retain(|hidden| hidden != message);
                if self.hides {
                    self.hidden.push(message.clone());
                }
                sink.carry();
            }
            Event::Unknown { name, data } if is_foreign(name, data) => {
                (sink.to)(&Chunk::Other(Cow::Borrowed(data)));
            }

            Event::MessageMetadata { .. }
            | Event::StepStarted { .. }
            | Event::TextStart { .. }
            | Event::TextEnd { .. }
            | Event::ReasoningStart { .. }
            | Event::ReasoningEnd { .. }
            | Event::ApprovalAnswered { .. }
            | Event::SourceUrl { .. }
            | Event::SourceDocument { .. }
            | Event::File { .. }
            | Event::Data { .. }
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
            | Event::Error { .. }
            | Event::Trace { .. }
            | Event::Unknown { .. } => sink.carry(),
        }
    }

    fn is_hidden(&self, record: &Record) -> bool {
        match &record.origin.message {
            Some(message) if !self.hidden.is_empty() => self.hidden.contains(message),
            Some(_) => false,
            None => self.hides,
        }
    }

    /// Whether the page is not to see it: a decision that was made before, or a call that the page would wait for in vain.
    fn is_unseen(&mut self, event: &Event) -> bool {
        match event {
            Event::ApprovalRequested { approval, .. } if self.answered.contains(approval.as_str()) => true,
            Event::InterruptRequested(question) if self.answered.contains(question.request.as_str()) => true,
            _ if !self.tells_later => false,
            Event::ToolInputStart(tool)
            | Event::ToolInputAvailable { tool, .. }
            | Event::ToolInputError { tool, .. } => {
                let asked = tool.executor == Executor::Client && !self.answered.contains(tool.call.as_str());
                // One that is shown stays so: a person was asked about it.
                let unseen = !asked && self.calls.find(&tool.call).is_none();
                if unseen {
                    self.unseen_calls.insert(tool.call.clone());
                }
                unseen
            }
            Event::ApprovalRequested { tool, automatic: false, .. } => {
                self.unseen_calls.remove(&tool.call);
                self.later.forget(&tool.call);
                false
            }
            Event::ToolInputDelta { call, .. }
            | Event::ToolOutput { call, .. }
            | Event::ToolOutputError { call, .. }
            | Event::ToolDenied { call, .. } => self.unseen_calls.contains(call),
            _ => false,
        }
    }

    fn text(&mut self, sink: &mut Sink<'_>, part: Option<&str>, delta: &str, metadata: Option<&Value>) {
        // An empty delta without `content` ends the run on the page.
        if delta.is_empty() || self.is_hidden(sink.record) {
            return sink.carry();
        }
        if std::mem::take(&mut self.seam_due) && !self.seam.is_empty() {
            let seam = std::mem::take(&mut self.seam);
            let content = self.content(&seam);
            let (to, base) = sink.next();
            let delta = Some(Cow::Borrowed(seam.as_str()));
            to(&Chunk::Content(Content { delta, content, role: ROLE, derived: true, ..Content::at(base) }));
            self.seam = seam;
        }
        let attempt = &sink.record.origin.attempt;
        if self.speaker != *attempt {
            self.speaker.clone_from(attempt);
        }
        let content = self.content(delta);
        let (to, base) = sink.next();
        to(&Chunk::Content(Content {
            delta: Some(Cow::Borrowed(delta)),
            content,
            role: ROLE,
            part: part.map(Cow::Borrowed),
            whole: part.is_none(),
            metadata: metadata.map(Cow::Borrowed),
            ..Content::at(base)
        }));
    }

    /// What `content` says beside a delta, and what the page shows afterwards.
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

    fn thought(&mut self, sink: &mut Sink<'_>, part: &PartId, delta: &str, metadata: Option<&Value>) {
        if !self.page.has_thoughts && self.page.would_repeat() && self.unseen.as_ref() != Some(part) {
            self.unseen = Some(part.clone());
        }
        if delta.is_empty() || self.is_hidden(sink.record) || self.unseen.as_ref() == Some(part) {
            return sink.carry();
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
        to(&Chunk::Thinking(Thinking {
            delta: Some(Cow::Borrowed(delta)),
            content,
            part: Some(Cow::Borrowed(part.as_str())),
            metadata: metadata.map(Cow::Borrowed),
            ..Thinking::at(base)
        }));
    }
}

impl Encode for Encoder {
    fn record(&mut self, record: &Record, out: &mut FrameWriter) {
        self.chunks(record, &mut |chunk| write(chunk, out));
    }

    fn reentry(&mut self, state: &RunState, out: &mut FrameWriter) {
        self.rebuild(state, out);
    }

    fn finish(&mut self, out: &mut FrameWriter) {
        // A stream that was cut does not claim to be complete.
        if self.end != End::Open && out.framing() == Framing::Sse {
            out.raw(END_MARKER);
        }
    }

    /// A response is a message of its own, in which the page knows no call of the one before.
    fn next_response(&mut self, _: &mut FrameWriter) {
        self.page = Page::default();
        self.calls = Calls::default();
        self.said.clear();
        self.thought.clear();
        self.speaker = None;
        self.seam_due = false;
        self.end = End::Open;
    }
}

/// Writes a chunk; plain deltas by hand.
pub(super) fn write(chunk: &Chunk<'_>, out: &mut FrameWriter) {
    match chunk {
        Chunk::Content(Content {
            id: Some(id),
            model,
            timestamp,
            delta,
            content,
            role,
            part,
            whole: false,
            metadata: None,
            message,
            attempt,
            derived: false,
        }) => {
            let pieces = Pieces::<20>::new(r#"{"type":"content""#)
                .text(r#","id":"#, Some(id))
                .text(r#","model":"#, model.as_deref())
                .number(r#","timestamp":"#, *timestamp)
                .text(r#","delta":"#, delta.as_deref())
                .text(r#","content":"#, content.as_deref())
                .text(r#","role":"#, role.as_deref())
                .text(r#","part":"#, part.as_deref())
                .text(r#","message":"#, message.as_deref())
                .text(r#","attempt":"#, attempt.as_deref())
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
            call,
            event: None,
            payload: None,
            message,
            attempt,
            derived: false,
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
                .text(r#","call":"#, call.as_deref())
                .text(r#","message":"#, message.as_deref())
                .text(r#","attempt":"#, attempt.as_deref())
                .json("}");
            out.pieces(None, pieces.list());
        }
        chunk => out.chunk(None, chunk),
    }
}

/// Every chunk names a model, whether anybody said which.
const UNKNOWN_MODEL: &str = "unknown";

const ROLE: Option<Cow<'static, str>> = Some(Cow::Borrowed("assistant"));

fn set_model(pen: &mut Pen, model: Option<&str>) {
    if let Some(model) = model {
        pen.model.clear();
        pen.model.push_str(model);
    }
}

/// Whether it is a chunk that the page passes over, and that is read back as it is.
fn is_foreign(name: &str, data: &Value) -> bool {
    let kind = data.get("type").and_then(Value::as_str);
    match kind {
        Some(kind) => kind == name && kind != carry::NAME && !TYPES.contains(&kind),
        None => name.is_empty() && !data.is_null(),
    }
}

#[cfg(test)]
mod tests;
