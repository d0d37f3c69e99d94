//! What can be set.

use std::{sync::Arc, time::Duration};

use crate::{Clock, SystemClock};

/// How an embedded store behaves. Begin with the default and change what you need.
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
    /// When what was written is made durable.
    pub fsync: Fsync,
    /// Who writes.
    pub writer: Writer,
    /// A segment that has so many bytes is sealed and the next one begun. At most 1 GiB.
    pub segment_bytes: u64,
    /// The largest record.
    pub max_record_bytes: usize,
    /// The largest value.
    pub max_value_bytes: usize,
    /// The most that one journal keeps.
    pub max_journal_bytes: u64,
    /// The deltas that wait to be written, over all journals: more are refused as busy. Callers that wait for
    /// [`room`](crate::Store::room) wait from half of it on; facts and values have twice as much. At most 512 MiB.
    pub max_pending_bytes: usize,
    /// How long deltas wait for others before they are written together.
    pub delta_window: Duration,
    /// How many deltas of a journal may be seen before they are durable.
    pub delta_limit: u64,
    /// How much of the end of each driven journal stays in memory for its readers.
    pub tail_bytes: usize,
    /// How much of all journals' ends, and apart from that of values, stays in memory.
    pub cache_bytes: usize,
    /// How many files of sealed segments are open at the same time.
    pub max_open_files: usize,
    /// Tells the time.
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
            delta_window: Duration::from_millis(5),
            delta_limit: 256,
            tail_bytes: 256 << 10,
            cache_bytes: 32 << 20,
            max_open_files: 256,
            clock: Arc::new(SystemClock),
        }
    }
}

/// When what was written is made durable.
///
/// Whatever is chosen, a segment is made durable before the next one is begun, and so is all by
/// [`flush`](crate::Store::flush) and when the store is closed. Nothing that was written is lost when only the process
/// dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fsync {
    /// At each group commit that somebody waits for: a fact is durable before it is seen, also if the power fails. Deltas
    /// that no fact follows are made durable within a second.
    #[default]
    Commit,
    /// So often: facts are seen once the operating system has them, and a power cut loses at most the last of them.
    Interval(Duration),
    /// When the operating system pleases.
    Never,
}

/// Who writes what was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Writer {
    /// A thread of the store. It stops when the store is dropped, after it has written everything.
    #[default]
    Thread,
    /// Whoever calls [`Embedded::step`](super::Embedded::step): for simulations. Dropping the store writes nothing.
    Manual,
}
