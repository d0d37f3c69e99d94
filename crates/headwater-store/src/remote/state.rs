//! What this process has in memory: the journals that it drives or follows, and what waits to be written. No I/O.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use tokio::sync::{Notify, watch};

use super::{
    Append, JournalHeader, JournalHold, Options, Refusal, Verdict, entry::pack,
    journal_driver::JournalDriver, local_journal::Local,
};
use crate::{
    Class, Error, ErrorKind, JournalId, Lease, Page, ReadLimit, Receipt, Record, Result, Tail, Time,
    batch::{Batch, CommitRoom},
};

/// The most bytes of records in one commit. It bounds how long the engine is busy with it.
const COMMIT_BYTES: u64 = 8 << 20;

/// How many ended leases are remembered, so that an append with one is refused for the right reason.
const ENDED: usize = 4_096;

/// How long waiting readers get the error that deltas they saw were never written. A reader that asks for the same
/// sequence later gets the record of the new driver.
const LOST_FOR: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct RemoteState {
    pub(super) journals: HashMap<JournalId, Local>,
    /// The names of the journals, by number: announcements have numbers.
    pub(super) numbers: HashMap<u64, JournalId>,
    ended: EndedLeases,
    /// Deltas that readers saw here and that were never written, because another process had taken over.
    lost: HashMap<JournalId, LostDeltas>,
    /// Journals with records that no commit has taken.
    dirty: VecDeque<JournalId>,
    pending_bytes: usize,
    /// Something that a caller waits for is among them.
    urgent: bool,
    /// The bytes that have come into memory since it was last kept within its limit.
    grown: usize,
    stopped: Option<Error>,
    pub(super) room: Arc<CommitRoom>,
    pub(super) failure: watch::Sender<Option<Error>>,
}

#[derive(Debug)]
struct LostDeltas {
    after: u64,
    last: u64,
    since: Instant,
}

/// Leases that ended not long ago.
#[derive(Debug, Default)]
struct EndedLeases {
    reasons: HashMap<JournalId, (u64, Refusal)>,
    order: VecDeque<JournalId>,
}

impl EndedLeases {
    fn note(&mut self, journal: &JournalId, epoch: u64, refusal: Refusal) {
        if self.reasons.insert(journal.clone(), (epoch, refusal)).is_none() {
            self.order.push_back(journal.clone());
        }
        while self.order.len() > ENDED {
            if let Some(oldest) = self.order.pop_front() {
                self.reasons.remove(&oldest);
            }
        }
    }

    fn why(&self, lease: &Lease) -> Refusal {
        match self.reasons.get(&lease.journal) {
            Some((epoch, refusal)) if *epoch >= lease.epoch => *refusal,
            _ => Refusal::Stale(None),
        }
    }
}

/// What one commit writes.
#[derive(Debug)]
pub(super) struct CommitBatch {
    pub(super) appends: Vec<Append>,
    /// Of the journal at the same place.
    batches: Vec<Arc<Batch>>,
}

/// What a wait has to do next.
pub(super) enum WaitStep {
    Ready(Tail),
    Until(Arc<Notify>),
    /// Ask the engine.
    ReadTail,
}

impl RemoteState {
    pub(super) fn new() -> Self {
        Self {
            journals: HashMap::new(),
            numbers: HashMap::new(),
            ended: EndedLeases::default(),
            lost: HashMap::new(),
            dirty: VecDeque::new(),
            pending_bytes: 0,
            urgent: false,
            grown: 0,
            stopped: None,
            room: Arc::default(),
            failure: watch::Sender::new(None),
        }
    }

    pub(super) fn running(&self) -> Result<()> {
        match &self.stopped {
            None => Ok(()),
            Some(cause) => {
                let message =
                    format!("the store has stopped and takes no more writes: {cause}; open the store anew");
                Err(Error::new(ErrorKind::Stopped, message))
            }
        }
    }

    /// Orders records at the end of a journal. Gives whether the writer should be woken.
    pub(super) fn append(
        &mut self,
        lease: &Lease,
        class: Class,
        bodies: &[Bytes],
        time: Time,
        options: &Options,
    ) -> Result<(Receipt, bool)> {
        self.running()?;
        let Some(local) = self.journals.get_mut(&lease.journal) else {
            return Err(self.refuse(lease));
        };
        let Some(driven) = local.driven.as_mut().filter(|driven| driven.epoch == lease.epoch) else {
            return Err(self.refuse(lease));
        };
        if driven.ending {
            return Err(Error::closed(&lease.journal));
        }
        let bytes: usize = bodies.iter().map(Bytes::len).sum();
        if driven.total - driven.trimmed + bytes as u64 > options.max_journal_bytes {
            return Err(Error::full(&lease.journal, class, options.max_journal_bytes));
        }
        let most = match class {
            Class::Delta => options.max_pending_bytes,
            Class::Fact => options.max_pending_bytes.saturating_mul(2),
        };
        if bytes > 0 && self.pending_bytes > 0 && self.pending_bytes + bytes > most {
            self.room.close();
            let message = format!(
                "{} bytes wait to be written and {most} may: the engine is slow or cannot be reached; wait for room",
                self.pending_bytes
            );
            return Err(Error::new(ErrorKind::Busy, message));
        }
        let first = driven.last + 1;
        for body in bodies {
            driven.last += 1;
            let (seq, epoch, body) = (driven.last, lease.epoch, body.clone());
            if class == Class::Fact {
                driven.facts.push_back(seq);
            }
            local.recent.push(Record { seq, epoch, time, class, body });
        }
        driven.total += bytes as u64;
        let last = driven.last;
        if bodies.is_empty() {
            return Ok((Receipt::settled(first, last), false));
        }
        let was_clean = first == driven.taken + 1;
        let gather = driven.gather.clone();
        if was_clean {
            self.dirty.push_back(lease.journal.clone());
        }
        local.show(options.delta_limit);
        let seen = local.tail.last >= last;
        self.pending_bytes += bytes;
        self.grown += bytes;
        if self.pending_bytes > options.max_pending_bytes / 2 {
            self.room.close();
        }
        let urgent = !seen && !self.urgent;
        self.urgent |= !seen;
        let receipt = if seen {
            Receipt::settled(first, last)
        } else {
            Receipt::later(first, last, Box::pin(gather.wait()))
        };
        Ok((receipt, urgent || was_clean))
    }

    /// Why a lease writes nothing.
    pub(super) fn refuse(&self, lease: &Lease) -> Error {
        let driver = self.journals.get(&lease.journal).and_then(|local| local.driven.as_ref());
        let refusal = match driver {
            Some(driver) if driver.epoch != lease.epoch => Refusal::Stale(Some(driver.epoch)),
            _ => self.ended.why(lease),
        };
        refusal_error(&lease.journal, lease.epoch, refusal)
    }

    /// Whether something waits to be written, and whether a caller waits for it.
    pub(super) fn work(&self) -> (bool, bool) {
        (!self.dirty.is_empty() && self.stopped.is_none(), self.urgent)
    }

    /// Takes what waits to be written, as much as one commit may have.
    pub(super) fn take(&mut self) -> Option<CommitBatch> {
        let (mut appends, mut batches) = (Vec::new(), Vec::new());
        let mut left = COMMIT_BYTES;
        for _ in 0..self.dirty.len() {
            let Some(journal) = self.dirty.pop_front() else { break };
            let Some(local) = self.journals.get_mut(&journal) else { continue };
            let (number, Some(driven)) = (local.number, local.driven.as_mut()) else { continue };
            let Some(records) = local.recent.from(driven.taken + 1) else { continue };
            let start = driven.taken_total;
            let records: Vec<&Record> = records
                .take_while(|record| {
                    let taken = left > 0;
                    left = left.saturating_sub(record.body.len() as u64 + 16);
                    if taken {
                        driven.taken_total += record.body.len() as u64;
                    }
                    taken
                })
                .collect();
            let (Some(first), Some(last)) = (records.first(), records.last()) else {
                self.dirty.push_front(journal);
                break;
            };
            let (first, last, epoch) = (first.seq, last.seq, driven.epoch);
            let total = driven.taken_total;
            let entries = pack(records, start);
            driven.taken = last;
            let batch = if last == driven.last { std::mem::take(&mut driven.gather) } else { Arc::default() };
            driven.flying = Some(batch.clone());
            self.pending_bytes =
                self.pending_bytes.saturating_sub(usize::try_from(total - start).unwrap_or(usize::MAX));
            if last < driven.last {
                // The rest goes first into the next commit.
                self.dirty.push_front(journal.clone());
            }
            appends.push(Append { journal, number, epoch, first, last, total, entries });
            batches.push(batch);
            if left == 0 {
                break;
            }
        }
        if self.dirty.is_empty() {
            self.urgent = false;
            self.pending_bytes = 0;
        }
        self.room.open();
        (!appends.is_empty()).then_some(CommitBatch { appends, batches })
    }

    /// Takes note of what became of a commit.
    pub(super) fn settle(&mut self, taken: CommitBatch, verdicts: &[Verdict], options: &Options) {
        let mut verdicts = verdicts.iter();
        for (append, batch) in taken.appends.into_iter().zip(taken.batches) {
            let verdict = verdicts.next().unwrap_or(&Verdict::Refused(Refusal::Unknown));
            match verdict {
                Verdict::Written => {
                    self.written(&append, options);
                    batch.settle(Ok(()));
                }
                Verdict::Refused(refusal) => {
                    let error = refusal_error(&append.journal, append.epoch, *refusal);
                    self.fence(&append.journal, append.epoch, *refusal);
                    batch.settle(Err(error));
                }
            }
        }
        self.shrink(options);
    }

    fn written(&mut self, append: &Append, options: &Options) {
        let Some(local) = self.journals.get_mut(&append.journal) else { return };
        let Some(driven) = local.driven.as_mut().filter(|driven| driven.epoch == append.epoch) else {
            return;
        };
        driven.settle(append.last);
        if driven.taken == append.last {
            driven.flying = None;
        }
        let durable = driven.durable;
        local.show(options.delta_limit);
        local.recent.shrink(options.tail_bytes, durable);
    }

    /// Ends a lease that the engine no longer accepts.
    pub(super) fn fence(&mut self, journal: &JournalId, epoch: u64, refusal: Refusal) {
        let Some(local) = self.journals.get_mut(journal) else { return };
        let Some(driven) = local.driven.take_if(|driven| driven.epoch == epoch) else { return };
        let error = refusal_error(journal, epoch, refusal);
        for batch in driven.flying.iter().chain([&driven.gather]) {
            batch.settle(Err(error.clone()));
        }
        self.ended.note(journal, epoch, refusal);
        let kept = driven.durable;
        if local.tail.last > kept {
            let lost = LostDeltas { after: kept, last: local.tail.last, since: Instant::now() };
            self.lost.insert(journal.clone(), lost);
            self.lost.retain(|_, lost| lost.since.elapsed() < LOST_FOR);
        }
        local.tail.last = kept;
        local.recent.forget_after(kept);
        local.confirmed = false;
        local.wake();
    }

    /// Refuses a reader that saw deltas which were never written: what follows them now is another driver's.
    pub(super) fn check_lost(&self, journal: &JournalId, after: u64) -> Result<()> {
        match self.lost.get(journal) {
            Some(lost) if after > lost.after && after <= lost.last && lost.since.elapsed() < LOST_FOR => {
                let message = format!(
                    "journal {journal}: another process took over after record {} and what followed was not kept; \
                     reconnect with the last cursor",
                    lost.after
                );
                Err(Error::new(ErrorKind::Unavailable, message))
            }
            _ => Ok(()),
        }
    }

    /// Begins to drive a journal whose lease was given.
    pub(super) fn drive(&mut self, journal: &JournalId, header: &JournalHeader) {
        let older =
            self.journals.get(journal).and_then(|local| local.driven.as_ref()).map(|driven| driven.epoch);
        if let Some(epoch) = older {
            if epoch > header.epoch {
                return;
            }
            self.fence(journal, epoch, Refusal::Stale(Some(header.epoch)));
        }
        let local = self.observe(journal, header);
        local.driven = Some(JournalDriver::new(header));
        local.tail = header.tail();
        local.recent.forget_after(header.last);
        local.confirmed = true;
    }

    /// Takes note of what the engine says about a journal.
    pub(super) fn observe(&mut self, journal: &JournalId, header: &JournalHeader) -> &mut Local {
        let number = header.number;
        let known = self.journals.get(journal).is_some_and(|local| local.number == number);
        if !known {
            self.forget(journal);
            self.numbers.insert(number, journal.clone());
            return self.journals.entry(journal.clone()).or_insert_with(|| Local::new(header));
        }
        let local = self.journals.entry(journal.clone()).or_insert_with(|| Local::new(header));
        local.idle = 0;
        local.first = local.first.max(header.first);
        if local.driven.is_none() {
            local.confirmed = true;
            local.asked = Instant::now();
            local.see(header.tail());
        }
        local
    }

    /// Forgets a journal that is gone, or that another has replaced.
    pub(super) fn forget(&mut self, journal: &JournalId) {
        let driver = self.journals.get(journal).and_then(|local| local.driven.as_ref());
        if let Some(epoch) = driver.map(|driven| driven.epoch) {
            self.fence(journal, epoch, Refusal::Unknown);
        }
        if let Some(local) = self.journals.remove(journal) {
            self.numbers.remove(&local.number);
            local.wake();
        }
    }

    /// Has those who wait for records of journals that other processes drive ask the engine.
    pub(super) fn doubt(&mut self, journals: &[JournalId]) {
        for journal in journals {
            if let Some(local) = self.journals.get_mut(journal).filter(|local| local.driven.is_none()) {
                local.confirmed = false;
                local.wake();
            }
        }
    }

    pub(super) fn forget_numbers(&mut self, numbers: &[u64]) {
        for number in numbers {
            if let Some(journal) = self.numbers.get(number).cloned() {
                self.forget(&journal);
            }
        }
    }

    /// Ends a lease by its own will.
    pub(super) fn end(&mut self, lease: &Lease, refusal: Refusal) {
        self.fence(&lease.journal, lease.epoch, refusal);
        if let Some(local) = self.journals.get_mut(&lease.journal).filter(|_| refusal == Refusal::Closed) {
            local.tail.closed = true;
            local.confirmed = true;
            local.wake();
        }
    }

    pub(super) fn driven(&mut self, lease: &Lease) -> Option<&mut JournalDriver> {
        let driven = self.journals.get_mut(&lease.journal)?.driven.as_mut()?;
        (driven.epoch == lease.epoch).then_some(driven)
    }

    /// What to wait for until all that was appended to a journal is durable.
    pub(super) fn pending_of(&mut self, journal: &JournalId) -> Option<Arc<Batch>> {
        let batch = self.journals.get(journal)?.driven.as_ref()?.pending()?;
        self.urgent = true;
        Some(batch)
    }

    /// The same for all journals.
    pub(super) fn pending(&mut self) -> Vec<Arc<Batch>> {
        self.urgent = true;
        self.journals.values().filter_map(|local| local.driven.as_ref()?.pending()).collect()
    }

    /// Adds records that another process wrote, for all readers that follow the journal here.
    pub(super) fn extend(
        &mut self,
        journal: &JournalId,
        header: &JournalHeader,
        records: Vec<Record>,
        options: &Options,
    ) {
        let local = self.observe(journal, header);
        if local.driven.is_some() {
            return;
        }
        let mut grown = 0;
        for record in records {
            grown += record.body.len();
            local.recent.push(record);
        }
        local.recent.shrink(options.tail_bytes, u64::MAX);
        self.grown += grown;
        self.shrink(options);
    }

    pub(super) fn page(&mut self, journal: &JournalId, after: u64, limit: ReadLimit) -> Option<Page> {
        self.journals.get_mut(journal)?.page(after, limit)
    }

    pub(super) fn wait_step(&mut self, journal: &JournalId, after: u64) -> Result<WaitStep> {
        self.check_lost(journal, after)?;
        let Some(local) = self.journals.get_mut(journal) else { return Ok(WaitStep::ReadTail) };
        local.idle = 0;
        if local.tail.last > after || local.tail.closed {
            return Ok(WaitStep::Ready(local.tail));
        }
        Ok(if local.confirmed { WaitStep::Until(local.waiting.clone()) } else { WaitStep::ReadTail })
    }

    /// Takes no more writes, and fails all that waits.
    pub(super) fn stop(&mut self, cause: Error) {
        let cause = self.stopped.get_or_insert(cause).clone();
        let driven: Vec<(JournalId, u64)> = self
            .journals
            .iter()
            .filter_map(|(journal, local)| Some((journal.clone(), local.driven.as_ref()?.epoch)))
            .collect();
        for (journal, epoch) in driven {
            if let Some(driven) = self.journals.get(&journal).and_then(|local| local.driven.as_ref()) {
                for batch in driven.flying.iter().chain([&driven.gather]) {
                    batch.settle(Err(cause.clone()));
                }
            }
            self.fence(&journal, epoch, Refusal::Stale(None));
        }
        self.dirty.clear();
        self.pending_bytes = 0;
        // There is no room, but the next append reports that better than waiting forever.
        self.room.open();
        self.failure.send_replace(Some(cause));
    }

    /// Takes writes again.
    pub(super) fn resume(&mut self) {
        self.stopped = None;
        self.failure.send_replace(None);
    }

    /// Keeps the memory of all journals' ends within its limit.
    pub(super) fn shrink(&mut self, options: &Options) {
        if self.grown < options.cache_bytes / 8 {
            return;
        }
        self.grown = 0;
        let mut bytes: usize = self.journals.values().map(|local| local.recent.bytes).sum();
        if bytes <= options.cache_bytes {
            return;
        }
        for local in self.journals.values_mut() {
            let durable = local.driven.as_ref().map_or(u64::MAX, |driven| driven.durable);
            bytes -= local.recent.bytes;
            local.recent.shrink(0, durable);
            bytes += local.recent.bytes;
            if bytes <= options.cache_bytes / 2 {
                break;
            }
        }
    }
}

impl Local {
    /// Takes note of how far a journal that another process drives has come.
    pub(super) fn see(&mut self, tail: Tail) {
        if tail.last > self.tail.last || tail.closed != self.tail.closed {
            self.tail = Tail { last: tail.last.max(self.tail.last), closed: tail.closed };
            self.wake();
        }
    }
}

/// Why an epoch may not write, as an error.
pub(super) fn refusal_error(journal: &JournalId, epoch: u64, refusal: Refusal) -> Error {
    match refusal {
        Refusal::Unknown => Error::unknown(journal),
        Refusal::Closed => Error::closed(journal),
        Refusal::Stale(current) => Error::stale(journal, epoch, current),
        Refusal::Lost { last } => {
            let message = format!(
                "journal {journal}: the engine has lost records that it had acknowledged, it ends at {last}; \
                 the run continues from there when its lease is claimed anew"
            );
            Error::new(ErrorKind::Stale { current: Some(epoch) }, message)
        }
    }
}

/// Why an epoch may not change a journal with this header.
pub(super) fn refusal_of(header: Option<&JournalHeader>) -> Refusal {
    match header {
        None => Refusal::Unknown,
        Some(JournalHeader { hold: JournalHold::Free, .. }) => Refusal::Stale(None),
        Some(JournalHeader { hold: JournalHold::Closed { .. }, .. }) => Refusal::Closed,
        Some(JournalHeader { hold: JournalHold::Leased { .. }, epoch, .. }) => {
            Refusal::Stale(Some(*epoch).filter(|epoch| *epoch > 0))
        }
    }
}
