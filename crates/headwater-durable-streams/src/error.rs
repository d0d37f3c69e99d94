//! Errors of requests about streams.

use axum::{
    Json,
    http::{HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use headwater_store::ErrorKind;
use serde_json::json;

/// An error of a request: a status, a code for machines, a message for people, and headers that the protocol asks for.
///
/// The body is `{"error": message, "code": code}`.
#[derive(Debug, Clone)]
pub struct StreamError {
    status: StatusCode,
    code: &'static str,
    message: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl StreamError {
    /// An error with a stable code.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), headers: Vec::new() }
    }

    /// Adds a header to the response. A value that no header can have is left out.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    /// The code for machines.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }

    pub(crate) fn bad(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    pub(crate) fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    pub(crate) fn unknown() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "stream.unknown",
            "there is no stream at this URL: create it with PUT",
        )
    }

    pub(crate) fn gone() -> Self {
        let message = "the stream was deleted or has expired, and is only kept for its forks";
        Self::new(StatusCode::GONE, "stream.gone", message)
    }

    pub(crate) fn internal() -> Self {
        let message = "internal error: see the server's log";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }

    pub(crate) fn busy(message: impl Into<String>) -> Self {
        let error = Self::new(StatusCode::SERVICE_UNAVAILABLE, "stream.busy", message);
        error.header(axum::http::header::RETRY_AFTER, "1")
    }
}

impl From<headwater_store::Error> for StreamError {
    fn from(error: headwater_store::Error) -> Self {
        match error.kind() {
            ErrorKind::Unknown => Self::unknown(),
            ErrorKind::TooLarge => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "stream.too-large", error.to_string())
            }
            ErrorKind::Full => {
                let message = "the stream is as large as the store allows: continue in another stream";
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "stream.full", message)
            }
            _ if error.is_retryable() => Self::busy("the store is busy: send the request again"),
            _ => {
                tracing::error!(code = error.code(), error = %error, "a request about a stream failed");
                Self::internal()
            }
        }
    }
}

impl IntoResponse for StreamError {
    fn into_response(self) -> Response {
        let body = Json(json!({ "error": self.message, "code": self.code }));
        let mut response = (self.status, body).into_response();
        response.headers_mut().extend(self.headers);
        response
    }
}
