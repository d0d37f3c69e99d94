//! Errors of the HTTP API.

mod codes;

use std::sync::Arc;

pub use codes::CODES;
pub(crate) use codes::find;

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use headwater_dialects::{Dialect, ErrorReply};
use headwater_runtime::ErrorKind;
use schemars::JsonSchema;
use serde::Serialize;

/// An error response: a status, a code for machines, and a message for people.
///
/// The body is `{"error": message, "code": code}`, with `known` for a list of existing names, where the
/// vendors' clients expect them too.
///
/// ```
/// use axum::http::StatusCode;
/// use headwater_server::ApiError;
///
/// let error = ApiError::new(StatusCode::FORBIDDEN, "plan.free", "this agent is for paying customers");
/// assert_eq!(error.code(), "plan.free");
/// ```
#[derive(Debug, Clone)]
pub struct ApiError {
    status: StatusCode,
    code: String,
    message: String,
    retry_after: Option<u64>,
    known: Vec<String>,
}

/// An error: the cause, the place, and what to do.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Error", deny_unknown_fields)]
pub(crate) struct ErrorDocument {
    /// A sentence for people.
    error: String,
    /// A stable code for machines; `docs/http.md` lists them.
    code: String,
    /// The existing names, if the request used an unknown one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    known: Vec<String>,
}

impl ApiError {
    /// An error with a stable code.
    pub fn new(status: StatusCode, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { status, code: code.into(), message: message.into(), retry_after: None, known: Vec::new() }
    }

    /// Sets `Retry-After`, in seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Adds the existing names to an error about an unknown one.
    #[must_use]
    pub fn known<S: Into<String>>(mut self, known: impl IntoIterator<Item = S>) -> Self {
        self.known = known.into_iter().map(Into::into).collect();
        self
    }

    pub(crate) fn bad(code: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    pub(crate) fn not_found(code: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, message)
    }

    pub(crate) fn conflict(code: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    /// An unknown run. A run of another principal gets the same error, without its name, so that callers cannot find
    /// out that it exists.
    pub(crate) fn no_run() -> Self {
        Self::unknown("run.unknown")
    }

    /// An unknown session, or one of another principal.
    pub(crate) fn no_session() -> Self {
        Self::unknown("session.unknown")
    }

    /// An unknown checkpoint, or one of another principal.
    pub(crate) fn no_checkpoint() -> Self {
        Self::unknown("checkpoint.unknown")
    }

    /// An unknown question, or one of another principal.
    pub(crate) fn no_request() -> Self {
        Self::unknown("request.unknown")
    }

    /// Takes the message from the list of codes.
    fn unknown(code: &str) -> Self {
        Self::not_found(code, meaning(code))
    }

    /// An internal error: the details are only logged.
    pub(crate) fn internal(code: &str, error: &dyn std::error::Error) -> Self {
        tracing::error!(code, error = ?error.to_string(), "a request failed");
        Self::hidden(code)
    }

    /// The same, for an error that may contain text of a person or a model.
    fn internal_quoting(code: &str, error: &dyn std::error::Error) -> Self {
        tracing::error!(code, "a request failed: its text is logged at the debug level");
        tracing::debug!(code, error = ?error.to_string(), "a request failed");
        Self::hidden(code)
    }

    fn hidden(code: &str) -> Self {
        let message = "internal error: the log has the details, under the id of this request";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, code, message)
    }

    /// A store failure, by its code. A failure that passes, or that reopening the store fixes, is 503.
    fn of_store(code: &str, error: &dyn std::error::Error) -> Self {
        let (code, seconds) = match code {
            "store.stopped" | "store.no-space" => ("store.stopped", 5),
            "store.io" => ("store.failed", 1),
            "store.busy" => ("store.busy", 1),
            "store.full" => ("store.full", 5),
            "store.corrupt" => {
                let damaged = Self::internal("store.corrupt", error);
                return Self { message: meaning("store.corrupt"), ..damaged };
            }
            _ => return Self::internal("store", error),
        };
        tracing::warn!(code, error = ?error.to_string(), "a request failed");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, meaning(code)).retry_after(seconds)
    }

    /// The store of an agent has stopped.
    pub(crate) fn store_stopped() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "store.stopped", meaning("store.stopped")).retry_after(5)
    }

    /// The store of an agent is overloaded.
    pub(crate) fn store_busy() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "store.busy", meaning("store.busy")).retry_after(1)
    }

    /// A stable name such as `run.unknown`, for programs. `docs/http.md` lists all.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The message for people, which may change. It contains no secrets, because callers receive it.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// The description of a code in the list.
fn meaning(code: &str) -> String {
    find(code).map_or("", |(_, meaning)| meaning).to_owned()
}

impl ApiError {
    /// The error in the form of a dialect.
    pub(crate) fn document_of(&self, dialect: &dyn Dialect) -> Option<serde_json::Value> {
        let Self { status, code, message, known, .. } = self;
        dialect.error_document(&ErrorReply { status: status.as_u16(), code, message, known })
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        tracing::Span::current().record("headwater.code", &self.code);
        // Kept with the response: the dialect of its route may have its own format for it.
        let kept = Arc::new(self.clone());
        let body = Json(ErrorDocument { error: self.message, code: self.code, known: self.known });
        let mut response = (self.status, body).into_response();
        response.extensions_mut().insert(kept);
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<headwater_protocol::Error> for ApiError {
    fn from(error: headwater_protocol::Error) -> Self {
        match error.kind() {
            headwater_protocol::ErrorKind::Path => Self::not_found("route.unknown", error.message()),
            _ => Self::bad("request.invalid", error.message()),
        }
    }
}

impl From<headwater_runtime::Error> for ApiError {
    fn from(error: headwater_runtime::Error) -> Self {
        use StatusCode as S;
        let status = match error.kind() {
            ErrorKind::UnknownWorkflow if error.code() == "workflow.version" => S::SERVICE_UNAVAILABLE,
            ErrorKind::Input if matches!(error.code(), "session.invalid" | "label.invalid") => S::BAD_REQUEST,
            ErrorKind::Input if error.code() == "history.differs" => S::CONFLICT,
            ErrorKind::UnknownWorkflow
            | ErrorKind::UnknownRun
            | ErrorKind::UnknownSession
            | ErrorKind::UnknownCheckpoint
            | ErrorKind::UnknownRequest
            // For other principals it does not exist.
            | ErrorKind::Foreign => S::NOT_FOUND,
            ErrorKind::Token => S::FORBIDDEN,
            ErrorKind::Exists
            | ErrorKind::Ended
            | ErrorKind::Answered
            | ErrorKind::Retracted
            | ErrorKind::SessionExists
            | ErrorKind::SessionBusy => S::CONFLICT,
            ErrorKind::Expired => S::GONE,
            ErrorKind::Answer | ErrorKind::Input | ErrorKind::State => S::UNPROCESSABLE_ENTITY,
            ErrorKind::Limit | ErrorKind::TooLarge => S::PAYLOAD_TOO_LARGE,
            ErrorKind::Busy => S::SERVICE_UNAVAILABLE,
            _ => S::INTERNAL_SERVER_ERROR,
        };
        if status == S::INTERNAL_SERVER_ERROR {
            return match (error.kind(), error.code()) {
                (ErrorKind::Store, code @ "session.unreadable") => Self::internal_quoting(code, &error),
                (ErrorKind::Store, _) if error.may_quote() => Self::internal_quoting("store", &error),
                (kind, _) if kind != ErrorKind::Store && error.may_quote() => {
                    Self::internal_quoting("internal", &error)
                }
                (ErrorKind::Store, code) => Self::of_store(code, &error),
                _ => Self::internal("internal", &error),
            };
        }
        let answer = match (error.kind(), error.code()) {
            (ErrorKind::UnknownSession, _) | (ErrorKind::Foreign, "session.foreign") => Self::no_session(),
            (ErrorKind::UnknownRequest, _) => Self::no_request(),
            (ErrorKind::UnknownRun | ErrorKind::Foreign, _) => Self::no_run(),
            (ErrorKind::UnknownCheckpoint, "checkpoint.unknown") => Self::no_checkpoint(),
            (_, code) => Self::new(status, code, error.to_string()),
        };
        if status == S::SERVICE_UNAVAILABLE { answer.retry_after(1) } else { answer }
    }
}

impl From<headwater_store::Error> for ApiError {
    fn from(error: headwater_store::Error) -> Self {
        use headwater_store::ErrorKind as K;
        match error.kind() {
            K::Cursor(_) => Self::conflict(error.code(), error.to_string()),
            K::Trimmed { .. } => Self::new(StatusCode::GONE, "cursor.trimmed", error.to_string()),
            K::Unknown => Self::no_run(),
            _ => Self::of_store(error.code(), &error),
        }
    }
}
