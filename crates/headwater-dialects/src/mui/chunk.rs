//! The chunks of MUI X Chat, with all their fields.
//!
//! The real client validates nothing and ignores unknown fields. Two chunks are for our adapter only,
//! [`Chunk::Error`] and [`Chunk::MessageUpdate`].

use std::borrow::Cow;

use headwater_json::present;
use serde::Serialize;
use serde_json::Value;

use super::{
    lenient::{flag, object, option, text, undefined, word},
    message::MuiParts,
};
use crate::chunk::chunks;

type Text<'a> = Cow<'a, str>;
type Json<'a> = Cow<'a, Value>;

chunks! {
    /// One chunk, as contained in an envelope.
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
        /// A delta of its input's JSON text, which the real client discards.
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
        /// The end of a step, which the real client ignores.
        "finish-step" => FinishStep(Empty),
        "message-metadata" => MessageMetadata(MessageMetadata<'a>),
        /// Ours: the run failed.
        "error" => Error(ErrorText<'a>),
    } else {
        /// Ours: all parts of the message as they are now. Our adapter passes it on as the realtime event of
        /// this name.
        MessageUpdate(MessageUpdate<'a>),
        /// Application data; its type begins with `data-`.
        Data(Data<'a>),
        /// A chunk of an unknown type, unchanged.
        Unknown(Cow<'a, Value>),
    }

    /// Without an id the client chooses one.
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
    /// The real client discards the id.
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
    /// The real client erases fields that are left out. The answer only names the `approvalId`, so it must be
    /// globally unique.
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
    /// Without a reason the client forgets an earlier one.
    struct ToolOutputDenied<'a> {
        #[serde(default = "undefined")] tool_call_id: text = "text",
        reason?: text = "option",
    }
    /// Merged at the top level only.
    struct MessageMetadata<'a> { #[serde(default)] metadata: Json<'a>, }
    /// Our adapter turns it into the stream's error; MUI's client ignores it and reports the following end
    /// without a terminal chunk.
    struct ErrorText<'a> { #[serde(default)] error_text: text = "word", }
    struct Data<'a> {
        /// `data-` and the name.
        #[serde(rename = "type")]
        kind: text,
        /// The real client does not replace data with the same id: it adds it again.
        id?: text = "option",
        #[serde(default)]
        data: Json<'a>,
        /// Meant to be shown once; the real client keeps it anyway.
        transient?: bool = "flag",
    }
    struct Empty {}
}

/// The type of [`MessageUpdate`].
pub(super) const MESSAGE_UPDATED: &str = "message-updated";

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct MessageUpdate<'a> {
    r#type: &'static str,
    message: UpdatedMessage<'a>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct UpdatedMessage<'a> {
    id: Text<'a>,
    /// All parts of the message.
    parts: MuiParts<'a>,
}

impl<'a> MessageUpdate<'a> {
    pub(super) fn new(id: Text<'a>, parts: MuiParts<'a>) -> Self {
        Self { r#type: MESSAGE_UPDATED, message: UpdatedMessage { id, parts } }
    }
}

/// Whether the client acts on this type of chunk.
pub(super) fn is_known(kind: &str) -> bool {
    kind.starts_with("data-") || kind == MESSAGE_UPDATED || Chunk::TYPES.contains(&kind)
}
