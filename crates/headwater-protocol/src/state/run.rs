//! What is known of the run itself.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    event::{ErrorInfo, FinishReason, RunStarted, Usage},
    id::ToolCallId,
};

/// How far a run is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// It goes on.
    #[default]
    Running,
    /// It waits for an answer.
    Waiting,
    /// It came to its end.
    Finished,
    /// It ended with an error, or its stream was cut.
    Failed,
    /// It was stopped.
    Cancelled,
}

impl RunStatus {
    /// The name in our own form.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What is known of the run itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunInfo {
    /// How far it is.
    pub status: RunStatus,
    /// How it began.
    pub started: RunStarted,
    /// Why it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    /// What it used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Its result.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "headwater_json::present")]
    pub data: Option<Value>,
    /// What went wrong last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// Why it was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<String>,
    /// The calls whose outputs the page owes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending_tool_calls: Vec<ToolCallId>,
    /// The steps that are open, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open_steps: Vec<Option<String>>,
}
