//! What can be set, for every engine.

use std::{sync::Arc, time::Duration};

use crate::{Clock, SystemClock};

/// How a store on a shared engine behaves. Begin with the default and change what you need.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The largest record that is accepted. Larger ones are refused before anything is sent.
    pub max_record_bytes: usize,
    /// The largest value that is accepted. Larger ones are refused before anything is sent.
    pub max_value_bytes: usize,
    /// The most that one journal keeps.
    pub max_journal_bytes: u64,
    /// The deltas that wait to be written, over all journals: more are refused as busy. Callers that wait for
    /// [`room`](crate::Store::room) wait from half of it on; facts have twice as much.
    pub max_pending_bytes: usize,
    /// The least time between two commits that have only deltas: those that come within it are written together.
    pub delta_window: Duration,
    /// How many deltas of a journal may be seen in this process before they are durable.
    pub delta_limit: u64,
    /// How much of the end of each journal that is driven or followed here stays in memory.
    pub tail_bytes: usize,
    /// How much of all journals' ends stays in memory.
    pub cache_bytes: usize,
    /// How often the engine is asked for what no notification announced. A lost notification delays a reader by at most
    /// so long. Watches look again after five times as long.
    pub poll: Duration,
    /// How long a call other than an append is repeated while the engine cannot be reached. After that it fails as
    /// [`Unavailable`](crate::ErrorKind::Unavailable), and may be repeated by its caller.
    pub patience: Duration,
    /// The same for reading journals, and shorter: a reader can be served by another process meanwhile.
    pub read_patience: Duration,
    /// How long one request may take before its connection is considered lost. A call may take that much longer than its
    /// patience. Choose no more than a third of the lease, or a lost connection costs the leases that are renewed over it.
    pub request_timeout: Duration,
    /// How long the writer repeats its commit while the engine cannot be reached. After that the store has
    /// [`Stopped`](crate::ErrorKind::Stopped).
    pub give_up_after: Duration,
    /// This process's own clock: only its monotonic half is used, for [`Lease::expires`](crate::Lease::expires) and for
    /// what passes between two looks at the engine's clock. Its wall clock decides nothing.
    pub clock: Arc<dyn Clock>,
    /// Where the time of the engine comes from.
    pub engine_time: EngineTime,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_record_bytes: 16 << 20,
            max_value_bytes: 1 << 20,
            max_journal_bytes: 1 << 30,
            max_pending_bytes: 64 << 20,
            delta_window: Duration::from_millis(5),
            delta_limit: 256,
            tail_bytes: 256 << 10,
            cache_bytes: 64 << 20,
            poll: Duration::from_secs(3),
            patience: Duration::from_secs(60),
            read_patience: Duration::from_secs(10),
            request_timeout: Duration::from_secs(10),
            give_up_after: Duration::from_secs(300),
            clock: Arc::new(SystemClock),
            engine_time: EngineTime::Server,
        }
    }
}

/// Where the time of the engine comes from: the clock by which leases, values and closed journals expire.
#[derive(Debug, Clone, Default)]
pub enum EngineTime {
    /// The engine's own clock, which all processes share.
    #[default]
    Server,
    /// [`Options::clock`] says how much time has passed, whatever the engine's clock says. Only for tests that let time
    /// pass: all processes on the engine must then share that clock.
    Simulated,
}
