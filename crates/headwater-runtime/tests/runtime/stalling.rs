//! A store with a disk that is slow at times.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use headwater_store::{
    Class, Error, ErrorKind, Expect, JournalId, JournalInfo, Lease, Limits, Page, Pending, ReadLimit,
    Receipt, Record, Result, Store, SweepReport, Tail, Value, Watch,
};
use tokio::sync::watch;

/// A store that has no room for records while it stalls, and also refuses some at other times.
#[derive(Debug)]
pub(crate) struct Stalling {
    store: Arc<dyn Store>,
    stalled: watch::Sender<bool>,
    /// This many of this many appends are refused, whether or not the store stalls.
    refuses: (u64, u64),
    appends: AtomicU64,
    refused: AtomicU64,
    records_read: AtomicU64,
}

impl Stalling {
    /// A store that refuses `refuses.0` of `refuses.1` appends.
    pub(crate) fn new(store: Arc<dyn Store>, refuses: (u64, u64)) -> Arc<Self> {
        let (stalled, _) = watch::channel(false);
        let [appends, refused, records_read] = [const { AtomicU64::new(0) }; 3];
        Arc::new(Self { store, stalled, refuses, appends, refused, records_read })
    }

    pub(crate) fn stall(&self, stalled: bool) {
        self.stalled.send_replace(stalled);
    }

    /// The number of refused appends.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// The number of records read.
    pub(crate) fn records_read(&self) -> u64 {
        self.records_read.load(Ordering::Relaxed)
    }
}

impl Store for Stalling {
    fn append(&self, lease: &Lease, class: Class, bodies: &[Bytes]) -> Result<Receipt> {
        let nth = self.appends.fetch_add(1, Ordering::Relaxed);
        if *self.stalled.borrow() || nth % self.refuses.1 < self.refuses.0 {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(Error::new(ErrorKind::Busy, "the disk is too slow"));
        }
        self.store.append(lease, class, bodies)
    }

    fn room(&self) -> Pending<'_, ()> {
        Box::pin(async {
            let _ = self.stalled.subscribe().wait_for(|stalled| !stalled).await;
            self.store.room().await
        })
    }

    fn read<'a>(&'a self, journal: &'a JournalId, after: u64, limit: ReadLimit) -> Pending<'a, Page> {
        Box::pin(async move {
            let page = self.store.read(journal, after, limit).await?;
            self.records_read.fetch_add(page.records.len() as u64, Ordering::Relaxed);
            Ok(page)
        })
    }

    fn wait<'a>(&'a self, journal: &'a JournalId, after: u64) -> Pending<'a, Tail> {
        self.store.wait(journal, after)
    }

    fn info<'a>(&'a self, journal: &'a JournalId) -> Pending<'a, Option<JournalInfo>> {
        self.store.info(journal)
    }

    fn close<'a>(&'a self, lease: &'a Lease, keep: Option<Duration>) -> Pending<'a, ()> {
        self.store.close(lease, keep)
    }

    fn trim<'a>(&'a self, lease: &'a Lease, before: u64) -> Pending<'a, ()> {
        self.store.trim(lease, before)
    }

    fn delete<'a>(&'a self, journal: &'a JournalId) -> Pending<'a, ()> {
        self.store.delete(journal)
    }

    fn claim<'a>(&'a self, journal: &'a JournalId, owner: &'a str, ttl: Duration) -> Pending<'a, Lease> {
        self.store.claim(journal, owner, ttl)
    }

    fn renew<'a>(&'a self, lease: &'a Lease, ttl: Duration) -> Pending<'a, Lease> {
        self.store.renew(lease, ttl)
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> Pending<'a, ()> {
        self.store.release(lease)
    }

    fn journals<'a>(&'a self, after: Option<&'a JournalId>, limit: usize) -> Pending<'a, Vec<JournalId>> {
        self.store.journals(after, limit)
    }

    fn restore<'a>(
        &'a self,
        journal: &'a JournalId,
        info: &'a JournalInfo,
        records: &'a [Record],
    ) -> Pending<'a, ()> {
        self.store.restore(journal, info, records)
    }

    fn expired(&self, limit: usize) -> Pending<'_, Vec<JournalId>> {
        self.store.expired(limit)
    }

    fn get<'a>(&'a self, key: &'a str) -> Pending<'a, Option<Value>> {
        self.store.get(key)
    }

    fn put<'a>(
        &'a self,
        key: &'a str,
        bytes: Bytes,
        expect: Expect,
        ttl: Option<Duration>,
    ) -> Pending<'a, u64> {
        self.store.put(key, bytes, expect, ttl)
    }

    fn remove<'a>(&'a self, key: &'a str, expect: Expect) -> Pending<'a, bool> {
        self.store.remove(key, expect)
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

    fn sweep(&self) -> Pending<'_, SweepReport> {
        self.store.sweep()
    }

    fn flush(&self) -> Pending<'_, ()> {
        self.store.flush()
    }

    fn limits(&self) -> Limits {
        self.store.limits()
    }
}
