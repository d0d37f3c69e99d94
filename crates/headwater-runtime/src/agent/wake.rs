//! Waking the drivers of this process when another process has put something into the inbox of their runs.
//!
//! One task watches all inboxes, so that a run costs no watch of its own. A store may deliver a notification late or not
//! at all, so the inboxes are also read a few times within a lease.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use headwater_protocol::RunId;
use headwater_store::Watch;

use super::{AgentInner, drivers::Drivers};
use crate::{
    Result,
    keys::{self, INBOX},
};

impl AgentInner {
    /// Starts the task that watches the inboxes, unless it runs. It ends when no run is driven here any more.
    pub(super) fn ensure_watching(self: &Arc<Self>, drivers: &mut Drivers) {
        if !std::mem::replace(&mut drivers.watching, true) {
            let (agent, drivers) = (Arc::downgrade(self), self.drivers.clone());
            tokio::spawn(watch_inboxes(agent, drivers, self.store.watch(INBOX), self.options.lease / 3));
        }
    }

    /// Wakes the drivers of this process whose runs were sent something.
    async fn wake_addressed(&self) -> Result<()> {
        let mut after: Option<String> = None;
        let mut last: Option<RunId> = None;
        loop {
            let page = self.store.list(INBOX, after.as_deref(), 1_000).await?;
            for (run, _) in page.iter().filter_map(|(key, _)| keys::read_inbox(key)) {
                if last.as_ref() != Some(&run) {
                    self.wake(&run);
                    last = Some(run);
                }
            }
            match page.last() {
                Some((key, _)) if page.len() == 1_000 => after = Some(key.clone()),
                _ => return Ok(()),
            }
        }
    }
}

/// Holds the agent only while it looks, so that it is dropped with its runs.
async fn watch_inboxes(
    agent: Weak<AgentInner>,
    drivers: Arc<Mutex<Drivers>>,
    mut watch: Watch,
    poll: Duration,
) {
    loop {
        let _ = tokio::time::timeout(poll, watch.changed()).await;
        let agent = agent.upgrade();
        {
            let mut drivers = drivers.lock().unwrap_or_else(PoisonError::into_inner);
            // An agent that was read again from its file shares the drivers: its next run starts another task.
            if agent.is_none() || drivers.is_empty() {
                drivers.watching = false;
                return;
            }
        }
        if let Some(agent) = agent
            && let Err(error) = agent.wake_addressed().await
        {
            tracing::debug!(agent = agent.name, error = ?error.message(), "cannot read the inboxes of runs");
        }
    }
}
