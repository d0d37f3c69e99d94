//! Background work: unneeded leases, expired streams, subscriptions.

use std::{sync::Weak, time::Duration};

use headwater_store::ValuePages;

use super::{
    StreamEngine,
    catalog::{JOURNAL, META, StoredMeta},
    writers::{LEASE, NODE},
};
use crate::StreamError;

/// Interval for releasing idle leases and checking subscriptions.
const TICK: Duration = Duration::from_secs(1);

/// Number of ticks between two sweeps of expired streams.
const SWEEP: u64 = 60;

/// Works for as long as the streams are in use.
pub(super) async fn maintain(engine: Weak<StreamEngine>) {
    for tick in 0_u64.. {
        {
            let Some(engine) = engine.upgrade() else { return };
            engine.release_idle().await;
            engine.attend_subscriptions().await;
            if tick.is_multiple_of(SWEEP)
                && let Err(error) = engine.sweep().await
            {
                tracing::warn!(
                    code = error.code(),
                    "expired streams could not be removed: trying again later"
                );
            }
        }
        tokio::time::sleep(TICK).await;
    }
}

impl StreamEngine {
    /// Removes expired streams, and releases resources of dead processes.
    async fn sweep(&self) -> Result<(), StreamError> {
        let mut pages = ValuePages::new(&*self.store, format!("{META}/"));
        while let Some(page) = pages.next().await? {
            for (_, value) in page {
                let Ok(meta) = serde_json::from_slice(&value.bytes) else { continue };
                let stored = StoredMeta { meta, version: value.version };
                if !stored.meta.deleted && stored.meta.has_expired() {
                    self.retire(&stored).await?;
                }
            }
        }
        // Listed as the journals of dead drivers, they would hide runs that must be taken over.
        for journal in self.store.expired(1_000).await? {
            if journal.as_str().starts_with(JOURNAL)
                && let Ok(lease) = self.store.claim(&journal, NODE, LEASE).await
            {
                self.store.release(&lease).await?;
            }
        }
        Ok(())
    }
}
