//! What a record of a run's journal holds.

use headwater_protocol::{Record, RunState};
use serde::{Deserialize, Serialize};

use super::Emits;

/// What a record of a run's journal holds.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Entry {
    /// Something that readers see.
    Event(Box<Record>),
    /// Something that only replay needs, as JSON.
    Effect(serde_json::Value),
    /// The whole state so far.
    Snapshot(Box<RunState>),
}

/// Which emit of which visit an event is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Emitted {
    pub(crate) visit: String,
    pub(crate) number: usize,
}

impl Emitted {
    /// Notes it. What a try that failed emitted from there on is forgotten: this try emits something else.
    pub(crate) fn note(self, emits: &mut Emits, fingerprint: String) {
        let emits = emits.entry(self.visit).or_default();
        emits.split_off(&self.number);
        emits.insert(self.number, fingerprint);
    }
}
