//! Facts about the run itself.

use serde::{Deserialize, Serialize};

use crate::{
    event::{ErrorInfo, FinishReason, RunStarted, Usage},
    id::ToolCallId,
    json_struct::json_struct,
};

/// The status of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// It is active.
    #[default]
    Running,
    /// It waits for an answer.
    Waiting,
    /// It came to its end.
    Finished,
    /// It failed, or its stream was truncated.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl RunStatus {
    /// The name in our own JSON format.
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

json_struct! {
    /// Facts about the run itself.
    #[serde(default)]
    pub struct RunInfo {
        /// Status of the run.
        pub status: RunStatus,
        /// The start event of the run.
        pub started: RunStarted,
        /// Why it ended.
        pub finish_reason?: FinishReason,
        /// Token usage.
        pub usage?: Usage,
        /// Result of the run.
        pub data?: json,
        /// The last error.
        pub error?: ErrorInfo,
        /// Why it was cancelled.
        pub cancel_reason?: String,
        /// Calls whose results the page must send.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub pending_tool_calls: Vec<ToolCallId>,
        /// Open steps, by name.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub open_steps: Vec<Option<String>>,
    }
}
