//! The trait that every store implements.

use std::{fmt, future::Future, pin::Pin, time::Duration};

use bytes::Bytes;
use futures_util::FutureExt as _;

use crate::{
    Class, Error, Expect, JournalId, JournalInfo, Lease, Page, ReadLimit, Receipt, Record, Result, Tail,
    Value, Watch,
};

/// A pending store operation.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// Storage for journals and small values.
///
/// # Guarantees
///
/// * **Order.** The records of a journal have the sequences 1, 2, 3, … in the order of the calls of
///   [`append`](Store::append), and become visible in that order, without gaps.
/// * **Facts are durable before they are visible**, as far as the store's setting promises. No record becomes
///   visible before an earlier fact is durable.
/// * **Deltas are visible at once** and written soon: at most 256 of a journal are visible before they are
///   written, and their commit begins within 20 ms. Visible deltas that are not written yet may be lost with
///   the process, and those without a following fact with the machine.
/// * **Fencing.** Only the newest epoch of a journal writes to it. A claim is durable before its epoch's
///   first record is visible, and epochs are never reused.
/// * **A failed write stops the store.** It is never silently retried: every later write fails with
///   [`ErrorKind::Stopped`](crate::ErrorKind::Stopped), while reads continue, until the store is reopened.
///   [`stopped`](Store::stopped) waits for that.
/// * **A lost connection does not.** A store behind a network sends the same batch again, which the database
///   recognises, until it is written: facts wait meanwhile, and deltas are refused as
///   [`Busy`](crate::ErrorKind::Busy) when the buffer is full. Other calls are retried for a minute and then
///   fail with [`Unavailable`](crate::ErrorKind::Unavailable), which callers may retry. The store only stops
///   when nothing could be written for five minutes. So a node survives the restart or failover of its
///   database.
/// * **Leases do not depend on the wall clock.** However it is set, a lease ends when its time has passed.
///   Values and closed journals never expire early while the store is open. A shared store measures both on
///   the clock of its database, and [`Lease::expires`](crate::Lease::expires) from before the request was
///   sent: a process never relies on a lease for longer than the database does.
/// * **Other processes.** Processes that share a store see facts and deltas after the commit; only readers in
///   the appending process see deltas earlier. If that process loses its lease before the commit, its readers
///   of those deltas get [`Unavailable`](crate::ErrorKind::Unavailable) and start again from their cursors.
/// * **Several changes in order.** [`write`](Store::write) applies its changes one after the other, after the
///   records of its receipt: a crash keeps a prefix of them. Calls made side by side have no such order,
///   because a store behind a network sends them over several connections.
/// * **Readers cost nothing.** A reader is a sequence number; an idle one holds no resources.
///
/// `headwater_testkit::store::behaviour` tests a store against this list.
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// Appends records of one class at the end of a journal. After a crash, all of them or the first few are
    /// there, never others.
    ///
    /// The call itself fixes their order; the receipt resolves when they are visible.
    ///
    /// # Errors
    /// At once [`Stale`](crate::ErrorKind::Stale), [`Closed`](crate::ErrorKind::Closed),
    /// [`Unknown`](crate::ErrorKind::Unknown), [`TooLarge`](crate::ErrorKind::TooLarge),
    /// [`Full`](crate::ErrorKind::Full), [`Busy`](crate::ErrorKind::Busy) or
    /// [`Stopped`](crate::ErrorKind::Stopped), with nothing appended; any of them,
    /// [`NoSpace`](crate::ErrorKind::NoSpace) and [`Io`](crate::ErrorKind::Io) from the receipt: then the
    /// records never become visible or, for visible deltas, are gone after the next claim.
    ///
    /// `TooLarge` and `Full` are permanent for this record and this journal. `Busy` is not: wait for
    /// [`room`](Store::room) and repeat the call.
    fn append(&self, lease: &Lease, class: Class, bodies: &[Bytes]) -> Result<Receipt>;

    /// Waits while more data waits to be written than the disk can handle. Nearly always ready at once.
    ///
    /// This is the store's back-pressure: wait for it before taking the next piece from a source that can be
    /// slowed down, such as a model's stream, and memory stays bounded while a disk stalls. It is a hint and
    /// reserves nothing: it resolves when half of the buffer is free, so that a few concurrent callers do not
    /// get [`Busy`](crate::ErrorKind::Busy); a call that does should wait for room and repeat. Facts are only
    /// refused at twice the bytes of deltas, because their callers wait for each of them.
    fn room(&self) -> Pending<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Whether [`room`](Store::room) would return at once. Called for each piece of a stream.
    fn has_room(&self) -> bool {
        matches!(self.room().now_or_never(), Some(Ok(())))
    }

    /// Reads the visible records after a sequence. An empty page is not an error.
    fn read<'a>(&'a self, journal: &'a JournalId, after: u64, limit: ReadLimit) -> Pending<'a, Page>;

    /// Waits until there is a record after a sequence, or the journal is closed. Does not poll.
    fn wait<'a>(&'a self, journal: &'a JournalId, after: u64) -> Pending<'a, Tail>;

    /// The metadata of a journal; `None` if it does not exist.
    fn info<'a>(&'a self, journal: &'a JournalId) -> Pending<'a, Option<JournalInfo>>;

    /// The names of journals after a name, in byte order. For tools that traverse the whole store: a page may
    /// cost as much as scanning every name.
    fn journals<'a>(&'a self, after: Option<&'a JournalId>, limit: usize) -> Pending<'a, Vec<JournalId>>;

    /// Writes a journal as it is in another store: with the same sequences, epochs, times, classes, beginning
    /// and end. If it had a driver, it counts as a journal whose driver has died
    /// ([`expired`](Store::expired)).
    ///
    /// A journal that is too large for memory is restored in pieces: call this with the same `info` and the
    /// next records, beginning with the first kept one, until the last one of `info.tail` was given. That
    /// call makes the journal exist, complete and durable. Until then no other call sees it, and the name is
    /// free: a claim, a deletion or a call with the first records again discards the pieces so far. After an
    /// error, begin again.
    ///
    /// From then on all epochs that the store assigns are higher than those of the journal.
    ///
    /// # Errors
    /// [`Exists`](crate::ErrorKind::Exists) when a journal of that name exists,
    /// [`Corrupt`](crate::ErrorKind::Corrupt) when the records are not the next ones of a journal with that
    /// `info`, [`TooLarge`](crate::ErrorKind::TooLarge) and [`Full`](crate::ErrorKind::Full) as for an
    /// append.
    fn restore<'a>(
        &'a self,
        journal: &'a JournalId,
        info: &'a JournalInfo,
        records: &'a [Record],
    ) -> Pending<'a, ()>;

    /// Closes a journal and ends its lease. It is kept for this long, or forever, and then deleted.
    fn close<'a>(&'a self, lease: &'a Lease, keep: Option<Duration>) -> Pending<'a, ()>;

    /// Trims the records before a sequence. The remaining ones keep their sequences.
    fn trim<'a>(&'a self, lease: &'a Lease, before: u64) -> Pending<'a, ()>;

    /// Deletes a journal that has no lease. A missing journal is not an error.
    fn delete<'a>(&'a self, journal: &'a JournalId) -> Pending<'a, ()>;

    /// Claims the lease of a journal with a new epoch; creates the journal if it does not exist.
    ///
    /// # Errors
    /// [`Held`](crate::ErrorKind::Held) while a lease is active, even the caller's own;
    /// [`Closed`](crate::ErrorKind::Closed) when the journal is closed.
    fn claim<'a>(&'a self, journal: &'a JournalId, owner: &'a str, ttl: Duration) -> Pending<'a, Lease>;

    /// Extends a lease from now on, even an expired one that has not been claimed since.
    fn renew<'a>(&'a self, lease: &'a Lease, ttl: Duration) -> Pending<'a, Lease>;

    /// Releases a lease: the journal waits for the next claim and is not listed as expired.
    fn release<'a>(&'a self, lease: &'a Lease) -> Pending<'a, ()>;

    /// Journals whose lease has expired without being released: their drivers have died.
    fn expired(&self, limit: usize) -> Pending<'_, Vec<JournalId>>;

    /// The value of a key.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) when the stored bytes are damaged.
    fn get<'a>(&'a self, key: &'a str) -> Pending<'a, Option<Value>>;

    /// Puts a value if the current one matches the expectation, for this long or forever; durable when done.
    /// Returns its version.
    ///
    /// # Errors
    /// [`Conflict`](crate::ErrorKind::Conflict) when the expectation does not match. A read after that
    /// returns the conflicting value or a newer one.
    fn put<'a>(
        &'a self,
        key: &'a str,
        bytes: Bytes,
        expect: Expect,
        ttl: Option<Duration>,
    ) -> Pending<'a, u64>;

    /// Removes a value if it matches the expectation; durable when done. Returns whether there was one.
    fn remove<'a>(&'a self, key: &'a str, expect: Expect) -> Pending<'a, bool>;

    /// Makes several changes in order, after the records of a receipt of this store. Durable when done; after
    /// a crash, a prefix of the records and changes is present. Returns the versions of the values that were
    /// put, and 0 for other changes.
    ///
    /// A store with one log writes all of it in one commit, which is why this is better than separate calls.
    ///
    /// # Errors
    /// The error of the first change that fails, as in a separate call. The changes before it were made, and
    /// none after it.
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

    /// Asks the store to start no commit until [`release_commit`](Store::release_commit), so that the calls
    /// in between share one. It is a hint with a time limit. Use [`together`], which cannot forget the
    /// release.
    fn hold_commit(&self) {}

    /// Ends a [`hold_commit`](Store::hold_commit).
    fn release_commit(&self) {}

    /// Values whose keys begin with a prefix, ordered by key, after a key. A value with damaged bytes is
    /// listed with its version and without bytes ([`Value::damaged`]), so that it can be reported and
    /// removed.
    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> Pending<'a, Vec<(String, Value)>>;

    /// Notifies when a value whose key begins with a prefix is put or removed, from now on.
    fn watch(&self, prefix: &str) -> Watch;

    /// Deletes expired journals and values, and frees their space.
    fn sweep(&self) -> Pending<'_, Swept>;

    /// Waits until everything appended so far is durable.
    fn flush(&self) -> Pending<'_, ()>;

    /// Waits until a failure has stopped the store, and returns it. A store that cannot fail waits forever.
    fn stopped(&self) -> Pin<Box<dyn Future<Output = Error> + Send + '_>> {
        Box::pin(std::future::pending())
    }

    /// The size limits, so that a caller can respect them and leave room for the end of a journal.
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
        /// The required current state.
        expect: Expect,
        /// Its lifetime; `None` means forever.
        ttl: Option<Duration>,
    },
    /// [`Store::remove`].
    Remove {
        /// The key.
        key: String,
        /// The required current state.
        expect: Expect,
    },
    /// [`Store::close`].
    Close {
        /// The lease of the journal.
        lease: Lease,
        /// Its lifetime; `None` means forever.
        keep: Option<Duration>,
    },
}

/// Polls a future so that all calls of one poll share one commit, if the store supports that: concurrent
/// calls then cost one fsync.
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

/// The size limits of a store.
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

/// The result of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Deleted journals.
    pub journals: u64,
    /// Deleted values.
    pub values: u64,
    /// Freed bytes of storage.
    pub bytes: u64,
}
