//! CORS headers for pages of other origins.

use std::time::Duration;

use axum::http::{HeaderName, header};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use super::{METHODS, origin};
use crate::{Options, Server, audit};

/// How long a browser caches a preflight response.
const REMEMBERED: Duration = Duration::from_secs(60 * 60);

/// Configures which pages elsewhere may send requests, and which headers they may send and read. The server
/// has no cookies; those of a proxy in front of it are allowed only if configured.
pub(crate) fn cors(server: &Server) -> CorsLayer {
    let Options { cors_headers, cors_credentials, origins, .. } = server.options();
    let named = |names: &[&'static str]| -> Vec<HeaderName> {
        names.iter().map(|name| HeaderName::from_static(name)).collect()
    };
    let mut sent = vec![header::AUTHORIZATION, header::CONTENT_TYPE, header::ACCEPT];
    sent.extend(named(&["x-api-key", "x-run-id", "last-event-id", "idempotency-key", "x-request-id"]));
    sent.push(HeaderName::from_static(audit::OWNER));
    let dialects = headwater_dialects::CHAT;
    sent.extend(dialects.iter().flat_map(|dialect| named(dialect.request_headers())));
    sent.extend(headwater_durable_streams::REQUEST_HEADERS);
    sent.extend(cors_headers.iter().filter_map(|name| HeaderName::try_from(name.as_str()).ok()));
    let sent = match cors_headers.iter().any(|name| name == "*") {
        true => AllowHeaders::mirror_request(),
        false => AllowHeaders::list(sent),
    };
    let credentials = *cors_credentials && !origins.iter().any(|origin| origin == "*");
    let mut read = vec![header::RETRY_AFTER];
    read.extend(named(&["x-run-id", "x-session-id", "x-request-id"]));
    read.extend(headwater_durable_streams::RESPONSE_HEADERS);
    let of_dialects = dialects.iter().flat_map(|dialect| dialect.headers());
    read.extend(of_dialects.map(|(name, _)| HeaderName::from_static(name)));
    let server = server.clone();
    let allowed = move |origin: &_, _: &_| origin::is_listed(server.options(), origin);
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(allowed))
        .allow_methods(METHODS)
        .allow_headers(sent)
        .allow_credentials(credentials)
        .expose_headers(read)
        .max_age(REMEMBERED)
}
