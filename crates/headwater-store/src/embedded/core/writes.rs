//! The writing calls on journals and values. Each changes the gathering commit at once and returns the batch
//! that makes it durable.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;

use super::{Batch, Core, EmbeddedJournal, Op};
use crate::{
    Class, EpochStart, Error, ErrorKind, Expect, JournalId, Lease, Monotonic, Receipt, Result, Time,
    embedded::{frame::RecordEntry, journal::HeldLease},
};

/// The maximum length of a journal name or key.
const MAX_NAME: usize = 4 << 10;

/// The number of bytes at which a commit begins even if no caller waits.
const URGENT_BYTES: usize = 1 << 20;

/// The memory of a pending record besides its body.
pub(super) const RECORD_OVERHEAD: usize = 96;

/// The result of claiming a lease.
#[derive(Debug)]
pub(in crate::embedded) enum ClaimStep {
    /// The lease, once the batch is durable.
    Given(Lease, Arc<Batch>),
    /// The journal is being deleted: retry after the batch.
    Later(Arc<Batch>),
}

/// The result of trimming records.
#[derive(Debug)]
pub(in crate::embedded) enum Trim {
    /// They are already gone.
    Nothing,
    /// They are gone once the batch is durable.
    Begun(Arc<Batch>),
    /// Retry after the batch.
    Later(Arc<Batch>),
}

impl Core {
    fn number(&self, name: &JournalId) -> Result<u64> {
        self.names.get(name).copied().ok_or_else(|| Error::unknown(name))
    }

    pub(super) fn journal_mut(&mut self, name: &JournalId) -> Result<(u64, &mut EmbeddedJournal)> {
        let number = self.number(name)?;
        let journal = self.journals.get_mut(&number).ok_or_else(|| Error::unknown(name))?;
        Ok((number, journal))
    }

    /// The journal of a lease that may still write.
    fn leased(&mut self, lease: &Lease) -> Result<(u64, &mut EmbeddedJournal)> {
        self.running()?;
        let number = match self.leases.get(&lease.epoch) {
            Some(number) => *number,
            None => self.number(&lease.journal)?,
        };
        let journal = self.journals.get_mut(&number).filter(|journal| journal.name == lease.journal);
        let journal = journal.ok_or_else(|| Error::unknown(&lease.journal))?;
        if journal.closing || journal.closed.is_some() {
            return Err(Error::closed(&lease.journal));
        }
        match &journal.held {
            Some(held) if held.epoch == lease.epoch => Ok((number, journal)),
            held => Err(Error::stale(&lease.journal, lease.epoch, held.as_ref().map(|held| held.epoch))),
        }
    }

    /// Appends records. Returns a receipt, and whether the writer must be woken.
    pub(in crate::embedded) fn append(
        &mut self,
        lease: &Lease,
        class: Class,
        bodies: &[Bytes],
        now: Time,
    ) -> Result<(Receipt, bool)> {
        let limits = self.limits;
        let waiting = self.gather.bytes;
        let (number, journal) = self.leased(lease)?;
        let mut bytes = 0;
        for body in bodies {
            if body.len() > limits.record {
                return Err(Error::too_large("record", body.len(), limits.record));
            }
            bytes += body.len();
        }
        if bytes > limits.pending {
            return Err(Error::too_large("batch of records", bytes, limits.pending));
        }
        if journal.bytes + bytes as u64 > limits.journal {
            return Err(Error::full(&lease.journal, class, limits.journal));
        }
        bytes += RECORD_OVERHEAD * bodies.len();
        // Callers wait for each fact, so there are few of them: they get room even when deltas do not.
        let room = if class == Class::Fact { limits.pending.saturating_mul(2) } else { limits.pending };
        if waiting > 0 && waiting.saturating_add(bytes) > room {
            return Err(self.busy(waiting, room));
        }
        let first = journal.last + 1;
        let count = bodies.len() as u64;
        if count == 0 {
            return Ok((Receipt::settled(first, journal.last), false));
        }
        let nothing_hidden = journal.visible == journal.last;
        let time = now.max(journal.time);
        let had_none = journal.recent.is_none();
        let mut memory = 0;
        for body in bodies {
            memory += journal.push(RecordEntry { epoch: lease.epoch, time, class, body: body.clone() });
        }
        let last = journal.last;
        let at_once = class == Class::Delta && nothing_hidden && last - journal.durable <= limits.deltas;
        if at_once {
            journal.visible = last;
            journal.wake();
        }
        let was_clean = !std::mem::replace(&mut journal.dirty, true);
        self.recent_bytes += memory;
        if had_none {
            self.remember_recent(number);
        }
        let gather = &mut self.gather;
        let was_idle = gather.dirty.is_empty() && gather.ops.is_empty() && !gather.sync;
        if was_clean {
            gather.dirty.push(number);
        }
        gather.bytes += bytes;
        if gather.bytes > limits.pending / 2 {
            self.room.close();
        }
        let urgent = !at_once || gather.bytes > URGENT_BYTES;
        let wake = was_idle || (urgent && !gather.urgent);
        gather.urgent |= urgent;
        if at_once {
            return Ok((Receipt::settled(first, last), wake));
        }
        let batch = gather.batch.clone();
        Ok((Receipt::later(first, last, Box::pin(batch.wait())), wake))
    }

    /// The error for a write that does not fit until the next commit begins.
    pub(super) fn busy(&self, waiting: usize, room: usize) -> Error {
        self.room.close();
        let message = format!(
            "{waiting} bytes wait to be written, the limit is {room}: the disk is too slow; wait for room and try again"
        );
        Error::new(ErrorKind::Busy, message)
    }

    /// Claims the lease of a journal.
    pub(in crate::embedded) fn claim(
        &mut self,
        name: &JournalId,
        owner: &str,
        ttl: Duration,
        now: Monotonic,
    ) -> Result<ClaimStep> {
        self.running()?;
        check_name(name)?;
        let number = match self.names.get(name) {
            Some(number) => *number,
            None => self.begin_journal(name),
        };
        let journal = self.journals.get_mut(&number).ok_or_else(|| Error::unknown(name))?;
        if journal.deleting {
            return Ok(ClaimStep::Later(self.flush()?));
        }
        if journal.restoring {
            return Ok(ClaimStep::Later(self.discard(number)));
        }
        if journal.closing || journal.closed.is_some() {
            return Err(Error::closed(name));
        }
        if let Some(held) = journal.held.as_ref().filter(|held| now < held.expires) {
            return Err(Error::held(name, &held.owner, held.expires));
        }
        self.counters.epoch += 1;
        let epoch = self.counters.epoch;
        let (owner, expires, first) = (Arc::<str>::from(owner), now.after(ttl), journal.last + 1);
        if let Some(before) = &journal.held {
            self.leases.remove(&before.epoch);
        }
        self.leases.insert(epoch, number);
        journal.held = Some(Box::new(HeldLease { epoch, owner: owner.clone(), expires, first }));
        journal.released = false;
        self.driven.insert(number);
        let batch = self.gather_op(Op::Claimed { journal: number, name: name.clone(), epoch, first });
        Ok(ClaimStep::Given(Lease { journal: name.clone(), epoch, owner, expires, first }, batch))
    }

    /// Adds a new journal, not visible yet.
    pub(super) fn begin_journal(&mut self, name: &JournalId) -> u64 {
        self.counters.journal += 1;
        let number = self.counters.journal;
        self.names.insert(name.clone(), number);
        self.journals.insert(number, Box::new(EmbeddedJournal::new(name.clone(), self.active.number)));
        number
    }

    /// Extends a lease. This is not written: all leases end with the process.
    pub(in crate::embedded) fn renew(
        &mut self,
        lease: &Lease,
        ttl: Duration,
        now: Monotonic,
    ) -> Result<Lease> {
        let (_, journal) = self.leased(lease)?;
        let expires = now.after(ttl);
        let mut renewed = Lease { expires, ..lease.clone() };
        if let Some(held) = &mut journal.held {
            held.expires = expires;
            renewed.first = held.first;
        }
        Ok(renewed)
    }

    /// Releases a lease.
    pub(in crate::embedded) fn release(&mut self, lease: &Lease) -> Result<Arc<Batch>> {
        let (number, journal) = self.leased(lease)?;
        journal.held = None;
        journal.released = true;
        let (epoch, last) = (lease.epoch, journal.last);
        self.leases.remove(&epoch);
        self.driven.remove(&number);
        Ok(self.gather_op(Op::Released { journal: number, epoch, last }))
    }

    /// Closes a journal.
    pub(in crate::embedded) fn close(&mut self, lease: &Lease, goes: Option<Time>) -> Result<Arc<Batch>> {
        let (number, journal) = self.leased(lease)?;
        journal.held = None;
        journal.closing = true;
        let last = journal.last;
        self.leases.remove(&lease.epoch);
        self.driven.remove(&number);
        Ok(self.gather_op(Op::Closed { journal: number, goes, last }))
    }

    /// Trims the records before a sequence. Records that are not durable must become so first.
    pub(in crate::embedded) fn trim(&mut self, lease: &Lease, before: u64) -> Result<Trim> {
        let (number, journal) = self.leased(lease)?;
        let before = before.min(journal.last + 1);
        if before <= journal.first {
            return Ok(Trim::Nothing);
        }
        if before > journal.durable + 1 {
            return Ok(Trim::Later(self.flush()?));
        }
        Ok(Trim::Begun(self.gather_op(Op::Trimmed { journal: number, before })))
    }

    /// Deletes a journal.
    pub(in crate::embedded) fn delete(
        &mut self,
        name: &JournalId,
        now: Monotonic,
    ) -> Result<Option<Arc<Batch>>> {
        self.running()?;
        let Ok((number, journal)) = self.journal_mut(name) else { return Ok(None) };
        if journal.deleting {
            return self.flush().map(Some);
        }
        if let Some(held) = journal.held.as_ref().filter(|held| now < held.expires) {
            return Err(Error::held(name, &held.owner, held.expires));
        }
        Ok(Some(self.discard(number)))
    }

    pub(super) fn discard(&mut self, number: u64) -> Arc<Batch> {
        if let Some(journal) = self.journals.get_mut(&number) {
            journal.deleting = true;
            // A holder with an expired lease must not write to a journal that is being deleted.
            if let Some(held) = journal.held.take() {
                self.leases.remove(&held.epoch);
            }
        }
        self.gather_op(Op::Deleted { journal: number })
    }

    /// Puts a value.
    pub(in crate::embedded) fn put(
        &mut self,
        key: &str,
        bytes: Bytes,
        expect: Expect,
        expires: Option<Time>,
        now: Time,
    ) -> Result<(u64, Arc<Batch>)> {
        self.running()?;
        if key.len() > MAX_NAME {
            return Err(Error::too_large("key", key.len(), MAX_NAME));
        }
        if bytes.len() > self.limits.value {
            return Err(Error::too_large("value", bytes.len(), self.limits.value));
        }
        self.values.check(key, expect, now)?;
        let (waiting, room) = (self.gather.bytes, self.limits.pending.saturating_mul(2));
        if waiting > 0 && waiting.saturating_add(bytes.len()) > room {
            return Err(self.busy(waiting, room));
        }
        self.counters.version += 1;
        let version = self.counters.version;
        let key = Arc::<str>::from(key);
        self.values.begin(key.clone(), version, Some(expires));
        Ok((version, self.gather_op(Op::Put { key, version, expires, bytes })))
    }

    /// Removes a value. Returns whether there was one, and the batch to wait for.
    pub(in crate::embedded) fn remove(
        &mut self,
        key: &str,
        expect: Expect,
        now: Time,
    ) -> Result<(bool, Option<Arc<Batch>>)> {
        self.running()?;
        if self.values.check(key, expect, now)?.is_some() {
            return Ok((true, Some(self.remove_any(key.into()))));
        }
        // Absence is only reported once it is durable.
        Ok((false, self.settle_value(key)?))
    }

    /// The commit after which the newest write of a value can be read, if one is in progress.
    pub(in crate::embedded) fn settle_value(&mut self, key: &str) -> Result<Option<Arc<Batch>>> {
        if self.values.is_pending(key) { self.flush().map(Some) } else { Ok(None) }
    }

    pub(super) fn remove_any(&mut self, key: Arc<str>) -> Arc<Batch> {
        self.counters.version += 1;
        let version = self.counters.version;
        self.values.begin(key.clone(), version, None);
        self.gather_op(Op::Removed { key, version })
    }

    /// Applies a durable change of a journal.
    pub(super) fn settle_journal_op(&mut self, number: u64, op: &Op) {
        let Some(journal) = self.journals.get_mut(&number) else { return };
        match *op {
            Op::Claimed { epoch, first, .. } => journal.epochs.push(EpochStart { epoch, first }),
            Op::Closed { goes, .. } => {
                journal.closing = false;
                journal.closed = Some(goes);
                self.going.extend(goes.map(|goes| (goes, number)));
                journal.wake();
            }
            Op::Trimmed { before, .. } => self.settle_trim(number, before),
            _ => {}
        }
        self.forget_idle(number);
    }
}

pub(super) fn check_name(name: &JournalId) -> Result<()> {
    let length = name.as_str().len();
    if length > MAX_NAME { Err(Error::too_large("name of a journal", length, MAX_NAME)) } else { Ok(()) }
}
