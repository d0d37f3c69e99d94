//! Checks before any route: whether the request is allowed, and who sent it.
//!
//! A browser lets any page send requests to any server, also to one that only this machine can reach. So a
//! request must name an expected host ([`host`]), a page elsewhere must be allowed ([`origin`]), and a body
//! must be declared as JSON, which a page elsewhere cannot do without a preflight request.

mod body;
mod cors;
mod errors;
mod headers;
mod host;
mod origin;

use axum::{
    body::HttpBody as _,
    extract::{FromRequestParts as _, RawPathParams, Request, State},
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::Response,
};

pub(crate) use body::read_body;
pub(crate) use cors::cors;
pub(crate) use errors::errors_in_dialect;
pub(crate) use headers::add_security_headers;

use crate::{
    ApiError, Principal, Server,
    audit::{self, Subject},
    durable_streams::takes_any_content,
    telemetry,
};

/// Rejects requests that no caller may send.
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
        if !body.is_end_stream() && !takes_any_content(&parts.uri) {
            check_content_type(&parts)?;
        }
    }
    Ok(next.run(Request::from_parts(parts, body)).await)
}

/// Authenticates the caller.
pub(crate) async fn authenticate(
    State(server): State<Server>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    let mut principal = server.options().authenticator.authenticate(&parts).await?;
    telemetry::note_principal(&principal);
    if principal.is_operator() {
        principal = principal.with_request(audit::request_line(&parts));
    }
    if let Some(owner) = parts.headers.get(audit::OWNER).cloned() {
        principal = act_for(&principal, &owner, &mut parts).await?;
    }
    parts.extensions.insert(principal);
    Ok(next.run(Request::from_parts(parts, body)).await)
}

/// The owner in whose name an operator sends a request.
async fn act_for(
    operator: &Principal,
    owner: &HeaderValue,
    parts: &mut Parts,
) -> Result<Principal, ApiError> {
    if !operator.is_operator() {
        let message = format!("only an operator may send `{}`: leave it out", audit::OWNER);
        return Err(ApiError::new(StatusCode::FORBIDDEN, "operator.needed", message));
    }
    let owner = owner.to_str().ok().map(str::trim).filter(|owner| !owner.is_empty());
    let owner = owner.ok_or_else(|| {
        let message =
            format!("`{}` is not the name of a principal: send visible ASCII characters", audit::OWNER);
        ApiError::bad("header.invalid", message)
    })?;
    let names = RawPathParams::from_request_parts(parts, &()).await.ok();
    let named = |wanted: &str| names.iter().flatten().find(|(name, _)| *name == wanted).map(|(_, id)| id);
    audit::access(operator, Some(owner), Subject { run: named("run"), session: named("session") });
    Ok(operator.acting_for(Some(owner)))
}

/// An id that is not text would count as absent, and the request would do something else.
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
        None => "the content type is missing: send `content-type: application/json`".to_owned(),
    };
    Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "body.not-json", message))
}

/// The methods that routes have.
pub(crate) const METHODS: [Method; 6] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
