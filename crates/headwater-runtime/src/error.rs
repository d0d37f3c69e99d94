//! What can go wrong with a run.

use std::fmt;

use headwater_models::ModelError;
use headwater_protocol::ErrorInfo;
use serde::{Deserialize, Serialize};

/// The result of something that a run does.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong with a run, where, and what to do.
///
/// It can be kept in a journal, so that a hook that failed fails again when its node is run again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Inner {
    kind: ErrorKind,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    retryable: bool,
}

/// What kind of thing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// A workflow or an agent does not hold together.
    Build,
    /// There is no such workflow, or not in the version that the run began with.
    UnknownWorkflow,
    /// There is no such run.
    UnknownRun,
    /// There is a run of that name already.
    Exists,
    /// The run has ended.
    Ended,
    /// There is no such model.
    UnknownModel,
    /// The model failed.
    Model,
    /// What the model gave does not fit the schema.
    Output,
    /// Input cannot be read as what the node takes.
    Input,
    /// State or data does not serialise.
    State,
    /// State, data or something else is larger than allowed.
    Limit,
    /// What the run produced is larger than is kept: the run ends.
    TooLarge,
    /// A hook was called in another way than the journal says.
    Diverged,
    /// A hook is used in a way that cannot be replayed or makes no sense.
    Hook,
    /// A structured update does not fit what is there.
    Structured,
    /// A node failed by an error of its own.
    Node,
    /// A node panicked.
    Panic,
    /// A node took too long.
    Timeout,
    /// The person did not want to answer.
    Declined,
    /// The question, or the run that waited, expired.
    Expired,
    /// A token is not ours, or not for this question.
    Token,
    /// There is no such question.
    UnknownRequest,
    /// The question was answered already.
    Answered,
    /// The answer is not one that the question allows.
    Answer,
    /// The run is not yours.
    Foreign,
    /// The run was stopped.
    Stopped,
    /// Something is driven by another process just now.
    Busy,
    /// There is no such session.
    UnknownSession,
    /// There is a session of that name already.
    SessionExists,
    /// A run of the session is going.
    SessionBusy,
    /// There is no such checkpoint in the session.
    UnknownCheckpoint,
    /// The question was taken back: the session went on, or back to before it.
    TakenBack,
    /// The store refused or failed.
    Store,
}

impl ErrorKind {
    /// A stable word for machines.
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
            Self::TakenBack => "request.taken-back",
            Self::Store => "store",
        }
    }
}

impl Error {
    /// An error of a kind, with what happened, where, and what to do.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, message: message.into(), code: None, retryable: false }))
    }

    /// Gives it a code of its own.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.0.code = Some(code.into());
        self
    }

    /// What kind of thing went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// A stable word for machines.
    #[must_use]
    pub fn code(&self) -> &str {
        self.0.code.as_deref().unwrap_or_else(|| self.0.kind.code())
    }

    /// Whether the same may succeed when it is done again.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// What happened.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// As a reader of the run is told.
    #[must_use]
    pub fn info(&self) -> ErrorInfo {
        ErrorInfo {
            message: self.0.message.clone(),
            code: Some(self.code().to_owned()),
            retryable: self.0.retryable.then_some(true),
            request: None,
        }
    }

    /// Whether its text may repeat what a person or a model wrote, which no log shows at its usual level. What a node's own
    /// code says is not among it, and neither is what the store says about itself.
    #[must_use]
    pub fn may_quote(&self) -> bool {
        use ErrorKind as K;
        matches!(
            self.0.kind,
            K::Model | K::Output | K::Input | K::State | K::Structured | K::Answer | K::Diverged
        ) || self.code() == "mcp.refused"
            // A parser repeats the text that it cannot read.
            || self.code().ends_with(".unreadable")
    }

    /// Whether the store as a whole refuses or fails, and not what one run or session has in it.
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

    /// Whether what lies in the store cannot be read.
    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(self.code(), "journal.unreadable" | "store.corrupt")
    }

    /// Gives damage in the store the code of the thing that cannot be read: damaged bytes are handled like bytes that
    /// do not parse.
    pub(crate) fn or_unreadable(self, code: &str) -> Self {
        if self.code() == "store.corrupt" { self.with_code(code) } else { self }
    }

    /// Whether the run cannot go on, whatever the node makes of it.
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

impl std::error::Error for Error {}

impl From<headwater_store::Error> for Error {
    fn from(error: headwater_store::Error) -> Self {
        // What is too large now is so for ever: it ends the run that produced it, and is never tried again.
        let kind = match error.kind() {
            headwater_store::ErrorKind::TooLarge => ErrorKind::TooLarge,
            _ => ErrorKind::Store,
        };
        let mut out = Self::new(kind, error.to_string()).with_code(error.code());
        out.0.retryable = error.is_retryable();
        out
    }
}

impl From<ModelError> for Error {
    fn from(error: ModelError) -> Self {
        let mut out = Self::new(ErrorKind::Model, error.to_string()).with_code(error.kind().code());
        out.0.retryable = error.is_retryable();
        out
    }
}

/// Why a node failed. Any error becomes one by `?`.
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
    /// A failure in the node's own words.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self(Error::new(ErrorKind::Node, message))
    }

    /// What it is to the run.
    #[must_use]
    pub fn error(&self) -> &Error {
        &self.0
    }

    pub(crate) fn into_error(self) -> Error {
        self.0
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for NodeError {
    fn from(error: E) -> Self {
        let error: Box<dyn std::error::Error> = Box::new(error);
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
                Self(Error::new(ErrorKind::Node, message))
            }
        }
    }
}
