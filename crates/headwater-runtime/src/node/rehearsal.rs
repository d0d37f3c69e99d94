//! A run that is only replayed: the visits that its journal has, and the first difference.

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
    /// The visits that were left: the journal has all that they did.
    left: HashSet<String>,
    retried: HashSet<String>,
    notes: Mutex<RehearsalNotes>,
}

#[derive(Debug, Default)]
struct RehearsalNotes {
    divergence: Option<Divergence>,
    /// What hooks are called with, by their keys.
    asked: HashMap<String, Value>,
    /// The first thing that was asked for after the journal's end.
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

    /// Whether a try of a visit failed, so that its journal has traces of two.
    pub(crate) fn was_retried(&self, visit: &Visit) -> bool {
        self.retried.contains(&visit.to_string())
    }

    /// Whether the journal has all that a visit did.
    pub(crate) fn was_left(&self, visit: &str) -> bool {
        self.left.contains(visit)
    }

    /// Notes what a hook is called with, to be shown if it differs.
    pub(crate) fn asks(&self, key: &str, asked: Value) {
        self.notes().asked.insert(key.to_owned(), asked);
    }

    /// Notes a difference. The first one counts.
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

    /// Notes that the journal has no more.
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
