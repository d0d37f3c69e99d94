//! What a run knows when it is only replayed: what was recorded, and the first thing that differs.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

use super::{Divergence, DivergenceKind};
use crate::{
    Error,
    error::ErrorKind,
    journal::{Visit, Walked},
};

/// A run that is only replayed.
#[derive(Debug, Default)]
pub(crate) struct Rehearsal {
    /// The visits that were left: the journal has all that they did.
    left: HashSet<String>,
    retried: HashSet<String>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    divergence: Option<Divergence>,
    /// What hooks are called with, by their keys.
    asked: HashMap<String, Value>,
    /// The first thing that was asked for after the journal's end.
    beyond: Option<String>,
}

impl Rehearsal {
    pub(crate) fn new(recorded: &[Walked]) -> Self {
        let mut rehearsal = Self::default();
        for walked in recorded {
            match walked {
                Walked::Left(left) => drop(rehearsal.left.insert(left.visit.to_string())),
                Walked::Failed(visit) => drop(rehearsal.retried.insert(visit.to_string())),
                Walked::Entered(_) => {}
            }
        }
        rehearsal
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.inner().asked.insert(key.to_owned(), asked);
    }

    /// Notes a difference. The first one counts.
    pub(crate) fn note(
        &self,
        kind: DivergenceKind,
        key: &str,
        recorded: Option<Value>,
        asked: Option<Value>,
    ) -> Error {
        let mut inner = self.inner();
        let asked = asked.or_else(|| inner.asked.get(key).cloned());
        let divergence = Divergence::new(kind, key, recorded, asked);
        let error = Error::new(ErrorKind::Diverged, divergence.to_string());
        inner.divergence.get_or_insert(divergence);
        error
    }

    /// Notes that the journal has no more.
    pub(crate) fn goes_beyond(&self, key: &str) {
        self.inner().beyond.get_or_insert_with(|| key.to_owned());
    }

    pub(crate) fn noted(&self) -> Option<Divergence> {
        self.inner().divergence.clone()
    }

    pub(crate) fn beyond(&self) -> Option<String> {
        self.inner().beyond.clone()
    }
}
