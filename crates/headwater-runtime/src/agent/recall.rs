//! The state of a run, without reading the run from its beginning.

use headwater_protocol::RunState;
use headwater_store::{JournalId, ReadLimit};

use super::Run;
use crate::{
    Result,
    journal::{Entry, RecordReader, is_snapshot},
};

impl Run {
    /// The newest snapshot and its sequence number; `None` if there is none, and the journal must be read from the start.
    ///
    /// This reads one record. The events after a snapshot have at most three times its bytes, or 256 KiB; the process that
    /// drives the run knows the newest one at once, others find one that is up to a third of a lease old.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn snapshot(&self) -> Result<Option<(u64, RunState)>> {
        let agent = &self.agent().0;
        let seq = match agent.snapshot_of(self.id()) {
            Some(seq) => seq,
            None => agent.load_summary(self.id()).await?.map_or(0, |summary| summary.snapshot),
        };
        if seq == 0 {
            return Ok(None);
        }
        let journal = JournalId::from(self.id().as_str());
        let page = agent.store.read(&journal, seq - 1, ReadLimit { records: 1, bytes: 1 }).await;
        let page = match page {
            Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Trimmed { .. }) => {
                return Ok(None);
            }
            page => page.map_err(|error| super::run::read_error(self.id(), error))?,
        };
        // One that its process had not made durable when it died is not there.
        let Some(record) = page.records.first().filter(|record| is_snapshot(record)) else { return Ok(None) };
        Ok(match RecordReader::default().entry(record)? {
            Entry::Snapshot(state) => Some((record.seq, *state)),
            _ => None,
        })
    }
}
