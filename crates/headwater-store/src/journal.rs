//! Journals and their records.

use std::{fmt, sync::Arc};

use bytes::Bytes;

use crate::Time;

/// The name of a journal. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JournalId(Arc<str>);

impl JournalId {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for JournalId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for JournalId {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<Arc<str>> for JournalId {
    fn from(text: Arc<str>) -> Self {
        Self(text)
    }
}

impl fmt::Display for JournalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for JournalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// When a record becomes visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Visible only once it is durable.
    Fact,
    /// Visible at once, durable a little later. Deltas lost in a crash belong to an attempt that is then
    /// retracted.
    Delta,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fact => "fact",
            Self::Delta => "delta",
        })
    }
}

/// One entry of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The sequence: the first record of a journal has 1, the next 2, without gaps.
    pub seq: u64,
    /// The epoch of the lease that wrote it.
    pub epoch: u64,
    /// When it was appended.
    pub time: Time,
    /// When it becomes visible.
    pub class: Class,
    /// The appended bytes.
    pub body: Bytes,
}

/// The maximum size of one read. One record is returned even if it alone is larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimit {
    /// The number of records.
    pub records: usize,
    /// The bytes of records.
    pub bytes: usize,
}

impl Default for ReadLimit {
    fn default() -> Self {
        Self { records: 1_024, bytes: 1 << 20 }
    }
}

/// The result of one read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The visible records, in order, without gaps.
    pub records: Vec<Record>,
    /// The end of the journal.
    pub tail: Tail,
}

/// The visible end of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    /// The last visible sequence; 0 without records.
    pub last: u64,
    /// Whether the journal is closed, so that no records will follow.
    pub closed: bool,
}

/// Where the records of an epoch begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochStart {
    /// The number of the epoch.
    pub epoch: u64,
    /// The sequence of its first record, written or to be written.
    pub first: u64,
}

/// The metadata of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalInfo {
    /// The first sequence that is kept; one more than the last if none is.
    pub first: u64,
    /// The end of the journal.
    pub tail: Tail,
    /// Its epochs, oldest first.
    pub epochs: Vec<EpochStart>,
    /// The bytes of all kept records.
    pub bytes: u64,
    /// The expiry time, once closed.
    pub goes: Option<Time>,
    /// Whether it has a driver, alive or dead: it is not closed, and its newest lease was not released.
    pub driven: bool,
}
