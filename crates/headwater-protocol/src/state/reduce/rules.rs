//! Differences between our reducer and the vendors' clients.

use serde::{Deserialize, Serialize};

/// How a dialect's clients reduce events differently from us.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rules {
    /// Scope of tool call ids.
    pub tool_scope: ToolScope,
    /// Fields of an earlier state of a tool call stay until they are overwritten.
    pub tool_fields_linger: bool,
    /// Data with a repeated id is appended, not replaced.
    pub data_is_appended: bool,
    /// Transient data is kept.
    pub transient_is_kept: bool,
    /// Only the top level of metadata is merged.
    pub metadata_is_shallow: bool,
    /// `custom` and `steering-message` are parts, and `reset-step` drops those of the current step.
    pub ui_message_parts: bool,
    /// A step creates no part in the message.
    pub steps_leave_no_part: bool,
    /// The announcement or denial of a tool call erases fields that it omits: the name, the input, the
    /// reason.
    pub absent_is_erased: bool,
    /// A tool call that was never announced is ignored.
    pub unknown_calls_are_ignored: bool,
    /// Open blocks are completed at the end of the run.
    pub end_closes_blocks: bool,
    /// Structured objects and questions create no parts in messages.
    pub objects_leave_no_part: bool,
    /// Events after the end of the run are applied.
    pub goes_on_after_end: bool,
}

/// The scope of a tool call's id: outside it, the same id is another call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolScope {
    /// The whole run.
    #[default]
    Run,
    /// One message.
    Message,
    /// One step of a message, separately for static and dynamic tools.
    Step,
}
