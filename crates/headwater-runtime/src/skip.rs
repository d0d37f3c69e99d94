//! Entries that recovery skips because they cannot be read or driven, so that it can process the others.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::{Error, telemetry};

/// How long a failed entry is skipped, since every retry reads it.
const PAUSE: Duration = Duration::from_secs(60);
/// How long after a failure of the whole store, which is unrelated to the entry.
const STORE_PAUSE: Duration = Duration::from_secs(1);
/// Maximum number of remembered entries. Further ones are retried and reported again.
const MOST: usize = 10_000;

/// The runs, sessions and questions that could not be read or driven. Each is skipped for a while, and logged
/// once for each reason.
#[derive(Debug)]
pub(crate) struct SkipList {
    agent: String,
    /// By name: the reason, and the end of the pause.
    entries: Mutex<HashMap<String, (String, Instant)>>,
}

impl SkipList {
    pub(crate) fn new(agent: String) -> Self {
        Self { agent, entries: Mutex::default() }
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<String, (String, Instant)>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reason why an entry is skipped for now.
    pub(crate) fn reason(&self, what: &str, name: &str) -> Option<String> {
        let entries = self.entries();
        let (why, until) = entries.get(&format!("{what} {name}"))?;
        (*until > Instant::now()).then(|| why.clone())
    }

    /// Maximum number of entries skipped for now.
    pub(crate) fn len(&self) -> usize {
        self.entries().len()
    }

    /// Skips an entry for a while, and logs the reason once.
    pub(crate) fn skip(&self, what: &str, name: &str, error: &Error) {
        if self.is_news(format!("{what} {name}"), error) {
            telemetry::skipped(&self.agent, name, error, &format!("recovery skips a {what}"));
        }
    }

    /// Logs why an entry is left out of a list: once for each reason, not on every request for the list.
    pub(crate) fn unlisted(&self, what: &str, name: &str, error: &Error) {
        if self.is_news(format!("listed {what} {name}"), error) {
            telemetry::skipped(&self.agent, name, error, &format!("a {what} cannot be listed"));
        }
    }

    /// Records a failure. Returns whether the reason is new.
    fn is_news(&self, what: String, error: &Error) -> bool {
        let why = error.to_string();
        let mut entries = self.entries();
        if entries.len() >= MOST {
            entries.clear();
        }
        let before = entries.insert(what, (why.clone(), Instant::now() + pause(error)));
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
