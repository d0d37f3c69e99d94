//! Where the parts are that may still change.

use std::collections::HashMap;

use super::RunState;
use crate::{
    event::BlockKind,
    id::{PartId, ToolCallId},
    state::{Part, PartState},
};

/// Where the parts are that may still change.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    pub(super) parts: HashMap<Key, Location>,
    /// The block that the last delta went to: most deltas go to the same one.
    pub(super) last: Option<(BlockKind, PartId, Location)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Block(BlockKind, usize, PartId),
    Tool(ToolCallId),
    Data(usize, String, String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) message: usize,
    pub(super) part: usize,
}

impl RunState {
    pub(super) fn rebuild_index(&mut self) {
        let mut parts = HashMap::new();
        for (message, known) in self.messages.iter().enumerate() {
            for (part, content) in known.parts.iter().enumerate() {
                let at = Location { message, part };
                if let Some((kind, text)) = content.as_block()
                    && text.state == PartState::Streaming
                {
                    parts.insert(Key::Block(kind, message, text.id.clone()), at);
                }
                match content {
                    Part::Tool(tool) => {
                        parts.insert(Key::Tool(tool.call.clone()), at);
                    }
                    Part::Data(data) => {
                        if let Some(id) = &data.id {
                            parts.insert(Key::Data(message, data.name.clone(), id.clone()), at);
                        }
                    }
                    _ => {}
                }
            }
        }
        self.index = Index { parts, last: None };
    }
}
