//! What can go wrong while tools are gathered. What goes wrong while one is called is a [`ToolError`](crate::ToolError).

use std::{fmt, sync::Arc};

/// The result of gathering tools.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong while tools were gathered, and what to do.
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
pub struct Error(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// What kind of thing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A schema is not a JSON Schema, or refers to one that is somewhere else.
    Schema,
    /// Two tools have the same name.
    Duplicate,
    /// A tool has no name, or one that no model can be told.
    Name,
    /// A server was described wrongly.
    Settings,
    /// A server has no tool of a name that was asked for.
    Missing,
    /// A server's program cannot be started.
    Start,
    /// A server cannot be reached.
    Unreachable,
    /// A server did not answer in time.
    Timeout,
    /// A server ended, or closed the connection.
    Ended,
    /// A server refused what was asked.
    Refused,
    /// A server said something that is not in its protocol.
    Protocol,
}

impl ErrorKind {
    /// A stable word for machines.
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

    /// Whether the same may succeed when it is tried again.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Unreachable | Self::Timeout | Self::Ended)
    }
}

impl Error {
    /// An error of a kind, with what happened, where, and what to do.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Arc::new(Inner { kind, message: message.into(), source: None }))
    }

    /// What kind of thing went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether trying again makes sense.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.kind.is_retryable()
    }

    /// An error with what caused it.
    #[cfg(feature = "mcp")]
    pub(crate) fn caused(
        kind: ErrorKind,
        message: &str,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Inner { kind, message: message.to_owned(), source: Some(Arc::new(source)) }))
    }

    /// The same error of a server, with its causes in the text and without secrets.
    #[cfg(feature = "mcp")]
    pub(crate) fn cleaned(&self, server: &str, secrets: &headwater_protocol::Secrets) -> Self {
        let message = format!("{server}: {}", secrets.remove(&crate::output::with_causes(self)));
        Self::new(self.0.kind, message)
    }

    /// The same error, told of a thing.
    pub(crate) fn of(&self, thing: &str) -> Self {
        let Inner { kind, message, source } = &*self.0;
        Self(Arc::new(Inner { kind: *kind, message: format!("{thing}: {message}"), source: source.clone() }))
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
