//! Closing open parts when a run ends, so that the conversation stays usable.

use headwater_protocol::{BlockEnded, ErrorInfo, Event, Part, PartState, RunState, ToolOutputError};
use headwater_store::Receipt;

use super::Runs;
use crate::{Result, node::ActiveRun};

/// Closes all incomplete parts, and writes the final event. Durable when the receipt is.
pub(crate) async fn finish(runs: &Runs, run: &ActiveRun, end: Event) -> Result<Receipt> {
    run.journal.open_reserve();
    for closing in run.journal.with_state(closing) {
        drop(run.append(closing)?);
    }
    if !run.message_finished {
        drop(run.append(Event::MessageFinished { message: run.message.clone() })?);
    }
    match runs.checkpoint_event(run).await {
        Ok(Some(checkpoint)) => drop(run.append(checkpoint)?),
        Ok(None) => {}
        // An unreadable session must not keep its run from ending.
        Err(error) => {
            tracing::error!(run = %run.id, error = ?error.message(), "a run ends without its session");
        }
    }
    // Before readers can see the end: they may look for the data written with it.
    run.phase.settle();
    run.append(end)
}

/// The events that close incomplete parts: texts cut in the middle, and tool calls without a result, which a
/// provider would refuse in the next turn.
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

/// Reason of a stop that is really an expiry: the run has waited too long.
pub(crate) const EXPIRED: &str = "!expired";

/// The final event of a stopped run.
pub(crate) fn stop_event(reason: Option<String>) -> Event {
    match reason.as_deref() {
        Some(EXPIRED) => Event::RunFailed(
            ErrorInfo::new("no answer came in time: the run has waited too long").code("run.expired"),
        ),
        _ => Event::RunCancelled { reason },
    }
}
