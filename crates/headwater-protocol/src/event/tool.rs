//! What a tool call is, apart from its input and output.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::ToolCallId;

/// Who executes a tool call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
}

impl ToolCall {
    /// A call that the agent executes.
    #[must_use]
    pub fn new(call: impl Into<ToolCallId>, name: impl Into<String>) -> Self {
        Self {
            call: call.into(),
            name: name.into(),
            dynamic: None,
            executor: Executor::Server,
            title: None,
            metadata: None,
        }
    }

    /// The same call, executed by someone else.
    #[must_use]
    pub fn by(mut self, executor: Executor) -> Self {
        self.executor = executor;
        self
    }
}
