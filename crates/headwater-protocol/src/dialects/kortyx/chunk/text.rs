//! Text, streamed or whole.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{borrowed, is_false, present};

/// `message`: a whole message of a node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message<'a> {
    /// The workflow node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Cow<'a, str>>,
    /// Its text.
    pub content: Cow<'a, str>,
    /// *Ours*: the attempt that said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Cow<'a, str>>,
    /// *Ours*: the message that it belongs to, where that is not the one that was started last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Cow<'a, str>>,
}

/// `text-start` and `text-end`: where a block of text begins and is complete.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Text<'a> {
    /// The workflow node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Cow<'a, str>>,
    /// The block; where it is left out, the other fields tell one block from another.
    #[serde(borrow, default, deserialize_with = "borrowed", skip_serializing_if = "Option::is_none")]
    pub id: Option<Cow<'a, str>>,
    /// The hook call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op_id: Option<Cow<'a, str>>,
    /// The piece of that hook's output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment_id: Option<Cow<'a, str>>,
    /// *Ours*: the attempt that says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Cow<'a, str>>,
    /// *Ours*: the message that it belongs to, where that is not the one that was started last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Cow<'a, str>>,
    /// *Ours*: what the provider said about it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Cow<'a, Value>>,
    /// *Ours*: only for Kortyx' own page; it is no event.
    #[serde(default, skip_serializing_if = "is_false")]
    pub filler: bool,
}

/// `text-delta`: more text of a block.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextDelta<'a> {
    /// The workflow node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Cow<'a, str>>,
    /// The block; where it is left out, the other fields tell one block from another.
    #[serde(borrow, default, deserialize_with = "borrowed", skip_serializing_if = "Option::is_none")]
    pub id: Option<Cow<'a, str>>,
    /// The hook call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op_id: Option<Cow<'a, str>>,
    /// The piece of that hook's output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment_id: Option<Cow<'a, str>>,
    /// The text to append.
    pub delta: Cow<'a, str>,
    /// *Ours*: the attempt that says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Cow<'a, str>>,
    /// *Ours*: the message that it belongs to, where that is not the one that was started last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Cow<'a, str>>,
    /// *Ours*: what the provider said about it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Cow<'a, Value>>,
    /// *Ours*: only for Kortyx' own page; it is no event.
    #[serde(default, skip_serializing_if = "is_false")]
    pub filler: bool,
}
