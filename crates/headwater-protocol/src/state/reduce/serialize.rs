//! Serialization of a state, without the index.

use serde::Deserialize;
use serde_json::Value;

use super::{PartIndex, Rules, RunState};
use crate::{
    event::{Interrupt, Message},
    state::RunInfo,
    structured::{StructuredState, StructuredStreams, StructuredUpdate},
};

impl PartialEq for RunState {
    fn eq(&self, other: &Self) -> bool {
        self.rules == other.rules
            && self.run == other.run
            && self.messages == other.messages
            && self.current == other.current
            && self.structured == other.structured
            && self.interrupts == other.interrupts
            && self.shared == other.shared
    }
}

/// The serialized form of a state. The index is rebuilt.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RunStateData {
    rules: Rules,
    run: RunInfo,
    messages: Vec<Message>,
    current: Option<usize>,
    structured: Vec<StructuredUpdate>,
    interrupts: Vec<Interrupt>,
    shared: Option<Value>,
}

impl From<RunStateData> for RunState {
    fn from(stored: RunStateData) -> Self {
        let RunStateData { rules, run, messages, current, structured: updates, interrupts, shared } = stored;
        let mut structured = StructuredStreams::default();
        for update in updates {
            // Cannot fail: the updates were accepted before.
            let _ = structured.apply(update);
        }
        let current = current.filter(|&at| at < messages.len());
        let mut state = Self {
            rules,
            run,
            messages,
            current,
            structured,
            interrupts,
            shared,
            index: PartIndex::default(),
        };
        state.rebuild_index();
        state
    }
}

/// Serialized as updates, because only updates can express which array elements are unset.
pub(super) fn as_updates<S: serde::Serializer>(
    streams: &StructuredStreams,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(streams.iter().flat_map(StructuredState::updates))
}
