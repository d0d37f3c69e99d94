//! What every store does.

use std::{fmt, future::Future, pin::Pin, time::Duration};

use bytes::Bytes;

use crate::{
    Class, Error, Expect, JournalId, JournalInfo, Lease, Page, ReadLimit, Receipt, Record, Result, Tail,
    Value, Watch,
};

/// What a store will have done.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// Where journals and small values live.
///
/// # What every store promises
///
/// * **Order.** The records of a journal have the sequences 1, 2, 3, … in the order of the calls of
///   [`append`](Store::append), and are seen in that order, without gaps.
/// * **Facts are durable before they are seen**, to the degree that the store's setting says. Nothing passes a fact that
///   is not durable yet.
/// * **Deltas are seen at once**, and are written soon: at most 256 of a journal are seen before they are, and the commit
///   that does it begins within 20 ms. What was seen and not yet written may die with the process, and what no fact has
///   followed yet with the machine.
/// * **Fencing.** Only the newest epoch of a journal writes to it. A claim is durable before its epoch's first record is
///   seen, and epochs are never used twice.
/// * **A failed write stops the store.** It is never tried again as if nothing had happened: every later write fails
///   with [`ErrorKind::Stopped`](crate::ErrorKind::Stopped), while reads go on, until the store is opened anew.
///   [`stopped`](Store::stopped) waits for that.
/// * **A lost connection does not.** A store behind a network sends the same batch again, which the engine recognises,
///   until it is written: facts wait meanwhile, and deltas are refused as [`Busy`](crate::ErrorKind::Busy) when the buffer
///   is full. Other calls are repeated for a minute and then fail with
///   [`Unavailable`](crate::ErrorKind::Unavailable), which may be retried. Only when nothing could be written for five minutes
///   does the store stop. So a node outlives the restart or failover of its engine.
/// * **Leases do not depend on the wall clock.** However it is set, a lease ends when its time has passed. What has a
///   lifetime (values, closed journals) never goes before that has passed while the store is open. A store that several
///   processes share measures both on the clock of its engine, and [`Lease::expires`](crate::Lease::expires) from
///   before the request was sent: a process never counts on a lease for longer than the engine does.
/// * **What others see.** Processes that share a store see facts and deltas after the commit; only readers in the process
///   that appended a delta see it before. If that process loses its lease before the commit, its readers of those deltas get
///   [`Unavailable`](crate::ErrorKind::Unavailable) and begin again with their cursors.
/// * **Several changes in order.** [`write`](Store::write) makes its changes one after the other, after the records that
///   it is told to come after: a crash keeps a beginning of them. There is no such promise between calls that are made side
///   by side, because a store behind a network sends them over several connections.
/// * **Readers cost nothing.** A reader is a sequence number; one that stopped reading holds nothing.
///
/// `headwater_testkit::store::behaviour` holds any store to this.
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// Appends records of one class at the end of a journal, in one piece: after a crash all of them are there or a
    /// beginning of them, never others.
    ///
    /// The call itself puts them in order; the receipt is ready when they may be seen.
    ///
    /// # Errors
    /// At once [`Stale`](crate::ErrorKind::Stale), [`Closed`](crate::ErrorKind::Closed),
    /// [`Unknown`](crate::ErrorKind::Unknown), [`TooLarge`](crate::ErrorKind::TooLarge),
    /// [`Full`](crate::ErrorKind::Full), [`Busy`](crate::ErrorKind::Busy) or [`Stopped`](crate::ErrorKind::Stopped), with
    /// nothing appended; any of them, [`NoSpace`](crate::ErrorKind::NoSpace) and [`Io`](crate::ErrorKind::Io) from the
    /// receipt, with the records never seen or, for deltas that were, gone after the next claim.
    ///
    /// `TooLarge` and `Full` are permanent for this record and this journal. `Busy` is not: wait for
    /// [`room`](Store::room) and repeat the call.
    fn append(&self, lease: &Lease, class: Class, bodies: &[Bytes]) -> Result<Receipt>;

    /// Waits while more waits to be written than the disk keeps up with. Ready at once nearly always.
    ///
    /// This is the store's back-pressure: wait for it before taking the next piece from a source that can be slowed down,
    /// such as a model's stream, and memory stays bounded while a disk stalls. It is a hint, and reserves nothing: there is
    /// room again when half of what may wait is free, so that a few callers at the same time do not meet
    /// [`Busy`](crate::ErrorKind::Busy); a call that does waits for room and is repeated. Facts are refused only at twice
    /// the bytes at which deltas are, because their callers wait for each of them.
    fn room(&self) -> Pending<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Reads the records after a sequence, as far as they may be seen. An empty page is not an error.
    fn read<'a>(&'a self, journal: &'a JournalId, after: u64, limit: ReadLimit) -> Pending<'a, Page>;

    /// Waits until there is a record after a sequence, or the journal is closed. Does not poll.
    fn wait<'a>(&'a self, journal: &'a JournalId, after: u64) -> Pending<'a, Tail>;

    /// What is known about a journal; `None` if there is none of that name.
    fn info<'a>(&'a self, journal: &'a JournalId) -> Pending<'a, Option<JournalInfo>>;

    /// The names of journals after a name, in the order of their bytes. The order is that of a listing, not of time, and
    /// this is for tools that go through the whole store: a page may cost as much as looking at every name.
    fn journals<'a>(&'a self, after: Option<&'a JournalId>, limit: usize) -> Pending<'a, Vec<JournalId>>;

    /// Writes a journal as another store has it: with the same sequences, epochs, times and classes, the same beginning
    /// and the same end. If it had a driver, it is one whose driver has died ([`expired`](Store::expired)).
    ///
    /// A journal that is too large for memory is restored in pieces: call this with the same `info` and the next records,
    /// beginning with the first that is kept, until the last one of `info.tail` was given. The journal exists, as a whole
    /// and durably, when that call is done. Until then no other call sees it, and the name is free: a claim, a deletion
    /// and a call with the first records again discard the pieces so far. After an error, begin again.
    ///
    /// From then on all epochs that the store gives are higher than those of the journal.
    ///
    /// # Errors
    /// [`Exists`](crate::ErrorKind::Exists) when there is a journal of that name, [`Corrupt`](crate::ErrorKind::Corrupt)
    /// when the records are not the next ones of a journal with that `info`,
    /// [`TooLarge`](crate::ErrorKind::TooLarge) and [`Full`](crate::ErrorKind::Full) as for an append.
    fn restore<'a>(
        &'a self,
        journal: &'a JournalId,
        info: &'a JournalInfo,
        records: &'a [Record],
    ) -> Pending<'a, ()>;

    /// Ends a journal and its lease. It is kept for so long, or for ever, and then goes.
    fn close<'a>(&'a self, lease: &'a Lease, keep: Option<Duration>) -> Pending<'a, ()>;

    /// Lets go of the records before a sequence. What is left keeps its numbers.
    fn trim<'a>(&'a self, lease: &'a Lease, before: u64) -> Pending<'a, ()>;

    /// Deletes a journal that nobody holds. One that is not there is no error.
    fn delete<'a>(&'a self, journal: &'a JournalId) -> Pending<'a, ()>;

    /// Takes the lease of a journal that nobody holds, with a new epoch; begins the journal if there is none.
    ///
    /// # Errors
    /// [`Held`](crate::ErrorKind::Held) while a lease runs, whoever owns it;
    /// [`Closed`](crate::ErrorKind::Closed) when the journal has ended.
    fn claim<'a>(&'a self, journal: &'a JournalId, owner: &'a str, ttl: Duration) -> Pending<'a, Lease>;

    /// Makes a lease last from now on for so long, also one that has run out and that nobody has claimed since.
    fn renew<'a>(&'a self, lease: &'a Lease, ttl: Duration) -> Pending<'a, Lease>;

    /// Gives a lease back: the journal waits for whoever claims it next, and is not listed as expired.
    fn release<'a>(&'a self, lease: &'a Lease) -> Pending<'a, ()>;

    /// Journals whose lease has run out and was not given back: their drivers have died.
    fn expired(&self, limit: usize) -> Pending<'_, Vec<JournalId>>;

    /// The value of a key.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) when its stored bytes are not what was put.
    fn get<'a>(&'a self, key: &'a str) -> Pending<'a, Option<Value>>;

    /// Puts a value if what is there is what one expects, for so long or for ever; durable when done. Gives its version.
    ///
    /// # Errors
    /// [`Conflict`](crate::ErrorKind::Conflict) when something else is there. A read after that finds it, or what came
    /// after it.
    fn put<'a>(
        &'a self,
        key: &'a str,
        bytes: Bytes,
        expect: Expect,
        ttl: Option<Duration>,
    ) -> Pending<'a, u64>;

    /// Removes a value if it is what one expects; durable when done. Gives whether there was one.
    fn remove<'a>(&'a self, key: &'a str, expect: Expect) -> Pending<'a, bool>;

    /// Makes several changes in order, and after the records of a receipt of this store. Durable when done; after a crash a
    /// beginning of records and changes is there. Gives the versions of the values that were put, and 0 for the others.
    ///
    /// A store with one log writes all of it in one commit, which is why this is better than one call after the other.
    ///
    /// # Errors
    /// That of the first change that fails, as its own call would give it. The changes before it were made, and none after it.
    fn write<'a>(&'a self, after: Option<Receipt>, changes: Vec<WriteOp>) -> Pending<'a, Vec<u64>> {
        Box::pin(async move {
            if let Some(after) = after {
                after.await?;
            }
            let mut versions = Vec::with_capacity(changes.len());
            for change in changes {
                versions.push(match change {
                    WriteOp::Put { key, bytes, expect, ttl } => self.put(&key, bytes, expect, ttl).await?,
                    WriteOp::Remove { key, expect } => self.remove(&key, expect).await.map(|_| 0)?,
                    WriteOp::Close { lease, keep } => self.close(&lease, keep).await.map(|()| 0)?,
                });
            }
            Ok(versions)
        })
    }

    /// Asks the store to begin no commit until [`release_commit`](Store::release_commit), so that what is called in between
    /// goes into one. It is a hint, and the store does not heed it for long. Use [`together`], which cannot forget the release.
    fn hold_commit(&self) {}

    /// Ends a [`hold_commit`](Store::hold_commit).
    fn release_commit(&self) {}

    /// Values whose keys begin with a prefix, ordered by key, after a key. One whose stored bytes are damaged is listed with
    /// its version and without bytes ([`Value::damaged`]), so that it can be named and removed.
    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> Pending<'a, Vec<(String, Value)>>;

    /// Tells when a value whose key begins with a prefix is put or removed, from now on.
    fn watch(&self, prefix: &str) -> Watch;

    /// Lets go of what retention no longer keeps: closed journals whose time is over, values that expired, and the
    /// space that they took.
    fn sweep(&self) -> Pending<'_, Swept>;

    /// Waits until everything that was appended so far is durable.
    fn flush(&self) -> Pending<'_, ()>;

    /// Waits until a failure has stopped the store, and gives it. A store that cannot fail waits for ever.
    fn stopped(&self) -> Pin<Box<dyn Future<Output = Error> + Send + '_>> {
        Box::pin(std::future::pending())
    }

    /// The largest sizes that are taken, so that a caller can keep within them and leave itself room to end a journal.
    fn limits(&self) -> Limits {
        Limits::default()
    }
}

/// One of several changes that [`Store::write`] makes in order.
#[derive(Debug, Clone)]
pub enum WriteOp {
    /// [`Store::put`].
    Put {
        /// The key.
        key: String,
        /// The value.
        bytes: Bytes,
        /// What must be there.
        expect: Expect,
        /// How long it is kept; for ever without.
        ttl: Option<Duration>,
    },
    /// [`Store::remove`].
    Remove {
        /// The key.
        key: String,
        /// What must be there.
        expect: Expect,
    },
    /// [`Store::close`].
    Close {
        /// The lease of the journal.
        lease: Lease,
        /// How long the journal is kept; for ever without.
        keep: Option<Duration>,
    },
}

/// Polls a future so that all that one poll calls goes into one commit, where the store can do that: calls that are made
/// side by side then cost one fsync.
pub async fn together<F: Future>(store: &dyn Store, future: F) -> F::Output {
    /// Released also when the future panics.
    struct Hold<'a>(&'a dyn Store);
    impl Drop for Hold<'_> {
        fn drop(&mut self) {
            self.0.release_commit();
        }
    }
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|cx| {
        store.hold_commit();
        let _hold = Hold(store);
        future.as_mut().poll(cx)
    })
    .await
}

/// The largest sizes that a store takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The bytes of one record.
    pub record: usize,
    /// The bytes of all records that one journal keeps.
    pub journal: u64,
}

impl Default for Limits {
    /// 16 MiB for a record, 1 GiB for a journal.
    fn default() -> Self {
        Self { record: 16 << 20, journal: 1 << 30 }
    }
}

impl Limits {
    /// Limits of a store.
    #[must_use]
    pub const fn new(record: usize, journal: u64) -> Self {
        Self { record, journal }
    }
}

/// What a sweep let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Journals.
    pub journals: u64,
    /// Values.
    pub values: u64,
    /// Bytes of storage.
    pub bytes: u64,
}
