//! Everything known about values, by key.

use bytes::Bytes;
use headwater_store::{Time, Value};

use super::{Oracle, StoreRule, ValueChange, Verdict, hold};

impl Oracle {
    /// A change of a value has begun.
    pub fn began_change(&mut self, key: &str, change: ValueChange, now: Time) {
        self.waiting |= matches!(change, ValueChange::Put(..));
        self.values.entry(key.to_owned()).or_default().began(change, now);
    }

    /// A put was acknowledged.
    ///
    /// # Errors
    /// If it should have been refused, or its version is not new.
    pub fn put(&mut self, key: &str, version: u64, fits: bool) -> Verdict {
        self.wrote("a put")?;
        hold(StoreRule::ExpectationsHold, fits, || {
            format!("{key}: a put that expected something else succeeded")
        })?;
        self.newer(key, version)?;
        self.values.entry(key.to_owned()).or_default().put(version);
        Ok(())
    }

    /// A removal was acknowledged; `was_there` is whether it reported a value.
    ///
    /// # Errors
    /// If it should have been refused, or the report is wrong.
    pub fn removed(&mut self, key: &str, was_there: bool, fits: bool) -> Verdict {
        if was_there {
            self.wrote("a removal")?;
        }
        hold(StoreRule::ExpectationsHold, fits, || {
            format!("{key}: a removal that expected something else succeeded")
        })?;
        self.values.entry(key.to_owned()).or_default().removed(key, was_there)
    }

    /// A change was refused because of its expectation.
    ///
    /// # Errors
    /// If the expectation was met, or the reported version is wrong.
    pub fn conflicted(&mut self, key: &str, fits: bool, told: Option<u64>, now: Time) -> Verdict {
        let entry = self.values.entry(key.to_owned()).or_default();
        entry.in_flight = None;
        let there = entry.live(now).map(|known| known.version);
        hold(StoreRule::ExpectationsHold, !fits && told == there, || {
            format!("{key}: refused with version {told:?}, but the current version is {there:?}")
        })
    }

    /// A change was refused for another reason and did nothing.
    pub fn change_refused(&mut self, key: &str) {
        self.values.entry(key.to_owned()).or_default().in_flight = None;
    }

    /// The version of the current value, as far as known.
    #[must_use]
    pub fn version(&self, key: &str, now: Time) -> Option<u64> {
        self.values.get(key).and_then(|entry| entry.live(now)).map(|known| known.version)
    }

    /// A key was read.
    ///
    /// # Errors
    /// If the value is not the last one put.
    pub fn got(&mut self, key: &str, value: Option<&Value>, now: Time) -> Verdict {
        let damaged = self.damaged;
        let before = self.version_before;
        let version = self.values.entry(key.to_owned()).or_default().got(key, value, now, before, damaged)?;
        self.highest_version = self.highest_version.max(version);
        Ok(())
    }

    fn newer(&mut self, key: &str, version: u64) -> Verdict {
        hold(StoreRule::VersionsGrow, version > self.highest_version, || {
            format!("{key}: put at version {version} after {}", self.highest_version)
        })?;
        self.highest_version = version;
        Ok(())
    }
}

/// A key and its current value.
#[derive(Debug, Default)]
pub(super) struct KeyState {
    known: Option<KnownValue>,
    pub(super) in_flight: Option<ValueChange>,
    /// Whether there was a value when the call began.
    was_there: bool,
    /// The change in flight when the process died; it may or may not be done.
    perhaps: Option<ValueChange>,
    /// Everything ever put.
    ever: Vec<(Bytes, Option<Time>)>,
    /// Anything may be lost: the next state found is the truth if it existed once.
    forgotten: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KnownValue {
    bytes: Bytes,
    pub(super) version: u64,
    expires: Option<Time>,
}

impl KeyState {
    pub(super) fn live(&self, now: Time) -> Option<&KnownValue> {
        self.known.as_ref().filter(|known| known.expires.is_none_or(|expires| now < expires))
    }

    pub(super) fn began(&mut self, change: ValueChange, now: Time) {
        self.was_there = self.live(now).is_some();
        if let ValueChange::Put(bytes, expires) = &change {
            self.ever.push((bytes.clone(), *expires));
        }
        self.in_flight = Some(change);
    }

    pub(super) fn crashed(&mut self) {
        if let Some(change) = self.in_flight.take() {
            self.perhaps = Some(change);
        }
    }

    /// Failed changes were not made.
    pub(super) fn recovered(&mut self) {
        self.in_flight = None;
    }

    pub(super) fn forget(&mut self) {
        *self = Self { ever: std::mem::take(&mut self.ever), forgotten: true, ..Self::default() };
    }

    pub(super) fn put(&mut self, version: u64) {
        if let Some(ValueChange::Put(bytes, expires)) = self.in_flight.take() {
            self.known = Some(KnownValue { bytes, version, expires });
        }
    }

    pub(super) fn removed(&mut self, key: &str, told: bool) -> Verdict {
        self.in_flight = None;
        hold(StoreRule::ValuesStay, told == self.was_there, || {
            format!("{key}: a removal reports {told} instead of {}", self.was_there)
        })?;
        self.known = None;
        Ok(())
    }

    /// Returns the version that was read.
    pub(super) fn got(
        &mut self,
        key: &str,
        value: Option<&Value>,
        now: Time,
        before: u64,
        damaged: bool,
    ) -> Verdict<u64> {
        let got = value.map(|value| KnownValue {
            bytes: value.bytes.clone(),
            version: value.version,
            expires: value.expires,
        });
        if std::mem::take(&mut self.forgotten)
            && let Some(got) = &got
        {
            let was_put = self.ever.contains(&(got.bytes.clone(), got.expires));
            hold(StoreRule::ValuesStay, was_put, || format!("{key}: {got:?} was never put"))?;
            self.known = Some(got.clone());
        }
        let as_known = got.as_ref() == self.live(now);
        let change = self.perhaps.take();
        let as_changed = match (&change, &got) {
            (Some(ValueChange::Put(bytes, expires)), Some(got)) => {
                got.bytes == *bytes && got.expires == *expires && got.version > before
            }
            (Some(ValueChange::Put(_, Some(expires))), None) => *expires <= now,
            (Some(ValueChange::Remove), None) => true,
            _ => false,
        };
        hold(StoreRule::ValuesStay, as_known || as_changed || damaged, || {
            format!("{key}: got {got:?}; {:?} was put, then perhaps {change:?}", self.known)
        })?;
        let version = got.as_ref().map_or(0, |got| got.version);
        if !as_known {
            self.known = got;
        }
        Ok(version)
    }
}
