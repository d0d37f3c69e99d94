//! What is written together, and those who wait for it.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::Notify;

use crate::Result;

/// The outcome of one commit, shared by all who wait for it.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    outcome: OnceLock<Result<()>>,
    settled: Notify,
}

impl Batch {
    pub(crate) fn settle(&self, outcome: Result<()>) {
        // Each batch is settled once; a second outcome would contradict what some have been told.
        let _ = self.outcome.set(outcome);
        self.settled.notify_waiters();
    }

    pub(crate) async fn wait(self: Arc<Self>) -> Result<()> {
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

/// Whether there is room for more in the commit that gathers.
#[derive(Debug, Default)]
pub(crate) struct Room {
    closed: AtomicBool,
    opened: Notify,
}

impl Room {
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    pub(crate) fn open(&self) {
        if self.closed.swap(false, Ordering::SeqCst) {
            self.opened.notify_waiters();
        }
    }

    pub(crate) async fn wait(&self) {
        while self.closed.load(Ordering::SeqCst) {
            let mut opened = std::pin::pin!(self.opened.notified());
            // Registered before the second look, or an opening between the two would wake nobody.
            opened.as_mut().enable();
            if self.closed.load(Ordering::SeqCst) {
                opened.await;
            }
        }
    }
}
