//! Tool calls: what is called, its input, its approval and its output.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Event;
use crate::{
    id::{ApprovalId, ToolCallId},
    json_struct::json_struct,
};

/// Who executes a tool call.
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
    /// A call of a tool: which, and who executes it.
    ///
    /// ```
    /// use headwater_protocol::ToolCall;
    ///
    /// let call = ToolCall::new("call_1", "search");
    /// assert_eq!(call.name, "search");
    /// ```
    pub struct ToolCall {
        /// The call.
        pub call: ToolCallId,
        /// The tool.
        pub name: String,
        /// The tool was not known when the page was built.
        pub dynamic?: bool,
        /// Who executes it.
        #[serde(default, skip_serializing_if = "Executor::is_server")]
        pub executor: Executor,
        /// A title for people.
        pub title?: String,
        /// What the provider said about it.
        pub metadata?: Value,
        /// The node did not ask for it to be shown: a page that shows calls on demand only does not show this one.
        pub quiet: flag,
    }
}

impl ToolCall {
    /// A call that the agent executes.
    #[must_use]
    pub fn new(call: impl Into<ToolCallId>, name: impl Into<String>) -> Self {
        Self { call: call.into(), name: name.into(), ..Self::default() }
    }

    /// The same call, executed by someone else.
    #[must_use]
    pub fn by(mut self, executor: Executor) -> Self {
        self.executor = executor;
        self
    }
}

json_struct! {
    /// More of the input's JSON text.
    pub struct ToolInputDelta {
        /// The call.
        pub call: ToolCallId,
        /// A piece of JSON text.
        pub delta: String,
    }

    /// The input is complete.
    pub struct ToolInputAvailable {
        /// The call.
        #[serde(flatten)]
        pub tool: ToolCall,
        /// The input; absent where its text is not JSON.
        pub input?: json,
    }

    /// The input is not what the tool takes.
    pub struct ToolInputError {
        /// The call.
        #[serde(flatten)]
        pub tool: ToolCall,
        /// The input as it came.
        pub input?: json,
        /// What is wrong with it.
        pub error: String,
    }

    /// A person is asked whether the call may be made.
    pub struct ApprovalRequested {
        /// The request.
        pub approval: ApprovalId,
        /// The call.
        #[serde(flatten)]
        pub tool: ToolCall,
        /// The exact input that is approved.
        pub input?: json,
        /// Binds the request to the run, the call and its input.
        pub signature?: String,
        /// A policy answers, not a person.
        pub automatic: flag,
    }

    /// The approval was given or refused.
    pub struct ApprovalAnswered {
        /// The request.
        pub approval: ApprovalId,
        /// The call, where the wire says it.
        pub call?: ToolCallId,
        /// The decision.
        pub approved: bool,
        /// Why.
        pub reason?: String,
    }

    /// What the tool gave.
    pub struct ToolOutput {
        /// The call.
        pub call: ToolCallId,
        /// The tool's name, where the wire says it.
        pub name?: String,
        /// The output.
        pub output: Value,
        /// The same as structured content, where the tool gave both.
        pub structured?: json,
        /// The tool ran and reports a failure of its own.
        pub is_error: flag,
        /// More will come for this call.
        pub preliminary: flag,
        /// What the provider said about it.
        pub metadata?: Value,
    }

    /// The tool could not be run, or failed.
    pub struct ToolOutputError {
        /// The call.
        pub call: ToolCallId,
        /// The tool's name, where the wire says it.
        pub name?: String,
        /// What happened.
        pub error: String,
    }

    /// The call was refused by a person and not made.
    pub struct ToolDenied {
        /// The call.
        pub call: ToolCallId,
        /// The tool's name, where the wire says it.
        pub name?: String,
        /// Why.
        pub reason?: String,
    }
}

impl Event {
    /// The tool call that it is about.
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

    /// The tool call that it is the outcome of: an output, a failure or a denial.
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
    /// More of the input's JSON text.
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
