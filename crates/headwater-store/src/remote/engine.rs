//! What an engine does for the store that runs on it.

use std::{fmt, future::Future, sync::Arc};

use bytes::Bytes;

use crate::{EpochStart, Error, Expect, JournalId, ReadLimit, SweepReport, Tail, Value};

/// What an engine answered.
pub(crate) type Answer<T> = Result<T, EngineFault>;

/// Why an engine did not do what it was asked to do.
#[derive(Debug, Clone)]
pub(crate) enum EngineFault {
    /// The connection is lost, or the engine cannot do it now. It may have done it: its answer may be what was lost.
    Unreachable(Error),
    /// It refuses, and will refuse again.
    Refused(Error),
}

impl EngineFault {
    pub(crate) fn error(&self) -> &Error {
        match self {
            Self::Unreachable(error) | Self::Refused(error) => error,
        }
    }
}

/// What an engine knows about a journal. All times are on the engine's clock, in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JournalHeader {
    /// Tells the journal apart from another of the same name before or after it: the epoch of its first claim.
    pub(crate) number: u64,
    /// The newest epoch; 0 if no lease of this engine is among its epochs and its driver was another store's.
    pub(crate) epoch: u64,
    pub(crate) hold: JournalHold,
    /// The first sequence that is kept.
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// The bytes of all records that were ever appended, and of those that were trimmed.
    pub(crate) total: u64,
    pub(crate) trimmed: u64,
    pub(crate) epochs: Vec<EpochStart>,
    /// What the engine's clock said when it answered.
    pub(crate) now: u64,
}

impl JournalHeader {
    pub(crate) fn tail(&self) -> Tail {
        Tail { last: self.last, closed: matches!(self.hold, JournalHold::Closed { .. }) }
    }

    /// The last sequence that an epoch wrote, if that epoch was superseded.
    pub(crate) fn kept_of(&self, epoch: u64) -> Option<u64> {
        let mut later = self.epochs.iter().skip_while(|start| start.epoch != epoch);
        later.next()?;
        later.next().map(|next| next.first - 1)
    }
}

impl JournalHeader {
    /// Whether an epoch has ended its lease in this way already.
    pub(crate) fn has_ended(&self, epoch: u64, change: LeaseChange) -> bool {
        let ended = match change {
            LeaseChange::Release => matches!(self.hold, JournalHold::Free),
            LeaseChange::Close(_) => matches!(self.hold, JournalHold::Closed { .. }),
            LeaseChange::Renew(_) | LeaseChange::Trim { .. } => false,
        };
        ended && self.epoch == epoch
    }
}

/// Who may write a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JournalHold {
    Free,
    Leased { owner: Arc<str>, expires: u64 },
    Closed { goes: Option<u64> },
}

/// What one commit has of one journal.
#[derive(Debug, Clone)]
pub(crate) struct Append {
    pub(crate) journal: JournalId,
    pub(crate) number: u64,
    pub(crate) epoch: u64,
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// The bytes of all records of the journal up to the last of these.
    pub(crate) total: u64,
    pub(crate) entries: Vec<StoredEntry>,
}

impl Append {
    /// What became of records that were not written now, by what the engine says about the journal.
    pub(crate) fn verdict(&self, header: Option<&JournalHeader>) -> Verdict {
        let Some(header) = header else { return Verdict::Refused(Refusal::Unknown) };
        let kept = if header.epoch == self.epoch { Some(header.last) } else { header.kept_of(self.epoch) };
        if kept.is_some_and(|kept| kept >= self.last) {
            return Verdict::Written;
        }
        Verdict::Refused(match header.hold {
            JournalHold::Closed { .. } => Refusal::Closed,
            JournalHold::Free => Refusal::Stale(None),
            JournalHold::Leased { .. } if header.epoch == self.epoch => Refusal::Lost { last: header.last },
            JournalHold::Leased { .. } => Refusal::Stale(Some(header.epoch)),
        })
    }
}

/// Records that are stored together.
#[derive(Debug, Clone)]
pub(crate) struct StoredEntry {
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// The bytes of all records of the journal before it, so that a trim need not read what it removes.
    pub(crate) start: u64,
    pub(crate) packed: Bytes,
}

/// What became of one [`Append`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is there, by this commit or by an earlier one whose answer was lost.
    Written,
    Refused(Refusal),
}

/// Why an epoch may not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// There is no such journal.
    Unknown,
    Closed,
    /// Another epoch drives it, or none.
    Stale(Option<u64>),
    /// The journal ends before the records that this process wrote: the engine has lost some of them.
    Lost {
        last: u64,
    },
}

/// The header of a journal and some of its entries.
#[derive(Debug)]
pub(crate) struct JournalEntries {
    pub(crate) header: JournalHeader,
    pub(crate) entries: Vec<StoredEntry>,
}

/// What became of a claim.
#[derive(Debug)]
pub(crate) enum ClaimOutcome {
    Given(JournalHeader),
    Refused(JournalHeader),
}

/// A change of a journal that its lease allows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LeaseChange {
    /// The lease lasts so many milliseconds from now on.
    Renew(u64),
    Release,
    /// Kept for so many milliseconds.
    Close(Option<u64>),
    /// The first sequence that is kept, and the bytes of all records before it.
    Trim {
        before: u64,
        bytes: u64,
    },
}

/// What one step of a sweep removed.
#[derive(Debug, Default)]
pub(crate) struct SweepStep {
    pub(crate) swept: SweepReport,
    /// The numbers of the journals among it.
    pub(crate) journals: Vec<u64>,
    /// Whether there may be more to remove.
    pub(crate) more: bool,
}

/// Some entries of a journal that another store has.
#[derive(Debug)]
pub(crate) struct RestorePiece {
    /// The number that the journal will have.
    pub(crate) number: u64,
    /// Whatever was staged before under this name is discarded.
    pub(crate) begins: bool,
    pub(crate) entries: Vec<StoredEntry>,
    /// The journal, if these are its last entries.
    pub(crate) complete: Option<JournalHeader>,
}

impl RestorePiece {
    /// The highest epoch of the journal. All that the engine gives from now on are higher.
    pub(crate) fn highest_epoch(&self) -> u64 {
        self.complete.iter().flat_map(|header| &header.epochs).map(|start| start.epoch).max().unwrap_or(0)
    }
}

/// What may have changed, as another process announces it. Never the truth, only a reason to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hint {
    /// The journals with these numbers.
    Journals(Vec<u64>),
    /// The value of a key.
    Value(String),
}

/// A subscription to the announcements of other processes.
pub(crate) trait Hints: Send {
    /// The next announcement. May be dropped while it waits.
    fn next(&mut self) -> impl Future<Output = Answer<Hint>> + Send;

    /// Asks the engine for a sign of life over the connection of the announcements.
    fn check(&mut self) -> impl Future<Output = Answer<()>> + Send;
}

/// An engine that keeps journals and values.
///
/// Each call is one request, does all or nothing, and uses the engine's clock for everything that expires. A call that is
/// repeated with the same arguments after [`EngineFault::Unreachable`] must not do twice what it did before: commits are
/// recognised by sequence and epoch, claims and puts by their `nonce`, changes by `repeated`. A put is recognised by the value
/// that it left: if another caller has replaced or removed that value before the call is repeated, an unconditional put is
/// made again, and so is one that expects no value and finds no value.
pub(crate) trait Engine: fmt::Debug + Send + Sync + 'static {
    type Hints: Hints;

    /// Writes what one commit has of all journals, durably, and announces it. Gives a verdict for each, and the engine's
    /// time.
    fn commit(&self, appends: &[Append]) -> impl Future<Output = Answer<(Vec<Verdict>, u64)>> + Send;

    /// For each journal the entries after a sequence, the first of which may begin before it. At least one if there is
    /// one. The limit is for each. The answers are in the same order.
    fn read_all(
        &self,
        wanted: &[(&JournalId, u64)],
        limit: ReadLimit,
    ) -> impl Future<Output = Answer<Vec<Option<JournalEntries>>>> + Send;

    /// The same for one journal.
    fn read(
        &self,
        journal: &JournalId,
        after: u64,
        limit: ReadLimit,
    ) -> impl Future<Output = Answer<Option<JournalEntries>>> + Send {
        async move { Ok(self.read_all(&[(journal, after)], limit).await?.pop().flatten()) }
    }

    fn header(&self, journal: &JournalId) -> impl Future<Output = Answer<Option<JournalHeader>>> + Send;

    /// The number and tail of each journal, in the same order.
    fn tails(&self, journals: &[JournalId]) -> impl Future<Output = Answer<Vec<Option<(u64, Tail)>>>> + Send;

    fn claim(
        &self,
        journal: &JournalId,
        owner: &str,
        ttl: u64,
        nonce: u64,
    ) -> impl Future<Output = Answer<ClaimOutcome>> + Send;

    /// Changes a journal if this epoch holds it; gives what the journal is like otherwise. `repeated` says that an earlier
    /// answer was lost: a release or close that is already done by this epoch is then done.
    fn change(
        &self,
        journal: &JournalId,
        epoch: u64,
        change: LeaseChange,
        repeated: bool,
    ) -> impl Future<Output = Answer<Result<(), Option<JournalHeader>>>> + Send;

    /// Deletes a journal that has no running lease; gives the header of one that has.
    fn delete(&self, journal: &JournalId) -> impl Future<Output = Answer<Result<(), JournalHeader>>> + Send;

    /// Journals whose lease has run out, the longest ago first.
    fn expired(&self, limit: usize) -> impl Future<Output = Answer<Vec<JournalId>>> + Send;

    fn get(&self, key: &str) -> impl Future<Output = Answer<Option<Value>>> + Send;

    /// Gives the new version, or the one that is there instead of the expected one.
    fn put(
        &self,
        key: &str,
        bytes: &Bytes,
        expect: Expect,
        ttl: Option<u64>,
        nonce: u64,
    ) -> impl Future<Output = Answer<Result<u64, Option<u64>>>> + Send;

    fn remove(
        &self,
        key: &str,
        expect: Expect,
    ) -> impl Future<Output = Answer<Result<bool, Option<u64>>>> + Send;

    fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> impl Future<Output = Answer<Vec<(String, Value)>>> + Send;

    /// Removes some of what is no longer kept.
    fn sweep(&self) -> impl Future<Output = Answer<SweepStep>> + Send;

    /// The names of journals after one, in order.
    fn journals(
        &self,
        after: Option<&JournalId>,
        limit: usize,
    ) -> impl Future<Output = Answer<Vec<JournalId>>> + Send;

    /// Stages entries of a journal that another store has, and makes it a journal when they are complete. Gives `false`
    /// if the journal exists already, or the staged records do not.
    fn restore(&self, journal: &JournalId, piece: &RestorePiece)
    -> impl Future<Output = Answer<bool>> + Send;

    /// What the engine's clock says.
    fn now(&self) -> impl Future<Output = Answer<u64>> + Send;

    fn subscribe(&self) -> impl Future<Output = Answer<Self::Hints>> + Send;
}
