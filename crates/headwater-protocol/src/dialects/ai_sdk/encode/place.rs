//! Which message and which attempt a chunk belongs to.
//!
//! The wire has one message and no attempts, so a reader of ours goes by marks: it believes to be in
//! the place that the last mark or `start` named.

use super::{Encoder, Place};
use crate::{
    event::{Event, Record},
    id::{MessageId, PartId},
};

impl Encoder {
    /// The message that a record belongs to.
    pub(super) fn wanted_message(&self, record: &Record) -> Option<MessageId> {
        record.origin.message.clone().or_else(|| self.current.clone())
    }

    /// Whether the record belongs to a message that no page shows as the agent's.
    pub(super) fn is_silent(&self, record: &Record) -> bool {
        let wanted = record.origin.message.as_ref().or(self.current.as_ref());
        in_message(&record.event) && wanted.is_some_and(|wanted| self.messages.get(wanted) == Some(&false))
    }

    /// Whether the event makes a part that goes when its attempt is retracted.
    pub(super) fn makes_part(&self, event: &Event) -> bool {
        let open = |reasoning: bool, id: &PartId| {
            self.blocks.iter().any(|open| open.reasoning == reasoning && open.id == *id)
        };
        match event {
            Event::Message { .. }
            | Event::TextStart { .. }
            | Event::ReasoningStart { .. }
            | Event::SourceUrl { .. }
            | Event::SourceDocument { .. }
            | Event::File { .. } => true,
            Event::TextDelta { id, .. } => !open(false, id),
            Event::ReasoningDelta { id, .. } => !open(true, id),
            Event::ToolInputStart(tool)
            | Event::ToolInputAvailable { tool, .. }
            | Event::ToolInputError { tool, .. }
            | Event::ApprovalRequested { tool, .. } => !self.calls.contains_key(&tool.call),
            Event::ToolInputDelta { call, .. }
            | Event::ToolOutput { call, .. }
            | Event::ToolOutputError { call, .. }
            | Event::ToolDenied { call, .. } => !self.calls.contains_key(call),
            _ => false,
        }
    }

    /// Where a reader must believe to be to read the record, if that is elsewhere.
    pub(super) fn move_to(&self, record: &Record, makes_part: bool) -> Option<Place> {
        let mut place = self.place.clone();
        if in_message(&record.event) {
            place.message = self.wanted_message(record);
        }
        if makes_part {
            place.attempt.clone_from(&record.origin.attempt);
        }
        (place != self.place).then_some(place)
    }

    /// What a reader believes, and what the message is, after the record.
    pub(super) fn arrive(&mut self, record: &Record) {
        match &record.event {
            Event::MessageStarted { message, .. } => {
                self.current = Some(message.clone());
                self.place.message = Some(message.clone());
            }
            Event::AttemptStarted { attempt, .. } => self.place.attempt = Some(attempt.clone()),
            Event::AttemptFinished { attempt } | Event::AttemptRetracted { attempt, .. } => {
                self.place.attempt.take_if(|open| open == attempt);
            }
            event => {
                // A message that nobody started begins with its first part.
                if let Some(message) = &record.origin.message
                    && in_message(event)
                    && !self.messages.contains_key(message)
                {
                    self.messages.insert(message.clone(), true);
                    self.current = Some(message.clone());
                }
            }
        }
    }
}

/// Whether the event changes a message.
fn in_message(event: &Event) -> bool {
    matches!(
        event,
        Event::Message { .. }
            | Event::MessageMetadata { .. }
            | Event::StepStarted { .. }
            | Event::TextStart { .. }
            | Event::TextDelta { .. }
            | Event::TextEnd { .. }
            | Event::ReasoningStart { .. }
            | Event::ReasoningDelta { .. }
            | Event::ReasoningEnd { .. }
            | Event::ToolInputStart(_)
            | Event::ToolInputDelta { .. }
            | Event::ToolInputAvailable { .. }
            | Event::ToolInputError { .. }
            | Event::ApprovalRequested { .. }
            | Event::ToolOutput { .. }
            | Event::ToolOutputError { .. }
            | Event::ToolDenied { .. }
            | Event::SourceUrl { .. }
            | Event::SourceDocument { .. }
            | Event::File { .. }
            | Event::Data { .. }
            | Event::Unknown { .. }
    )
}
