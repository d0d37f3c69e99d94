//! The chunks of MUI X Chat, with all their fields.
//!
//! The real client checks nothing and ignores every field that it does not know. What is ours therefore
//! travels in one field, [`Extra`], under the name `hw`; and in two chunks that only our adapter and our
//! decoder know, [`Chunk::HwEvent`] and [`Chunk::MessageUpdated`].

mod extra;
mod tool;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{lenient, message::Parts};
use crate::event::Event;

pub use extra::Extra;
pub use tool::{
    ToolApprovalRequest, ToolInputAvailable, ToolInputDelta, ToolInputError, ToolInputStart,
    ToolOutputAvailable, ToolOutputDenied, ToolOutputError,
};

type Text<'a> = Cow<'a, str>;

/// One chunk, as it stands in an envelope.
///
/// ```
/// use headwater_protocol::dialects::mui::{BlockDelta, Chunk};
///
/// let chunk = Chunk::TextDelta(BlockDelta { id: "t1".into(), delta: "Hi".into(), hw: None });
/// assert_eq!(serde_json::to_string(&chunk).unwrap(), r#"{"type":"text-delta","id":"t1","delta":"Hi"}"#);
/// ```
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Chunk<'a> {
    /// The assistant's message begins.
    Start(Start<'a>),
    /// The message is complete.
    Finish(Finish<'a>),
    /// The message was stopped.
    Abort(Abort<'a>),
    /// A block of text begins.
    TextStart(BlockStart<'a>),
    /// More text of a block.
    TextDelta(BlockDelta<'a>),
    /// The block of text is complete.
    TextEnd(BlockEnd<'a>),
    /// A block of reasoning begins.
    ReasoningStart(BlockStart<'a>),
    /// More reasoning of a block.
    ReasoningDelta(BlockDelta<'a>),
    /// The block of reasoning is complete.
    ReasoningEnd(BlockEnd<'a>),
    /// A tool call is announced.
    ToolInputStart(ToolInputStart<'a>),
    /// More of its input's JSON text, which the real client throws away.
    ToolInputDelta(ToolInputDelta<'a>),
    /// Its input is complete.
    ToolInputAvailable(ToolInputAvailable<'a>),
    /// Its input is not what the tool takes.
    ToolInputError(ToolInputError<'a>),
    /// A person is asked whether the call may be made.
    ToolApprovalRequest(ToolApprovalRequest<'a>),
    /// What the tool gave.
    ToolOutputAvailable(ToolOutputAvailable<'a>),
    /// The tool failed.
    ToolOutputError(ToolOutputError<'a>),
    /// The call was refused.
    ToolOutputDenied(ToolOutputDenied<'a>),
    /// A web page that the answer rests on.
    SourceUrl(SourceUrl<'a>),
    /// A document that the answer rests on.
    SourceDocument(SourceDocument<'a>),
    /// A file.
    File(File<'a>),
    /// A step begins.
    StartStep(Step<'a>),
    /// The step ended; the real client does nothing.
    FinishStep(Step<'a>),
    /// Metadata to be merged into the message.
    MessageMetadata(MessageMetadata<'a>),
    /// Ours: an event that MUI has no word for.
    HwEvent(Carried<'a>),
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
pub struct Start<'a> {
    /// The message; without it the client takes an id of its own.
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Text<'a>>,
    /// The speaker, a `ChatUser`.
    #[serde(default, deserialize_with = "lenient::present", skip_serializing_if = "Option::is_none")]
    pub author: Option<Cow<'a, Value>>,
    /// What is ours.
    #[serde(default, deserialize_with = "lenient::ours", skip_serializing_if = "Option::is_none")]
    pub hw: Option<Box<Extra<'a>>>,
}

/// `finish`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finish<'a> {
    /// The message.
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Text<'a>>,
    /// Why it ended, in any word.
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<Text<'a>>,
    /// What is ours.
    #[serde(default, deserialize_with = "lenient::ours", skip_serializing_if = "Option::is_none")]
    pub hw: Option<Box<Extra<'a>>>,
}

/// `abort`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Abort<'a> {
    /// The message.
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Text<'a>>,
    /// What is ours.
    #[serde(default, deserialize_with = "lenient::ours", skip_serializing_if = "Option::is_none")]
    pub hw: Option<Box<Extra<'a>>>,
}

/// `text-start` and `reasoning-start`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BlockStart<'a> {
    /// The block.
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub id: Text<'a>,
    /// What is ours.
    #[serde(default, deserialize_with = "lenient::ours", skip_serializing_if = "Option::is_none")]
    pub hw: Option<Box<Extra<'a>>>,
}

/// `text-delta` and `reasoning-delta`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BlockDelta<'a> {
    /// The block.
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub id: Text<'a>,
    /// The text to append.
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub delta: Text<'a>,
    /// What is ours.
    #[serde(default, deserialize_with = "lenient::ours", skip_serializing_if = "Option::is_none")]
    pub hw: Option<Box<Extra<'a>>>,
}

/// `text-end` and `reasoning-end`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BlockEnd<'a> {
    /// The block.
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub id: Text<'a>,
    /// What is ours.
    #[serde(default, deserialize_with = "lenient::ours", skip_serializing_if = "Option::is_none")]
    pub hw: Option<Box<Extra<'a>>>,
}

/// `source-url`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceUrl<'a> {
    /// The source.
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub source_id: Text<'a>,
    /// Its address.
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub url: Text<'a>,
    /// Its title.
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub title: Option<Text<'a>>,
    /// What is ours.
    #[serde(default, deserialize_with = "lenient::ours", skip_serializing_if = "Option::is_none")]
    pub hw: Option<Box<Extra<'a>>>,
}

/// `source-document`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceDocument<'a> {
    /// The source.
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub source_id: Text<'a>,
    /// Its title.
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub title: Option<Text<'a>>,
    /// The passage.
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub text: Option<Text<'a>>,
    /// What is ours.
    #[serde(default, deserialize_with = "lenient::ours", skip_serializing_if = "Option::is_none")]
    pub hw: Option<Box<Extra<'a>>>,
}

/// `file`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct File<'a> {
    /// Its media type.
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub media_type: Text<'a>,
    /// Its address, or a `data:` URL.
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub url: Text<'a>,
    /// Its name.
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub filename: Option<Text<'a>>,
    /// Its id, which the real client throws away.
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub id: Option<Text<'a>>,
    /// What is ours.
    #[serde(default, deserialize_with = "lenient::ours", skip_serializing_if = "Option::is_none")]
    pub hw: Option<Box<Extra<'a>>>,
}

/// `start-step` and `finish-step`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Step<'a> {
    /// What is ours.
    #[serde(default, deserialize_with = "lenient::ours", skip_serializing_if = "Option::is_none")]
    pub hw: Option<Box<Extra<'a>>>,
}

/// `message-metadata`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MessageMetadata<'a> {
    /// Merged at the top level only.
    #[serde(default)]
    pub metadata: Cow<'a, Value>,
    /// What is ours.
    #[serde(default, deserialize_with = "lenient::ours", skip_serializing_if = "Option::is_none")]
    pub hw: Option<Box<Extra<'a>>>,
}

/// `data-*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Data<'a> {
    /// The type, `data-` and the name.
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    /// The same id again does not replace the data: the real client adds it once more.
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub id: Option<Text<'a>>,
    /// The data.
    #[serde(default)]
    pub data: Cow<'a, Value>,
    /// Meant to be seen once; the real client keeps it all the same.
    #[serde(default, deserialize_with = "lenient::flag", skip_serializing_if = "Option::is_none")]
    pub transient: Option<bool>,
    /// What is ours.
    #[serde(default, deserialize_with = "lenient::ours", skip_serializing_if = "Option::is_none")]
    pub hw: Option<Box<Extra<'a>>>,
}

/// `hw-event`, ours.
#[derive(Debug, Clone, Serialize)]
pub struct Carried<'a> {
    /// The event in our own form.
    pub event: Cow<'a, Event>,
}

/// `message-updated`, ours.
#[derive(Debug, Clone, Serialize)]
pub struct MessageUpdated<'a> {
    /// The message with all its parts.
    pub message: UpdatedMessage<'a>,
    /// Why: an attempt was retracted, or data was replaced. Nothing if the client may hold what was not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<Cow<'a, Event>>,
}

/// The message in `message-updated`.
#[derive(Debug, Clone, Serialize)]
pub struct UpdatedMessage<'a> {
    /// The message that the real client has.
    pub id: Text<'a>,
    /// All its parts.
    pub parts: Parts<'a>,
}
