//! Encodes events as chunks.

mod question;
mod tool;

pub(super) use question::{approval, interrupt};

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    mem,
};

use headwater_json::Segment;
use headwater_protocol::{
    AttemptId, AttemptRetracted, BlockDelta, BlockEnded, BlockKind, BlockStarted, CheckpointEvent,
    ErrorEvent, Event, FrameWriter, Origin, PartId, Record, RunFinished, RunState, StatusEvent,
    StructuredInvalidated, StructuredOp, StructuredUpdate, ToolCallId, TraceEvent, TransitionEvent,
};

use super::{
    chunk::{
        Checkpoint, Chunk, Done, Failure, Message, ROOT_SPAN, Session, Status, StructuredDataInvalidated,
        Text, TextDelta, Trace, Transition,
    },
    decode::identity,
};
use crate::encode::{Encode, EncodeOptions, Pieces, WriteChunk as _};

type Sink<'s> = &'s mut dyn FnMut(&Chunk<'_>);

/// Encodes a run as a Kortyx stream.
///
/// Kortyx' page stops reading at `done`, so nothing is sent after the end of the run. Only a waiting run
/// continues after its `done`, for readers that follow it further.
#[derive(Debug, Default)]
pub(super) struct KortyxEncoder {
    seam: String,
    started: bool,
    /// An error that ends the run was sent.
    failed: bool,
    done: bool,
    closed: bool,
    /// The started calls, with the names of their tools.
    calls: HashMap<ToolCallId, String>,
    /// The calls that are not shown.
    quiet: HashSet<ToolCallId>,
    /// The complete structured streams. The page rejects a stream in which one of them continues.
    complete: HashSet<String>,
    /// The block written last, which most deltas belong to.
    latest: Option<TextPiece>,
    /// The other blocks.
    texts: HashMap<PartId, TextPiece>,
}

/// How the page identifies a block: it appends to the piece of the same hook call and segment and cannot
/// retract one. So each block, and each attempt at it, gets its own segment.
#[derive(Debug)]
struct TextPiece {
    id: PartId,
    node: Option<String>,
    operation: Option<String>,
    segment: Option<String>,
    attempt: Option<AttemptId>,
    /// How many blocks had this id.
    times: u32,
    open: bool,
}

impl TextPiece {
    fn new(id: &PartId, origin: &Origin, times: u32) -> Self {
        let Origin { operation, segment, node, attempt, .. } = origin.clone();
        let own = identity(operation.as_deref(), segment.as_deref(), None, node.as_deref()) == id.as_str();
        let (operation, segment) = match times {
            1 if own => (operation, segment),
            1 => (None, Some(id.to_string())),
            _ => (None, Some(format!("{id}~{times}"))),
        };
        Self { id: id.clone(), node, operation, segment, attempt, times, open: true }
    }

    fn chunk(&self) -> Text<'_> {
        Text {
            node: text(&self.node),
            id: None,
            op_id: text(&self.operation),
            segment_id: text(&self.segment),
        }
    }

    fn delta<'r>(&'r self, delta: &'r str) -> Chunk<'r> {
        let Text { node, id, op_id, segment_id } = self.chunk();
        Chunk::TextDelta(TextDelta { node, id, op_id, segment_id, delta: Cow::Borrowed(delta) })
    }
}

impl KortyxEncoder {
    pub(super) fn new(options: &EncodeOptions) -> Self {
        Self { seam: options.seam.clone(), ..Self::default() }
    }

    /// Passes the chunks of one record to the sink: none, one or several.
    pub(super) fn chunks(&mut self, record: &Record, sink: Sink<'_>) {
        if self.done {
            return;
        }
        let Record { origin, event, .. } = record;
        match event {
            Event::BlockDelta(BlockDelta { kind: BlockKind::Text, id, delta, .. }) => {
                sink(&self.text(id, origin, false).delta(delta));
            }
            Event::BlockStarted(BlockStarted { kind: BlockKind::Text, id, .. }) => {
                sink(&Chunk::TextStart(self.text(id, origin, true).chunk()));
            }
            Event::BlockEnded(BlockEnded { kind: BlockKind::Text, id, .. }) => {
                let piece = self.text(id, origin, false);
                piece.open = false;
                sink(&Chunk::TextEnd(piece.chunk()));
            }
            Event::Message { content } => {
                sink(&Chunk::Message(Message { node: text(&origin.node), content: Cow::Borrowed(content) }));
            }
            Event::AttemptRetracted(AttemptRetracted { attempt, .. }) => self.close_attempt(attempt, sink),

            Event::RunStarted(started) => {
                let first = !mem::replace(&mut self.started, true);
                if let Some(session) = started.session.as_ref().filter(|_| first) {
                    sink(&Chunk::Session(Session { session_id: Cow::Borrowed(session.as_str()) }));
                }
            }
            Event::RunFinished(RunFinished { data, .. }) => {
                self.done = true;
                sink(&Chunk::Done(Done { data: data.as_ref().map(Cow::Borrowed) }));
            }
            Event::RunFailed(error) | Event::Error(ErrorEvent { error, terminal: true, .. }) => {
                if !mem::replace(&mut self.failed, true) {
                    sink(&Chunk::Error(Failure { message: Cow::Borrowed(&error.message) }));
                }
                if matches!(event, Event::RunFailed(_)) {
                    self.finish_chunks(sink);
                }
            }
            Event::RunCancelled { .. } => {
                self.done = true;
                sink(&Chunk::Done(Done::default()));
            }
            Event::RunWaiting(_) => sink(&Chunk::Done(Done::default())),

            Event::InterruptRequested(interrupt) => {
                sink(&Chunk::Interrupt(Box::new(question::interrupt(interrupt, origin))));
            }

            Event::Structured(update) => self.structured(update, sink),
            Event::StructuredInvalidated(StructuredInvalidated { stream, checkpoint, .. }) => {
                self.complete.remove(stream);
                sink(&Chunk::StructuredDataInvalidated(StructuredDataInvalidated {
                    stream_id: Cow::Borrowed(stream),
                    checkpoint_id: Cow::Borrowed(checkpoint.as_ref().map_or("", |id| id.as_str())),
                }));
            }
            Event::Status(StatusEvent { state, message, .. }) => sink(&Chunk::Status(Status {
                node: text(&origin.node),
                message: text(message).or_else(|| text(state)).unwrap_or_default(),
            })),
            Event::Transition(TransitionEvent { to, payload, .. }) => sink(&Chunk::Transition(Transition {
                transition_to: Cow::Borrowed(to),
                payload: payload.as_ref().map(Cow::Borrowed),
            })),
            Event::Checkpoint(CheckpointEvent { checkpoint, session, turn, label, .. }) => {
                sink(&Chunk::Checkpoint(Checkpoint {
                    id: Cow::Borrowed(checkpoint.as_str()),
                    session_id: Cow::Borrowed(session.as_str()),
                    turn_index: *turn,
                    label: text(label),
                }));
            }
            Event::Trace(TraceEvent { trace, span, run, .. }) => sink(&Chunk::Trace(Trace {
                trace_id: Cow::Borrowed(trace),
                span_id: Cow::Borrowed(span),
                run_id: Cow::Borrowed(run.as_str()),
                root_span_name: Cow::Borrowed(ROOT_SPAN),
            })),
            // The rest is about tools, or has no chunk.
            _ => self.tool(record, sink),
        }
    }

    /// Sends the `done` of a run whose last event was an error that ends it.
    ///
    /// A run that has not ended gets none, so that its stream looks truncated.
    pub(super) fn finish_chunks(&mut self, sink: Sink<'_>) {
        if self.failed && !mem::replace(&mut self.done, true) {
            sink(&Chunk::Done(Done::default()));
        }
    }

    fn structured(&mut self, update: &StructuredUpdate, sink: Sink<'_>) {
        let expressible = update.op.path().is_none_or(is_plain_path);
        if expressible && !self.complete.contains(&update.stream) {
            sink(&Chunk::StructuredData(Cow::Borrowed(update)));
            if matches!(update.op, StructuredOp::Final { .. }) {
                self.complete.insert(update.stream.clone());
            }
        }
    }

    fn text(&mut self, id: &PartId, origin: &Origin, starts: bool) -> &mut TextPiece {
        let known = match self.latest.take() {
            Some(latest) if latest.id == *id => Some(latest),
            Some(latest) => {
                self.texts.insert(latest.id.clone(), latest);
                self.texts.remove(id)
            }
            None => None,
        };
        self.latest.insert(match known {
            Some(piece) if !starts && piece.attempt == origin.attempt => piece,
            Some(piece) => TextPiece::new(id, origin, piece.times + 1),
            None => TextPiece::new(id, origin, 1),
        })
    }

    /// The page keeps the text of a retracted attempt: close it, and add the seam if there is one.
    fn close_attempt(&mut self, attempt: &AttemptId, sink: Sink<'_>) {
        let of_attempt = |piece: &TextPiece| piece.attempt.as_ref() == Some(attempt);
        let latest = self.latest.as_ref();
        if let Some(piece) = latest.filter(|piece| of_attempt(piece) && !self.seam.is_empty()) {
            sink(&piece.delta(&self.seam));
        }
        let all = self.texts.values_mut().chain(self.latest.as_mut());
        let mut open: Vec<_> = all.filter(|piece| piece.open && of_attempt(piece)).collect();
        open.sort_by(|one, other| one.id.cmp(&other.id));
        for piece in open {
            piece.open = false;
            sink(&Chunk::TextEnd(piece.chunk()));
        }
    }
}

impl Encode for KortyxEncoder {
    fn record(&mut self, record: &Record, out: &mut FrameWriter) {
        self.chunks(record, &mut |chunk| write(chunk, out));
    }

    /// A closed question would be asked again, so a re-entry leaves them out.
    fn reentry(&mut self, state: &RunState, out: &mut FrameWriter) {
        for record in state.replay_open() {
            self.record(&record, out);
        }
    }

    fn finish(&mut self, out: &mut FrameWriter) {
        self.finish_chunks(&mut |chunk| write(chunk, out));
        if !mem::replace(&mut self.closed, true) {
            out.raw(super::END);
        }
    }

    fn next_response(&mut self, _: &mut FrameWriter) {
        self.done = false;
        self.closed = false;
    }
}

/// Writes a chunk; text deltas are serialised by hand.
fn write(chunk: &Chunk<'_>, out: &mut FrameWriter) {
    let Chunk::TextDelta(TextDelta { node, id, op_id, segment_id, delta }) = chunk else {
        return out.chunk(None, chunk);
    };
    let pieces = Pieces::<12>::new(r#"{"type":"text-delta""#)
        .text(r#","node":"#, node.as_deref())
        .text(r#","id":"#, id.as_deref())
        .text(r#","opId":"#, op_id.as_deref())
        .text(r#","segmentId":"#, segment_id.as_deref())
        .text(r#","delta":"#, Some(delta))
        .json("}");
    out.pieces(None, pieces.list());
}

/// Kortyx' reducer knows no escapes, so it would build a different key. Such updates are left to the `final`
/// of their stream.
fn is_plain_path(path: &str) -> bool {
    !path.contains('~')
        || path.split('.').all(|segment| match Segment::read(segment) {
            Segment::Index(_) => true,
            Segment::Key(key) => key == segment,
        })
}

fn text(text: &Option<String>) -> Option<Cow<'_, str>> {
    text.as_deref().map(Cow::Borrowed)
}

#[cfg(test)]
mod tests;
