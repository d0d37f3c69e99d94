//! The input of a turn: a message of a person, or answers.

use headwater_protocol::{Message, Part};
use serde::{Deserialize, Serialize};

use crate::{AnswerValue, journal::RunSpec};

/// A message of a person, with everything else that its run needs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnMessage {
    pub(crate) message: Message,
    /// Idempotency keys: a request with one of these right after it returns this turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) keys: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) workflow: Option<String>,
    pub(crate) spec: RunSpec,
}

impl TurnMessage {
    /// The message for the spec of its run, without parts that only repeat the input.
    pub(crate) fn without_input(&self) -> Message {
        let mut message = self.message.clone();
        if matches!(&*message.parts, [Part::Text(text)] if text.text == self.spec.input) {
            message.parts.clear();
        }
        message
    }
}

/// An answer, identified by the key of the hook that asked, which is the same in a copy of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct GivenAnswer {
    pub(crate) key: String,
    pub(crate) answer: AnswerValue,
}
