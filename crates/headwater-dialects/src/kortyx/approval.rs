//! How the answer to an approval is told from the answer to another question: by the request's id.

use headwater_protocol::ApprovalId;

/// The choice that approves.
pub(super) const APPROVE: &str = "approve";
/// The choice that refuses.
pub(super) const DENY: &str = "deny";

const PREFIX: &str = "approval:";

pub(super) fn request_id(approval: &ApprovalId) -> String {
    format!("{PREFIX}{approval}")
}

pub(super) fn of_request(request: &str) -> Option<ApprovalId> {
    request.strip_prefix(PREFIX).map(ApprovalId::from)
}
