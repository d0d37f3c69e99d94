//! Tool calls.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{event, is_false, present};
use crate::event::{Event, Executor};

/// `tool-result`: a tool's output in the old form, which names no call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolResult<'a> {
    /// The workflow node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Cow<'a, str>>,
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Cow<'a, str>>,
    /// The output.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub content: Option<Cow<'a, Value>>,
}

/// `tool-call-start`: a tool is called.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallStart<'a> {
    /// The workflow node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Cow<'a, str>>,
    /// The application's own name for the hook call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Cow<'a, str>>,
    /// The hook call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op_id: Option<Cow<'a, str>>,
    /// The tool.
    pub tool: Cow<'a, str>,
    /// The call.
    pub tool_call_id: Cow<'a, str>,
    /// The input.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub input: Option<Cow<'a, Value>>,
    /// *Ours*: the tool was not known when the page was built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamic: Option<bool>,
    /// *Ours*: who executes it, if not the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executor: Option<Executor>,
    /// *Ours*: a title for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Cow<'a, str>>,
    /// *Ours*: what the provider said about it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Cow<'a, Value>>,
    /// *Ours*: the attempt that makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Cow<'a, str>>,
    /// *Ours*: the message that it belongs to, where that is not the one that was started last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Cow<'a, str>>,
    /// *Ours*: only for Kortyx' own page; it is no event.
    #[serde(default, skip_serializing_if = "is_false")]
    pub filler: bool,
}

/// `tool-call-result`: what the tool gave.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallResult<'a> {
    /// The workflow node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Cow<'a, str>>,
    /// The application's own name for the hook call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Cow<'a, str>>,
    /// The hook call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op_id: Option<Cow<'a, str>>,
    /// The tool; empty if nobody ever named it.
    pub tool: Cow<'a, str>,
    /// The call.
    pub tool_call_id: Cow<'a, str>,
    /// The output.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub content: Option<Cow<'a, Value>>,
    /// The same as structured content, where the tool gave both.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Cow<'a, Value>>,
    /// The tool ran and reports a failure of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// *Ours*: more will come for this call.
    #[serde(default, skip_serializing_if = "is_false")]
    pub preliminary: bool,
    /// *Ours*: what the provider said about it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Cow<'a, Value>>,
    /// *Ours*: the tool is named because the protocol demands it; the event did not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unnamed: bool,
    /// *Ours*: the attempt that makes the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Cow<'a, str>>,
    /// *Ours*: the message that it belongs to, where that is not the one that was started last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Cow<'a, str>>,
    /// *Ours*: what it stands for, where the chunk does not say it all.
    #[serde(
        rename = "hw-event",
        default,
        deserialize_with = "event",
        skip_serializing_if = "Option::is_none"
    )]
    pub stands_for: Option<Cow<'a, Event>>,
}

/// `tool-call-error`: the tool failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallError<'a> {
    /// The workflow node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Cow<'a, str>>,
    /// The application's own name for the hook call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Cow<'a, str>>,
    /// The hook call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op_id: Option<Cow<'a, str>>,
    /// The tool; empty if nobody ever named it.
    pub tool: Cow<'a, str>,
    /// The call.
    pub tool_call_id: Cow<'a, str>,
    /// What happened.
    pub message: Cow<'a, str>,
    /// *Ours*: the tool is named because the protocol demands it; the event did not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unnamed: bool,
    /// *Ours*: the attempt that makes the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Cow<'a, str>>,
    /// *Ours*: the message that it belongs to, where that is not the one that was started last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Cow<'a, str>>,
    /// *Ours*: what it stands for, where the chunk does not say it all.
    #[serde(
        rename = "hw-event",
        default,
        deserialize_with = "event",
        skip_serializing_if = "Option::is_none"
    )]
    pub stands_for: Option<Cow<'a, Event>>,
}
