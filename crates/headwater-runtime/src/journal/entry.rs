//! What a record of a run's journal holds.

use std::collections::{BTreeMap, HashMap};

use headwater_protocol::{Record, RunState};
use serde::{Deserialize, Serialize};

/// What a record of a run's journal holds.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum JournalEntry {
    /// Something that readers see.
    Event(Box<Record>),
    /// Something that only replay needs, as JSON.
    Effect(serde_json::Value),
    /// The whole state so far.
    Snapshot(Box<RunState>),
}

/// What each visit has emitted, by number.
pub(crate) type Emits = HashMap<String, BTreeMap<usize, String>>;

/// Which emit of which visit an event is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct EmitId {
    pub(crate) visit: String,
    pub(crate) number: usize,
}

impl EmitId {
    /// Notes it. What a try that failed emitted from there on is forgotten: this try emits something else.
    pub(crate) fn note(self, emits: &mut Emits, fingerprint: String) {
        let emits = emits.entry(self.visit).or_default();
        emits.split_off(&self.number);
        emits.insert(self.number, fingerprint);
    }
}
