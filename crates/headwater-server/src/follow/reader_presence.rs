//! Records in the store whether a run has readers at any server.
//!
//! For a page whose stop button only closes its connection, the next message stops the previous answer. That
//! message may reach another server than the one whose reader left, so the reader is recorded in the store.
//! This is done only if several servers share the store, and `when_busy` would not stop the answer anyway.

use std::{sync::Arc, time::Duration};

use headwater_protocol::RunId;
use headwater_runtime::Agent;
use headwater_store::{Expect, Store, key::join};
use tokio::sync::oneshot;

use super::OpenStreams;
use crate::ApiError;

/// How long a reader is remembered.
const KEPT: Duration = Duration::from_secs(60 * 60);

const READING: &[u8] = b"reading";
const LEFT: &[u8] = b"left";

/// A reader announced to other servers, until it is dropped.
#[derive(Debug)]
pub(crate) struct ReaderPresence {
    /// Dropped without a value when the reader leaves; sent when its stream has ended.
    ended: Option<oneshot::Sender<()>>,
}

impl ReaderPresence {
    /// Records a reader in the store, in the background: the stream does not wait for it.
    pub(crate) fn announce(store: Arc<dyn Store>, run: RunId, streams: OpenStreams) -> Self {
        let (ended, end) = oneshot::channel();
        tokio::spawn(async move {
            let key = join("reader", &[run.as_str()]);
            let Ok(version) = store.put(&key, READING.into(), Expect::Any, Some(KEPT)).await else { return };
            if end.await.is_ok() || streams.readers(&run) > 0 {
                return;
            }
            // Unless a reader has connected since, here or at another server.
            if let Err(error) = store.put(&key, LEFT.into(), Expect::Version(version), Some(KEPT)).await {
                tracing::debug!(%run, %error, "cannot record that a reader left");
            }
        });
        Self { ended: Some(ended) }
    }

    /// Marks that the stream has ended, normally or by the server: its reader did not leave.
    pub(crate) fn end(&mut self) {
        if let Some(ended) = self.ended.take() {
            let _ = ended.send(());
        }
    }
}

/// Whether the last reader of a run left, on any server; `None` if no server has recorded one.
pub(crate) async fn was_left(agent: &Agent, run: &RunId) -> Result<Option<bool>, ApiError> {
    let noted = agent.store().get(&join("reader", &[run.as_str()])).await?;
    Ok(noted.map(|noted| noted.bytes == LEFT))
}
