//! Tool calls: input, approval and output.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Event;
use crate::{
    id::{ApprovalId, ToolCallId},
    json_struct::json_struct,
};

/// Who runs a tool call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Executor {
    /// The agent.
    #[default]
    Server,
    /// The page.
    Client,
    /// The model's provider.
    Provider,
}

impl Executor {
    fn is_server(&self) -> bool {
        *self == Self::Server
    }
}

json_struct! {
    /// A tool call and who runs it.
    ///
    /// ```
    /// use headwater_protocol::ToolCall;
    ///
    /// let call = ToolCall::new("call_1", "search");
    /// assert_eq!(call.name, "search");
    /// ```
    pub struct ToolCall {
        /// Id of the call.
        pub call: ToolCallId,
        /// Name of the tool.
        pub name: String,
        /// Whether the tool was unknown when the page was built.
        pub dynamic?: bool,
        /// Who runs the tool.
        #[serde(default, skip_serializing_if = "Executor::is_server")]
        pub executor: Executor,
        /// Human-readable title.
        pub title?: String,
        /// Provider-specific metadata.
        pub metadata?: Value,
        /// Set if the node did not ask to show the call; pages that show calls on demand hide it.
        pub quiet: flag,
    }
}

impl ToolCall {
    /// A call that the agent runs.
    #[must_use]
    pub fn new(call: impl Into<ToolCallId>, name: impl Into<String>) -> Self {
        Self { call: call.into(), name: name.into(), ..Self::default() }
    }

    /// Sets who runs the call.
    #[must_use]
    pub fn by(mut self, executor: Executor) -> Self {
        self.executor = executor;
        self
    }
}

json_struct! {
    /// Input of a tool call to append, as JSON text.
    pub struct ToolInputDelta {
        /// Id of the call.
        pub call: ToolCallId,
        /// A piece of JSON text.
        pub delta: String,
    }

    /// The input is complete.
    pub struct ToolInputAvailable {
        /// The call.
        #[serde(flatten)]
        pub tool: ToolCall,
        /// The input; absent if its text is not JSON.
        pub input?: json,
    }

    /// The input is invalid for the tool.
    pub struct ToolInputError {
        /// The call.
        #[serde(flatten)]
        pub tool: ToolCall,
        /// The invalid input.
        pub input?: json,
        /// Why it is invalid.
        pub error: String,
    }

    /// The user is asked to approve a call.
    pub struct ApprovalRequested {
        /// Id of the approval request.
        pub approval: ApprovalId,
        /// The call.
        #[serde(flatten)]
        pub tool: ToolCall,
        /// The exact input to approve.
        pub input?: json,
        /// Binds the request to the run, the call and its input.
        pub signature?: String,
        /// Whether a policy decides instead of the user.
        pub automatic: flag,
    }

    /// The approval was granted or denied.
    pub struct ApprovalAnswered {
        /// Id of the approval request.
        pub approval: ApprovalId,
        /// Id of the call, if the dialect has it.
        pub call?: ToolCallId,
        /// Whether the call was approved.
        pub approved: bool,
        /// Reason for the decision.
        pub reason?: String,
    }

    /// The output of a tool.
    pub struct ToolOutput {
        /// Id of the call.
        pub call: ToolCallId,
        /// Name of the tool, if the dialect has it.
        pub name?: String,
        /// The output.
        pub output: Value,
        /// The output as structured content, if the tool returned both.
        pub structured?: json,
        /// Whether the tool ran and reports a failure.
        pub is_error: flag,
        /// Whether more output of this call follows.
        pub preliminary: flag,
        /// Provider-specific metadata.
        pub metadata?: Value,
    }

    /// The tool could not run, or failed.
    pub struct ToolOutputError {
        /// Id of the call.
        pub call: ToolCallId,
        /// Name of the tool, if the dialect has it.
        pub name?: String,
        /// The error message.
        pub error: String,
    }

    /// The user denied the call, so it was not made.
    pub struct ToolDenied {
        /// Id of the call.
        pub call: ToolCallId,
        /// Name of the tool, if the dialect has it.
        pub name?: String,
        /// Reason for the denial.
        pub reason?: String,
    }
}

impl Event {
    /// The tool call of this event.
    #[must_use]
    pub fn tool_call(&self) -> Option<&ToolCallId> {
        match self {
            Self::ToolInputStart(tool)
            | Self::ToolInputAvailable(ToolInputAvailable { tool, .. })
            | Self::ToolInputError(ToolInputError { tool, .. })
            | Self::ApprovalRequested(ApprovalRequested { tool, .. }) => Some(&tool.call),
            Self::ToolInputDelta(ToolInputDelta { call, .. }) => Some(call),
            Self::ApprovalAnswered(ApprovalAnswered { call, .. }) => call.as_ref(),
            event => event.settled_call(),
        }
    }

    /// The tool call that this event completes with an output, a failure or a denial.
    #[must_use]
    pub fn settled_call(&self) -> Option<&ToolCallId> {
        match self {
            Self::ToolOutput(ToolOutput { call, .. })
            | Self::ToolOutputError(ToolOutputError { call, .. })
            | Self::ToolDenied(ToolDenied { call, .. }) => Some(call),
            _ => None,
        }
    }
}

impl ToolInputDelta {
    /// Input to append, as JSON text.
    #[must_use]
    pub fn new(call: impl Into<ToolCallId>, delta: impl Into<String>) -> Self {
        Self { call: call.into(), delta: delta.into() }
    }
}

impl ToolInputAvailable {
    /// A call with its complete input.
    #[must_use]
    pub fn new(tool: ToolCall, input: impl Into<Option<Value>>) -> Self {
        Self { tool, input: input.into() }
    }
}

impl ToolOutput {
    /// The final output of a call.
    #[must_use]
    pub fn new(call: impl Into<ToolCallId>, output: Value) -> Self {
        Self { call: call.into(), output, ..Self::default() }
    }
}
