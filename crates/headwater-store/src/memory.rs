//! A store in memory: for tests, for demos, and for servers whose runs may end with the process.
//!
//! Nothing is durable, so everything may be visible at once and receipts complete immediately.

mod journal;
mod records;
mod values;

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, LazyLock, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;

use self::{
    journal::{MemoryJournal, Waiter},
    values::MemoryValues,
};
use crate::{
    Class, Clock, Error, ErrorKind, Expect, JournalId, JournalInfo, Lease, Page, Pending, ReadLimit, Receipt,
    Record, Result, Store, Swept, SystemClock, Tail, Time, Value, Watch, clock::Retention, restore,
};

/// The longest key of a value and the longest name of a journal, in bytes.
const MAX_NAME: usize = 1_024;

/// Approximate size of an empty journal without its name: its entry in the map and the journal itself.
const JOURNAL_COST: u64 = 320;

/// Size of a further epoch of a journal.
const EPOCH_COST: u64 = 16;

/// A sixteenth of the store is for facts and values alone: when deltas and new journals are refused, the journals that are
/// driven can still be ended.
const RESERVE_SHARE: u64 = 16;

/// A full store frees a sixteenth at once, so that it does not look for journals to free at every call.
const EVICTED_SHARE: u64 = 16;

/// A store with less room than this counts as full: a run could not start and end in it.
const LEAST_ROOM: u64 = 16 << 10;

/// The epochs of all memory stores of this process. They start at the time of first use, so that the epoch in
/// a cursor of an earlier process is never reused by this one.
static EPOCHS: LazyLock<AtomicU64> = LazyLock::new(|| AtomicU64::new(SystemClock.now().0 << 20));

/// Limits of a [`Memory`] store.
///
/// ```
/// use headwater_store::{Memory, MemoryOptions};
///
/// let store = Memory::with(MemoryOptions { max_bytes: 64 << 20, ..MemoryOptions::default() });
/// ```
#[derive(Debug, Clone)]
pub struct MemoryOptions {
    /// Maximum memory in bytes, including overhead. When it is reached, closed journals are dropped early,
    /// oldest first.
    pub max_bytes: u64,
    /// The records of one journal.
    pub max_journal_bytes: u64,
    /// One record.
    pub max_record_bytes: usize,
    /// One value.
    pub max_value_bytes: usize,
    /// The clock of the store.
    pub clock: Arc<dyn Clock>,
}

impl Default for MemoryOptions {
    /// 1 GiB in all, 256 MiB for a journal, 16 MiB for a record, 1 MiB for a value.
    fn default() -> Self {
        Self {
            max_bytes: 1 << 30,
            max_journal_bytes: 256 << 20,
            max_record_bytes: 16 << 20,
            max_value_bytes: 1 << 20,
            clock: Arc::new(SystemClock),
        }
    }
}

/// A store in memory. Its content is lost with it.
///
/// Its size is bounded. When [`MemoryOptions::max_bytes`] is reached, closed journals with a lifetime are
/// dropped early, in order of expiry. If none is left, it returns [`Full`](ErrorKind::Full), for deltas and
/// new journals a little earlier than for facts and values: so a driven journal can still be ended.
pub struct Memory {
    journals: RwLock<HashMap<JournalId, Arc<Mutex<MemoryJournal>>>>,
    /// Journals that are being restored. Locked after `journals`, never before.
    unfinished: Mutex<HashMap<JournalId, MemoryJournal>>,
    values: Mutex<MemoryValues>,
    used: Usage,
    retention: Retention,
    options: MemoryOptions,
}

/// The bytes in use, and their limit.
#[derive(Debug)]
struct Usage {
    bytes: AtomicU64,
    max: u64,
}

/// The purpose of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Can be refused without harm to existing data.
    More,
    /// Needed to bring a driven journal to its end.
    Fact,
}

impl Usage {
    fn limit(&self, purpose: Purpose) -> u64 {
        match purpose {
            Purpose::More => self.max - self.max / RESERVE_SHARE,
            Purpose::Fact => self.max,
        }
    }

    fn has_room(&self, bytes: u64, purpose: Purpose) -> bool {
        self.bytes.load(Ordering::Relaxed).saturating_add(bytes) <= self.limit(purpose)
    }

    fn take(&self, bytes: u64, purpose: Purpose) -> Result<()> {
        let limit = self.limit(purpose);
        let more = |used: u64| used.checked_add(bytes).filter(|&used| used <= limit);
        match self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(()),
            Err(_) => Err(self.full()),
        }
    }

    fn full(&self) -> Error {
        let message = format!(
            "the memory store is full: it keeps {} bytes, and has no ended journal to drop. Allow it more, or delete something",
            self.max
        );
        Error::new(ErrorKind::Full, message)
    }

    /// Allocates beyond the limit, where refusing would leave a journal without a driver.
    fn take_anyway(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Replaces an allocation of one size by another.
    fn change(&self, before: u64, after: u64) {
        self.take_anyway(after.saturating_sub(before));
        self.give_back(before.saturating_sub(after));
    }

    fn give_back(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Memory {
    /// An empty store of the usual size.
    #[must_use]
    pub fn new() -> Self {
        Self::with(MemoryOptions::default())
    }

    /// An empty store.
    #[must_use]
    pub fn with(options: MemoryOptions) -> Self {
        Self {
            journals: RwLock::default(),
            unfinished: Mutex::default(),
            values: Mutex::default(),
            used: Usage { bytes: AtomicU64::new(0), max: options.max_bytes },
            retention: Retention::new(options.clock.clone()),
            options,
        }
    }

    fn reading(&self) -> RwLockReadGuard<'_, HashMap<JournalId, Arc<Mutex<MemoryJournal>>>> {
        self.journals.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self) -> RwLockWriteGuard<'_, HashMap<JournalId, Arc<Mutex<MemoryJournal>>>> {
        self.journals.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn journal(&self, id: &JournalId) -> Result<Arc<Mutex<MemoryJournal>>> {
        self.reading().get(id).cloned().ok_or_else(|| Error::unknown(id))
    }

    /// Does something to a journal that this lease may write.
    fn driving<T>(&self, lease: &Lease, act: impl FnOnce(&mut MemoryJournal) -> T) -> Result<T> {
        let journal = self.journal(&lease.journal)?;
        let mut journal = lock(&journal);
        journal.check(lease)?;
        Ok(act(&mut journal))
    }

    /// Changes a journal under its lease, and updates its size, which usually shrinks.
    fn resizing(&self, lease: &Lease, act: impl FnOnce(&mut MemoryJournal)) -> Result<()> {
        self.driving(lease, |journal| {
            let before = journal.cost();
            act(journal);
            self.used.change(before, journal.cost());
        })
    }

    fn claim_now(&self, id: &JournalId, owner: &str, ttl: Duration) -> Result<Lease> {
        check_name("journal name", id.as_str())?;
        self.make_room(LEAST_ROOM, Purpose::More);
        let now = self.options.clock.monotonic();
        let epoch = || EPOCHS.fetch_add(1, Ordering::Relaxed) + 1;
        let mut journals = self.writing();
        if let Some(journal) = journals.get(id) {
            let lease = lock(journal).claim(id, owner, now, ttl, epoch)?;
            self.used.take_anyway(EPOCH_COST);
            return Ok(lease);
        }
        self.discard_unfinished(id);
        if !self.used.has_room(LEAST_ROOM, Purpose::More) {
            // There would be no room for much more than its first record.
            return Err(self.used.full());
        }
        self.used.take(JOURNAL_COST + EPOCH_COST + id.as_str().len() as u64, Purpose::More)?;
        let mut journal = MemoryJournal::default();
        let lease = journal.claim(id, owner, now, ttl, epoch)?;
        journals.insert(id.clone(), Arc::new(Mutex::new(journal)));
        Ok(lease)
    }

    fn delete_now(&self, id: &JournalId) -> Result<()> {
        let now = self.options.clock.monotonic();
        let mut journals = self.writing();
        let Some(journal) = journals.get(id).cloned() else {
            self.discard_unfinished(id);
            return Ok(());
        };
        let mut journal = lock(&journal);
        journal.check_nobody_holds(id, now)?;
        journals.remove(id);
        drop(journals);
        self.let_go(id, &mut journal);
        Ok(())
    }

    fn discard_unfinished(&self, id: &JournalId) {
        let unfinished = lock(&self.unfinished).remove(id);
        if let Some(mut journal) = unfinished {
            self.let_go(id, &mut journal);
        }
    }

    fn restore_now(&self, id: &JournalId, info: &JournalInfo, records: &[Record]) -> Result<()> {
        check_name("journal name", id.as_str())?;
        let step = restore::check(id, info, records)?;
        let bytes = records.iter().map(|record| record.body.len() as u64).sum::<u64>();
        self.make_room(records::cost_of(records.len(), bytes) + LEAST_ROOM, Purpose::More);
        let mut journals = self.writing();
        if journals.contains_key(id) {
            return Err(Error::exists(id));
        }
        if step.begins {
            self.discard_unfinished(id);
            let cost = JOURNAL_COST + EPOCH_COST * info.epochs.len() as u64 + id.as_str().len() as u64;
            self.used.take(cost, Purpose::More)?;
            lock(&self.unfinished).insert(id.clone(), MemoryJournal::restored(info));
        }
        if let Err(error) = self.restore_records(id, records) {
            self.discard_unfinished(id);
            return Err(error);
        }
        if step.completes
            && let Some(journal) = lock(&self.unfinished).remove(id)
        {
            let newest = info.epochs.last().map_or(0, |start| start.epoch);
            EPOCHS.fetch_max(newest, Ordering::Relaxed);
            journals.insert(id.clone(), Arc::new(Mutex::new(journal)));
        }
        Ok(())
    }

    fn restore_records(&self, id: &JournalId, records: &[Record]) -> Result<()> {
        let mut unfinished = lock(&self.unfinished);
        let journal = unfinished.get_mut(id).ok_or_else(|| restore::not_begun(id))?;
        if records.is_empty() {
            return Ok(());
        }
        restore::check_next(id, journal.tail().last, records)?;
        let (max, limit) = (self.options.max_record_bytes, self.options.max_journal_bytes);
        if let Some(record) = records.iter().find(|record| record.body.len() > max) {
            let what = format!("journal {id}: record {}", record.seq);
            return Err(Error::too_large(&what, record.body.len(), max));
        }
        let bytes = records.iter().map(|record| record.body.len() as u64).sum::<u64>();
        if journal.bytes() + bytes > limit {
            return Err(restore::too_long(id, limit));
        }
        let (cost, before) = (records::cost_of(records.len(), bytes), journal.cost());
        self.used.take(cost, Purpose::More)?;
        journal.restore(records);
        self.used.change(before + cost, journal.cost());
        Ok(())
    }

    /// Empties a journal that was removed from the map, and wakes its waiters. Returns the freed bytes.
    fn let_go(&self, id: &JournalId, journal: &mut MemoryJournal) -> u64 {
        let bytes = journal.cost() + id.as_str().len() as u64;
        journal.end();
        self.used.give_back(bytes);
        bytes
    }

    /// Drops closed journals until this many bytes are free, if possible.
    fn make_room(&self, bytes: u64, purpose: Purpose) {
        if self.used.has_room(bytes, purpose) {
            return;
        }
        let mut closed: Vec<(Time, JournalId)> = self
            .reading()
            .iter()
            .filter_map(|(id, journal)| Some((lock(journal).goes()?, id.clone())))
            .collect();
        closed.sort_unstable();
        let wanted = bytes.saturating_add(self.used.max / EVICTED_SHARE);
        for (_, id) in closed {
            if self.used.has_room(wanted, purpose) {
                break;
            }
            let mut journals = self.writing();
            // It may have been deleted and created again since it was listed.
            let Some(journal) = journals.get(&id).cloned() else { continue };
            let mut journal = lock(&journal);
            if journal.goes().is_some() {
                journals.remove(&id);
                drop(journals);
                self.let_go(&id, &mut journal);
            }
        }
    }

    fn sweep_now(&self) -> Swept {
        let now = self.retention.now();
        let (values, bytes) = lock(&self.values).sweep(now);
        self.used.give_back(bytes);
        let mut swept = Swept { journals: 0, values, bytes };
        let over: Vec<JournalId> = self
            .reading()
            .iter()
            .filter(|(_, journal)| lock(journal).is_over(now))
            .map(|(id, _)| id.clone())
            .collect();
        for id in over {
            let mut journals = self.writing();
            // It may have been deleted and created again since it was listed.
            let Some(journal) = journals.get(&id).cloned() else { continue };
            let mut journal = lock(&journal);
            if journal.is_over(now) {
                journals.remove(&id);
                drop(journals);
                swept.bytes += self.let_go(&id, &mut journal);
                swept.journals += 1;
            }
        }
        swept
    }

    fn put_now(&self, key: &str, bytes: Bytes, expect: Expect, ttl: Option<Duration>) -> Result<u64> {
        check_name("key", key)?;
        if bytes.len() > self.options.max_value_bytes {
            let what = format!("value {key}");
            return Err(Error::too_large(&what, bytes.len(), self.options.max_value_bytes));
        }
        self.make_room(values::cost(key, &bytes), Purpose::Fact);
        let expires = ttl.map(|ttl| self.retention.deadline(ttl));
        lock(&self.values).put(key, bytes, expect, expires, self.retention.now(), &self.used)
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory")
            .field("journals", &self.reading().len())
            .field("values", &lock(&self.values).len())
            .field("bytes", &self.used.bytes.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}

impl Store for Memory {
    fn append(&self, lease: &Lease, class: Class, bodies: &[Bytes]) -> Result<Receipt> {
        let max = self.options.max_record_bytes;
        if let Some(body) = bodies.iter().find(|body| body.len() > max) {
            let what = format!("journal {}: a {class}", lease.journal);
            return Err(Error::too_large(&what, body.len(), max));
        }
        let bytes = bodies.iter().map(|body| body.len() as u64).sum::<u64>();
        let cost = records::cost_of(bodies.len(), bytes);
        let purpose = if class == Class::Fact { Purpose::Fact } else { Purpose::More };
        self.make_room(cost, purpose);
        let now = self.options.clock.now();
        let journal = self.journal(&lease.journal)?;
        let mut journal = lock(&journal);
        journal.check(lease)?;
        let limit = self.options.max_journal_bytes;
        if journal.bytes() + bytes > limit {
            return Err(Error::full(&lease.journal, class, limit));
        }
        self.used.take(cost, purpose)?;
        let (first, before) = (journal.tail().last + 1, journal.cost());
        let waiting = journal.append(class, now, bodies);
        // Records that were packed take less.
        self.used.change(before + cost, journal.cost());
        let last = journal.tail().last;
        drop(journal);
        if let Some(waiting) = waiting {
            waiting.notify_waiters();
        }
        Ok(Receipt::settled(first, last))
    }

    fn has_room(&self) -> bool {
        true
    }

    fn read<'a>(&'a self, journal: &'a JournalId, after: u64, limit: ReadLimit) -> Pending<'a, Page> {
        Box::pin(async move { lock(&*self.journal(journal)?).read(journal, after, limit) })
    }

    fn wait<'a>(&'a self, journal: &'a JournalId, after: u64) -> Pending<'a, Tail> {
        Box::pin(async move {
            let found = self.journal(journal)?;
            loop {
                let waiter;
                let woken = {
                    let mut state = lock(&found);
                    if let Some(tail) = state.beyond(journal, after)? {
                        return Ok(tail);
                    }
                    waiter = Waiter::new(&found, &mut state);
                    // Created before the lock is released, so that no append falls between the check and the
                    // wait.
                    waiter.notified()
                };
                woken.await;
            }
        })
    }

    fn info<'a>(&'a self, journal: &'a JournalId) -> Pending<'a, Option<JournalInfo>> {
        Box::pin(async move { Ok(self.journal(journal).ok().map(|found| lock(&found).info())) })
    }

    fn journals<'a>(&'a self, after: Option<&'a JournalId>, limit: usize) -> Pending<'a, Vec<JournalId>> {
        Box::pin(async move { Ok(restore::page_of(self.reading().keys(), after, limit)) })
    }

    fn restore<'a>(
        &'a self,
        journal: &'a JournalId,
        info: &'a JournalInfo,
        records: &'a [Record],
    ) -> Pending<'a, ()> {
        Box::pin(async move { self.restore_now(journal, info, records) })
    }

    fn close<'a>(&'a self, lease: &'a Lease, keep: Option<Duration>) -> Pending<'a, ()> {
        Box::pin(async move {
            let goes = keep.map(|keep| self.retention.deadline(keep));
            self.resizing(lease, |journal| journal.close(goes))
        })
    }

    fn trim<'a>(&'a self, lease: &'a Lease, before: u64) -> Pending<'a, ()> {
        Box::pin(async move { self.resizing(lease, |journal| journal.trim(before)) })
    }

    fn delete<'a>(&'a self, journal: &'a JournalId) -> Pending<'a, ()> {
        Box::pin(async move { self.delete_now(journal) })
    }

    fn claim<'a>(&'a self, journal: &'a JournalId, owner: &'a str, ttl: Duration) -> Pending<'a, Lease> {
        Box::pin(async move { self.claim_now(journal, owner, ttl) })
    }

    fn renew<'a>(&'a self, lease: &'a Lease, ttl: Duration) -> Pending<'a, Lease> {
        Box::pin(async move {
            let expires = self.options.clock.monotonic().after(ttl);
            self.driving(lease, |journal| journal.renew(expires))?;
            Ok(Lease { expires, ..lease.clone() })
        })
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> Pending<'a, ()> {
        Box::pin(async move { self.resizing(lease, MemoryJournal::release) })
    }

    fn expired(&self, limit: usize) -> Pending<'_, Vec<JournalId>> {
        Box::pin(async move {
            let now = self.options.clock.monotonic();
            let mut expired: Vec<_> = self
                .reading()
                .iter()
                .filter_map(|(id, journal)| Some((lock(journal).expired_at(now)?, id.clone())))
                .collect();
            // The one that has waited longest comes first, so that a limit starves none.
            expired.sort_unstable();
            Ok(expired.into_iter().take(limit).map(|(_, id)| id).collect())
        })
    }

    fn get<'a>(&'a self, key: &'a str) -> Pending<'a, Option<Value>> {
        Box::pin(async move { Ok(lock(&self.values).get(key, self.retention.now())) })
    }

    fn put<'a>(
        &'a self,
        key: &'a str,
        bytes: Bytes,
        expect: Expect,
        ttl: Option<Duration>,
    ) -> Pending<'a, u64> {
        Box::pin(async move { self.put_now(key, bytes, expect, ttl) })
    }

    fn remove<'a>(&'a self, key: &'a str, expect: Expect) -> Pending<'a, bool> {
        Box::pin(async move { lock(&self.values).remove(key, expect, self.retention.now(), &self.used) })
    }

    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> Pending<'a, Vec<(String, Value)>> {
        Box::pin(async move { Ok(lock(&self.values).list(prefix, after, limit, self.retention.now())) })
    }

    fn watch(&self, prefix: &str) -> Watch {
        lock(&self.values).watch(prefix)
    }

    fn sweep(&self) -> Pending<'_, Swept> {
        Box::pin(async move { Ok(self.sweep_now()) })
    }

    /// Nothing has to be written. This fails when nothing more can be kept.
    fn flush(&self) -> Pending<'_, ()> {
        self.make_room(LEAST_ROOM, Purpose::More);
        let has_room = self.used.has_room(LEAST_ROOM, Purpose::More);
        Box::pin(std::future::ready(if has_room { Ok(()) } else { Err(self.used.full()) }))
    }

    fn limits(&self) -> crate::Limits {
        crate::Limits::new(self.options.max_record_bytes, self.options.max_journal_bytes)
    }
}

fn check_name(what: &str, name: &str) -> Result<()> {
    if name.len() > MAX_NAME {
        return Err(Error::too_large(what, name.len(), MAX_NAME));
    }
    Ok(())
}

/// A panic while the lock is held can only come from a failed allocation: the data is consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
