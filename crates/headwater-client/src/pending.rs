//! The open requests of a run.

use headwater_protocol::{Interrupt, Part, RunState, RunStatus, ToolState};
use serde_json::Value;

/// An open request of a run, from its state.
///
/// ```
/// use headwater_client::PendingRequest;
/// use headwater_protocol::{Event, Interrupt, Record, RunState};
///
/// let mut state = RunState::default();
/// let question = Interrupt::text("req_1", "Which city?");
/// state.apply(&Record::new(1, Event::InterruptRequested(Box::new(question)))).unwrap();
/// assert_eq!(PendingRequest::list(&state)[0].request(), Some("req_1"));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PendingRequest {
    /// A question to a person.
    Question(Box<Interrupt>),
    /// A tool call that a person must approve.
    Approval {
        /// Id of the request, to use in an answer.
        request: String,
        /// Id of the call.
        call: String,
        /// Name of the tool.
        name: String,
        /// The exact input to approve.
        input: Option<Value>,
    },
    /// A call of a tool that the client executes.
    ClientTool {
        /// Id of the call.
        call: String,
        /// Name of the tool.
        name: String,
        /// The input of the call.
        input: Option<Value>,
    },
}

impl PendingRequest {
    /// The open requests of the run in this state, in the order of its message.
    #[must_use]
    pub fn list(state: &RunState) -> Vec<Self> {
        let run = state.run();
        if !matches!(run.status, RunStatus::Waiting | RunStatus::Running) {
            return Vec::new();
        }
        let questions = state.interrupts().iter().cloned().map(|question| Self::Question(Box::new(question)));
        let mut open: Vec<_> = questions.collect();
        let parts = state.messages().iter().flat_map(|message| &message.parts);
        for part in parts {
            let Part::Tool(tool) = part else { continue };
            let (call, name, input) = (tool.call.to_string(), tool.name.clone(), tool.input.clone());
            let approval = tool.approval.as_ref().filter(|_| tool.state == ToolState::ApprovalRequested);
            if let Some(id) = approval.and_then(|approval| approval.id.as_ref()) {
                open.push(Self::Approval { request: id.to_string(), call, name, input });
            } else if run.pending_tool_calls.contains(&tool.call) {
                open.push(Self::ClientTool { call, name, input });
            }
        }
        open
    }

    /// Id of the request, to use in an answer. The state does not contain that of a client tool.
    #[must_use]
    pub fn request(&self) -> Option<&str> {
        match self {
            Self::Question(interrupt) => Some(interrupt.request.as_str()),
            Self::Approval { request, .. } => Some(request),
            Self::ClientTool { .. } => None,
        }
    }
}
