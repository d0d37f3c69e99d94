//! The small values of a store in memory, and those who watch them.

use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{Arc, Weak},
};

use bytes::Bytes;
use tokio::sync::Notify;

use super::{Purpose, Usage};
use crate::{Error, Expect, Result, Time, Value, Watch};

/// Approximate overhead of a value, beside its key and its bytes.
const VALUE_COST: u64 = 128;

/// All values.
#[derive(Debug, Default)]
pub(super) struct MemoryValues {
    values: BTreeMap<Box<str>, Value>,
    version: u64,
    watches: Vec<(Box<str>, Weak<Notify>)>,
}

impl MemoryValues {
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn get(&self, key: &str, now: Time) -> Option<Value> {
        self.values.get(key).filter(|value| is_live(value, now)).cloned()
    }

    pub(super) fn put(
        &mut self,
        key: &str,
        bytes: Bytes,
        expect: Expect,
        expires: Option<Time>,
        now: Time,
        used: &Usage,
    ) -> Result<u64> {
        self.check(key, expect, now)?;
        used.take(cost(key, &bytes), Purpose::Fact)?;
        self.version += 1;
        let value = Value { bytes, version: self.version, expires, damaged: false };
        if let Some(old) = self.values.insert(key.into(), value) {
            used.give_back(cost(key, &old.bytes));
        }
        self.tell(key);
        Ok(self.version)
    }

    pub(super) fn remove(&mut self, key: &str, expect: Expect, now: Time, used: &Usage) -> Result<bool> {
        self.check(key, expect, now)?;
        let Some(old) = self.values.remove(key) else {
            return Ok(false);
        };
        used.give_back(cost(key, &old.bytes));
        let was_live = is_live(&old, now);
        if was_live {
            self.tell(key);
        }
        Ok(was_live)
    }

    pub(super) fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
        now: Time,
    ) -> Vec<(String, Value)> {
        let from = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        self.values
            .range::<str, _>((from, Bound::Unbounded))
            .take_while(|(key, _)| key.starts_with(prefix))
            .filter(|(_, value)| is_live(value, now))
            .take(limit)
            .map(|(key, value)| (key.to_string(), value.clone()))
            .collect()
    }

    pub(super) fn watch(&mut self, prefix: &str) -> Watch {
        let notify = Arc::new(Notify::new());
        self.watches.retain(|(_, watch)| watch.strong_count() > 0);
        self.watches.push((prefix.into(), Arc::downgrade(&notify)));
        Watch::new(notify)
    }

    /// Returns the number of removed values, and their bytes.
    pub(super) fn sweep(&mut self, now: Time) -> (u64, u64) {
        let (mut count, mut bytes) = (0, 0);
        self.values.retain(|key, value| {
            let live = is_live(value, now);
            if !live {
                count += 1;
                bytes += cost(key, &value.bytes);
            }
            live
        });
        (count, bytes)
    }

    fn check(&self, key: &str, expect: Expect, now: Time) -> Result<()> {
        let current = self.values.get(key).filter(|value| is_live(value, now)).map(|value| value.version);
        let expected = match expect {
            Expect::Any => true,
            Expect::Absent => current.is_none(),
            Expect::Version(version) => current == Some(version),
        };
        if expected { Ok(()) } else { Err(Error::conflict(key, current)) }
    }

    fn tell(&mut self, key: &str) {
        self.watches.retain(|(prefix, watch)| {
            let Some(notify) = watch.upgrade() else { return false };
            if key.starts_with(&**prefix) {
                notify.notify_one();
            }
            true
        });
    }
}

fn is_live(value: &Value, now: Time) -> bool {
    value.expires.is_none_or(|expires| now < expires)
}

/// Size of a value.
pub(super) fn cost(key: &str, bytes: &Bytes) -> u64 {
    VALUE_COST + (key.len() + bytes.len()) as u64
}
