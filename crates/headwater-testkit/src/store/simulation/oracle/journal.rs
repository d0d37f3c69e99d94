//! What is known about one journal.

use std::collections::BTreeMap;

use bytes::Bytes;
use headwater_store::{Class, EpochStart, JournalId, JournalInfo, Lease, Monotonic, Record, Tail, Time};

use super::{Control, Rule, Verdict, broken, hold};

/// How many deltas may be seen before they are durable.
const EARLY: u64 = 256;

/// A name, and the journal of that name if there is one.
#[derive(Debug, Default)]
pub(super) struct Journal {
    life: Option<Life>,
    pub(super) in_flight: Option<Control>,
    /// What was in flight when the process died: done or not.
    perhaps: Option<Control>,
    /// Everything that was ever appended, by epoch and sequence.
    ever: BTreeMap<(u64, u64), Entry>,
    /// Any of it may be lost: what is found next is the truth, if it was ever so.
    forgotten: bool,
}

/// A journal from its first claim until it is deleted.
#[derive(Debug)]
pub(super) struct Life {
    /// All that was appended, the trimmed ones too.
    records: Vec<Entry>,
    pub(super) first: u64,
    pub(super) epochs: Vec<EpochStart>,
    /// The epoch that may write.
    pub(super) holder: Option<u64>,
    pub(super) expires: Monotonic,
    /// The time of the last record of this process: the next one's is not before it, however the clock is set.
    time: Time,
    /// The newest lease was given back.
    pub(super) released: bool,
    pub(super) closed: Option<Option<Time>>,
    /// So many records are left, whatever happens.
    durable: u64,
    /// So many of these are left if the power is cut, though no fact follows them: there were so many when it was claimed.
    claimed: u64,
    /// So many were appended when the last commit succeeded.
    committed: u64,
    /// So many were seen by this process.
    seen: u64,
    /// Not all of the records may be there: the process has died.
    unsure: bool,
    /// So many were durable when it died.
    owed: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    epoch: u64,
    class: Class,
    time: Time,
    body: Bytes,
}

impl Journal {
    pub(super) fn life(&self) -> Option<&Life> {
        self.life.as_ref()
    }

    pub(super) fn life_mut(&mut self) -> Option<&mut Life> {
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

    /// The store was opened anew in place: what had failed is not there, and all else is.
    pub(super) fn recovered(&mut self) {
        self.in_flight = None;
        if let Some(life) = &mut self.life {
            life.records.truncate(usize::try_from(life.committed).unwrap_or(usize::MAX));
            life.holder = None;
            life.time = Time(0);
            (life.durable, life.seen) = (life.committed, life.committed);
        }
    }

    /// As [`Self::crashed`], but deltas that no fact has followed may be gone though they were written.
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
                Rule::OldEpochsAreRefused,
                format!("{id}: an append to what is not there succeeds"),
            );
        };
        life.check_holder(lease)?;
        let next = life.records.len() as u64 + 1;
        hold(Rule::NothingIsOther, first == next, || {
            format!("{id}: {first} is given where {next} comes next")
        })?;
        let epoch = lease.epoch;
        life.time = life.time.max(time);
        let time = life.time;
        for (seq, body) in (next..).zip(bodies) {
            let entry = Entry { epoch, class, time, body: body.clone() };
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
        // A sweep has let go of what was over.
        self.life.take_if(|life| life.is_over(now));
        let life = self.life.get_or_insert_with(Life::new);
        hold(Rule::ClosesStay, life.closed.is_none(), || format!("{id}: a closed journal was claimed"))?;
        let held = life.holder.is_some() && at < life.expires;
        hold(Rule::OldEpochsAreRefused, !held, || format!("{id}: claimed while {:?} holds it", life.holder))?;
        let next = life.records.len() as u64 + 1;
        hold(Rule::NothingIsLost, lease.first == next, || {
            format!("{id}: epoch {} begins at {} where {next} comes next", lease.epoch, lease.first)
        })?;
        life.epochs.push(EpochStart { epoch: lease.epoch, first: lease.first });
        life.holder = Some(lease.epoch);
        life.expires = lease.expires;
        life.released = false;
        (life.durable, life.claimed) = (next - 1, next - 1);
        Ok(())
    }

    /// Gives the highest epoch that it tells of.
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
                hold(Rule::NothingIsLost, gone, || {
                    format!("{id}: it is gone with {} records", life.durable)
                })?;
                self.life = None;
            }
            return Ok(0);
        };
        // A sweep may have let go of what was over, and a claim that was in flight may have begun it anew.
        let anew = control == Some(Control::Claim) && !info.tail.closed;
        self.life.take_if(|life| anew && life.is_over(now));
        let life = match &mut self.life {
            Some(life) => life,
            none => {
                if damaged && control != Some(Control::Claim) {
                    // What was damaged is what said that it was deleted.
                    return Ok(0);
                }
                let claiming = control == Some(Control::Claim);
                hold(Rule::DeletesStay, claiming, || format!("{id}: it is there, and was deleted"))?;
                none.insert(Life::new())
            }
        };
        life.informed(id, info, control.as_ref(), damaged)
    }
}

impl Journal {
    /// A journal as it was found where anything may have been lost: it must have been so once.
    fn found(&self, id: &JournalId, info: &JournalInfo) -> Verdict<Life> {
        let mut life = Life::new();
        let last = info.tail.last;
        for seq in 1..=last {
            let epoch =
                info.epochs.iter().rev().find(|start| start.first <= seq).map_or(0, |start| start.epoch);
            // What was trimmed away is not looked at again.
            let trimmed = Entry { epoch, class: Class::Delta, time: Time(0), body: Bytes::new() };
            let entry = self.ever.get(&(epoch, seq)).cloned();
            let Some(entry) = entry.or((seq < info.first).then_some(trimmed)) else {
                let what = format!("{id}: {seq} of epoch {epoch} is there, and was never appended");
                return broken(Rule::NothingIsOther, what);
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

impl Life {
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

    /// Whether it is closed and no longer kept.
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

    fn entry(&self, seq: u64) -> Option<&Entry> {
        self.records.get(usize::try_from(seq.checked_sub(1)?).ok()?)
    }

    pub(super) fn check_holder(&self, lease: &Lease) -> Verdict {
        hold(Rule::ClosesStay, self.closed.is_none(), || {
            format!("{}: it is closed, and written", lease.journal)
        })?;
        hold(Rule::OldEpochsAreRefused, self.holder == Some(lease.epoch), || {
            format!("{}: epoch {} writes, {:?} may", lease.journal, lease.epoch, self.holder)
        })
    }

    /// The records up to a sequence were seen, or are said to be visible.
    pub(super) fn seen_up_to(&mut self, id: &JournalId, last: u64) -> Verdict {
        let all = self.records.len() as u64;
        hold(Rule::NothingIsOther, last <= all, || format!("{id}: {last} is seen, {all} is the last"))?;
        if last > self.committed {
            let fact = (self.committed + 1..=last)
                .find(|seq| self.entry(*seq).is_some_and(|entry| entry.class == Class::Fact));
            hold(Rule::NothingIsSeenEarly, fact.is_none(), || {
                format!("{id}: the fact {fact:?} is seen, {} is the last that is durable", self.committed)
            })?;
            let early = last - self.committed;
            hold(Rule::NothingIsSeenEarly, early <= EARLY, || {
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
        self.told_tail(id, info.tail, control, damaged)?;
        if info.tail.closed {
            let goes = self.closed.unwrap_or_default();
            hold(Rule::ClosesStay, info.goes == goes, || {
                format!("{id}: it goes at {:?}, not {goes:?}", info.goes)
            })?;
        }
        if info.first != self.first {
            let trimmed = match control {
                Some(Control::Trim(before)) => self.trimmed_to(*before) == info.first,
                _ => false,
            };
            hold(Rule::TrimsStay, trimmed || damaged, || {
                format!("{id}: {} is the first, {} should be", info.first, self.first)
            })?;
            self.first = info.first;
        }
        self.told_epochs(id, &info.epochs, control, damaged)
    }

    /// What a read or an info says about the end.
    fn told_tail(&mut self, id: &JournalId, tail: Tail, control: Option<&Control>, damaged: bool) -> Verdict {
        if self.unsure {
            hold(Rule::NothingIsLost, tail.last >= self.durable || damaged, || {
                format!("{id}: {} is the last, {} was durable", tail.last, self.durable)
            })?;
            let all = self.records.len() as u64;
            hold(Rule::NothingIsOther, tail.last <= all, || {
                format!("{id}: {} is the last, {all} were appended", tail.last)
            })?;
            self.records.truncate(usize::try_from(tail.last).unwrap_or(usize::MAX));
            self.owed = self.durable;
            self.unsure = false;
            // What was found is shown from now on, so its facts may not be lost any more.
            self.committed = tail.last;
            self.durable = self.last_fact(tail.last).max(self.durable.min(tail.last));
            self.seen = tail.last;
        }
        hold(Rule::NothingDisappears, tail.last >= self.seen, || {
            format!("{id}: {} is the last, {} was seen", tail.last, self.seen)
        })?;
        self.seen_up_to(id, tail.last)?;
        if tail.closed != self.closed.is_some() {
            let Some(Control::Close(goes)) = control.filter(|_| tail.closed) else {
                hold(Rule::ClosesStay, damaged, || {
                    format!("{id}: closed is {}, and it is not so", tail.closed)
                })?;
                // What was damaged is what said so.
                self.closed = None;
                return Ok(());
            };
            self.closed = Some(*goes);
            self.holder = None;
        }
        Ok(())
    }

    fn told_epochs(
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
        hold(Rule::EpochsGrow, (grows && expected) || damaged, || {
            format!("{id}: the epochs are {told:?}, and {:?} are known", self.epochs)
        })?;
        self.epochs = told.to_vec();
        Ok(told.iter().map(|start| start.epoch).max().unwrap_or(0))
    }

    /// A journal that damage has cut short does not end as if it were whole.
    pub(super) fn ends_with_a_word(&self, id: &JournalId, after: u64, records: &[Record]) -> Verdict {
        hold(Rule::DamageIsFound, !records.is_empty() || after >= self.owed, || {
            format!("{id}: it ends after {after} without a word, {} were durable", self.owed)
        })
    }

    pub(super) fn read(&mut self, id: &JournalId, after: u64, records: &[Record], tail: Tail) -> Verdict {
        for (seq, record) in (after + 1..).zip(records) {
            let &Record { epoch, class, time, ref body, .. } = record;
            let got = Entry { epoch, class, time, body: body.clone() };
            let kept = seq == record.seq && self.entry(seq) == Some(&got);
            hold(Rule::NothingIsOther, kept, || {
                format!("{id} at {seq}: read {record:?}, appended was {:?}", self.entry(seq))
            })?;
        }
        let end = after.max(records.last().map_or(0, |record| record.seq));
        hold(Rule::NothingIsOther, end <= tail.last.max(after), || {
            format!("{id}: {end} was read, {} is the last", tail.last)
        })?;
        self.told_tail(id, tail, None, false)?;
        hold(
            Rule::NothingIsLost,
            after < self.first.saturating_sub(1) || !records.is_empty() || tail.last <= after,
            || format!("{id}: a read after {after} gives nothing, {} is the last", tail.last),
        )
    }
}
