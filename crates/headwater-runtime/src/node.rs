//! One visit of a node: the state shared by its hooks, and their journal lookups and records.
//!
//! Nothing here depends on workflows: the run layer decides which node is visited, and when.

mod active_run;
mod divergence;
mod emit;
mod input;
mod park;
mod record;
mod rehearsal;
mod state;
mod visit;

pub(crate) use active_run::{ActiveRun, NodeServices};
pub use divergence::{Divergence, DivergenceKind};
pub use input::NodeInput;
pub(crate) use rehearsal::Rehearsal;
pub(crate) use state::SHARED;
pub(crate) use visit::{EntryState, HookKey, NodeVisit};
