//! What a plain `done` means at a place of the stream. The encoder and the decoder follow the same events,
//! so a `done` that means what was meant needs no word more.

use std::collections::HashSet;

use crate::{
    event::Event,
    id::{ApprovalId, RequestId},
};

/// What was said about the end of the run so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Ending {
    questions: HashSet<RequestId>,
    approvals: HashSet<ApprovalId>,
    over: bool,
}

/// What a plain `done` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Implied {
    /// The run came to its end.
    Finished,
    /// Someone was asked and has not answered.
    Waiting,
    /// How the run ended was said before.
    Nothing,
}

impl Ending {
    pub(super) fn see(&mut self, event: &Event) {
        match event {
            Event::RunStarted(_) => *self = Self::default(),
            Event::InterruptRequested(interrupt) => {
                self.questions.insert(interrupt.request.clone());
            }
            Event::InterruptAnswered { request, .. } | Event::InterruptExpired { request } => {
                self.questions.remove(request);
            }
            Event::ApprovalRequested { approval, automatic: false, .. } => {
                self.approvals.insert(approval.clone());
            }
            Event::ApprovalAnswered { approval, .. } => {
                self.approvals.remove(approval);
            }
            Event::RunFinished { .. }
            | Event::RunFailed(_)
            | Event::RunCancelled { .. }
            | Event::Error { terminal: true, .. } => self.over = true,
            _ => {}
        }
    }

    pub(super) fn implied(&self) -> Implied {
        if self.over {
            Implied::Nothing
        } else if self.questions.is_empty() && self.approvals.is_empty() {
            Implied::Finished
        } else {
            Implied::Waiting
        }
    }
}
