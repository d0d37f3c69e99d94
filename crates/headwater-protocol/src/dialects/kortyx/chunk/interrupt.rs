//! Questions to a person.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::event;
use crate::event::{Choice, Event, InterruptKind};

/// `interrupt`: a person is asked. The answer comes as metadata of the next message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interrupt<'a> {
    /// The question.
    pub request_id: Cow<'a, str>,
    /// What allows to answer it.
    pub resume_token: Cow<'a, str>,
    /// The workflow that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Cow<'a, str>>,
    /// The workflow node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Cow<'a, str>>,
    /// The hook call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op_id: Option<Cow<'a, str>>,
    /// The same as in the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Cow<'a, str>>,
    /// The same as in the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_id: Option<Cow<'a, str>>,
    /// The same as in the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<Cow<'a, str>>,
    /// What is asked.
    pub input: Input<'a>,
    /// Never set by Kortyx' own server: it is in the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<Cow<'a, Map<String, Value>>>,
    /// *Ours*: what it stands for, where the chunk does not say it all.
    #[serde(
        rename = "hw-event",
        default,
        deserialize_with = "event",
        skip_serializing_if = "Option::is_none"
    )]
    pub stands_for: Option<Cow<'a, Event>>,
}

/// What is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Input<'a> {
    /// What kind of answer is asked for.
    pub kind: InterruptKind,
    /// Several answers may be given.
    #[serde(default)]
    pub multiple: bool,
    /// What the person reads; needed unless the answer is free text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<Cow<'a, str>>,
    /// The application's own name for the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Cow<'a, str>>,
    /// The schema of the question, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_id: Option<Cow<'a, str>>,
    /// The version of that schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<Cow<'a, str>>,
    /// What the application adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<Cow<'a, Map<String, Value>>>,
    /// What may be chosen: always sent, and empty where the answer is free text.
    #[serde(default)]
    pub options: Cow<'a, [Choice]>,
}
