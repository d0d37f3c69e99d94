//! The chunks of MUI X Chat, with all their fields.
//!
//! The real client checks nothing and ignores every field that it does not know. Two chunks are for our adapter alone,
//! [`Chunk::Error`] and [`Chunk::MessageUpdated`].

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{lenient, message::Parts};

type Text<'a> = Cow<'a, str>;

/// One chunk, as it stands in an envelope.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(super) enum Chunk<'a> {
    Start(Start<'a>),
    Finish(Finish<'a>),
    Abort(Abort<'a>),
    TextStart(BlockStart<'a>),
    TextDelta(BlockDelta<'a>),
    TextEnd(BlockEnd<'a>),
    ReasoningStart(BlockStart<'a>),
    ReasoningDelta(BlockDelta<'a>),
    ReasoningEnd(BlockEnd<'a>),
    ToolInputStart(ToolInputStart<'a>),
    /// More of its input's JSON text, which the real client throws away.
    ToolInputDelta(ToolInputDelta<'a>),
    ToolInputAvailable(ToolInputAvailable<'a>),
    ToolInputError(ToolInputError<'a>),
    ToolApprovalRequest(ToolApprovalRequest<'a>),
    ToolOutputAvailable(ToolOutputAvailable<'a>),
    ToolOutputError(ToolOutputError<'a>),
    ToolOutputDenied(ToolOutputDenied<'a>),
    SourceUrl(SourceUrl<'a>),
    SourceDocument(SourceDocument<'a>),
    File(File<'a>),
    StartStep,
    /// The step ended; the real client does nothing.
    FinishStep,
    MessageMetadata(MessageMetadata<'a>),
    /// Ours: the run failed.
    Error(ErrorText<'a>),
    /// Ours: the message has these parts now. Our adapter hands it on as the realtime event of this name.
    MessageUpdated(MessageUpdated<'a>),
    /// Data of the application's own; its type begins with `data-`.
    #[serde(untagged)]
    Data(Data<'a>),
    /// A chunk of a type that we do not know, as it came.
    #[serde(untagged)]
    Unknown(Cow<'a, Value>),
}

/// `start`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Start<'a> {
    /// The message; without it the client takes an id of its own.
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub(super) message_id: Option<Text<'a>>,
    #[serde(default, deserialize_with = "lenient::present", skip_serializing_if = "Option::is_none")]
    pub(super) author: Option<Cow<'a, Value>>,
}

/// `finish`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Finish<'a> {
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub(super) message_id: Option<Text<'a>>,
    /// Why it ended, in any word.
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub(super) finish_reason: Option<Text<'a>>,
}

/// `abort`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Abort<'a> {
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub(super) message_id: Option<Text<'a>>,
}

/// `text-start` and `reasoning-start`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct BlockStart<'a> {
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub(super) id: Text<'a>,
}

/// `text-delta` and `reasoning-delta`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct BlockDelta<'a> {
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub(super) id: Text<'a>,
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub(super) delta: Text<'a>,
}

/// `text-end` and `reasoning-end`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct BlockEnd<'a> {
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub(super) id: Text<'a>,
}

/// `source-url`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SourceUrl<'a> {
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub(super) source_id: Text<'a>,
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub(super) url: Text<'a>,
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<Text<'a>>,
}

/// `source-document`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SourceDocument<'a> {
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub(super) source_id: Text<'a>,
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<Text<'a>>,
}

/// `file`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct File<'a> {
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub(super) media_type: Text<'a>,
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub(super) url: Text<'a>,
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub(super) filename: Option<Text<'a>>,
    /// Its id, which the real client throws away.
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<Text<'a>>,
}

/// `message-metadata`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct MessageMetadata<'a> {
    /// Merged at the top level only.
    #[serde(default)]
    pub(super) metadata: Cow<'a, Value>,
}

/// `data-*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Data<'a> {
    /// The type, `data-` and the name.
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    /// The same id again does not replace the data: the real client adds it once more.
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<Text<'a>>,
    #[serde(default)]
    pub(super) data: Cow<'a, Value>,
    /// Meant to be seen once; the real client keeps it all the same.
    #[serde(default, deserialize_with = "lenient::flag", skip_serializing_if = "Option::is_none")]
    pub(super) transient: Option<bool>,
}

/// `tool-input-start`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolInputStart<'a> {
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub(super) tool_call_id: Text<'a>,
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub(super) tool_name: Text<'a>,
    #[serde(default, deserialize_with = "lenient::flag", skip_serializing_if = "Option::is_none")]
    pub(super) dynamic: Option<bool>,
}

/// `tool-input-delta`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolInputDelta<'a> {
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub(super) tool_call_id: Text<'a>,
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub(super) input_text_delta: Text<'a>,
}

/// `tool-input-available`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolInputAvailable<'a> {
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub(super) tool_call_id: Text<'a>,
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub(super) tool_name: Text<'a>,
    #[serde(default, deserialize_with = "lenient::present", skip_serializing_if = "Option::is_none")]
    pub(super) input: Option<Cow<'a, Value>>,
    #[serde(default, deserialize_with = "lenient::flag", skip_serializing_if = "Option::is_none")]
    pub(super) dynamic: Option<bool>,
}

/// `tool-input-error`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolInputError<'a> {
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub(super) tool_call_id: Text<'a>,
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub(super) error_text: Text<'a>,
}

/// `tool-approval-request`: what it leaves out, the real client erases.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolApprovalRequest<'a> {
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub(super) tool_call_id: Text<'a>,
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub(super) tool_name: Text<'a>,
    /// The exact input that is approved.
    #[serde(default, deserialize_with = "lenient::present", skip_serializing_if = "Option::is_none")]
    pub(super) input: Option<Cow<'a, Value>>,
    /// The request. The answer names it and nothing else, so it must be unique everywhere.
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub(super) approval_id: Option<Text<'a>>,
    #[serde(default, deserialize_with = "lenient::flag", skip_serializing_if = "Option::is_none")]
    pub(super) dynamic: Option<bool>,
}

/// `tool-output-available`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolOutputAvailable<'a> {
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub(super) tool_call_id: Text<'a>,
    #[serde(default)]
    pub(super) output: Cow<'a, Value>,
    #[serde(default, deserialize_with = "lenient::flag", skip_serializing_if = "Option::is_none")]
    pub(super) preliminary: Option<bool>,
}

/// `tool-output-error`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolOutputError<'a> {
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub(super) tool_call_id: Text<'a>,
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub(super) error_text: Text<'a>,
}

/// `tool-output-denied`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolOutputDenied<'a> {
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub(super) tool_call_id: Text<'a>,
    /// Why; without it the client forgets the reason that it was given.
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<Text<'a>>,
}

/// `error`: our adapter makes it the stream's error; MUI's client passes over it, and reports the end without a terminal
/// chunk that follows.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ErrorText<'a> {
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub(super) error_text: Text<'a>,
}

/// `message-updated`, the realtime event of that name in the stream.
#[derive(Debug, Clone, Serialize)]
pub(super) struct MessageUpdated<'a> {
    pub(super) message: UpdatedMessage<'a>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct UpdatedMessage<'a> {
    pub(super) id: Text<'a>,
    /// All parts of the message.
    pub(super) parts: Parts<'a>,
}
