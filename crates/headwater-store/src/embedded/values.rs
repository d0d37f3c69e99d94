//! Small values: positions, writes in progress, and watchers.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    ops::Bound,
    sync::{Arc, Weak},
};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::{Error, Expect, Result, Time, Watch};

/// All values of a store.
#[derive(Debug, Default)]
pub(super) struct EmbeddedValues {
    durable: BTreeMap<Arc<str>, StoredValue>,
    /// The newest version of keys whose put or removal is not durable yet; `None` for a removal.
    pending: HashMap<Arc<str>, (u64, Option<Option<Time>>)>,
    /// Values with an expiry time, the earliest first.
    expiring: BTreeMap<(Time, u64), Arc<str>>,
    cache: Cache,
    watchers: Watchers,
}

/// A durable value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredValue {
    pub(super) version: u64,
    pub(super) expires: Option<Time>,
    pub(super) segment: u64,
    pub(super) offset: u32,
    /// The length of its frame.
    pub(super) length: u32,
}

impl StoredValue {
    fn is_there(expires: Option<Time>, now: Time) -> bool {
        expires.is_none_or(|expires| now < expires)
    }
}

impl EmbeddedValues {
    pub(super) fn with_cache(bytes: usize) -> Self {
        Self { cache: Cache { limit: bytes, ..Cache::default() }, ..Self::default() }
    }

    /// A visible value.
    pub(super) fn get(&self, key: &str, now: Time) -> Option<StoredValue> {
        self.durable.get(key).copied().filter(|stored| StoredValue::is_there(stored.expires, now))
    }

    /// Checks an expectation against the newest version, durable or not. Returns that version.
    pub(super) fn check(&self, key: &str, expect: Expect, now: Time) -> Result<Option<u64>> {
        let current = match self.pending.get(key) {
            Some((_, None)) => None,
            Some((version, Some(expires))) => StoredValue::is_there(*expires, now).then_some(*version),
            None => self.get(key, now).map(|stored| stored.version),
        };
        match (expect, current) {
            (Expect::Any, _) | (Expect::Absent, None) => Ok(current),
            (Expect::Version(expected), Some(version)) if expected == version => Ok(current),
            _ => Err(Error::conflict(key, current)),
        }
    }

    /// Whether a write of a key is in progress.
    pub(super) fn is_pending(&self, key: &str) -> bool {
        self.pending.contains_key(key)
    }

    /// Registers a write in progress.
    pub(super) fn begin(&mut self, key: Arc<str>, version: u64, put: Option<Option<Time>>) {
        self.pending.insert(key, (version, put));
    }

    /// Makes a durable put visible.
    pub(super) fn put(
        &mut self,
        key: &Arc<str>,
        stored: StoredValue,
        bytes: Option<&Bytes>,
    ) -> Option<StoredValue> {
        self.settle_pending(key, stored.version);
        let before = self.drop_stored(key);
        if let Some(expires) = stored.expires {
            self.expiring.insert((expires, stored.version), key.clone());
        }
        self.durable.insert(key.clone(), stored);
        if let Some(bytes) = bytes {
            self.cache.insert(stored.version, bytes.clone());
        }
        self.watchers.notify(key);
        before
    }

    /// Makes a durable removal visible.
    pub(super) fn remove(&mut self, key: &str, version: u64) -> Option<StoredValue> {
        self.settle_pending(key, version);
        let before = self.drop_stored(key);
        self.watchers.notify(key);
        before
    }

    fn settle_pending(&mut self, key: &str, version: u64) {
        if self.pending.get(key).is_some_and(|(newest, _)| *newest == version) {
            self.pending.remove(key);
        }
    }

    fn drop_stored(&mut self, key: &str) -> Option<StoredValue> {
        let stored = self.durable.remove(key)?;
        if let Some(expires) = stored.expires {
            self.expiring.remove(&(expires, stored.version));
        }
        self.cache.remove(stored.version);
        Some(stored)
    }

    /// Updates the position of a moved value.
    pub(super) fn moved(&mut self, key: &str, version: u64, segment: u64, offset: u32) {
        if let Some(stored) = self.durable.get_mut(key).filter(|stored| stored.version == version) {
            (stored.segment, stored.offset) = (segment, offset);
        }
    }

    /// Expired keys without a write in progress.
    pub(super) fn over(&self, now: Time) -> Vec<Arc<str>> {
        let until = (now, u64::MAX);
        let keys = self.expiring.range(..=until).map(|(_, key)| key);
        keys.filter(|key| !self.pending.contains_key(*key)).cloned().collect()
    }

    /// Values after a key that begin with a prefix.
    pub(super) fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
        now: Time,
    ) -> Vec<(Arc<str>, StoredValue)> {
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        self.durable
            .range::<str, _>((start, Bound::Unbounded))
            .take_while(|(key, _)| key.starts_with(prefix))
            .filter(|(_, stored)| StoredValue::is_there(stored.expires, now))
            .take(limit)
            .map(|(key, stored)| (key.clone(), *stored))
            .collect()
    }

    pub(super) fn cached(&self, version: u64) -> Option<Bytes> {
        self.cache.bytes.get(&version).cloned()
    }

    pub(super) fn cache(&mut self, key: &str, version: u64, bytes: Bytes) {
        if self.durable.get(key).is_some_and(|stored| stored.version == version) {
            self.cache.insert(version, bytes);
        }
    }

    /// Takes over the watchers of another instance, which may have missed changes.
    pub(super) fn keep_watches(&mut self, others: &mut Self) {
        self.watchers = std::mem::take(&mut others.watchers);
        self.watchers.notify_all();
    }

    pub(super) fn watch(&mut self, prefix: &str) -> Watch {
        self.watchers.add(prefix)
    }

    /// Whether this is the newest durable version of a key.
    pub(super) fn is_newest(&self, key: &str, version: u64) -> bool {
        self.durable.get(key).is_some_and(|stored| stored.version == version)
    }

    pub(super) fn len(&self) -> usize {
        self.durable.len()
    }
}

/// The bytes of recent values, by version: a version's bytes never change.
#[derive(Debug, Default)]
struct Cache {
    limit: usize,
    used: usize,
    bytes: HashMap<u64, Bytes>,
    order: VecDeque<u64>,
}

impl Cache {
    /// The memory of an entry besides its bytes.
    const ENTRY: usize = 128;

    fn insert(&mut self, version: u64, bytes: Bytes) {
        let cost = bytes.len() + Self::ENTRY;
        if cost > self.limit / 4 || self.bytes.contains_key(&version) {
            return;
        }
        self.used += cost;
        self.bytes.insert(version, bytes);
        self.order.push_back(version);
        while self.used > self.limit || self.order.len() > 2 * self.bytes.len() + 16 {
            let Some(oldest) = self.order.pop_front() else { break };
            self.remove(oldest);
        }
    }

    fn remove(&mut self, version: u64) {
        if let Some(bytes) = self.bytes.remove(&version) {
            self.used -= bytes.len() + Self::ENTRY;
        }
    }
}

/// Watchers by prefix. A change looks up the few prefixes of its key that have a watched length.
#[derive(Debug, Default)]
struct Watchers {
    by_prefix: BTreeMap<String, Vec<Weak<Notify>>>,
    lengths: BTreeMap<usize, usize>,
    /// The number of watchers at which dropped ones are removed.
    room: usize,
    count: usize,
}

impl Watchers {
    fn add(&mut self, prefix: &str) -> Watch {
        if self.count >= self.room {
            self.let_go_of_the_dead();
            self.room = (self.count * 2).max(64);
        }
        let notify = Arc::new(Notify::new());
        let watchers = self.by_prefix.entry(prefix.to_owned()).or_default();
        if watchers.is_empty() {
            *self.lengths.entry(prefix.len()).or_default() += 1;
        }
        watchers.push(Arc::downgrade(&notify));
        self.count += 1;
        Watch::new(notify)
    }

    fn notify(&mut self, key: &str) {
        for length in self.lengths.keys() {
            let watchers = key.get(..*length).and_then(|prefix| self.by_prefix.get(prefix));
            for notify in watchers.into_iter().flatten().filter_map(Weak::upgrade) {
                notify.notify_one();
            }
        }
    }

    fn notify_all(&self) {
        let watchers = self.by_prefix.values().flatten().filter_map(Weak::upgrade);
        watchers.for_each(|notify| notify.notify_one());
    }

    fn let_go_of_the_dead(&mut self) {
        self.by_prefix.retain(|_, watchers| {
            watchers.retain(|watcher| watcher.strong_count() > 0);
            !watchers.is_empty()
        });
        self.lengths.clear();
        self.count = 0;
        for (prefix, watchers) in &self.by_prefix {
            *self.lengths.entry(prefix.len()).or_default() += 1;
            self.count += watchers.len();
        }
    }
}
