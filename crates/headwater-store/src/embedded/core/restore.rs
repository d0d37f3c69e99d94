//! Restores journals of another store.

use std::sync::Arc;

use super::{
    Batch, Core, EmbeddedJournal, Op,
    writes::{RECORD_OVERHEAD, check_name},
};
use crate::{Error, JournalId, JournalInfo, Record, Result, embedded::frame::RecordEntry, restore};

/// The result of restoring the next records of a journal.
#[derive(Debug)]
pub(in crate::embedded) enum Restore {
    /// They are stored once the batch is durable.
    Begun(Arc<Batch>),
    /// The name is not free yet: retry after the batch.
    Later(Arc<Batch>),
}

impl Core {
    /// Adds the next records of another store's journal.
    pub(in crate::embedded) fn restore(
        &mut self,
        name: &JournalId,
        info: &JournalInfo,
        records: &[Record],
    ) -> Result<Restore> {
        self.running()?;
        check_name(name)?;
        let step = restore::check(name, info, records)?;
        if let Ok((number, journal)) = self.journal_mut(name) {
            // `Exists` is only reported when the journal can be read.
            if journal.deleting || !(journal.restoring || journal.is_known()) {
                return self.flush().map(Restore::Later);
            }
            if !journal.restoring {
                return Err(Error::exists(name));
            }
            if step.begins {
                return Ok(Restore::Later(self.discard(number)));
            }
        } else if !step.begins {
            return Err(restore::not_begun(name));
        }
        let bytes = self.check_restored_records(name, records)?;
        let number = if step.begins { self.begin_restore(name, info) } else { self.journal_mut(name)?.0 };
        if step.begins && !step.completes {
            // After a crash this distinguishes records of an unfinished restore from a journal that lost its
            // beginning.
            self.gather_op(Op::Restoring { journal: number, name: name.clone() });
        }
        self.push_restored_records(number, records, bytes);
        if step.completes {
            self.finish_restore(number, name, info);
        }
        self.gather.urgent = true;
        Ok(Restore::Begun(self.gather.batch.clone()))
    }

    /// Checks the sizes and the order of records. Returns the pending bytes including them.
    fn check_restored_records(&mut self, name: &JournalId, records: &[Record]) -> Result<usize> {
        let limits = self.limits;
        if let Some(record) = records.iter().find(|record| record.body.len() > limits.record) {
            let what = format!("journal {name}: record {}", record.seq);
            return Err(Error::too_large(&what, record.body.len(), limits.record));
        }
        let bytes: usize = records.iter().map(|record| record.body.len()).sum();
        if bytes > limits.pending {
            return Err(Error::too_large("batch of records", bytes, limits.pending));
        }
        let mut kept = 0;
        if let Ok((_, journal)) = self.journal_mut(name) {
            restore::check_next(name, journal.last, records)?;
            kept = journal.bytes;
        }
        if kept + bytes as u64 > limits.journal {
            return Err(restore::too_long(name, limits.journal));
        }
        let bytes = bytes + RECORD_OVERHEAD * records.len();
        let (waiting, room) = (self.gather.bytes, limits.pending);
        if waiting > 0 && waiting.saturating_add(bytes) > room {
            return Err(self.busy(waiting, room));
        }
        Ok(bytes)
    }

    fn begin_restore(&mut self, name: &JournalId, info: &JournalInfo) -> u64 {
        let number = self.begin_journal(name);
        if let Some(journal) = self.journals.get_mut(&number) {
            let before = info.first - 1;
            journal.restoring = true;
            journal.first = info.first;
            (journal.last, journal.visible, journal.taken, journal.durable) =
                (before, before, before, before);
        }
        number
    }

    fn push_restored_records(&mut self, number: u64, records: &[Record], bytes: usize) {
        let Some(journal) = self.journals.get_mut(&number).filter(|_| !records.is_empty()) else { return };
        let had_none = journal.recent.is_none();
        for record in records {
            let &Record { epoch, time, class, ref body, .. } = record;
            self.recent_bytes += journal.push(RecordEntry { epoch, time, class, body: body.clone() });
        }
        if !std::mem::replace(&mut journal.dirty, true) {
            self.gather.dirty.push(number);
        }
        if had_none {
            self.remember_recent(number);
        }
        self.gather.bytes += bytes;
        if self.gather.bytes > self.limits.pending / 2 {
            self.room.close();
        }
    }

    /// Makes a journal visible, in the same commit as its last records.
    fn finish_restore(&mut self, number: u64, name: &JournalId, info: &JournalInfo) {
        let Some(journal) = self.journals.get_mut(&number) else { return };
        let (closed, last) = (info.tail.closed, info.tail.last);
        journal.restoring = false;
        journal.closing = closed;
        journal.released = !closed && !info.driven;
        let newest = info.epochs.last().map_or(0, |start| start.epoch);
        self.counters.epoch = self.counters.epoch.max(newest);
        for start in &info.epochs {
            let (epoch, first) = (start.epoch, start.first);
            self.gather_op(Op::Claimed { journal: number, name: name.clone(), epoch, first });
        }
        if info.first > 1 {
            self.gather_op(Op::Trimmed { journal: number, before: info.first });
        }
        if closed {
            self.gather_op(Op::Closed { journal: number, goes: info.goes, last });
        } else if info.driven {
            self.driven.insert(number);
        } else {
            self.gather_op(Op::Released { journal: number, epoch: newest, last });
        }
        // Regardless of the policy: a power cut must not lose the epochs that later ones must exceed.
        self.gather.sync = true;
    }

    /// Removes an unfinished restore.
    pub(in crate::embedded) fn discard_unfinished(&mut self, number: u64, name: JournalId, since: u64) {
        self.journals.insert(number, Box::new(EmbeddedJournal::new(name, since)));
        self.discard(number);
    }
}
