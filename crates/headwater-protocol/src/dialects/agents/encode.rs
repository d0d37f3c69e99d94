//! Records in, named events out.
//!
//! The contract's own client needs a message before anything can be put into it and a call before
//! its result. Where the run did not say so, the encoder does, and marks what it added as `implied`,
//! so that our decoder gives back the run's events and no others.

mod content;
mod tool;

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::{
    chunk::{
        Attempt, Carried, Checkpoint, Chunk, Done, ErrorChunk, InterruptAnswer, InterruptExpired, MessageEnd,
        MessageStart, Meta, NAMES, RunWaiting, State, StateDelta, Status, StructuredInvalidated, TextDelta,
        ToolDelta, Transition, Warning,
    },
    ledger::Ledger,
    reentry,
};
use crate::{
    carry,
    encode::{Encode, EncodeOptions},
    event::{ErrorInfo, Event, Executor, Origin, Record, Role, RunStarted},
    framing::{FrameWriter, Framing, Piece},
    id::{AttemptId, MessageId, RunId},
    state::RunState,
    time::Iso8601,
};

/// Where chunks go.
type Sink<'s> = &'s mut dyn FnMut(&Chunk<'_>);

/// Writes a run as a stream of named events.
#[derive(Debug, Clone, Default)]
pub struct Encoder {
    pub(super) ledger: Ledger,
    run: Option<RunId>,
    begun: bool,
    /// How the run began, to be said again in its next response.
    started: RunStarted,
    ended: bool,
    waiting: bool,
    /// The attempts that said something, and where; kept only if there is a seam to put there.
    spoke: Vec<(AttemptId, MessageId)>,
    seam: String,
}

impl Encoder {
    /// An encoder at the beginning of a stream.
    #[must_use]
    pub fn new(options: &EncodeOptions) -> Self {
        Self { seam: options.seam.clone(), ..Self::default() }
    }

    /// The chunks of one record.
    ///
    /// ```
    /// use headwater_protocol::{Event, Record, dialects::agents};
    ///
    /// let mut encoder = agents::Encoder::default();
    /// let mut names = Vec::new();
    /// let record = Record::new(0, Event::Message { content: "Hi".into() });
    /// encoder.chunks(&record, &mut |chunk| names.push(chunk.name().to_owned()));
    /// assert_eq!(names, ["meta", "message.start", "message.delta"]);
    /// ```
    pub fn chunks(&mut self, record: &Record, sink: &mut dyn FnMut(&Chunk<'_>)) {
        if self.ended {
            return;
        }
        if !self.begun {
            self.begun = true;
            if let Event::RunStarted(started) = &record.event {
                return self.meta(started, record.time, sink);
            }
            sink(&Chunk::Meta(Meta { implied: true, ..Meta::default() }));
        }
        self.waiting &= record.event.kind().leaves_waiting();
        self.event(record, sink);
    }

    /// The chunks that follow the last record. A run that has not ended and does not wait was cut,
    /// and its stream shows it.
    pub fn end(&mut self, sink: &mut dyn FnMut(&Chunk<'_>)) {
        if self.waiting && !self.ended {
            self.close(sink);
            sink(&Chunk::Done(Done {
                run_id: self.run.as_ref().map(|run| run.as_str().into()),
                finish_reason: Some("waiting".into()),
                implied: true,
                ..Done::default()
            }));
        }
    }

    fn meta(&mut self, started: &RunStarted, time: u64, sink: Sink<'_>) {
        self.run.clone_from(&started.run);
        self.started.clone_from(started);
        sink(&Chunk::Meta(Meta {
            request_id: text(started.request.as_ref()),
            run_id: text(started.run.as_ref()),
            session_id: text(started.session.as_ref()),
            conversation_id: text(started.conversation.as_ref()),
            model: text(started.model.as_ref()),
            endpoint: text(started.endpoint.as_ref()),
            created_at: date(time),
            workflow: text(started.workflow.as_ref()),
            parent_run_id: text(started.parent.as_ref()),
            implied: false,
        }));
    }

    fn event(&mut self, record: &Record, sink: Sink<'_>) {
        match &record.event {
            Event::RunFinished { reason, usage, data } => {
                self.close(sink);
                self.ended = true;
                sink(&Chunk::Done(Done {
                    run_id: text(self.run.as_ref()),
                    finish_reason: reason.as_ref().map(|reason| reason.as_str().into()),
                    usage: usage.as_ref().map(Cow::Borrowed),
                    data: value(data.as_ref()),
                    ..Done::default()
                }));
            }
            Event::RunFailed(error) => {
                self.close(sink);
                self.ended = true;
                sink(&Chunk::Error(failure(error, true, false)));
            }
            Event::RunCancelled { reason } => {
                self.close(sink);
                self.ended = true;
                sink(&Chunk::Done(Done {
                    run_id: text(self.run.as_ref()),
                    finish_reason: Some("cancelled".into()),
                    cancelled: true,
                    reason: text(reason.as_ref()),
                    ..Done::default()
                }));
            }
            Event::RunWaiting { tool_calls, usage } => {
                self.waiting = true;
                sink(&Chunk::Status(waiting(None)));
                sink(&Chunk::RunWaiting(RunWaiting {
                    tool_call_ids: Cow::Borrowed(tool_calls),
                    usage: usage.as_ref().map(Cow::Borrowed),
                }));
            }

            Event::AttemptStarted { attempt, model } => {
                let model = text(model.as_ref());
                sink(&Chunk::AttemptStart(Attempt { attempt: attempt.as_str().into(), model, reason: None }));
            }
            Event::AttemptFinished { attempt } => {
                self.spoke.retain(|(spoke, _)| spoke != attempt);
                let attempt = attempt.as_str().into();
                sink(&Chunk::AttemptEnd(Attempt { attempt, ..Attempt::default() }));
            }
            Event::AttemptRetracted { attempt, reason } => self.retract(attempt, reason.as_deref(), sink),

            Event::MessageStarted { .. }
            | Event::MessageFinished { .. }
            | Event::MessageMetadata { .. }
            | Event::Message { .. }
            | Event::StepStarted { .. }
            | Event::StepFinished { .. }
            | Event::TextStart { .. }
            | Event::TextDelta { .. }
            | Event::TextEnd { .. }
            | Event::ReasoningStart { .. }
            | Event::ReasoningDelta { .. }
            | Event::ReasoningEnd { .. }
            | Event::SourceUrl { .. }
            | Event::SourceDocument { .. }
            | Event::File { .. }
            | Event::Data { .. } => self.content(record, sink),

            Event::ToolInputStart(_)
            | Event::ToolInputDelta { .. }
            | Event::ToolInputAvailable { .. }
            | Event::ToolInputError { .. }
            | Event::ApprovalRequested { .. }
            | Event::ApprovalAnswered { .. }
            | Event::ToolOutput { .. }
            | Event::ToolOutputError { .. }
            | Event::ToolDenied { .. } => self.tool(record, sink),

            Event::Structured(update) => sink(&Chunk::Structured(Cow::Borrowed(update))),
            Event::StructuredInvalidated { stream, checkpoint } => {
                sink(&Chunk::StructuredInvalidated(StructuredInvalidated {
                    stream_id: stream.into(),
                    checkpoint_id: text(checkpoint.as_ref()),
                }));
            }
            Event::StateSnapshot { state } => sink(&Chunk::State(State { state: Cow::Borrowed(state) })),
            Event::StateDelta { patch } => {
                sink(&Chunk::StateDelta(StateDelta { patch: Cow::Borrowed(patch) }));
            }
            Event::MessagesSnapshot { messages } => {
                self.ledger.replace(messages);
                send_whole(record, None, sink);
            }

            Event::InterruptRequested(interrupt) => {
                sink(&Chunk::Status(waiting(interrupt.question.as_deref())));
                sink(&Chunk::Interrupt(Cow::Borrowed(interrupt)));
            }
            Event::InterruptAnswered { request, answer } => {
                let request = request.as_str().into();
                sink(&Chunk::InterruptAnswer(InterruptAnswer { request, answer: value(answer.as_ref()) }));
            }
            Event::InterruptExpired { request } => {
                sink(&Chunk::InterruptExpired(InterruptExpired { request: request.as_str().into() }));
            }

            Event::Status { state, message } => {
                let (state, message) = (text(state.as_ref()), text(message.as_ref()));
                sink(&Chunk::Status(Status { state, message, implied: false }));
            }
            Event::Transition { to, payload } => {
                sink(&Chunk::Transition(Transition { to: to.into(), payload: value(payload.as_ref()) }));
            }
            Event::Checkpoint { checkpoint, session, turn, label } => {
                sink(&Chunk::Checkpoint(Checkpoint {
                    checkpoint_id: checkpoint.as_str().into(),
                    session_id: session.as_str().into(),
                    turn: *turn,
                    label: text(label.as_ref()),
                }));
            }
            Event::Usage(usage) => sink(&Chunk::Usage(Cow::Borrowed(usage))),
            Event::Warning { message, code } => {
                sink(&Chunk::Warning(Warning { message: message.into(), code: text(code.as_ref()) }));
            }
            Event::Error { error, terminal } => {
                sink(&Chunk::Error(failure(error, *terminal, *terminal)));
            }
            Event::Unknown { name, data } if is_foreign(name) => sink(&Chunk::Unknown(name, data)),
            Event::RunStarted(_) | Event::Trace { .. } | Event::Unknown { .. } => {
                send_whole(record, None, sink);
            }
        }
    }

    /// The message that an event belongs to.
    fn target(&mut self, origin: &Origin, sink: Sink<'_>) -> MessageId {
        let id = match (&origin.message, self.ledger.current()) {
            (Some(wanted), _) => wanted.clone(),
            (None, Some((_, known))) => known.id.clone(),
            (None, None) => MessageId::from(format!("message-{}", self.ledger.len() + 1)),
        };
        self.open(id, sink)
    }

    /// A message is begun if the run has not done so, and opened again if it had ended.
    fn open(&mut self, id: MessageId, sink: Sink<'_>) -> MessageId {
        if self.ledger.current().is_some_and(|(_, known)| known.open && known.id == id) {
            return id;
        }
        let start = MessageStart {
            message_id: Some(id.as_str().into()),
            role: Some(Role::Assistant.as_str().into()),
            implied: true,
            ..MessageStart::default()
        };
        match self.ledger.find(&id) {
            None => {
                sink(&Chunk::MessageStart(start));
                self.ledger.start(id.clone());
            }
            Some(at) => {
                if let Some(known) = self.ledger.get_mut(at).filter(|known| !known.open) {
                    known.open = true;
                    sink(&Chunk::MessageResume(start));
                }
            }
        }
        id
    }

    /// Our clients drop what the attempt said; the contract's own keep it, and see the seam.
    fn retract(&mut self, attempt: &AttemptId, reason: Option<&str>, sink: Sink<'_>) {
        self.ledger.retract(attempt);
        sink(&Chunk::AttemptRetract(Attempt {
            attempt: attempt.as_str().into(),
            model: None,
            reason: reason.map(Cow::Borrowed),
        }));
        if let Some(at) = self.spoke.iter().position(|(spoke, _)| spoke == attempt) {
            let (_, message) = self.spoke.swap_remove(at);
            let message = self.open(message, sink);
            sink(&Chunk::MessageDelta(TextDelta {
                message_id: Some(message.as_str().into()),
                part_id: None,
                delta: self.seam.as_str().into(),
                metadata: None,
                attempt: None,
                whole: false,
                implied: true,
            }));
        }
    }

    /// After a re-entry: what the client knows from elsewhere, and where the run is.
    pub(super) fn come_back(&mut self, state: &RunState) {
        for message in state.messages() {
            if self.ledger.find(&message.id).is_none() {
                let at = self.ledger.start(message.id.clone());
                if let Some(known) = self.ledger.get_mut(at) {
                    known.open = false;
                }
            }
        }
        let current = state.current_message().and_then(|message| self.ledger.find(&message.id));
        self.ledger.set_current(current);
    }

    /// The run comes to its end: so do its messages.
    fn close(&mut self, sink: Sink<'_>) {
        for message in self.ledger.open() {
            message.open = false;
            let message_id = Some(message.id.as_str().into());
            sink(&Chunk::MessageEnd(MessageEnd { message_id, implied: true }));
        }
    }
}

impl Encode for Encoder {
    fn record(&mut self, record: &Record, out: &mut FrameWriter) {
        self.chunks(record, &mut |chunk| write(chunk, out));
    }

    fn reentry(&mut self, state: &RunState, out: &mut FrameWriter) {
        reentry::reentry(self, state, &mut |chunk| write(chunk, out));
    }

    fn finish(&mut self, out: &mut FrameWriter) {
        self.end(&mut |chunk| write(chunk, out));
    }

    fn next_response(&mut self, out: &mut FrameWriter) {
        self.ended = false;
        self.waiting = false;
        let started = std::mem::take(&mut self.started);
        self.meta(&started, 0, &mut |chunk| write(chunk, out));
    }
}

/// Lines of JSON have no place for the name but the chunk itself.
#[derive(Serialize)]
struct Typed<'c, 'a> {
    #[serde(rename = "type")]
    name: &'static str,
    #[serde(flatten)]
    chunk: &'c Chunk<'a>,
}

fn write(chunk: &Chunk<'_>, out: &mut FrameWriter) {
    match (out.framing(), chunk) {
        (Framing::Sse, Chunk::Unknown(name, data)) => {
            // Its name was looked at before, so there is nothing that could not be written.
            let written = out.frame(Some(name), data);
            debug_assert!(written.is_ok(), "{written:?}");
        }
        (Framing::Sse, known) => {
            if !write_delta(known, out) {
                out.chunk(Some(known.own_name()), known);
            }
        }
        (Framing::Ndjson, Chunk::Unknown(name, data)) => {
            // It may have a `type` of its own, or be no object.
            let event = Event::Unknown { name: (*name).to_owned(), data: (*data).clone() };
            let carried = Carried { event: Cow::Owned(event), message_id: None, attempt: None };
            out.chunk(None, &Typed { name: carry::NAME, chunk: &Chunk::Carried(carried) });
        }
        (Framing::Ndjson, known) => out.chunk(None, &Typed { name: known.own_name(), chunk: known }),
    }
}

/// Writes a plain delta by hand, if it is one.
fn write_delta(chunk: &Chunk<'_>, out: &mut FrameWriter) -> bool {
    match chunk {
        Chunk::MessageDelta(TextDelta {
            message_id: Some(message),
            part_id: Some(part),
            delta,
            metadata: None,
            attempt: None,
            whole: false,
            implied: false,
        }) => {
            let pieces = [
                Piece::Json(r#"{"messageId":"#),
                Piece::Text(message),
                Piece::Json(r#","partId":"#),
                Piece::Text(part),
                Piece::Json(r#","delta":"#),
                Piece::Text(delta),
                Piece::Json("}"),
            ];
            out.pieces(Some("message.delta"), &pieces);
            true
        }
        Chunk::ToolDelta(ToolDelta {
            tool_call_id,
            tool_name: None,
            delta,
            state: Some(state),
            message_id: Some(message),
            dynamic: None,
            executor: Executor::Server,
            title: None,
            metadata: None,
            attempt: None,
            implied: false,
        }) => {
            let pieces = [
                Piece::Json(r#"{"toolCallId":"#),
                Piece::Text(tool_call_id),
                Piece::Json(r#","delta":"#),
                Piece::Text(delta),
                Piece::Json(r#","state":"#),
                Piece::Text(state),
                Piece::Json(r#","messageId":"#),
                Piece::Text(message),
                Piece::Json("}"),
            ];
            out.pieces(Some("tool.delta"), &pieces);
            true
        }
        _ => false,
    }
}

/// Whether a name can stand in an `event:` line and means nothing to us.
fn is_foreign(name: &str) -> bool {
    !name.is_empty() && !name.contains(['\r', '\n', '\0']) && !NAMES.contains(&name)
}

fn send_whole(record: &Record, message: Option<&MessageId>, sink: Sink<'_>) {
    sink(&Chunk::Carried(Carried {
        event: Cow::Borrowed(&record.event),
        message_id: text(message.or(record.origin.message.as_ref())),
        attempt: text(record.origin.attempt.as_ref()),
    }));
}

fn failure(error: &ErrorInfo, terminal: bool, announced: bool) -> ErrorChunk<'_> {
    ErrorChunk {
        message: error.message.as_str().into(),
        code: text(error.code.as_ref()),
        retryable: error.retryable,
        terminal: Some(terminal),
        announced,
    }
}

fn waiting(message: Option<&str>) -> Status<'_> {
    Status { state: Some("waiting".into()), message: message.map(Cow::Borrowed), implied: true }
}

fn text<T: AsRef<str>>(text: Option<&T>) -> Option<Cow<'_, str>> {
    text.map(|text| Cow::Borrowed(text.as_ref()))
}

fn value(value: Option<&Value>) -> Option<Cow<'_, Value>> {
    value.map(Cow::Borrowed)
}

fn date(time: u64) -> Option<Cow<'static, str>> {
    (time > 0).then(|| Cow::Owned(Iso8601(time).to_string()))
}
