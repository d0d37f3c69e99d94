//! What is written together, and those who wait for it.

use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;

use crate::Result;

/// The outcome of one commit, shared by all who wait for it.
#[derive(Debug, Default)]
pub(super) struct Batch {
    outcome: OnceLock<Result<()>>,
    settled: Notify,
}

impl Batch {
    pub(super) fn settle(&self, outcome: Result<()>) {
        // Each batch is settled once; a second outcome would contradict what some have been told.
        let _ = self.outcome.set(outcome);
        self.settled.notify_waiters();
    }

    pub(super) async fn wait(self: Arc<Self>) -> Result<()> {
        let mut settled = std::pin::pin!(self.settled.notified());
        // Registered before the look, or an outcome between the two would wake nobody.
        settled.as_mut().enable();
        if let Some(outcome) = self.outcome.get() {
            return outcome.clone();
        }
        settled.await;
        self.outcome.get().cloned().unwrap_or(Ok(()))
    }
}
