//! The typed journal of one run: events that readers see, and effects that only replay needs, in one sequence.

mod effect;
mod entry;
mod history;
mod park;
mod reader;
mod record;
#[cfg(test)]
mod tests;
mod writer;

pub use effect::{Answer, Begun, Invalidated};
pub(crate) use effect::{Effect, Left, Outcome, Parked, Visit, Wait, WaitKind};
pub(crate) use entry::Emitted;
pub use entry::Entry;
pub(crate) use history::{Emits, History, HookRecord, OpenAttempt, Walked, fingerprint};
pub(crate) use park::Park;
pub use reader::{RecordReader, VisibleRecord};
pub(crate) use reader::{StoredRecord, is_answer, is_snapshot};
pub(crate) use record::RecordEncoder;
pub(crate) use writer::{Beginning, Journal, Room};
