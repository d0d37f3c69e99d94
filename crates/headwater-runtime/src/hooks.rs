//! The hooks that node code calls on its context.

mod call_wait;
mod emit;
mod interrupt;
mod reason;
mod relay;
mod state;
mod structured;

pub use call_wait::CallDecision;
pub use emit::Emit;
pub use interrupt::{Choice, Form, InterruptHook, MultiChoice, OptionalInterrupt, Question, Text};
pub use reason::{
    Ask, AskMode, Failover, FinishedToolCall, ReasonFuture, ReasonHook, ReasonReply, StructuredOutput,
    ToolOptions,
};
pub use relay::{Relay, RelayHook};
pub use state::StateHook;
pub use structured::StructuredHook;

pub(crate) use call_wait::{approve, call_client};
pub(crate) use interrupt::wait_for;
