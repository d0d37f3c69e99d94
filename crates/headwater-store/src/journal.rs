//! Journals and what is in them.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;

use crate::{Result, Time};

/// Names a journal. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JournalId(Arc<str>);

impl JournalId {
    /// The name's text.
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

/// When a record may be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Seen only when it is durable.
    Fact,
    /// Seen at once, durable a little later: what dies with the process was part of an attempt that is retracted.
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
    /// Its place: the first record of a journal has 1, the next 2, without gaps.
    pub seq: u64,
    /// The epoch of the lease that wrote it.
    pub epoch: u64,
    /// When it was appended.
    pub time: Time,
    /// When it may be seen.
    pub class: Class,
    /// What was appended.
    pub body: Bytes,
}

/// How much one read gives at most. One record is given even if it alone is larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimit {
    /// So many records.
    pub records: usize,
    /// So many bytes of records.
    pub bytes: usize,
}

impl Default for ReadLimit {
    fn default() -> Self {
        Self { records: 1_024, bytes: 1 << 20 }
    }
}

/// What one read gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The records that may be seen, in order, without gaps.
    pub records: Vec<Record>,
    /// How far the journal goes.
    pub tail: Tail,
}

/// How far a journal goes, for those who may see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    /// The last sequence that may be seen; 0 without one.
    pub last: u64,
    /// Whether nothing will follow it.
    pub closed: bool,
}

/// Where the records of an epoch begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochStart {
    /// The epoch.
    pub epoch: u64,
    /// The sequence of its first record, written or to be written.
    pub first: u64,
}

/// What is known about a journal without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalInfo {
    /// The first sequence that is kept; one more than the last if none is.
    pub first: u64,
    /// How far it goes.
    pub tail: Tail,
    /// Its epochs, oldest first.
    pub epochs: Vec<EpochStart>,
    /// The bytes of all kept records.
    pub bytes: u64,
    /// When it goes, once closed.
    pub goes: Option<Time>,
    /// Whether it has a driver, alive or dead: it is not closed, and its newest lease was not given back.
    pub driven: bool,
}

/// What was appended, and a future that is ready when it may be seen: at once for deltas, unless a fact before them is
/// not durable yet; when it is durable for facts.
///
/// What was appended stays so whether or not the receipt is waited for.
pub struct Receipt {
    first: u64,
    last: u64,
    settled: Option<Pin<Box<dyn Future<Output = Result<()>> + Send>>>,
}

impl Receipt {
    /// A receipt for what may be seen already.
    #[must_use]
    pub fn settled(first: u64, last: u64) -> Self {
        Self { first, last, settled: None }
    }

    /// A receipt for what may be seen once `settled` is ready.
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

    /// Gives the sequence of the last record.
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
