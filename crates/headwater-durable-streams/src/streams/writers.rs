//! The writers of a process: one per stream that was written to lately.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use headwater_store::{Error, ErrorKind, Lease};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex as AsyncMutex;

use super::{StreamEngine, StreamMeta, meta::StreamClosing, producer::ProducerTable, record::AppendRecord};
use crate::StreamError;

/// Lease duration: how long another process waits at most for a stream written by a dead one.
pub(super) const LEASE: Duration = Duration::from_secs(10);

/// A lease is renewed when it is so old.
const RENEWAL: Duration = Duration::from_secs(3);

/// A writer idle for this long releases its lease.
const IDLE: Duration = Duration::from_secs(2);

/// The owner name of leases. Only the epoch fences; the name has no effect.
pub(super) const NODE: &str = "durable-streams";

/// Approximate number of records to read again after a restart, before the state is stored.
const SNAPSHOT: u64 = 256;

#[derive(Debug, Default)]
pub(super) struct StreamWriters(Mutex<HashMap<String, Arc<AsyncMutex<StreamWriter>>>>);

/// The state that an append is checked against.
#[derive(Debug)]
pub(super) struct StreamWriter {
    pub(super) lease: Option<Lease>,
    pub(super) state: Option<StreamWriterState>,
    renewed: Instant,
    used: Instant,
}

/// The folded records of a stream.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct StreamWriterState {
    /// The last record that is in it.
    pub(super) last: u64,
    pub(super) seq: Option<String>,
    pub(super) producers: ProducerTable,
    #[serde(default)]
    pub(super) closed: Option<StreamClosing>,
    #[serde(skip)]
    snapshot: u64,
}

impl StreamWriterState {
    pub(super) fn apply(&mut self, seq: u64, record: &AppendRecord) {
        self.last = seq;
        let header = &record.header;
        if let Some(stamp) = &header.producer {
            self.producers.record(stamp);
        }
        if header.seq.is_some() {
            self.seq.clone_from(&header.seq);
        }
        if header.closes {
            self.closed = Some(StreamClosing { producer: header.producer.clone() });
        }
    }

    /// Whether the state should be stored, so that fewer records are read again after a restart.
    pub(super) fn wants_snapshot(&mut self) -> bool {
        let due = self.last >= self.snapshot + SNAPSHOT;
        if due {
            self.snapshot = self.last;
        }
        due
    }
}

impl StreamWriters {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<AsyncMutex<StreamWriter>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn of(&self, journal: &str) -> Arc<AsyncMutex<StreamWriter>> {
        let now = Instant::now();
        let writer =
            || Arc::new(AsyncMutex::new(StreamWriter { lease: None, state: None, renewed: now, used: now }));
        self.all().entry(journal.to_owned()).or_insert_with(writer).clone()
    }

    /// Forgets a writer that no request has. One that a request is about to use would otherwise exist twice, and the second
    /// would wait for the lease of the first.
    fn forget_unused(&self, journal: &str, writer: &Arc<AsyncMutex<StreamWriter>>) -> bool {
        let mut all = self.all();
        // That of the map, and the caller's.
        let is_unused = Arc::strong_count(writer) <= 2;
        if is_unused {
            all.remove(journal);
        }
        is_unused
    }

    pub(super) fn forget(&self, journal: &str) -> Option<Arc<AsyncMutex<StreamWriter>>> {
        self.all().remove(journal)
    }
}

pub(super) fn state_key(journal: &str) -> String {
    headwater_store::key::join("durable-stream-state", &[journal])
}

impl StreamEngine {
    /// Makes a writer ready: it holds the lease, or knows that the stream is closed.
    pub(super) async fn prepare(
        &self,
        meta: &StreamMeta,
        writer: &mut StreamWriter,
    ) -> Result<(), StreamError> {
        writer.used = Instant::now();
        if writer.state.as_ref().is_some_and(|state| state.closed.is_some()) {
            return Ok(());
        }
        if let Some(lease) = &writer.lease {
            if writer.renewed.elapsed() < RENEWAL {
                return Ok(());
            }
            match self.store.renew(lease, LEASE).await {
                Ok(lease) => {
                    (writer.lease, writer.renewed) = (Some(lease), Instant::now());
                    return Ok(());
                }
                Err(error) if is_fenced(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        (writer.lease, writer.state) = (None, None);
        writer.lease = self.claim(meta).await?;
        writer.renewed = Instant::now();
        let mut state = self.load_state(meta).await?;
        if writer.lease.is_none() || meta.closed.is_some() {
            state.closed.get_or_insert_with(|| meta.closed.clone().unwrap_or_default());
        }
        if let (Some(lease), true) = (&writer.lease, state.closed.is_some()) {
            // A process died between the last record and the end of the journal.
            self.store.close(lease, None).await?;
            writer.lease = None;
        }
        writer.state = Some(state);
        Ok(())
    }

    /// The lease of a stream; `None` if the stream is closed. Waits for another process that writes to it.
    async fn claim(&self, meta: &StreamMeta) -> Result<Option<Lease>, StreamError> {
        let journal = meta.journal.as_str().into();
        // A claim would create the journal of a stream that was deleted in the meantime.
        if self.store.info(&journal).await?.is_none() {
            return Err(StreamError::unknown());
        }
        let begun = Instant::now();
        loop {
            match self.store.claim(&journal, NODE, LEASE).await {
                Ok(lease) => return Ok(Some(lease)),
                Err(error) if matches!(error.kind(), ErrorKind::Closed) => return Ok(None),
                Err(error) if matches!(error.kind(), ErrorKind::Held { .. }) && begun.elapsed() < LEASE => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The folded records of a stream: the stored state, and the records after it.
    async fn load_state(&self, meta: &StreamMeta) -> Result<StreamWriterState, StreamError> {
        let stored = self.store.get(&state_key(&meta.journal)).await?;
        let mut state: StreamWriterState =
            stored.and_then(|value| serde_json::from_slice(&value.bytes).ok()).unwrap_or_default();
        state.snapshot = state.last;
        let journal = meta.journal.as_str().into();
        loop {
            let page = self.store.read(&journal, state.last, headwater_store::ReadLimit::default()).await?;
            for record in &page.records {
                state.apply(record.seq, &AppendRecord::decode(&record.body)?);
            }
            if state.last >= page.tail.last || page.records.is_empty() {
                return Ok(state);
            }
        }
    }

    pub(super) fn writers(&self) -> &StreamWriters {
        &self.writers
    }

    /// Releases the lease of a stream that is about to be deleted.
    pub(super) async fn discard_writer(&self, meta: &StreamMeta) -> Result<(), StreamError> {
        if let Some(writer) = self.writers.forget(&meta.journal) {
            let mut writer = writer.lock().await;
            writer.state = None;
            if let Some(lease) = writer.lease.take() {
                // A lease that was lost needs no release.
                let _ = self.store.release(&lease).await;
            }
        }
        self.store.remove(&state_key(&meta.journal), headwater_store::Expect::Any).await?;
        Ok(())
    }

    /// Releases the leases of idle writers.
    pub(super) async fn release_idle(&self) {
        let idle: Vec<(String, Arc<AsyncMutex<StreamWriter>>)> =
            self.writers.all().iter().map(|(name, writer)| (name.clone(), writer.clone())).collect();
        for (journal, shared) in idle {
            let Ok(mut writer) = shared.try_lock() else { continue };
            if writer.used.elapsed() < IDLE || !self.writers.forget_unused(&journal, &shared) {
                continue;
            }
            writer.state = None;
            if let Some(lease) = writer.lease.take()
                && let Err(error) = self.store.release(&lease).await
            {
                tracing::debug!(%error, "the lease of an idle stream was lost already");
            }
        }
    }
}

/// Whether another process has taken the stream over.
pub(super) fn is_fenced(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Stale { .. } | ErrorKind::Closed | ErrorKind::Unknown)
}
