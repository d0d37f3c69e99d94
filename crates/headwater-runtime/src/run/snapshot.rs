//! The state of a run, without reading the run from its beginning.

use headwater_protocol::{RunId, RunState};
use headwater_store::{JournalId, ReadLimit};

use super::{
    Run, Runs,
    unknown::{fold_error, read_error},
};
use crate::{
    Result,
    journal::{Fold, is_snapshot, state_in_snapshot},
};

impl Run {
    /// The newest snapshot and its sequence number; `None` if the journal must be read from the start.
    ///
    /// Reads one record. The events after a snapshot have at most three times its bytes, or 256 KiB. The
    /// driving process knows the newest snapshot at once; others find one that is up to a third of a lease
    /// old.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn snapshot(&self) -> Result<Option<(u64, RunState)>> {
        let runs = &self.runs;
        let seq = runs.last_snapshot(self.id()).await?;
        if seq == 0 {
            return Ok(None);
        }
        let journal = JournalId::from(self.id().as_str());
        let page = runs.env.store.read(&journal, seq - 1, ReadLimit { records: 1, bytes: 1 }).await;
        let page = match page {
            Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Trimmed { .. }) => {
                return Ok(None);
            }
            page => page.map_err(|error| read_error(self.id(), error))?,
        };
        // Its process may have died before the snapshot was durable.
        let Some(record) = page.records.first().filter(|record| is_snapshot(record)) else { return Ok(None) };
        Ok(Some((record.seq, state_in_snapshot(record)?)))
    }
}

impl Runs {
    /// The newest known snapshot of a run; 0 without one.
    pub(crate) async fn last_snapshot(&self, run: &RunId) -> Result<u64> {
        match self.registry.snapshot_of(run) {
            Some(seq) => Ok(seq),
            None => Ok(self.summaries.load(run).await?.map_or(0, |summary| summary.snapshot)),
        }
    }

    /// The folded journal of a run, read from its newest snapshot on.
    pub(crate) async fn fold(&self, run: &RunId) -> Result<Fold> {
        // An unreadable summary only costs time: the journal is authoritative.
        let snapshot = match self.last_snapshot(run).await {
            Err(error) if error.is_store_down() => return Err(error),
            snapshot => snapshot.unwrap_or(0),
        };
        self.journals.fold(run, snapshot).await
    }

    /// As `fold`, for a run id from a caller: a full store may have dropped the run while its summary
    /// remains.
    pub(crate) async fn fold_of_kept(&self, run: &RunId) -> Result<Fold> {
        self.fold(run).await.map_err(|error| fold_error(run, error))
    }
}
