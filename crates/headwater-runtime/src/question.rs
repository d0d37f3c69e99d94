//! Questions: the requests that runs wait for. They are stored beside the journals, so that they can be
//! listed, and answered by request id alone.
//!
//! [`Questions`] stores, lists, answers and closes them. The driver of a run reads answers from the run's
//! inbox.

mod answer;
mod check;
mod event;
mod inbox;
mod list;
mod store;
mod token;

use std::sync::Arc;

use headwater_protocol::{Interrupt, RequestId, RunId, SessionId, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use answer::Answer;
pub(crate) use answer::{AnswerCheck, retracted};
pub(crate) use check::wrong_kind;
pub(crate) use event::{answered_event, asked_event};
pub(crate) use inbox::{QueuedAnswer, client_request, request_id};
pub use list::QuestionPage;
use store::CloseReason;
pub(crate) use store::{AcceptedAnswer, Asker};

use crate::{
    environment::Environment,
    journal::{Wait, WaitKind},
};

/// The questions of an agent's runs.
#[derive(Debug, Clone)]
pub(crate) struct Questions {
    env: Arc<Environment>,
}

impl Questions {
    pub(crate) fn new(env: Arc<Environment>) -> Self {
        Self { env }
    }
}

/// A request that a run waits for: an answer of a person, a decision about a tool call, or the output of a
/// page tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OpenQuestion {
    /// The id of the request, which an answer refers to.
    pub request: RequestId,
    /// The waiting run.
    pub run: RunId,
    /// The owner of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The session of the run, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The node that asks.
    pub node: String,
    /// When it was asked, in milliseconds since 1970.
    pub asked: u64,
    /// When it expires.
    pub expires: u64,
    pub(crate) wait: Wait,
    /// The epoch of the driver that asked.
    pub(crate) epoch: u64,
    /// Why it can no longer be answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) closed: Option<CloseReason>,
    /// The accepted answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) taken: Option<AcceptedAnswer>,
}

impl OpenQuestion {
    pub(crate) fn waits(&self, now: u64) -> bool {
        self.closed.is_none() && self.expires > now
    }

    /// The question to a person, if the request is one.
    #[must_use]
    pub fn interrupt(&self) -> Option<&Interrupt> {
        match &self.wait.kind {
            WaitKind::Question { interrupt, .. } => Some(interrupt),
            _ => None,
        }
    }

    /// The tool call that needs a person's decision, with its exact input, if the request is one.
    #[must_use]
    pub fn approval(&self) -> Option<(&ToolCall, &Value)> {
        match &self.wait.kind {
            WaitKind::Approval { tool, input, .. } => Some((tool, input)),
            _ => None,
        }
    }

    /// The tool call that the page executes, with its exact input, if the request is one.
    #[must_use]
    pub fn client_tool(&self) -> Option<(&ToolCall, &Value)> {
        match &self.wait.kind {
            WaitKind::ClientTool { tool, input } => Some((tool, input)),
            _ => None,
        }
    }

    /// The token that authorizes an answer.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        match &self.wait.kind {
            WaitKind::Question { interrupt, .. } => interrupt.token.as_deref(),
            WaitKind::Approval { signature, .. } => Some(signature),
            WaitKind::ClientTool { .. } => None,
        }
    }
}
