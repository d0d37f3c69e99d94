//! AG-UI's messages, tool calls and questions, as they stand in snapshots and requests.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{chunk::Content, notes::Metadata};
use crate::event::Role;

/// A message. Which fields it has depends on its role.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WireMessage<'a> {
    /// Its id.
    pub id: Cow<'a, str>,
    /// Who speaks.
    pub role: Role,
    /// What it says: parts only from users and tools, an object only in activities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Content<'a>>,
    /// The speaker's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Cow<'a, str>>,
    /// The calls that an assistant makes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<WireCall<'a>>,
    /// The call that a tool answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<Cow<'a, str>>,
    /// Why the tool failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Cow<'a, str>>,
    /// What kind of activity it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity_type: Option<Cow<'a, str>>,
    /// What the provider wants to see again, unread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encrypted_value: Option<Cow<'a, str>>,
    /// What the application keeps with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata<'a>>,
    /// The subagent that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent_run_id: Option<Cow<'a, str>>,
}

impl<'a> WireMessage<'a> {
    /// A message that says nothing.
    pub fn new(id: impl Into<Cow<'a, str>>, role: Role) -> Self {
        Self { id: id.into(), role, ..Self::default() }
    }
}

/// A tool call within an assistant's message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WireCall<'a> {
    /// The call.
    pub id: Cow<'a, str>,
    /// Always `function`.
    #[serde(rename = "type")]
    pub kind: Cow<'a, str>,
    /// The tool and its arguments.
    pub function: Function<'a>,
    /// What the provider wants to see again, unread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encrypted_value: Option<Cow<'a, str>>,
    /// What the application keeps with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata<'a>>,
}

/// A tool and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function<'a> {
    /// The tool.
    pub name: Cow<'a, str>,
    /// The arguments' JSON text, as far as it came.
    pub arguments: Cow<'a, str>,
}

/// A question that a run waits for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Interrupt<'a> {
    /// The question.
    pub id: Cow<'a, str>,
    /// Why the run waits, in one word.
    pub reason: Cow<'a, str>,
    /// What the person reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Cow<'a, str>>,
    /// The call that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<Cow<'a, str>>,
    /// The JSON Schema of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_schema: Option<Cow<'a, Value>>,
    /// When the question goes away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Cow<'a, str>>,
    /// What the application adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Cow<'a, Value>>,
    /// The subagent that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent_run_id: Option<Cow<'a, str>>,
}
