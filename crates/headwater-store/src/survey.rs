//! Counts the contents of any store, and verifies them by reading everything.

use std::collections::{BTreeMap, HashMap};

use crate::{
    Error, ErrorKind, JournalId, JournalInfo, JournalPages, ReadLimit, Record, Result, Store, Time,
    ValuePages, restore,
};

/// Number of values in memory at once.
const VALUES: usize = 128;

/// Further problems are counted but not described.
const MAX_PROBLEMS: usize = 100;

/// How thoroughly a store is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Values, and the first record of each journal.
    Counts,
    /// Also every record, which must have the expected sequence and epoch.
    Everything,
}

/// The contents of a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Survey {
    /// Journals by state.
    pub journals: JournalCounts,
    /// Kept records.
    pub records: u64,
    /// Bytes of all kept records.
    pub record_bytes: u64,
    /// The bytes of the largest journal.
    pub largest_journal: u64,
    /// Values by kind, the part of their keys before the first `/`.
    pub values: BTreeMap<String, ValueCounts>,
    /// The time of the oldest kept record.
    pub oldest: Option<Time>,
    /// The time of the newest first record: when the newest journal was created, unless it was trimmed.
    pub newest: Option<Time>,
    /// The number of problems.
    pub faults: u64,
    /// Descriptions of the problems, at most 100.
    pub problems: Vec<String>,
}

/// Journals by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JournalCounts {
    /// With a driver, alive or dead.
    pub active: u64,
    /// Not closed and without a driver: their runs wait.
    pub waiting: u64,
    /// Closed.
    pub closed: u64,
    /// The closed ones that never expire.
    pub kept: u64,
}

impl JournalCounts {
    /// The number of all journals.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.active + self.waiting + self.closed
    }
}

/// Values of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ValueCounts {
    /// The number of values.
    pub count: u64,
    /// Their bytes, without keys.
    pub bytes: u64,
    /// The values with an expiry time.
    pub expiring: u64,
}

impl Survey {
    /// Reads a store, which may be in use.
    ///
    /// # Errors
    /// When the store as a whole cannot be read. Problems of single journals or values are in
    /// [`Survey::problems`].
    pub async fn of(store: &dyn Store, depth: Depth) -> Result<Self> {
        let mut survey = Self::default();
        // No two leases of a store may have the same epoch.
        let mut epochs: HashMap<u64, JournalId> = HashMap::new();
        let mut pages = JournalPages::new(store);
        while let Some(page) = pages.next().await? {
            for name in &page {
                // A journal deleted since it was listed is not counted.
                let Some(info) = store.info(name).await? else { continue };
                survey.count_journal(store, depth, name, &info).await?;
                for start in info.epochs.iter().filter(|_| depth == Depth::Everything) {
                    if let Some(other) = epochs.insert(start.epoch, name.clone()) {
                        survey.problem(format!(
                            "journals {other} and {name} have the same epoch {}",
                            start.epoch
                        ));
                    }
                }
            }
        }
        survey.count_values(store).await?;
        Ok(survey)
    }

    /// Whether there are no problems.
    #[must_use]
    pub const fn is_good(&self) -> bool {
        self.faults == 0
    }

    async fn count_journal(
        &mut self,
        store: &dyn Store,
        depth: Depth,
        name: &JournalId,
        info: &JournalInfo,
    ) -> Result<()> {
        let counts = &mut self.journals;
        match (info.tail.closed, info.driven) {
            (true, _) => counts.closed += 1,
            (false, true) => counts.active += 1,
            (false, false) => counts.waiting += 1,
        }
        counts.kept += u64::from(info.tail.closed && info.goes.is_none());
        self.records += (info.tail.last + 1).saturating_sub(info.first);
        self.record_bytes += info.bytes;
        self.largest_journal = self.largest_journal.max(info.bytes);
        match self.read_journal(store, depth, name, info).await {
            Ok(()) => Ok(()),
            Err(error) if has_changed(store, name, info).await? => {
                // In a store in use, the journal may have been trimmed, taken over or deleted in between.
                let late = [ErrorKind::Unknown, ErrorKind::Corrupt];
                let trimmed = matches!(error.kind(), ErrorKind::Trimmed { .. });
                if trimmed || late.contains(error.kind()) { Ok(()) } else { Err(error) }
            }
            Err(error) if *error.kind() == ErrorKind::Corrupt => {
                self.problem(error.to_string());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    async fn read_journal(
        &mut self,
        store: &dyn Store,
        depth: Depth,
        name: &JournalId,
        info: &JournalInfo,
    ) -> Result<()> {
        let limit = match depth {
            Depth::Counts => ReadLimit { records: 1, bytes: 1 },
            Depth::Everything => ReadLimit { records: 4_096, bytes: 1 << 20 },
        };
        let (mut after, mut bytes) = (info.first - 1, 0);
        if after == info.tail.last && depth == Depth::Everything {
            return restore::step(info, &[]).map(drop).map_err(|what| corrupt(name, what));
        }
        while after < info.tail.last {
            let mut records = store.read(name, after, limit).await?.records;
            records.retain(|record| record.seq <= info.tail.last);
            check_records(name, after, info, &records)?;
            if let Some(first) = records.first().filter(|_| after + 1 == info.first) {
                self.oldest = Some(self.oldest.map_or(first.time, |oldest| oldest.min(first.time)));
                self.newest = Some(self.newest.map_or(first.time, |newest| newest.max(first.time)));
            }
            if depth == Depth::Counts {
                return Ok(());
            }
            after += records.len() as u64;
            bytes += records.iter().map(|record| record.body.len() as u64).sum::<u64>();
        }
        // While it is written, more may be counted than is visible.
        if bytes != info.bytes && !info.driven {
            return Err(corrupt(
                name,
                &format!("it has {bytes} bytes of records but its count is {}", info.bytes),
            ));
        }
        Ok(())
    }

    async fn count_values(&mut self, store: &dyn Store) -> Result<()> {
        let mut pages = ValuePages::new(store, "").size(VALUES);
        while let Some(page) = pages.next().await? {
            for (key, value) in &page {
                let kind = key.split_once('/').map_or(key.as_str(), |(kind, _)| kind);
                let counts = self.values.entry(kind.to_owned()).or_default();
                counts.count += 1;
                counts.bytes += value.bytes.len() as u64;
                counts.expiring += u64::from(value.expires.is_some());
                if value.damaged {
                    self.problem(format!(
                        "value {key} is damaged: restore the store from a copy, or remove it"
                    ));
                }
            }
        }
        Ok(())
    }

    fn problem(&mut self, what: String) {
        self.faults += 1;
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(what);
        }
    }
}

fn check_records(name: &JournalId, after: u64, info: &JournalInfo, records: &[Record]) -> Result<()> {
    let Some(first) = records.first() else {
        let what = format!("it should continue to record {} and ends with {after}", info.tail.last);
        return Err(corrupt(name, &what));
    };
    if first.seq != after + 1 {
        return Err(corrupt(name, &format!("record {} follows record {after}", first.seq)));
    }
    restore::step(info, records).map(drop).map_err(|what| corrupt(name, what))
}

fn corrupt(name: &JournalId, what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("journal {name}: {what}"))
}

async fn has_changed(store: &dyn Store, name: &JournalId, info: &JournalInfo) -> Result<bool> {
    Ok(store.info(name).await?.as_ref() != Some(info))
}
