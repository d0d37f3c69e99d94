//! Runs that are being resumed in this process.
//!
//! Until the new driver writes, the journal may be shorter than a reader's cursor. Readers wait for that write.

use std::{
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
};

use headwater_protocol::RunId;
use tokio::sync::Notify;

/// The runs being resumed in this process. Cheap to clone; clones share state.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResumingRuns(Arc<ResumingState>);

#[derive(Debug, Default)]
struct ResumingState {
    runs: Mutex<Vec<RunId>>,
    done: Notify,
}

/// Counts a run as being resumed until dropped.
#[derive(Debug)]
pub(crate) struct ResumingGuard {
    all: ResumingRuns,
    run: RunId,
}

impl Drop for ResumingGuard {
    fn drop(&mut self) {
        let mut runs = self.all.0.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = runs.iter().position(|run| *run == self.run) {
            runs.swap_remove(at);
        }
        drop(runs);
        self.all.0.done.notify_waiters();
    }
}

impl ResumingRuns {
    pub(super) fn begin(&self, run: &RunId) -> ResumingGuard {
        self.0.runs.lock().unwrap_or_else(PoisonError::into_inner).push(run.clone());
        ResumingGuard { all: self.clone(), run: run.clone() }
    }

    fn has(&self, run: &RunId) -> bool {
        self.0.runs.lock().unwrap_or_else(PoisonError::into_inner).contains(run)
    }

    /// Waits while a run is being resumed.
    pub(crate) async fn over(&self, run: &RunId) {
        loop {
            let mut done = pin!(self.0.done.notified());
            done.as_mut().enable();
            if !self.has(run) {
                return;
            }
            done.await;
        }
    }
}
