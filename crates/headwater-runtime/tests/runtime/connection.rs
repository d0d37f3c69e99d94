//! The store as one process sees it, through a connection that a test can cut.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use headwater_store::{
    Class, Error, ErrorKind, Expect, JournalId, JournalInfo, Lease, Limits, Page, Pending, ReadLimit,
    Receipt, Record, Result, Store, SweepReport, Tail, Time, Value, Watch,
};
use tokio::sync::{Notify, watch};

/// A connection to a shared store.
///
/// While it is cut, deltas are visible in this process only and facts wait, as with a store behind a network.
/// When it is restored, the deltas are written if the lease is still valid, and lost otherwise.
#[derive(Debug)]
pub(crate) struct Connection {
    store: Arc<dyn Store>,
    is_cut: watch::Sender<bool>,
    /// Whether changed values wake no watchers.
    is_deaf: bool,
    /// Puts of keys with this prefix wait until it is cleared.
    held: watch::Sender<Option<&'static str>>,
    held_puts: AtomicUsize,
    /// The listed pages of values: their prefix and start key.
    lists: Mutex<Vec<(String, Option<String>)>>,
    /// Whether a fact waits for the connection.
    is_full: AtomicBool,
    unwritten: Mutex<HashMap<JournalId, (Lease, Vec<Record>)>>,
    changed: Notify,
}

impl Connection {
    pub(crate) fn new(store: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self::of(store))
    }

    /// A connection that delivers no notifications about changed values.
    pub(crate) fn deaf(store: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { is_deaf: true, ..Self::of(store) })
    }

    fn of(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            is_cut: watch::Sender::new(false),
            is_deaf: false,
            held: watch::Sender::new(None),
            held_puts: AtomicUsize::new(0),
            lists: Mutex::default(),
            is_full: AtomicBool::new(false),
            unwritten: Mutex::default(),
            changed: Notify::new(),
        }
    }

    pub(crate) fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    /// Restores the connection.
    pub(crate) fn restore(&self) {
        for (_, (lease, records)) in self.unwritten().drain() {
            let bodies: Vec<_> = records.into_iter().map(|record| record.body).collect();
            // They are lost if the lease was lost meanwhile.
            drop(self.store.append(&lease, Class::Delta, &bodies));
        }
        self.is_cut.send_replace(false);
        self.changed.notify_waiters();
    }

    /// Blocks or unblocks puts of keys with this prefix.
    pub(crate) fn hold_puts(&self, prefix: Option<&'static str>) {
        self.held.send_replace(prefix);
    }

    /// The number of puts that had to wait.
    pub(crate) fn held_puts(&self) -> usize {
        self.held_puts.load(Ordering::SeqCst)
    }

    /// The start keys of all listings of a prefix.
    pub(crate) fn listed(&self, prefix: &str) -> Vec<Option<String>> {
        let lists = self.lists.lock().unwrap();
        lists.iter().filter(|(of, _)| of == prefix).map(|(_, after)| after.clone()).collect()
    }

    fn unwritten(&self) -> MutexGuard<'_, HashMap<JournalId, (Lease, Vec<Record>)>> {
        self.unwritten.lock().unwrap()
    }

    async fn connected(&self) {
        let _ = self.is_cut.subscribe().wait_for(|cut| !cut).await;
    }
}

impl Store for Connection {
    fn append(&self, lease: &Lease, class: Class, bodies: &[Bytes]) -> Result<Receipt> {
        if !*self.is_cut.borrow() {
            return self.store.append(lease, class, bodies);
        }
        if class == Class::Fact {
            self.is_full.store(true, Ordering::SeqCst);
            return Err(Error::new(ErrorKind::Busy, "the connection is cut"));
        }
        let mut unwritten = self.unwritten();
        let (_, records) =
            unwritten.entry(lease.journal.clone()).or_insert_with(|| (lease.clone(), Vec::new()));
        let last = match records.last() {
            Some(last) => last.seq,
            None => {
                let info = futures_util::FutureExt::now_or_never(self.store.info(&lease.journal));
                info.unwrap().unwrap().unwrap().tail.last
            }
        };
        let first = last + 1;
        records.extend(bodies.iter().zip(first..).map(|(body, seq)| Record {
            seq,
            epoch: lease.epoch,
            time: Time(0),
            class,
            body: body.clone(),
        }));
        drop(unwritten);
        self.changed.notify_waiters();
        Ok(Receipt::settled(first, last + bodies.len() as u64))
    }

    fn room(&self) -> Pending<'_, ()> {
        Box::pin(async {
            if self.is_full.load(Ordering::SeqCst) {
                self.connected().await;
                self.is_full.store(false, Ordering::SeqCst);
            }
            self.store.room().await
        })
    }

    fn read<'a>(&'a self, journal: &'a JournalId, after: u64, limit: ReadLimit) -> Pending<'a, Page> {
        Box::pin(async move {
            let mut page = self.store.read(journal, after, limit).await?;
            if let Some((_, records)) = self.unwritten().get(journal)
                && page.records.last().is_none_or(|record| record.seq == page.tail.last)
                // Skip if another driver has written these sequence numbers.
                && records.first().is_some_and(|record| record.seq == page.tail.last + 1)
            {
                page.records.extend(records.iter().filter(|record| record.seq > after).cloned());
                page.tail.last = records.last().map_or(page.tail.last, |record| record.seq);
            }
            Ok(page)
        })
    }

    fn wait<'a>(&'a self, journal: &'a JournalId, after: u64) -> Pending<'a, Tail> {
        Box::pin(async move {
            loop {
                let changed = self.changed.notified();
                let seen = self.unwritten().get(journal).and_then(|(_, records)| Some(records.last()?.seq));
                if let Some(last) = seen.filter(|last| *last > after) {
                    return Ok(Tail { last, closed: false });
                }
                tokio::select! {
                    tail = self.store.wait(journal, after) => return tail,
                    () = changed => {}
                }
            }
        })
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
        Box::pin(async move {
            // As on a network, let other writers go first.
            tokio::task::yield_now().await;
            self.store.claim(journal, owner, ttl).await
        })
    }

    fn renew<'a>(&'a self, lease: &'a Lease, ttl: Duration) -> Pending<'a, Lease> {
        Box::pin(async move {
            self.connected().await;
            self.store.renew(lease, ttl).await
        })
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> Pending<'a, ()> {
        self.store.release(lease)
    }

    fn expired(&self, limit: usize) -> Pending<'_, Vec<JournalId>> {
        self.store.expired(limit)
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
        Box::pin(async move {
            if self.held.borrow().is_some_and(|prefix| key.starts_with(prefix)) {
                self.held_puts.fetch_add(1, Ordering::SeqCst);
            }
            let goes = |held: &Option<&str>| held.is_none_or(|prefix| !key.starts_with(prefix));
            let _ = self.held.subscribe().wait_for(goes).await;
            self.store.put(key, bytes, expect, ttl).await
        })
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
        self.lists.lock().unwrap().push((prefix.to_owned(), after.map(str::to_owned)));
        self.store.list(prefix, after, limit)
    }

    fn watch(&self, prefix: &str) -> Watch {
        if self.is_deaf { Watch::new(Arc::new(Notify::new())) } else { self.store.watch(prefix) }
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
