//! The trait of all tools.

use std::{fmt, future::Future, pin::Pin};

use headwater_protocol::{Executor, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ToolContext, ToolError, ToolOutput};

/// The future of a tool call.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

/// A tool that a model may call.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "not a tool",
    note = "make a tool of an async function with `FunctionTool::new(\"name\", function)`"
)]
pub trait Tool: fmt::Debug + Send + Sync + 'static {
    /// Its description for the model.
    fn spec(&self) -> &ToolSpec;

    /// Its origin for messages: a function, a server or the page.
    fn origin(&self) -> String {
        format!("{self:?}")
    }

    /// Who runs it; the server by default. A tool of the page is never [called](Tool::call): the run waits
    /// for the page's result.
    fn executor(&self) -> Executor {
        Executor::Server
    }

    /// Whether the user must approve a call with this input.
    fn approval(&self, input: &Value) -> Approval {
        let _ = input;
        Approval::NotNeeded
    }

    /// Whether the user may change the input when approving. The approval rule is applied to the changed
    /// input.
    fn editable(&self) -> bool {
        false
    }

    /// What to do with a call whose outcome is unknown because the process died during it.
    fn unfinished(&self) -> UnfinishedPolicy {
        UnfinishedPolicy::Fail
    }

    /// Calls the tool. The input fits the schema. Dropping the future cancels the call.
    fn call(&self, input: Value, context: ToolContext) -> ToolFuture<'_>;

    /// Releases its resources, such as a connection or a process, at the end of the reason call that used it.
    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }
}

/// Whether a call needs approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// The call is made immediately.
    NotNeeded,
    /// The run waits for the user's approval.
    Needed,
}

/// What to do with a call whose outcome is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnfinishedPolicy {
    /// Report to the model that the outcome is unknown.
    #[default]
    Fail,
    /// Repeat the call: it has no side effects, or honours the idempotency key.
    Repeat,
    /// Ask the user.
    Ask,
}
