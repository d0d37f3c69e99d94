//! Whether a run waits for a tool result or an answer.

use headwater_protocol::RunState;

/// Whether a run has a tool call of that id without a result, or an open request of that id.
pub(crate) fn awaits(state: &RunState, id: &str) -> bool {
    let mut tools = state.messages().iter().filter_map(|message| message.tool(id));
    let question = state.interrupts().iter().any(|interrupt| interrupt.request.as_str() == id);
    question || tools.next_back().is_some_and(|tool| !tool.state.is_settled())
}
