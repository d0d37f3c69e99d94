//! Text and reasoning blocks of a message, which arrive in deltas.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Event;
use crate::{id::PartId, json_struct::json_struct};

/// The content of a block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum BlockKind {
    /// Text of the answer.
    #[default]
    Text,
    /// Reasoning of the model.
    Reasoning,
}

impl BlockKind {
    /// The name in our own JSON format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Reasoning => "reasoning",
        }
    }
}

impl fmt::Display for BlockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

json_struct! {
    /// A text or reasoning block begins.
    pub struct BlockStarted {
        /// Content of the block. Blocks of different kinds may share an id.
        pub kind: BlockKind,
        /// Id of the block.
        pub id: PartId,
        /// Provider-specific metadata.
        pub metadata?: Value,
    }

    /// Text to append to a block.
    pub struct BlockDelta {
        /// Content of the block.
        pub kind: BlockKind,
        /// Id of the block.
        pub id: PartId,
        /// The text to append.
        pub delta: String,
        /// Provider-specific metadata.
        pub metadata?: Value,
    }

    /// The block is complete.
    pub struct BlockEnded {
        /// Content of the block.
        pub kind: BlockKind,
        /// Id of the block.
        pub id: PartId,
        /// Provider-specific metadata.
        pub metadata?: Value,
    }
}

impl Event {
    /// The kind of the block that this event starts, extends or ends.
    #[must_use]
    pub const fn block_kind(&self) -> Option<BlockKind> {
        match self {
            Self::BlockStarted(BlockStarted { kind, .. })
            | Self::BlockDelta(BlockDelta { kind, .. })
            | Self::BlockEnded(BlockEnded { kind, .. }) => Some(*kind),
            _ => None,
        }
    }
}

impl BlockStarted {
    /// The beginning of a block.
    #[must_use]
    pub fn new(kind: BlockKind, id: impl Into<PartId>) -> Self {
        Self { kind, id: id.into(), metadata: None }
    }
}

impl BlockDelta {
    /// Text to append to a block.
    #[must_use]
    pub fn new(kind: BlockKind, id: impl Into<PartId>, delta: impl Into<String>) -> Self {
        Self { kind, id: id.into(), delta: delta.into(), metadata: None }
    }
}

impl BlockEnded {
    /// The end of a block.
    #[must_use]
    pub fn new(kind: BlockKind, id: impl Into<PartId>) -> Self {
        Self { kind, id: id.into(), metadata: None }
    }
}
