//! The journals of an agent's runs: creating, claiming and reading them.

use std::{sync::Arc, time::Duration};

use headwater_protocol::RunId;
use headwater_store::{JournalId, Lease, ReadLimit};

use super::{Fold, FoldReader, Journal, JournalRoom, RecordReader, is_snapshot};
use crate::{Error, Result, environment::Environment, error::ErrorKind};

/// How many records may follow the one with which a run began to wait, while it waits.
const AFTER_WAIT: usize = 8;

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

    /// Deletes the journal of a run that never started. If this fails, recovery deletes it.
    ///
    /// A journal with a lease cannot be deleted. The lease is ended, not released: recovery finds the journals of
    /// expired leases, and would not find a released one if the process died in between.
    pub(crate) async fn discard(&self, lease: &Lease) -> Result<()> {
        self.env.store.renew(lease, Duration::ZERO).await?;
        match self.env.store.delete(&lease.journal).await {
            Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Held { .. }) => {
                Err(Error::new(ErrorKind::Busy, error.to_string()))
            }
            deleted => Ok(deleted?),
        }
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

    /// The number of the record with which a run ended or began to wait, if it has ended or still waits.
    pub(crate) async fn stopped_at(&self, run: &RunId) -> Result<Option<u64>> {
        let (journal, store) = (JournalId::from(run.as_str()), &*self.env.store);
        let Some(info) = store.info(&journal).await? else { return Ok(None) };
        let before = info.tail.last.saturating_sub(AFTER_WAIT as u64);
        // A damaged run must not keep its session from being read.
        let limit = ReadLimit { records: AFTER_WAIT, bytes: usize::MAX };
        let Ok(page) = store.read(&journal, before, limit).await else { return Ok(None) };
        let mut reader = RecordReader::default();
        Ok(page.records.iter().fold(None, |stopped, record| match reader.visible_event(record) {
            Ok(Some(event)) => {
                let kind = event.event.kind();
                let stops = kind.ends_run() || kind.waits_after(false);
                if stops { Some(record.seq) } else { stopped.filter(|_| kind.waits_after(true)) }
            }
            Ok(None) if is_snapshot(record) => stopped,
            // An answer, a new driver, or text that cannot be read without what it continues.
            _ => None,
        }))
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
