//! The fields of each chunk, all of them, the newest ones too. A version in brackets is the first that
//! knows the field.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fields::{
    anything, citation_source, finish_reason, input_encoding, present, provider_metadata, steering_parts,
    tool_metadata,
};

type Text<'a> = Cow<'a, str>;
type Json<'a> = Cow<'a, Value>;

/// The message begins, or is gone on with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Start<'a> {
    /// The message; another one than before makes the client forget what it has.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub message_id: Option<Text<'a>>,
    /// What the application keeps with it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "anything")]
    pub message_metadata: Option<Json<'a>>,
}

/// The message is complete.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finish<'a> {
    /// Why (5.0.92): `stop`, `length`, `content-filter`, `tool-calls`, `error`, `other`, `interrupted` (7.0.149).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "finish_reason")]
    pub finish_reason: Option<Text<'a>>,
    /// What the application keeps with the message.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "anything")]
    pub message_metadata: Option<Json<'a>>,
}

/// The run was stopped.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Abort<'a> {
    /// Why (6.0).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub reason: Option<Text<'a>>,
}

/// The run failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorText<'a> {
    /// A line for people.
    #[serde(borrow)]
    pub error_text: Text<'a>,
}

/// Metadata to be merged into the message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageMetadata<'a> {
    /// An object; `null` changes nothing.
    pub message_metadata: Json<'a>,
}

/// A block of text or reasoning begins, or a block of reasoning ends.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Block<'a> {
    /// The block.
    #[serde(borrow)]
    pub id: Text<'a>,
    /// What the provider said about it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "provider_metadata")]
    pub provider_metadata: Option<Json<'a>>,
}

/// More of a block.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockDelta<'a> {
    /// The block.
    #[serde(borrow)]
    pub id: Text<'a>,
    /// The text to append.
    #[serde(borrow)]
    pub delta: Text<'a>,
    /// What the provider said about it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "provider_metadata")]
    pub provider_metadata: Option<Json<'a>>,
}

/// A block of text is complete.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextEnd<'a> {
    /// The block.
    #[serde(borrow)]
    pub id: Text<'a>,
    /// What the provider said about it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "provider_metadata")]
    pub provider_metadata: Option<Json<'a>>,
    /// What it rests on (7.0.138).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub citations: Option<Vec<Citation>>,
}

/// A passage of a text and what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Citation {
    /// The source.
    #[serde(deserialize_with = "citation_source")]
    pub source: Value,
    /// Where the passage begins.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub start_index: Option<f64>,
    /// Where it ends.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub end_index: Option<f64>,
    /// The words of the source.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub cited_text: Option<String>,
}

/// Something of a provider's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Custom<'a> {
    /// `provider.type` by convention.
    #[serde(borrow)]
    pub kind: Text<'a>,
    /// What the provider said about it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "provider_metadata")]
    pub provider_metadata: Option<Json<'a>>,
}

/// A web page that the answer rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceUrl<'a> {
    /// The source.
    #[serde(borrow)]
    pub source_id: Text<'a>,
    /// Its address.
    #[serde(borrow)]
    pub url: Text<'a>,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub title: Option<Text<'a>>,
    /// What the provider said about it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "provider_metadata")]
    pub provider_metadata: Option<Json<'a>>,
}

/// A document that the answer rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceDocument<'a> {
    /// The source.
    #[serde(borrow)]
    pub source_id: Text<'a>,
    /// Its media type.
    #[serde(borrow)]
    pub media_type: Text<'a>,
    /// Its title.
    #[serde(borrow)]
    pub title: Text<'a>,
    /// Its file name.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub filename: Option<Text<'a>>,
    /// What the provider said about it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "provider_metadata")]
    pub provider_metadata: Option<Json<'a>>,
}

/// A file. It has no name in this protocol.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct File<'a> {
    /// Its address, or a `data:` URL.
    #[serde(borrow)]
    pub url: Text<'a>,
    /// Its media type.
    #[serde(borrow)]
    pub media_type: Text<'a>,
    /// What the provider said about it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "provider_metadata")]
    pub provider_metadata: Option<Json<'a>>,
}

/// The model begins to write a tool's input.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolInputStart<'a> {
    /// The call.
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    /// The tool.
    #[serde(borrow)]
    pub tool_name: Text<'a>,
    /// The provider executes it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub provider_executed: Option<bool>,
    /// What the provider said about it (6.0).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "provider_metadata")]
    pub provider_metadata: Option<Json<'a>>,
    /// What the tool's author says about it (6.x).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "tool_metadata")]
    pub tool_metadata: Option<Json<'a>>,
    /// The tool was not known when the page was built.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub dynamic: Option<bool>,
    /// A title for people (6.0).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub title: Option<Text<'a>>,
    /// Whether the input is `json` or plain `text` (6.0.308, 7.0.142).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "input_encoding")]
    pub input_encoding: Option<Text<'a>>,
}

/// More of the input's text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolInputDelta<'a> {
    /// The call.
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    /// A piece of text.
    #[serde(borrow)]
    pub input_text_delta: Text<'a>,
}

/// The input is complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolInput<'a> {
    /// The call.
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    /// The tool.
    #[serde(borrow)]
    pub tool_name: Text<'a>,
    /// The input.
    pub input: Json<'a>,
    /// The provider executes it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub provider_executed: Option<bool>,
    /// What the provider said about it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "provider_metadata")]
    pub provider_metadata: Option<Json<'a>>,
    /// What the tool's author says about it (6.0.176).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "tool_metadata")]
    pub tool_metadata: Option<Json<'a>>,
    /// The tool was not known when the page was built.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub dynamic: Option<bool>,
    /// A title for people (6.0).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub title: Option<Text<'a>>,
}

/// The input is not what the tool takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolInputError<'a> {
    /// The call.
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    /// The tool.
    #[serde(borrow)]
    pub tool_name: Text<'a>,
    /// The input as it came.
    pub input: Json<'a>,
    /// The provider executes it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub provider_executed: Option<bool>,
    /// What the provider said about it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "provider_metadata")]
    pub provider_metadata: Option<Json<'a>>,
    /// What the tool's author says about it (6.0.176).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "tool_metadata")]
    pub tool_metadata: Option<Json<'a>>,
    /// The tool was not known when the page was built.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub dynamic: Option<bool>,
    /// What is wrong.
    #[serde(borrow)]
    pub error_text: Text<'a>,
    /// A title for people (6.0).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub title: Option<Text<'a>>,
}

/// A person is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolApprovalRequest<'a> {
    /// The request.
    #[serde(borrow)]
    pub approval_id: Text<'a>,
    /// The call.
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    /// Binds the request to the call and its input (6.0.202).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub signature: Option<Text<'a>>,
    /// What the application shows with the question (6.0.274, 7.0.87).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "anything")]
    pub approval_descriptor: Option<Json<'a>>,
    /// The input as the tool's schema takes it (6.0.274, 7.0.87).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "anything")]
    pub input_schema_input: Option<Json<'a>>,
    /// A policy answers, not a person (7.0).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub is_automatic: Option<bool>,
    /// Why it is asked (7.x).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub reason: Option<Text<'a>>,
}

/// The person answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolApprovalResponse<'a> {
    /// The request.
    #[serde(borrow)]
    pub approval_id: Text<'a>,
    /// The decision.
    pub approved: bool,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub reason: Option<Text<'a>>,
    /// The provider executes the call.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub provider_executed: Option<bool>,
    /// What the provider said about it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "provider_metadata")]
    pub provider_metadata: Option<Json<'a>>,
}

/// What the tool gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutput<'a> {
    /// The call.
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    /// The output.
    pub output: Json<'a>,
    /// More will come for this call.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub preliminary: Option<bool>,
    /// The provider executed it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub provider_executed: Option<bool>,
    /// What the provider said about it (6.0).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "provider_metadata")]
    pub provider_metadata: Option<Json<'a>>,
    /// What the tool's author says about it (6.0.176).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "tool_metadata")]
    pub tool_metadata: Option<Json<'a>>,
    /// The tool was not known when the page was built.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub dynamic: Option<bool>,
}

/// The tool failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutputError<'a> {
    /// The call.
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    /// What happened.
    #[serde(borrow)]
    pub error_text: Text<'a>,
    /// The provider executed it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub provider_executed: Option<bool>,
    /// What the provider said about it (6.0).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "provider_metadata")]
    pub provider_metadata: Option<Json<'a>>,
    /// What the tool's author says about it (6.0.176).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "tool_metadata")]
    pub tool_metadata: Option<Json<'a>>,
    /// The tool was not known when the page was built.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub dynamic: Option<bool>,
}

/// The call was refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutputDenied<'a> {
    /// The call.
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
}

/// A person's words in the middle of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SteeringMessage<'a> {
    /// The message.
    #[serde(borrow)]
    pub id: Text<'a>,
    /// Texts and files.
    #[serde(deserialize_with = "steering_parts")]
    pub parts: Vec<Value>,
}
