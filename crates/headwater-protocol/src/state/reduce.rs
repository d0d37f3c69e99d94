//! The reducer: applies events to the state in place.

mod index;
mod merge;
mod objects;
mod retraction;
mod rules;
mod serialize;
#[cfg(test)]
mod tests;
mod text;
mod tool;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use index::{PartIndex, PartKey, PartLocation};
pub use rules::{Rules, ToolScope};
use serialize::{RunStateData, as_updates};

use super::{RunInfo, RunStatus};
use crate::{
    error::Error,
    event::{
        DataEvent, ErrorEvent, ErrorInfo, Event, FilePart, Interrupt, InterruptAnswered, Message,
        MessageStarted, MessageStatus, Origin, Part, PartState, QuestionState, Record, Role, RunFinished,
        RunWaiting, SourcePart, TextPart, ToolPart, UnknownEvent,
    },
    id::{MessageId, ToolCallId},
    structured::StructuredStreams,
};

/// The state of a run so far.
///
/// ```
/// use headwater_protocol::{BlockDelta, BlockKind, Event, Record, RunState};
///
/// let mut state = RunState::default();
/// for (seq, delta) in ["Hel", "lo"].into_iter().enumerate() {
///     let event = Event::BlockDelta(BlockDelta::new(BlockKind::Text, "t1", delta));
///     state.apply(&Record::new(seq as u64, event)).unwrap();
/// }
/// assert_eq!(state.messages()[0].plain_text(), "Hello");
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "RunStateData")]
pub struct RunState {
    rules: Rules,
    run: RunInfo,
    messages: Vec<Message>,
    current: Option<usize>,
    #[serde(serialize_with = "as_updates")]
    structured: StructuredStreams,
    interrupts: Vec<Interrupt>,
    shared: Option<Value>,
    #[serde(skip)]
    index: PartIndex,
}

impl RunState {
    /// An empty state with a dialect's rules.
    #[must_use]
    pub fn with_rules(rules: Rules) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Starts with the messages of the conversation so far.
    ///
    /// If the last one is the assistant's, the run continues it.
    #[must_use]
    pub fn with_messages(mut self, messages: Vec<Message>) -> Self {
        self.current = messages.len().checked_sub(1);
        self.current = self
            .current
            .filter(|&at| messages.get(at).is_some_and(|message| message.role == Role::Assistant));
        self.messages = messages;
        self.rebuild_index();
        self
    }

    /// Facts about the run itself.
    #[must_use]
    pub fn run(&self) -> &RunInfo {
        &self.run
    }

    /// The messages, oldest first.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The message of events that name none.
    #[must_use]
    pub fn current_message(&self) -> Option<&Message> {
        self.messages.get(self.current?)
    }

    /// The latest part of a tool call.
    #[must_use]
    pub fn tool(&self, call: &ToolCallId) -> Option<&ToolPart> {
        self.messages.iter().rev().find_map(|message| message.tool(call.as_str()))
    }

    /// The structured streams.
    #[must_use]
    pub fn structured(&self) -> &StructuredStreams {
        &self.structured
    }

    /// The open questions.
    #[must_use]
    pub fn interrupts(&self) -> &[Interrupt] {
        &self.interrupts
    }

    /// The state shared with the page.
    #[must_use]
    pub fn shared_state(&self) -> Option<&Value> {
        self.shared.as_ref()
    }

    /// The dialect's rules.
    #[must_use]
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// Ends the stream. If the run has not ended, open parts are marked as failed.
    ///
    /// ```
    /// use headwater_protocol::{BlockDelta, BlockKind, Event, MessageStatus, Record, RunState};
    ///
    /// let mut state = RunState::default();
    /// let event = Event::BlockDelta(BlockDelta::new(BlockKind::Text, "t1", "Hel"));
    /// state.apply(&Record::new(0, event)).unwrap();
    /// state.end_of_stream();
    /// assert_eq!(state.messages()[0].status, MessageStatus::Error);
    /// assert_eq!(state.run().error.as_ref().unwrap().code.as_deref(), Some("cut"));
    /// ```
    pub fn end_of_stream(&mut self) {
        let cut = |error: &ErrorInfo| error.code.as_deref() == Some("cut");
        let was_cut = self.run.status == RunStatus::Failed && self.run.error.as_ref().is_some_and(cut);
        // A truncated stream may be continued and truncated again.
        if self.run.status == RunStatus::Running || was_cut {
            let error = ErrorInfo {
                message: "the stream ended before the run did".to_owned(),
                code: Some("cut".to_owned()),
                retryable: Some(true),
                request: None,
            };
            self.fail(error);
        }
    }

    /// Whether the run has ended, so that nothing changes it. A truncated stream may be continued.
    fn has_ended(&self) -> bool {
        let cut = self.run.error.as_ref().is_some_and(|error| error.code.as_deref() == Some("cut"));
        match self.run.status {
            RunStatus::Finished | RunStatus::Cancelled => !self.rules.goes_on_after_end,
            RunStatus::Failed => !cut && !self.rules.goes_on_after_end,
            _ => false,
        }
    }

    /// Marks the run and its open parts as failed.
    pub fn fail(&mut self, error: ErrorInfo) {
        self.run.error = Some(error);
        self.end(RunStatus::Failed, MessageStatus::Error);
    }

    /// Applies one event. After the end of the run, only the start of another run is applied.
    ///
    /// # Errors
    /// If a structured update or a state change does not fit; it changes nothing. No other event can fail.
    pub fn apply(&mut self, record: &Record) -> Result<(), Error> {
        let origin = &record.origin;
        if self.has_ended() && !matches!(record.event, Event::RunStarted(_)) {
            return Ok(());
        }
        if self.run.status == RunStatus::Waiting && !record.event.kind().leaves_waiting() {
            self.run.status = RunStatus::Running;
        }
        match &record.event {
            Event::RunStarted(started) => {
                self.run = RunInfo { started: started.clone(), ..RunInfo::default() };
                self.interrupts.clear();
            }
            Event::RunFinished(RunFinished { reason, usage, data, .. }) => {
                self.run.finish_reason.clone_from(reason);
                if usage.is_some() {
                    self.run.usage.clone_from(usage);
                }
                self.run.data.clone_from(data);
                self.end(RunStatus::Finished, MessageStatus::Sent);
            }
            Event::RunFailed(error) => self.fail(error.clone()),
            Event::RunCancelled { reason } => {
                self.run.cancel_reason.clone_from(reason);
                self.end(RunStatus::Cancelled, MessageStatus::Cancelled);
            }
            Event::RunWaiting(RunWaiting { tool_calls, usage, .. }) => {
                if usage.is_some() {
                    self.run.usage.clone_from(usage);
                }
                self.end(RunStatus::Waiting, MessageStatus::Sent);
                self.run.pending_tool_calls.clone_from(tool_calls);
            }

            Event::AttemptRetracted(retracted) => self.retract(&retracted.attempt),

            Event::MessageStarted(MessageStarted { message, role, author, .. }) => {
                self.start_message(message, *role, author.as_ref());
            }
            Event::MessageFinished { message } => {
                let found = self.messages.iter_mut().rev().find(|known| known.id == *message);
                if let Some(message) = found.filter(|message| message.status == MessageStatus::Streaming) {
                    message.status = MessageStatus::Sent;
                }
            }
            Event::MessageMetadata { metadata } => {
                let shallow = self.rules.metadata_is_shallow;
                if let Some(message) = self.target_mut(origin) {
                    merge::metadata(&mut message.metadata, metadata, shallow);
                }
            }
            Event::Message { content } => {
                let part = TextPart { text: content.clone(), ..self.text_part("message", origin) };
                self.push(origin, Part::Text(TextPart { state: PartState::Done, ..part }));
            }

            Event::StepStarted { name } => {
                if !self.rules.steps_leave_no_part {
                    self.push(origin, Part::StepStart);
                }
                self.run.open_steps.push(name.clone());
            }
            Event::StepFinished { name } => {
                if let Some(at) = self.run.open_steps.iter().rposition(|open| open == name) {
                    self.run.open_steps.remove(at);
                }
            }

            Event::BlockStarted(block) => self.start_block(origin, block),
            Event::BlockDelta(block) => self.grow_block(origin, block),
            Event::BlockEnded(block) => self.end_block(origin, block),

            Event::ToolInputStart(_)
            | Event::ToolInputDelta(_)
            | Event::ToolInputAvailable(_)
            | Event::ToolInputError(_)
            | Event::ApprovalRequested(_)
            | Event::ApprovalAnswered(_)
            | Event::ToolOutput(_)
            | Event::ToolOutputError(_)
            | Event::ToolDenied(_) => self.apply_tool(record),

            Event::SourceUrl(source) => {
                let part = SourcePart {
                    source: source.source.clone(),
                    url: Some(source.url.clone()),
                    title: source.title.clone(),
                    call: source.call.clone(),
                    metadata: source.metadata.clone(),
                    attempt: origin.attempt.clone(),
                    ..SourcePart::default()
                };
                self.push(origin, Part::SourceUrl(part));
            }
            Event::SourceDocument(source) => {
                let part = SourcePart {
                    source: source.source.clone(),
                    title: source.title.clone(),
                    media_type: source.media_type.clone(),
                    filename: source.filename.clone(),
                    text: source.text.clone(),
                    call: source.call.clone(),
                    metadata: source.metadata.clone(),
                    attempt: origin.attempt.clone(),
                    ..SourcePart::default()
                };
                self.push(origin, Part::SourceDocument(part));
            }
            Event::File(file) => {
                let part = FilePart {
                    url: file.url.clone(),
                    media_type: file.media_type.clone(),
                    filename: file.filename.clone(),
                    id: file.id.clone(),
                    reasoning: file.reasoning,
                    metadata: file.metadata.clone(),
                    attempt: origin.attempt.clone(),
                };
                self.push(origin, Part::File(part));
            }
            Event::Data(data) => {
                if !data.transient || self.rules.transient_is_kept {
                    self.put_data(origin, data.clone());
                }
            }

            Event::Structured(update) => self.apply_structured(origin, update)?,
            Event::StructuredInvalidated(gone) => self.invalidate_structured(&gone.stream),
            Event::StateSnapshot { state } => self.shared = Some(state.clone()),
            Event::StateDelta { patch } => merge::patch(&mut self.shared, patch)?,
            Event::MessagesSnapshot { messages } => self.reconcile(messages),

            Event::InterruptRequested(interrupt) => self.ask(origin, interrupt),
            Event::InterruptAnswered(InterruptAnswered { request, answer, .. }) => {
                self.close_question(request, QuestionState::Answered, answer.as_ref());
            }
            Event::InterruptExpired { request } => {
                self.close_question(request, QuestionState::Expired, None);
            }

            Event::Usage(usage) => self.run.usage = Some(usage.clone()),
            Event::Error(ErrorEvent { error, terminal, .. }) => {
                if *terminal {
                    self.fail(error.clone());
                } else {
                    self.run.error = Some(error.clone());
                }
            }

            Event::Unknown(UnknownEvent { name, data, .. }) if self.rules.ui_message_parts => {
                match name.as_str() {
                    "reset-step" => self.reset_step(origin),
                    "custom" | "steering-message" => {
                        self.push(origin, Part::Other { value: data.clone() });
                    }
                    _ => {}
                }
            }

            Event::AttemptStarted(_)
            | Event::AttemptFinished { .. }
            | Event::Status(_)
            | Event::Transition(_)
            | Event::Checkpoint(_)
            | Event::Warning(_)
            | Event::Trace(_)
            | Event::Unknown(_) => {}
        }
        Ok(())
    }

    fn end(&mut self, run: RunStatus, open: MessageStatus) {
        self.run.status = run;
        self.run.pending_tool_calls.clear();
        let close = self.rules.end_closes_blocks;
        for message in &mut self.messages {
            if message.status == MessageStatus::Streaming {
                message.status = open;
                for part in message.parts.iter_mut().filter(|_| close) {
                    if let Part::Text(text) | Part::Reasoning(text) = part {
                        text.state = PartState::Done;
                    }
                }
            }
        }
        if close {
            self.rebuild_index();
        }
    }

    fn start_message(&mut self, id: &MessageId, role: Role, author: Option<&Value>) {
        if let Some(at) = self.messages.iter().rposition(|message| message.id == *id) {
            self.current = Some(at);
            if let Some(message) = self.messages.get_mut(at) {
                message.status = MessageStatus::Streaming;
                // An activity replaces an earlier message of another role.
                if role == Role::Activity && message.role != role {
                    message.role = role;
                    message.parts.clear();
                    self.rebuild_index();
                }
            }
            return;
        }
        let mut message = Message::new(id.clone(), role, MessageStatus::Streaming);
        message.author = author.cloned();
        self.current = Some(self.messages.len());
        self.messages.push(message);
    }

    /// The message of an event, created if missing.
    fn target(&mut self, origin: &Origin) -> usize {
        if let Some(at) = self.current {
            match (&origin.message, self.messages.get(at)) {
                (None, Some(_)) => return at,
                (Some(wanted), Some(message)) if message.id == *wanted => return at,
                _ => {}
            }
        }
        if let Some(wanted) = &origin.message
            && let Some(at) = self.messages.iter().rposition(|message| message.id == *wanted)
        {
            return at;
        }
        let id = origin.message.clone();
        let id = id.unwrap_or_else(|| MessageId::from(format!("message-{}", self.messages.len() + 1)));
        self.messages.push(Message::new(id, Role::Assistant, MessageStatus::Streaming));
        let at = self.messages.len() - 1;
        self.current = Some(at);
        at
    }

    fn target_mut(&mut self, origin: &Origin) -> Option<&mut Message> {
        let at = self.target(origin);
        self.messages.get_mut(at)
    }

    fn push(&mut self, origin: &Origin, part: Part) -> PartLocation {
        let at = self.target(origin);
        self.push_to(at, part)
    }

    fn push_to(&mut self, message: usize, part: Part) -> PartLocation {
        let Some(target) = self.messages.get_mut(message) else {
            return PartLocation { message, part: 0 };
        };
        target.parts.push(part);
        PartLocation { message, part: target.parts.len() - 1 }
    }

    fn part_mut(&mut self, at: PartLocation) -> Option<&mut Part> {
        self.messages.get_mut(at.message)?.parts.get_mut(at.part)
    }

    fn put_data(&mut self, origin: &Origin, part: DataEvent) {
        let message = self.target(origin);
        let key = part.id.clone().map(|id| PartKey::Data(message, part.name.clone(), id));
        if let Some(key) = &key
            && !self.rules.data_is_appended
            && let Some(at) = self.index.parts.get(key).copied()
            && let Some(known) = self.part_mut(at)
        {
            *known = Part::Data(part);
            return;
        }
        if let Some(activity) =
            self.messages.get_mut(message).filter(|message| message.role == Role::Activity)
            && !activity.parts.is_empty()
        {
            // An activity shows one value at a time.
            activity.parts.clear();
            self.rebuild_index();
        }
        let at = self.push_to(message, Part::Data(part));
        if let Some(key) = key {
            self.index.parts.insert(key, at);
        }
    }
}
