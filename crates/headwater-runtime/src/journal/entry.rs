//! Content of a record in a run's journal.

use std::collections::{BTreeMap, HashMap};

use headwater_protocol::{Record, RunState};
use serde::{Deserialize, Serialize};

/// Content of a record in a run's journal.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum JournalEntry {
    /// An event visible to readers.
    Event(Box<Record>),
    /// An effect for replay only, as JSON.
    Effect(serde_json::Value),
    /// The whole state so far.
    Snapshot(Box<RunState>),
}

/// Fingerprints of the events emitted by each visit, by number.
pub(crate) type Emits = HashMap<String, BTreeMap<usize, String>>;

/// Visit and number of an emitted event.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct EmitId {
    pub(crate) visit: String,
    pub(crate) number: usize,
}

impl EmitId {
    /// Records the emit. Later emits of a failed try are dropped, since this try may emit others.
    pub(crate) fn note(self, emits: &mut Emits, fingerprint: String) {
        let emits = emits.entry(self.visit).or_default();
        emits.split_off(&self.number);
        emits.insert(self.number, fingerprint);
    }
}
