//! From events to chunks.

mod question;
mod tool;

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    mem,
};

use super::{
    block,
    chunk::{
        Carried, Checkpoint, Chunk, Done, Failure, Message, Session, Status, StructuredDataInvalidated, Text,
        TextDelta, Trace, Transition,
    },
    ending::{Ending, Implied},
};
use crate::{
    encode::{Encode, EncodeOptions},
    event::{ErrorInfo, Event, Origin, Record, RunStarted},
    framing::{FrameWriter, Pieces},
    id::{AttemptId, MessageId, PartId, ToolCallId},
    state::RunState,
    structured::StructuredOp,
};

type Sink<'s> = &'s mut dyn FnMut(&Chunk<'_>);

/// Writes a run as a Kortyx stream.
///
/// `done` tells Kortyx' own page to stop reading, so what comes after the end of the run is left out. Only a
/// run that waits goes on after its `done`, for readers that follow it further.
///
/// ```
/// use headwater_protocol::{Event, Record, dialects::kortyx::Encoder};
///
/// let mut types = Vec::new();
/// let mut encoder = Encoder::default();
/// let event = Event::Status { state: None, message: Some("thinking".into()) };
/// encoder.chunks(&Record::new(0, event), &mut |chunk| {
///     types.push(serde_json::to_value(chunk).unwrap()["type"].clone());
/// });
/// assert_eq!(types, ["status"]);
/// ```
#[derive(Debug, Default)]
pub struct Encoder {
    seam: String,
    started: bool,
    ending: Ending,
    done: bool,
    closed: bool,
    /// The message that was started last, as long as all events since belong to it.
    message: Option<MessageId>,
    /// The calls that were started, with the names of their tools.
    calls: HashMap<ToolCallId, String>,
    /// The structured streams that are complete. Kortyx' own page gives up if they go on.
    complete: HashSet<String>,
    /// The block that each open attempt wrote to last.
    attempts: HashMap<AttemptId, Block>,
    /// The texts that a re-entry left open, with the origins that it said them with.
    resumed: HashMap<PartId, Origin>,
    segment: String,
}

#[derive(Debug)]
struct Block {
    id: PartId,
    origin: Origin,
    open: bool,
}

impl Encoder {
    /// An encoder at the beginning of a stream.
    #[must_use]
    pub fn new(options: &EncodeOptions) -> Self {
        Self { seam: options.seam.clone(), ..Self::default() }
    }

    /// Gives the chunks of one record: none, one or several.
    pub fn chunks(&mut self, record: &Record, sink: &mut dyn FnMut(&Chunk<'_>)) {
        if self.done {
            return;
        }
        let Record { origin, event, .. } = record;
        let resumed = self.resumed_origin(origin, event);
        let origin = resumed.as_ref().unwrap_or(origin);
        match event {
            Event::TextDelta { id, delta, metadata } => {
                self.text_delta(origin, id, delta, metadata.as_ref().map(Cow::Borrowed), false, sink);
            }
            Event::TextStart { id, metadata } => {
                let text = self.text(origin, id, metadata.as_ref().map(Cow::Borrowed));
                sink(&Chunk::TextStart(text));
                self.open_block(origin, id);
            }
            Event::TextEnd { id, metadata } => {
                let text = self.text(origin, id, metadata.as_ref().map(Cow::Borrowed));
                sink(&Chunk::TextEnd(text));
                let block = origin.attempt.as_ref().and_then(|attempt| self.attempts.get_mut(attempt));
                if let Some(block) = block.filter(|block| block.id == *id) {
                    block.open = false;
                }
            }
            Event::Message { content } => sink(&Chunk::Message(Message {
                node: text(&origin.node),
                content: Cow::Borrowed(content),
                attempt: origin.attempt.as_ref().map(|attempt| Cow::Borrowed(attempt.as_str())),
                message_id: self.message_key(origin),
            })),

            Event::RunStarted(started) => self.run_started(started, record, sink),
            Event::RunFinished { reason, usage, data } => {
                let plain = self.ending.implied() == Implied::Finished;
                sink(&Chunk::Done(Done {
                    data: data.as_ref().map(Cow::Borrowed),
                    reason: reason.as_ref().map(Cow::Borrowed).filter(|_| plain),
                    usage: usage.as_ref().map(Cow::Borrowed).filter(|_| plain),
                    stands_for: (!plain).then_some(Cow::Borrowed(event)),
                }));
                self.done = true;
            }
            Event::RunFailed(error) => {
                // An error that ends the run was shown already if it was said as such.
                let said = self.ending.implied() == Implied::Nothing;
                if !said {
                    sink(&Chunk::Error(failure(error, None)));
                }
                let stands_for = said.then_some(Cow::Borrowed(event));
                sink(&Chunk::Done(Done { stands_for, ..Done::default() }));
                self.done = true;
            }
            Event::RunCancelled { .. } => {
                let stands_for = Some(Cow::Borrowed(event));
                sink(&Chunk::Done(Done { stands_for, ..Done::default() }));
                self.done = true;
            }
            Event::RunWaiting { tool_calls, usage } => {
                let plain =
                    tool_calls.is_empty() && usage.is_none() && self.ending.implied() == Implied::Waiting;
                let stands_for = (!plain).then_some(Cow::Borrowed(event));
                sink(&Chunk::Done(Done { stands_for, ..Done::default() }));
            }
            Event::Error { error, terminal } => sink(&Chunk::Error(failure(error, Some(*terminal)))),

            Event::AttemptFinished { attempt } => {
                self.attempts.remove(attempt);
                self.carry(record, sink);
            }
            Event::AttemptRetracted { attempt, .. } => {
                self.close_attempt(attempt, sink);
                self.carry(record, sink);
            }
            Event::MessageStarted { message, .. } => {
                self.carry(record, sink);
                self.message = Some(message.clone());
            }
            Event::MessagesSnapshot { .. } => {
                self.carry(record, sink);
                self.message = None;
            }

            Event::ToolInputAvailable { .. }
            | Event::ToolInputError { .. }
            | Event::ApprovalRequested { .. }
            | Event::ToolOutput { .. }
            | Event::ToolOutputError { .. }
            | Event::ToolDenied { .. } => self.tool(record, sink),
            Event::InterruptRequested(interrupt) => {
                sink(&Chunk::Interrupt(Box::new(question::interrupt(interrupt, record))));
            }

            Event::Structured(update) => {
                if self.complete.contains(&update.stream) {
                    self.carry(record, sink);
                } else {
                    sink(&Chunk::StructuredData(Cow::Borrowed(update)));
                    if matches!(update.op, StructuredOp::Final { .. }) {
                        self.complete.insert(update.stream.clone());
                    }
                }
            }
            Event::StructuredInvalidated { stream, checkpoint } => {
                self.complete.remove(stream);
                sink(&Chunk::StructuredDataInvalidated(StructuredDataInvalidated {
                    stream_id: Cow::Borrowed(stream),
                    checkpoint_id: Cow::Borrowed(checkpoint.as_ref().map_or("", |id| id.as_str())),
                }));
            }
            Event::Status { state, message } => sink(&Chunk::Status(Status {
                node: text(&origin.node),
                message: text(message).or_else(|| text(state)).unwrap_or_default(),
                state: text(state),
                stands_for: message.is_none().then_some(Cow::Borrowed(event)),
            })),
            Event::Transition { to, payload } => sink(&Chunk::Transition(Transition {
                transition_to: Cow::Borrowed(to),
                payload: payload.as_ref().map(Cow::Borrowed),
            })),
            Event::Checkpoint { checkpoint, session, turn, label } => sink(&Chunk::Checkpoint(Checkpoint {
                id: Cow::Borrowed(checkpoint.as_str()),
                session_id: Cow::Borrowed(session.as_str()),
                turn_index: *turn,
                label: text(label),
            })),
            Event::Trace { trace, span, run } => sink(&Chunk::Trace(Trace {
                trace_id: Cow::Borrowed(trace),
                span_id: Cow::Borrowed(span),
                run_id: Cow::Borrowed(run.as_str()),
                root_span_name: Cow::Borrowed(Trace::ROOT_SPAN),
            })),
            Event::Unknown { name, data } => {
                // What is named as one of our chunks, and is none, would be taken for it.
                let same = data.get("type").and_then(|tag| tag.as_str()) == Some(name);
                if same && !Chunk::knows(name) {
                    sink(&Chunk::Other(Cow::Borrowed(data)));
                } else {
                    self.carry(record, sink);
                }
            }

            Event::AttemptStarted { .. }
            | Event::MessageFinished { .. }
            | Event::MessageMetadata { .. }
            | Event::StepStarted { .. }
            | Event::StepFinished { .. }
            | Event::ReasoningStart { .. }
            | Event::ReasoningDelta { .. }
            | Event::ReasoningEnd { .. }
            | Event::ToolInputStart(_)
            | Event::ToolInputDelta { .. }
            | Event::ApprovalAnswered { .. }
            | Event::SourceUrl { .. }
            | Event::SourceDocument { .. }
            | Event::File { .. }
            | Event::Data { .. }
            | Event::StateSnapshot { .. }
            | Event::StateDelta { .. }
            | Event::InterruptAnswered { .. }
            | Event::InterruptExpired { .. }
            | Event::Usage(_)
            | Event::Warning { .. } => self.carry(record, sink),
        }
        self.ending.see(event);
    }

    /// Gives what is left to be said when the stream ends: the `done` of a run that failed with an error
    /// which was said to be its last.
    ///
    /// A run that has not ended gets none, so that its stream looks cut.
    pub fn finish_chunks(&mut self, sink: &mut dyn FnMut(&Chunk<'_>)) {
        if !self.done && self.ending.implied() == Implied::Nothing {
            sink(&Chunk::Done(Done::default()));
            self.done = true;
        }
    }

    /// Notes what a re-entry says of a text that may go on.
    pub(super) fn note_resumed(&mut self, record: &Record) {
        match &record.event {
            Event::TextStart { id, .. } => {
                self.resumed.insert(id.clone(), record.origin.clone());
            }
            Event::TextEnd { id, .. } => {
                self.resumed.remove(id);
            }
            _ => {}
        }
    }

    /// A state knows neither hook call nor segment, and those make the pieces of Kortyx' own page: a text goes on as the
    /// re-entry began it.
    fn resumed_origin(&mut self, origin: &Origin, event: &Event) -> Option<Origin> {
        if self.resumed.is_empty() {
            return None;
        }
        let (Event::TextStart { id, .. } | Event::TextDelta { id, .. } | Event::TextEnd { id, .. }) = event
        else {
            return None;
        };
        let begun = self.resumed.get(id).filter(|begun| begun.attempt == origin.attempt).cloned();
        if matches!(event, Event::TextEnd { .. }) {
            self.resumed.remove(id);
        }
        begun
    }

    /// What has no chunk of its own travels as it is.
    fn carry(&mut self, record: &Record, sink: Sink<'_>) {
        self.message_key(&record.origin);
        sink(&carried(&record.event, &record.origin));
    }

    fn run_started(&mut self, started: &RunStarted, record: &Record, sink: Sink<'_>) {
        let RunStarted { run, session, conversation, parent, workflow, model, request, endpoint } = started;
        let first = !mem::replace(&mut self.started, true);
        match session.as_ref().filter(|_| first) {
            Some(session) => sink(&Chunk::Session(Session {
                session_id: Cow::Borrowed(session.as_str()),
                run_id: run.as_ref().map(|run| Cow::Borrowed(run.as_str())),
                conversation_id: text(conversation),
                parent_run_id: parent.as_ref().map(|run| Cow::Borrowed(run.as_str())),
                workflow_id: text(workflow),
                model: text(model),
                http_request_id: text(request),
                endpoint: text(endpoint),
            })),
            None => self.carry(record, sink),
        }
    }

    fn text_delta(
        &mut self,
        origin: &Origin,
        id: &PartId,
        delta: &str,
        metadata: Option<Cow<'_, serde_json::Value>>,
        filler: bool,
        sink: Sink<'_>,
    ) {
        let Text { node, id: block, op_id, segment_id, attempt, message_id, metadata, .. } =
            self.text(origin, id, metadata);
        sink(&Chunk::TextDelta(TextDelta {
            node,
            id: block,
            op_id,
            segment_id,
            delta: Cow::Borrowed(delta),
            attempt,
            message_id,
            metadata,
            filler,
        }));
        if !filler {
            self.open_block(origin, id);
        }
    }

    fn text<'r>(
        &'r mut self,
        origin: &'r Origin,
        id: &'r PartId,
        metadata: Option<Cow<'r, serde_json::Value>>,
    ) -> Text<'r> {
        Text {
            node: text(&origin.node),
            id: (!block::is_identity(id.as_str(), origin)).then_some(Cow::Borrowed(id.as_str())),
            op_id: text(&origin.operation),
            message_id: self.message_key(origin),
            segment_id: block::write_segment(origin, &mut self.segment).map(Cow::Borrowed),
            attempt: origin.attempt.as_ref().map(|attempt| Cow::Borrowed(attempt.as_str())),
            metadata,
            filler: false,
        }
    }

    fn open_block(&mut self, origin: &Origin, id: &PartId) {
        let Some(attempt) = &origin.attempt else { return };
        match self.attempts.get_mut(attempt) {
            Some(block) if block.id == *id => block.open = true,
            _ => {
                let block = Block { id: id.clone(), origin: origin.clone(), open: true };
                self.attempts.insert(attempt.clone(), block);
            }
        }
    }

    /// Kortyx' own page keeps what the attempt said: it is closed, and marked if there is a mark.
    fn close_attempt(&mut self, attempt: &AttemptId, sink: Sink<'_>) {
        let Some(Block { id, origin, open }) = self.attempts.remove(attempt) else { return };
        let seam = mem::take(&mut self.seam);
        if !seam.is_empty() {
            self.text_delta(&origin, &id, &seam, None, true, sink);
        }
        self.seam = seam;
        if open {
            let text = self.text(&origin, &id, None);
            sink(&Chunk::TextEnd(Text { filler: true, ..text }));
        }
    }

    /// The message that an event belongs to, if a reader would take it to belong to another.
    fn message_key<'r>(&mut self, origin: &'r Origin) -> Option<Cow<'r, str>> {
        let message = origin.message.as_ref()?;
        if self.message.as_ref() == Some(message) {
            return None;
        }
        self.message = None;
        Some(Cow::Borrowed(message.as_str()))
    }
}

impl Encode for Encoder {
    fn record(&mut self, record: &Record, out: &mut FrameWriter) {
        self.chunks(record, &mut |chunk| write(chunk, out));
    }

    fn reentry(&mut self, state: &RunState, out: &mut FrameWriter) {
        super::reentry::write(self, state, out);
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

/// Writes a chunk; plain deltas of text by hand.
pub(super) fn write(chunk: &Chunk<'_>, out: &mut FrameWriter) {
    let Chunk::TextDelta(TextDelta {
        node,
        id,
        op_id,
        segment_id,
        delta,
        attempt: None,
        message_id: None,
        metadata: None,
        filler: false,
    }) = chunk
    else {
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

fn carried<'r>(event: &'r Event, origin: &'r Origin) -> Chunk<'r> {
    let origin = (*origin != Origin::default()).then_some(Cow::Borrowed(origin));
    Chunk::Carried(Carried { event: Cow::Borrowed(event), origin })
}

fn failure(error: &ErrorInfo, terminal: Option<bool>) -> Failure<'_> {
    Failure {
        message: Cow::Borrowed(&error.message),
        code: text(&error.code),
        retryable: error.retryable,
        terminal,
    }
}

fn text(text: &Option<String>) -> Option<Cow<'_, str>> {
    text.as_deref().map(Cow::Borrowed)
}

#[cfg(test)]
mod tests;
