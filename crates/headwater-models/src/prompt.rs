//! Conversion of a conversation to a model's prompt, the `ModelMessage`s of the AI SDK.
//!
//! A message of a chat page holds a whole answer; a model wants turns. Each step of an answer becomes an
//! assistant turn and, if the agent or the page ran tools in it, a tool turn. Parts that only the page needs,
//! such as data and sources, are dropped.

mod convert;

use headwater_protocol::{ApprovalId, ToolCallId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use convert::{PromptOptions, to_model_messages};

/// One turn of a prompt.
///
/// ```
/// use headwater_models::{PromptOptions, to_model_messages};
/// use headwater_protocol::{Message, Role};
///
/// let conversation = [Message::text("m1", Role::User, "Hello")];
/// let prompt = to_model_messages(&conversation, &PromptOptions::default())?;
/// assert_eq!(
///     serde_json::to_string(&prompt).unwrap(),
///     r#"[{"role":"user","content":[{"type":"text","text":"Hello"}]}]"#,
/// );
/// # Ok::<(), headwater_protocol::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum ModelMessage {
    /// Instructions of the operator.
    System {
        /// The text.
        content: String,
        /// Options for single providers, keyed by provider name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_options: Option<Value>,
    },
    /// A turn of the user.
    User {
        /// Texts and files.
        content: Vec<ContentPart>,
    },
    /// A turn of the model.
    Assistant {
        /// Texts, reasoning and tool calls, with the outputs of tools that the provider ran.
        content: Vec<ContentPart>,
    },
    /// Outputs of the tools called in the previous turn.
    Tool {
        /// Outputs and approval decisions.
        content: Vec<ContentPart>,
    },
}

/// One part of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum ContentPart {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// Options for single providers, keyed by provider name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_options: Option<Value>,
    },
    /// Reasoning of the model.
    Reasoning {
        /// The reasoning text.
        text: String,
        /// Options for single providers, often a signature.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_options: Option<Value>,
    },
    /// A file.
    File {
        /// Media type of the file.
        media_type: String,
        /// Name of the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        /// Location or content of the file.
        data: FileData,
        /// Options for single providers, keyed by provider name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_options: Option<Value>,
    },
    /// A file that is part of the reasoning.
    ReasoningFile {
        /// Location or content of the file.
        data: FileData,
        /// Media type of the file.
        media_type: String,
        /// Options for single providers, keyed by provider name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_options: Option<Value>,
    },
    /// A provider-specific part.
    Custom {
        /// `provider.type` by convention.
        kind: String,
        /// Options for single providers, keyed by provider name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_options: Option<Value>,
    },
    /// A tool call of the model.
    ToolCall {
        /// Id of the call.
        tool_call_id: ToolCallId,
        /// Name of the tool.
        tool_name: String,
        /// Input of the tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
        /// Whether the provider ran the tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
        /// Options for single providers, keyed by provider name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_options: Option<Value>,
    },
    /// A request to the user to approve a tool call.
    ToolApprovalRequest {
        /// Id of the approval request.
        approval_id: ApprovalId,
        /// Id of the call to approve.
        tool_call_id: ToolCallId,
        /// Binds the request to the call and its input.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// Whether a policy decides instead of the user.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is_automatic: Option<bool>,
        /// Why approval was requested.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The input as the tool's schema accepts it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input_schema_input: Option<Value>,
    },
    /// The user's decision on an approval request.
    ToolApprovalResponse {
        /// Id of the approval request.
        approval_id: ApprovalId,
        /// Whether the call was approved.
        approved: bool,
        /// Reason for the decision.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Whether the provider runs the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
    },
    /// The result of a tool call.
    ToolResult {
        /// Id of the call.
        tool_call_id: ToolCallId,
        /// Name of the tool.
        tool_name: String,
        /// The output.
        output: ToolResultOutput,
        /// Options for single providers, keyed by provider name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_options: Option<Value>,
    },
}

/// Location of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
pub enum FileData {
    /// At a URL, which may be a `data:` URL.
    Url {
        /// The URL.
        url: String,
    },
    /// Uploaded to providers.
    Reference {
        /// The file's ids, keyed by provider name.
        reference: Value,
    },
}

/// The output of a tool as the model reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ToolResultOutput {
    /// Text.
    Text {
        /// The text.
        value: String,
    },
    /// Any JSON value.
    Json {
        /// The output.
        value: Value,
    },
    /// An error message instead of an output.
    ErrorText {
        /// The message.
        value: String,
    },
    /// The error of a tool that the provider ran.
    ErrorJson {
        /// The error.
        value: Value,
    },
    /// The user denied the call, and the model has not received that yet.
    ExecutionDenied {
        /// Reason for the denial.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}
