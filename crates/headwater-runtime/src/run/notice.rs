//! Notices of runs that ended or started to wait: a durable queue beside the journals, for webhooks.

use headwater_protocol::RunStatus;
use headwater_store::{Expect, Watch, WriteOp};

use super::summary::{RunSummary, Summaries, encode};
use crate::{
    Result,
    keys::{self, NOTICES},
    node::ActiveRun,
};

/// How long a notice is kept if it is never taken.
const KEPT: std::time::Duration = std::time::Duration::from_secs(7 * 24 * 60 * 60);

/// Notice that a run ended or started to wait. It is written with the end or the wait, in one commit if the
/// store supports that, if the agent [writes notices](crate::AgentOptions::notices). A process that dies may
/// leave the same notice twice, with the same [id](Self::id).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunNotice {
    /// Identifies the end or wait of a run; repeated notices share it.
    pub id: String,
    /// The run at that time.
    pub run: RunSummary,
    key: String,
    version: u64,
}

impl Summaries {
    /// The write of a notice for a run that ended or waits; `None` if notices are off.
    pub(super) fn notice_write(&self, shared: &ActiveRun, summary: &RunSummary) -> Result<Option<WriteOp>> {
        if !self.env.options.notices || summary.status == RunStatus::Running {
            return Ok(None);
        }
        // A run ends once, and may wait several times.
        let number = match summary.status {
            RunStatus::Waiting => shared.journal.fold().last_wait.unwrap_or_default(),
            _ => 0,
        };
        let key = keys::notice(&summary.run, summary.status.as_str(), number);
        Ok(Some(WriteOp::Put { key, bytes: encode(summary)?, expect: Expect::Any, ttl: Some(KEPT) }))
    }

    /// Writes a notice on its own.
    pub(super) async fn put_notice(&self, shared: &ActiveRun, summary: &RunSummary) -> Result<()> {
        if let Some(WriteOp::Put { key, bytes, expect, ttl }) = self.notice_write(shared, summary)? {
            self.env.store.put(&key, bytes, expect, ttl).await?;
        }
        Ok(())
    }
}

impl Summaries {
    /// Notices of runs of all agents that share the store, ordered by run.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn notices(&self, limit: usize) -> Result<Vec<RunNotice>> {
        let listed = self.env.store.list(NOTICES, None, limit).await?;
        let mut notices = Vec::with_capacity(listed.len());
        for (key, value) in listed {
            let id = keys::read_notice(&key);
            let run = crate::codec::decode::<RunSummary>(&value.bytes);
            match (id, run) {
                (Some(id), Ok(run)) => notices.push(RunNotice { id, run, key, version: value.version }),
                _ => {
                    tracing::error!(%key, "the notice of a run cannot be read and is dropped");
                    self.env.store.remove(&key, Expect::Any).await?;
                }
            }
        }
        Ok(notices)
    }

    /// Removes a notice from the queue after other writes, in one commit if the store supports that. Returns
    /// `false` if another process has taken it.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn take_notice(&self, notice: &RunNotice, mut changes: Vec<WriteOp>) -> Result<bool> {
        changes.push(WriteOp::Remove { key: notice.key.clone(), expect: Expect::Version(notice.version) });
        match self.env.store.write(None, changes).await {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Wakes when a notice is written.
    pub(crate) fn watch_notices(&self) -> Watch {
        self.env.store.watch(NOTICES)
    }
}
