//! An index of the parts that may still change.

use std::collections::HashMap;

use super::RunState;
use crate::{
    event::{BlockKind, Part, PartState},
    id::{PartId, ToolCallId},
};

/// An index of the parts that may still change.
#[derive(Debug, Clone, Default)]
pub(super) struct PartIndex {
    pub(super) parts: HashMap<PartKey, PartLocation>,
    /// The block of the last delta: most deltas go to the same block.
    pub(super) last: Option<(BlockKind, PartId, PartLocation)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum PartKey {
    Block(BlockKind, usize, PartId),
    Tool(ToolCallId),
    Data(usize, String, String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PartLocation {
    pub(super) message: usize,
    pub(super) part: usize,
}

impl RunState {
    pub(super) fn rebuild_index(&mut self) {
        let mut parts = HashMap::new();
        for (message, known) in self.messages.iter().enumerate() {
            for (part, content) in known.parts.iter().enumerate() {
                let at = PartLocation { message, part };
                if let Some((kind, text)) = content.as_block()
                    && text.state == PartState::Streaming
                {
                    parts.insert(PartKey::Block(kind, message, text.id.clone()), at);
                }
                match content {
                    Part::Tool(tool) => {
                        parts.insert(PartKey::Tool(tool.call.clone()), at);
                    }
                    Part::Data(data) => {
                        if let Some(id) = &data.id {
                            parts.insert(PartKey::Data(message, data.name.clone(), id.clone()), at);
                        }
                    }
                    _ => {}
                }
            }
        }
        self.index = PartIndex { parts, last: None };
    }
}
