//! One visit of a node: what its hooks share, and what they look up in the journal or record there.
//!
//! Nothing here knows workflows: the run layer decides which node is visited, and when.

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
