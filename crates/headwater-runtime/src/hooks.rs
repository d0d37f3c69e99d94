//! What node code calls on its context.

mod emit;
mod interrupt;
mod reason;
mod state;
mod structured;

pub use emit::Emit;
pub use interrupt::{Choice, Form, InterruptHook, MultiChoice, OptionalInterrupt, Question, Text};
pub use reason::{
    Ask, AskMode, Failover, FinishedToolCall, ReasonFuture, ReasonHook, ReasonReply, StructuredOutput,
    ToolOptions,
};
pub use state::StateHook;
pub use structured::StructuredHook;

pub(crate) use interrupt::wait_for;
