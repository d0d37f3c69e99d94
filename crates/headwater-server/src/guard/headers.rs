//! Headers of every response, for browsers: responses are data for pages of this origin, and nothing else.

use axum::{
    http::{HeaderName, HeaderValue, header},
    response::Response,
};

/// The default headers. A route may override them: streams and the page do.
///
/// `Cross-Origin-Resource-Policy` applies to requests without CORS, so pages that `cors` allows are not
/// affected.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

pub(crate) async fn add_security_headers(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}
