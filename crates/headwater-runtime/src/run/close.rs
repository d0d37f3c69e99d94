//! What is still open when a run ends is closed, so that the conversation stays usable.

use headwater_protocol::{BlockEnded, Event, Part, PartState, RunState, ToolOutputError};

use super::RunShared;
use crate::Result;

/// Closes what can never be completed, and tells the end. Durable when this returns.
pub(crate) async fn finish(run: &RunShared, end: Event) -> Result<()> {
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
    run.say(end)?.await?;
    Ok(())
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
