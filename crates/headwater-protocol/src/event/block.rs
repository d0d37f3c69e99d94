//! Blocks: the text and the reasoning of a message, which arrive in deltas.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Event;
use crate::{id::PartId, json_struct::json_struct};

/// What a block holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum BlockKind {
    /// The answer.
    #[default]
    Text,
    /// The model's thoughts.
    Reasoning,
}

impl BlockKind {
    /// The name in our own JSON form.
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
    /// A block of text or of reasoning begins.
    pub struct BlockStarted {
        /// What the block holds. Blocks of different kinds may share an id.
        pub kind: BlockKind,
        /// The block.
        pub id: PartId,
        /// What the provider said about it.
        pub metadata?: Value,
    }

    /// More text of a block.
    pub struct BlockDelta {
        /// What the block holds.
        pub kind: BlockKind,
        /// The block.
        pub id: PartId,
        /// The text to append.
        pub delta: String,
        /// What the provider said about it.
        pub metadata?: Value,
    }

    /// The block is complete.
    pub struct BlockEnded {
        /// What the block holds.
        pub kind: BlockKind,
        /// The block.
        pub id: PartId,
        /// What the provider said about it.
        pub metadata?: Value,
    }
}

impl Event {
    /// The kind of the block that it starts, extends or ends.
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
    /// More text of a block.
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
