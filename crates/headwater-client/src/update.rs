//! The updates of a run's stream.

use std::time::Duration;

use headwater_protocol::{Event, Record, RunState};

use crate::Error;

/// One step of a stream.
#[derive(Debug)]
#[non_exhaustive]
pub enum Update {
    /// A record of the run, already applied to the state.
    Event(Box<EventUpdate>),
    /// The state was dropped; records that rebuild it follow.
    Reset,
    /// The connection changed.
    Connection(ConnectionStatus),
}

impl Update {
    /// The event, if it is one.
    #[must_use]
    pub fn event(&self) -> Option<&Event> {
        match self {
            Self::Event(update) => Some(&update.record.event),
            _ => None,
        }
    }
}

/// A record of the run, and its change.
#[derive(Debug)]
pub struct EventUpdate {
    /// The record.
    pub record: Record,
    /// The changed part of the state.
    pub change: Change,
    /// Whether it rebuilds an earlier state: nothing new happened.
    pub replay: bool,
    /// Why the record could not be applied, if so. The stream continues.
    pub problem: Option<headwater_protocol::Error>,
}

/// The part of a [`RunState`] that a record changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Nothing, or nothing that the state holds.
    Nothing,
    /// The message at this index of [`RunState::messages`].
    Message(usize),
    /// Any message.
    Messages,
    /// The structured object of this stream, and its part.
    Structured(String),
    /// The state that is shared with the page.
    Shared,
    /// [`RunState::run`]: its status, usage or error. The status changes that of the messages.
    Run,
}

impl Change {
    /// The change that this record made to the state.
    pub(crate) fn of(record: &Record, state: &RunState) -> Self {
        match &record.event {
            Event::RunStarted(_)
            | Event::RunFinished(_)
            | Event::RunFailed(_)
            | Event::RunCancelled { .. }
            | Event::RunWaiting(_)
            | Event::Usage(_)
            | Event::Error(_) => Self::Run,
            Event::AttemptRetracted(_) | Event::MessagesSnapshot { .. } => Self::Messages,
            Event::AttemptStarted(_)
            | Event::AttemptFinished { .. }
            | Event::Status(_)
            | Event::Transition(_)
            | Event::Checkpoint(_)
            | Event::Warning(_)
            | Event::Trace(_) => Self::Nothing,
            Event::Structured(update) => Self::Structured(update.stream.clone()),
            Event::StructuredInvalidated(invalid) => Self::Structured(invalid.stream.clone()),
            Event::StateSnapshot { .. } | Event::StateDelta { .. } => Self::Shared,
            event => message_of(event, record, state).map_or(Self::Nothing, Self::Message),
        }
    }
}

/// The index of the message that an event belongs to. It is nearly always the last one.
fn message_of(event: &Event, record: &Record, state: &RunState) -> Option<usize> {
    let messages = state.messages();
    let by_id = |id: &headwater_protocol::MessageId| messages.iter().rposition(|message| message.id == *id);
    let settled = event
        .settled_call()
        .and_then(|call| messages.iter().rposition(|message| message.tool(call.as_str()).is_some()));
    let named = match event {
        Event::MessageStarted(started) => by_id(&started.message),
        Event::MessageFinished { message } => by_id(message),
        _ => record.origin.message.as_ref().and_then(by_id),
    };
    settled.or(named).or_else(|| messages.len().checked_sub(1))
}

/// The state of the connection.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectionStatus {
    /// Events arrive.
    Open,
    /// The run is queued in its session and has not started.
    Queued,
    /// The connection was lost and is made again after `retry_in`.
    Lost {
        /// Why it was lost.
        error: Error,
        /// The pause before the next attempt.
        retry_in: Duration,
    },
}
