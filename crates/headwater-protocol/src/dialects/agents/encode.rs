//! Records in, named events out.
//!
//! The contract's own client needs a message before anything can be put into it and a call before
//! its result. Where the run did not say so, the encoder does, and marks what it added as `implied`,
//! so that our decoder gives back the run's events and no others.

mod tool;

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::{
    chunk::{
        Attempt, Carried, Checkpoint, Chunk, Data, Done, ErrorChunk, File, InterruptAnswer, InterruptExpired,
        MessageEnd, MessageMetadata, MessageStart, Meta, NAMES, PartMark, RunWaiting, Source, SourceDocument,
        State, StateDelta, Status, Step, StructuredInvalidated, TextDelta, Transition, Warning,
    },
    ledger::{Ledger, SourceKey},
    reentry,
};
use crate::{
    carry,
    encode::{Encode, EncodeOptions},
    event::{ErrorInfo, Event, EventKind, Origin, Record, Role, RunStarted},
    framing::{FrameWriter, Framing},
    id::{AttemptId, MessageId, PartId, RunId},
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
        self.waiting &= still_waits(record.event.kind());
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
        let origin = &record.origin;
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

            Event::MessageStarted { message, role, author } => {
                self.start(message, *role, author.as_ref(), record.time, sink);
            }
            Event::MessageFinished { message } => {
                let at = self.ledger.find(message);
                if let Some(known) = at.and_then(|at| self.ledger.get_mut(at)).filter(|known| known.open) {
                    known.open = false;
                    let message_id = Some(message.as_str().into());
                    sink(&Chunk::MessageEnd(MessageEnd { message_id, implied: false }));
                }
            }
            Event::MessageMetadata { metadata } => {
                let message = self.target(origin, sink);
                let message_id = Some(message.as_str().into());
                let metadata = Cow::Borrowed(metadata);
                sink(&Chunk::MessageMetadata(MessageMetadata { message_id, metadata }));
            }
            Event::Message { content } => {
                let message = self.target(origin, sink);
                self.speaks(origin, &message);
                let delta = TextDelta { whole: true, ..said(&message, "message", content, origin) };
                sink(&Chunk::MessageDelta(delta));
            }

            Event::StepStarted { name } => {
                let message = self.target(origin, sink);
                let message_id = Some(message.as_str().into());
                sink(&Chunk::StepStart(Step { message_id, name: text(name.as_ref()) }));
            }
            Event::StepFinished { name } => {
                let message_id = text(origin.message.as_ref());
                sink(&Chunk::StepEnd(Step { message_id, name: text(name.as_ref()) }));
            }

            Event::TextStart { id, metadata } => {
                let message = self.target(origin, sink);
                sink(&Chunk::TextStart(mark(&message, id, metadata.as_ref(), origin)));
            }
            Event::TextDelta { id, delta, metadata } => {
                let message = self.target(origin, sink);
                self.speaks(origin, &message);
                let metadata = value(metadata.as_ref());
                let delta = TextDelta { metadata, ..said(&message, id.as_str(), delta, origin) };
                sink(&Chunk::MessageDelta(delta));
            }
            Event::TextEnd { id, metadata } => {
                let message = self.target(origin, sink);
                sink(&Chunk::TextEnd(mark(&message, id, metadata.as_ref(), origin)));
            }
            Event::ReasoningStart { id, metadata } => {
                let message = self.target(origin, sink);
                sink(&Chunk::ReasoningStart(mark(&message, id, metadata.as_ref(), origin)));
            }
            Event::ReasoningDelta { id, delta, metadata } => {
                let message = self.target(origin, sink);
                let metadata = value(metadata.as_ref());
                let delta = TextDelta { metadata, ..said(&message, id.as_str(), delta, origin) };
                sink(&Chunk::ReasoningDelta(delta));
            }
            Event::ReasoningEnd { id, metadata } => {
                let message = self.target(origin, sink);
                sink(&Chunk::ReasoningEnd(mark(&message, id, metadata.as_ref(), origin)));
            }

            Event::ToolInputStart(_)
            | Event::ToolInputDelta { .. }
            | Event::ToolInputAvailable { .. }
            | Event::ToolInputError { .. }
            | Event::ApprovalRequested { .. }
            | Event::ApprovalAnswered { .. }
            | Event::ToolOutput { .. }
            | Event::ToolOutputError { .. }
            | Event::ToolDenied { .. } => self.tool(record, sink),

            Event::SourceUrl { source, url, title, call, metadata } => {
                let message = self.target(origin, sink);
                if !self.is_new_source(&message, false, source, origin) {
                    return send_whole(record, Some(&message), sink);
                }
                sink(&Chunk::Source(Source {
                    source_id: source.into(),
                    url: url.into(),
                    title: text(title.as_ref()),
                    tool_call_id: text(call.as_ref()),
                    message_id: Some(message.as_str().into()),
                    metadata: value(metadata.as_ref()),
                    attempt: text(origin.attempt.as_ref()),
                }));
            }
            Event::SourceDocument { source, title, media_type, filename, text: passage, call, metadata } => {
                let message = self.target(origin, sink);
                if !self.is_new_source(&message, true, source, origin) {
                    return send_whole(record, Some(&message), sink);
                }
                sink(&Chunk::SourceDocument(SourceDocument {
                    source_id: source.into(),
                    title: text(title.as_ref()),
                    media_type: text(media_type.as_ref()),
                    filename: text(filename.as_ref()),
                    text: text(passage.as_ref()),
                    tool_call_id: text(call.as_ref()),
                    message_id: Some(message.as_str().into()),
                    metadata: value(metadata.as_ref()),
                    attempt: text(origin.attempt.as_ref()),
                }));
            }
            Event::File { url, media_type, filename, id, reasoning, metadata } => {
                let message = self.target(origin, sink);
                sink(&Chunk::File(File {
                    url: url.into(),
                    media_type: media_type.into(),
                    filename: text(filename.as_ref()),
                    file_id: text(id.as_ref()),
                    reasoning: *reasoning,
                    message_id: Some(message.as_str().into()),
                    metadata: value(metadata.as_ref()),
                    attempt: text(origin.attempt.as_ref()),
                }));
            }
            Event::Data { name, id, data, transient } => {
                // What is not kept needs no message to be kept in.
                let message = if *transient { None } else { Some(self.target(origin, sink)) };
                sink(&Chunk::Data(Data {
                    name: name.into(),
                    data_id: text(id.as_ref()),
                    data: Cow::Borrowed(data),
                    transient: *transient,
                    message_id: text(message.as_ref()),
                }));
            }

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

    fn start(&mut self, id: &MessageId, role: Role, author: Option<&Value>, time: u64, sink: Sink<'_>) {
        let start = MessageStart {
            message_id: Some(id.as_str().into()),
            role: Some(role.as_str().into()),
            created_at: date(time),
            author: value(author),
            implied: false,
        };
        let Some(at) = self.ledger.find(id) else {
            self.ledger.start(id.clone());
            return sink(&Chunk::MessageStart(start));
        };
        self.ledger.set_current(Some(at));
        if let Some(known) = self.ledger.get_mut(at) {
            known.open = true;
        }
        sink(&Chunk::MessageResume(start));
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

    fn is_new_source(&mut self, message: &MessageId, document: bool, id: &str, origin: &Origin) -> bool {
        let key = SourceKey { message: message.clone(), document, id: id.to_owned() };
        self.ledger.add_source(key, origin.attempt.clone())
    }

    fn speaks(&mut self, origin: &Origin, message: &MessageId) {
        if let Some(attempt) = &origin.attempt
            && !self.seam.is_empty()
            && !self.spoke.iter().any(|(spoke, _)| spoke == attempt)
        {
            self.spoke.push((attempt.clone(), message.clone()));
        }
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
        (Framing::Sse, known) => out.chunk(Some(known.own_name()), known),
        (Framing::Ndjson, Chunk::Unknown(name, data)) => {
            // It may have a `type` of its own, or be no object.
            let event = Event::Unknown { name: (*name).to_owned(), data: (*data).clone() };
            let carried = Carried { event: Cow::Owned(event), message_id: None, attempt: None };
            out.chunk(None, &Typed { name: carry::NAME, chunk: &Chunk::Carried(carried) });
        }
        (Framing::Ndjson, known) => out.chunk(None, &Typed { name: known.own_name(), chunk: known }),
    }
}

/// Whether a run that waits still does after an event of this kind.
pub(super) fn still_waits(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::Status
            | EventKind::Checkpoint
            | EventKind::Usage
            | EventKind::Warning
            | EventKind::Trace
            | EventKind::InterruptRequested
            | EventKind::AttemptFinished
            | EventKind::MessageFinished
            | EventKind::StepFinished
    )
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

fn said<'a>(message: &'a MessageId, part: &'a str, delta: &'a str, origin: &'a Origin) -> TextDelta<'a> {
    TextDelta {
        message_id: Some(message.as_str().into()),
        part_id: Some(part.into()),
        delta: delta.into(),
        metadata: None,
        attempt: origin.attempt.as_ref().map(|attempt| attempt.as_str().into()),
        whole: false,
        implied: false,
    }
}

fn mark<'a>(
    message: &'a MessageId,
    part: &'a PartId,
    metadata: Option<&'a Value>,
    origin: &'a Origin,
) -> PartMark<'a> {
    PartMark {
        message_id: Some(message.as_str().into()),
        part_id: Some(part.as_str().into()),
        metadata: value(metadata),
        attempt: text(origin.attempt.as_ref()),
    }
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
