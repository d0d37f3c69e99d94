//! The chunks of MUI X Chat, with all their fields.
//!
//! The real client checks nothing and ignores every field that it does not know. Two chunks are for our adapter alone,
//! [`Chunk::Error`] and [`Chunk::MessageUpdated`].

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{lenient, message::Parts};

type Text<'a> = Cow<'a, str>;
type Json<'a> = Cow<'a, Value>;

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

/// The fields of a chunk: texts with what stands for a missing one and the function that reads them, then optional fields.
macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident
        { $($text:ident = $missing:literal $read:literal),* } { $($optional:ident: $kind:ty = $option:literal),* }
    )*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub(super) struct $name<'a> {
            $(
                #[serde(default = $missing, deserialize_with = $read)]
                pub(super) $text: Text<'a>,
            )*
            $(
                #[serde(default, deserialize_with = $option, skip_serializing_if = "Option::is_none")]
                pub(super) $optional: Option<$kind>,
            )*
        }
    )*};
}

fields! {
    /// Without an id the client takes one of its own.
    Start {} { message_id: Text<'a> = "lenient::option", author: Json<'a> = "lenient::present" }
    Finish {} { message_id: Text<'a> = "lenient::option", finish_reason: Text<'a> = "lenient::option" }
    Abort {} { message_id: Text<'a> = "lenient::option" }
    BlockStart { id = "lenient::undefined" "lenient::text" } {}
    BlockDelta { id = "lenient::undefined" "lenient::text", delta = "lenient::undefined" "lenient::text" } {}
    BlockEnd { id = "lenient::undefined" "lenient::text" } {}
    SourceUrl { source_id = "Text::default" "lenient::word", url = "Text::default" "lenient::word" } {
        title: Text<'a> = "lenient::option"
    }
    SourceDocument { source_id = "Text::default" "lenient::word" } {
        title: Text<'a> = "lenient::option",
        text: Text<'a> = "lenient::option"
    }
    /// The real client throws the id away.
    File { media_type = "Text::default" "lenient::word", url = "Text::default" "lenient::word" } {
        filename: Text<'a> = "lenient::option",
        id: Text<'a> = "lenient::option"
    }
    ToolInputStart {
        tool_call_id = "lenient::undefined" "lenient::text",
        tool_name = "Text::default" "lenient::word"
    } { dynamic: bool = "lenient::flag" }
    ToolInputDelta {
        tool_call_id = "lenient::undefined" "lenient::text",
        input_text_delta = "Text::default" "lenient::word"
    } {}
    ToolInputAvailable {
        tool_call_id = "lenient::undefined" "lenient::text",
        tool_name = "Text::default" "lenient::word"
    } { input: Json<'a> = "lenient::present", dynamic: bool = "lenient::flag" }
    ToolInputError {
        tool_call_id = "lenient::undefined" "lenient::text",
        error_text = "Text::default" "lenient::word"
    } {}
    /// What it leaves out, the real client erases. The answer names the `approvalId` and nothing else, so it must be unique
    /// everywhere.
    ToolApprovalRequest {
        tool_call_id = "lenient::undefined" "lenient::text",
        tool_name = "Text::default" "lenient::word"
    } { input: Json<'a> = "lenient::present", approval_id: Text<'a> = "lenient::option", dynamic: bool = "lenient::flag" }
    ToolOutputError {
        tool_call_id = "lenient::undefined" "lenient::text",
        error_text = "Text::default" "lenient::word"
    } {}
    /// Without a reason the client forgets the one that it was given.
    ToolOutputDenied { tool_call_id = "lenient::undefined" "lenient::text" } { reason: Text<'a> = "lenient::option" }
    /// Our adapter makes it the stream's error; MUI's client passes over it, and reports the end without a terminal chunk
    /// that follows.
    ErrorText { error_text = "Text::default" "lenient::word" } {}
}

/// Merged at the top level only.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct MessageMetadata<'a> {
    #[serde(default)]
    pub(super) metadata: Json<'a>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Data<'a> {
    /// `data-` and the name.
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    /// The same id again does not replace the data: the real client adds it once more.
    #[serde(default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<Text<'a>>,
    #[serde(default)]
    pub(super) data: Json<'a>,
    /// Meant to be seen once; the real client keeps it all the same.
    #[serde(default, deserialize_with = "lenient::flag", skip_serializing_if = "Option::is_none")]
    pub(super) transient: Option<bool>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolOutputAvailable<'a> {
    #[serde(default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub(super) tool_call_id: Text<'a>,
    #[serde(default)]
    pub(super) output: Json<'a>,
    #[serde(default, deserialize_with = "lenient::flag", skip_serializing_if = "Option::is_none")]
    pub(super) preliminary: Option<bool>,
}

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
