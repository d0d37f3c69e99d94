//! The origin of an event, and the record that carries it.

use serde::{Deserialize, Serialize};

use super::{BlockDelta, Event};
use crate::{
    id::{AttemptId, MessageId},
    json_struct::json_struct,
    structured::StructuredOp,
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

    /// Appends a later delta of the same block, structured object or tool call and of the same origin. The record takes
    /// the position of the later one.
    ///
    /// # Errors
    ///
    /// Returns `next` unchanged if it cannot be merged.
    ///
    /// ```
    /// use headwater_protocol::{Event, Record, StructuredOp, StructuredUpdate};
    ///
    /// let update = |text: &str| Event::Structured(StructuredUpdate::new("s", "email", StructuredOp::text("body", text)));
    /// let mut record = Record::new(1, update("he"));
    /// record.merge(Record::new(2, update("llo"))).unwrap();
    /// assert_eq!(record, Record::new(2, update("hello")));
    /// ```
    #[expect(clippy::result_large_err, reason = "the error is the argument")]
    pub fn merge(&mut self, mut next: Self) -> Result<(), Self> {
        if self.origin != next.origin || !self.event.merge(&mut next.event) {
            return Err(next);
        }
        (self.seq, self.time) = (next.seq, next.time);
        Ok(())
    }
}

impl Event {
    /// Whether it is a delta to which a later delta can be appended.
    #[must_use]
    pub fn may_grow(&self) -> bool {
        matches!(self, Self::BlockDelta(BlockDelta { metadata: None, .. }))
    }

    /// Whether a later delta may be added to it.
    #[must_use]
    pub fn may_merge(&self) -> bool {
        match self {
            Self::ToolInputDelta(_) => true,
            Self::Structured(update) => {
                matches!(update.op, StructuredOp::TextDelta { .. } | StructuredOp::Append { .. })
            }
            _ => self.may_grow(),
        }
    }

    /// Adds a later delta, if it is more of the same. Gives whether it was; the later one has nothing left then.
    fn merge(&mut self, next: &mut Self) -> bool {
        match (self, next) {
            (Self::BlockDelta(block), Self::BlockDelta(more))
                if (block.kind, &block.id) == (more.kind, &more.id)
                    && block.metadata.is_none()
                    && more.metadata.is_none() =>
            {
                block.delta.push_str(&more.delta);
                true
            }
            (Self::ToolInputDelta(input), Self::ToolInputDelta(more)) if input.call == more.call => {
                input.delta.push_str(&more.delta);
                true
            }
            (Self::Structured(update), Self::Structured(more)) => update.merge(more),
            _ => false,
        }
    }
}
