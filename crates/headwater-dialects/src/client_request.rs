//! What a dialect's own client sends.

use headwater_protocol::{ClientTool, Error, ErrorKind, Message};
use serde_json::Value;

use crate::request::InterruptAnswer;

/// A turn as a client sends it. Outputs of client tools and decisions about calls are in the tool parts of `messages`.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClientRequest<'a> {
    /// The conversation, by the client's own id.
    pub session: &'a str,
    /// The run, where the client names it.
    pub run: &'a str,
    /// The whole conversation, the newest message last.
    pub messages: &'a [Message],
    /// Answers to questions.
    pub answers: &'a [InterruptAnswer],
    /// The tools that the client executes.
    pub tools: &'a [ClientTool],
    /// The state that the client shares with the agent, in dialects that have one.
    pub state: Option<&'a Value>,
}

impl ClientRequest<'_> {
    /// Fails if there are answers to questions, in a dialect whose clients cannot send any.
    pub(crate) fn without_answers(&self, dialect: &str) -> Result<(), Error> {
        if self.answers.is_empty() {
            return Ok(());
        }
        let message = format!("the {dialect} dialect has no request for answers to questions");
        Err(Error::new(ErrorKind::Request, message))
    }
}
