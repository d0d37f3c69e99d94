//! Answers to a waiting run.

use serde::Serialize;
use serde_json::Value;

/// An answer to a question, a decision about a tool call, or the output of a client tool.
///
/// ```
/// use headwater_client::Answer;
///
/// let answers = [Answer::value("Oslo"), Answer::declined(), Answer::approve(), Answer::deny("too expensive")];
/// # assert_eq!(answers.len(), 4);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approved: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    declined: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

impl Answer {
    /// The answer to a question: text, the id of an option, a list of ids, or the values of a form.
    #[must_use]
    pub fn value(answer: impl Into<Value>) -> Self {
        Self { answer: Some(answer.into()), ..Self::default() }
    }

    /// The person declines the question.
    #[must_use]
    pub fn declined() -> Self {
        Self { declined: true, ..Self::default() }
    }

    /// The tool call may be made.
    #[must_use]
    pub fn approve() -> Self {
        Self { approved: Some(true), ..Self::default() }
    }

    /// The tool call may be made with another input, if the tool takes one.
    #[must_use]
    pub fn approve_with(input: impl Into<Value>) -> Self {
        Self { input: Some(input.into()), ..Self::approve() }
    }

    /// The tool call is not made.
    #[must_use]
    pub fn deny(reason: impl Into<String>) -> Self {
        let reason = Some(reason.into()).filter(|reason| !reason.is_empty());
        Self { approved: Some(false), reason, ..Self::default() }
    }

    /// The output of a client tool.
    #[must_use]
    pub fn output(output: impl Into<Value>) -> Self {
        Self { output: Some(output.into()), ..Self::default() }
    }

    /// The client tool failed.
    #[must_use]
    pub fn output_error(error: impl Into<String>) -> Self {
        Self { error: Some(error.into()), ..Self::default() }
    }

    /// Adds the token that came with the question. The server checks it if present.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }
}
