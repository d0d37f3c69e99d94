//! Attempts, and how what a dead one said is taken back.
//!
//! Version 7 drops a step's parts at `reset-step`, so there each attempt gets a step of its own. Older
//! clients keep what they were told: the dead attempt's blocks are closed, its calls fail, and the next
//! attempt goes on after the seam.

use std::borrow::Cow;

use super::{Audience, Encoder, Holds, Plan};
use crate::{
    dialects::ai_sdk::chunk::{Chunk, ToolOutputError},
    id::AttemptId,
};

impl Encoder {
    pub(super) fn start_attempt<'a>(&mut self) -> Plan<'a> {
        let mut plan = Plan::marked();
        let fresh = self.step.seen && self.step.open && matches!(self.step.holds, Holds::Nothing);
        if self.audience == Audience::Ai7 && self.started && !fresh && self.blocks.is_empty() {
            self.boundary(&mut plan);
        }
        plan
    }

    pub(super) fn retract<'a>(&mut self, attempt: &AttemptId) -> Plan<'a> {
        let mut plan = Plan::marked();
        if !self.heard.contains(attempt) {
            return plan;
        }
        self.heard.retain(|heard| heard != attempt);
        let alone = matches!(&self.step.holds, Holds::Only(held) if held == attempt);
        if self.audience == Audience::Ai7 && self.step.seen && alone {
            plan.push(Chunk::ResetStep);
            self.blocks.retain(|block| block.attempt.as_ref() != Some(attempt));
            self.calls.retain(|_, call| call.settled || call.attempt.as_ref() != Some(attempt));
            let calls = &self.calls;
            self.approvals.retain(|_, call| calls.contains_key(call));
            self.step.holds = Holds::Nothing;
            return plan;
        }
        self.close_blocks(&mut plan, |block| block.attempt.as_ref() == Some(attempt));
        // A call without an end would keep the page waiting; one that failed in the last step would
        // make it ask again.
        let mut dead = Vec::new();
        self.calls.retain(|id, call| {
            let dies = !call.settled && call.attempt.as_ref() == Some(attempt);
            if dies {
                dead.push(id.clone());
            }
            !dies
        });
        dead.sort_unstable();
        for call in &dead {
            plan.push(Chunk::ToolOutputError(ToolOutputError {
                tool_call_id: Cow::Owned(call.as_str().to_owned()),
                error_text: Cow::Borrowed("The attempt that made this call was retracted."),
                ..ToolOutputError::default()
            }));
        }
        self.approvals.retain(|_, call| !dead.contains(call));
        if !dead.is_empty() {
            self.boundary(&mut plan);
        }
        if !self.seam.is_empty() {
            self.made += 1;
            plan.text(format!("hw-seam-{}", self.made), Cow::Owned(self.seam.clone()));
            self.holds(None);
        }
        plan
    }
}
