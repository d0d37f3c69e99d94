//! Reading the events of a run live.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use headwater_protocol::{Record, RunId};
use headwater_store::{JournalId, Page, ReadLimit, Store, Tail};

use super::{Runs, unknown::read_error};
use crate::{
    Result,
    journal::{RecordReader, is_answer},
};

/// How long a reader waits for a record before it polls: a store may deliver a notification late or not at
/// all.
const POLL: Duration = Duration::from_secs(5);

/// Polling interval for a store without notifications.
const PAUSE: Duration = Duration::from_millis(20);

/// A reader of a run, at a position in its journal.
pub(super) struct EventReader {
    runs: Arc<Runs>,
    run: RunId,
    journal: JournalId,
    after: u64,
    /// The epoch of the last record; 0 before the first.
    epoch: u64,
    since: u64,
    ready: VecDeque<Record>,
    reader: RecordReader,
    /// Whether the last event reported a wait.
    waits: bool,
    over: bool,
}

impl EventReader {
    /// A reader of the events after a sequence number. A wait reported before `since` is over.
    pub(super) fn new(runs: Arc<Runs>, run: RunId, after: u64, since: u64) -> Self {
        Self {
            runs,
            journal: JournalId::from(run.as_str()),
            run,
            after,
            epoch: 0,
            since,
            ready: VecDeque::new(),
            reader: RecordReader::default(),
            waits: false,
            over: false,
        }
    }
}

impl EventReader {
    pub(super) async fn next(&mut self) -> Result<Option<Record>> {
        loop {
            if let Some(record) = self.ready.pop_front() {
                return Ok(Some(record));
            }
            if self.over {
                return Ok(None);
            }
            let read = self.read().await;
            self.over |= read.is_err();
            read?;
        }
    }

    async fn read(&mut self) -> Result<()> {
        let store = &self.runs.env.store;
        let read = || store.read(&self.journal, self.after, ReadLimit::default());
        let mut page = read().await;
        if let Ok(empty) = &page
            && empty.records.is_empty()
            && !empty.tail.closed
        {
            let after = self.after.min(empty.tail.last);
            let waited = tokio::time::timeout(POLL, store.wait(&self.journal, after)).await;
            if let Ok(Err(_)) = waited {
                // The read usually fails as well, with the reason.
                tokio::time::sleep(PAUSE).await;
            }
            page = read().await;
        }
        let page = match page {
            Ok(page) => page,
            // A store may refuse to read after records that it has lost.
            Err(error) => {
                let unread = Page { records: Vec::new(), tail: Tail { last: 0, closed: false } };
                let lost = lost_after(&**store, &self.journal, &unread, self.after, self.epoch).await;
                let Ok(Some(kept)) = lost else { return Err(read_error(&self.run, error)) };
                (self.after, self.epoch) = (kept, 0);
                return Ok(());
            }
        };
        if let Some(kept) = lost_after(&**store, &self.journal, &page, self.after, self.epoch).await? {
            (self.after, self.epoch) = (kept, 0);
            return Ok(());
        }
        self.reader.prepare(&**store, &self.journal, &page).await?;
        for record in &page.records {
            (self.after, self.epoch) = (record.seq, record.epoch);
            // The wait is over, although no event has followed yet.
            self.waits &= !is_answer(record);
            if let Some(record) = self.reader.visible_event(record)? {
                let kind = record.event.kind();
                self.waits = kind.waits_after(self.waits) && record.seq > self.since;
                self.over |= kind.ends_run();
                self.ready.push_back(*record);
            }
        }
        if self.after >= page.tail.last {
            self.over |= page.tail.closed || (self.waits && self.wait_lasts().await?);
        }
        Ok(())
    }

    /// Whether the run still waits. An answer in the inbox ends the wait.
    async fn wait_lasts(&self) -> Result<bool> {
        if self.runs.has_mail(&self.run).await? {
            return Ok(false);
        }
        // The run may have been resumed between the two.
        let info = self.runs.env.store.info(&self.journal).await?;
        Ok(info.is_none_or(|info| info.tail.last <= self.after))
    }
}

/// The position at which a reader continues after it received records that were never stored: deltas of a
/// driver that lost its lease before it wrote them. The new driver retracts their attempt, under sequence
/// numbers that the reader has already seen.
///
/// `page` was read after `after`, and `epoch` is that of the record `after`; 0 if unknown. `None` if nothing
/// was lost.
///
/// # Errors
/// When the store fails.
pub async fn lost_after(
    store: &dyn Store,
    journal: &JournalId,
    page: &Page,
    after: u64,
    epoch: u64,
) -> Result<Option<u64>> {
    let is_next = page.records.first().is_none_or(|record| record.epoch == epoch);
    if epoch == 0 || (is_next && page.tail.last >= after) {
        return Ok(None);
    }
    let Some(info) = store.info(journal).await? else { return Ok(None) };
    let next = info.epochs.iter().skip_while(|start| start.epoch != epoch).nth(1);
    Ok(next.filter(|next| next.first <= after).map(|next| next.first - 1))
}
