//! The life of a tool call: its input, the approval that it needs, and how it ended.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Text, is_server, present};
use crate::event::Executor;

/// More of a tool call's input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDelta<'a> {
    /// The call.
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    /// Extension: the tool; on the first delta of a call.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<Text<'a>>,
    /// A piece of JSON text.
    #[serde(borrow)]
    pub delta: Text<'a>,
    /// `input-streaming`.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Text<'a>>,
    /// The message.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Text<'a>>,
    /// Extension: the tool was not known when the page was built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic: Option<bool>,
    /// Extension: who executes it, unless the agent does.
    #[serde(default, skip_serializing_if = "is_server")]
    pub executor: Executor,
    /// Extension: a title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Cow<'a, str>>,
    /// Extension: what the provider said about it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub metadata: Option<Cow<'a, Value>>,
    /// Extension: the attempt that said it.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Text<'a>>,
    /// Extension: no event of the run stands behind it; it is there for the contract's sake.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub implied: bool,
}

/// A tool call whose input is there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall<'a> {
    /// The call.
    pub tool_call_id: Cow<'a, str>,
    /// The tool.
    pub tool_name: Cow<'a, str>,
    /// The input.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub input: Option<Cow<'a, Value>>,
    /// `input-available`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Cow<'a, str>>,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Cow<'a, str>>,
    /// Extension: the tool was not known when the page was built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic: Option<bool>,
    /// Extension: who executes it, unless the agent does.
    #[serde(default, skip_serializing_if = "is_server")]
    pub executor: Executor,
    /// Extension: a title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Cow<'a, str>>,
    /// Extension: what the provider said about it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub metadata: Option<Cow<'a, Value>>,
    /// Extension: the attempt that said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Cow<'a, str>>,
    /// Extension: no event of the run stands behind it; it is there for the contract's sake.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub implied: bool,
}

/// How a tool call ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult<'a> {
    /// The call.
    pub tool_call_id: Cow<'a, str>,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<Cow<'a, str>>,
    /// Extension: the run did not name the tool here; the name is the call's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub name_implied: bool,
    /// What the tool gave.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub output: Option<Cow<'a, Value>>,
    /// Why it gave nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_text: Option<Cow<'a, str>>,
    /// `output-available`, `output-error` or, as an extension, `output-denied`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Cow<'a, str>>,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Cow<'a, str>>,
    /// Extension: the output as structured content, where the tool gave both.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub structured: Option<Cow<'a, Value>>,
    /// Extension: the tool ran and reports a failure of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Extension: more will come for this call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preliminary: bool,
    /// Extension: why the call was denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'a, str>>,
    /// Extension: the input was refused, and the tool was not run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub input_error: bool,
    /// Extension: the input that was refused.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub input: Option<Cow<'a, Value>>,
    /// Extension: the tool was not known when the page was built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic: Option<bool>,
    /// Extension: who executes it, unless the agent does.
    #[serde(default, skip_serializing_if = "is_server")]
    pub executor: Executor,
    /// Extension: a title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Cow<'a, str>>,
    /// Extension: what the provider said about it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub metadata: Option<Cow<'a, Value>>,
    /// Extension: the attempt that said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Cow<'a, str>>,
}

/// A person is asked whether the call may be made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolApproval<'a> {
    /// The request.
    pub approval_id: Cow<'a, str>,
    /// The call.
    pub tool_call_id: Cow<'a, str>,
    /// The tool.
    pub tool_name: Cow<'a, str>,
    /// The exact input that is approved.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub input: Option<Cow<'a, Value>>,
    /// `approval-requested`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Cow<'a, str>>,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Cow<'a, str>>,
    /// Binds the request to the run, the call and its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Cow<'a, str>>,
    /// A policy answers, not a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub automatic: bool,
    /// Extension: the tool was not known when the page was built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic: Option<bool>,
    /// Extension: who executes it, unless the agent does.
    #[serde(default, skip_serializing_if = "is_server")]
    pub executor: Executor,
    /// Extension: a title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Cow<'a, str>>,
    /// Extension: what the provider said about it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub metadata: Option<Cow<'a, Value>>,
    /// Extension: the attempt that said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Cow<'a, str>>,
}

/// The approval was given or refused.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolApprovalResponse<'a> {
    /// The request.
    pub approval_id: Cow<'a, str>,
    /// The call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<Cow<'a, str>>,
    /// The decision.
    pub approved: bool,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'a, str>>,
    /// `approval-responded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Cow<'a, str>>,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Cow<'a, str>>,
}
