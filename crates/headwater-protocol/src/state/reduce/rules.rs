//! Where the vendors' clients build other messages from the same events.

use serde::{Deserialize, Serialize};

/// Where a dialect's clients build other messages from the same events than we do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rules {
    /// How far a tool call's id reaches.
    pub tool_scope: ToolScope,
    /// What an earlier state of a tool call said stays until it is overwritten.
    pub tool_fields_linger: bool,
    /// Data whose id was seen before is added, not replaced.
    pub data_is_appended: bool,
    /// Transient data is kept.
    pub transient_is_kept: bool,
    /// Only the top level of metadata is merged.
    pub metadata_is_shallow: bool,
    /// `custom` and `steering-message` are parts, and `reset-step` drops those of the current step.
    pub ui_message_parts: bool,
    /// A step leaves no mark in the message.
    pub steps_leave_no_part: bool,
    /// What the announcement of a tool call, or its denial, leaves out is taken away: the name, the
    /// input, the reason.
    pub absent_is_erased: bool,
    /// Nothing is made of a tool call that was never announced.
    pub unknown_calls_are_ignored: bool,
    /// When the run ends, the blocks that are open are complete.
    pub end_closes_blocks: bool,
    /// Structured objects and questions have no place in the messages.
    pub objects_leave_no_part: bool,
    /// What comes after the end of the run is applied.
    pub goes_on_after_end: bool,
}

/// How far a tool call's id reaches: beyond it, the same id is another call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolScope {
    /// The whole run.
    #[default]
    Run,
    /// One message.
    Message,
    /// One step of a message, and one of static and dynamic tools.
    Step,
}
