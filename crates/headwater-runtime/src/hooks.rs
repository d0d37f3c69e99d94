//! What node code calls on its context.

mod emit;
mod interrupt;
mod reason;
mod state;
mod structured;

pub use emit::Emit;
pub use interrupt::{Choice, Declinable, Form, InterruptHook, MaybeAnswer, MultiChoice, Question, Text};
pub use reason::{
    Ask, AskMode, Failover, Reason, ReasonFuture, Reply, Structured, ToolCallMade, ToolOptions,
};
pub use state::State;
pub use structured::StructuredHook;

pub(crate) use interrupt::{answering, check_answer, check_schema, wait_for};
pub(crate) use state::SHARED;
