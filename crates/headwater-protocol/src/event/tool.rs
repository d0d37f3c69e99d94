//! Tool calls: what is called, its input, its approval and its output.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{ApprovalId, ToolCallId};

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

/// A call of a tool: which, and who executes it.
///
/// ```
/// use headwater_protocol::ToolCall;
///
/// let call = ToolCall::new("call_1", "search");
/// assert_eq!(call.name, "search");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The call.
    pub call: ToolCallId,
    /// The tool.
    pub name: String,
    /// The tool was not known when the page was built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic: Option<bool>,
    /// Who executes it.
    #[serde(default, skip_serializing_if = "Executor::is_server")]
    pub executor: Executor,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the provider said about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// The node did not ask for it to be shown: a page that shows calls on demand only does not show this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
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

payloads! {
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
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "headwater_json::present")]
        pub input: Option<Value>,
    }

    /// The input is not what the tool takes.
    pub struct ToolInputError {
        /// The call.
        #[serde(flatten)]
        pub tool: ToolCall,
        /// The input as it came.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "headwater_json::present")]
        pub input: Option<Value>,
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
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "headwater_json::present")]
        pub input: Option<Value>,
        /// Binds the request to the run, the call and its input.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub signature: Option<String>,
        /// A policy answers, not a person.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub automatic: bool,
    }

    /// The approval was given or refused.
    pub struct ApprovalAnswered {
        /// The request.
        pub approval: ApprovalId,
        /// The call, where the wire says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub call: Option<ToolCallId>,
        /// The decision.
        pub approved: bool,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reason: Option<String>,
    }

    /// What the tool gave.
    pub struct ToolOutput {
        /// The call.
        pub call: ToolCallId,
        /// The tool's name, where the wire says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
        /// The output.
        pub output: Value,
        /// The same as structured content, where the tool gave both.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "headwater_json::present")]
        pub structured: Option<Value>,
        /// The tool ran and reports a failure of its own.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub is_error: bool,
        /// More will come for this call.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub preliminary: bool,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub metadata: Option<Value>,
    }

    /// The tool could not be run, or failed.
    pub struct ToolOutputError {
        /// The call.
        pub call: ToolCallId,
        /// The tool's name, where the wire says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
        /// What happened.
        pub error: String,
    }

    /// The call was refused by a person and not made.
    pub struct ToolDenied {
        /// The call.
        pub call: ToolCallId,
        /// The tool's name, where the wire says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reason: Option<String>,
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
