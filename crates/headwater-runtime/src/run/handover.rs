//! Shutdown: a stopping process lets its runs end, and hands the others over to the remaining processes.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream};
use headwater_store::Expect;
use tokio::time::Instant;

use super::Runs;
use crate::{journal::Effect, keys, node::ActiveRun};

/// Lease of a run that is handed over. It must expire by itself: a run whose lease is released counts as
/// waiting for an answer, and recovery would not look for it.
pub(super) const LEFT: Duration = Duration::from_millis(1);

/// How long the cleanup of an ended run may take before it is handed over too.
const PUT_AWAY: Duration = Duration::from_secs(2);

/// Number of leases given up concurrently.
const AT_ONCE: usize = 32;

impl Runs {
    /// Stops driving, and lets the leases of the active runs expire now, so that another process takes them
    /// over at once. Returns how many were handed over.
    ///
    /// Running models and tools are dropped. Their unfinished work is repeated or not, as after a crash.
    pub(crate) async fn hand_over(&self) -> usize {
        let left: Vec<_> = {
            let mut drivers = self.registry.lock();
            drivers.closed = true;
            let active = drivers.all.values().filter_map(|driver| {
                let run = driver.run.upgrade()?;
                Some((run, driver.task.clone()?))
            });
            active.collect()
        };
        let deadline = Instant::now() + PUT_AWAY;
        for (run, task) in &left {
            if run.phase.is_driven() {
                task.abort();
            }
        }
        // Nothing is written after the lease is gone: an aborted task ends at its next await.
        for (_, task) in &left {
            while !task.is_finished() {
                if Instant::now() >= deadline {
                    task.abort();
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        let active: Vec<_> =
            left.into_iter().map(|(run, _)| run).filter(|run| !run.phase.is_released()).collect();
        active.iter().for_each(|run| note_handed_over(run));
        if let Err(error) = self.env.store.flush().await {
            tracing::warn!(error = ?error.to_string(), "cannot write the last records before runs are handed over");
        }
        let count = active.len();
        let expire = |run: Arc<ActiveRun>| async move { self.expire_lease(&run).await };
        stream::iter(active).for_each_concurrent(AT_ONCE, expire).await;
        if count > 0 {
            self.note_handover().await;
        }
        count
    }
}

/// Records in the journal that the driver handed the run over, so that this takeover does not count as one
/// without progress. A run being cleaned up has ended, and is driven no further.
fn note_handed_over(run: &ActiveRun) {
    if !run.phase.is_driven() {
        return;
    }
    run.journal.open_reserve();
    if let Err(error) = run.journal.effect(Effect::HandedOver) {
        tracing::debug!(run = %run.id, error = ?error.message(), "cannot note that a run is handed over");
    }
}

impl Runs {
    /// Lets the lease of a run expire now. If this fails, it expires after its full duration.
    pub(super) async fn expire_lease(&self, run: &ActiveRun) {
        if let Err(error) = self.env.store.renew(run.journal.lease(), LEFT).await {
            tracing::warn!(run = %run.id, error = ?error.to_string(), "a run is taken over only when its lease has run out");
        }
    }

    /// Wakes the other processes. Without this they would find the runs a little later.
    async fn note_handover(&self) {
        let key = keys::handover(&self.env.process);
        let put = self
            .env
            .store
            .put(&key, self.env.agent.clone().into(), Expect::Any, Some(self.env.options.lease))
            .await;
        if let Err(error) = put {
            tracing::debug!(error = ?error.to_string(), "cannot tell other processes of a handover");
        }
    }
}
