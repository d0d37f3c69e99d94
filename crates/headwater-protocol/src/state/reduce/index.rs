//! Where the parts are that may still change.

use std::collections::HashMap;

use super::RunState;
use crate::{
    id::{PartId, ToolCallId},
    state::{Part, PartState},
};

/// Where the parts are that may still change.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    pub(super) parts: HashMap<Key, Location>,
    /// The block that the last delta went to: most deltas go to the same one.
    pub(super) last: Option<(bool, PartId, Location)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Text(usize, PartId),
    Reasoning(usize, PartId),
    Tool(ToolCallId),
    Data(usize, String, String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) message: usize,
    pub(super) part: usize,
}

impl Key {
    /// A block of text or reasoning in a message.
    pub(super) fn text(reasoning: bool, message: usize, id: &PartId) -> Self {
        if reasoning { Self::Reasoning(message, id.clone()) } else { Self::Text(message, id.clone()) }
    }
}

impl RunState {
    pub(super) fn rebuild_index(&mut self) {
        let mut parts = HashMap::new();
        for (message, known) in self.messages.iter().enumerate() {
            for (part, content) in known.parts.iter().enumerate() {
                let at = Location { message, part };
                match content {
                    Part::Text(text) if text.state == PartState::Streaming => {
                        parts.insert(Key::Text(message, text.id.clone()), at);
                    }
                    Part::Reasoning(text) if text.state == PartState::Streaming => {
                        parts.insert(Key::Reasoning(message, text.id.clone()), at);
                    }
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
