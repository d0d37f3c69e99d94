//! The state with which a parked visit is re-run.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::{HookRecord, ParkRecord, Wait};

/// A visit that waits, or has waited, with node state written before the wait.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Park {
    pub(crate) parked: ParkRecord,
    /// Hooks completed before the wait; a re-run may skip them. Waiting hooks are excluded, or their answer would be lost.
    skippable: BTreeSet<String>,
}

impl Park {
    pub(crate) fn new(
        parked: ParkRecord,
        hooks: &HashMap<String, HookRecord>,
        asked: &HashMap<String, Wait>,
    ) -> Self {
        let prefix = format!("{}/", parked.visit);
        let done = |key: &&String| key.starts_with(&prefix) && !parked.waits.contains(key);
        let skippable = hooks.keys().chain(asked.keys()).filter(done).cloned().collect();
        Self { parked, skippable }
    }

    /// The visit as text.
    pub(crate) fn visit(&self) -> String {
        self.parked.visit.to_string()
    }

    pub(crate) fn may_skip(&self, key: &str) -> bool {
        self.skippable.contains(key)
    }
}
