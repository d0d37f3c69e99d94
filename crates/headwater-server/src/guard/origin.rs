//! From which web pages something may be changed.

use axum::http::{HeaderValue, StatusCode, header, request::Parts};

use super::{host::without_port, named_host};
use crate::{ApiError, Options};

/// Refuses a request that a page elsewhere makes its reader's browser send.
pub(super) fn check(options: &Options, parts: &Parts) -> Result<(), ApiError> {
    let Some(origin) = parts.headers.get(header::ORIGIN) else {
        // No page sent it, or one of an old browser, which says at least this.
        let site = parts.headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
        return if site == Some("cross-site") { Err(refused("a page elsewhere")) } else { Ok(()) };
    };
    let text = origin.to_str().unwrap_or_default();
    if is_listed(options, origin) || is_same(options, text, named_host(parts)) {
        return Ok(());
    }
    Err(refused(text))
}

/// Whether a page is one of those elsewhere that may ask.
pub(super) fn is_listed(options: &Options, origin: &HeaderValue) -> bool {
    let listed = |known: &String| known == "*" || known.trim_end_matches('/').as_bytes() == origin.as_bytes();
    options.origins.iter().any(listed)
}

/// Whether a page comes from this server, or from a host that it is known by.
fn is_same(options: &Options, origin: &str, host: Option<&str>) -> bool {
    let Some((_, authority)) = origin.split_once("://") else { return false };
    let named = |known: &String| known.eq_ignore_ascii_case(without_port(authority));
    host.is_some_and(|host| host.eq_ignore_ascii_case(authority)) || options.hosts.iter().any(named)
}

fn refused(origin: &str) -> ApiError {
    let message = format!(
        "a page of {origin} asked for this, and may not: name its origin in the options of the server if it should"
    );
    ApiError::new(StatusCode::FORBIDDEN, "origin.refused", message)
}
