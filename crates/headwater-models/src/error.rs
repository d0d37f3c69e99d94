//! What can go wrong when a model is asked.

use std::{fmt, time::Duration};

use headwater_protocol::Secrets;
use serde::{Deserialize, Serialize};

/// What went wrong when a model was asked, whether to ask again, and what the provider said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    kind: ModelErrorKind,
    message: String,
    provider: Option<String>,
    status: Option<u16>,
    request: Option<String>,
    retry_after: Option<Duration>,
    body: Option<String>,
}

/// What kind of thing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The key is missing, wrong or not allowed to do this.
    Auth,
    /// Too many requests; `retry_after` may say how long to wait.
    RateLimit,
    /// The provider has too much to do, or is down.
    Overloaded,
    /// The provider does not take the request.
    InvalidRequest,
    /// There is no such model.
    UnknownModel,
    /// The conversation is longer than the model takes.
    ContextLength,
    /// The provider refuses to answer this.
    ContentFilter,
    /// It took too long.
    Timeout,
    /// The provider cannot be reached.
    Unreachable,
    /// The answer ended before it was complete.
    Cut,
    /// The answer is not what the provider's documents say.
    Malformed,
    /// The caller gave the call up. No script can say that.
    #[serde(skip_deserializing)]
    Aborted,
    /// Anything else that the provider reports.
    Provider,
}

impl ModelErrorKind {
    /// A stable word for machines.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Auth => "model.auth",
            Self::RateLimit => "model.rate-limit",
            Self::Overloaded => "model.overloaded",
            Self::InvalidRequest => "model.invalid-request",
            Self::UnknownModel => "model.unknown",
            Self::ContextLength => "model.context-length",
            Self::ContentFilter => "model.content-filter",
            Self::Timeout => "model.timeout",
            Self::Unreachable => "model.unreachable",
            Self::Cut => "model.cut",
            Self::Malformed => "model.malformed",
            Self::Aborted => "model.aborted",
            Self::Provider => "model.provider",
        }
    }

    /// Whether the same request may succeed when it is made again.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::RateLimit
                | Self::Overloaded
                | Self::Timeout
                | Self::Unreachable
                | Self::Cut
                | Self::Malformed
                | Self::Provider
        )
    }
}

impl ModelError {
    /// An error of a kind, with what happened and what to do.
    #[must_use]
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            provider: None,
            status: None,
            request: None,
            retry_after: None,
            body: None,
        }))
    }

    /// Says which provider it was.
    #[must_use]
    pub fn provider(mut self, provider: impl Into<String>) -> Self {
        self.0.provider = Some(provider.into());
        self
    }

    /// Keeps the HTTP status.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    /// Keeps the provider's id of the request.
    #[must_use]
    pub fn request(mut self, request: impl Into<String>) -> Self {
        self.0.request = Some(request.into());
        self
    }

    /// Says how long to wait before asking again.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// Keeps what the provider sent, or the beginning of it.
    #[must_use]
    pub fn body(mut self, body: impl Into<String>) -> Self {
        self.0.body = Some(body.into());
        self
    }

    /// The same error without these secrets, and without what looks like one.
    #[must_use]
    pub fn without(mut self, secrets: &Secrets) -> Self {
        let Inner { message, request, body, .. } = &mut *self.0;
        *message = secrets.remove(message);
        for text in [request, body].into_iter().flatten() {
            *text = secrets.remove(text);
        }
        self
    }

    /// What kind of thing went wrong.
    #[must_use]
    pub fn kind(&self) -> ModelErrorKind {
        self.0.kind
    }

    /// Whether asking again makes sense.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.kind.is_retryable()
    }

    /// How long to wait before asking again, where the provider says it.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The HTTP status, where there was one.
    #[must_use]
    pub fn http_status(&self) -> Option<u16> {
        self.0.status
    }

    /// The provider's id of the request, to be told to its support.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.0.request.as_deref()
    }

    /// What the provider sent, or the beginning of it.
    #[must_use]
    pub fn provider_body(&self) -> Option<&str> {
        self.0.body.as_deref()
    }

    /// What happened, without the provider's name.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(provider) = &self.0.provider {
            write!(f, "{provider}: ")?;
        }
        f.write_str(&self.0.message)?;
        if let Some(status) = self.0.status {
            write!(f, " (status {status})")?;
        }
        Ok(())
    }
}

impl std::error::Error for ModelError {}
