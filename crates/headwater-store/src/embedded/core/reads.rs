//! The reading calls of the core.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::Notify;

use super::Core;
use crate::{
    Error, JournalId, JournalInfo, Monotonic, ReadLimit, Record, Result, Tail,
    embedded::{
        journal::EmbeddedJournal,
        segment::{RecordSource, SegmentRead, ValueAt},
        values::StoredValue,
    },
    restore::page_of,
};

/// One step of a read.
#[derive(Debug)]
pub(in crate::embedded) enum ReadStep {
    /// Everything to read was in memory.
    Done(Vec<Record>, Tail),
    /// The next records are in a segment.
    Disk(SegmentRead, Tail),
}

/// Whether a reader has to wait.
#[derive(Debug)]
pub(in crate::embedded) enum Waiting {
    Ready(Tail),
    Until(Arc<Notify>),
}

/// Location of the bytes of a value.
#[derive(Debug)]
pub(in crate::embedded) enum ValueLocation {
    Cached(Bytes),
    At(ValueAt),
}

impl Core {
    fn known(&self, name: &JournalId) -> Result<(u64, &EmbeddedJournal)> {
        let journal = self.names.get(name).and_then(|number| Some((*number, &**self.journals.get(number)?)));
        journal.filter(|(_, journal)| journal.is_known()).ok_or_else(|| Error::unknown(name))
    }

    /// Locates the records from a sequence number on, for a page that may already have some records.
    pub(in crate::embedded) fn read_step(
        &self,
        name: &JournalId,
        from: u64,
        limit: &mut ReadLimit,
        has_some: bool,
    ) -> Result<ReadStep> {
        let (number, journal) = self.known(name)?;
        let tail = journal.tail();
        if from < journal.first {
            return Err(Error::trimmed(name, from.saturating_sub(1), journal.first));
        }
        if from > journal.visible {
            return Ok(ReadStep::Done(Vec::new(), tail));
        }
        if let Some(records) = journal.recent_records(from, limit, has_some) {
            return Ok(ReadStep::Done(records, tail));
        }
        Ok(ReadStep::Disk(self.reading(number, journal, from, limit), tail))
    }

    fn reading(&self, number: u64, journal: &EmbeddedJournal, from: u64, limit: &ReadLimit) -> SegmentRead {
        let (piece, next) = journal.pieces_around(from);
        let next = next.map(|piece| piece.first);
        let recent = journal.recent.as_ref().map(|recent| recent.first());
        let until = [next, recent].into_iter().flatten().map(|first| first - 1).min().unwrap_or(u64::MAX);
        let segment = piece.map_or(self.active.number, |piece| piece.segment);
        let source = match self.sealed.get(&segment) {
            Some(sealed) => RecordSource::Sealed(sealed.clone()),
            None => {
                let mut frames = Vec::new();
                let (mut count, mut bytes) = (0, 0);
                let list = self.active.index.journals.get(&number).map(|part| part.list.iter_near(from));
                let list = list.filter(|_| segment == self.active.number);
                for frame in list.into_iter().flatten().skip_while(|frame| frame.last() < from) {
                    if count >= limit.records as u64 || bytes >= limit.bytes as u64 {
                        break;
                    }
                    count += frame.count;
                    bytes += frame.bytes;
                    frames.push(frame);
                }
                RecordSource::Active { file: self.active.file.clone(), frames }
            }
        };
        let until = until.min(journal.visible);
        SegmentRead { source, segment, name: journal.name.clone(), journal: number, from, until }
    }

    /// Whether there is a record after a sequence, or the notification to wait for.
    pub(in crate::embedded) fn wait_step(&mut self, name: &JournalId, after: u64) -> Result<Waiting> {
        let (number, journal) = self.known(name)?;
        let tail = journal.tail();
        if tail.last > after || tail.closed {
            return Ok(Waiting::Ready(tail));
        }
        // A stopped store gets no further records.
        self.running()?;
        let journal = self.journals.get_mut(&number).ok_or_else(|| Error::unknown(name))?;
        Ok(Waiting::Until(journal.waiters.get_or_insert_default().clone()))
    }

    pub(in crate::embedded) fn info(&self, name: &JournalId) -> Option<JournalInfo> {
        self.known(name).ok().map(|(_, journal)| journal.info())
    }

    /// Names of journals in order. They are sorted per call rather than kept sorted: only tools list them.
    pub(in crate::embedded) fn journals_after(
        &self,
        after: Option<&JournalId>,
        limit: usize,
    ) -> Vec<JournalId> {
        let known = self.journals.values().filter(|journal| journal.is_known()).map(|journal| &journal.name);
        page_of(known, after, limit)
    }

    /// Journals whose drivers have died.
    pub(in crate::embedded) fn expired(&self, limit: usize, now: Monotonic) -> Vec<JournalId> {
        let journals = self.driven.iter().filter_map(|number| self.journals.get(number));
        journals
            .filter(|journal| journal.is_known() && !journal.deleting)
            .filter(|journal| journal.held.as_ref().is_none_or(|held| held.expires <= now))
            .take(limit)
            .map(|journal| journal.name.clone())
            .collect()
    }

    /// Locates the bytes of a value.
    pub(in crate::embedded) fn locate(&self, stored: &StoredValue) -> ValueLocation {
        if let Some(bytes) = self.values.cached(stored.version) {
            return ValueLocation::Cached(bytes);
        }
        ValueLocation::At(ValueAt {
            file: match self.sealed.get(&stored.segment) {
                Some(sealed) => sealed.file.clone(),
                None => self.active.file.clone(),
            },
            segment: stored.segment,
            offset: stored.offset,
            length: stored.length,
            version: stored.version,
        })
    }
}
