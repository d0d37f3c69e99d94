//! Payloads of events about runs, attempts, messages and progress.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    id::{AttemptId, CheckpointId, MessageId, RunId, SessionId, ToolCallId},
    json_struct::json_struct,
};

/// The author role of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// Instructions of the operator.
    System,
    /// Instructions of the developer, if the dialect distinguishes them from the operator's.
    Developer,
    /// The user.
    User,
    /// The agent.
    #[default]
    Assistant,
    /// A separate message with a tool's output.
    Tool,
    /// A separate message with reasoning (AG-UI).
    Reasoning,
    /// A separate message with application progress (AG-UI).
    Activity,
}

impl Role {
    /// The name in every dialect.
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
    /// A run began.
    #[derive(Eq)]
    pub struct RunStarted {
        /// Id of the run.
        pub run?: RunId,
        /// Id of the session.
        pub session?: SessionId,
        /// The page's own id of the session, if it has one.
        pub conversation?: String,
        /// The run that this one continues.
        pub parent?: RunId,
        /// Name of the workflow.
        pub workflow?: String,
        /// Name of the model.
        pub model?: String,
        /// Id of the HTTP request that started the run.
        pub request?: String,
        /// Path of the HTTP request.
        pub endpoint?: String,
    }
}

/// Why a model stopped.
///
/// Serialized as one word: one of the common reasons, or the provider's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum FinishReason {
    /// The answer is complete.
    Stop,
    /// The token limit was reached.
    Length,
    /// A content filter stopped the answer.
    ContentFilter,
    /// The model calls tools.
    ToolCalls,
    /// The model failed.
    Error,
    /// Another reason, in the dialect's own word.
    Other(String),
}

impl FinishReason {
    /// The name with hyphens.
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

    /// Parses a name with hyphens or underscores.
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
    /// Token usage.
    #[derive(Eq)]
    pub struct Usage {
        /// Input tokens.
        pub input_tokens?: u64,
        /// Output tokens.
        pub output_tokens?: u64,
        /// Total as counted by the provider.
        pub total_tokens?: u64,
        /// Reasoning tokens, included in the output.
        pub reasoning_tokens?: u64,
        /// Input tokens read from a cache.
        pub cached_input_tokens?: u64,
        /// Input tokens written to a cache.
        pub cache_write_tokens?: u64,
    }

    /// An error as shown to a page.
    #[derive(Eq)]
    #[serde(default)]
    pub struct ErrorInfo {
        /// Human-readable message.
        pub message: String,
        /// Stable error code.
        pub code?: String,
        /// Whether a retry may succeed.
        pub retryable?: bool,
        /// Id of the HTTP request that started the run, to find more in the log. Only the journal has a field
        /// for it.
        pub request?: String,
    }
}

impl ErrorInfo {
    /// An error with only a message.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// Sets the error code.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }
}

json_struct! {
    /// The run finished.
    pub struct RunFinished {
        /// Why it ended, if a model gave a reason.
        pub reason?: FinishReason,
        /// Token usage of the whole run.
        pub usage?: Usage,
        /// Result of the run.
        pub data?: json,
    }

    /// The run waits for an answer of the user, or for the result of a tool that the page runs.
    pub struct RunWaiting {
        /// Calls whose results the page must send.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub tool_calls: Vec<ToolCallId>,
        /// Token usage so far.
        pub usage?: Usage,
    }

    /// An attempt of a model call begins. Its output belongs to this attempt.
    pub struct AttemptStarted {
        /// Id of the attempt, repeated in the origin of its records.
        pub attempt: AttemptId,
        /// The model that is called.
        pub model?: String,
    }

    /// The attempt failed; its output is retracted.
    pub struct AttemptRetracted {
        /// Id of the attempt.
        pub attempt: AttemptId,
        /// Why it failed.
        pub reason?: String,
    }

    /// A message begins or continues.
    pub struct MessageStarted {
        /// Id of the message.
        pub message: MessageId,
        /// Role of the author.
        pub role: Role,
        /// The author in the dialect's own form: a name or an object.
        pub author?: Value,
    }

    /// A structured stream is no longer valid.
    pub struct StructuredInvalidated {
        /// Id of the stream.
        pub stream: String,
        /// The checkpoint that was rolled back to.
        pub checkpoint?: CheckpointId,
    }

    /// The current activity of the run, for a status line.
    pub struct StatusEvent {
        /// Machine-readable state.
        pub state?: String,
        /// Human-readable message.
        pub message?: String,
    }

    /// The run continues in another workflow.
    pub struct TransitionEvent {
        /// Name of the workflow.
        pub to: String,
        /// Input of the workflow.
        pub payload?: json,
    }

    /// The session's state after this turn was saved.
    pub struct CheckpointEvent {
        /// Id of the checkpoint.
        pub checkpoint: CheckpointId,
        /// Id of the session.
        pub session: SessionId,
        /// Number of the turn.
        pub turn: u64,
        /// Human-readable label.
        pub label?: String,
    }

    /// A request was not fully honoured.
    pub struct WarningEvent {
        /// Human-readable message.
        pub message: String,
        /// Stable code.
        pub code?: String,
    }

    /// An error occurred.
    pub struct ErrorEvent {
        /// The error.
        #[serde(flatten)]
        pub error: ErrorInfo,
        /// Whether the run ends with it.
        pub terminal: flag,
    }

    /// The run's trace in a tracing system.
    pub struct TraceEvent {
        /// Id of the trace.
        pub trace: String,
        /// Id of the run's span.
        pub span: String,
        /// Id of the run.
        pub run: RunId,
    }

    /// A chunk of a dialect that has no equivalent here, kept unchanged.
    pub struct UnknownEvent {
        /// The dialect's name of the chunk.
        pub name: String,
        /// The whole chunk.
        pub data: Value,
    }
}

impl UnknownEvent {
    /// A chunk of this name.
    #[must_use]
    pub fn new(name: impl Into<String>, data: Value) -> Self {
        Self { name: name.into(), data }
    }
}
