//! What browsers are told about pages elsewhere.

use std::time::Duration;

use axum::http::{HeaderName, header};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::{METHODS, origin};
use crate::Server;

/// How long a browser remembers what it was told.
const REMEMBERED: Duration = Duration::from_secs(60 * 60);

/// Tells browsers which pages elsewhere may ask, and what they may send and read. No page is trusted with cookies:
/// there are none.
pub(crate) fn cors(server: &Server) -> CorsLayer {
    let named = |names: &[&'static str]| -> Vec<HeaderName> {
        names.iter().map(|name| HeaderName::from_static(name)).collect()
    };
    let mut sent = vec![header::AUTHORIZATION, header::CONTENT_TYPE, header::ACCEPT];
    sent.extend(named(&["x-api-key", "x-run-id", "last-event-id", "idempotency-key", "x-request-id"]));
    let mut read = vec![header::RETRY_AFTER];
    read.extend(named(&["x-run-id", "x-session-id", "x-request-id"]));
    read.extend(
        headwater_dialects::CHAT
            .iter()
            .flat_map(|dialect| dialect.headers())
            .map(|(name, _)| HeaderName::from_static(name)),
    );
    let server = server.clone();
    let allowed = move |origin: &_, _: &_| origin::is_listed(server.options(), origin);
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(allowed))
        .allow_methods(METHODS)
        .allow_headers(sent)
        .expose_headers(read)
        .max_age(REMEMBERED)
}
