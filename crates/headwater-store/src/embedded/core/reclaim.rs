//! Frees recent records, journals, trimmed records and segments.

use std::{io, sync::Arc};

use super::{Batch, Core, Op};
use crate::{
    Time,
    embedded::{
        disk::read_up_to, files::File, frame::LogFrame, index::FrameAt, journal::JournalPiece,
        segment::SealedSegment,
    },
};

impl Core {
    /// Drops the recent records of a journal without a driver.
    pub(super) fn forget_idle(&mut self, number: u64) {
        if let Some(journal) = self.journals.get_mut(&number).filter(|journal| journal.held.is_none()) {
            self.recent_bytes -= journal.forget(0);
            journal.epochs.shrink_to_fit();
            journal.pieces.shrink_to_fit();
        }
    }

    /// Registers a journal with recent records.
    pub(super) fn remember_recent(&mut self, number: u64) {
        if self.recent.len() >= self.recent_room {
            let journals = &self.journals;
            self.recent.retain(|number| journals.get(number).is_some_and(|journal| journal.recent.is_some()));
            self.recent_room = (self.recent.len() * 2).max(64);
        }
        self.recent.push_back(number);
    }

    /// Removes a deleted journal.
    pub(super) fn forget_journal(&mut self, number: u64) {
        let Some(mut journal) = self.journals.remove(&number) else { return };
        journal.wake();
        if self.names.get(&journal.name) == Some(&number) {
            self.names.remove(&journal.name);
        }
        self.driven.remove(&number);
        if let Some(goes) = journal.closed.flatten() {
            self.going.remove(&(goes, number));
        }
        self.recent_bytes -= journal.recent.as_ref().map_or(0, |recent| recent.bytes);
        // Frames other than records may be in any segment since its first one.
        self.stale_segments.extend(self.sealed.range(journal.since..).map(|(segment, _)| *segment));
    }

    /// Removes the records of a journal before a sequence.
    pub(super) fn settle_trim(&mut self, number: u64, before: u64) {
        let Some(journal) = self.journals.get(&number).filter(|journal| before > journal.first) else {
            return;
        };
        let gone = journal.pieces.partition_point(|piece| piece.first < before);
        let stale: Vec<u64> = journal.pieces.iter().take(gone).map(|piece| piece.segment).collect();
        let mut dropped: u64 = journal.pieces.iter().take(gone).map(|piece| piece.bytes).sum();
        // The last of these pieces may be kept in part.
        let mut part = None;
        if let Some(piece) = gone.checked_sub(1).and_then(|at| journal.pieces.get(at)) {
            part = match self.bytes_from(number, piece.segment, before) {
                Ok(kept) => kept.map(|(first, bytes)| JournalPiece { segment: piece.segment, first, bytes }),
                // It may become readable later. Until the store is reopened, too many bytes are counted.
                Err(_) => Some(*piece),
            };
            dropped = dropped.saturating_sub(part.map_or(0, |part| part.bytes));
        }
        let Some(journal) = self.journals.get_mut(&number) else { return };
        journal.pieces.drain(..gone);
        if let Some(part) = part {
            journal.pieces.insert(0, part);
        }
        journal.first = before;
        journal.bytes = journal.bytes.saturating_sub(dropped);
        self.stale_segments.extend(stale);
    }

    /// A segment's part of a journal from a sequence on: first sequence and bytes; `None` if empty.
    pub(in crate::embedded) fn bytes_from(
        &self,
        journal: u64,
        segment: u64,
        from: u64,
    ) -> io::Result<Option<(u64, u64)>> {
        match self.sealed.get(&segment) {
            Some(sealed) => bytes_from(&*sealed.file, sealed.list(journal)?.frames(), from),
            None => match self.active.index.journals.get(&journal) {
                Some(part) => bytes_from(&*self.active.file, part.list.iter(), from),
                None => Ok(None),
            },
        }
    }

    /// Starts deleting expired journals and values. Returns their numbers and the batch to wait for.
    pub(in crate::embedded) fn let_go(&mut self, now: Time) -> Option<(u64, u64, Arc<Batch>)> {
        let (mut journals, mut values) = (0, 0);
        let over = self.going.range(..=(now, u64::MAX)).map(|(_, number)| *number).collect::<Vec<_>>();
        let mut batch = None;
        for number in over {
            let Some(journal) = self.journals.get_mut(&number).filter(|journal| !journal.deleting) else {
                continue;
            };
            journal.deleting = true;
            journals += 1;
            batch = Some(self.gather_op(Op::Deleted { journal: number }));
        }
        for key in self.values.over(now) {
            values += 1;
            batch = Some(self.remove_any(key));
        }
        batch.map(|batch| (journals, values, batch))
    }

    /// Replaces a segment, and older ones merged into it, with its rewritten version.
    pub(in crate::embedded) fn replace_segments(
        &mut self,
        sealed: Arc<SealedSegment>,
        gone: &[u64],
        journals: impl Iterator<Item = u64>,
        moved: &[(Arc<str>, u64, u32)],
    ) {
        let number = sealed.number;
        for (key, version, offset) in moved {
            self.values.moved(key, *version, number, *offset);
        }
        for journal in journals {
            if let Some(journal) = self.journals.get_mut(&journal) {
                journal.join_pieces(gone, number);
            }
        }
        for segment in gone {
            self.sealed.remove(segment);
        }
        self.sealed.insert(number, sealed);
    }
}

fn bytes_from(
    file: &dyn File,
    frames: impl Iterator<Item = FrameAt>,
    from: u64,
) -> io::Result<Option<(u64, u64)>> {
    let mut kept: Option<(u64, u64)> = None;
    for frame in frames.filter(|frame| frame.last() >= from) {
        let mut bytes = frame.bytes;
        if frame.first < from {
            let length = usize::try_from(frame.room()).unwrap_or(usize::MAX);
            let read = read_up_to(file, u64::from(frame.offset), length)?;
            if let Some((LogFrame::Records(records), _)) = LogFrame::decode(&read) {
                bytes = records.body_bytes_from(from - frame.first).unwrap_or(bytes);
            }
        }
        let (first, sum) = kept.unwrap_or((frame.first.max(from), 0));
        kept = Some((first, sum + bytes));
    }
    Ok(kept)
}
