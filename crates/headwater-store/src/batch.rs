//! Group commits: writes that become durable together, and the callers that wait for them.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::Notify;

use crate::Result;

/// The outcome of one commit, shared by all waiting callers.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    outcome: OnceLock<Result<()>>,
    settled: Notify,
}

impl Batch {
    pub(crate) fn settle(&self, outcome: Result<()>) {
        // A batch is settled once; a second outcome could contradict one that a caller already has.
        let _ = self.outcome.set(outcome);
        self.settled.notify_waiters();
    }

    pub(crate) async fn wait(self: Arc<Self>) -> Result<()> {
        let mut settled = std::pin::pin!(self.settled.notified());
        // Registered before the check, or an outcome between the two would wake no waiter.
        settled.as_mut().enable();
        if let Some(outcome) = self.outcome.get() {
            return outcome.clone();
        }
        settled.await;
        self.outcome.get().cloned().unwrap_or(Ok(()))
    }
}

/// Whether the gathering commit has room for more.
#[derive(Debug, Default)]
pub(crate) struct CommitRoom {
    closed: AtomicBool,
    opened: Notify,
}

impl CommitRoom {
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    pub(crate) fn open(&self) {
        if self.closed.swap(false, Ordering::SeqCst) {
            self.opened.notify_waiters();
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.closed.load(Ordering::SeqCst)
    }

    pub(crate) async fn wait(&self) {
        while self.closed.load(Ordering::SeqCst) {
            let mut opened = std::pin::pin!(self.opened.notified());
            // Registered before the second check, or an opening between the two would wake no waiter.
            opened.as_mut().enable();
            if self.closed.load(Ordering::SeqCst) {
                opened.await;
            }
        }
    }
}
