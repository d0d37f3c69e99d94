//! Tracks calls, acknowledgements and reads, and reports when a store breaks a promise.
//!
//! It is pure: it calls no store, so that tests can feed it a wrong history that it must catch.

mod control;
mod journal;
mod value;

use std::{collections::BTreeMap, fmt};

use bytes::Bytes;
use headwater_store::{
    Class, Cursor, CursorFault, Error, ErrorKind, JournalId, JournalInfo, Lease, Place, Record, Tail, Time,
};

use self::{
    journal::{JournalHistory, JournalLife},
    value::KeyState,
};

/// A promise of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoreRule {
    /// Acknowledged data, and data seen as durable, is not lost.
    NothingIsLost,
    /// A read returns the record appended under that sequence: no duplicates, no reordering, nothing else.
    NothingIsOther,
    /// Visible data stays visible until the process dies.
    NothingDisappears,
    /// A fact is not visible before it is durable, and at most 256 deltas are.
    NothingIsSeenEarly,
    /// Only the newest epoch writes, and it has one holder at a time.
    OldEpochsAreRefused,
    /// Epochs increase.
    EpochsGrow,
    /// Versions increase.
    VersionsGrow,
    /// A value is the last one that was put.
    ValuesStay,
    /// A write with a wrong expectation is refused, and one with a correct expectation is not.
    ExpectationsHold,
    /// A closed journal stays closed.
    ClosesStay,
    /// A deleted journal does not reappear.
    DeletesStay,
    /// Trimmed records do not reappear, and no others are removed.
    TrimsStay,
    /// A cursor leads to the record that its reader saw, or to an error.
    CursorsAreTrue,
    /// After a failed write nothing is written until the store is reopened.
    FailuresStop,
    /// Damage is detected, and intact data is not reported as damaged.
    DamageIsFound,
    /// Writes are refused for lack of room only while others are pending, and succeed again after those are
    /// written.
    RoomComesBack,
}

impl StoreRule {
    /// All promises.
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

/// A broken promise, and how.
#[derive(Debug)]
pub struct Violation {
    /// The promise.
    pub rule: StoreRule,
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

fn broken<T>(rule: StoreRule, what: impl Into<String>) -> Verdict<T> {
    Err(Violation { rule, what: what.into() })
}

fn hold(rule: StoreRule, kept: bool, what: impl FnOnce() -> String) -> Verdict {
    if kept { Ok(()) } else { broken(rule, what()) }
}

/// An unacknowledged call for a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// A claim.
    Claim,
    /// A close, with the time when the journal expires.
    Close(Option<Time>),
    /// A trim of the records before a sequence.
    Trim(u64),
    /// A release.
    Release,
    /// A delete.
    Delete,
}

/// An unacknowledged change of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueChange {
    /// A put, with the time when the value expires.
    Put(Bytes, Option<Time>),
    /// A removal.
    Remove,
}

/// Everything known about a store.
#[derive(Debug, Default)]
pub struct Oracle {
    journals: BTreeMap<JournalId, JournalHistory>,
    values: BTreeMap<String, KeyState>,
    highest_epoch: u64,
    highest_version: u64,
    /// The highest version before the last crash: calls in flight then get a higher one.
    version_before: u64,
    stopped: bool,
    /// Whether a call has not been committed yet.
    waiting: bool,
    /// Whether stored bytes were damaged on purpose: data may be lost, but this must be reported.
    damaged: bool,
}

impl Oracle {
    /// An oracle of an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The process died or the store was dropped: unsynced data may be lost, calls in flight may or may not
    /// be done.
    pub fn crashed(&mut self) {
        self.stopped = false;
        self.waiting = false;
        self.version_before = self.highest_version;
        self.journals.values_mut().for_each(JournalHistory::crashed);
        self.values.values_mut().for_each(KeyState::crashed);
    }

    /// The power was cut: deltas without a later fact may be lost too.
    pub fn lost_power(&mut self) {
        self.crashed();
        self.journals.values_mut().for_each(JournalHistory::lost_power);
    }

    /// The power was cut under a store without durability: its state may be older, but must have existed
    /// once, and no epoch or version is assigned again.
    pub fn forgot(&mut self) {
        self.crashed();
        self.journals.values_mut().for_each(JournalHistory::forget);
        self.values.values_mut().for_each(KeyState::forget);
    }

    /// A write failed: the store accepts no more writes.
    pub fn stopped(&mut self) {
        self.stopped = true;
    }

    /// A write failed, because of the disk or otherwise; `says_so` is whether the store reports that it has
    /// stopped.
    ///
    /// # Errors
    /// If nothing failed that must stop it, or it does not report it.
    pub fn failed(&mut self, disk_failed: bool, says_so: bool) -> Verdict {
        self.stopped = true;
        hold(StoreRule::FailuresStop, disk_failed, || "it stopped although no write failed".to_owned())?;
        hold(StoreRule::FailuresStop, says_so, || "it stopped without reporting it".to_owned())
    }

    /// The store was reopened in place, or could not be, although nothing fails any more. Failed writes are
    /// not there.
    ///
    /// # Errors
    /// If it could not be reopened, or still reports that it has stopped.
    pub fn recovered(&mut self, opened: bool, says_stopped: bool) -> Verdict {
        hold(StoreRule::FailuresStop, opened && !says_stopped, || {
            "it does not recover although nothing fails any more".to_owned()
        })?;
        self.stopped = false;
        self.waiting = false;
        self.version_before = self.highest_version;
        self.journals.values_mut().for_each(JournalHistory::recovered);
        self.values.values_mut().for_each(KeyState::recovered);
        Ok(())
    }

    /// The store tried to reopen in place on a disk that is still full.
    ///
    /// # Errors
    /// If it reports success.
    pub fn not_recovered(&self, opened: bool) -> Verdict {
        hold(StoreRule::FailuresStop, !opened, || "it recovers although the disk is still full".to_owned())
    }

    /// A commit succeeded, or there was nothing to write; `has_room` is whether the store accepts writes.
    ///
    /// # Errors
    /// If it has no room.
    pub fn caught_up(&mut self, has_room: bool) -> Verdict {
        self.waiting = false;
        hold(StoreRule::RoomComesBack, has_room, || {
            "there is no room although everything is written".to_owned()
        })
    }

    /// A commit succeeded: everything appended before is durable.
    pub fn committed(&mut self) {
        self.journals.values_mut().for_each(JournalHistory::committed);
    }

    /// Stored bytes were damaged on purpose.
    pub fn damaged(&mut self) {
        self.damaged = true;
    }

    /// A check of the folder reported whether it is damaged.
    ///
    /// # Errors
    /// If the report is wrong.
    pub fn checked(&self, found: bool) -> Verdict {
        hold(StoreRule::DamageIsFound, found == self.damaged, || match self.damaged {
            true => "a bit was flipped and the check finds nothing".to_owned(),
            false => "the check reports damage of intact data".to_owned(),
        })
    }

    /// An append was accepted.
    ///
    /// # Errors
    /// If it should have been refused, or got wrong sequences.
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

    /// A receipt completed: the records up to `last` are visible.
    ///
    /// # Errors
    /// If they were not appended, or are facts that are not durable.
    pub fn settled(&mut self, journal: &JournalId, last: u64) -> Verdict {
        self.life(journal)?.seen_up_to(journal, last)
    }

    /// A write succeeded.
    fn wrote(&self, what: &str) -> Verdict {
        hold(StoreRule::FailuresStop, !self.stopped, || format!("{what} succeeded after a failed write"))
    }

    /// A lease was renewed.
    ///
    /// # Errors
    /// If it should have been refused.
    pub fn renewed(&mut self, lease: &Lease) -> Verdict {
        let life = self.life(&lease.journal)?;
        life.check_holder(lease)?;
        life.expires = lease.expires;
        Ok(())
    }

    /// A write with a lease was refused.
    ///
    /// # Errors
    /// If it should have been accepted.
    pub fn write_refused(&self, lease: &Lease, error: &Error) -> Verdict {
        if *error.kind() == ErrorKind::Busy {
            return hold(StoreRule::RoomComesBack, self.waiting, || {
                format!("{}: refused although nothing is pending: {error}", lease.journal)
            });
        }
        let excused = self.stopped || matches!(error.kind(), ErrorKind::Full | ErrorKind::TooLarge);
        let holder = self.journals.get(&lease.journal).and_then(JournalHistory::life);
        let may = holder.is_some_and(|life| life.holder == Some(lease.epoch) && life.closed.is_none());
        hold(StoreRule::OldEpochsAreRefused, excused || !may, || {
            format!("{}: the newest epoch {} is refused: {error}", lease.journal, lease.epoch)
        })
    }

    /// Whether a lease has the journal's newest epoch and may write.
    #[must_use]
    pub fn is_newest(&self, lease: &Lease) -> bool {
        let life = self.journals.get(&lease.journal).and_then(JournalHistory::life);
        let open = life.filter(|life| life.closed.is_none() && !life.released);
        open.and_then(|life| life.epochs.last()).is_some_and(|start| start.epoch == lease.epoch)
    }

    /// Whether a failed write has stopped the store.
    #[must_use]
    pub const fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Whether stored bytes were damaged on purpose.
    #[must_use]
    pub const fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// The first kept sequence of a journal, if it exists.
    #[must_use]
    pub fn first(&self, id: &JournalId) -> Option<u64> {
        Some(self.journals.get(id)?.life()?.first)
    }

    /// The last appended sequence of a journal.
    #[must_use]
    pub fn last(&self, id: &JournalId) -> u64 {
        self.journals.get(id).and_then(JournalHistory::life).map_or(0, JournalLife::last)
    }

    /// A call that does not write failed.
    ///
    /// # Errors
    /// If neither a failing disk nor damage explains it.
    pub fn excuse(&self, what: &str, error: &Error) -> Verdict {
        match error.kind() {
            ErrorKind::Io | ErrorKind::NoSpace | ErrorKind::Stopped => Ok(()),
            ErrorKind::Corrupt => hold(StoreRule::DamageIsFound, self.damaged, || {
                format!("{what}: reported as damaged although it is intact: {error}")
            }),
            _ => broken(StoreRule::NothingIsLost, format!("{what} fails: {error}")),
        }
    }

    /// The info of a journal was read.
    ///
    /// # Errors
    /// If it is impossible.
    pub fn informed(&mut self, id: &JournalId, info: Option<&JournalInfo>, now: Time) -> Verdict {
        let damaged = self.damaged;
        let journal = self.journals.entry(id.clone()).or_default();
        // A journal that may have lost its end counts as longer, so that reading it to the end fails.
        let mut info = info.cloned();
        if let (true, Some(info), Some(life)) = (damaged, &mut info, journal.life()) {
            info.tail.last = info.tail.last.min(life.last());
        }
        let epoch = journal.informed(id, info.as_ref(), now, damaged)?;
        self.highest_epoch = self.highest_epoch.max(epoch);
        Ok(())
    }

    /// Records after a sequence were read.
    ///
    /// # Errors
    /// If they differ from the appended ones.
    pub fn read(&mut self, id: &JournalId, after: u64, records: &[Record], tail: Tail) -> Verdict {
        let damaged = self.damaged;
        let life = self.life(id)?;
        if damaged {
            life.check_truncation_is_reported(id, after, records)?;
        }
        let last = if damaged { tail.last.min(life.last()) } else { tail.last };
        life.read(id, after, records, Tail { last, ..tail })
    }

    /// A read failed.
    ///
    /// # Errors
    /// If nothing explains it.
    pub fn read_failed(&self, id: &JournalId, after: u64, error: &Error) -> Verdict {
        let life = self.journals.get(id).and_then(JournalHistory::life);
        match (error.kind(), life) {
            (ErrorKind::Corrupt, _) => hold(StoreRule::DamageIsFound, self.damaged, || {
                format!("{id}: reported as damaged although it is intact: {error}")
            }),
            (ErrorKind::Trimmed { first }, Some(life)) => {
                hold(StoreRule::TrimsStay, *first == life.first && after + 1 < *first, || {
                    format!("{id}: a read after {after} is refused, {} is the first: {error}", life.first)
                })
            }
            (ErrorKind::Unknown, None) => Ok(()),
            _ => broken(StoreRule::NothingIsLost, format!("{id}: a read after {after} fails: {error}")),
        }
    }

    /// The position of a cursor taken from a record was resolved.
    ///
    /// # Errors
    /// If it leads to another record.
    pub fn placed(&self, cursor: &Cursor, body: &Bytes, place: Result<Place, &Error>) -> Verdict {
        let life = self.journals.get(&cursor.journal).and_then(JournalHistory::life);
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
        hold(StoreRule::CursorsAreTrue, fine, || {
            let state = if alive { "lives" } else { "is gone" };
            format!(
                "{}: the cursor to {} of epoch {}, which {state}, leads to {place:?}",
                cursor.journal, cursor.seq, cursor.epoch
            )
        })
    }

    fn life(&mut self, id: &JournalId) -> Verdict<&mut JournalLife> {
        match self.journals.get_mut(id).and_then(JournalHistory::life_mut) {
            Some(life) => Ok(life),
            None => broken(StoreRule::DeletesStay, format!("{id} was reported although it does not exist")),
        }
    }
}
