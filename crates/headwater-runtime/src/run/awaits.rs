//! Whether a run waits for something by its id.

use headwater_protocol::RunState;

/// Whether a run has made a call of that id that has no result yet, or has asked a question of that id.
pub(crate) fn awaits(state: &RunState, id: &str) -> bool {
    let mut tools = state.messages().iter().filter_map(|message| message.tool(id));
    let question = state.interrupts().iter().any(|interrupt| interrupt.request.as_str() == id);
    question || tools.next_back().is_some_and(|tool| !tool.state.is_settled())
}
