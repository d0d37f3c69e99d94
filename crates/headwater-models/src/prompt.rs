//! From a conversation to what a model is asked: the `ModelMessage`s of the AI SDK.
//!
//! A page's message is one bubble; a model wants turns. Each step of an answer becomes an assistant's
//! turn and, if the agent or the page ran tools in it, a tool's turn. What only the page needs, data and
//! sources, is left out.

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
    /// The operator's instructions.
    System {
        /// The text.
        content: String,
        /// What is said to single providers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_options: Option<Value>,
    },
    /// The person's turn.
    User {
        /// Texts and files.
        content: Vec<ContentPart>,
    },
    /// The model's turn.
    Assistant {
        /// What it said and which tools it called, with the outputs of tools that its provider ran.
        content: Vec<ContentPart>,
    },
    /// The outputs of the tools of the turn before.
    Tool {
        /// Outputs and decisions.
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
        /// What is said to single providers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_options: Option<Value>,
    },
    /// Thoughts.
    Reasoning {
        /// The thoughts.
        text: String,
        /// What is said to single providers: often a signature.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_options: Option<Value>,
    },
    /// A file.
    File {
        /// Its media type.
        media_type: String,
        /// Its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        /// Where it is.
        data: FileData,
        /// What is said to single providers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_options: Option<Value>,
    },
    /// A file that belongs to the thoughts.
    ReasoningFile {
        /// Where it is.
        data: FileData,
        /// Its media type.
        media_type: String,
        /// What is said to single providers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_options: Option<Value>,
    },
    /// Something of a provider's own.
    Custom {
        /// `provider.type` by convention.
        kind: String,
        /// What is said to single providers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_options: Option<Value>,
    },
    /// The model called a tool.
    ToolCall {
        /// The call.
        tool_call_id: ToolCallId,
        /// The tool.
        tool_name: String,
        /// Its input.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
        /// The provider ran it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
        /// What is said to single providers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_options: Option<Value>,
    },
    /// A person was asked whether the call may be made.
    ToolApprovalRequest {
        /// The request.
        approval_id: ApprovalId,
        /// The call.
        tool_call_id: ToolCallId,
        /// Binds the request to the call and its input.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// A policy answers, not a person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is_automatic: Option<bool>,
        /// Why it was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The input as the tool's schema takes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input_schema_input: Option<Value>,
    },
    /// The person answered.
    ToolApprovalResponse {
        /// The request.
        approval_id: ApprovalId,
        /// The decision.
        approved: bool,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The provider runs the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
    },
    /// What a tool gave.
    ToolResult {
        /// The call.
        tool_call_id: ToolCallId,
        /// The tool.
        tool_name: String,
        /// The output.
        output: ToolResultOutput,
        /// What is said to single providers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_options: Option<Value>,
    },
}

/// Where a file is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
pub enum FileData {
    /// At an address, which may be a `data:` URL.
    Url {
        /// The address.
        url: String,
    },
    /// With the providers, by the name that each of them gave it.
    Reference {
        /// The names, by provider.
        reference: Value,
    },
}

/// The output of a tool, as a model reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ToolResultOutput {
    /// Text.
    Text {
        /// The text.
        value: String,
    },
    /// Anything else.
    Json {
        /// The output.
        value: Value,
    },
    /// Why there is none.
    ErrorText {
        /// What happened.
        value: String,
    },
    /// The failure of a tool that the provider ran.
    ErrorJson {
        /// What happened.
        value: Value,
    },
    /// A person refused, and nobody has told the model yet.
    ExecutionDenied {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}
