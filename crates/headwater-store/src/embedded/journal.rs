//! The memory of one journal: a few hundred bytes while idle, and its tail while it has a driver.

use std::{collections::VecDeque, sync::Arc};

use tokio::sync::Notify;

use super::frame::RecordEntry;
use crate::{Class, EpochStart, JournalId, JournalInfo, Monotonic, ReadLimit, Record, Tail, Time};

/// One journal.
#[derive(Debug)]
pub(super) struct EmbeddedJournal {
    pub(super) name: JournalId,
    /// The durable epochs, oldest first; empty before the first claim is durable.
    pub(super) epochs: Vec<EpochStart>,
    pub(super) held: Option<Box<HeldLease>>,
    /// Whether the newest epoch was released.
    pub(super) released: bool,
    /// Whether it is durably closed, and its expiry time.
    pub(super) closed: Option<Option<Time>>,
    /// Changes in progress that are not durable yet.
    pub(super) closing: bool,
    pub(super) deleting: bool,
    /// Whether its last records are still to be restored.
    pub(super) restoring: bool,
    /// Whether it is in the list of journals with records to write.
    pub(super) dirty: bool,
    /// The first sequence that is kept.
    pub(super) first: u64,
    /// The last appended sequence.
    pub(super) last: u64,
    /// The last visible sequence.
    pub(super) visible: u64,
    /// The last sequence handed to the writer.
    pub(super) taken: u64,
    /// The last durable sequence.
    pub(super) durable: u64,
    /// The bytes of all kept records.
    pub(super) bytes: u64,
    /// The time of the last record; the next one is never earlier.
    pub(super) time: Time,
    /// The segment with its first frame.
    pub(super) since: u64,
    /// The segments with its durable records, oldest first.
    pub(super) pieces: Vec<JournalPiece>,
    pub(super) recent: Option<Box<RecentRecords>>,
    pub(super) waiters: Option<Arc<Notify>>,
}

/// A lease granted by this process.
#[derive(Debug)]
pub(super) struct HeldLease {
    pub(super) epoch: u64,
    pub(super) owner: Arc<str>,
    pub(super) expires: Monotonic,
    pub(super) first: u64,
}

/// The records of a journal in one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JournalPiece {
    pub(super) segment: u64,
    pub(super) first: u64,
    pub(super) bytes: u64,
}

/// The last records of a journal, in memory.
#[derive(Debug)]
pub(super) struct RecentRecords {
    /// The sequence of the first one.
    first: u64,
    entries: VecDeque<RecordEntry>,
    pub(super) bytes: usize,
}

/// The memory of an entry besides its body.
const ENTRY_BYTES: usize = 96;

impl RecentRecords {
    fn starting_at(first: u64) -> Self {
        Self { first, entries: VecDeque::new(), bytes: 0 }
    }

    pub(super) fn first(&self) -> u64 {
        self.first
    }

    pub(super) fn get(&self, seq: u64) -> Option<&RecordEntry> {
        self.entries.get(usize::try_from(seq.checked_sub(self.first)?).ok()?)
    }

    /// The entries from one sequence to another.
    pub(super) fn between(&self, from: u64, to: u64) -> impl ExactSizeIterator<Item = &RecordEntry> + Clone {
        let place = |seq: u64| usize::try_from(seq.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let end = place(to.saturating_add(1)).min(self.entries.len());
        self.entries.range(place(from).min(end)..end)
    }

    fn push(&mut self, entry: RecordEntry) -> usize {
        let bytes = entry.body.len() + ENTRY_BYTES;
        self.entries.push_back(entry);
        self.bytes += bytes;
        bytes
    }

    fn pop(&mut self) -> Option<usize> {
        let entry = self.entries.pop_front()?;
        self.first += 1;
        let bytes = entry.body.len() + ENTRY_BYTES;
        self.bytes -= bytes;
        Some(bytes)
    }
}

impl EmbeddedJournal {
    pub(super) fn new(name: JournalId, since: u64) -> Self {
        Self {
            name,
            since,
            epochs: Vec::new(),
            held: None,
            released: false,
            closed: None,
            closing: false,
            deleting: false,
            restoring: false,
            dirty: false,
            first: 1,
            last: 0,
            visible: 0,
            taken: 0,
            durable: 0,
            bytes: 0,
            time: Time::default(),
            pieces: Vec::new(),
            recent: None,
            waiters: None,
        }
    }

    /// Whether it is visible: only once its first claim, or its whole restore, is durable.
    pub(super) fn is_known(&self) -> bool {
        !self.epochs.is_empty()
    }

    pub(super) fn tail(&self) -> Tail {
        Tail { last: self.visible, closed: self.closed.is_some() }
    }

    pub(super) fn info(&self) -> JournalInfo {
        JournalInfo {
            first: self.first,
            tail: self.tail(),
            epochs: self.epochs.clone(),
            bytes: self.bytes,
            goes: self.closed.flatten(),
            driven: self.closed.is_none() && !self.closing && !self.released,
        }
    }

    /// Adds an entry at the end. Returns the memory that it uses.
    pub(super) fn push(&mut self, entry: RecordEntry) -> usize {
        self.last += 1;
        self.bytes += entry.body.len() as u64;
        self.time = entry.time;
        let last = self.last;
        self.recent.get_or_insert_with(|| Box::new(RecentRecords::starting_at(last))).push(entry)
    }

    /// Drops durable records from memory until at most `keep` bytes are left. Returns the freed bytes.
    pub(super) fn forget(&mut self, keep: usize) -> usize {
        let Some(recent) = &mut self.recent else { return 0 };
        let mut freed = 0;
        // Until a record is durable, memory is the only place that has it.
        while recent.bytes > keep && recent.first <= self.durable {
            let Some(bytes) = recent.pop() else { break };
            freed += bytes;
        }
        if recent.entries.is_empty() && self.last == self.durable {
            self.recent = None;
        }
        freed
    }

    /// Makes records visible: all durable ones, then deltas up to the limit. Wakes waiting readers.
    pub(super) fn show(&mut self, delta_limit: u64) {
        let mut visible = self.visible.max(self.durable);
        while visible < self.last && visible - self.durable < delta_limit {
            let next = self.recent.as_ref().and_then(|recent| recent.get(visible + 1));
            // A fact becomes visible when it is durable, and later deltas not before it: readers receive
            // records in order, and a crash must not undo a fact that was read.
            if next.is_none_or(|entry| entry.class == Class::Fact) {
                break;
            }
            visible += 1;
        }
        if visible > self.visible {
            self.visible = visible;
            self.wake();
        }
    }

    /// Wakes all readers that wait for a record.
    pub(super) fn wake(&mut self) {
        if let Some(waiters) = &self.waiters {
            waiters.notify_waiters();
            if Arc::strong_count(waiters) == 1 {
                self.waiters = None;
            }
        }
    }

    /// The visible records in memory from a sequence on, within a limit; `None` if the first one is not in
    /// memory.
    pub(super) fn recent_records(
        &self,
        from: u64,
        limit: &mut ReadLimit,
        has_some: bool,
    ) -> Option<Vec<Record>> {
        let recent = self.recent.as_ref().filter(|recent| recent.first() <= from)?;
        let entries = recent.between(from, self.visible);
        let mut records = Vec::with_capacity(entries.len().min(limit.records));
        for (seq, entry) in (from..).zip(entries) {
            if !room_for(limit, !has_some && records.is_empty(), entry.body.len()) {
                break;
            }
            let RecordEntry { epoch, time, class, body } = entry.clone();
            records.push(Record { seq, epoch, time, class, body });
        }
        Some(records)
    }

    /// The piece with a durable sequence, and the one after it.
    pub(super) fn pieces_around(&self, seq: u64) -> (Option<JournalPiece>, Option<JournalPiece>) {
        let after = self.pieces.partition_point(|piece| piece.first <= seq);
        let piece = after.checked_sub(1).and_then(|at| self.pieces.get(at));
        (piece.copied(), self.pieces.get(after).copied())
    }

    /// Moves the records of some segments to a later one.
    pub(super) fn join_pieces(&mut self, gone: &[u64], into: u64) {
        for piece in self.pieces.iter_mut().filter(|piece| gone.contains(&piece.segment)) {
            piece.segment = into;
        }
        self.pieces.dedup_by(|later, piece| {
            let same = later.segment == piece.segment;
            if same {
                piece.bytes += later.bytes;
            }
            same
        });
    }

    /// Registers durable records in a segment.
    pub(super) fn add_piece(&mut self, segment: u64, first: u64, bytes: u64) {
        match self.pieces.last_mut() {
            Some(piece) if piece.segment == segment => piece.bytes += bytes,
            _ => self.pieces.push(JournalPiece { segment, first, bytes }),
        }
    }
}

/// Deducts a record from a limit, if it fits or is the first.
pub(super) fn room_for(limit: &mut ReadLimit, is_first: bool, bytes: usize) -> bool {
    // The first record always fits, or one above the limit could never be read.
    if !is_first && (limit.records == 0 || limit.bytes < bytes) {
        return false;
    }
    limit.records = limit.records.saturating_sub(1);
    limit.bytes = limit.bytes.saturating_sub(bytes);
    true
}
