//! Records in, chunks out.
//!
//! Each record is *planned*: the chunks that say it in the client's words, and whether our own decoder
//! would get the event back from them. If not, a [`Mark`] with the event goes before them. Deltas of a
//! block that is open go out without a plan.

mod attempt;
mod place;
mod plan;
mod tool;

use std::borrow::Cow;
use std::collections::HashMap;

use super::{
    chunk::{BlockDelta, Chunk, Finish, Mark, MarkOrigin, Start, ToolInputDelta},
    decode::DONE,
};
use crate::{
    encode::{Encode, EncodeOptions},
    event::{Event, Record},
    framing::{FrameWriter, Framing, Piece},
    id::{ApprovalId, AttemptId, MessageId, PartId, ToolCallId},
    state::RunState,
};

use plan::Plan;

/// Which clients the stream is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// All of versions 5, 6 and 7: only what the oldest of them knows.
    Strict,
    /// Version 7.0.70 and later.
    Ai7,
}

/// Writes one stream.
///
/// ```
/// use headwater_protocol::{EncodeOptions, Event, Record, dialects::ai_sdk};
///
/// let mut encoder = ai_sdk::Encoder::new(&EncodeOptions::default());
/// let event = Event::TextDelta { id: "t1".into(), delta: "Hi".into(), metadata: None };
/// let mut types = Vec::new();
/// encoder.chunks(&Record::new(0, event), &mut |chunk| {
///     types.push(serde_json::to_value(chunk).unwrap()["type"].clone());
/// });
/// assert_eq!(types, ["start", "data-hw-event", "text-start", "text-delta"]);
/// ```
#[derive(Debug)]
pub struct Encoder {
    audience: Audience,
    seam: String,
    /// `start` was sent.
    started: bool,
    /// Anything at all was sent.
    spoke: bool,
    /// The terminal chunk was sent.
    ended: bool,
    /// The run waits; the terminal chunk comes when the stream ends.
    waiting: bool,
    /// Where a reader of the stream believes to be.
    place: Place,
    /// The message that was started last.
    current: Option<MessageId>,
    /// The messages so far, and whether a page shows them: not those of a person.
    messages: HashMap<MessageId, bool>,
    blocks: Vec<Block>,
    calls: HashMap<ToolCallId, Call>,
    approvals: HashMap<ApprovalId, ToolCallId>,
    step: Step,
    /// The attempts of which anything was shown.
    heard: Vec<AttemptId>,
    /// How many blocks were made up here.
    made: u64,
}

/// Where a reader of the stream believes to be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Place {
    message: Option<MessageId>,
    attempt: Option<AttemptId>,
}

/// A block that is open on the wire.
#[derive(Debug)]
struct Block {
    reasoning: bool,
    id: PartId,
    message: Option<MessageId>,
    attempt: Option<AttemptId>,
}

/// A call that the client knows.
#[derive(Debug, Default)]
struct Call {
    name: String,
    attempt: Option<AttemptId>,
    /// `tool-input-start` was sent, so deltas may come.
    partial: bool,
    /// The input is complete: the same call in another step would be another part.
    ready: bool,
    settled: bool,
    asked: bool,
}

/// The current step on the wire.
#[derive(Debug, Default)]
struct Step {
    /// `finish-step` is owed.
    open: bool,
    /// There was a `start-step` in this stream.
    seen: bool,
    holds: Holds,
}

/// Whose parts the current step holds.
#[derive(Debug, Default)]
enum Holds {
    #[default]
    Nothing,
    /// Parts of one attempt, and nothing that happened.
    Only(AttemptId),
    Several,
}

impl Encoder {
    /// An encoder at the beginning of a stream.
    #[must_use]
    pub fn new(options: &EncodeOptions) -> Self {
        let ai_7 = options.profile.as_deref() == Some("ai-7");
        Self {
            audience: if ai_7 { Audience::Ai7 } else { Audience::Strict },
            seam: options.seam.clone(),
            started: false,
            spoke: false,
            ended: false,
            waiting: false,
            place: Place::default(),
            current: None,
            messages: HashMap::new(),
            blocks: Vec::new(),
            calls: HashMap::new(),
            approvals: HashMap::new(),
            step: Step::default(),
            heard: Vec::new(),
            made: 0,
        }
    }

    /// The chunks of one record: none, one or several.
    ///
    /// After the run's end there are none.
    pub fn chunks(&mut self, record: &Record, sink: &mut dyn FnMut(&Chunk<'_>)) {
        if self.ended || self.delta(record, sink) {
            return;
        }
        self.spoke = true;
        self.waiting &= record.event.kind().leaves_waiting();
        let makes_part = self.makes_part(&record.event);
        let plan = self.plan(record);
        self.send(record, makes_part, &plan, sink);
    }

    /// The chunks that follow the last record, without `[DONE]`.
    ///
    /// A stream that ends before its run does says so: the client would take it for complete.
    pub fn end(&mut self, sink: &mut dyn FnMut(&Chunk<'_>)) {
        if self.ended || !self.spoke {
            return;
        }
        self.ended = true;
        let mut plan = Plan::marked();
        self.close_all(&mut plan);
        if self.waiting {
            let finish_reason = Some(Cow::Borrowed("tool-calls"));
            plan.push(Chunk::Finish(Finish { finish_reason, message_metadata: None }));
        } else {
            plan.error("The stream ended before the run did.");
        }
        if !self.started {
            self.started = true;
            sink(&Chunk::Start(Start::default()));
        }
        sink(&Chunk::Mark(Mark { event: None, covers: plan.chunks.len() as u64, origin: None }));
        plan.chunks.iter().for_each(sink);
    }

    /// Deltas of what is open: the shortest way, without allocation.
    fn delta(&self, record: &Record, sink: &mut dyn FnMut(&Chunk<'_>)) -> bool {
        match &record.event {
            Event::TextDelta { id, delta, metadata: None } if self.is_open(false, id, record) => {
                let chunk = BlockDelta { id: text(id), delta: text(delta), provider_metadata: None };
                sink(&Chunk::TextDelta(chunk));
            }
            Event::ReasoningDelta { id, delta, metadata: None } if self.is_open(true, id, record) => {
                let chunk = BlockDelta { id: text(id), delta: text(delta), provider_metadata: None };
                sink(&Chunk::ReasoningDelta(chunk));
            }
            Event::ToolInputDelta { call, delta }
                if self.calls.get(call).is_some_and(|known| known.partial) =>
            {
                let (tool_call_id, input_text_delta) = (text(call), text(delta));
                sink(&Chunk::ToolInputDelta(ToolInputDelta { tool_call_id, input_text_delta }));
            }
            _ => return false,
        }
        true
    }

    /// Whether the block is open on the wire, in the message that a reader believes to be in.
    fn is_open(&self, reasoning: bool, id: &PartId, record: &Record) -> bool {
        let wanted = record.origin.message.as_ref().or(self.current.as_ref());
        self.place.message.as_ref() == wanted
            && self
                .blocks
                .iter()
                .any(|open| open.reasoning == reasoning && open.id == *id && open.message.as_ref() == wanted)
    }

    fn send(&mut self, record: &Record, makes_part: bool, plan: &Plan<'_>, sink: &mut dyn FnMut(&Chunk<'_>)) {
        // Transient data belongs to no message.
        let first = plan
            .chunks
            .first()
            .filter(|chunk| !matches!(chunk, Chunk::Data(data) if data.transient == Some(true)));
        if !self.started && first.is_some() {
            self.started = true;
            if !matches!(first, Some(Chunk::Start(_))) {
                let message = self.wanted_message(record).filter(|_| place::in_message(&record.event));
                sink(&Chunk::Start(Start { message_id: message.as_ref().map(text), message_metadata: None }));
                if message.is_some() {
                    self.place.message = message;
                }
            }
        }
        if let Some(place) = self.move_to(record, makes_part) {
            let origin = MarkOrigin { attempt: place.attempt.clone(), message: place.message.clone() };
            sink(&Chunk::Mark(Mark { event: None, covers: 0, origin: Some(origin) }));
            self.place = place;
        }
        if plan.marked {
            let event = Some(Cow::Borrowed(&record.event));
            sink(&Chunk::Mark(Mark { event, covers: plan.chunks.len() as u64, origin: None }));
        }
        plan.chunks.iter().for_each(sink);
        self.arrive(record);
    }

    /// Closes all that is open, the step too.
    fn close_all(&mut self, plan: &mut Plan<'_>) {
        self.close_blocks(plan, |_| true);
        self.finish_step(plan);
    }

    fn finish_step(&mut self, plan: &mut Plan<'_>) {
        if std::mem::take(&mut self.step.open) {
            plan.push(Chunk::FinishStep);
        }
    }

    fn close_blocks(&mut self, plan: &mut Plan<'_>, which: impl Fn(&Block) -> bool) {
        self.blocks.retain(|block| {
            let close = which(block);
            if close {
                plan.close(block.reasoning, block.id.as_str());
            }
            !close
        });
    }

    /// Whether a step may end here without tearing anything apart.
    fn is_quiet(&self) -> bool {
        self.blocks.is_empty() && self.calls_are_ready()
    }

    fn calls_are_ready(&self) -> bool {
        self.calls.values().all(|call| call.ready)
    }

    /// A new step begins.
    fn boundary(&mut self, plan: &mut Plan<'_>) {
        self.finish_step(plan);
        plan.push(Chunk::StartStep);
        self.step = Step { open: true, seen: true, holds: Holds::Nothing };
    }

    /// A part comes to the step.
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

impl Encode for Encoder {
    fn record(&mut self, record: &Record, out: &mut FrameWriter) {
        self.chunks(record, &mut |chunk| write(chunk, out));
    }

    fn reentry(&mut self, state: &RunState, out: &mut FrameWriter) {
        super::reentry::reentry(self, state, out);
    }

    fn finish(&mut self, out: &mut FrameWriter) {
        self.end(&mut |chunk| write(chunk, out));
        if out.framing() == Framing::Sse {
            out.raw(DONE);
        }
    }

    /// The client goes on with the message that is named here, and begins another one otherwise.
    fn next_response(&mut self, out: &mut FrameWriter) {
        self.ended = false;
        self.waiting = false;
        self.step = Step::default();
        let shown = self.current.as_ref().filter(|message| self.messages.get(*message) != Some(&false));
        let message_id = shown.or(self.place.message.as_ref()).map(text);
        write(&Chunk::Start(Start { message_id, message_metadata: None }), out);
        self.started = true;
    }
}

/// Writes a chunk; deltas by hand.
pub(super) fn write(chunk: &Chunk<'_>, out: &mut FrameWriter) {
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

fn text<'a>(text: &'a (impl AsRef<str> + ?Sized)) -> Cow<'a, str> {
    Cow::Borrowed(text.as_ref())
}

#[cfg(test)]
mod tests;
