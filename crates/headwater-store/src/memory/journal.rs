//! One journal in memory: its records, its lease, and those who wait for more.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use tokio::sync::{Notify, futures::Notified};

use super::{
    EPOCH_COST, JOURNAL_COST, lock,
    records::{MemoryRecord, RecordLog},
};
use crate::{
    Class, EpochStart, Error, JournalId, JournalInfo, Lease, Monotonic, Page, ReadLimit, Record, Result,
    Tail, Time,
};

/// One journal.
#[derive(Debug, Default)]
pub(super) struct MemoryJournal {
    records: RecordLog,
    epochs: Vec<EpochStart>,
    hold: LeaseHold,
    /// Present only while a reader waits.
    waiting: Option<Arc<Notify>>,
}

/// The right to write.
#[derive(Debug, Default)]
enum LeaseHold {
    /// No lease.
    #[default]
    Free,
    Leased {
        owner: Arc<str>,
        expires: Monotonic,
    },
    /// No lease: restored with a driver from another store.
    Orphaned,
    Closed {
        goes: Option<Time>,
    },
    /// The journal is no longer in the store.
    Gone,
}

impl MemoryJournal {
    pub(super) fn bytes(&self) -> u64 {
        self.records.bytes()
    }

    /// Its total size, without its name.
    pub(super) fn cost(&self) -> u64 {
        self.records.cost() + JOURNAL_COST + self.epochs.len() as u64 * EPOCH_COST
    }

    pub(super) fn tail(&self) -> Tail {
        Tail {
            last: self.records.trimmed() + self.records.len() as u64,
            closed: matches!(self.hold, LeaseHold::Closed { .. }),
        }
    }

    pub(super) fn info(&self) -> JournalInfo {
        JournalInfo {
            first: self.records.trimmed() + 1,
            tail: self.tail(),
            epochs: self.epochs.clone(),
            bytes: self.records.bytes(),
            goes: if let LeaseHold::Closed { goes } = self.hold { goes } else { None },
            driven: matches!(self.hold, LeaseHold::Leased { .. } | LeaseHold::Orphaned),
        }
    }

    /// A journal of another store, without its records.
    pub(super) fn restored(info: &JournalInfo) -> Self {
        let hold = match (info.tail.closed, info.driven) {
            (true, _) => LeaseHold::Closed { goes: info.goes },
            (false, true) => LeaseHold::Orphaned,
            (false, false) => LeaseHold::Free,
        };
        let records = RecordLog::after(info.first - 1);
        Self { records, epochs: info.epochs.clone(), hold, ..Self::default() }
    }

    /// Adds the next records of another store's journal.
    pub(super) fn restore(&mut self, records: &[Record]) {
        let stored = |record: &Record| MemoryRecord {
            time: record.time,
            class: record.class,
            body: record.body.clone(),
        };
        records.iter().map(stored).for_each(|record| self.records.push(record));
    }

    /// Checks that a lease permits writing.
    pub(super) fn check(&self, lease: &Lease) -> Result<()> {
        let newest = self.epochs.last().map(|start| start.epoch);
        match self.hold {
            LeaseHold::Leased { .. } if newest == Some(lease.epoch) => Ok(()),
            LeaseHold::Leased { .. } => Err(Error::stale(&lease.journal, lease.epoch, newest)),
            LeaseHold::Free | LeaseHold::Orphaned => Err(Error::stale(&lease.journal, lease.epoch, None)),
            LeaseHold::Closed { .. } => Err(Error::closed(&lease.journal)),
            LeaseHold::Gone => Err(Error::unknown(&lease.journal)),
        }
    }

    /// Whether it may be deleted.
    pub(super) fn check_nobody_holds(&self, id: &JournalId, now: Monotonic) -> Result<()> {
        match &self.hold {
            LeaseHold::Leased { owner, expires } if now < *expires => Err(Error::held(id, owner, *expires)),
            _ => Ok(()),
        }
    }

    pub(super) fn claim(
        &mut self,
        id: &JournalId,
        owner: &str,
        now: Monotonic,
        ttl: Duration,
        epoch: impl FnOnce() -> u64,
    ) -> Result<Lease> {
        self.check_nobody_holds(id, now)?;
        if let LeaseHold::Closed { .. } = self.hold {
            return Err(Error::closed(id));
        }
        let (owner, expires): (Arc<str>, _) = (owner.into(), now.after(ttl));
        let start = EpochStart { epoch: epoch(), first: self.tail().last + 1 };
        self.epochs.push(start);
        self.hold = LeaseHold::Leased { owner: owner.clone(), expires };
        Ok(Lease { journal: id.clone(), epoch: start.epoch, owner, expires, first: start.first })
    }

    pub(super) fn renew(&mut self, until: Monotonic) {
        if let LeaseHold::Leased { expires, .. } = &mut self.hold {
            *expires = until;
        }
    }

    pub(super) fn release(&mut self) {
        self.hold = LeaseHold::Free;
        self.records.pack();
    }

    /// When its lease ran out, if it has.
    pub(super) fn expired_at(&self, now: Monotonic) -> Option<Monotonic> {
        match self.hold {
            LeaseHold::Leased { expires, .. } if expires <= now => Some(expires),
            LeaseHold::Orphaned => Some(Monotonic(0)),
            _ => None,
        }
    }

    /// When it expires, if it is closed and not kept forever.
    pub(super) fn goes(&self) -> Option<Time> {
        if let LeaseHold::Closed { goes } = self.hold { goes } else { None }
    }

    /// Whether it is closed and no longer kept.
    pub(super) fn is_over(&self, now: Time) -> bool {
        matches!(self.hold, LeaseHold::Closed { goes: Some(goes) } if goes <= now)
    }

    /// Returns the waiters to wake after the lock is released.
    pub(super) fn append(&mut self, class: Class, time: Time, bodies: &[Bytes]) -> Option<Arc<Notify>> {
        for body in bodies {
            self.records.push(MemoryRecord { time, class, body: body.clone() });
        }
        if bodies.is_empty() { None } else { self.waiting.take() }
    }

    pub(super) fn close(&mut self, goes: Option<Time>) {
        self.hold = LeaseHold::Closed { goes };
        self.records.pack();
        self.wake();
    }

    pub(super) fn trim(&mut self, before: u64) {
        self.records.trim(before.saturating_sub(self.records.trimmed() + 1));
    }

    /// Ends a journal that was taken out of the store.
    pub(super) fn end(&mut self) {
        self.hold = LeaseHold::Gone;
        self.records = RecordLog::default();
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            waiting.notify_waiters();
        }
    }

    pub(super) fn read(&self, id: &JournalId, after: u64, limit: ReadLimit) -> Result<Page> {
        if let LeaseHold::Gone = self.hold {
            return Err(Error::unknown(id));
        }
        let trimmed = self.records.trimmed();
        if after < trimmed {
            return Err(Error::trimmed(id, after, trimmed + 1));
        }
        let skipped = usize::try_from(after - trimmed).unwrap_or(usize::MAX);
        let available = self.records.len().saturating_sub(skipped);
        let mut records = Vec::with_capacity(available.min(limit.records));
        let mut bytes = 0;
        let mut epochs = self.epochs.iter().peekable();
        let mut epoch = 0;
        for (seq, stored) in (after + 1..).zip(self.records.skip(skipped)).take(limit.records) {
            bytes += stored.body.len();
            if bytes > limit.bytes && !records.is_empty() {
                break;
            }
            while let Some(start) = epochs.next_if(|start| start.first <= seq) {
                epoch = start.epoch;
            }
            let MemoryRecord { time, class, body } = stored;
            records.push(Record { seq, epoch, time, class, body });
        }
        Ok(Page { records, tail: self.tail() })
    }

    /// The tail, if it is beyond a sequence or the end.
    pub(super) fn beyond(&self, id: &JournalId, after: u64) -> Result<Option<Tail>> {
        if let LeaseHold::Gone = self.hold {
            return Err(Error::unknown(id));
        }
        let tail = self.tail();
        Ok((tail.last > after || tail.closed).then_some(tail))
    }
}

/// A waiter for a journal. The last one removes the notifier, so that a journal without waiters
/// waits holds none.
pub(super) struct Waiter<'a> {
    journal: &'a Mutex<MemoryJournal>,
    notify: Arc<Notify>,
}

impl<'a> Waiter<'a> {
    pub(super) fn new(journal: &'a Mutex<MemoryJournal>, state: &mut MemoryJournal) -> Self {
        Self { journal, notify: state.waiting.get_or_insert_default().clone() }
    }

    pub(super) fn notified(&self) -> Notified<'_> {
        self.notify.notified()
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut state = lock(self.journal);
        let alone = Arc::strong_count(&self.notify) == 2;
        if alone && state.waiting.as_ref().is_some_and(|waiting| Arc::ptr_eq(waiting, &self.notify)) {
            state.waiting = None;
        }
    }
}
