//! The state of a run, reduced from its events: messages, structured streams, open questions, the status.
//!
//! There is one reducer. If a vendor's client builds different messages from the same events (a reused call
//! id, data with a repeated id), the dialect sets [`Rules`]; our own rules are the default.

mod reduce;
mod replay;
mod run;
mod view;

pub use reduce::{Rules, RunState, ToolScope};
pub use run::{RunInfo, RunStatus};
pub use view::StateView;
