//! Reading and waiting.

use std::sync::Arc;

use super::{
    Engine, JournalEntries, JournalHeader, JournalHold,
    call::{call, unavailable},
    context::StoreContext,
    entry::unpack,
    state::WaitStep,
};
use crate::{Error, ErrorKind, JournalId, JournalInfo, Page, ReadLimit, Record, Result, Tail, Time};

impl<E: Engine> StoreContext<E> {
    pub(super) async fn read_page(&self, journal: &JournalId, after: u64, limit: ReadLimit) -> Result<Page> {
        {
            let mut state = self.state();
            state.check_lost(journal, after)?;
            if let Some(page) = state.page(journal, after, limit) {
                return Ok(page);
            }
        }
        let stored = call(self.read_limits(), |_| self.engine.read(journal, after, limit)).await?;
        let Some(stored) = stored else {
            self.state().forget(journal);
            return Err(Error::unknown(journal));
        };
        let header = &stored.header;
        self.time.observe(header.now);
        if after + 1 < header.first {
            return Err(Error::trimmed(journal, after, header.first));
        }
        let records = records_after(journal, after, limit, &stored)?;
        Ok(Page { records, tail: self.tail(journal, header) })
    }

    /// How far a journal may be seen here: this process sees the deltas that it has not written yet.
    fn tail(&self, journal: &JournalId, header: &JournalHeader) -> Tail {
        let mut tail = header.tail();
        let state = self.state();
        if let Some(local) = state.journals.get(journal).filter(|local| local.number == header.number) {
            let drives = local.driven.as_ref().is_some_and(|driven| driven.epoch == header.epoch);
            if drives {
                tail.last = tail.last.max(local.tail.last);
            }
        }
        tail
    }

    pub(super) async fn wait_for(&self, journal: &JournalId, after: u64) -> Result<Tail> {
        loop {
            let step = self.state().wait_step(journal, after)?;
            match step {
                WaitStep::Ready(tail) => return Ok(tail),
                WaitStep::ReadTail => self.read_tail(journal, after).await?,
                WaitStep::Until(waiting) => {
                    let mut woken = std::pin::pin!(waiting.notified());
                    // Registered before the second read, or a record between the two would wake no waiter.
                    woken.as_mut().enable();
                    let again = self.state().wait_step(journal, after)?;
                    if let WaitStep::Until(_) = again {
                        woken.await;
                    }
                }
            }
        }
    }

    /// Asks the engine for the end of a journal, once for all callers at the same time.
    async fn read_tail(&self, journal: &JournalId, after: u64) -> Result<()> {
        // Those that wait for their turn have waited as long as the first when it gives up.
        let limit = self.read_limits().longest();
        let read = tokio::time::timeout(limit, self.read_tail_in_turn(journal, after)).await;
        read.unwrap_or_else(|_| {
            let silent = Error::new(ErrorKind::Unavailable, "it does not answer");
            Err(unavailable(&silent, limit))
        })
    }

    async fn read_tail_in_turn(&self, journal: &JournalId, after: u64) -> Result<()> {
        let reads = self.tail_reads(journal);
        let _one_at_a_time = reads.lock().await;
        if !matches!(self.state().wait_step(journal, after)?, WaitStep::ReadTail) {
            return Ok(());
        }
        match self.fetch_header(journal).await? {
            Some(header) => {
                self.state().observe(journal, &header);
                Ok(())
            }
            None => {
                self.state().forget(journal);
                Err(Error::unknown(journal))
            }
        }
    }

    pub(super) async fn fetch_header(&self, journal: &JournalId) -> Result<Option<JournalHeader>> {
        let header = call(self.read_limits(), |_| self.engine.header(journal)).await?;
        if let Some(header) = &header {
            self.time.observe(header.now);
        }
        Ok(header)
    }

    /// Fetches the newest records of journals that readers follow here.
    pub(super) async fn fetch_journals(&self, journals: &[JournalId]) {
        let limit = ReadLimit { records: 4_096, bytes: self.options.tail_bytes };
        let wanted: Vec<(&JournalId, u64)> = {
            let state = self.state();
            let last = |journal| Some((journal, state.journals.get(journal)?.tail.last));
            journals.iter().filter_map(last).collect()
        };
        // What cannot be fetched now is found by the next poll.
        let Ok(found) = self.engine.read_all(&wanted, limit).await else { return };
        for ((journal, after), stored) in wanted.into_iter().zip(found) {
            let Some(stored) = stored else {
                self.state().forget(journal);
                continue;
            };
            let records = if after + 1 < stored.header.first {
                None
            } else {
                records_after(journal, after, limit, &stored).ok()
            };
            match records {
                Some(records) => self.state().extend(journal, &stored.header, records, &self.options),
                // Each reader meets the gap or the damage itself.
                None => {
                    self.state().observe(journal, &stored.header);
                }
            }
        }
    }

    pub(super) async fn read_info(&self, journal: &JournalId) -> Result<Option<JournalInfo>> {
        let Some(header) = self.fetch_header(journal).await? else {
            self.state().forget(journal);
            return Ok(None);
        };
        let tail = self.tail(journal, &header);
        let unwritten = self.unwritten_bytes(journal, &header, tail);
        let goes = match header.hold {
            JournalHold::Closed { goes } => goes.map(Time),
            _ => None,
        };
        let bytes = header.total - header.trimmed + unwritten;
        let driven = matches!(header.hold, JournalHold::Leased { .. });
        Ok(Some(JournalInfo { first: header.first, tail, epochs: header.epochs, bytes, goes, driven }))
    }

    fn unwritten_bytes(&self, journal: &JournalId, header: &JournalHeader, tail: Tail) -> u64 {
        let state = self.state();
        let records = state.journals.get(journal).and_then(|local| local.recent.from(header.last + 1));
        let unwritten = records.into_iter().flatten().take_while(|record| record.seq <= tail.last);
        unwritten.map(|record| record.body.len() as u64).sum()
    }

    fn tail_reads(&self, journal: &JournalId) -> Arc<tokio::sync::Mutex<()>> {
        let mut tail_reads = self.tail_reads.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(found) = tail_reads.get(journal).and_then(std::sync::Weak::upgrade) {
            return found;
        }
        tail_reads.retain(|_, tail_reads| tail_reads.strong_count() > 0);
        let new = Arc::new(tokio::sync::Mutex::new(()));
        tail_reads.insert(journal.clone(), Arc::downgrade(&new));
        new
    }
}

/// The records after a sequence that a limit allows.
pub(super) fn records_after(
    journal: &JournalId,
    after: u64,
    limit: ReadLimit,
    stored: &JournalEntries,
) -> Result<Vec<Record>> {
    let mut records: Vec<Record> = Vec::new();
    let mut bytes = 0;
    for entry in &stored.entries {
        for record in unpack(journal, entry, &stored.header.epochs)? {
            if record.seq <= after {
                continue;
            }
            bytes += record.body.len();
            if records.len() >= limit.records || (bytes > limit.bytes && !records.is_empty()) {
                return Ok(records);
            }
            records.push(record);
        }
    }
    Ok(records)
}
