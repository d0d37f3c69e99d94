//! The tools that models call.

mod context;
mod output;
mod tool;

pub use context::{Cancel, CancelHandle, ToolContext};
pub use output::{ToolError, ToolOutput};
pub use tool::{Approval, Tool, ToolFuture, Unfinished};
