//! Errors while collecting tools. Errors of calls are [`ToolError`](crate::ToolError)s.

use std::{fmt, sync::Arc};

/// Result of collecting tools.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why tools could not be collected, and what to do.
///
/// ```
/// use headwater_tools::{ErrorKind, Schema};
/// use serde_json::json;
///
/// let error = Schema::new(json!({ "type": "strnig" })).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Schema);
/// assert_eq!(error.kind().code(), "tools.schema");
/// ```
#[derive(Debug, Clone)]
pub struct Error(Arc<ErrorData>);

#[derive(Debug)]
struct ErrorData {
    kind: ErrorKind,
    message: String,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// The category of an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A schema is not a JSON Schema, or refers to an external one.
    Schema,
    /// Two tools have the same name.
    Duplicate,
    /// A tool's name is empty or not accepted by model APIs.
    Name,
    /// The settings of a server are invalid.
    Settings,
    /// A server has no tool of a requested name.
    Missing,
    /// A server's program cannot be started.
    Start,
    /// A server cannot be reached.
    Unreachable,
    /// A server did not answer in time.
    Timeout,
    /// A server ended, or closed the connection.
    Ended,
    /// A server rejected a request.
    Refused,
    /// A server violated the protocol.
    Protocol,
}

impl ErrorKind {
    /// Stable error code.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Schema => "tools.schema",
            Self::Duplicate => "tools.duplicate",
            Self::Name => "tools.name",
            Self::Settings => "mcp.settings",
            Self::Missing => "mcp.missing",
            Self::Start => "mcp.start",
            Self::Unreachable => "mcp.unreachable",
            Self::Timeout => "mcp.timeout",
            Self::Ended => "mcp.ended",
            Self::Refused => "mcp.refused",
            Self::Protocol => "mcp.protocol",
        }
    }

    /// Whether a retry may succeed.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Unreachable | Self::Timeout | Self::Ended)
    }
}

impl Error {
    /// An error with a message that explains what happened, where, and what to do.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Arc::new(ErrorData { kind, message: message.into(), source: None }))
    }

    /// What went wrong, for callers that handle it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether a retry makes sense.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.kind.is_retryable()
    }

    /// An error with a source.
    #[cfg(feature = "http")]
    pub(crate) fn caused(
        kind: ErrorKind,
        message: &str,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(ErrorData { kind, message: message.to_owned(), source: Some(Arc::new(source)) }))
    }

    /// Adds the server's name and all causes to the message, and removes secrets.
    #[cfg(feature = "mcp")]
    pub(crate) fn cleaned(&self, server: &str, secrets: &headwater_protocol::Secrets) -> Self {
        let message = format!("{server}: {}", secrets.remove(&crate::error_chain::with_causes(self)));
        Self::new(self.0.kind, message)
    }

    /// Adds a subject before the message.
    pub(crate) fn of(&self, thing: &str) -> Self {
        let ErrorData { kind, message, source } = &*self.0;
        Self(Arc::new(ErrorData {
            kind: *kind,
            message: format!("{thing}: {message}"),
            source: source.clone(),
        }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| &**source as _)
    }
}
