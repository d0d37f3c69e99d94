//! What recovery leaves alone because it cannot be read or driven, so that everything else is looked after.

use std::{collections::HashMap, sync::PoisonError, time::Duration};

use tokio::time::Instant;

use super::AgentInner;
use crate::{Error, seeing};

/// How long something that failed is left alone: trying costs reading it.
const PAUSE: Duration = Duration::from_secs(60);
/// How long after a failure of the whole store, which says nothing about what was tried.
const STORE_PAUSE: Duration = Duration::from_secs(1);
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
        if self.is_news(format!("{what} {name}"), error) {
            seeing::skipped(&self.name, name, error, &format!("recovery skips a {what}"));
        }
    }

    /// Logs why an entry is left out of a list: once for each reason, not on every request for the list.
    pub(crate) fn unlisted(&self, what: &str, name: &str, error: &Error) {
        if self.is_news(format!("listed {what} {name}"), error) {
            seeing::skipped(&self.name, name, error, &format!("a {what} cannot be listed"));
        }
    }

    /// Remembers why something failed. Whether that is not known yet.
    fn is_news(&self, what: String, error: &Error) -> bool {
        let why = error.to_string();
        let mut skipped = self.skipped.lock().unwrap_or_else(PoisonError::into_inner);
        if skipped.len() >= MOST {
            skipped.clear();
        }
        let before = skipped.insert(what, (why.clone(), Instant::now() + pause(error)));
        before.is_none_or(|(before, _)| before != why)
    }
}

fn pause(error: &Error) -> Duration {
    match error.code() {
        "store.stopped" | "store.no-space" | "store.busy" => STORE_PAUSE,
        _ => PAUSE,
    }
}

#[cfg(test)]
mod tests {
    use headwater_store::{Error as StoreError, ErrorKind};

    use super::*;

    #[test]
    fn run_is_tried_again_soon_after_the_store_has_recovered() {
        let failed = |kind| pause(&Error::from(StoreError::new(kind, "it failed")));
        for kind in [ErrorKind::Stopped, ErrorKind::NoSpace, ErrorKind::Busy] {
            assert_eq!(failed(kind.clone()), STORE_PAUSE, "{kind:?}");
        }
        assert_eq!(failed(ErrorKind::Corrupt), PAUSE);
    }
}
