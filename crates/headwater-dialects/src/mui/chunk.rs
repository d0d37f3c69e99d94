//! The chunks of MUI X Chat, with all their fields.
//!
//! The real client checks nothing and ignores every field that it does not know. Two chunks are for our adapter alone,
//! [`Chunk::Error`] and [`Chunk::MessageUpdated`].

use std::borrow::Cow;

use headwater_json::present;
use serde::Serialize;
use serde_json::Value;

use super::{
    lenient::{flag, object, option, text, undefined, word},
    message::Parts,
};
use crate::chunk::chunks;

type Text<'a> = Cow<'a, str>;
type Json<'a> = Cow<'a, Value>;

chunks! {
    /// One chunk, as it stands in an envelope.
    enum Chunk by object(&'a str) -> serde_json::Error {
        "start" => Start(Start<'a>),
        "finish" => Finish(Finish<'a>),
        "abort" => Abort(Abort<'a>),
        "text-start" => TextStart(BlockRef<'a>),
        "text-delta" => TextDelta(BlockDelta<'a>),
        "text-end" => TextEnd(BlockRef<'a>),
        "reasoning-start" => ReasoningStart(BlockRef<'a>),
        "reasoning-delta" => ReasoningDelta(BlockDelta<'a>),
        "reasoning-end" => ReasoningEnd(BlockRef<'a>),
        "tool-input-start" => ToolInputStart(ToolInputStart<'a>),
        /// More of its input's JSON text, which the real client throws away.
        "tool-input-delta" => ToolInputDelta(ToolInputDelta<'a>),
        "tool-input-available" => ToolInputAvailable(ToolInputAvailable<'a>),
        "tool-input-error" => ToolInputError(ToolError<'a>),
        "tool-approval-request" => ToolApprovalRequest(ToolApprovalRequest<'a>),
        "tool-output-available" => ToolOutputAvailable(ToolOutputAvailable<'a>),
        "tool-output-error" => ToolOutputError(ToolError<'a>),
        "tool-output-denied" => ToolOutputDenied(ToolOutputDenied<'a>),
        "source-url" => SourceUrl(SourceUrl<'a>),
        "source-document" => SourceDocument(SourceDocument<'a>),
        "file" => File(File<'a>),
        "start-step" => StartStep(Empty),
        /// The step ended; the real client does nothing.
        "finish-step" => FinishStep(Empty),
        "message-metadata" => MessageMetadata(MessageMetadata<'a>),
        /// Ours: the run failed.
        "error" => Error(ErrorText<'a>),
    } else {
        /// Ours: the message has these parts now. Our adapter hands it on as the realtime event of this name.
        MessageUpdated(MessageUpdated<'a>),
        /// Data of the application's own; its type begins with `data-`.
        Data(Data<'a>),
        /// A chunk of a type that we do not know, as it came.
        Unknown(Cow<'a, Value>),
    }

    /// Without an id the client takes one of its own.
    struct Start<'a> { message_id?: text = "option", author?: Json<'a> = "present", }
    struct Finish<'a> { message_id?: text = "option", finish_reason?: text = "option", }
    struct Abort<'a> { message_id?: text = "option", }
    struct BlockRef<'a> { #[serde(default = "undefined")] id: text = "text", }
    struct BlockDelta<'a> {
        #[serde(default = "undefined")] id: text = "text",
        #[serde(default = "undefined")] delta: text = "text",
    }
    struct SourceUrl<'a> {
        #[serde(default)] source_id: text = "word",
        #[serde(default)] url: text = "word",
        title?: text = "option",
    }
    struct SourceDocument<'a> {
        #[serde(default)] source_id: text = "word",
        title?: text = "option",
        text?: text = "option",
    }
    /// The real client throws the id away.
    struct File<'a> {
        #[serde(default)] media_type: text = "word",
        #[serde(default)] url: text = "word",
        filename?: text = "option",
        id?: text = "option",
    }
    struct ToolInputStart<'a> {
        #[serde(default = "undefined")] tool_call_id: text = "text",
        #[serde(default)] tool_name: text = "word",
        dynamic?: bool = "flag",
    }
    struct ToolInputDelta<'a> {
        #[serde(default = "undefined")] tool_call_id: text = "text",
        #[serde(default)] input_text_delta: text = "word",
    }
    struct ToolInputAvailable<'a> {
        #[serde(default = "undefined")] tool_call_id: text = "text",
        #[serde(default)] tool_name: text = "word",
        input?: Json<'a> = "present",
        dynamic?: bool = "flag",
    }
    /// What it leaves out, the real client erases. The answer names the `approvalId` and nothing else, so it must be unique
    /// everywhere.
    struct ToolApprovalRequest<'a> {
        #[serde(default = "undefined")] tool_call_id: text = "text",
        #[serde(default)] tool_name: text = "word",
        input?: Json<'a> = "present",
        approval_id?: text = "option",
        dynamic?: bool = "flag",
    }
    struct ToolOutputAvailable<'a> {
        #[serde(default = "undefined")] tool_call_id: text = "text",
        #[serde(default)] output: Json<'a>,
        preliminary?: bool = "flag",
    }
    struct ToolError<'a> {
        #[serde(default = "undefined")] tool_call_id: text = "text",
        #[serde(default)] error_text: text = "word",
    }
    /// Without a reason the client forgets the one that it was given.
    struct ToolOutputDenied<'a> {
        #[serde(default = "undefined")] tool_call_id: text = "text",
        reason?: text = "option",
    }
    /// Merged at the top level only.
    struct MessageMetadata<'a> { #[serde(default)] metadata: Json<'a>, }
    /// Our adapter makes it the stream's error; MUI's client passes over it, and reports the end without a terminal chunk
    /// that follows.
    struct ErrorText<'a> { #[serde(default)] error_text: text = "word", }
    struct Data<'a> {
        /// `data-` and the name.
        #[serde(rename = "type")]
        kind: text,
        /// The same id again does not replace the data: the real client adds it once more.
        id?: text = "option",
        #[serde(default)]
        data: Json<'a>,
        /// Meant to be seen once; the real client keeps it all the same.
        transient?: bool = "flag",
    }
    struct Empty {}
}

/// The type of [`MessageUpdated`].
pub(super) const MESSAGE_UPDATED: &str = "message-updated";

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct MessageUpdated<'a> {
    r#type: &'static str,
    message: UpdatedMessage<'a>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct UpdatedMessage<'a> {
    id: Text<'a>,
    /// All parts of the message.
    parts: Parts<'a>,
}

impl<'a> MessageUpdated<'a> {
    pub(super) fn new(id: Text<'a>, parts: Parts<'a>) -> Self {
        Self { r#type: MESSAGE_UPDATED, message: UpdatedMessage { id, parts } }
    }
}

/// Whether it is the type of a chunk that the client acts on.
pub(super) fn is_known(kind: &str) -> bool {
    kind.starts_with("data-") || kind == MESSAGE_UPDATED || Chunk::TYPES.contains(&kind)
}
