//! Errors of model calls.

use std::{fmt, time::Duration};

use headwater_protocol::Secrets;
use serde::{Deserialize, Serialize};

/// Why a model call failed, whether to retry it, and the provider's reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError(Box<ModelErrorData>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct ModelErrorData {
    kind: ModelErrorKind,
    message: String,
    provider: Option<String>,
    status: Option<u16>,
    request: Option<String>,
    retry_after: Option<Duration>,
    body: Option<String>,
}

/// The category of a [`ModelError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The API key is missing, wrong or lacks permission.
    Auth,
    /// Too many requests; [`ModelError::wait`] may give a delay.
    RateLimit,
    /// The provider is overloaded or down.
    Overloaded,
    /// The provider rejects the request.
    InvalidRequest,
    /// The model does not exist.
    UnknownModel,
    /// The conversation exceeds the model's context window.
    ContextLength,
    /// The provider's content policy blocks the answer.
    ContentFilter,
    /// A time limit was exceeded.
    Timeout,
    /// The provider cannot be reached.
    Unreachable,
    /// The answer ended before it was complete.
    Cut,
    /// The answer violates the provider's documented format.
    Malformed,
    /// The caller cancelled the call. Scripts cannot produce it.
    #[serde(skip_deserializing)]
    Aborted,
    /// Any other error reported by the provider.
    Provider,
}

impl ModelErrorKind {
    /// Stable error code.
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

    /// Whether retrying the same request may succeed.
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
    /// An error with a message that explains what happened and what to do.
    #[must_use]
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(ModelErrorData {
            kind,
            message: message.into(),
            provider: None,
            status: None,
            request: None,
            retry_after: None,
            body: None,
        }))
    }

    /// Sets the provider's name.
    #[must_use]
    pub fn provider(mut self, provider: impl Into<String>) -> Self {
        self.0.provider = Some(provider.into());
        self
    }

    /// Sets the HTTP status.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    /// Sets the provider's request id.
    #[must_use]
    pub fn request(mut self, request: impl Into<String>) -> Self {
        self.0.request = Some(request.into());
        self
    }

    /// Sets the delay before a retry.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// Sets the provider's response body, or its beginning.
    #[must_use]
    pub fn body(mut self, body: impl Into<String>) -> Self {
        self.0.body = Some(body.into());
        self
    }

    /// Removes these secrets, and anything that looks like one, from all texts.
    #[must_use]
    pub fn without(mut self, secrets: &Secrets) -> Self {
        let ModelErrorData { message, request, body, .. } = &mut *self.0;
        *message = secrets.remove(message);
        for text in [request, body].into_iter().flatten() {
            *text = secrets.remove(text);
        }
        self
    }

    /// What callers can act on: whether to wait, to use another model, or to give up.
    #[must_use]
    pub fn kind(&self) -> ModelErrorKind {
        self.0.kind
    }

    /// Whether a retry makes sense.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.kind.is_retryable()
    }

    /// The delay before a retry, if the provider asked for one.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The HTTP status, if there was a response.
    #[must_use]
    pub fn http_status(&self) -> Option<u16> {
        self.0.status
    }

    /// The provider's request id, for its support.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.0.request.as_deref()
    }

    /// The provider's response body, or its beginning.
    #[must_use]
    pub fn provider_body(&self) -> Option<&str> {
        self.0.body.as_deref()
    }

    /// The message without the provider's name.
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
