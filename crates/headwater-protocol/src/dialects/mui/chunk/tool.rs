//! The chunks of a tool call.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{super::lenient, Extra, Text};

/// `tool-input-start`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolInputStart<'a> {
    /// The call.
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub tool_call_id: Text<'a>,
    /// The tool.
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub tool_name: Text<'a>,
    /// The tool was not known when the page was built.
    #[serde(default, deserialize_with = "lenient::flag", skip_serializing_if = "Option::is_none")]
    pub dynamic: Option<bool>,
    /// What is ours.
    #[serde(default, deserialize_with = "lenient::ours", skip_serializing_if = "Option::is_none")]
    pub hw: Option<Box<Extra<'a>>>,
}

/// `tool-input-delta`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolInputDelta<'a> {
    /// The call.
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub tool_call_id: Text<'a>,
    /// A piece of JSON text.
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub input_text_delta: Text<'a>,
}

/// `tool-input-available`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolInputAvailable<'a> {
    /// The call.
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub tool_call_id: Text<'a>,
    /// The tool.
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub tool_name: Text<'a>,
    /// The input.
    #[serde(default, deserialize_with = "lenient::present", skip_serializing_if = "Option::is_none")]
    pub input: Option<Cow<'a, Value>>,
    /// The tool was not known when the page was built.
    #[serde(default, deserialize_with = "lenient::flag", skip_serializing_if = "Option::is_none")]
    pub dynamic: Option<bool>,
    /// What is ours.
    #[serde(default, deserialize_with = "lenient::ours", skip_serializing_if = "Option::is_none")]
    pub hw: Option<Box<Extra<'a>>>,
}

/// `tool-input-error`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolInputError<'a> {
    /// The call.
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub tool_call_id: Text<'a>,
    /// What is wrong with the input.
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub error_text: Text<'a>,
    /// What is ours.
    #[serde(default, deserialize_with = "lenient::ours", skip_serializing_if = "Option::is_none")]
    pub hw: Option<Box<Extra<'a>>>,
}

/// `tool-approval-request`: what it leaves out, the real client erases.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolApprovalRequest<'a> {
    /// The call.
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub tool_call_id: Text<'a>,
    /// The tool.
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub tool_name: Text<'a>,
    /// The exact input that is approved.
    #[serde(default, deserialize_with = "lenient::present", skip_serializing_if = "Option::is_none")]
    pub input: Option<Cow<'a, Value>>,
    /// The request. The answer names it and nothing else, so it must be unique everywhere.
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<Text<'a>>,
    /// The tool was not known when the page was built.
    #[serde(default, deserialize_with = "lenient::flag", skip_serializing_if = "Option::is_none")]
    pub dynamic: Option<bool>,
    /// What is ours.
    #[serde(default, deserialize_with = "lenient::ours", skip_serializing_if = "Option::is_none")]
    pub hw: Option<Box<Extra<'a>>>,
}

/// `tool-output-available`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutputAvailable<'a> {
    /// The call.
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub tool_call_id: Text<'a>,
    /// The output.
    #[serde(default)]
    pub output: Cow<'a, Value>,
    /// More will come for this call.
    #[serde(default, deserialize_with = "lenient::flag", skip_serializing_if = "Option::is_none")]
    pub preliminary: Option<bool>,
    /// What is ours.
    #[serde(default, deserialize_with = "lenient::ours", skip_serializing_if = "Option::is_none")]
    pub hw: Option<Box<Extra<'a>>>,
}

/// `tool-output-error`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutputError<'a> {
    /// The call.
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub tool_call_id: Text<'a>,
    /// What happened.
    #[serde(borrow, default, deserialize_with = "lenient::word")]
    pub error_text: Text<'a>,
    /// What is ours.
    #[serde(default, deserialize_with = "lenient::ours", skip_serializing_if = "Option::is_none")]
    pub hw: Option<Box<Extra<'a>>>,
}

/// `tool-output-denied`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutputDenied<'a> {
    /// The call.
    #[serde(borrow, default = "lenient::undefined", deserialize_with = "lenient::text")]
    pub tool_call_id: Text<'a>,
    /// Why; without it the client forgets the reason that it was given.
    #[serde(borrow, default, deserialize_with = "lenient::option", skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<'a>>,
    /// What is ours.
    #[serde(default, deserialize_with = "lenient::ours", skip_serializing_if = "Option::is_none")]
    pub hw: Option<Box<Extra<'a>>>,
}
