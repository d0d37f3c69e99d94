//! Errors of runs.

use std::{error::Error as StdError, fmt, sync::Arc};

use headwater_models::ModelError;
use headwater_protocol::ErrorInfo;
use serde::{Deserialize, Serialize};

/// The result of an operation on a run.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a run: what happened, where, and what to do.
///
/// It is serialisable: the journal records it, so that a hook that failed fails again on replay. An error read
/// from the journal has no [`source`](StdError::source), and is equal to the first one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error(Box<RuntimeErrorFields>);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct RuntimeErrorFields {
    kind: ErrorKind,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    retryable: bool,
    #[serde(skip)]
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl PartialEq for RuntimeErrorFields {
    fn eq(&self, other: &Self) -> bool {
        let Self { kind, message, code, retryable, source: _ } = self;
        (kind, message, code, retryable) == (&other.kind, &other.message, &other.code, &other.retryable)
    }
}

impl Eq for RuntimeErrorFields {}

/// The kind of an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// A workflow or an agent is incomplete or contradictory.
    Build,
    /// There is no such workflow, or not in the version that the run began with.
    UnknownWorkflow,
    /// There is no such run.
    UnknownRun,
    /// A run of that id exists already.
    Exists,
    /// The run has ended.
    Ended,
    /// There is no such model.
    UnknownModel,
    /// The model failed.
    Model,
    /// The model's output does not match the schema.
    Output,
    /// The input cannot be parsed as the node's input type.
    Input,
    /// State or data does not serialise.
    State,
    /// A value exceeds a limit.
    Limit,
    /// The run produced more data than may be stored; the run ends.
    TooLarge,
    /// A hook call differs from the journal.
    Diverged,
    /// A hook is used in a way that cannot be replayed or is not allowed.
    Hook,
    /// A structured update does not match the object.
    Structured,
    /// The node returned an error.
    Node,
    /// A node panicked.
    Panic,
    /// A node took too long.
    Timeout,
    /// The person declined to answer.
    Declined,
    /// The question, or the run that waited, expired.
    Expired,
    /// The token is forged or belongs to another question.
    Token,
    /// There is no such question.
    UnknownRequest,
    /// The question has been answered already.
    Answered,
    /// The answer does not match the question.
    Answer,
    /// The run belongs to another principal.
    Foreign,
    /// The run was stopped.
    Stopped,
    /// Another process drives the run.
    Busy,
    /// There is no such session.
    UnknownSession,
    /// A session of that id exists already.
    SessionExists,
    /// The session has an active run.
    SessionBusy,
    /// There is no such checkpoint in the session.
    UnknownCheckpoint,
    /// The question was retracted: the session continued, or was reset to a point before it.
    Retracted,
    /// The store refused the operation or failed.
    Store,
}

impl ErrorKind {
    /// A stable code for programs.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::UnknownWorkflow => "workflow.unknown",
            Self::UnknownRun => "run.unknown",
            Self::Exists => "run.exists",
            Self::Ended => "run.ended",
            Self::UnknownModel => "model.unknown",
            Self::Model => "model",
            Self::Output => "output.invalid",
            Self::Input => "input.invalid",
            Self::State => "state.invalid",
            Self::Limit => "limit",
            Self::TooLarge => "run.too-large",
            Self::Diverged => "replay.diverged",
            Self::Hook => "hook.invalid",
            Self::Structured => "structured.invalid",
            Self::Node => "node.failed",
            Self::Panic => "node.panicked",
            Self::Timeout => "node.timeout",
            Self::Declined => "interrupt.declined",
            Self::Expired => "interrupt.expired",
            Self::Token => "token.invalid",
            Self::UnknownRequest => "request.unknown",
            Self::Answered => "request.answered",
            Self::Answer => "answer.invalid",
            Self::Foreign => "run.foreign",
            Self::Stopped => "run.stopped",
            Self::Busy => "run.busy",
            Self::UnknownSession => "session.unknown",
            Self::SessionExists => "session.exists",
            Self::SessionBusy => "session.busy",
            Self::UnknownCheckpoint => "checkpoint.unknown",
            Self::Retracted => "request.retracted",
            Self::Store => "store",
        }
    }
}

impl Error {
    /// An error with a message that says what happened, where, and what to do.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let fields =
            RuntimeErrorFields { kind, message: message.into(), code: None, retryable: false, source: None };
        Self(Box::new(fields))
    }

    /// Keeps the error that caused this one.
    #[must_use]
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// Sets a specific code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.0.code = Some(code.into());
        self
    }

    /// Sets whether a retry may succeed.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = retryable;
        self
    }

    /// The kind of error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &str {
        self.0.code.as_deref().unwrap_or_else(|| self.0.kind.code())
    }

    /// Whether a retry may succeed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// What is wrong, where, and what to do, for people. Programs should match on the kind or the code.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The error as readers of the run see it.
    #[must_use]
    pub fn info(&self) -> ErrorInfo {
        ErrorInfo {
            message: self.0.message.clone(),
            code: Some(self.code().to_owned()),
            retryable: self.0.retryable.then_some(true),
            request: None,
        }
    }

    /// Whether the message may quote a person or a model, so that it must not be logged at the default level.
    /// Messages of the node's code and of the store are not quotes.
    #[must_use]
    pub fn may_quote(&self) -> bool {
        use ErrorKind as K;
        matches!(
            self.0.kind,
            K::Model | K::Output | K::Input | K::State | K::Structured | K::Answer | K::Diverged
        ) || self.code() == "mcp.refused"
            // A parser's message quotes the text it cannot read.
            || self.code().ends_with(".unreadable")
    }

    /// Whether the whole store fails, as opposed to the data of one run or session.
    pub(crate) fn is_store_down(&self) -> bool {
        matches!(
            self.code(),
            "store.stopped"
                | "store.unavailable"
                | "store.io"
                | "store.no-space"
                | "store.busy"
                | "store.full"
        )
    }

    /// Whether stored data cannot be read.
    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(self.code(), "journal.unreadable" | "store.corrupt")
    }

    /// Gives a store's corruption error the code of the unreadable item: damaged bytes are handled like bytes
    /// that do not parse.
    pub(crate) fn or_unreadable(self, code: &str) -> Self {
        if self.code() == "store.corrupt" { self.with_code(code) } else { self }
    }

    /// Whether the run must end, even if the node catches the error.
    pub(crate) fn is_fatal(&self) -> bool {
        use ErrorKind::{Diverged, Hook, Stopped, Store, TooLarge};
        matches!(self.0.kind, Diverged | Hook | Stopped | Store | TooLarge)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl From<headwater_store::Error> for Error {
    fn from(error: headwater_store::Error) -> Self {
        // A retry would be too large again, so the run that produced the data ends.
        let kind = match error.kind() {
            headwater_store::ErrorKind::TooLarge => ErrorKind::TooLarge,
            _ => ErrorKind::Store,
        };
        let mut out = Self::new(kind, error.to_string()).with_code(error.code());
        out.0.retryable = error.is_retryable();
        out.with_source(error)
    }
}

impl From<ModelError> for Error {
    fn from(error: ModelError) -> Self {
        let mut out = Self::new(ErrorKind::Model, error.to_string()).with_code(error.kind().code());
        out.0.retryable = error.is_retryable();
        out.with_source(error)
    }
}

/// The reason a node failed. `?` converts any error.
///
/// ```
/// use headwater_runtime::{Next, NodeResult};
///
/// fn node() -> NodeResult {
///     let number: i64 = "not a number".parse()?;
///     Ok(Next::condition(number.to_string()))
/// }
/// assert_eq!(node().unwrap_err().error().code(), "node.failed");
/// ```
#[derive(Debug)]
pub struct NodeError(Error);

impl NodeError {
    /// An error with the node's own message.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self(Error::new(ErrorKind::Node, message))
    }

    /// The underlying error of the run.
    #[must_use]
    pub fn error(&self) -> &Error {
        &self.0
    }

    pub(crate) fn into_error(self) -> Error {
        self.0
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for NodeError {
    fn from(error: E) -> Self {
        let error: Box<dyn StdError + Send + Sync> = Box::new(error);
        match error.downcast::<Error>() {
            Ok(error) => Self(*error),
            Err(error) => {
                let mut message = error.to_string();
                let mut source = error.source();
                while let Some(cause) = source {
                    let text = cause.to_string();
                    if !message.contains(&text) {
                        message = format!("{message}: {text}");
                    }
                    source = cause.source();
                }
                let mut out = Error::new(ErrorKind::Node, message);
                out.0.source = Some(error.into());
                Self(out)
            }
        }
    }
}
