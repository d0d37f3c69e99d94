//! A store that counts its calls.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use headwater_store::{
    Class, Error, Expect, JournalId, JournalInfo, Lease, Limits, Page, Pending, ReadLimit, Receipt, Record,
    Result, Store, SweepReport, Tail, Value, Watch, WriteOp,
};

/// The calls of a store, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    /// The heads of sessions that were read.
    pub(crate) heads: u64,
    /// All values, lists and pages of records that were read.
    pub(crate) reads: u64,
    pub(crate) read_bytes: u64,
    /// The calls that change something.
    pub(crate) writes: u64,
    pub(crate) written_bytes: u64,
}

impl Calls {
    /// The calls since an earlier count.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            heads: self.heads - before.heads,
            reads: self.reads - before.reads,
            read_bytes: self.read_bytes - before.read_bytes,
            writes: self.writes - before.writes,
            written_bytes: self.written_bytes - before.written_bytes,
        }
    }
}

#[derive(Debug)]
pub(crate) struct CountingStore {
    store: Arc<dyn Store>,
    calls: Mutex<Calls>,
}

impl CountingStore {
    pub(crate) fn new(store: impl Store) -> Arc<Self> {
        Arc::new(Self { store: Arc::new(store), calls: Mutex::default() })
    }

    pub(crate) fn calls(&self) -> Calls {
        *self.calls.lock().unwrap()
    }

    fn read_some(&self, bytes: usize) {
        let mut calls = self.calls.lock().unwrap();
        calls.reads += 1;
        calls.read_bytes += bytes as u64;
    }

    fn wrote(&self, bytes: usize) {
        let mut calls = self.calls.lock().unwrap();
        calls.writes += 1;
        calls.written_bytes += bytes as u64;
    }
}

impl Store for CountingStore {
    fn append(&self, lease: &Lease, class: Class, bodies: &[Bytes]) -> Result<Receipt> {
        self.wrote(bodies.iter().map(Bytes::len).sum());
        self.store.append(lease, class, bodies)
    }

    fn room(&self) -> Pending<'_, ()> {
        self.store.room()
    }

    fn read<'a>(&'a self, journal: &'a JournalId, after: u64, limit: ReadLimit) -> Pending<'a, Page> {
        Box::pin(async move {
            let page = self.store.read(journal, after, limit).await?;
            self.read_some(page.records.iter().map(|record| record.body.len()).sum());
            Ok(page)
        })
    }

    fn wait<'a>(&'a self, journal: &'a JournalId, after: u64) -> Pending<'a, Tail> {
        self.store.wait(journal, after)
    }

    fn info<'a>(&'a self, journal: &'a JournalId) -> Pending<'a, Option<JournalInfo>> {
        self.read_some(0);
        self.store.info(journal)
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

    fn close<'a>(&'a self, lease: &'a Lease, keep: Option<Duration>) -> Pending<'a, ()> {
        self.wrote(0);
        self.store.close(lease, keep)
    }

    fn trim<'a>(&'a self, lease: &'a Lease, before: u64) -> Pending<'a, ()> {
        self.wrote(0);
        self.store.trim(lease, before)
    }

    fn delete<'a>(&'a self, journal: &'a JournalId) -> Pending<'a, ()> {
        self.wrote(0);
        self.store.delete(journal)
    }

    fn claim<'a>(&'a self, journal: &'a JournalId, owner: &'a str, ttl: Duration) -> Pending<'a, Lease> {
        self.wrote(0);
        self.store.claim(journal, owner, ttl)
    }

    fn renew<'a>(&'a self, lease: &'a Lease, ttl: Duration) -> Pending<'a, Lease> {
        self.store.renew(lease, ttl)
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> Pending<'a, ()> {
        self.wrote(0);
        self.store.release(lease)
    }

    fn expired(&self, limit: usize) -> Pending<'_, Vec<JournalId>> {
        self.store.expired(limit)
    }

    fn get<'a>(&'a self, key: &'a str) -> Pending<'a, Option<Value>> {
        Box::pin(async move {
            let value = self.store.get(key).await?;
            self.read_some(value.as_ref().map_or(0, |value| value.bytes.len()));
            self.calls.lock().unwrap().heads += u64::from(key.starts_with("session/"));
            Ok(value)
        })
    }

    fn put<'a>(
        &'a self,
        key: &'a str,
        bytes: Bytes,
        expect: Expect,
        ttl: Option<Duration>,
    ) -> Pending<'a, u64> {
        self.wrote(bytes.len());
        self.store.put(key, bytes, expect, ttl)
    }

    fn remove<'a>(&'a self, key: &'a str, expect: Expect) -> Pending<'a, bool> {
        self.wrote(0);
        self.store.remove(key, expect)
    }

    fn write<'a>(&'a self, after: Option<Receipt>, changes: Vec<WriteOp>) -> Pending<'a, Vec<u64>> {
        let bytes = |change: &WriteOp| match change {
            WriteOp::Put { bytes, .. } => bytes.len(),
            WriteOp::Remove { .. } | WriteOp::Close { .. } => 0,
        };
        self.wrote(changes.iter().map(bytes).sum());
        self.store.write(after, changes)
    }

    fn hold_commit(&self) {
        self.store.hold_commit();
    }

    fn release_commit(&self) {
        self.store.release_commit();
    }

    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> Pending<'a, Vec<(String, Value)>> {
        Box::pin(async move {
            let page = self.store.list(prefix, after, limit).await?;
            self.read_some(page.iter().map(|(_, value)| value.bytes.len()).sum());
            Ok(page)
        })
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

    fn stopped(&self) -> Pin<Box<dyn Future<Output = Error> + Send + '_>> {
        self.store.stopped()
    }

    fn limits(&self) -> Limits {
        self.store.limits()
    }
}
