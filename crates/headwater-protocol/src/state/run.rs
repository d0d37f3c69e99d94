//! What is known of the run itself.

use serde::{Deserialize, Serialize};

use crate::{
    event::{ErrorInfo, FinishReason, RunStarted, Usage},
    id::ToolCallId,
    json_struct::json_struct,
};

/// How far a run is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

json_struct! {
    /// What is known of the run itself.
    #[serde(default)]
    pub struct RunInfo {
        /// How far it is.
        pub status: RunStatus,
        /// How it began.
        pub started: RunStarted,
        /// Why it ended.
        pub finish_reason?: FinishReason,
        /// What it used.
        pub usage?: Usage,
        /// Its result.
        pub data?: json,
        /// What went wrong last.
        pub error?: ErrorInfo,
        /// Why it was cancelled.
        pub cancel_reason?: String,
        /// The calls whose outputs the page owes.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub pending_tool_calls: Vec<ToolCallId>,
        /// The steps that are open, by name.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub open_steps: Vec<Option<String>>,
    }
}
