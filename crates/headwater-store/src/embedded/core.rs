//! The store without threads, clocks or waiting: calls add to a gathering commit, [`Core::take`] returns it
//! for writing, and [`Core::settle`] reports the outcome to all waiting callers.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

use bytes::Bytes;
use tokio::sync::watch;

use super::{
    Damage, Options,
    files::StoreFile,
    format::{COMMIT_HEADER, Counters},
    frame::{LogFrame, RecordEntry, encode_records},
    index::{FrameAt, SegmentIndex},
    journal::EmbeddedJournal,
    number_map::NumberMap,
    segment::SealedSegment,
    values::{EmbeddedValues, StoredValue},
};
use crate::{
    Error, ErrorKind, JournalId, Result, Time,
    batch::{Batch, CommitRoom},
};

mod reads;
mod reclaim;
mod restore;
mod writes;

pub(super) use reads::{ReadStep, ValueLocation, Waiting};
pub(super) use restore::Restore;
pub(super) use writes::{ClaimStep, Trim};

/// The state of a store.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) journals: NumberMap<Box<EmbeddedJournal>>,
    pub(super) names: HashMap<JournalId, u64>,
    /// The journals of the leases of this process, by epoch: appends find theirs without its name.
    leases: NumberMap<u64>,
    /// Journals that are neither closed nor released.
    pub(super) driven: BTreeSet<u64>,
    /// Closed journals by expiry time.
    pub(super) going: BTreeSet<(Time, u64)>,
    pub(super) values: EmbeddedValues,
    pub(super) counters: Counters,
    pub(super) sealed: BTreeMap<u64, Arc<SealedSegment>>,
    pub(super) active: ActiveSegment,
    /// Sealed segments with new dead data since they were last checked.
    pub(super) stale_segments: BTreeSet<u64>,
    pub(super) damages: Vec<Damage>,
    /// Whether callers should wait before they append more.
    pub(super) room: Arc<CommitRoom>,
    gather: Gather,
    stopped: Option<Error>,
    /// The same, for tasks that wait for it.
    pub(super) failure: Arc<watch::Sender<Option<Error>>>,
    limits: Limits,
    /// The memory used by recent records of all journals.
    recent_bytes: usize,
    /// Journals with recent records, the oldest first.
    recent: VecDeque<u64>,
    /// The length of the queue at which journals without recent records are dropped from it.
    recent_room: usize,
}

/// The segment that is being written.
#[derive(Debug)]
pub(super) struct ActiveSegment {
    pub(super) number: u64,
    pub(super) file: Arc<dyn StoreFile>,
    pub(super) index: SegmentIndex,
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    record: usize,
    value: usize,
    journal: u64,
    pending: usize,
    deltas: u64,
    recent_each: usize,
    recent_all: usize,
}

/// The contents of the next commit.
#[derive(Debug, Default)]
struct Gather {
    batch: Arc<Batch>,
    ops: Vec<Op>,
    /// Journals with records that no commit has taken.
    dirty: Vec<u64>,
    bytes: usize,
    /// Whether a caller waits for it.
    urgent: bool,
    /// Whether it must be fsynced regardless of the policy.
    sync: bool,
}

/// A change other than appended records.
#[derive(Debug)]
pub(super) enum Op {
    Claimed { journal: u64, name: JournalId, epoch: u64, first: u64 },
    Released { journal: u64, epoch: u64, last: u64 },
    Closed { journal: u64, goes: Option<Time>, last: u64 },
    Trimmed { journal: u64, before: u64 },
    Deleted { journal: u64 },
    Put { key: Arc<str>, version: u64, expires: Option<Time>, bytes: Bytes },
    Removed { key: Arc<str>, version: u64 },
    Restoring { journal: u64, name: JournalId },
}

impl Op {
    fn frame(&self) -> LogFrame<'_> {
        match self {
            Self::Claimed { journal, name, epoch, first } => {
                LogFrame::Claimed { journal: *journal, name: name.as_str(), epoch: *epoch, first: *first }
            }
            Self::Released { journal, epoch, last } => {
                LogFrame::Released { journal: *journal, epoch: *epoch, last: *last }
            }
            Self::Closed { journal, goes, last } => {
                LogFrame::Closed { journal: *journal, goes: *goes, last: *last }
            }
            Self::Trimmed { journal, before } => LogFrame::Trimmed { journal: *journal, before: *before },
            Self::Deleted { journal } => LogFrame::Deleted { journal: *journal },
            Self::Put { key, version, expires, bytes } => {
                LogFrame::Put { key, version: *version, expires: *expires, bytes }
            }
            Self::Removed { key, version } => LogFrame::Removed { key, version: *version },
            Self::Restoring { journal, name } => {
                LogFrame::Restoring { journal: *journal, name: name.as_str() }
            }
        }
    }
}

/// A commit to be written.
#[derive(Debug)]
pub(super) struct PendingCommit {
    /// Space for the commit's header, then the frames.
    pub(super) bytes: Vec<u8>,
    pub(super) frames: u32,
    /// Whether a caller waits for it: otherwise it only has deltas.
    pub(super) urgent: bool,
    pub(super) sync: bool,
    batch: Arc<Batch>,
    ops: Vec<(Op, usize, usize)>,
    spans: Vec<Span>,
}

/// Records of one journal within a commit.
#[derive(Debug)]
struct Span {
    journal: u64,
    first: u64,
    count: u64,
    bytes: u64,
    offset: usize,
}

impl Core {
    pub(super) fn new(options: &Options, active: ActiveSegment) -> Self {
        Self {
            journals: NumberMap::default(),
            names: HashMap::new(),
            leases: NumberMap::default(),
            driven: BTreeSet::new(),
            going: BTreeSet::new(),
            values: EmbeddedValues::with_cache(options.cache_bytes / 2),
            counters: Counters::default(),
            sealed: BTreeMap::new(),
            active,
            stale_segments: BTreeSet::new(),
            damages: Vec::new(),
            room: Arc::default(),
            gather: Gather::default(),
            stopped: None,
            failure: Arc::new(watch::Sender::new(None)),
            limits: Limits {
                record: options.max_record_bytes,
                value: options.max_value_bytes,
                journal: options.max_journal_bytes,
                pending: options.max_pending_bytes.min(1 << 29),
                deltas: options.delta_limit,
                recent_each: options.tail_bytes,
                recent_all: options.cache_bytes,
            },
            recent_bytes: 0,
            recent: VecDeque::new(),
            recent_room: 64,
        }
    }

    /// Whether there is something to write, and whether a caller waits for it.
    pub(super) fn pending(&self) -> (bool, bool) {
        let gather = &self.gather;
        let some = gather.sync || !gather.ops.is_empty() || !gather.dirty.is_empty();
        (some && self.stopped.is_none(), gather.urgent)
    }

    /// Takes the gathered changes as the bytes of one commit. Later calls gather for the next.
    pub(super) fn take(&mut self, mut bytes: Vec<u8>) -> Option<PendingCommit> {
        if !self.pending().0 {
            return None;
        }
        let gather = std::mem::take(&mut self.gather);
        self.room.open();
        bytes.clear();
        bytes.resize(COMMIT_HEADER, 0);
        let mut spans = Vec::with_capacity(gather.dirty.len());
        for number in gather.dirty {
            if let Some(journal) = self.journals.get_mut(&number) {
                take_records(number, journal, &mut bytes, &mut spans);
            }
        }
        let mut ops = Vec::with_capacity(gather.ops.len());
        for op in gather.ops {
            let offset = bytes.len();
            op.frame().encode(&mut bytes);
            ops.push((op, offset, bytes.len() - offset));
        }
        let frames = u32::try_from(spans.len() + ops.len()).unwrap_or(u32::MAX);
        let Gather { urgent, sync, batch, .. } = gather;
        Some(PendingCommit { bytes, frames, urgent, sync, batch, ops, spans })
    }

    /// Reports the outcome of a commit: its offset in the active segment, or an error. Returns its buffer.
    pub(super) fn settle(&mut self, taken: PendingCommit, outcome: Result<u64>) -> Vec<u8> {
        let PendingCommit { bytes, batch, ops, spans, .. } = taken;
        match outcome {
            Ok(at) => {
                for span in spans {
                    self.settle_records(&span, at);
                }
                for (op, offset, length) in ops {
                    let offset = u32::try_from(at + offset as u64).unwrap_or(u32::MAX);
                    self.settle_op(op, offset, u32::try_from(length).unwrap_or(u32::MAX));
                }
                self.forget_recent();
                batch.settle(Ok(()));
            }
            Err(cause) => {
                batch.settle(Err(cause.clone()));
                self.stop(cause);
            }
        }
        bytes
    }

    /// Refuses all further writes and reports the cause to all waiting callers.
    pub(super) fn stop(&mut self, cause: Error) {
        let gather = std::mem::take(&mut self.gather);
        gather.batch.settle(Err(cause.clone()));
        // There is no room, but the next append reports the failure better than waiting forever.
        self.room.open();
        let cause = self.stopped.get_or_insert(cause).clone();
        self.failure.send_replace(Some(cause));
        for journal in self.journals.values_mut() {
            journal.wake();
        }
    }

    /// Fails if the store has stopped.
    pub(super) fn running(&self) -> Result<()> {
        match &self.stopped {
            None => Ok(()),
            Some(cause) => {
                let message = format!(
                    "the store has stopped and takes no more writes: {cause}; fix the cause and reopen the store"
                );
                Err(Error::new(ErrorKind::Stopped, message))
            }
        }
    }

    /// Replaces a stopped core and keeps the tasks that wait on it.
    pub(super) fn replace(mut self, stopped: &mut Self) {
        self.room = stopped.room.clone();
        self.failure = stopped.failure.clone();
        self.values.keep_watches(&mut stopped.values);
        *stopped = self;
        stopped.failure.send_replace(None);
    }

    /// A batch that settles when everything so far is durable.
    pub(super) fn flush(&mut self) -> Result<Arc<Batch>> {
        self.running()?;
        self.gather.sync = true;
        self.gather.urgent = true;
        Ok(self.gather.batch.clone())
    }

    fn gather_op(&mut self, op: Op) -> Arc<Batch> {
        self.gather.bytes += match &op {
            Op::Put { bytes, .. } => bytes.len(),
            _ => 0,
        };
        if self.gather.bytes > self.limits.pending / 2 {
            self.room.close();
        }
        self.gather.ops.push(op);
        self.gather.urgent = true;
        self.gather.batch.clone()
    }

    fn settle_records(&mut self, span: &Span, at: u64) {
        let Some(journal) = self.journals.get_mut(&span.journal) else { return };
        let offset = u32::try_from(at + span.offset as u64).unwrap_or(u32::MAX);
        let part = self.active.index.journal(span.journal);
        part.name.get_or_insert_with(|| journal.name.clone());
        part.list.push(FrameAt { offset, first: span.first, count: span.count, bytes: span.bytes });
        journal.add_piece(self.active.number, span.first, span.bytes);
        journal.durable = span.first + span.count - 1;
        journal.show(self.limits.deltas);
        let keep = if journal.held.is_some() { self.limits.recent_each } else { 0 };
        self.recent_bytes -= journal.forget(keep);
    }

    fn settle_op(&mut self, op: Op, offset: u32, length: u32) {
        self.active.index.add(&op.frame(), offset, length);
        let segment = self.active.number;
        match op {
            Op::Put { key, version, expires, bytes } => {
                let stored = StoredValue { version, expires, segment, offset, length };
                let before = self.values.put(&key, stored, Some(&bytes));
                self.stale_segments.extend(before.map(|stored| stored.segment));
            }
            Op::Removed { key, version } => {
                let before = self.values.remove(&key, version);
                self.stale_segments.extend(before.map(|stored| stored.segment));
            }
            Op::Deleted { journal } => self.forget_journal(journal),
            Op::Claimed { journal, .. }
            | Op::Released { journal, .. }
            | Op::Closed { journal, .. }
            | Op::Trimmed { journal, .. }
            | Op::Restoring { journal, .. } => self.settle_journal_op(journal, &op),
        }
    }

    /// Keeps the memory of recent records within its limit; the oldest go first.
    fn forget_recent(&mut self) {
        for _ in 0..self.recent.len() {
            if self.recent_bytes <= self.limits.recent_all {
                break;
            }
            let Some(number) = self.recent.pop_front() else { break };
            let Some(journal) = self.journals.get_mut(&number) else { continue };
            self.recent_bytes -= journal.forget(0);
            if journal.recent.is_some() {
                self.recent.push_back(number);
            }
        }
    }
}

/// Encodes the records of a journal that no commit has taken: one frame per epoch, which is nearly always one
/// frame. Within a frame times never decrease; in a journal restored from another store, which has no epochs
/// here yet, they may.
fn take_records(number: u64, journal: &mut EmbeddedJournal, bytes: &mut Vec<u8>, spans: &mut Vec<Span>) {
    journal.dirty = false;
    let Some(recent) = &journal.recent else { return };
    while journal.taken < journal.last {
        let first = journal.taken + 1;
        let Some(epoch) = recent.get(first).map(|entry| entry.epoch) else { return };
        let mut last = journal.last;
        let of_another_store = journal.epochs.is_empty();
        if of_another_store || recent.get(last).is_some_and(|entry| entry.epoch != epoch) {
            let mut time = Time::default();
            let fits = |entry: &&RecordEntry| {
                let later = entry.time >= std::mem::replace(&mut time, entry.time);
                later && entry.epoch == epoch
            };
            last = first + recent.between(first, last).take_while(fits).count() as u64 - 1;
        }
        let offset = bytes.len();
        let body_bytes = encode_records(bytes, number, first, recent.between(first, last));
        spans.push(Span { journal: number, first, count: last - first + 1, bytes: body_bytes, offset });
        journal.taken = last;
    }
}
