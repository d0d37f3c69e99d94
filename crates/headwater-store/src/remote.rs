//! Stores on an engine behind a network, which several machines share.
//!
//! What Redis and Postgres have in common is here; `Engine` is what each of them adds. All runs of a process go through
//! one writer:
//!
//! ```text
//! append ─▶ order and checks in memory ─▶ one commit for all runs ─▶ engine (checks the epoch, writes, wakes others)
//!                │                                                      │
//!                ▼                                                      ▼
//!      readers of this process                               readers of other processes
//! ```
//!
//! * An append is ordered in memory against the lease that this process holds, so it answers at once. The engine checks
//!   the lease's epoch again, in the same transaction or script that writes the records.
//! * What one commit has of a run is packed into as few entries as possible (`entry`).
//! * A lost connection is not a failed disk: the writer reconnects and sends its batch again. The engine knows the last
//!   sequence of each journal and epoch, so it recognises a batch whose answer was lost.
//! * A reader in this process reads what the writer has in memory. Other readers read the engine, once for all readers of
//!   a journal, when the engine's notification or a poll says that there is more (`watch`).

mod call;
mod context;
mod engine;
pub(crate) mod entry;
mod hints;
mod journal_driver;
mod local_journal;
mod options;
mod public_stores;
mod reads;
mod restore;
mod state;
mod store;
mod time;
mod watch;
mod writer;

pub use self::options::{EngineTime, Options};
pub(crate) use self::{
    call::random_u64,
    engine::{
        Answer, Append, ClaimOutcome, Engine, EngineFault, Hint, Hints, JournalEntries, JournalHeader,
        JournalHold, LeaseChange, Refusal, RestorePiece, StoredEntry, SweepStep, Verdict,
    },
    public_stores::delegate_store,
    store::Remote,
    time::EngineClock,
};
