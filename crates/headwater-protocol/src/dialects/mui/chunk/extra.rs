//! What is ours in a chunk.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{super::lenient, Text};
use crate::event::{Event, Executor, Role, Usage};

/// What is ours in a chunk; the real client ignores it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Extra<'a> {
    /// The attempt that says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Text<'a>>,
    /// Its message, if that is not the one that was started last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Text<'a>>,
    /// The events before the message began, in `start`.
    #[serde(skip_serializing_if = "<[Event]>::is_empty")]
    pub before: Cow<'a, [Event]>,
    /// Who speaks, if it is not the assistant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// It stands there for the real client's sake alone, and is no event.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub implied: bool,
    /// The block is a whole message of a node.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// The data is an event of another kind.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub carried: bool,
    /// The name of the step or of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Text<'a>>,
    /// A title for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Text<'a>>,
    /// Who executes the tool, if it is not the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executor: Option<Executor>,
    /// The input that was refused.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::present")]
    pub input: Option<Cow<'a, Value>>,
    /// Binds an approval to the run, the call and its input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<Text<'a>>,
    /// A policy answers, not a person.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub automatic: bool,
    /// The output as structured content.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::present")]
    pub structured: Option<Cow<'a, Value>>,
    /// The output is a failure that the tool reports.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// The tool call that found the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<Text<'a>>,
    /// The document's media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<Text<'a>>,
    /// The document's file name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<Text<'a>>,
    /// The file belongs to the reasoning.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reasoning: bool,
    /// What the provider said about it.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::present")]
    pub metadata: Option<Cow<'a, Value>>,
    /// What the run used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Cow<'a, Usage>>,
    /// The run's result.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::present")]
    pub data: Option<Cow<'a, Value>>,
    /// Why the run was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<'a>>,
}

impl Extra<'_> {
    /// Itself, unless it says nothing.
    pub(in super::super) fn some(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}
