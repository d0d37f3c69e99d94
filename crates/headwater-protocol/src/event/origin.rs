//! The origin of an event, and the record that carries it.

use serde::{Deserialize, Serialize};

use super::{BlockDelta, Event};
use crate::{
    id::{AttemptId, MessageId},
    json_struct::json_struct,
};

json_struct! {
    /// Where in the run an event comes from. All fields are optional.
    #[derive(Eq)]
    pub struct Origin {
        /// The workflow node.
        pub node?: String,
        /// Number of this execution of the node, from 1.
        pub visit?: u32,
        /// The parallel branch.
        pub branch?: String,
        /// The hook call within the node.
        pub operation?: String,
        /// The segment of the hook's output.
        pub segment?: String,
        /// The attempt of the model call.
        pub attempt?: AttemptId,
        /// The message of the event; if absent, the message that started last.
        pub message?: MessageId,
    }
}

/// An event with its position in the journal.
///
/// ```
/// use headwater_protocol::{Event, Record};
///
/// let record = Record::new(7, Event::Message { content: "Done.".into() });
/// assert_eq!(record.seq, 7);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Sequence number in the run's journal.
    pub seq: u64,
    /// When it was recorded, in milliseconds since 1970; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub time: u64,
    /// Where the event comes from.
    #[serde(flatten)]
    pub origin: Origin,
    /// The event.
    #[serde(rename = "event")]
    pub event: Event,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(time: &u64) -> bool {
    *time == 0
}

impl Record {
    /// A record without time and origin.
    #[must_use]
    pub fn new(seq: u64, event: impl Into<Event>) -> Self {
        Self { seq, time: 0, origin: Origin::default(), event: event.into() }
    }

    /// Sets the time, in milliseconds since 1970.
    #[must_use]
    pub fn at(mut self, time: u64) -> Self {
        self.time = time;
        self
    }

    /// Sets the origin.
    #[must_use]
    pub fn from(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// Appends the text of a later delta of the same block and origin. Does nothing for other events.
    ///
    /// ```
    /// use headwater_protocol::{BlockDelta, BlockKind, Event, Record};
    ///
    /// let delta = |text: &str| Event::BlockDelta(BlockDelta::new(BlockKind::Text, "a", text));
    /// let mut record = Record::new(1, delta("he"));
    /// record.grow("llo", 2, 0);
    /// assert_eq!(record, Record::new(2, delta("hello")));
    /// ```
    pub fn grow(&mut self, text: &str, seq: u64, time: u64) {
        if let Event::BlockDelta(block) = &mut self.event {
            block.delta.push_str(text);
            (self.seq, self.time) = (seq, time);
        }
    }

    /// Appends a later delta of the same block and origin. The record takes the position of the later one.
    ///
    /// # Errors
    ///
    /// Returns `next` unchanged if it cannot be merged.
    #[expect(clippy::result_large_err, reason = "the error is the argument")]
    pub fn merge(&mut self, next: Self) -> Result<(), Self> {
        match (&mut self.event, &next.event) {
            (Event::BlockDelta(block), Event::BlockDelta(more))
                if self.origin == next.origin
                    && (block.kind, &block.id) == (more.kind, &more.id)
                    && block.metadata.is_none()
                    && more.metadata.is_none() =>
            {
                self.grow(&more.delta, next.seq, next.time);
                Ok(())
            }
            _ => Err(next),
        }
    }
}

impl Event {
    /// Whether it is a delta to which a later delta can be appended.
    #[must_use]
    pub fn may_grow(&self) -> bool {
        matches!(self, Self::BlockDelta(BlockDelta { metadata: None, .. }))
    }
}
