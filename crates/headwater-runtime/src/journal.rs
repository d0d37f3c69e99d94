//! The typed journal of one run: events for readers and effects for replay, in one sequence.

mod effect;
mod entry;
mod fold;
mod fold_reader;
mod journals;
mod park;
mod reader;
mod record;
#[cfg(test)]
mod tests;
mod text_ref;
mod trace;
mod walk;
mod writer;

pub use effect::{AnswerValue, HistoryRange, InvalidatedStream, RunSpec};
pub(crate) use effect::{Effect, HookOutcome, HookRecord, NodeExit, ParkRecord, Visit, Wait, WaitKind};
pub use entry::JournalEntry;
pub(crate) use entry::{EmitId, Emits};
pub(crate) use fold::{Fold, OpenAttempt, fingerprint};
pub(crate) use fold_reader::FoldReader;
pub use fold_reader::state_after;
pub(crate) use journals::{Journals, run_exists};
pub(crate) use park::Park;
pub use reader::{RecordReader, VisibleRecord};
pub(crate) use reader::{StoredRecord, is_answer, is_snapshot};
pub(crate) use record::{RecordEncoder, state_in_snapshot};
pub(crate) use trace::step_of;
pub use trace::{TraceCall, TraceNode, TraceStep, TraceStepKind};
pub(crate) use walk::{Fork, RecordedWalk, SavedEntry, SavedWalk, Token, WalkStep};
use writer::JournalRoom;
pub(crate) use writer::{FoldGuard, Journal};
