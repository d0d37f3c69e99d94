//! What concerns the run and not one message: its beginning and end, attempts, questions, state.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::present;
use crate::{
    event::{Event, Usage},
    id::ToolCallId,
};

/// What is known of the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta<'a> {
    /// The HTTP request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Cow<'a, str>>,
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Cow<'a, str>>,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Cow<'a, str>>,
    /// The page's own name for the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<Cow<'a, str>>,
    /// The model that answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Cow<'a, str>>,
    /// The path that was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Cow<'a, str>>,
    /// When the run began, in ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Cow<'a, str>>,
    /// Extension: the workflow that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Cow<'a, str>>,
    /// Extension: the run that this one goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_run_id: Option<Cow<'a, str>>,
    /// Extension: no event of the run stands behind it; it is there for the contract's sake.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub implied: bool,
}

/// A structured stream no longer counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StructuredInvalidated<'a> {
    /// The stream.
    pub stream_id: Cow<'a, str>,
    /// The checkpoint that was rolled back to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<Cow<'a, str>>,
}

/// The state shared with the page is replaced.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State<'a> {
    /// The whole state.
    pub state: Cow<'a, Value>,
}

/// The state shared with the page changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateDelta<'a> {
    /// A JSON Patch.
    pub patch: Cow<'a, [Value]>,
}

/// The person answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InterruptAnswer<'a> {
    /// The question.
    pub request: Cow<'a, str>,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub answer: Option<Cow<'a, Value>>,
}

/// Nobody answered in time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InterruptExpired<'a> {
    /// The question.
    pub request: Cow<'a, str>,
}

/// A try of a model call begins, is completed or is taken back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt<'a> {
    /// The attempt.
    pub attempt: Cow<'a, str>,
    /// The model that is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Cow<'a, str>>,
    /// Why it is taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'a, str>>,
}

/// What the run is doing, for an overlay.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status<'a> {
    /// `submitted`, `streaming`, `waiting`, `ready`, `error` or the application's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Cow<'a, str>>,
    /// A line for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Cow<'a, str>>,
    /// Extension: no event of the run stands behind it; it is there for the contract's sake.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub implied: bool,
}

/// Something was not done as asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Warning<'a> {
    /// A line for people.
    pub message: Cow<'a, str>,
    /// A machine-readable code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Cow<'a, str>>,
}

/// The run goes on in another workflow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transition<'a> {
    /// That workflow.
    pub to: Cow<'a, str>,
    /// What is handed over.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub payload: Option<Cow<'a, Value>>,
}

/// The session's state after this turn was kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint<'a> {
    /// The checkpoint.
    pub checkpoint_id: Cow<'a, str>,
    /// Its session.
    pub session_id: Cow<'a, str>,
    /// The number of the turn.
    pub turn: u64,
    /// A label for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Cow<'a, str>>,
}

/// Something went wrong.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorChunk<'a> {
    /// A line for people.
    pub message: Cow<'a, str>,
    /// A machine-readable code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Cow<'a, str>>,
    /// Whether the same request may go well the next time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// Extension: whether the run ended with it. Where it is not said, it did if nothing but the end of the stream follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<bool>,
    /// Extension: the run ends with it, but its end is still to come.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub announced: bool,
}

/// The run goes on when someone answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunWaiting<'a> {
    /// The calls whose outputs the page owes.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub tool_call_ids: Cow<'a, [ToolCallId]>,
    /// What was used so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Cow<'a, Usage>>,
}

/// The end of the stream.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Done<'a> {
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Cow<'a, str>>,
    /// Why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<Cow<'a, str>>,
    /// What the whole run used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Cow<'a, Usage>>,
    /// Extension: the run's result.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub data: Option<Cow<'a, Value>>,
    /// Extension: the run was stopped on request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// Extension: who or what asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'a, str>>,
    /// Extension: no event of the run stands behind it; it is there for the contract's sake.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub implied: bool,
}

/// An event that this wire has no word for, in our own form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Carried<'a> {
    /// The event.
    pub event: Cow<'a, Event>,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Cow<'a, str>>,
    /// Extension: the attempt that said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Cow<'a, str>>,
}
