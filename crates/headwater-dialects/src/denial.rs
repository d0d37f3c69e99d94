//! The output of a denied tool call, for pages that show it as text.

use headwater_protocol::ToolPart;

/// The text for a call that was denied without a reason.
pub(crate) const DENIED: &str = "The call was denied.";

/// The text for a call that was denied.
pub(crate) fn denial(tool: &ToolPart) -> &str {
    let reason = tool.approval.as_ref().and_then(|approval| approval.reason.as_deref());
    reason.unwrap_or(DENIED)
}
