//! Recent health of an agent's model calls, in this process.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// Health of model calls, by `provider:model`.
#[derive(Debug, Default)]
pub(crate) struct ModelHealthLog(Mutex<BTreeMap<String, ModelCalls>>);

/// Health of one model's calls in this process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ModelCalls {
    /// Time of the last success, in milliseconds since 1970.
    pub last_success: Option<u64>,
    /// Time of the last failure.
    pub last_failure: Option<u64>,
    /// The code of the last failure.
    pub last_error: Option<String>,
    /// Number of failures since the last success.
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
