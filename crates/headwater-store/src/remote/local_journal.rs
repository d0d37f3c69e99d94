//! What this process knows about one journal that it drives or that its readers follow.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::Notify;

use super::{JournalHeader, journal_driver::JournalDriver};
use crate::{Page, ReadLimit, Record, Tail};

#[derive(Debug)]
pub(super) struct Local {
    /// [`JournalHeader::number`].
    pub(super) number: u64,
    /// The first sequence that is kept.
    pub(super) first: u64,
    /// How far the journal may be seen here.
    pub(super) tail: Tail,
    pub(super) recent: Recent,
    pub(super) driven: Option<JournalDriver>,
    /// The engine was asked after announcements about this journal could reach it, so none was missed.
    pub(super) confirmed: bool,
    /// Each waiter has a clone.
    pub(super) waiting: Arc<Notify>,
    /// When the engine last reported the end of the journal.
    pub(super) asked: Instant,
    /// The number of polls since it was last used.
    pub(super) idle: u32,
}

/// A reader that has come to the end of a journal which another process drives is not sent to the engine if the engine
/// was asked so short a time ago. Otherwise each of a thousand readers would ask once after each batch of records.
const JUST_ASKED: Duration = Duration::from_millis(20);

impl Local {
    pub(super) fn new(header: &JournalHeader) -> Self {
        Self {
            number: header.number,
            first: header.first,
            tail: header.tail(),
            recent: Recent::default(),
            driven: None,
            confirmed: false,
            waiting: Arc::default(),
            asked: Instant::now(),
            idle: 0,
        }
    }

    pub(super) fn has_waiters(&self) -> bool {
        Arc::strong_count(&self.waiting) > 1
    }

    pub(super) fn wake(&self) {
        self.waiting.notify_waiters();
    }

    /// Shows what may be seen by now of a journal that is driven here.
    pub(super) fn show(&mut self, delta_limit: u64) {
        let Some(driven) = &self.driven else { return };
        let visible = driven.visible(delta_limit);
        if visible > self.tail.last {
            self.tail.last = visible;
            self.wake();
        }
    }

    /// What may be seen after a sequence, if it is in memory. `None` where the engine must be asked.
    pub(super) fn page(&mut self, after: u64, limit: ReadLimit) -> Option<Page> {
        self.idle = 0;
        let tail = self.tail;
        if after >= tail.last {
            // Of what this process writes it knows the end. Another one may have written more since.
            let knows = self.driven.is_some()
                || (after == tail.last && self.confirmed && self.asked.elapsed() < JUST_ASKED);
            return knows.then(|| Page { records: Vec::new(), tail });
        }
        if after < self.first.saturating_sub(1) {
            return None;
        }
        let mut bytes = 0;
        let records: Vec<Record> = self
            .recent
            .from(after + 1)?
            .take_while(|record| record.seq <= tail.last)
            .take(limit.records)
            .enumerate()
            .take_while(|(at, record)| {
                bytes += record.body.len();
                *at == 0 || bytes <= limit.bytes
            })
            .map(|(_, record)| record.clone())
            .collect();
        Some(Page { records, tail })
    }
}

/// The newest records of a journal, without gaps.
#[derive(Debug, Default)]
pub(super) struct Recent {
    records: VecDeque<Record>,
    pub(super) bytes: usize,
}

/// What a record takes in memory, about.
fn cost(record: &Record) -> usize {
    size_of::<Record>() + record.body.len()
}

impl Recent {
    /// Adds the record after the last one. Records that do not follow replace those that are there.
    pub(super) fn push(&mut self, record: Record) {
        match self.records.back() {
            Some(last) if record.seq <= last.seq => return,
            Some(last) if record.seq > last.seq + 1 => self.clear(),
            _ => {}
        }
        self.bytes += cost(&record);
        self.records.push_back(record);
    }

    pub(super) fn clear(&mut self) {
        self.records = VecDeque::new();
        self.bytes = 0;
    }

    /// The records from a sequence on, if that one is there.
    pub(super) fn from(&self, seq: u64) -> Option<impl Iterator<Item = &Record>> {
        let first = self.records.front()?.seq;
        let skip = usize::try_from(seq.checked_sub(first)?).ok()?;
        (skip < self.records.len()).then(|| self.records.range(skip..))
    }

    /// Forgets the oldest, but none after a sequence, until so many bytes are left.
    pub(super) fn shrink(&mut self, bytes: usize, durable: u64) {
        while self.bytes > bytes {
            let Some(oldest) = self.records.front().filter(|record| record.seq <= durable) else { return };
            self.bytes -= cost(oldest);
            self.records.pop_front();
        }
    }

    /// Forgets trimmed records.
    pub(super) fn forget_before(&mut self, seq: u64) {
        while let Some(oldest) = self.records.front().filter(|record| record.seq < seq) {
            self.bytes -= cost(oldest);
            self.records.pop_front();
        }
    }

    /// Forgets what was never written.
    pub(super) fn forget_after(&mut self, seq: u64) {
        while let Some(newest) = self.records.back().filter(|record| record.seq > seq) {
            self.bytes -= cost(newest);
            self.records.pop_back();
        }
    }
}
