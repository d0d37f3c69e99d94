//! Knows what was called, what was acknowledged and what was seen, and says when a store breaks a promise.
//!
//! It is pure: it calls no store, so that a wrong history can be told to it and must be caught.

mod control;
mod journal;
mod value;

use std::{collections::BTreeMap, fmt};

use bytes::Bytes;
use headwater_store::{
    Class, Cursor, CursorFault, Error, ErrorKind, JournalId, JournalInfo, Lease, Place, Record, Tail, Time,
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
    /// Writes are refused for want of room only while others wait, and there is room when those are written.
    RoomComesBack,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 16] = [
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
        Self::RoomComesBack,
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
    /// Whether something was called that no commit has taken.
    waiting: bool,
    /// Stored bytes were changed on purpose: what is lost must be told, and may be lost.
    damaged: bool,
}

impl Oracle {
    /// One that knows an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The process died, or the store was dropped: what was not durable may be gone, what was in flight may be done or not.
    pub fn crashed(&mut self) {
        self.stopped = false;
        self.waiting = false;
        self.version_before = self.highest_version;
        self.journals.values_mut().for_each(Journal::crashed);
        self.values.values_mut().for_each(Key::crashed);
    }

    /// The power was cut: deltas that no fact has followed may be gone too.
    pub fn lost_power(&mut self) {
        self.crashed();
        self.journals.values_mut().for_each(Journal::lost_power);
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

    /// A write failed, because the disk did or for another reason, and the store says that it has stopped or does not.
    ///
    /// # Errors
    /// When nothing that must stop it had failed, or it does not say so.
    pub fn failed(&mut self, disk_failed: bool, says_so: bool) -> Verdict {
        self.stopped = true;
        hold(Rule::FailuresStop, disk_failed, || "it stops, and no write has failed".to_owned())?;
        hold(Rule::FailuresStop, says_so, || "it has stopped, and does not say so".to_owned())
    }

    /// It was opened anew in place, or could not be, though nothing fails any more. What had failed is not there.
    ///
    /// # Errors
    /// When it could not be, or still says that it has stopped.
    pub fn recovered(&mut self, opened: bool, says_stopped: bool) -> Verdict {
        hold(Rule::FailuresStop, opened && !says_stopped, || {
            "nothing fails any more, and it does not recover".to_owned()
        })?;
        self.stopped = false;
        self.waiting = false;
        self.version_before = self.highest_version;
        self.journals.values_mut().for_each(Journal::recovered);
        self.values.values_mut().for_each(Key::recovered);
        Ok(())
    }

    /// It was to be opened anew in place on a disk that is still full.
    ///
    /// # Errors
    /// When it says that it was.
    pub fn not_recovered(&self, opened: bool) -> Verdict {
        hold(Rule::FailuresStop, !opened, || "it recovers, and the disk is still full".to_owned())
    }

    /// A commit was made, or there was nothing to write: there is room, or not.
    ///
    /// # Errors
    /// When there is none.
    pub fn caught_up(&mut self, has_room: bool) -> Verdict {
        self.waiting = false;
        hold(Rule::RoomComesBack, has_room, || "all is written, and there is no room".to_owned())
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
        self.waiting |= !bodies.is_empty();
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
        if *error.kind() == ErrorKind::Busy {
            return hold(Rule::RoomComesBack, self.waiting, || {
                format!("{}: refused, and nothing waits to be written: {error}", lease.journal)
            });
        }
        let excused = self.stopped || matches!(error.kind(), ErrorKind::Full | ErrorKind::TooLarge);
        let holder = self.journals.get(&lease.journal).and_then(Journal::life);
        let may = holder.is_some_and(|life| life.holder == Some(lease.epoch) && life.closed.is_none());
        hold(Rule::OldEpochsAreRefused, excused || !may, || {
            format!("{}: the newest epoch {} is refused: {error}", lease.journal, lease.epoch)
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
            ErrorKind::Io | ErrorKind::NoSpace | ErrorKind::Stopped => Ok(()),
            ErrorKind::Corrupt => hold(Rule::DamageIsFound, self.damaged, || {
                format!("{what}: called damaged, and it is not: {error}")
            }),
            _ => broken(Rule::NothingIsLost, format!("{what} fails: {error}")),
        }
    }

    /// What a journal says about itself.
    ///
    /// # Errors
    /// When that cannot be.
    pub fn informed(&mut self, id: &JournalId, info: Option<&JournalInfo>, now: Time) -> Verdict {
        let damaged = self.damaged;
        let journal = self.journals.entry(id.clone()).or_default();
        // What may have lost its end counts as longer than it is, so that reading it to the end fails.
        let mut info = info.cloned();
        if let (true, Some(info), Some(life)) = (damaged, &mut info, journal.life()) {
            info.tail.last = info.tail.last.min(life.last());
        }
        let epoch = journal.informed(id, info.as_ref(), now, damaged)?;
        self.highest_epoch = self.highest_epoch.max(epoch);
        Ok(())
    }

    /// What a read after a sequence gave.
    ///
    /// # Errors
    /// When it is not what was appended.
    pub fn read(&mut self, id: &JournalId, after: u64, records: &[Record], tail: Tail) -> Verdict {
        let damaged = self.damaged;
        let life = self.life(id)?;
        if damaged {
            life.ends_with_a_word(id, after, records)?;
        }
        let last = if damaged { tail.last.min(life.last()) } else { tail.last };
        life.read(id, after, records, Tail { last, ..tail })
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

    fn life(&mut self, id: &JournalId) -> Verdict<&mut Life> {
        match self.journals.get_mut(id).and_then(Journal::life_mut) {
            Some(life) => Ok(life),
            None => broken(Rule::DeletesStay, format!("{id} is not there, and yet something is told of it")),
        }
    }
}
