//! Attempts, and the retraction of failed ones.
//!
//! Version 7 drops a step's parts at `reset-step`, so each attempt gets its own step. Older clients keep
//! their parts: the blocks of the failed attempt are closed, its calls fail, and the next attempt continues
//! after the seam.

use headwater_protocol::{AttemptId, FrameWriter};

use super::{AiSdkEncoder, Audience, Holds, tool};
use crate::ai_sdk::chunk::{Chunk, Empty};

impl AiSdkEncoder {
    pub(super) fn start_attempt(&mut self, attempt: &AttemptId, out: &mut FrameWriter) {
        self.attempt = Some(attempt.clone());
        if self.audience == Audience::Ai7 && self.started && self.is_quiet() {
            self.boundary(out);
        }
    }

    pub(super) fn retract(&mut self, attempt: &AttemptId, out: &mut FrameWriter) {
        self.attempt.take_if(|open| open == attempt);
        if !self.heard.contains(attempt) {
            return;
        }
        self.heard.retain(|heard| heard != attempt);
        // At a reset the client forgets every open block and call, not only those of the step.
        let own = |said: &Option<AttemptId>| said.as_ref() == Some(attempt);
        let alone = matches!(&self.step.holds, Holds::Only(held) if held == attempt)
            && self.blocks.iter().all(|block| own(&block.attempt))
            && self.calls.values().all(|call| call.ready || own(&call.attempt));
        if self.audience == Audience::Ai7 && self.step.seen && alone {
            self.reset_step(attempt, out);
        } else {
            self.close_attempt(attempt, out);
        }
    }

    fn reset_step(&mut self, attempt: &AttemptId, out: &mut FrameWriter) {
        self.put(&Chunk::ResetStep(Empty {}), out);
        self.blocks.clear();
        self.calls.retain(|_, call| {
            call.partial = false;
            call.settled || call.attempt.as_ref() != Some(attempt)
        });
        let calls = &self.calls;
        self.approvals.retain(|_, call| calls.contains_key(call));
        self.step.holds = Holds::Nothing;
        for data in self.step.kept.clone() {
            self.put(&Chunk::Data(data), out);
        }
    }

    fn close_attempt(&mut self, attempt: &AttemptId, out: &mut FrameWriter) {
        self.close_blocks(|block| block.attempt.as_ref() == Some(attempt), out);
        // A call without an end would keep the page waiting; one that failed in the last step would make it
        // send again.
        let dies = |call: &super::ShownCall| !call.settled && call.attempt.as_ref() == Some(attempt);
        let mut dead: Vec<_> = self.calls.extract_if(|_, call| dies(call)).map(|(id, _)| id).collect();
        dead.sort_unstable();
        for call in &dead {
            self.put(
                &tool::output_error(call.as_str(), "The attempt that made this call was retracted."),
                out,
            );
        }
        self.approvals.retain(|_, call| !dead.contains(call));
        if !dead.is_empty() && self.is_quiet() {
            self.boundary(out);
        }
        if !self.seam.is_empty() {
            self.whole_text("seam", &self.seam.clone(), out);
            self.holds(None);
        }
    }
}
