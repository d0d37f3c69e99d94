//! Knows what was called, what was acknowledged and what was seen, and says when a store breaks a promise.
//!
//! It is pure: it calls no store, so that a wrong history can be told to it and must be caught.

mod journal;
mod value;

use std::{collections::BTreeMap, fmt};

use bytes::Bytes;
use headwater_store::{
    Class, Cursor, CursorFault, Error, ErrorKind, JournalId, JournalInfo, Lease, Place, Record, Tail, Time,
    Value,
};

use self::{
    journal::{Journal, Life},
    value::Key,
};

/// A promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// What was acknowledged or seen as durable is not lost.
    NothingIsLost,
    /// What is read is what was appended under that sequence: nothing twice, nothing in another order, nothing else.
    NothingIsOther,
    /// What was seen stays seen, until the process dies.
    NothingDisappears,
    /// A fact is not seen before it is durable, nor more than 256 deltas.
    NothingIsSeenEarly,
    /// Only the newest epoch writes, and only one at a time holds it.
    OldEpochsAreRefused,
    /// Epochs grow.
    EpochsGrow,
    /// Versions grow.
    VersionsGrow,
    /// A value is what was put last.
    ValuesStay,
    /// A write that expects something else is refused, and one that expects what is there is not.
    ExpectationsHold,
    /// A closed journal stays closed.
    ClosesStay,
    /// A deleted journal does not come back.
    DeletesStay,
    /// Trimmed records do not come back, and no others go.
    TrimsStay,
    /// A cursor leads to what its reader saw, or says that it cannot.
    CursorsAreTrue,
    /// After a failed write nothing is written until the store is opened anew.
    FailuresStop,
    /// Damage is found, and sound data is not called damaged.
    DamageIsFound,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::NothingIsLost,
        Self::NothingIsOther,
        Self::NothingDisappears,
        Self::NothingIsSeenEarly,
        Self::OldEpochsAreRefused,
        Self::EpochsGrow,
        Self::VersionsGrow,
        Self::ValuesStay,
        Self::ExpectationsHold,
        Self::ClosesStay,
        Self::DeletesStay,
        Self::TrimsStay,
        Self::CursorsAreTrue,
        Self::FailuresStop,
        Self::DamageIsFound,
    ];
}

/// A promise that was broken, and how.
#[derive(Debug)]
pub struct Violation {
    /// The promise.
    pub rule: Rule,
    /// What the store did.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.what)
    }
}

/// Whether a promise was kept.
pub type Verdict<T = ()> = Result<T, Violation>;

fn broken<T>(rule: Rule, what: impl Into<String>) -> Verdict<T> {
    Err(Violation { rule, what: what.into() })
}

fn hold(rule: Rule, kept: bool, what: impl FnOnce() -> String) -> Verdict {
    if kept { Ok(()) } else { broken(rule, what()) }
}

/// Something that was called for a journal and has not been acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// A claim.
    Claim,
    /// A close, with the time when the journal goes.
    Close(Option<Time>),
    /// A trim of what is before a sequence.
    Trim(u64),
    /// A release.
    Release,
    /// A delete.
    Delete,
}

/// Something that was called for a value and has not been acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A put, with the time when the value expires.
    Put(Bytes, Option<Time>),
    /// A removal.
    Remove,
}

/// All that is known about a store.
#[derive(Debug, Default)]
pub struct Oracle {
    journals: BTreeMap<JournalId, Journal>,
    values: BTreeMap<String, Key>,
    highest_epoch: u64,
    highest_version: u64,
    /// The highest version before the last crash: what was in flight then has a higher one.
    version_before: u64,
    stopped: bool,
    /// Stored bytes were changed on purpose: what is lost must be told, and may be lost.
    damaged: bool,
}

impl Oracle {
    /// One that knows an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    // ---- what the world does ----

    /// The process died, or the store was dropped: what was not durable may be gone, what was in flight may be done or not.
    pub fn crashed(&mut self) {
        self.stopped = false;
        self.version_before = self.highest_version;
        self.journals.values_mut().for_each(Journal::crashed);
        self.values.values_mut().for_each(Key::crashed);
    }

    /// The power was cut under a store that promises nothing for that: what is found may be older, but must have been so
    /// once; and no epoch and no version is given again.
    pub fn forgot(&mut self) {
        self.crashed();
        self.journals.values_mut().for_each(Journal::forget);
        self.values.values_mut().for_each(Key::forget);
    }

    /// A write failed: from now on the store takes no more.
    pub fn stopped(&mut self) {
        self.stopped = true;
    }

    /// A commit succeeded: all that was appended before is durable.
    pub fn committed(&mut self) {
        self.journals.values_mut().for_each(Journal::committed);
    }

    /// Stored bytes were changed on purpose.
    pub fn damaged(&mut self) {
        self.damaged = true;
    }

    /// A check of the folder said whether it is damaged.
    ///
    /// # Errors
    /// When that is not so.
    pub fn checked(&self, found: bool) -> Verdict {
        hold(Rule::DamageIsFound, found == self.damaged, || match self.damaged {
            true => "a bit was turned around and the check finds nothing".to_owned(),
            false => "the check finds damage where there is none".to_owned(),
        })
    }

    // ---- writing ----

    /// An append was taken.
    ///
    /// # Errors
    /// When it should have been refused, or got wrong sequences.
    pub fn appended(
        &mut self,
        lease: &Lease,
        class: Class,
        bodies: &[Bytes],
        first: u64,
        time: Time,
    ) -> Verdict {
        self.wrote("an append")?;
        let journal = self.journals.entry(lease.journal.clone()).or_default();
        journal.appended(lease, class, bodies, first, time)
    }

    /// A receipt was ready: the records up to `last` may be seen.
    ///
    /// # Errors
    /// When they were not appended, or are facts that no commit made durable.
    pub fn settled(&mut self, journal: &JournalId, last: u64) -> Verdict {
        self.life(journal)?.seen_up_to(journal, last)
    }

    /// A write succeeded.
    fn wrote(&self, what: &str) -> Verdict {
        hold(Rule::FailuresStop, !self.stopped, || format!("{what} succeeded after a failed write"))
    }

    /// A control call has begun.
    pub fn began(&mut self, journal: &JournalId, control: Control) {
        self.journals.entry(journal.clone()).or_default().in_flight = Some(control);
    }

    /// A control call other than a claim was acknowledged.
    ///
    /// # Errors
    /// When it should have been refused.
    pub fn acknowledged(&mut self, journal: &JournalId) -> Verdict {
        let entry = self.journals.entry(journal.clone()).or_default();
        if let Some(control) = entry.in_flight.take() {
            entry.apply(&control);
        }
        self.wrote("a control call")
    }

    /// A control call was refused before it did anything.
    pub fn refused(&mut self, journal: &JournalId) {
        self.journals.entry(journal.clone()).or_default().in_flight = None;
    }

    /// A claim was acknowledged.
    ///
    /// # Errors
    /// When it should have been refused, or its epoch or first sequence is wrong.
    pub fn claimed(&mut self, lease: &Lease, now: Time) -> Verdict {
        self.wrote("a claim")?;
        hold(Rule::EpochsGrow, lease.epoch > self.highest_epoch, || {
            format!("{}: claimed with epoch {} after {}", lease.journal, lease.epoch, self.highest_epoch)
        })?;
        self.highest_epoch = lease.epoch;
        self.journals.entry(lease.journal.clone()).or_default().claimed(lease, now)
    }

    /// A lease was renewed.
    ///
    /// # Errors
    /// When it should have been refused.
    pub fn renewed(&mut self, lease: &Lease) -> Verdict {
        let life = self.life(&lease.journal)?;
        life.check_holder(lease)?;
        life.expires = lease.expires;
        Ok(())
    }

    /// A write with a lease was refused.
    ///
    /// # Errors
    /// When it should have been taken.
    pub fn write_refused(&self, lease: &Lease, error: &Error) -> Verdict {
        let excused = self.stopped || matches!(error.kind(), ErrorKind::Full | ErrorKind::TooLarge);
        let holder = self.journals.get(&lease.journal).and_then(Journal::life);
        let may = holder.is_some_and(|life| life.holder == Some(lease.epoch) && life.closed.is_none());
        hold(Rule::OldEpochsAreRefused, excused || !may, || {
            format!("{}: the newest epoch {} is refused: {error}", lease.journal, lease.epoch)
        })
    }

    /// A claim was refused.
    ///
    /// # Errors
    /// When it should have been given.
    pub fn claim_refused(&self, id: &JournalId, error: &Error, now: Time) -> Verdict {
        let life = self.journals.get(id).and_then(Journal::life);
        let fine = match (error.kind(), life) {
            (ErrorKind::Held { .. }, Some(life)) => life.holder.is_some() && now < life.expires,
            (ErrorKind::Closed, Some(life)) => life.closed.is_some(),
            _ => self.stopped,
        };
        hold(Rule::OldEpochsAreRefused, fine, || format!("{id}: a claim is refused: {error}"))
    }

    /// A control call was refused.
    ///
    /// # Errors
    /// When it should have been taken.
    pub fn control_refused(&self, id: &JournalId, error: &Error) -> Verdict {
        let held = matches!(error.kind(), ErrorKind::Held { .. });
        let holder = self.journals.get(id).and_then(Journal::life).and_then(|life| life.holder);
        // The simulation deletes only what it does not drive; whoever stole a lease drives it still.
        hold(Rule::OldEpochsAreRefused, self.stopped || (held && holder.is_some()), || {
            format!("{id}: a control call of {holder:?} is refused: {error}")
        })
    }

    /// Whether a lease's epoch is the journal's newest, so that it may write.
    #[must_use]
    pub fn is_newest(&self, lease: &Lease) -> bool {
        let life = self.journals.get(&lease.journal).and_then(Journal::life);
        let open = life.filter(|life| life.closed.is_none() && !life.released);
        open.and_then(|life| life.epochs.last()).is_some_and(|start| start.epoch == lease.epoch)
    }

    /// Whether a failed write has stopped the store.
    #[must_use]
    pub const fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Whether stored bytes were changed on purpose.
    #[must_use]
    pub const fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// The first sequence that a journal keeps, if it is there.
    #[must_use]
    pub fn first(&self, id: &JournalId) -> Option<u64> {
        Some(self.journals.get(id)?.life()?.first)
    }

    /// The last sequence that was appended to a journal.
    #[must_use]
    pub fn last(&self, id: &JournalId) -> u64 {
        self.journals.get(id).and_then(Journal::life).map_or(0, Life::last)
    }

    /// An error of a call that does not write.
    ///
    /// # Errors
    /// When neither a failing disk nor damage explains it.
    pub fn excuse(&self, what: &str, error: &Error) -> Verdict {
        match error.kind() {
            ErrorKind::Io | ErrorKind::Stopped => Ok(()),
            ErrorKind::Corrupt => hold(Rule::DamageIsFound, self.damaged, || {
                format!("{what}: called damaged, and it is not: {error}")
            }),
            _ => broken(Rule::NothingIsLost, format!("{what} fails: {error}")),
        }
    }

    // ---- seeing ----

    /// What a journal says about itself.
    ///
    /// # Errors
    /// When that cannot be.
    pub fn informed(&mut self, id: &JournalId, info: Option<&JournalInfo>, now: Time) -> Verdict {
        let damaged = self.damaged;
        let journal = self.journals.entry(id.clone()).or_default();
        let epoch = journal.informed(id, info, now, damaged)?;
        self.highest_epoch = self.highest_epoch.max(epoch);
        Ok(())
    }

    /// What a read after a sequence gave.
    ///
    /// # Errors
    /// When it is not what was appended.
    pub fn read(&mut self, id: &JournalId, after: u64, records: &[Record], tail: Tail) -> Verdict {
        self.life(id)?.read(id, after, records, tail)
    }

    /// A read failed.
    ///
    /// # Errors
    /// When nothing excuses that.
    pub fn read_failed(&self, id: &JournalId, after: u64, error: &Error) -> Verdict {
        let life = self.journals.get(id).and_then(Journal::life);
        match (error.kind(), life) {
            (ErrorKind::Corrupt, _) => hold(Rule::DamageIsFound, self.damaged, || {
                format!("{id}: called damaged, and it is not: {error}")
            }),
            (ErrorKind::Trimmed { first }, Some(life)) => {
                hold(Rule::TrimsStay, *first == life.first && after + 1 < *first, || {
                    format!("{id}: a read after {after} is refused, {} is the first: {error}", life.first)
                })
            }
            (ErrorKind::Unknown, None) => Ok(()),
            _ => broken(Rule::NothingIsLost, format!("{id}: a read after {after} fails: {error}")),
        }
    }

    /// Where a cursor that was taken from a record leads now.
    ///
    /// # Errors
    /// When it leads to something else.
    pub fn placed(&self, cursor: &Cursor, body: &Bytes, place: Result<Place, &Error>) -> Verdict {
        let life = self.journals.get(&cursor.journal).and_then(Journal::life);
        let alive = life.is_some_and(|life| life.has(cursor.epoch, cursor.seq, body));
        let first = life.map_or(1, |life| life.first);
        let newest = life.and_then(|life| life.epochs.last()).map_or(0, |start| start.epoch);
        let fine = match (&place, alive) {
            (Ok(Place::After(seq)), true) => *seq == cursor.seq,
            (Ok(Place::After(_)), false) => false,
            (Ok(Place::Moved(_)), true) => false,
            (Ok(Place::Moved(seq)), false) => *seq < cursor.seq && newest != cursor.epoch,
            (Err(error), alive) => match error.kind() {
                ErrorKind::Trimmed { .. } => cursor.seq + 1 < first || !alive,
                ErrorKind::Cursor(CursorFault::UnknownEpoch | CursorFault::Future) => !alive,
                _ => false,
            },
        };
        hold(Rule::CursorsAreTrue, fine, || {
            let state = if alive { "lives" } else { "is gone" };
            format!(
                "{}: the cursor to {} of epoch {}, which {state}, leads to {place:?}",
                cursor.journal, cursor.seq, cursor.epoch
            )
        })
    }

    // ---- values ----

    /// A change of a value has begun.
    pub fn began_change(&mut self, key: &str, change: Change, now: Time) {
        self.values.entry(key.to_owned()).or_default().began(change, now);
    }

    /// A put was acknowledged.
    ///
    /// # Errors
    /// When it should have been refused, or its version is not new.
    pub fn put(&mut self, key: &str, version: u64, fits: bool) -> Verdict {
        self.wrote("a put")?;
        hold(Rule::ExpectationsHold, fits, || {
            format!("{key}: a put that expected something else succeeded")
        })?;
        self.newer(key, version)?;
        self.values.entry(key.to_owned()).or_default().put(version);
        Ok(())
    }

    /// A removal was acknowledged, and said whether there was a value.
    ///
    /// # Errors
    /// When it should have been refused, or is wrong about that.
    pub fn removed(&mut self, key: &str, was_there: bool, fits: bool) -> Verdict {
        if was_there {
            self.wrote("a removal")?;
        }
        hold(Rule::ExpectationsHold, fits, || {
            format!("{key}: a removal that expected something else succeeded")
        })?;
        self.values.entry(key.to_owned()).or_default().removed(key, was_there)
    }

    /// A change was refused because of what it expected.
    ///
    /// # Errors
    /// When what it expected was there, or another version is told.
    pub fn conflicted(&mut self, key: &str, fits: bool, told: Option<u64>, now: Time) -> Verdict {
        let entry = self.values.entry(key.to_owned()).or_default();
        entry.in_flight = None;
        let there = entry.live(now).map(|known| known.version);
        hold(Rule::ExpectationsHold, !fits && told == there, || {
            format!("{key}: refused with {told:?} there, and {there:?} is")
        })
    }

    /// A change was refused for another reason, and did nothing.
    pub fn change_refused(&mut self, key: &str) {
        self.values.entry(key.to_owned()).or_default().in_flight = None;
    }

    /// The version of a value that is there, as far as is known.
    #[must_use]
    pub fn version(&self, key: &str, now: Time) -> Option<u64> {
        self.values.get(key).and_then(|entry| entry.live(now)).map(|known| known.version)
    }

    /// What a key gave.
    ///
    /// # Errors
    /// When that was not put last.
    pub fn got(&mut self, key: &str, value: Option<&Value>, now: Time) -> Verdict {
        let damaged = self.damaged;
        let before = self.version_before;
        let version = self.values.entry(key.to_owned()).or_default().got(key, value, now, before, damaged)?;
        self.highest_version = self.highest_version.max(version);
        Ok(())
    }

    fn newer(&mut self, key: &str, version: u64) -> Verdict {
        hold(Rule::VersionsGrow, version > self.highest_version, || {
            format!("{key}: put at version {version} after {}", self.highest_version)
        })?;
        self.highest_version = version;
        Ok(())
    }

    fn life(&mut self, id: &JournalId) -> Verdict<&mut Life> {
        match self.journals.get_mut(id).and_then(Journal::life_mut) {
            Some(life) => Ok(life),
            None => broken(Rule::DeletesStay, format!("{id} is not there, and yet something is told of it")),
        }
    }
}
