//! A store whose process dies at a chosen write: writes before it were made, later ones are not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use headwater_store::{
    Class, Error, ErrorKind, Expect, JournalId, JournalInfo, Lease, Page, Pending, ReadLimit, Receipt,
    Record, Result, Store, SweepReport, Tail, Value, Watch,
};
use tokio::sync::Notify;

/// A store that accepts a number of writes of any kind and refuses all later ones, as if its process had
/// died.
///
/// The accepted writes are in the underlying store, which the next process can use. Reads continue to work,
/// so that a test can check what a reader saw until then.
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use headwater_store::{Class, Memory, Store};
/// use headwater_testkit::store::crash::CrashingStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> headwater_store::Result<()> {
/// let store = CrashingStore::new(Arc::new(Memory::new()), 2);
/// let lease = store.claim(&"run".into(), "me", Duration::from_secs(30)).await?;
/// store.append(&lease, Class::Fact, &["it began".into()])?.await?;
/// assert!(store.append(&lease, Class::Fact, &["it went on".into()]).is_err());
/// store.tripped().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CrashingStore {
    store: Arc<dyn Store>,
    /// Number of writes still accepted.
    left: AtomicU64,
    tripped: Notify,
    written: Arc<Notify>,
}

impl CrashingStore {
    /// A store that accepts this many writes.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, writes: u64) -> Self {
        Self { store, left: AtomicU64::new(writes), tripped: Notify::new(), written: Arc::default() }
    }

    /// Waits until a write was refused.
    pub async fn tripped(&self) {
        self.tripped.notified().await;
    }

    /// Notified of each write that a caller waits for, that is of all but deltas.
    #[must_use]
    pub fn written(&self) -> Arc<Notify> {
        Arc::clone(&self.written)
    }

    fn write(&self) -> Result<()> {
        let less = |left: u64| left.checked_sub(1);
        if self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok() {
            return Ok(());
        }
        self.tripped.notify_one();
        Err(Error::new(ErrorKind::Stopped, "the process has died"))
    }

    fn writing<'a, T: Send + 'a>(&'a self, write: impl FnOnce() -> Pending<'a, T>) -> Pending<'a, T> {
        if let Err(error) = self.write() {
            return Box::pin(std::future::ready(Err(error)));
        }
        let mut pending = write();
        Box::pin(std::future::poll_fn(move |cx| {
            let polled = pending.as_mut().poll(cx);
            // The store has accepted the write by now, so the task that performs it can be notified.
            self.written.notify_one();
            polled
        }))
    }
}

impl Store for CrashingStore {
    fn append(&self, lease: &Lease, class: Class, bodies: &[Bytes]) -> Result<Receipt> {
        self.write()?;
        let receipt = self.store.append(lease, class, bodies);
        if class == Class::Fact {
            self.written.notify_one();
        }
        receipt
    }

    fn close<'a>(&'a self, lease: &'a Lease, keep: Option<Duration>) -> Pending<'a, ()> {
        self.writing(|| self.store.close(lease, keep))
    }

    fn trim<'a>(&'a self, lease: &'a Lease, before: u64) -> Pending<'a, ()> {
        self.writing(|| self.store.trim(lease, before))
    }

    fn delete<'a>(&'a self, journal: &'a JournalId) -> Pending<'a, ()> {
        self.writing(|| self.store.delete(journal))
    }

    fn claim<'a>(&'a self, journal: &'a JournalId, owner: &'a str, ttl: Duration) -> Pending<'a, Lease> {
        self.writing(|| self.store.claim(journal, owner, ttl))
    }

    fn renew<'a>(&'a self, lease: &'a Lease, ttl: Duration) -> Pending<'a, Lease> {
        self.writing(|| self.store.renew(lease, ttl))
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> Pending<'a, ()> {
        self.writing(|| self.store.release(lease))
    }

    fn restore<'a>(
        &'a self,
        journal: &'a JournalId,
        info: &'a JournalInfo,
        records: &'a [Record],
    ) -> Pending<'a, ()> {
        self.writing(move || self.store.restore(journal, info, records))
    }

    fn put<'a>(
        &'a self,
        key: &'a str,
        bytes: Bytes,
        expect: Expect,
        ttl: Option<Duration>,
    ) -> Pending<'a, u64> {
        self.writing(move || self.store.put(key, bytes, expect, ttl))
    }

    fn remove<'a>(&'a self, key: &'a str, expect: Expect) -> Pending<'a, bool> {
        self.writing(move || self.store.remove(key, expect))
    }

    fn sweep(&self) -> Pending<'_, SweepReport> {
        self.writing(|| self.store.sweep())
    }

    fn flush(&self) -> Pending<'_, ()> {
        self.writing(|| self.store.flush())
    }

    fn room(&self) -> Pending<'_, ()> {
        self.store.room()
    }

    fn read<'a>(&'a self, journal: &'a JournalId, after: u64, limit: ReadLimit) -> Pending<'a, Page> {
        self.store.read(journal, after, limit)
    }

    fn wait<'a>(&'a self, journal: &'a JournalId, after: u64) -> Pending<'a, Tail> {
        self.store.wait(journal, after)
    }

    fn info<'a>(&'a self, journal: &'a JournalId) -> Pending<'a, Option<JournalInfo>> {
        self.store.info(journal)
    }

    fn journals<'a>(&'a self, after: Option<&'a JournalId>, limit: usize) -> Pending<'a, Vec<JournalId>> {
        self.store.journals(after, limit)
    }

    fn expired(&self, limit: usize) -> Pending<'_, Vec<JournalId>> {
        self.store.expired(limit)
    }

    fn get<'a>(&'a self, key: &'a str) -> Pending<'a, Option<Value>> {
        self.store.get(key)
    }

    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> Pending<'a, Vec<(String, Value)>> {
        self.store.list(prefix, after, limit)
    }

    fn watch(&self, prefix: &str) -> Watch {
        self.store.watch(prefix)
    }

    fn stopped(&self) -> std::pin::Pin<Box<dyn Future<Output = Error> + Send + '_>> {
        self.store.stopped()
    }

    fn limits(&self) -> headwater_store::Limits {
        self.store.limits()
    }
}
