//! The servers that share a store.
//!
//! Each server has a value in the stores of its agents. Their number decides how many runs of a principal a
//! server may start without a store lookup: with three servers and a limit of six, two each. The value has a
//! long lifetime and is written rarely, so an idle server writes almost nothing. A dead server is counted for
//! up to an hour, which causes more store lookups on the others and allows nothing beyond the limit.

use std::{
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use headwater_store::{Expect, Store, key::join};
use tokio::time::Instant;

/// Lifetime of a server's entry, and its renewal interval.
const COUNTED: Duration = Duration::from_secs(60 * 60);
const RENEWED: Duration = Duration::from_secs(20 * 60);

/// No more servers than this are counted.
const MOST: usize = 1_000;

/// The servers that share the stores of a server.
#[derive(Debug, Default)]
pub(crate) struct Members {
    id: OnceLock<String>,
    count: AtomicUsize,
    renewed: Mutex<Option<Instant>>,
}

impl Members {
    /// The number of servers, including this one.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed).max(1)
    }

    /// Renews this server's entry if it is old, and counts all servers.
    pub(crate) async fn renew(&self, stores: &[Arc<dyn Store>]) -> headwater_store::Result<()> {
        let Some(key) = self.key() else { return Ok(()) };
        let is_due = |at: &Option<Instant>| at.is_none_or(|at| at.elapsed() >= RENEWED);
        let due = is_due(&self.renewed.lock().unwrap_or_else(PoisonError::into_inner));
        let mut most = 1;
        for store in stores {
            if due {
                store.put(&key, bytes::Bytes::new(), Expect::Any, Some(COUNTED)).await?;
            }
            most = most.max(store.list(PREFIX, None, MOST).await?.len());
        }
        if due {
            *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
        self.count.store(most, Ordering::Relaxed);
        Ok(())
    }

    /// Removes this server's entry.
    pub(crate) async fn leave(&self, stores: &[Arc<dyn Store>]) {
        let Some(key) = self.key() else { return };
        for store in stores {
            if let Err(error) = store.remove(&key, Expect::Any).await {
                tracing::debug!(%error, "the server is counted for a while though it has left");
            }
        }
    }

    fn key(&self) -> Option<String> {
        if self.id.get().is_none() {
            // Without a name it is not counted, and tries again.
            let _ = self.id.set(headwater_runtime::fresh_id("server").ok()?);
        }
        self.id.get().map(|id| join("server", &[id]))
    }
}

const PREFIX: &str = "server/";

#[cfg(test)]
mod tests {
    use headwater_store::Memory;

    use super::*;

    #[tokio::test]
    async fn servers_are_counted_until_they_leave() {
        let stores: [Arc<dyn Store>; 1] = [Arc::new(Memory::new())];
        let (one, other) = (Members::default(), Members::default());
        assert_eq!(one.count(), 1);
        one.renew(&stores).await.unwrap();
        other.renew(&stores).await.unwrap();
        one.renew(&stores).await.unwrap();
        assert_eq!((one.count(), other.count()), (2, 2));
        other.leave(&stores).await;
        one.renew(&stores).await.unwrap();
        assert_eq!(one.count(), 1);
    }
}
