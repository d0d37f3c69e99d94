//! The request's id distinguishes answers to approvals from answers to other questions.

use headwater_protocol::ApprovalId;

/// The option that approves.
pub(super) const APPROVE: &str = "approve";
/// The option that denies.
pub(super) const DENY: &str = "deny";

const PREFIX: &str = "approval:";

pub(super) fn request_id(approval: &ApprovalId) -> String {
    format!("{PREFIX}{approval}")
}

pub(super) fn of_request(request: &str) -> Option<ApprovalId> {
    request.strip_prefix(PREFIX).map(ApprovalId::from)
}
