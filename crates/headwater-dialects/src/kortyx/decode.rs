//! Decodes chunks to events.

mod question;

use std::borrow::Cow;

use headwater_protocol::{
    BlockDelta, BlockEnded, BlockKind, BlockStarted, CheckpointEvent, Error, ErrorEvent, ErrorInfo,
    ErrorKind, Event, Frame, Origin, PartId, Record, RunFinished, RunStarted, RunWaiting, StatusEvent,
    StructuredInvalidated, ToolCall, ToolInputAvailable, ToolOutput, ToolOutputError, TraceEvent,
    TransitionEvent, UnknownEvent,
};
use serde_json::Value;

use super::{
    END,
    chunk::{Chunk, Text, TextDelta, ToolCallStart, Transition},
};
use crate::decode::{Decode, DecodeOutput};

/// The block id of chunks without any ids.
const ANONYMOUS: &str = "text";

/// The block of a chunk, identified as Kortyx does.
pub(super) fn identity<'a>(
    operation: Option<&'a str>,
    segment: Option<&'a str>,
    id: Option<&'a str>,
    node: Option<&'a str>,
) -> Cow<'a, str> {
    let given = |text: Option<&'a str>| text.filter(|text| !text.is_empty());
    match (given(operation), given(segment)) {
        (Some(operation), Some(segment)) => Cow::Owned(format!("{operation}:{segment}")),
        (None, Some(only)) | (Some(only), None) => Cow::Borrowed(only),
        (None, None) => Cow::Borrowed(given(id).or(given(node)).unwrap_or(ANONYMOUS)),
    }
}

/// Decodes a Kortyx stream.
#[derive(Debug, Default)]
pub(super) struct KortyxDecoder {
    seq: u64,
    started: bool,
    /// An error that ends the run if `done` comes next.
    failure: Option<ErrorInfo>,
    failed: bool,
    /// A question was asked since the last `done`, so the next one means that the run waits.
    asked: bool,
    /// `done` was received.
    done: bool,
    /// It meant that the run waits, so the run may continue after it.
    waits: bool,
    /// A chunk after the end has been reported.
    late: bool,
    /// `[DONE]` was received.
    closed: bool,
    /// Outputs in the old form, which names no call.
    results: u64,
    /// The block named last: most chunks name the same one.
    text: Option<PartId>,
}

impl Decode for KortyxDecoder {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut DecodeOutput) {
        if self.closed {
            return;
        }
        if frame.data.trim() == END {
            self.closed = true;
            self.fail(out);
            return;
        }
        match Chunk::from_frame(frame) {
            Ok(chunk) => {
                self.done &= !self.waits;
                self.waits = false;
                if self.done && !self.late {
                    self.late = true;
                    let message = "a chunk comes after `done`; Kortyx' own page does not read it";
                    out.errors.push(Error::new(ErrorKind::Order, message).at(frame.index, frame.offset));
                }
                self.chunk(chunk, out);
            }
            Err(error) => out.errors.push(error),
        }
    }

    fn end(&mut self, out: &mut DecodeOutput) {
        self.fail(out);
        let ended = self.done || self.closed && self.failed;
        if !ended {
            out.errors.push(Error::new(ErrorKind::Cut, "the stream ended without `done`: it was cut"));
        }
    }
}

impl KortyxDecoder {
    /// Whether no more chunks may follow.
    pub(super) fn is_over(&self) -> bool {
        self.done && !self.waits
    }

    fn chunk(&mut self, chunk: Chunk<'_>, out: &mut DecodeOutput) {
        if let Chunk::Done(done) = chunk {
            self.done = true;
            let asked = std::mem::take(&mut self.asked);
            if self.fail(out) {
                return;
            }
            self.waits = asked;
            let event = if asked {
                Event::RunWaiting(RunWaiting::default())
            } else {
                Event::RunFinished(RunFinished { data: done.data.map(Cow::into_owned), ..Default::default() })
            };
            return self.push(event, Origin::default(), out);
        }
        if let Some(error) = self.failure.take() {
            self.push(ErrorEvent { error, ..Default::default() }, Origin::default(), out);
        }
        // More output means that the question was answered elsewhere.
        self.asked &= !matches!(chunk, Chunk::Message(_) | Chunk::TextStart(_) | Chunk::ToolCallStart(_));
        let (event, origin) = match chunk {
            Chunk::TextDelta(TextDelta { node, id, op_id, segment_id, delta }) => {
                let (id, origin) = self.text(Text { node, id, op_id, segment_id });
                (BlockDelta::new(BlockKind::Text, id, delta).into(), origin)
            }
            Chunk::TextStart(text) => {
                let (id, origin) = self.text(text);
                (BlockStarted::new(BlockKind::Text, id).into(), origin)
            }
            Chunk::TextEnd(text) => {
                let (id, origin) = self.text(text);
                (BlockEnded::new(BlockKind::Text, id).into(), origin)
            }
            Chunk::Message(message) => {
                (Event::Message { content: message.content.into_owned() }, origin(message.node, None))
            }
            Chunk::StructuredData(update) => (Event::Structured(update.into_owned()), Origin::default()),
            Chunk::StructuredDataInvalidated(gone) => {
                let checkpoint = Some(gone.checkpoint_id).filter(|id| !id.is_empty()).map(Into::into);
                let stream = gone.stream_id.into_owned();
                let event = StructuredInvalidated { stream, checkpoint, ..Default::default() };
                (event.into(), Origin::default())
            }

            Chunk::ToolCallStart(ToolCallStart { node, op_id, tool, tool_call_id, input, .. }) => {
                let tool = ToolCall::new(tool_call_id, tool);
                (ToolInputAvailable::new(tool, input.map(Cow::into_owned)).into(), origin(node, op_id))
            }
            Chunk::ToolCallResult(result) => {
                let event = ToolOutput {
                    call: result.tool_call_id.into(),
                    name: Some(result.tool.into_owned()),
                    output: result.content.map_or(Value::Null, Cow::into_owned),
                    structured: result.structured_content.map(Cow::into_owned),
                    is_error: result.is_error,
                    ..Default::default()
                };
                (event.into(), origin(result.node, result.op_id))
            }
            Chunk::ToolCallError(failed) => {
                let (call, name) = (failed.tool_call_id.into(), Some(failed.tool.into_owned()));
                let error = failed.message.into_owned();
                let event = ToolOutputError { call, name, error, ..Default::default() };
                (event.into(), origin(failed.node, failed.op_id))
            }
            Chunk::ToolResult(result) => {
                self.results += 1;
                let call = format!("tool-result-{}", self.results);
                let output = result.content.map_or(Value::Null, Cow::into_owned);
                let event = ToolOutput { name: owned(result.tool), ..ToolOutput::new(call, output) };
                (event.into(), origin(result.node, None))
            }
            Chunk::Interrupt(interrupt) => {
                self.asked = true;
                question::read(*interrupt)
            }

            Chunk::Session(session) => {
                // A second start within the run would reset its state.
                if std::mem::replace(&mut self.started, true) && !self.done {
                    return;
                }
                let session = Some(session.session_id.into());
                (RunStarted { session, ..RunStarted::default() }.into(), Origin::default())
            }
            Chunk::Status(status) => {
                let message = Some(status.message.into_owned());
                (StatusEvent { message, ..Default::default() }.into(), origin(status.node, None))
            }
            Chunk::Checkpoint(checkpoint) => {
                let event = CheckpointEvent {
                    checkpoint: checkpoint.id.into(),
                    session: checkpoint.session_id.into(),
                    turn: checkpoint.turn_index,
                    label: owned(checkpoint.label),
                    ..Default::default()
                };
                (event.into(), Origin::default())
            }
            Chunk::Trace(trace) => {
                let (span, run) = (trace.span_id.into_owned(), trace.run_id.into());
                let event =
                    TraceEvent { trace: trace.trace_id.into_owned(), span, run, ..Default::default() };
                (event.into(), Origin::default())
            }
            Chunk::Transition(Transition { transition_to, payload }) => {
                let (to, payload) = (transition_to.into_owned(), payload.map(Cow::into_owned));
                (TransitionEvent { to, payload, ..Default::default() }.into(), Origin::default())
            }
            Chunk::Error(failure) => {
                self.failure = Some(ErrorInfo::new(failure.message));
                return;
            }
            Chunk::Other(value) => {
                let data = value.into_owned();
                let name = data.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
                (UnknownEvent::new(name, data).into(), Origin::default())
            }
            Chunk::Done(_) => return,
        };
        self.push(event, origin, out);
    }

    fn push(&mut self, event: impl Into<Event>, origin: Origin, out: &mut DecodeOutput) {
        out.records.push(Record::new(self.seq, event).from(origin));
        self.seq += 1;
    }

    /// An error ends the run if nothing follows it.
    fn fail(&mut self, out: &mut DecodeOutput) -> bool {
        let failure = self.failure.take();
        let failed = failure.is_some();
        self.failed |= failed;
        if let Some(error) = failure {
            self.push(Event::RunFailed(error), Origin::default(), out);
        }
        failed
    }

    fn text(&mut self, text: Text<'_>) -> (PartId, Origin) {
        let Text { node, id, op_id, segment_id } = text;
        let identity = identity(op_id.as_deref(), segment_id.as_deref(), id.as_deref(), node.as_deref());
        let id = match &self.text {
            Some(known) if known.as_str() == identity => known.clone(),
            _ => self.text.insert(PartId::from(identity)).clone(),
        };
        (id, Origin { segment: owned(segment_id), ..origin(node, op_id) })
    }
}

fn owned(text: Option<Cow<'_, str>>) -> Option<String> {
    text.map(Cow::into_owned)
}

fn origin(node: Option<Cow<'_, str>>, operation: Option<Cow<'_, str>>) -> Origin {
    Origin { node: owned(node), operation: owned(operation), ..Origin::default() }
}

#[cfg(test)]
mod tests;
