//! What the chat asks of the server, and the replies.

use headwater_client::{AgentPage, Answer, Error, PendingRequest, RunHandle, SessionSummary};
use headwater_protocol::Message;

/// A request of the person that the terminal carries out.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ChatAction {
    Send(String),
    Stop,
    /// Closes the stream of the run, which continues.
    Detach,
    Attach(String),
    Undo,
    Retry,
    Fork,
    ListSessions,
    Open(String),
    ListAgents,
    Answer(Box<(PendingRequest, Answer)>),
    Redraw,
    Quit,
}

/// The outcome of an action.
#[derive(Debug)]
pub(super) enum ChatReply {
    /// A run to follow. A message creates its session if that does not exist.
    Run {
        run: RunHandle,
        session: Option<String>,
        attached: bool,
    },
    Stopped,
    /// With the message of the turn that was undone.
    Undone(Option<String>),
    Forked(Box<SessionSummary>),
    Sessions(Vec<SessionSummary>),
    /// A session with its messages up to the run that is active.
    Opened {
        session: String,
        messages: Vec<Message>,
        run: Option<RunHandle>,
    },
    Agents(AgentPage),
    Answered,
    Failed(Box<ChatFailure>),
}

/// An action that failed.
#[derive(Debug)]
pub(super) struct ChatFailure {
    pub(super) action: ChatAction,
    pub(super) error: Error,
}
