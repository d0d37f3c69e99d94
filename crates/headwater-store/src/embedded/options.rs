//! The options of an embedded store.

use std::{sync::Arc, time::Duration};

use crate::{Clock, SystemClock};

/// The options of an embedded store. Start with the default and change what you need.
///
/// ```
/// use headwater_store::embedded::{Fsync, Options};
///
/// let mut options = Options::default();
/// options.fsync = Fsync::Never;
/// assert_eq!(options.delta_limit, 256);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// When writes are made durable.
    pub fsync: Fsync,
    /// The thread that writes.
    pub writer: Writer,
    /// The size at which a segment is sealed and the next one started. At most 1 GiB.
    pub segment_bytes: u64,
    /// The maximum size of a record.
    pub max_record_bytes: usize,
    /// The maximum size of a value.
    pub max_value_bytes: usize,
    /// The maximum size of a journal.
    pub max_journal_bytes: u64,
    /// The maximum bytes of deltas waiting to be written, over all journals: more are refused as busy.
    /// Callers of [`room`](crate::Store::room) wait from half of it on; facts and values have twice as much.
    /// At most 512 MiB.
    pub max_pending_bytes: usize,
    /// How long a commit waits at most for callers that are gathering changes for it
    /// ([`together`](crate::together)). They do so within one poll of a task, which is much shorter; a poll that
    /// takes longer must not hold up others.
    pub gather_window: Duration,
    /// How long deltas wait for others to be written together.
    pub delta_window: Duration,
    /// Maximum number of a journal's deltas that are visible before they are durable.
    pub delta_limit: u64,
    /// Bytes at the end of each driven journal that stay in memory for its readers.
    pub tail_bytes: usize,
    /// Bytes of all journals' ends that stay in memory; the same again for values.
    pub cache_bytes: usize,
    /// Maximum number of open files of sealed segments.
    pub max_open_files: usize,
    /// Where leases and expiry get their time from. Tests set a clock that they move.
    pub clock: Arc<dyn Clock>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            fsync: Fsync::Commit,
            writer: Writer::Thread,
            segment_bytes: 64 << 20,
            max_record_bytes: 16 << 20,
            max_value_bytes: 1 << 20,
            max_journal_bytes: 1 << 30,
            max_pending_bytes: 64 << 20,
            gather_window: Duration::from_micros(500),
            delta_window: Duration::from_millis(5),
            delta_limit: 256,
            tail_bytes: 256 << 10,
            cache_bytes: 32 << 20,
            max_open_files: 256,
            clock: Arc::new(SystemClock),
        }
    }
}

/// When writes are made durable.
///
/// With any policy a segment is made durable before the next one is started, and everything is made durable
/// by [`flush`](crate::Store::flush) and on close. If only the process dies, no write is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fsync {
    /// At each group commit that a caller waits for: facts are durable before they are visible, even if the
    /// power fails. Deltas without a following fact are made durable within a second.
    #[default]
    Commit,
    /// At this interval: facts are visible once the operating system has them, and a power cut loses at most
    /// the last ones.
    Interval(Duration),
    /// Whenever the operating system writes them.
    Never,
}

/// The thread that writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Writer {
    /// A thread of the store. It stops when the store is dropped, after it has written everything.
    #[default]
    Thread,
    /// The caller of [`Embedded::step`](super::Embedded::step), for simulations. Dropping the store writes
    /// nothing.
    Manual,
}
