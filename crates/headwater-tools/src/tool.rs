//! What a tool is.

use std::{fmt, future::Future, pin::Pin};

use headwater_protocol::{Executor, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ToolContext, ToolError, ToolOutput};

/// What a tool will have given.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

/// A tool that a model may call.
pub trait Tool: fmt::Debug + Send + Sync + 'static {
    /// How a model is told about it.
    fn spec(&self) -> &ToolSpec;

    /// Where it comes from, for messages: a function, a server, the page.
    fn origin(&self) -> String {
        format!("{self:?}")
    }

    /// Who executes it: the server, unless it says otherwise. A tool of the page is never [called](Tool::call); the run
    /// waits for what the page gives.
    fn executor(&self) -> Executor {
        Executor::Server
    }

    /// Whether a person must agree before it is called with this input.
    fn approval(&self, input: &Value) -> Approval {
        let _ = input;
        Approval::NotNeeded
    }

    /// Whether a person who is asked for approval may change the input. The rule is asked again for the changed input.
    fn editable(&self) -> bool {
        false
    }

    /// What to do with a call that was begun and of which nobody knows whether it was finished, because the process died.
    fn unfinished(&self) -> Unfinished {
        Unfinished::Fail
    }

    /// Calls it. The input fits the schema. Dropping the future cancels the call.
    fn call(&self, input: Value, context: ToolContext) -> ToolFuture<'_>;

    /// Lets go of what it holds, a connection or a process, when the reason call that it was given to has ended.
    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }
}

/// Whether a person must agree to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// No.
    NotNeeded,
    /// Yes: the run waits for it.
    Needed,
}

/// What to do with a call whose outcome is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unfinished {
    /// Tell the model that the outcome is unknown.
    #[default]
    Fail,
    /// Call it again: it has no effect, or takes the idempotency key to heart.
    Repeat,
    /// Ask a person.
    Ask,
}
