//! One execution of an agent for one request, from its beginning or from what its journal holds.

mod close;
mod drive;
mod execute;
mod inbox;
mod park;
mod shared;
mod show;
mod visit;
mod walk;

pub(crate) use close::{RunEnd, RunTrace, finish};
pub(crate) use drive::{Driven, drive};
pub(crate) use execute::{Executed, execute};
pub(crate) use inbox::{Sent, request_id};
pub(crate) use shared::RunShared;
pub(crate) use visit::{HookKey, NodeRun};
pub(crate) use walk::{Ended, EntryState, Walk};
