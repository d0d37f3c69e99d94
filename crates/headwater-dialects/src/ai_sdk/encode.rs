//! Encodes records as chunks.
//!
//! A stream builds one message: further messages of the agent become steps of it, and user messages are not
//! sent. Deltas of open blocks take a fast path.

mod attempt;
mod content;
mod tool;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use headwater_protocol::{
    self, ApprovalId, AttemptId, BlockKind, Event, Executor, FrameWriter, Framing, MessageId, Part, PartId,
    Piece, QuestionState, Record, RunState, ToolCallId, ToolState,
};
use serde_json::Value;

use super::{
    chunk::{self, BlockDelta, Chunk, Data, Empty, ErrorText, Finish, Start, TextEnd, ToolInputDelta},
    decode::DONE,
};
use crate::{
    encode::{Encode, EncodeOptions, WriteChunk as _},
    growing_objects::GrowingObjects,
};

/// The clients that the stream is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Audience {
    /// All of versions 5, 6 and 7: only what the oldest of them knows.
    #[default]
    Strict,
    /// Version 7.0.70 and later.
    Ai7,
    /// Version 5 before 5.0.92: it knows neither approvals nor finish reasons.
    Ai50,
}

/// Encodes one stream.
#[derive(Debug, Default)]
pub(super) struct AiSdkEncoder {
    audience: Audience,
    seam: String,
    /// `start` was sent.
    started: bool,
    /// There was a record.
    spoke: bool,
    /// The terminal chunk was sent.
    ended: bool,
    /// The run waits; the terminal chunk is sent when the stream ends.
    waiting: bool,
    /// The message that was started last.
    current: Option<MessageId>,
    attempt: Option<AttemptId>,
    /// The messages so far, and whether a page shows them: not those of a user.
    messages: HashMap<MessageId, bool>,
    blocks: Vec<OpenPart>,
    /// The calls that the client knows; a question is one too.
    calls: HashMap<ToolCallId, ShownCall>,
    approvals: HashMap<ApprovalId, ToolCallId>,
    /// The calls that were finished when the client reconnected.
    done_before: HashSet<ToolCallId>,
    objects: GrowingObjects,
    step: Step,
    /// The attempts with visible content.
    heard: Vec<AttemptId>,
    /// The number of block ids generated here.
    made: u64,
}

/// A block that is open on the wire.
#[derive(Debug)]
struct OpenPart {
    kind: BlockKind,
    id: PartId,
    message: Option<MessageId>,
    attempt: Option<AttemptId>,
}

/// A call that the client knows.
#[derive(Debug, Default)]
struct ShownCall {
    name: String,
    attempt: Option<AttemptId>,
    /// `tool-input-start` was sent, so deltas may follow.
    partial: bool,
    /// The input is complete: the same call in another step would be another part.
    ready: bool,
    settled: bool,
    asked: bool,
}

/// The current step on the wire.
#[derive(Debug, Default)]
struct Step {
    /// `finish-step` must still be sent.
    open: bool,
    /// This stream has had a `start-step`.
    seen: bool,
    holds: Holds,
    /// The data of the step, which a reset drops as well: it is sent again then.
    kept: Vec<Data<'static>>,
}

/// The content of the current step.
#[derive(Debug, Default)]
enum Holds {
    #[default]
    Nothing,
    /// Parts of one attempt only, without any executed effect.
    Only(AttemptId),
    Several,
}

impl AiSdkEncoder {
    pub(super) fn new(options: &EncodeOptions) -> Self {
        let audience = match options.profile {
            Some(profile) if profile == super::AI_7 => Audience::Ai7,
            Some(profile) if profile == super::AI_5_0 => Audience::Ai50,
            _ => Audience::Strict,
        };
        Self { audience, seam: options.seam.clone(), ..Self::default() }
    }

    /// Sends a chunk, and `start` before the first one that changes the message.
    fn put(&mut self, chunk: &Chunk<'_>, out: &mut FrameWriter) {
        let transient = matches!(chunk, Chunk::Data(data) if data.transient == Some(true));
        if !transient && !std::mem::replace(&mut self.started, true) && !matches!(chunk, Chunk::Start(_)) {
            write(&start(self.shown_message()), out);
        }
        match chunk {
            Chunk::Finish(_) if self.audience == Audience::Ai50 => write(&finish(None), out),
            chunk => write(chunk, out),
        }
    }

    /// Deltas of open blocks: the fast path, without allocation.
    fn delta(&self, record: &Record, out: &mut FrameWriter) -> bool {
        let chunk = match &record.event {
            Event::BlockDelta(block)
                if block.metadata.is_none() && self.is_open(block.kind, &block.id, record) =>
            {
                block_delta(block.kind, block.id.as_str(), &block.delta, None)
            }
            Event::ToolInputDelta(headwater_protocol::ToolInputDelta { call, delta, .. })
                if self.calls.get(call).is_some_and(|known| known.partial) =>
            {
                let (tool_call_id, input_text_delta) = (text(call), text(delta));
                Chunk::ToolInputDelta(ToolInputDelta { tool_call_id, input_text_delta })
            }
            _ => return false,
        };
        write(&chunk, out);
        true
    }

    fn is_open(&self, kind: BlockKind, id: &PartId, record: &Record) -> bool {
        let wanted = self.wanted_message(record);
        self.blocks.iter().any(|open| open.kind == kind && open.id == *id && open.message.as_ref() == wanted)
    }

    /// The message of a record.
    fn wanted_message<'a>(&'a self, record: &'a Record) -> Option<&'a MessageId> {
        record.origin.message.as_ref().or(self.current.as_ref())
    }

    fn shown_message(&self) -> Option<&MessageId> {
        self.current.as_ref().filter(|message| self.messages.get(*message) != Some(&false))
    }

    /// Whether the record belongs to a message that is not the agent's.
    fn is_silent(&self, record: &Record) -> bool {
        let wanted = self.wanted_message(record);
        content::in_message(&record.event)
            && wanted.is_some_and(|wanted| self.messages.get(wanted) == Some(&false))
    }

    /// The run failed. The chat client stops at the error; others read on to the finish.
    fn fail(&mut self, message: &str, out: &mut FrameWriter) {
        self.put(&Chunk::Error(ErrorText { error_text: text(message) }), out);
        self.put(&finish(Some("error")), out);
    }

    /// Closes everything that is open, including the step.
    fn close_all(&mut self, out: &mut FrameWriter) {
        self.send_objects(out);
        self.close_blocks(|_| true, out);
        self.finish_step(out);
    }

    fn finish_step(&mut self, out: &mut FrameWriter) {
        if std::mem::take(&mut self.step.open) {
            self.put(&Chunk::FinishStep(Empty {}), out);
        }
    }

    fn close_blocks(&mut self, which: impl Fn(&OpenPart) -> bool, out: &mut FrameWriter) {
        for block in self.blocks.extract_if(.., |block| which(block)) {
            write(&block_end(block.kind, block.id.as_str(), None), out);
        }
    }

    /// Whether a step may end here without splitting a part.
    fn is_quiet(&self) -> bool {
        self.blocks.is_empty() && self.calls_are_ready()
    }

    fn calls_are_ready(&self) -> bool {
        self.calls.values().all(|call| call.ready)
    }

    /// Begins a new step; an empty one is reused.
    fn boundary(&mut self, out: &mut FrameWriter) {
        if self.step.open && !self.has_content() {
            return;
        }
        self.finish_step(out);
        self.put(&Chunk::StartStep(Empty {}), out);
        self.step = Step { open: true, seen: true, ..Step::default() };
    }

    /// Whether the step has content from which the next part must be separated.
    fn has_content(&self) -> bool {
        !matches!(self.step.holds, Holds::Nothing) || !self.step.kept.is_empty()
    }

    /// Records a part in the step.
    fn holds(&mut self, attempt: Option<&AttemptId>) {
        let same = matches!((&self.step.holds, attempt), (Holds::Only(held), Some(new)) if held == new);
        if !same {
            self.step.holds = match (&self.step.holds, attempt) {
                (Holds::Nothing, Some(attempt)) => Holds::Only(attempt.clone()),
                _ => Holds::Several,
            };
        }
        if let Some(attempt) = attempt
            && !self.heard.contains(attempt)
        {
            self.heard.push(attempt.clone());
        }
    }
}

impl Encode for AiSdkEncoder {
    fn record(&mut self, record: &Record, out: &mut FrameWriter) {
        if self.ended || self.delta(record, out) {
            return;
        }
        self.spoke = true;
        self.waiting &= record.event.kind().leaves_waiting();
        if self.is_silent(record) {
            return;
        }
        // A message without a start begins with its first part.
        if let Some(message) = &record.origin.message
            && content::in_message(&record.event)
            && !self.messages.contains_key(message)
        {
            self.messages.insert(message.clone(), true);
            self.current = Some(message.clone());
        }
        self.event(record, out);
    }

    /// The client sends no cursor and begins again at `start`.
    fn reentry(&mut self, state: &RunState, out: &mut FrameWriter) {
        let parts = state.messages().iter().flat_map(|message| &message.parts);
        self.done_before = parts.filter_map(done_call).collect();
        for record in state.replay() {
            self.record(&record, out);
        }
        if !self.ended {
            self.send_objects(out);
        }
    }

    /// Reports a stream that ends before its run: the client would take it as complete.
    fn finish(&mut self, out: &mut FrameWriter) {
        if !self.ended && self.spoke {
            self.close_all(out);
            self.ended = true;
            if self.waiting {
                self.put(&finish(Some("tool-calls")), out);
            } else {
                self.fail("The stream ended before the run did.", out);
            }
        }
        if out.framing() == Framing::Sse {
            out.raw(DONE);
        }
    }

    /// The client continues the message that is named here, and otherwise begins another one.
    fn next_response(&mut self, out: &mut FrameWriter) {
        self.ended = false;
        self.waiting = false;
        self.step = Step::default();
        write(&start(self.shown_message()), out);
        self.started = true;
    }
}

/// The id of a call with output, or of a question with an answer.
fn done_call(part: &Part) -> Option<ToolCallId> {
    match part {
        Part::Tool(tool) if tool.state == ToolState::OutputAvailable => Some(tool.call.clone()),
        // The client keeps the raw text of such an input, which other clients would show beside it.
        Part::Tool(tool) if tool.state.is_settled() && tool.executor == Executor::Client => {
            Some(tool.call.clone())
        }
        Part::Question(question) if question.state != QuestionState::Open => {
            Some(question.interrupt.request.as_str().into())
        }
        _ => None,
    }
}

/// Writes a chunk; deltas are serialised by hand.
fn write(chunk: &Chunk<'_>, out: &mut FrameWriter) {
    let (kind, id, between, delta) = match chunk {
        Chunk::TextDelta(BlockDelta { id, delta, provider_metadata: None }) => {
            (r#"{"type":"text-delta","id":"#, id, r#","delta":"#, delta)
        }
        Chunk::ReasoningDelta(BlockDelta { id, delta, provider_metadata: None }) => {
            (r#"{"type":"reasoning-delta","id":"#, id, r#","delta":"#, delta)
        }
        Chunk::ToolInputDelta(ToolInputDelta { tool_call_id, input_text_delta }) => {
            let kind = r#"{"type":"tool-input-delta","toolCallId":"#;
            (kind, tool_call_id, r#","inputTextDelta":"#, input_text_delta)
        }
        chunk => return out.chunk(None, chunk),
    };
    let pieces =
        [Piece::Json(kind), Piece::Text(id), Piece::Json(between), Piece::Text(delta), Piece::Json("}")];
    out.pieces(None, &pieces);
}

fn start<'a>(message: Option<&'a MessageId>) -> Chunk<'a> {
    Chunk::Start(Start { message_id: message.map(text), message_metadata: None })
}

fn finish(reason: Option<&str>) -> Chunk<'_> {
    Chunk::Finish(Finish { finish_reason: reason.map(Cow::Borrowed), message_metadata: None })
}

fn block_start<'a>(kind: BlockKind, id: &'a str, metadata: Option<&'a Value>) -> Chunk<'a> {
    let block = chunk::Block { id: text(id), provider_metadata: provider_metadata(metadata) };
    match kind {
        BlockKind::Text => Chunk::TextStart(block),
        BlockKind::Reasoning => Chunk::ReasoningStart(block),
    }
}

fn block_delta<'a>(kind: BlockKind, id: &'a str, delta: &'a str, metadata: Option<&'a Value>) -> Chunk<'a> {
    let provider_metadata = provider_metadata(metadata);
    let delta = BlockDelta { id: text(id), delta: text(delta), provider_metadata };
    match kind {
        BlockKind::Text => Chunk::TextDelta(delta),
        BlockKind::Reasoning => Chunk::ReasoningDelta(delta),
    }
}

fn block_end<'a>(kind: BlockKind, id: &'a str, metadata: Option<&'a Value>) -> Chunk<'a> {
    let (id, provider_metadata) = (text(id), provider_metadata(metadata));
    match kind {
        BlockKind::Text => Chunk::TextEnd(TextEnd { id, provider_metadata, citations: None }),
        BlockKind::Reasoning => Chunk::ReasoningEnd(chunk::Block { id, provider_metadata }),
    }
}

/// Provider metadata, if the client accepts it.
fn provider_metadata(metadata: Option<&Value>) -> Option<Cow<'_, Value>> {
    metadata.filter(|metadata| chunk::is_provider_metadata(metadata)).map(Cow::Borrowed)
}

fn text<'a>(text: &'a (impl AsRef<str> + ?Sized)) -> Cow<'a, str> {
    Cow::Borrowed(text.as_ref())
}

#[cfg(test)]
mod tests;
