//! Named events in, records out.
//!
//! What the contract leaves open is decided here; `docs/dialects.md` has the list. Nothing on this
//! wire is worth giving up for: what is wrong is reported and passed over.

mod content;
mod tool;

use std::borrow::Cow;

use serde_json::Value;

use super::{
    chunk::{
        Attempt, Carried, Checkpoint, Done, ErrorChunk, InterruptAnswer, InterruptExpired, Meta, RunWaiting,
        State, StateDelta, Status, StructuredInvalidated, Transition, Warning,
    },
    ledger::Ledger,
};
use crate::{
    carry,
    decode::{Decode, Decoded},
    error::{Error, ErrorKind},
    event::{ErrorInfo, Event, EventKind, FinishReason, Interrupt, Origin, Record, RunStarted, Usage},
    framing::Frame,
    id::{AttemptId, MessageId, PartId, ToolCallId},
    json,
    structured::StructuredUpdate,
    time::parse_iso8601,
};

/// Reads a stream of named events.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    seq: u64,
    ledger: Ledger,
    begun: bool,
    end: End,
    waiting: bool,
    /// An error that is terminal if nothing of the run follows it.
    last_error: Option<ErrorInfo>,
    last: LastIds,
}

/// How the stream has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum End {
    #[default]
    NotYet,
    /// A terminal error was said, and `done` may still follow.
    Announced,
    /// The run failed; a `done` adds nothing.
    Failed,
    Done,
}

/// The ids of the frame before: most frames have the same again.
#[derive(Debug, Clone, Default)]
struct LastIds {
    message: Option<MessageId>,
    part: Option<PartId>,
    attempt: Option<AttemptId>,
    call: Option<ToolCallId>,
}

/// The place of an event: its message and its attempt.
#[derive(Debug, Clone, Default)]
struct Place {
    message: Option<MessageId>,
    attempt: Option<AttemptId>,
}

impl Decode for Decoder {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut Decoded) {
        let name = match frame.event {
            Some(name) => Cow::Borrowed(name),
            // Lines of JSON have no `event:` line; their name is in the chunk.
            None => match json::type_of(frame) {
                Ok(name) => name,
                Err(error) if error.kind() == ErrorKind::Json => return out.errors.push(error),
                Err(_) => {
                    let message = "the block has no `event:` line, so nobody knows what it is";
                    return report(out, frame, ErrorKind::UnknownType, message);
                }
            },
        };
        match (self.end, &*name) {
            (End::NotYet | End::Announced, _) => {}
            (End::Failed, "done") => return self.end = End::Done,
            (End::Failed | End::Done, name) => {
                let message = format!("`{name}` came after the end of the stream and is ignored");
                return report(out, frame, ErrorKind::Order, message);
            }
        }
        if let Err(error) = self.named(&name, frame, out) {
            out.errors.push(error);
        }
    }

    fn end(&mut self, out: &mut Decoded) {
        match (self.end, self.last_error.take()) {
            (End::NotYet, Some(error)) => self.push(out, Place::default(), Event::RunFailed(error)),
            (End::NotYet, None) if !self.waiting => {
                let message = "the stream ended without `done`: it was cut";
                out.errors.push(Error::new(ErrorKind::Cut, message));
            }
            _ => {}
        }
    }
}

impl Decoder {
    fn named(&mut self, name: &str, frame: &Frame<'_>, out: &mut Decoded) -> Result<(), Error> {
        if !matches!(name, "error" | "message.end" | "text.end" | "status" | "usage" | "done") {
            self.last_error = None;
        }
        match name {
            "message.delta" => self.text_delta(false, frame, out)?,
            "reasoning.delta" => self.text_delta(true, frame, out)?,
            "tool.delta" => self.tool_delta(frame, out)?,
            "tool.call" => self.tool_call(frame, out)?,
            "tool.result" => self.tool_result(frame, out)?,
            "tool.approval" => self.tool_approval(frame, out)?,
            "tool.approval.response" => self.tool_approval_response(frame, out)?,
            "message.start" => self.message_start(false, frame, out)?,
            "message.resume" => self.message_start(true, frame, out)?,
            "message.end" => self.message_end(frame, out)?,
            "message.metadata" => self.message_metadata(frame, out)?,
            "text.start" | "text.end" | "reasoning.start" | "reasoning.end" => {
                self.part_mark(name, frame, out)?;
            }
            "source" => self.source(frame, out)?,
            "source.document" => self.source_document(frame, out)?,
            "file" => self.file(frame, out)?,
            "data" => self.data(frame, out)?,
            "step.start" => self.step(true, frame, out)?,
            "step.end" => self.step(false, frame, out)?,
            "meta" => self.meta(frame, out)?,
            "error" => self.error(frame, out)?,
            "done" => self.done(frame, out)?,
            _ => {
                let (place, event) = self.run_event(name, frame)?;
                if let Some(event) = event {
                    self.push(out, place, event);
                }
            }
        }
        Ok(())
    }

    /// The events that concern the run and not one message.
    fn run_event(&mut self, name: &str, frame: &Frame<'_>) -> Result<(Place, Option<Event>), Error> {
        let mut place = Place::default();
        let event = match name {
            "status" => {
                let Status { state, message, implied } = json::read(frame)?;
                if implied {
                    return Ok((place, None));
                }
                Event::Status { state: state.map(Cow::into_owned), message: message.map(Cow::into_owned) }
            }
            "usage" => Event::Usage(json::read::<Usage>(frame)?),
            "warning" => {
                let Warning { message, code } = json::read(frame)?;
                Event::Warning { message: message.into_owned(), code: code.map(Cow::into_owned) }
            }
            "transition" => {
                let Transition { to, payload } = json::read(frame)?;
                Event::Transition { to: to.into_owned(), payload: payload.map(Cow::into_owned) }
            }
            "checkpoint" => {
                let Checkpoint { checkpoint_id, session_id, turn, label } = json::read(frame)?;
                Event::Checkpoint {
                    checkpoint: checkpoint_id.into(),
                    session: session_id.into(),
                    turn,
                    label: label.map(Cow::into_owned),
                }
            }
            "attempt.start" => {
                let Attempt { attempt, model, .. } = json::read(frame)?;
                Event::AttemptStarted { attempt: attempt.into(), model: model.map(Cow::into_owned) }
            }
            "attempt.end" => {
                let Attempt { attempt, .. } = json::read(frame)?;
                Event::AttemptFinished { attempt: attempt.into() }
            }
            "attempt.retract" => {
                let Attempt { attempt, reason, .. } = json::read(frame)?;
                let attempt = AttemptId::from(attempt);
                self.ledger.retract(&attempt);
                Event::AttemptRetracted { attempt, reason: reason.map(Cow::into_owned) }
            }
            "structured" => Event::Structured(json::read::<StructuredUpdate>(frame)?),
            "structured.invalidated" => {
                let StructuredInvalidated { stream_id, checkpoint_id } = json::read(frame)?;
                Event::StructuredInvalidated {
                    stream: stream_id.into_owned(),
                    checkpoint: checkpoint_id.map(Into::into),
                }
            }
            "state" => {
                let State { state } = json::read(frame)?;
                Event::StateSnapshot { state: state.into_owned() }
            }
            "state.delta" => {
                let StateDelta { patch } = json::read(frame)?;
                Event::StateDelta { patch: patch.into_owned() }
            }
            "interrupt" => Event::InterruptRequested(Box::new(json::read::<Interrupt>(frame)?)),
            "interrupt.answer" => {
                let InterruptAnswer { request, answer } = json::read(frame)?;
                Event::InterruptAnswered { request: request.into(), answer: answer.map(Cow::into_owned) }
            }
            "interrupt.expired" => {
                let InterruptExpired { request } = json::read(frame)?;
                Event::InterruptExpired { request: request.into() }
            }
            "run.waiting" => {
                let RunWaiting { tool_call_ids, usage } = json::read(frame)?;
                self.waiting = true;
                let tool_calls = tool_call_ids.into_owned();
                Event::RunWaiting { tool_calls, usage: usage.map(Cow::into_owned) }
            }
            carry::NAME => {
                let Carried { event, message_id, attempt } = json::read(frame)?;
                place.message = message_id.map(Into::into);
                place.attempt = attempt.map(Into::into);
                if let Event::MessagesSnapshot { messages } = &*event {
                    self.ledger.replace(messages);
                }
                event.into_owned()
            }
            name => Event::Unknown { name: name.to_owned(), data: json::read::<Value>(frame)? },
        };
        Ok((place, Some(event)))
    }

    fn meta(&mut self, frame: &Frame<'_>, out: &mut Decoded) -> Result<(), Error> {
        let meta: Meta<'_> = json::read(frame)?;
        if std::mem::replace(&mut self.begun, true) {
            let message = "a second `meta` is ignored: a stream is about one run";
            report(out, frame, ErrorKind::Order, message);
            return Ok(());
        }
        if meta.implied {
            return Ok(());
        }
        let started = RunStarted {
            run: meta.run_id.map(Into::into),
            session: meta.session_id.map(Into::into),
            conversation: meta.conversation_id.map(Cow::into_owned),
            parent: meta.parent_run_id.map(Into::into),
            workflow: meta.workflow.map(Cow::into_owned),
            model: meta.model.map(Cow::into_owned),
            request: meta.request_id.map(Cow::into_owned),
            endpoint: meta.endpoint.map(Cow::into_owned),
        };
        let time = read_date(meta.created_at.as_deref(), frame, out);
        self.push_at(out, time, Place::default(), Event::RunStarted(started));
        Ok(())
    }

    fn error(&mut self, frame: &Frame<'_>, out: &mut Decoded) -> Result<(), Error> {
        let ErrorChunk { message, code, retryable, terminal, announced } = json::read(frame)?;
        let (message, code) = (message.into_owned(), code.map(Cow::into_owned));
        let error = ErrorInfo { message, code, retryable, request: None };
        let event = match (terminal, announced) {
            (Some(true), false) => {
                self.end = End::Failed;
                Event::RunFailed(error)
            }
            (Some(true), true) => {
                self.end = End::Announced;
                Event::Error { error, terminal: true }
            }
            (Some(false), _) => {
                self.last_error = None;
                Event::Error { error, terminal: false }
            }
            (None, _) => {
                self.last_error = Some(error.clone());
                Event::Error { error, terminal: false }
            }
        };
        self.push(out, Place::default(), event);
        Ok(())
    }

    fn done(&mut self, frame: &Frame<'_>, out: &mut Decoded) -> Result<(), Error> {
        let Done { finish_reason, usage, data, cancelled, reason, implied, .. } = json::read(frame)?;
        self.close_blocks(out);
        self.end = End::Done;
        if implied {
            return Ok(());
        }
        let usage = usage.map(Cow::into_owned);
        let last_error = self.last_error.take();
        let event = match (last_error, cancelled) {
            (None, false) => Event::RunFinished {
                reason: finish_reason.map(|reason| FinishReason::parse(&reason)),
                usage,
                data: data.map(Cow::into_owned),
            },
            (error, _) => {
                if let Some(usage) = usage {
                    self.push(out, Place::default(), Event::Usage(usage));
                }
                let cancelled = Event::RunCancelled { reason: reason.map(Cow::into_owned) };
                error.map_or(cancelled, Event::RunFailed)
            }
        };
        self.push(out, Place::default(), event);
        Ok(())
    }

    fn push(&mut self, out: &mut Decoded, place: Place, event: Event) {
        self.push_at(out, 0, place, event);
    }

    fn push_at(&mut self, out: &mut Decoded, time: u64, place: Place, event: Event) {
        let kind = event.kind();
        self.waiting &= kind == EventKind::RunWaiting || kind.leaves_waiting();
        let origin = Origin { message: place.message, attempt: place.attempt, ..Origin::default() };
        out.records.push(Record { seq: self.seq, time, origin, event });
        self.seq += 1;
    }
}

fn report(out: &mut Decoded, frame: &Frame<'_>, kind: ErrorKind, message: impl Into<String>) {
    out.errors.push(Error::new(kind, message).at(frame.index, frame.offset));
}

fn read_date(date: Option<&str>, frame: &Frame<'_>, out: &mut Decoded) -> u64 {
    let Some(date) = date else { return 0 };
    parse_iso8601(date).unwrap_or_else(|| {
        let message = format!("`createdAt` must be an ISO 8601 date in UTC, not {date:?}");
        report(out, frame, ErrorKind::Field, message);
        0
    })
}

/// An id, without a new allocation if it is the one of the frame before.
fn reuse<T>(last: &mut Option<T>, text: &str) -> T
where
    T: Clone + AsRef<str> + for<'t> From<&'t str>,
{
    match last {
        Some(id) if id.as_ref() == text => id.clone(),
        _ => last.insert(T::from(text)).clone(),
    }
}
