//! Before any route: may this request come in, and who sends it.
//!
//! A browser lets any page send requests to any server, also to one that only this machine can reach. So a request
//! must name a host that is meant ([`host`]), a page elsewhere must be one that is allowed ([`origin`]), and a body must
//! say that it is JSON, which a page elsewhere cannot do without asking first.

mod cors;
mod errors;
mod headers;
mod host;
mod origin;

use axum::{
    body::HttpBody as _,
    extract::{Request, State},
    http::{Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::Response,
};

pub(crate) use cors::cors;
pub(crate) use errors::in_dialect;
pub(crate) use headers::secure;

use crate::{ApiError, Server, seeing};

/// Refuses what should not come in, whoever sends it.
pub(crate) async fn admit(
    State(server): State<Server>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    server.watch_time();
    server.ensure_recovering();
    let (parts, body) = request.into_parts();
    let options = server.options();
    host::check(options, &parts)?;
    check_ids(&parts)?;
    if !parts.method.is_safe() {
        origin::check(options, &parts)?;
        if !body.is_end_stream() {
            check_content_type(&parts)?;
        }
    }
    Ok(next.run(Request::from_parts(parts, body)).await)
}

/// Finds out who is asking.
pub(crate) async fn authenticate(
    State(server): State<Server>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    let principal = server.options().authenticator.authenticate(&parts).await?;
    seeing::note_principal(&principal);
    parts.extensions.insert(principal);
    Ok(next.run(Request::from_parts(parts, body)).await)
}

/// An id that cannot be read as text would count as none, and the request would do something else than was meant.
fn check_ids(parts: &Parts) -> Result<(), ApiError> {
    for name in ["idempotency-key", "last-event-id", "x-run-id"] {
        if parts.headers.get_all(name).into_iter().any(|value| value.to_str().is_err()) {
            return Err(ApiError::bad(
                "header.invalid",
                format!("`{name}` is not text: send visible ASCII characters"),
            ));
        }
    }
    Ok(())
}

/// A page elsewhere can send a form or a text without asking first, but not JSON.
fn check_content_type(parts: &Parts) -> Result<(), ApiError> {
    let sent = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = sent.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if kind == "application/json" || kind.starts_with("application/") && kind.ends_with("+json") {
        return Ok(());
    }
    let message = match sent {
        Some(sent) => format!("the body is `{sent}`: send `application/json`"),
        None => "say what the body is: send `content-type: application/json`".to_owned(),
    };
    Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "body.not-json", message))
}

/// The methods that routes have.
pub(crate) const METHODS: [Method; 4] = [Method::GET, Method::POST, Method::PATCH, Method::DELETE];
