//! What messages are made of: their beginning and end, text, thoughts, sources, files and data.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Text, present};

/// A message begins, or is gone on with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageStart<'a> {
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Cow<'a, str>>,
    /// Who speaks: `assistant` unless it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Cow<'a, str>>,
    /// When it began, in ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Cow<'a, str>>,
    /// Extension: the speaker as the wire described it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub author: Option<Cow<'a, Value>>,
    /// Extension: no event of the run stands behind it; it is there for the contract's sake.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub implied: bool,
}

/// More text of a message, or more of its thoughts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextDelta<'a> {
    /// The message.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Text<'a>>,
    /// Extension: the part; without it, the message's last part or a new one.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub part_id: Option<Text<'a>>,
    /// The text to append.
    #[serde(borrow)]
    pub delta: Text<'a>,
    /// Extension: what the provider said about it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub metadata: Option<Cow<'a, Value>>,
    /// Extension: the attempt that said it.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Text<'a>>,
    /// Extension: a whole message from a node, said at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// Extension: no event of the run stands behind it; it is there for the contract's sake.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub implied: bool,
}

/// The message is complete.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageEnd<'a> {
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Cow<'a, str>>,
    /// Extension: no event of the run stands behind it; it is there for the contract's sake.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub implied: bool,
}

/// Metadata to be merged into the message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageMetadata<'a> {
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Cow<'a, str>>,
    /// A JSON object.
    pub metadata: Cow<'a, Value>,
}

/// A block of text or thoughts begins or ends.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartMark<'a> {
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Cow<'a, str>>,
    /// The part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_id: Option<Cow<'a, str>>,
    /// What the provider said about it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub metadata: Option<Cow<'a, Value>>,
    /// Extension: the attempt that said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Cow<'a, str>>,
}

/// A web page that the answer rests on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Source<'a> {
    /// The source.
    pub source_id: Cow<'a, str>,
    /// Its address.
    pub url: Cow<'a, str>,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Cow<'a, str>>,
    /// The tool call that found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<Cow<'a, str>>,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Cow<'a, str>>,
    /// Extension: what the provider said about it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub metadata: Option<Cow<'a, Value>>,
    /// Extension: the attempt that said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Cow<'a, str>>,
}

/// A document that the answer rests on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceDocument<'a> {
    /// The source.
    pub source_id: Cow<'a, str>,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Cow<'a, str>>,
    /// Its media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<Cow<'a, str>>,
    /// Its file name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<Cow<'a, str>>,
    /// The passage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Cow<'a, str>>,
    /// The tool call that found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<Cow<'a, str>>,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Cow<'a, str>>,
    /// What the provider said about it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub metadata: Option<Cow<'a, Value>>,
    /// Extension: the attempt that said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Cow<'a, str>>,
}

/// A file, by its address or as a `data:` URL.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct File<'a> {
    /// Its address.
    pub url: Cow<'a, str>,
    /// Its media type.
    pub media_type: Cow<'a, str>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<Cow<'a, str>>,
    /// Its id, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_id: Option<Cow<'a, str>>,
    /// It belongs to the thoughts, not to the answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reasoning: bool,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Cow<'a, str>>,
    /// What the provider said about it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub metadata: Option<Cow<'a, Value>>,
    /// Extension: the attempt that said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Cow<'a, str>>,
}

/// Data of the application's own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Data<'a> {
    /// What kind of data it is.
    pub name: Cow<'a, str>,
    /// Data of the same name and id replaces what was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_id: Option<Cow<'a, str>>,
    /// The data.
    pub data: Cow<'a, Value>,
    /// To be seen once and not kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub transient: bool,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Cow<'a, str>>,
}

/// A step of the run begins or ends.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step<'a> {
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Cow<'a, str>>,
    /// Its name, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Cow<'a, str>>,
}
