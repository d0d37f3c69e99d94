//! How a run, its attempts and its messages begin and end, and what the run reports on the way.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    id::{AttemptId, CheckpointId, MessageId, RunId, SessionId, ToolCallId},
    json_struct::json_struct,
};

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// The operator's instructions.
    System,
    /// The developer's instructions, where a wire tells them from the operator's.
    Developer,
    /// The person.
    User,
    /// The agent.
    #[default]
    Assistant,
    /// A tool's output that stands alone.
    Tool,
    /// Thoughts that stand in a message of their own (AG-UI).
    Reasoning,
    /// Progress of the application that stands in a message of its own (AG-UI).
    Activity,
}

impl Role {
    /// The name on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Developer => "developer",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Reasoning => "reasoning",
            Self::Activity => "activity",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

json_struct! {
    /// How a run began.
    #[derive(Eq)]
    pub struct RunStarted {
        /// The run.
        pub run?: RunId,
        /// Its session.
        pub session?: SessionId,
        /// The page's own name for the session, where it has one.
        pub conversation?: String,
        /// The run that this one goes on from.
        pub parent?: RunId,
        /// The workflow that runs.
        pub workflow?: String,
        /// The model that answers.
        pub model?: String,
        /// The HTTP request that asked for it.
        pub request?: String,
        /// The path that was called.
        pub endpoint?: String,
    }
}

/// Why a model stopped.
///
/// Written as one word: the six that all providers share, or the provider's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// It ran into the limit of tokens.
    Length,
    /// A filter cut it off.
    ContentFilter,
    /// It wants tools to be called.
    ToolCalls,
    /// It failed.
    Error,
    /// Something else, in the wire's own word.
    Other(String),
}

impl FinishReason {
    /// The word in our own form, with hyphens.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ContentFilter => "content-filter",
            Self::ToolCalls => "tool-calls",
            Self::Error => "error",
            Self::Other(word) => word,
        }
    }

    /// Reads a word with hyphens or underscores.
    #[must_use]
    pub fn parse(word: &str) -> Self {
        match word {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "content-filter" | "content_filter" => Self::ContentFilter,
            "tool-calls" | "tool_calls" => Self::ToolCalls,
            "error" => Self::Error,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl From<String> for FinishReason {
    fn from(word: String) -> Self {
        Self::parse(&word)
    }
}

impl From<FinishReason> for String {
    fn from(reason: FinishReason) -> Self {
        reason.as_str().to_owned()
    }
}

json_struct! {
    /// Tokens used.
    #[derive(Eq)]
    pub struct Usage {
        /// Tokens read.
        pub input_tokens?: u64,
        /// Tokens written.
        pub output_tokens?: u64,
        /// Both, as the provider counts them.
        pub total_tokens?: u64,
        /// Tokens of the output that were thoughts.
        pub reasoning_tokens?: u64,
        /// Tokens of the input that came from a cache.
        pub cached_input_tokens?: u64,
        /// Tokens of the input that were put into a cache.
        pub cache_write_tokens?: u64,
    }

    /// What went wrong, as a page is told.
    #[derive(Eq)]
    #[serde(default)]
    pub struct ErrorInfo {
        /// A line for people.
        pub message: String,
        /// A machine-readable code.
        pub code?: String,
        /// Whether the same request may go well the next time.
        pub retryable?: bool,
        /// The HTTP request that began the run: the log has more under this id. No dialect but the journal has a field for it.
        pub request?: String,
    }
}

impl ErrorInfo {
    /// An error with a message alone.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// The same error with a code.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }
}

json_struct! {
    /// The run came to its end.
    pub struct RunFinished {
        /// Why it ended, where a model said so.
        pub reason?: FinishReason,
        /// What the whole run used.
        pub usage?: Usage,
        /// The run's result.
        pub data?: json,
    }

    /// The run goes on when someone answers: a person, or the page that executes a tool.
    pub struct RunWaiting {
        /// The calls whose outputs the page owes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub tool_calls: Vec<ToolCallId>,
        /// What the run used so far.
        pub usage?: Usage,
    }

    /// A model call is tried; its output belongs to this attempt.
    pub struct AttemptStarted {
        /// The attempt; its records name it in their origin.
        pub attempt: AttemptId,
        /// The model that is asked.
        pub model?: String,
    }

    /// The attempt failed: its output is retracted.
    pub struct AttemptRetracted {
        /// The attempt.
        pub attempt: AttemptId,
        /// Why.
        pub reason?: String,
    }

    /// A message begins, or continues.
    pub struct MessageStarted {
        /// The message.
        pub message: MessageId,
        /// Who speaks.
        pub role: Role,
        /// The speaker as the wire described it: a name, or an object.
        pub author?: Value,
    }

    /// A structured stream no longer counts.
    pub struct StructuredInvalidated {
        /// The stream.
        pub stream: String,
        /// The checkpoint that was rolled back to.
        pub checkpoint?: CheckpointId,
    }

    /// What the run is doing, for an overlay.
    pub struct StatusEvent {
        /// A machine-readable state.
        pub state?: String,
        /// A line for people.
        pub message?: String,
    }

    /// The run goes on in another workflow.
    pub struct TransitionEvent {
        /// That workflow.
        pub to: String,
        /// What is handed over.
        pub payload?: json,
    }

    /// The session's state after this turn was kept.
    pub struct CheckpointEvent {
        /// The checkpoint.
        pub checkpoint: CheckpointId,
        /// Its session.
        pub session: SessionId,
        /// The number of the turn.
        pub turn: u64,
        /// A label for people.
        pub label?: String,
    }

    /// Something was not done as asked.
    pub struct WarningEvent {
        /// A line for people.
        pub message: String,
        /// A machine-readable code.
        pub code?: String,
    }

    /// Something went wrong.
    pub struct ErrorEvent {
        /// What.
        #[serde(flatten)]
        pub error: ErrorInfo,
        /// The run ends with it.
        pub terminal: flag,
    }

    /// Where the run is found in a tracing system.
    pub struct TraceEvent {
        /// The trace.
        pub trace: String,
        /// The run's span.
        pub span: String,
        /// The run.
        pub run: RunId,
    }

    /// Something that a dialect says and we have no word for, kept as it came.
    pub struct UnknownEvent {
        /// The wire's own name for it.
        pub name: String,
        /// The whole of it.
        pub data: Value,
    }
}

impl UnknownEvent {
    /// A chunk of the name `name`.
    #[must_use]
    pub fn new(name: impl Into<String>, data: Value) -> Self {
        Self { name: name.into(), data }
    }
}
