//! The events for questions and their answers.

use headwater_protocol::{ApprovalAnswered, ApprovalRequested, Event, InterruptAnswered};

use crate::journal::{AnswerValue, Wait, WaitKind};

/// The event for a new question; `None` for a page tool, whose call readers see already.
pub(crate) fn asked_event(wait: &Wait) -> Option<Event> {
    match &wait.kind {
        WaitKind::Question { interrupt, .. } => Some(Event::InterruptRequested(interrupt.clone())),
        WaitKind::Approval { tool, input, signature, .. } => {
            Some(Event::ApprovalRequested(ApprovalRequested {
                approval: wait.request.as_str().into(),
                tool: (**tool).clone(),
                input: Some(input.clone()),
                signature: Some(signature.clone()),
                ..Default::default()
            }))
        }
        WaitKind::ClientTool { .. } => None,
    }
}

/// The event for an accepted answer; `None` for a page tool, whose output has its own event.
pub(crate) fn answered_event(wait: &Wait, answer: &AnswerValue) -> Option<Event> {
    match (&wait.kind, answer) {
        (WaitKind::Question { .. }, AnswerValue::Expired) => {
            Some(Event::InterruptExpired { request: wait.request.clone() })
        }
        (WaitKind::Question { .. }, AnswerValue::Given(value)) => {
            Some(Event::InterruptAnswered(InterruptAnswered {
                request: wait.request.clone(),
                answer: Some(value.clone()),
                ..Default::default()
            }))
        }
        (WaitKind::Question { .. }, _) => Some(Event::InterruptAnswered(InterruptAnswered {
            request: wait.request.clone(),
            ..Default::default()
        })),
        (WaitKind::Approval { tool, .. }, AnswerValue::Approval { approved, reason, .. }) => {
            Some(Event::ApprovalAnswered(ApprovalAnswered {
                approval: wait.request.as_str().into(),
                call: Some(tool.call.clone()),
                approved: *approved,
                reason: reason.clone(),
                ..Default::default()
            }))
        }
        (WaitKind::Approval { tool, .. }, _) => Some(Event::ApprovalAnswered(ApprovalAnswered {
            approval: wait.request.as_str().into(),
            call: Some(tool.call.clone()),
            reason: Some("no decision came in time".to_owned()),
            ..Default::default()
        })),
        (WaitKind::ClientTool { .. }, _) => None,
    }
}
