//! Telemetry of requests: a span and metrics for each.
//!
//! They contain no key, token or body, and only a hash of the principal. The names are listed in
//! `docs/operations.md`.

mod prometheus;

use std::time::Instant;

use axum::{
    extract::{MatchedPath, Request},
    http::{HeaderMap, HeaderValue},
    middleware::Next,
    response::Response,
};
use sha2::{Digest as _, Sha256};
use tracing::{Instrument as _, Span, field::Empty, info_span};

pub use prometheus::{METRICS, Metrics};

use crate::Principal;

/// The longest name of a request that is taken from its sender.
const LONGEST: usize = 128;

/// Adds a span and an id to a request, and counts it.
pub(crate) async fn trace_request(mut request: Request, next: Next) -> Response {
    let (method, began) = (request.method().clone(), Instant::now());
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let route = matched.as_ref().map_or("none", MatchedPath::as_str).to_owned();
    let id = request_id(&request);
    let span = info_span!(
        "request",
        otel.kind = "server",
        otel.name = format_args!("{method} {route}"),
        otel.status_code = Empty,
        http.request.method = method.as_str(),
        http.route = route,
        http.response.status_code = Empty,
        url.scheme = request.uri().scheme_str().unwrap_or("http"),
        url.path = request.uri().path(),
        gen_ai.agent.name = Empty,
        gen_ai.conversation.id = Empty,
        headwater.request = id.as_ref().and_then(|id| id.to_str().ok()),
        headwater.principal = Empty,
        headwater.dialect = Empty,
        headwater.run = Empty,
        headwater.code = Empty,
        "error.type" = Empty,
    );
    #[cfg(feature = "otel")]
    crate::otel::continue_trace(&span, request.headers());
    if let Some(id) = &id {
        request.headers_mut().insert("x-request-id", id.clone());
    }
    let mut response = next.run(request).instrument(span.clone()).await;
    let status = response.status();
    // A number without a sign would be exported as text.
    span.record("http.response.status_code", i64::from(status.as_u16()));
    if status.is_server_error() {
        // Client errors are not server errors.
        span.record("error.type", status.as_str());
        span.record("otel.status_code", "ERROR");
    }
    let named = id.as_ref().and_then(|id| id.to_str().ok()).unwrap_or_default();
    // The route instead of the path, which may contain ids. A stream has only started here, not ended.
    let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::debug!(
        target: "headwater::request",
        parent: None,
        %method,
        route,
        status = status.as_u16(),
        ms,
        request = named,
        "request"
    );
    if let Some(id) = id {
        response.headers_mut().insert("x-request-id", id);
    }
    let method = method_label(&method);
    metrics::counter!("headwater_requests_total", "method" => method, "route" => route, "status" => status.as_u16().to_string())
        .increment(1);
    response
}

/// The id sent with the request, or a fresh one.
fn request_id(request: &Request) -> Option<HeaderValue> {
    let sent = request.headers().get("x-request-id");
    let sent = sent.filter(|id| !id.is_empty() && id.len() <= LONGEST && id.to_str().is_ok());
    sent.cloned().or_else(|| headwater_runtime::fresh_id("req").ok()?.try_into().ok())
}

/// The id of a request that went through [`trace_request`].
pub(crate) fn request_id_of(headers: &HeaderMap) -> String {
    headers.get("x-request-id").and_then(|id| id.to_str().ok()).unwrap_or_default().to_owned()
}

/// A method as a metric label: clients cannot invent further ones.
fn method_label(method: &axum::http::Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        "HEAD" => "HEAD",
        _ => "other",
    }
}

/// Records a hash of the principal in the span of a request, so that the requests of one principal can be found without
/// naming it.
pub(crate) fn note_principal(principal: &Principal) {
    let digest = Sha256::digest(principal.id().as_bytes());
    let short: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    Span::current().record("headwater.principal", short);
}

/// Sets a field in the span of a request.
pub(crate) fn note(field: &'static str, value: &str) {
    Span::current().record(field, value);
}
