//! Journals and their records.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;

use crate::{Result, Time};

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

/// The result of an append, and a future that resolves when the records are visible: for deltas at once,
/// unless an earlier fact is not durable yet; for facts when they are durable.
///
/// The records stay appended even if the receipt is dropped.
pub struct Receipt {
    first: u64,
    last: u64,
    settled: Option<Pin<Box<dyn Future<Output = Result<()>> + Send>>>,
}

impl Receipt {
    /// A receipt for records that are already visible.
    #[must_use]
    pub fn settled(first: u64, last: u64) -> Self {
        Self { first, last, settled: None }
    }

    /// A receipt for records that are visible once `settled` resolves.
    #[must_use]
    pub fn later(first: u64, last: u64, settled: Pin<Box<dyn Future<Output = Result<()>> + Send>>) -> Self {
        Self { first, last, settled: Some(settled) }
    }

    /// The sequence of the first appended record.
    #[must_use]
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// The sequence of the last appended record.
    #[must_use]
    pub const fn last(&self) -> u64 {
        self.last
    }
}

impl Future for Receipt {
    type Output = Result<u64>;

    /// Resolves to the sequence of the last record.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let last = self.last;
        match &mut self.settled {
            None => Poll::Ready(Ok(last)),
            Some(settled) => settled.as_mut().poll(cx).map_ok(|()| last),
        }
    }
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receipt")
            .field("first", &self.first)
            .field("last", &self.last)
            .field("settled", &self.settled.is_none())
            .finish()
    }
}
