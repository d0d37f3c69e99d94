//! Everything known about one journal.

use std::collections::BTreeMap;

use bytes::Bytes;
use headwater_store::{Class, EpochStart, JournalId, JournalInfo, Lease, Monotonic, Record, Tail, Time};

use super::{Control, StoreRule, Verdict, broken, hold};

/// Number of deltas that may be visible before they are durable.
const EARLY: u64 = 256;

/// A journal name, and the current journal of that name.
#[derive(Debug, Default)]
pub(super) struct JournalHistory {
    life: Option<JournalLife>,
    pub(super) in_flight: Option<Control>,
    /// The call in flight when the process died; it may or may not be done.
    perhaps: Option<Control>,
    /// Everything ever appended, by epoch and sequence.
    ever: BTreeMap<(u64, u64), AppendedRecord>,
    /// Anything may be lost: the next state found is the truth if it existed once.
    forgotten: bool,
}

/// A journal from its first claim until it is deleted.
#[derive(Debug)]
pub(super) struct JournalLife {
    /// All appended records, including trimmed ones.
    records: Vec<AppendedRecord>,
    pub(super) first: u64,
    pub(super) epochs: Vec<EpochStart>,
    /// The epoch that may write.
    pub(super) holder: Option<u64>,
    pub(super) expires: Monotonic,
    /// Time of this process's last record: later records are not earlier, however the clock is set.
    time: Time,
    /// Whether the newest lease was released.
    pub(super) released: bool,
    pub(super) closed: Option<Option<Time>>,
    /// Number of records that survive any crash.
    durable: u64,
    /// Number of records that survive a power cut even without a later fact: those present at the claim.
    claimed: u64,
    /// Number of records at the last successful commit.
    committed: u64,
    /// Number of records seen by this process.
    seen: u64,
    /// Whether records may be missing because the process has died.
    unsure: bool,
    /// Number of durable records when it died.
    owed: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct AppendedRecord {
    epoch: u64,
    class: Class,
    time: Time,
    body: Bytes,
}

impl JournalHistory {
    pub(super) fn life(&self) -> Option<&JournalLife> {
        self.life.as_ref()
    }

    pub(super) fn life_mut(&mut self) -> Option<&mut JournalLife> {
        self.life.as_mut()
    }

    pub(super) fn crashed(&mut self) {
        if let Some(control) = self.in_flight.take() {
            self.perhaps = Some(control);
        }
        if let Some(life) = &mut self.life {
            life.unsure = true;
            life.holder = None;
            life.time = Time(0);
        }
    }

    /// The store was reopened in place: failed writes are gone, everything else is there.
    pub(super) fn recovered(&mut self) {
        self.in_flight = None;
        if let Some(life) = &mut self.life {
            life.records.truncate(usize::try_from(life.committed).unwrap_or(usize::MAX));
            life.holder = None;
            life.time = Time(0);
            (life.durable, life.seen) = (life.committed, life.committed);
        }
    }

    /// Like [`Self::crashed`], but written deltas without a later fact may be lost.
    pub(super) fn lost_power(&mut self) {
        self.crashed();
        if let Some(life) = &mut self.life {
            life.durable = life.last_fact(life.durable).max(life.claimed);
        }
    }

    pub(super) fn forget(&mut self) {
        *self = Self { ever: std::mem::take(&mut self.ever), forgotten: true, ..Self::default() };
    }

    pub(super) fn committed(&mut self) {
        if let Some(life) = &mut self.life {
            life.committed = life.records.len() as u64;
            life.durable = life.committed;
        }
    }

    pub(super) fn appended(
        &mut self,
        lease: &Lease,
        class: Class,
        bodies: &[Bytes],
        first: u64,
        time: Time,
    ) -> Verdict {
        let id = &lease.journal;
        let Some(life) = &mut self.life else {
            return broken(
                StoreRule::OldEpochsAreRefused,
                format!("{id}: an append to a missing journal succeeds"),
            );
        };
        life.check_holder(lease)?;
        let next = life.records.len() as u64 + 1;
        hold(StoreRule::NothingIsOther, first == next, || {
            format!("{id}: {first} is given where {next} comes next")
        })?;
        let epoch = lease.epoch;
        life.time = life.time.max(time);
        let time = life.time;
        for (seq, body) in (next..).zip(bodies) {
            let entry = AppendedRecord { epoch, class, time, body: body.clone() };
            self.ever.insert((epoch, seq), entry.clone());
            life.records.push(entry);
        }
        Ok(())
    }

    pub(super) fn apply(&mut self, control: &Control) {
        if *control == Control::Delete {
            self.life = None;
        }
        let Some(life) = &mut self.life else { return };
        match control {
            Control::Close(goes) => {
                life.closed = Some(*goes);
                life.holder = None;
            }
            Control::Trim(before) => life.first = life.trimmed_to(*before),
            Control::Release => {
                life.holder = None;
                life.released = true;
            }
            Control::Claim | Control::Delete => {}
        }
    }

    pub(super) fn claimed(&mut self, lease: &Lease, now: Time, at: Monotonic) -> Verdict {
        self.in_flight = None;
        let id = &lease.journal;
        // A sweep has removed an expired journal.
        self.life.take_if(|life| life.is_over(now));
        let life = self.life.get_or_insert_with(JournalLife::new);
        hold(StoreRule::ClosesStay, life.closed.is_none(), || format!("{id}: a closed journal was claimed"))?;
        let held = life.holder.is_some() && at < life.expires;
        hold(StoreRule::OldEpochsAreRefused, !held, || {
            format!("{id}: claimed while {:?} holds it", life.holder)
        })?;
        let next = life.records.len() as u64 + 1;
        hold(StoreRule::NothingIsLost, lease.first == next, || {
            format!("{id}: epoch {} begins at {} where {next} comes next", lease.epoch, lease.first)
        })?;
        life.epochs.push(EpochStart { epoch: lease.epoch, first: lease.first });
        life.holder = Some(lease.epoch);
        life.expires = lease.expires;
        life.released = false;
        (life.durable, life.claimed) = (next - 1, next - 1);
        Ok(())
    }

    /// Returns the highest epoch in the info.
    pub(super) fn informed(
        &mut self,
        id: &JournalId,
        info: Option<&JournalInfo>,
        now: Time,
        damaged: bool,
    ) -> Verdict<u64> {
        if std::mem::take(&mut self.forgotten) {
            self.life = info.map(|info| self.found(id, info)).transpose()?;
        }
        let control = self.perhaps.take();
        let Some(info) = info else {
            if let Some(life) = &self.life {
                let gone = life.is_over(now) || control == Some(Control::Delete) || damaged;
                hold(StoreRule::NothingIsLost, gone, || {
                    format!("{id}: it is missing with {} durable records", life.durable)
                })?;
                self.life = None;
            }
            return Ok(0);
        };
        // A sweep may have removed an expired journal, and a claim in flight may have restarted it.
        let anew = control == Some(Control::Claim) && !info.tail.closed;
        self.life.take_if(|life| anew && life.is_over(now));
        let life = match &mut self.life {
            Some(life) => life,
            none => {
                if damaged && control != Some(Control::Claim) {
                    // The damaged bytes recorded the deletion.
                    return Ok(0);
                }
                let claiming = control == Some(Control::Claim);
                hold(StoreRule::DeletesStay, claiming, || {
                    format!("{id}: it exists although it was deleted")
                })?;
                none.insert(JournalLife::new())
            }
        };
        life.informed(id, info, control.as_ref(), damaged)
    }
}

impl JournalHistory {
    /// A journal found after anything may have been lost: it must have existed once.
    fn found(&self, id: &JournalId, info: &JournalInfo) -> Verdict<JournalLife> {
        let mut life = JournalLife::new();
        let last = info.tail.last;
        for seq in 1..=last {
            let epoch =
                info.epochs.iter().rev().find(|start| start.first <= seq).map_or(0, |start| start.epoch);
            // Trimmed records are not checked again.
            let trimmed = AppendedRecord { epoch, class: Class::Delta, time: Time(0), body: Bytes::new() };
            let entry = self.ever.get(&(epoch, seq)).cloned();
            let Some(entry) = entry.or((seq < info.first).then_some(trimmed)) else {
                let what = format!("{id}: {seq} of epoch {epoch} exists but was never appended");
                return broken(StoreRule::NothingIsOther, what);
            };
            life.records.push(entry);
        }
        life.first = info.first;
        life.epochs.clone_from(&info.epochs);
        life.closed = info.tail.closed.then_some(info.goes);
        (life.durable, life.committed, life.seen) = (last, last, last);
        Ok(life)
    }
}

impl JournalLife {
    const fn new() -> Self {
        Self {
            records: Vec::new(),
            first: 1,
            epochs: Vec::new(),
            holder: None,
            expires: Monotonic(0),
            time: Time(0),
            released: false,
            closed: None,
            durable: 0,
            claimed: 0,
            committed: 0,
            seen: 0,
            unsure: false,
            owed: 0,
        }
    }

    /// Whether it is closed and past its retention.
    fn is_over(&self, now: Time) -> bool {
        self.closed.flatten().is_some_and(|goes| goes <= now)
    }

    /// The last fact up to a record.
    fn last_fact(&self, until: u64) -> u64 {
        let is_fact = |seq: &u64| self.entry(*seq).is_some_and(|entry| entry.class == Class::Fact);
        (1..=until).rev().find(is_fact).unwrap_or(0)
    }

    pub(super) const fn last(&self) -> u64 {
        self.records.len() as u64
    }

    fn trimmed_to(&self, before: u64) -> u64 {
        before.clamp(self.first, self.records.len() as u64 + 1)
    }

    pub(super) fn has(&self, epoch: u64, seq: u64, body: &Bytes) -> bool {
        self.entry(seq).is_some_and(|entry| entry.epoch == epoch && entry.body == *body)
    }

    fn entry(&self, seq: u64) -> Option<&AppendedRecord> {
        self.records.get(usize::try_from(seq.checked_sub(1)?).ok()?)
    }

    pub(super) fn check_holder(&self, lease: &Lease) -> Verdict {
        hold(StoreRule::ClosesStay, self.closed.is_none(), || {
            format!("{}: it was written although it is closed", lease.journal)
        })?;
        hold(StoreRule::OldEpochsAreRefused, self.holder == Some(lease.epoch), || {
            format!("{}: epoch {} writes, {:?} may", lease.journal, lease.epoch, self.holder)
        })
    }

    /// The records up to a sequence were seen or reported as visible.
    pub(super) fn seen_up_to(&mut self, id: &JournalId, last: u64) -> Verdict {
        let all = self.records.len() as u64;
        hold(StoreRule::NothingIsOther, last <= all, || format!("{id}: {last} is seen, {all} is the last"))?;
        if last > self.committed {
            let fact = (self.committed + 1..=last)
                .find(|seq| self.entry(*seq).is_some_and(|entry| entry.class == Class::Fact));
            hold(StoreRule::NothingIsSeenEarly, fact.is_none(), || {
                format!("{id}: the fact {fact:?} is seen, {} is the last that is durable", self.committed)
            })?;
            let early = last - self.committed;
            hold(StoreRule::NothingIsSeenEarly, early <= EARLY, || {
                format!("{id}: {early} deltas are seen early")
            })?;
        }
        self.seen = self.seen.max(last);
        Ok(())
    }

    fn informed(
        &mut self,
        id: &JournalId,
        info: &JournalInfo,
        control: Option<&Control>,
        damaged: bool,
    ) -> Verdict<u64> {
        self.check_tail(id, info.tail, control, damaged)?;
        if info.tail.closed {
            let goes = self.closed.unwrap_or_default();
            hold(StoreRule::ClosesStay, info.goes == goes, || {
                format!("{id}: it expires at {:?}, not {goes:?}", info.goes)
            })?;
        }
        if info.first != self.first {
            let trimmed = match control {
                Some(Control::Trim(before)) => self.trimmed_to(*before) == info.first,
                _ => false,
            };
            hold(StoreRule::TrimsStay, trimmed || damaged, || {
                format!("{id}: {} is the first, {} should be", info.first, self.first)
            })?;
            self.first = info.first;
        }
        self.check_epochs(id, &info.epochs, control, damaged)
    }

    /// Checks the end that a read or an info reports.
    fn check_tail(
        &mut self,
        id: &JournalId,
        tail: Tail,
        control: Option<&Control>,
        damaged: bool,
    ) -> Verdict {
        if self.unsure {
            hold(StoreRule::NothingIsLost, tail.last >= self.durable || damaged, || {
                format!("{id}: {} is the last, {} was durable", tail.last, self.durable)
            })?;
            let all = self.records.len() as u64;
            hold(StoreRule::NothingIsOther, tail.last <= all, || {
                format!("{id}: {} is the last, {all} were appended", tail.last)
            })?;
            self.records.truncate(usize::try_from(tail.last).unwrap_or(usize::MAX));
            self.owed = self.durable;
            self.unsure = false;
            // The found records are visible from now on, so their facts must not be lost any more.
            self.committed = tail.last;
            self.durable = self.last_fact(tail.last).max(self.durable.min(tail.last));
            self.seen = tail.last;
        }
        hold(StoreRule::NothingDisappears, tail.last >= self.seen, || {
            format!("{id}: {} is the last, {} was seen", tail.last, self.seen)
        })?;
        self.seen_up_to(id, tail.last)?;
        if tail.closed != self.closed.is_some() {
            let Some(Control::Close(goes)) = control.filter(|_| tail.closed) else {
                hold(StoreRule::ClosesStay, damaged, || {
                    format!("{id}: closed is wrongly reported as {}", tail.closed)
                })?;
                // The damaged bytes recorded the close.
                self.closed = None;
                return Ok(());
            };
            self.closed = Some(*goes);
            self.holder = None;
        }
        Ok(())
    }

    fn check_epochs(
        &mut self,
        id: &JournalId,
        told: &[EpochStart],
        control: Option<&Control>,
        damaged: bool,
    ) -> Verdict<u64> {
        let grows = told.windows(2).all(|pair| match pair {
            [one, two] => one.epoch < two.epoch && one.first <= two.first,
            _ => true,
        });
        let new = told.strip_prefix(&*self.epochs);
        let expected = new.is_some_and(|new| match new {
            [] => true,
            [start] => control == Some(&Control::Claim) && start.first == self.records.len() as u64 + 1,
            _ => false,
        });
        hold(StoreRule::EpochsGrow, (grows && expected) || damaged, || {
            format!("{id}: the epochs are {told:?}, but {:?} are expected", self.epochs)
        })?;
        self.epochs = told.to_vec();
        Ok(told.iter().map(|start| start.epoch).max().unwrap_or(0))
    }

    /// A journal truncated by damage must not end as if it were complete.
    pub(super) fn check_truncation_is_reported(
        &self,
        id: &JournalId,
        after: u64,
        records: &[Record],
    ) -> Verdict {
        hold(StoreRule::DamageIsFound, !records.is_empty() || after >= self.owed, || {
            format!("{id}: it ends after {after} without an error, but {} records were durable", self.owed)
        })
    }

    pub(super) fn read(&mut self, id: &JournalId, after: u64, records: &[Record], tail: Tail) -> Verdict {
        for (seq, record) in (after + 1..).zip(records) {
            let &Record { epoch, class, time, ref body, .. } = record;
            let got = AppendedRecord { epoch, class, time, body: body.clone() };
            let kept = seq == record.seq && self.entry(seq) == Some(&got);
            hold(StoreRule::NothingIsOther, kept, || {
                format!("{id} at {seq}: read {record:?}, appended was {:?}", self.entry(seq))
            })?;
        }
        let end = after.max(records.last().map_or(0, |record| record.seq));
        hold(StoreRule::NothingIsOther, end <= tail.last.max(after), || {
            format!("{id}: {end} was read, {} is the last", tail.last)
        })?;
        self.check_tail(id, tail, None, false)?;
        hold(
            StoreRule::NothingIsLost,
            after < self.first.saturating_sub(1) || !records.is_empty() || tail.last <= after,
            || format!("{id}: a read after {after} gives nothing, {} is the last", tail.last),
        )
    }
}
