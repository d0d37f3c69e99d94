//! What recovery leaves alone because it cannot be read or driven, so that everything else is looked after.

use std::{collections::HashMap, sync::PoisonError, time::Duration};

use tokio::time::Instant;

use super::AgentInner;
use crate::Error;

/// How long something that failed is left alone: trying costs reading it.
const PAUSE: Duration = Duration::from_secs(60);
/// How many of them are remembered. Beyond that they are tried and reported again.
const MOST: usize = 10_000;

/// What failed, by its name: why, and until when it is left alone.
pub(super) type Skipped = HashMap<String, (String, Instant)>;

impl AgentInner {
    /// Why something is left alone for now.
    pub(crate) fn skipped(&self, what: &str, name: &str) -> Option<String> {
        let skipped = self.skipped.lock().unwrap_or_else(PoisonError::into_inner);
        let (why, until) = skipped.get(&format!("{what} {name}"))?;
        (*until > Instant::now()).then(|| why.clone())
    }

    /// How many things are left alone for now, at most.
    pub(super) fn skips(&self) -> usize {
        self.skipped.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Leaves something alone for a while, and logs why: once for each reason.
    pub(crate) fn skip(&self, what: &str, name: &str, error: &Error) {
        let why = error.to_string();
        let mut skipped = self.skipped.lock().unwrap_or_else(PoisonError::into_inner);
        if skipped.len() >= MOST {
            skipped.clear();
        }
        let before = skipped.insert(format!("{what} {name}"), (why.clone(), Instant::now() + PAUSE));
        if before.is_none_or(|(before, _)| before != why) {
            tracing::warn!(agent = self.name, ?name, code = error.code(), ?why, "recovery skips a {what}");
        }
    }
}
