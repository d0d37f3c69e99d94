//! The typed journal of one run: events that readers see, and effects that only replay needs, in one sequence.

mod effect;
mod entry;
mod fold;
mod fold_reader;
mod park;
mod reader;
mod record;
#[cfg(test)]
mod tests;
mod text_ref;
mod walk;
mod writer;

pub use effect::{Answer, Begun, Invalidated};
pub(crate) use effect::{Effect, Left, Outcome, Parked, Visit, Wait, WaitKind};
pub(crate) use entry::Emitted;
pub use entry::Entry;
pub(crate) use fold::{Emits, Fold, HookRecord, OpenAttempt, fingerprint};
pub(crate) use fold_reader::FoldReader;
pub use fold_reader::state_after;
pub(crate) use park::Park;
pub use reader::{RecordReader, VisibleRecord};
pub(crate) use reader::{StoredRecord, is_answer, is_snapshot};
pub(crate) use record::{RecordEncoder, state_in_snapshot};
pub(crate) use walk::{Fork, RecordedWalk, SavedEntry, SavedWalk, Token, Walked};
pub(crate) use writer::{FoldGuard, Journal, Room};
