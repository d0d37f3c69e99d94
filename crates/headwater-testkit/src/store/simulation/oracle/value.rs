//! What is known about the values, and about each key.

use bytes::Bytes;
use headwater_store::{Time, Value};

use super::{Change, Oracle, Rule, Verdict, hold};

impl Oracle {
    /// A change of a value has begun.
    pub fn began_change(&mut self, key: &str, change: Change, now: Time) {
        self.waiting |= matches!(change, Change::Put(..));
        self.values.entry(key.to_owned()).or_default().began(change, now);
    }

    /// A put was acknowledged.
    ///
    /// # Errors
    /// When it should have been refused, or its version is not new.
    pub fn put(&mut self, key: &str, version: u64, fits: bool) -> Verdict {
        self.wrote("a put")?;
        hold(Rule::ExpectationsHold, fits, || {
            format!("{key}: a put that expected something else succeeded")
        })?;
        self.newer(key, version)?;
        self.values.entry(key.to_owned()).or_default().put(version);
        Ok(())
    }

    /// A removal was acknowledged, and said whether there was a value.
    ///
    /// # Errors
    /// When it should have been refused, or is wrong about that.
    pub fn removed(&mut self, key: &str, was_there: bool, fits: bool) -> Verdict {
        if was_there {
            self.wrote("a removal")?;
        }
        hold(Rule::ExpectationsHold, fits, || {
            format!("{key}: a removal that expected something else succeeded")
        })?;
        self.values.entry(key.to_owned()).or_default().removed(key, was_there)
    }

    /// A change was refused because of what it expected.
    ///
    /// # Errors
    /// When what it expected was there, or another version is told.
    pub fn conflicted(&mut self, key: &str, fits: bool, told: Option<u64>, now: Time) -> Verdict {
        let entry = self.values.entry(key.to_owned()).or_default();
        entry.in_flight = None;
        let there = entry.live(now).map(|known| known.version);
        hold(Rule::ExpectationsHold, !fits && told == there, || {
            format!("{key}: refused with {told:?} there, and {there:?} is")
        })
    }

    /// A change was refused for another reason, and did nothing.
    pub fn change_refused(&mut self, key: &str) {
        self.values.entry(key.to_owned()).or_default().in_flight = None;
    }

    /// The version of a value that is there, as far as is known.
    #[must_use]
    pub fn version(&self, key: &str, now: Time) -> Option<u64> {
        self.values.get(key).and_then(|entry| entry.live(now)).map(|known| known.version)
    }

    /// What a key gave.
    ///
    /// # Errors
    /// When that was not put last.
    pub fn got(&mut self, key: &str, value: Option<&Value>, now: Time) -> Verdict {
        let damaged = self.damaged;
        let before = self.version_before;
        let version = self.values.entry(key.to_owned()).or_default().got(key, value, now, before, damaged)?;
        self.highest_version = self.highest_version.max(version);
        Ok(())
    }

    fn newer(&mut self, key: &str, version: u64) -> Verdict {
        hold(Rule::VersionsGrow, version > self.highest_version, || {
            format!("{key}: put at version {version} after {}", self.highest_version)
        })?;
        self.highest_version = version;
        Ok(())
    }
}

/// A key, and the value that it has if it has one.
#[derive(Debug, Default)]
pub(super) struct Key {
    known: Option<Known>,
    pub(super) in_flight: Option<Change>,
    /// Whether there was a value when that was called.
    was_there: bool,
    /// What was in flight when the process died: done or not.
    perhaps: Option<Change>,
    /// Everything that was ever put.
    ever: Vec<(Bytes, Option<Time>)>,
    /// Any of it may be lost: what is found next is the truth, if it was ever so.
    forgotten: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    bytes: Bytes,
    pub(super) version: u64,
    expires: Option<Time>,
}

impl Key {
    pub(super) fn live(&self, now: Time) -> Option<&Known> {
        self.known.as_ref().filter(|known| known.expires.is_none_or(|expires| now < expires))
    }

    pub(super) fn began(&mut self, change: Change, now: Time) {
        self.was_there = self.live(now).is_some();
        if let Change::Put(bytes, expires) = &change {
            self.ever.push((bytes.clone(), *expires));
        }
        self.in_flight = Some(change);
    }

    pub(super) fn crashed(&mut self) {
        if let Some(change) = self.in_flight.take() {
            self.perhaps = Some(change);
        }
    }

    /// What had failed was not done.
    pub(super) fn recovered(&mut self) {
        self.in_flight = None;
    }

    pub(super) fn forget(&mut self) {
        *self = Self { ever: std::mem::take(&mut self.ever), forgotten: true, ..Self::default() };
    }

    pub(super) fn put(&mut self, version: u64) {
        if let Some(Change::Put(bytes, expires)) = self.in_flight.take() {
            self.known = Some(Known { bytes, version, expires });
        }
    }

    pub(super) fn removed(&mut self, key: &str, told: bool) -> Verdict {
        self.in_flight = None;
        hold(Rule::ValuesStay, told == self.was_there, || {
            format!("{key}: a removal says {told}, and {} is so", self.was_there)
        })?;
        self.known = None;
        Ok(())
    }

    /// Gives the version that was got.
    pub(super) fn got(
        &mut self,
        key: &str,
        value: Option<&Value>,
        now: Time,
        before: u64,
        damaged: bool,
    ) -> Verdict<u64> {
        let got = value.map(|value| Known {
            bytes: value.bytes.clone(),
            version: value.version,
            expires: value.expires,
        });
        if std::mem::take(&mut self.forgotten)
            && let Some(got) = &got
        {
            let was_put = self.ever.contains(&(got.bytes.clone(), got.expires));
            hold(Rule::ValuesStay, was_put, || format!("{key}: {got:?} was never put"))?;
            self.known = Some(got.clone());
        }
        let as_known = got.as_ref() == self.live(now);
        let change = self.perhaps.take();
        let as_changed = match (&change, &got) {
            (Some(Change::Put(bytes, expires)), Some(got)) => {
                got.bytes == *bytes && got.expires == *expires && got.version > before
            }
            (Some(Change::Put(_, Some(expires))), None) => *expires <= now,
            (Some(Change::Remove), None) => true,
            _ => false,
        };
        hold(Rule::ValuesStay, as_known || as_changed || damaged, || {
            format!("{key}: got {got:?}; {:?} was put, then perhaps {change:?}", self.known)
        })?;
        let version = got.as_ref().map_or(0, |got| got.version);
        if !as_known {
            self.known = got;
        }
        Ok(version)
    }
}
