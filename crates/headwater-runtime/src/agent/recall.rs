//! The state of a run at some record, without reading the run from its beginning.

use headwater_protocol::RunState;
use headwater_store::{JournalId, ReadLimit};

use super::Run;
use crate::{
    Result,
    journal::{Entry, is_snapshot},
};

/// How many records are looked at in one go. A snapshot is written at least every thousand records.
const LOOK_BACK: u64 = 1_024;

impl Run {
    /// The last snapshot that was written before a record or is that record, and where it stands: the state after all
    /// records up to there. Nothing where there is none, or where it is no longer kept.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn snapshot_until(&self, until: u64) -> Result<Option<(u64, RunState)>> {
        let journal = JournalId::from(self.id().as_str());
        let store = self.agent().store();
        let Some(info) = store.info(&journal).await? else { return Err(super::run::unknown(self.id())) };
        let mut until = until.min(info.tail.last);
        let limit =
            ReadLimit { records: usize::try_from(LOOK_BACK).unwrap_or(usize::MAX), bytes: usize::MAX };
        while until >= info.first {
            let after = until.saturating_sub(LOOK_BACK).max(info.first.saturating_sub(1));
            let page = store.read(&journal, after, limit).await?;
            let found = page.records.iter().rev().find(|record| record.seq <= until && is_snapshot(record));
            if let Some(record) = found {
                return Ok(match Entry::read(record)? {
                    Entry::Snapshot(state) => Some((record.seq, *state)),
                    _ => None,
                });
            }
            until = after;
        }
        Ok(None)
    }
}
