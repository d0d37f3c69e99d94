//! Waking local drivers when another process has written to the inbox of their runs.
//!
//! One task watches all inboxes, so that a run needs no watch of its own. A store may deliver a notification
//! late or not at all, so the inboxes are also polled a few times within a lease.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use headwater_protocol::RunId;
use headwater_store::{ValuePages, Watch};

use super::{
    Runs,
    registry::{Drivers, RunRegistry},
};
use crate::{
    Result,
    keys::{self, INBOX},
};

impl Runs {
    /// Starts the task that watches the inboxes, unless it is running. It ends when no run is driven here any
    /// more.
    pub(super) fn ensure_watching(self: &Arc<Self>, drivers: &mut Drivers) {
        if !std::mem::replace(&mut drivers.watching, true) {
            let (runs, registry) = (Arc::downgrade(self), self.registry.clone());
            tokio::spawn(watch_inboxes(
                runs,
                registry,
                self.env.store.watch(INBOX),
                self.env.options.lease / 3,
            ));
        }
    }

    /// Wakes the local drivers of runs with inbox entries.
    async fn wake_addressed(&self) -> Result<()> {
        let mut last: Option<RunId> = None;
        let mut pages = ValuePages::new(&*self.env.store, INBOX);
        while let Some(page) = pages.next().await? {
            for (run, _) in page.iter().filter_map(|(key, _)| keys::read_inbox(key)) {
                if last.as_ref() != Some(&run) {
                    self.registry.wake(&run);
                    last = Some(run);
                }
            }
        }
        Ok(())
    }
}

/// Holds the runs only while reading the inboxes, so that they are dropped with their agent.
async fn watch_inboxes(runs: Weak<Runs>, registry: RunRegistry, mut watch: Watch, poll: Duration) {
    loop {
        let _ = tokio::time::timeout(poll, watch.changed()).await;
        let runs = runs.upgrade();
        {
            let mut drivers = registry.lock();
            // A reloaded agent shares the drivers: its next run starts another task.
            if runs.is_none() || drivers.is_empty() {
                drivers.watching = false;
                return;
            }
        }
        if let Some(runs) = runs
            && let Err(error) = runs.wake_addressed().await
        {
            tracing::debug!(agent = runs.env.agent, error = ?error.message(), "cannot read the inboxes of runs");
        }
    }
}
