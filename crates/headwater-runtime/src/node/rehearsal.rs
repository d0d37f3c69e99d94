//! A run that is only replayed: its recorded visits, and the first difference.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

use super::{Divergence, DivergenceKind};
use crate::{
    Error,
    error::ErrorKind,
    journal::{Visit, WalkStep},
};

/// A run that is only replayed.
#[derive(Debug, Default)]
pub(crate) struct Rehearsal {
    /// The completed visits: the journal has all of their work.
    left: HashSet<String>,
    retried: HashSet<String>,
    notes: Mutex<RehearsalNotes>,
}

#[derive(Debug, Default)]
struct RehearsalNotes {
    divergence: Option<Divergence>,
    /// The inputs of hooks, by key.
    asked: HashMap<String, Value>,
    /// The first key requested after the journal's end.
    beyond: Option<String>,
}

impl Rehearsal {
    pub(crate) fn new(recorded: &[WalkStep]) -> Self {
        let mut rehearsal = Self::default();
        for walked in recorded {
            match walked {
                WalkStep::Left(left) => drop(rehearsal.left.insert(left.visit.to_string())),
                WalkStep::Failed(visit) => drop(rehearsal.retried.insert(visit.to_string())),
                WalkStep::Entered(_) => {}
            }
        }
        rehearsal
    }

    fn notes(&self) -> MutexGuard<'_, RehearsalNotes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a try of a visit failed, so that its journal has entries of two.
    pub(crate) fn was_retried(&self, visit: &Visit) -> bool {
        self.retried.contains(&visit.to_string())
    }

    /// Whether the journal has all work of a visit.
    pub(crate) fn was_left(&self, visit: &str) -> bool {
        self.left.contains(visit)
    }

    /// Records the input of a hook, to be shown if it differs.
    pub(crate) fn asks(&self, key: &str, asked: Value) {
        self.notes().asked.insert(key.to_owned(), asked);
    }

    /// Records a difference. Only the first one counts.
    pub(crate) fn note(
        &self,
        kind: DivergenceKind,
        key: &str,
        recorded: Option<Value>,
        asked: Option<Value>,
    ) -> Error {
        let mut notes = self.notes();
        let asked = asked.or_else(|| notes.asked.get(key).cloned());
        let divergence = Divergence::new(kind, key, recorded, asked);
        let error = Error::new(ErrorKind::Diverged, divergence.to_string());
        notes.divergence.get_or_insert(divergence);
        error
    }

    /// Records that the code went beyond the end of the journal.
    pub(crate) fn goes_beyond(&self, key: &str) {
        self.notes().beyond.get_or_insert_with(|| key.to_owned());
    }

    pub(crate) fn noted(&self) -> Option<Divergence> {
        self.notes().divergence.clone()
    }

    pub(crate) fn beyond(&self) -> Option<String> {
        self.notes().beyond.clone()
    }
}
