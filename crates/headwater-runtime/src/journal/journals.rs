//! The journals of an agent's runs: creating, claiming and reading them.

use std::sync::Arc;

use headwater_protocol::{EventKind, RunId};
use headwater_store::{JournalId, Lease, ReadLimit};

use super::{Fold, FoldReader, Journal, JournalRoom, RecordReader};
use crate::{Error, Result, environment::Environment, error::ErrorKind};

/// The journals of an agent's runs.
#[derive(Debug, Clone)]
pub(crate) struct Journals {
    env: Arc<Environment>,
}

impl Journals {
    pub(crate) fn new(env: Arc<Environment>) -> Self {
        Self { env }
    }

    /// Creates the journal of a new run.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`] when there is a run of that id: a client may have chosen it.
    pub(crate) async fn create(&self, run: &RunId) -> Result<Lease> {
        use headwater_store::ErrorKind::{Closed, Held};
        let Environment { store, process, options, .. } = &*self.env;
        match store.claim(&run.as_str().into(), process, options.lease).await {
            Ok(lease) if lease.first == 1 => Ok(lease),
            Ok(lease) => {
                store.release(&lease).await?;
                Err(run_exists(run))
            }
            Err(error) if matches!(error.kind(), Held { .. } | Closed) => Err(run_exists(run)),
            Err(error) => Err(error.into()),
        }
    }

    /// Claims the lease of a run; `None` if the run has ended.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when another process has it.
    pub(crate) async fn claim(&self, journal: &JournalId) -> Result<Option<Lease>> {
        let Environment { store, process, options, .. } = &*self.env;
        match store.claim(journal, process, options.lease).await {
            Ok(lease) => Ok(Some(lease)),
            Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Held { .. }) => {
                Err(Error::new(ErrorKind::Busy, error.to_string()))
            }
            Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Closed) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes the journal of a run that never started. If this fails, recovery deletes it when the lease has
    /// expired.
    pub(crate) async fn discard(&self, lease: &Lease) {
        let _ = self.env.store.release(lease).await;
        let _ = self.env.store.delete(&lease.journal).await;
    }

    /// The writer at the end of a journal. `fold` covers its records so far.
    pub(crate) fn writer(&self, lease: Lease, fold: Fold) -> Journal {
        Journal::new(self.env.store.clone(), lease, fold, self.env.options.max_run_bytes)
    }

    /// The fold of a run's records, read from a snapshot on, or from the start if that is 0.
    pub(crate) async fn fold(&self, run: &RunId, snapshot: u64) -> Result<Fold> {
        let journal = JournalId::from(run.as_str());
        FoldReader::open(&*self.env.store, &journal, snapshot).await?.read_all().await
    }

    /// The fold of a run's records up to a sequence number, read from a snapshot on, or from the start if that is 0.
    pub(crate) async fn fold_up_to(&self, run: &RunId, snapshot: u64, last: u64) -> Result<Fold> {
        let journal = JournalId::from(run.as_str());
        FoldReader::open(&*self.env.store, &journal, snapshot).await?.read_up_to(last).await
    }

    /// The sequence number of the record that ended the run or started its wait, if that is its last event.
    pub(crate) async fn stopped_at(&self, run: &RunId) -> Result<Option<u64>> {
        let (journal, store) = (JournalId::from(run.as_str()), &*self.env.store);
        let Some(info) = store.info(&journal).await? else { return Ok(None) };
        let Some(before) = info.tail.last.checked_sub(1) else { return Ok(None) };
        // A damaged run must not make its session unreadable.
        let Ok(page) = store.read(&journal, before, ReadLimit { records: 1, bytes: 1 }).await else {
            return Ok(None);
        };
        let last = page.records.first();
        // A continuation cannot be read alone, and never ends a run.
        let event = last.and_then(|last| RecordReader::default().visible_event(last).ok().flatten());
        let stops = |kind: EventKind| kind.ends_run() || kind == EventKind::RunWaiting;
        Ok(event.filter(|record| stops(record.event.kind())).and(last).map(|last| last.seq))
    }

    /// Refuses to resume a run whose journal is full.
    pub(crate) fn check_room(&self, fold: &Fold) -> Result<()> {
        JournalRoom::new(&*self.env.store, self.env.options.max_run_bytes).check_resume(fold.bytes)
    }
}

/// The error for an id that is already in use.
pub(crate) fn run_exists(run: &RunId) -> Error {
    Error::new(ErrorKind::Exists, format!("there is a run {run} already: choose another name"))
}
