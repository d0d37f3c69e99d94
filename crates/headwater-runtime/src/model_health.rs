//! How the calls of an agent's models went lately, in this process.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// How the calls of models went, by their names as `provider:model`.
#[derive(Debug, Default)]
pub(crate) struct ModelHealthLog(Mutex<BTreeMap<String, ModelCalls>>);

/// How the calls of one model went in this process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ModelCalls {
    /// When it last answered, in milliseconds since 1970.
    pub last_success: Option<u64>,
    /// When a call last failed.
    pub last_failure: Option<u64>,
    /// The code of that failure.
    pub last_error: Option<String>,
    /// How many calls have failed since it last answered.
    pub failures: u32,
}

impl ModelHealthLog {
    pub(crate) fn answered(&self, model: &str, now: u64) {
        self.change(model, |calls| (calls.last_success, calls.failures) = (Some(now), 0));
    }

    pub(crate) fn failed(&self, model: &str, code: &str, now: u64) {
        self.change(model, |calls| {
            calls.last_failure = Some(now);
            calls.last_error = Some(code.to_owned());
            calls.failures = calls.failures.saturating_add(1);
        });
    }

    fn change(&self, model: &str, change: impl FnOnce(&mut ModelCalls)) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get_mut(model) {
            Some(calls) => change(calls),
            None => change(all.entry(model.to_owned()).or_default()),
        }
    }

    pub(crate) fn get(&self, model: &str) -> ModelCalls {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(model).cloned().unwrap_or_default()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }
}
