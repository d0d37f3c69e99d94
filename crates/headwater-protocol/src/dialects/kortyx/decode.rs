//! From chunks to events.

mod question;

use std::borrow::Cow;

use serde_json::Value;

use super::{
    END, block,
    chunk::{
        Carried, Chunk, Done, Failure, Session, Text, TextDelta, ToolCallError, ToolCallResult, ToolCallStart,
    },
    ending::{Ending, Implied},
};
use crate::{
    decode::{Decode, Decoded},
    error::{Error, ErrorKind},
    event::{ErrorInfo, Event, Origin, Record, RunStarted, ToolCall},
    framing::Frame,
    id::{AttemptId, MessageId, PartId, ToolCallId},
};

/// Reads a Kortyx stream.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    seq: u64,
    started: bool,
    ending: Ending,
    /// An error that ends the run if `done` comes next.
    failure: Option<ErrorInfo>,
    /// `done` came.
    done: bool,
    /// It said that the run waits, so that the run may go on after it.
    waits: bool,
    /// Something came after it, and it was told.
    late: bool,
    /// `[DONE]` came.
    closed: bool,
    /// Outputs in the old form, which names no call.
    results: u64,
    /// The block that was named last: most chunks name the same one.
    block: Option<PartId>,
}

impl Decode for Decoder {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut Decoded) {
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

    fn end(&mut self, out: &mut Decoded) {
        let failed = self.fail(out);
        if self.done || (self.closed && failed) {
            return;
        }
        let over = self.ending.implied() == Implied::Nothing;
        if !(self.closed && over) {
            out.errors.push(Error::new(ErrorKind::Cut, "the stream ended without `done`: it was cut"));
        }
    }
}

impl Decoder {
    /// Whether nothing may come any more.
    pub(super) fn is_over(&self) -> bool {
        self.done && !self.waits
    }

    fn chunk(&mut self, chunk: Chunk<'_>, out: &mut Decoded) {
        if let Chunk::Done(done) = chunk {
            return self.done(done, out);
        }
        if let Some(error) = self.failure.take() {
            self.push(Event::Error { error, terminal: false }, Origin::default(), out);
        }
        match chunk {
            Chunk::TextDelta(TextDelta { filler: true, .. })
            | Chunk::TextStart(Text { filler: true, .. })
            | Chunk::TextEnd(Text { filler: true, .. })
            | Chunk::ToolCallStart(ToolCallStart { filler: true, .. }) => {}

            Chunk::TextDelta(text) => {
                let TextDelta { node, id, op_id, segment_id, delta, attempt, message_id, metadata, .. } =
                    text;
                let origin = text_origin(node, op_id, segment_id, attempt, message_id);
                let id = self.block(id, &origin);
                let metadata = metadata.map(Cow::into_owned);
                self.push(Event::TextDelta { id, delta: delta.into_owned(), metadata }, origin, out);
            }
            Chunk::TextStart(text) => {
                let (id, metadata, origin) = self.text(text);
                self.push(Event::TextStart { id, metadata }, origin, out);
            }
            Chunk::TextEnd(text) => {
                let (id, metadata, origin) = self.text(text);
                self.push(Event::TextEnd { id, metadata }, origin, out);
            }
            Chunk::Message(message) => {
                let origin = origin(message.node, None, message.attempt, message.message_id);
                self.push(Event::Message { content: message.content.into_owned() }, origin, out);
            }
            Chunk::StructuredData(update) => {
                self.push(Event::Structured(update.into_owned()), Origin::default(), out);
            }
            Chunk::StructuredDataInvalidated(gone) => {
                let checkpoint = Some(gone.checkpoint_id).filter(|id| !id.is_empty()).map(Into::into);
                let stream = gone.stream_id.into_owned();
                self.push(Event::StructuredInvalidated { stream, checkpoint }, Origin::default(), out);
            }

            Chunk::ToolCallStart(start) => self.tool_start(start, out),
            Chunk::ToolCallResult(result) => self.tool_result(result, out),
            Chunk::ToolCallError(error) => self.tool_error(error, out),
            Chunk::ToolResult(result) => {
                self.results += 1;
                let event = Event::ToolOutput {
                    call: format!("tool-result-{}", self.results).into(),
                    name: owned(result.tool),
                    output: result.content.map_or(Value::Null, Cow::into_owned),
                    structured: None,
                    is_error: false,
                    preliminary: false,
                    metadata: None,
                };
                self.push(event, origin(result.node, None, None, None), out);
            }
            Chunk::Interrupt(interrupt) => {
                let (event, origin) = question::read(*interrupt);
                self.push(event, origin, out);
            }

            Chunk::Session(session) => self.session(session, out),
            Chunk::Status(status) => {
                let event = match status.stands_for {
                    Some(event) => event.into_owned(),
                    None => Event::Status {
                        state: owned(status.state),
                        message: Some(status.message.into_owned()),
                    },
                };
                self.push(event, origin(status.node, None, None, None), out);
            }
            Chunk::Checkpoint(checkpoint) => {
                let event = Event::Checkpoint {
                    checkpoint: checkpoint.id.into(),
                    session: checkpoint.session_id.into(),
                    turn: checkpoint.turn_index,
                    label: owned(checkpoint.label),
                };
                self.push(event, Origin::default(), out);
            }
            Chunk::Trace(trace) => {
                let event = Event::Trace {
                    trace: trace.trace_id.into_owned(),
                    span: trace.span_id.into_owned(),
                    run: trace.run_id.into(),
                };
                self.push(event, Origin::default(), out);
            }
            Chunk::Transition(transition) => {
                let event = Event::Transition {
                    to: transition.transition_to.into_owned(),
                    payload: transition.payload.map(Cow::into_owned),
                };
                self.push(event, Origin::default(), out);
            }
            Chunk::Error(failure) => self.error(failure, out),
            Chunk::Carried(Carried { event, origin }) => {
                self.started |= matches!(*event, Event::RunStarted(_));
                self.push(event.into_owned(), origin.map(Cow::into_owned).unwrap_or_default(), out);
            }
            Chunk::Other(value) => {
                let data = value.into_owned();
                let name = data.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
                self.push(Event::Unknown { name, data }, Origin::default(), out);
            }
            Chunk::Done(_) => {}
        }
    }

    fn push(&mut self, event: Event, origin: Origin, out: &mut Decoded) {
        self.ending.see(&event);
        out.records.push(Record::new(self.seq, event).from(origin));
        self.seq += 1;
    }

    /// An error is the run's last word if nothing follows it.
    fn fail(&mut self, out: &mut Decoded) -> bool {
        let failure = self.failure.take();
        let failed = failure.is_some();
        if let Some(error) = failure {
            self.push(Event::RunFailed(error), Origin::default(), out);
        }
        failed
    }

    fn done(&mut self, done: Done<'_>, out: &mut Decoded) {
        self.done = true;
        self.waits = false;
        let Done { data, reason, usage, stands_for } = done;
        let failure = self.failure.take();
        let event = match (stands_for, failure, self.ending.implied()) {
            (Some(event), failure, _) => {
                if let Some(error) = failure {
                    self.push(Event::Error { error, terminal: false }, Origin::default(), out);
                }
                event.into_owned()
            }
            (None, Some(error), _) => Event::RunFailed(error),
            (None, None, Implied::Nothing) => return,
            (None, None, Implied::Waiting) => Event::RunWaiting { tool_calls: Vec::new(), usage: None },
            (None, None, Implied::Finished) => Event::RunFinished {
                reason: reason.map(Cow::into_owned),
                usage: usage.map(Cow::into_owned),
                data: data.map(Cow::into_owned),
            },
        };
        self.waits = matches!(event, Event::RunWaiting { .. });
        self.push(event, Origin::default(), out);
    }

    fn error(&mut self, failure: Failure<'_>, out: &mut Decoded) {
        let Failure { message, code, retryable, terminal } = failure;
        let error = ErrorInfo { message: message.into_owned(), code: owned(code), retryable, request: None };
        match terminal {
            Some(terminal) => self.push(Event::Error { error, terminal }, Origin::default(), out),
            None => self.failure = Some(error),
        }
    }

    /// The run begins. Said again within the run, it would undo what is known of it.
    fn session(&mut self, session: Session<'_>, out: &mut Decoded) {
        if self.started && !self.done {
            let data = serde_json::to_value(Chunk::Session(session)).unwrap_or_default();
            return self.push(Event::Unknown { name: "session".to_owned(), data }, Origin::default(), out);
        }
        self.started = true;
        let event = Event::RunStarted(RunStarted {
            run: session.run_id.map(Into::into),
            session: Some(session.session_id.into()),
            conversation: owned(session.conversation_id),
            parent: session.parent_run_id.map(Into::into),
            workflow: owned(session.workflow_id),
            model: owned(session.model),
            request: owned(session.http_request_id),
            endpoint: owned(session.endpoint),
        });
        self.push(event, Origin::default(), out);
    }

    fn text(&mut self, text: Text<'_>) -> (PartId, Option<Value>, Origin) {
        let Text { node, id, op_id, segment_id, attempt, message_id, metadata, .. } = text;
        let origin = text_origin(node, op_id, segment_id, attempt, message_id);
        (self.block(id, &origin), metadata.map(Cow::into_owned), origin)
    }

    fn block(&mut self, id: Option<Cow<'_, str>>, origin: &Origin) -> PartId {
        if let Some(known) = &self.block {
            let same = match &id {
                Some(id) => *known == **id,
                None => block::is_identity(known.as_str(), origin),
            };
            if same {
                return known.clone();
            }
        }
        let id = id.map_or_else(|| PartId::from(block::identity(origin)), PartId::from);
        self.block = Some(id.clone());
        id
    }

    fn tool_start(&mut self, start: ToolCallStart<'_>, out: &mut Decoded) {
        let tool = ToolCall {
            call: start.tool_call_id.into(),
            name: start.tool.into_owned(),
            dynamic: start.dynamic,
            executor: start.executor.unwrap_or_default(),
            title: owned(start.title),
            metadata: start.metadata.map(Cow::into_owned),
        };
        let origin = origin(start.node, start.op_id, start.attempt, start.message_id);
        let input = start.input.map(Cow::into_owned);
        self.push(Event::ToolInputAvailable { tool, input }, origin, out);
    }

    fn tool_result(&mut self, result: ToolCallResult<'_>, out: &mut Decoded) {
        let origin = origin(result.node, result.op_id, result.attempt, result.message_id);
        let event = match result.stands_for {
            Some(event) => event.into_owned(),
            None => Event::ToolOutput {
                call: ToolCallId::from(result.tool_call_id),
                name: tool_name(result.tool, result.unnamed),
                output: result.content.map_or(Value::Null, Cow::into_owned),
                structured: result.structured_content.map(Cow::into_owned),
                is_error: result.is_error.unwrap_or(false),
                preliminary: result.preliminary,
                metadata: result.metadata.map(Cow::into_owned),
            },
        };
        self.push(event, origin, out);
    }

    fn tool_error(&mut self, error: ToolCallError<'_>, out: &mut Decoded) {
        let origin = origin(error.node, error.op_id, error.attempt, error.message_id);
        let event = match error.stands_for {
            Some(event) => event.into_owned(),
            None => Event::ToolOutputError {
                call: ToolCallId::from(error.tool_call_id),
                name: tool_name(error.tool, error.unnamed),
                error: error.message.into_owned(),
            },
        };
        self.push(event, origin, out);
    }
}

fn owned(text: Option<Cow<'_, str>>) -> Option<String> {
    text.map(Cow::into_owned)
}

fn tool_name(name: Cow<'_, str>, unnamed: bool) -> Option<String> {
    (!unnamed).then(|| name.into_owned())
}

fn origin(
    node: Option<Cow<'_, str>>,
    operation: Option<Cow<'_, str>>,
    attempt: Option<Cow<'_, str>>,
    message: Option<Cow<'_, str>>,
) -> Origin {
    Origin {
        node: owned(node),
        operation: owned(operation),
        attempt: attempt.map(AttemptId::from),
        message: message.map(MessageId::from),
        ..Origin::default()
    }
}

fn text_origin(
    node: Option<Cow<'_, str>>,
    operation: Option<Cow<'_, str>>,
    segment: Option<Cow<'_, str>>,
    attempt: Option<Cow<'_, str>>,
    message: Option<Cow<'_, str>>,
) -> Origin {
    let mut origin = origin(node, operation, attempt, message);
    origin.segment = owned(segment).and_then(|segment| block::read_segment(segment, origin.attempt.as_ref()));
    origin
}

#[cfg(test)]
mod tests;
