//! The metadata of a stream, stored beside its journal.

use serde::{Deserialize, Serialize};

use super::producer::ProducerStamp;
use crate::clock;

/// A stream.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StreamMeta {
    pub(crate) owner: String,
    pub(crate) path: String,
    /// The journal of its own appends. Names are never reused, so offsets of a deleted stream cannot match.
    pub(crate) journal: String,
    pub(crate) content_type: String,
    pub(crate) expiry: Expiry,
    /// When it was last read or written, for [`Expiry::Idle`].
    pub(crate) accessed: u64,
    /// The inherited parts, oldest first. The last part ends where its own appends start.
    pub(crate) inherited: Vec<InheritedPart>,
    pub(crate) fork: Option<ForkOrigin>,
    pub(crate) closed: Option<StreamClosing>,
    /// Deleted or expired, and only kept for its forks.
    pub(crate) deleted: bool,
}

/// When a stream expires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Expiry {
    Never,
    /// After this many seconds without a read or write.
    Idle(u64),
    /// At a time: as it was sent, and in milliseconds since 1970.
    At(String, u64),
}

/// A part of another stream's journal: its records `1..=until - from` are the offsets after `from` up to `until`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InheritedPart {
    pub(crate) journal: String,
    pub(crate) from: u64,
    pub(crate) until: u64,
}

/// The source of a fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ForkOrigin {
    pub(crate) path: String,
    pub(crate) journal: String,
    pub(crate) offset: u64,
    /// How much of the append after the offset is in the fork: bytes, or messages of a JSON stream.
    pub(crate) sub_offset: u64,
}

/// How a stream was closed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct StreamClosing {
    pub(crate) producer: Option<ProducerStamp>,
}

impl StreamMeta {
    /// The offset after which its own appends start.
    pub(crate) fn base(&self) -> u64 {
        self.inherited.last().map_or(0, |part| part.until)
    }

    /// Access times are written at most every eighth of the idle time, so that a busy reader costs few writes. The
    /// stream is kept so much longer: it never goes early.
    pub(crate) fn has_expired(&self) -> bool {
        let now = clock::now();
        match &self.expiry {
            Expiry::Never => false,
            Expiry::Idle(seconds) => now >= self.accessed.saturating_add(seconds.saturating_mul(1_125)),
            Expiry::At(_, time) => now >= *time,
        }
    }

    /// Whether the access time should be written.
    pub(crate) fn should_touch(&self) -> bool {
        match self.expiry {
            Expiry::Idle(seconds) => {
                clock::now() >= self.accessed.saturating_add(seconds.saturating_mul(125))
            }
            _ => false,
        }
    }
}
