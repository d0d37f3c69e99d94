//! What is still open when a run ends is closed, so that the conversation stays usable.

use headwater_protocol::{BlockEnded, Event, Part, PartState, RunState, ToolOutputError};
use headwater_store::Receipt;
use serde_json::{Map, Value};

use super::RunShared;
use crate::{
    Result,
    journal::{Left, Visit},
};

/// The end of a run as its driver knows it.
#[derive(Debug)]
pub(crate) struct RunEnd {
    /// The event that tells it, which may not be durable yet.
    pub(crate) told: Receipt,
    pub(crate) trace: RunTrace,
}

/// Where a run came along, as its checkpoint keeps it.
#[derive(Debug, Default)]
pub(crate) struct RunTrace {
    /// The workflow of the node that was entered last, with its version.
    pub(crate) workflow: String,
    /// The visits that are under way.
    pub(crate) position: Vec<String>,
    /// The workflow state that was written.
    pub(crate) state: Map<String, Value>,
}

impl RunTrace {
    pub(crate) fn entered(&mut self, visit: &Visit) {
        visit.workflow.clone_into(&mut self.workflow);
        self.position.push(visit.to_string());
    }

    pub(crate) fn left(&mut self, left: &Left) {
        let visit = left.visit.to_string();
        self.position.retain(|open| *open != visit);
        self.state.extend(left.workflow_state.clone());
    }
}

/// Closes what can never be completed, and tells the end. Durable when the receipt is.
pub(crate) async fn finish(run: &RunShared, end: Event) -> Result<Receipt> {
    run.journal.open_reserve();
    for closing in run.journal.with_state(closing) {
        drop(run.say(closing)?);
    }
    if !run.message_finished {
        drop(run.say(Event::MessageFinished { message: run.message.clone() })?);
    }
    match run.agent.clone().checkpoint_to_be(run).await {
        Ok(Some(checkpoint)) => drop(run.say(checkpoint)?),
        Ok(None) => {}
        // A session that cannot be read must not keep its run from ending.
        Err(error) => {
            tracing::error!(run = %run.id, error = ?error.message(), "a run ends without its session");
        }
    }
    // Before readers can see the end: they may look for what the run leaves.
    run.phase.settle();
    run.say(end)
}

/// The events that close what can never be completed: texts that ended in the middle, and tool calls without a result,
/// which a provider would refuse in the next turn.
fn closing(state: &RunState) -> Vec<Event> {
    let mut events = Vec::new();
    for part in state.current_message().into_iter().flat_map(|message| &message.parts) {
        if let Some((kind, text)) = part.as_block() {
            if text.state == PartState::Streaming {
                events.push(Event::BlockEnded(BlockEnded::new(kind, text.id.clone())));
            }
        } else if let Part::Tool(tool) = part
            && !tool.state.is_settled()
        {
            events.push(Event::ToolOutputError(ToolOutputError {
                call: tool.call.clone(),
                name: Some(tool.name.clone()),
                error: "the run ended before the call was completed".to_owned(),
                ..Default::default()
            }));
        }
    }
    events
}
