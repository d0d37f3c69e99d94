//! The web pages that may send changes.

use axum::http::{HeaderValue, StatusCode, header, request::Parts};

use super::host;
use crate::{ApiError, Options};

/// Refuses a request that a page elsewhere makes its reader's browser send.
pub(super) fn check(options: &Options, parts: &Parts) -> Result<(), ApiError> {
    let mut origins = parts.headers.get_all(header::ORIGIN).into_iter().peekable();
    if origins.peek().is_none() {
        // Not sent by a page, or by one of an old browser, which sends at least this header.
        let site = parts.headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
        return if site == Some("cross-site") { Err(refused()) } else { Ok(()) };
    }
    let allowed = |origin: &HeaderValue| is_listed(options, origin) || is_same(options, origin, parts);
    match origins.find(|origin| !allowed(origin)) {
        None => Ok(()),
        Some(origin) => {
            tracing::warn!(?origin, "refused a page of another origin: add the origin to `cors` to allow it");
            Err(refused())
        }
    }
}

/// Whether the origin of a page is allowed.
pub(super) fn is_listed(options: &Options, origin: &HeaderValue) -> bool {
    // Without keys `*` would let every page drive the server, so it is ignored.
    let any = |known: &str| known == "*" && !options.authenticator.is_open();
    let listed = |known: &String| any(known) || known.trim_end_matches('/').as_bytes() == origin.as_bytes();
    options.origins.iter().any(listed) || (options.authenticator.is_open() && is_loopback(origin))
}

/// Whether a page is served by this machine. A server without keys is used for development, and its page is
/// often served by another local process, such as Vite or Next.js.
fn is_loopback(origin: &HeaderValue) -> bool {
    let parts = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    parts.is_some_and(|(scheme, authority)| {
        matches!(scheme, "http" | "https") && host::host_of(authority).is_some_and(host::is_loopback)
    })
}

/// Whether a page is served by this server, under any of its hosts.
fn is_same(options: &Options, origin: &HeaderValue, parts: &Parts) -> bool {
    let Some((scheme, authority)) = origin.to_str().ok().and_then(|origin| origin.split_once("://")) else {
        return false;
    };
    let Some(host) = host::host_of(authority) else { return false };
    let own = || host::named(parts).any(|named| named.eq_ignore_ascii_case(authority));
    let known = || options.hosts.iter().any(|known| known.eq_ignore_ascii_case(host));
    // A proxy may have taken TLS off, so the scheme is not compared.
    matches!(scheme, "http" | "https") && (own() || known())
}

fn refused() -> ApiError {
    let message =
        "a page of another origin sent this request: add its origin to `cors` if it may use the server";
    ApiError::new(StatusCode::FORBIDDEN, "origin.refused", message)
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;
    use crate::ApiKeys;

    fn passes(options: &Options, origins: &[&str]) -> bool {
        let mut request = Request::post("/v1/runs").header("host", "localhost:8787");
        for origin in origins {
            request = request.header("origin", *origin);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        check(options, &parts).is_ok()
    }

    #[test]
    fn only_own_and_listed_origins_pass() {
        let keys = ApiKeys::new().add("ann", "secret");
        let options = Options::default().host("agents.test").origin("https://app.test/").authenticator(keys);
        for origin in [
            "http://localhost:8787",
            "https://localhost:8787",
            "http://agents.test",
            "https://Agents.test:8443",
            "https://app.test",
        ] {
            assert!(passes(&options, &[origin]), "{origin}");
        }
        for origin in [
            "",
            "null",
            "://localhost:8787",
            "localhost:8787",
            "file://localhost:8787",
            "http://localhost",
            "http://localhost:87870",
            "http://localhost:8787@evil.test",
            "http://evil.test#localhost:8787",
            "http://[::1].evil.test",
            "http://localhost:8787/",
            "http://app.test",
            "https://app.test.evil.test",
            "https://evil.test",
            "https://agents.test.evil.test",
            "http://http://localhost:8787",
        ] {
            assert!(!passes(&options, &[origin]), "{origin}");
        }
        assert!(passes(&options, &[]), "no page sent it");
        assert!(!passes(&options, &["https://app.test", "https://evil.test"]));
    }

    #[test]
    fn pages_of_this_machine_pass_without_keys() {
        let open = Options::default();
        let keys = Options::default().authenticator(ApiKeys::new().add("ann", "secret"));
        for origin in [
            "http://localhost:5173",
            "https://localhost:3000",
            "http://127.0.0.1:5173",
            "http://[::1]:5173",
            "http://app.localhost",
        ] {
            assert!(passes(&open, &[origin]), "{origin}");
            assert!(!passes(&keys, &[origin]), "{origin} with keys");
        }
        for origin in [
            "null",
            "://localhost:5173",
            "file://localhost",
            "http://localhost.evil.test",
            "http://localhost:5173@evil.test",
            "http://localhost:99999",
            "http://10.0.0.1:5173",
            "http://evil.test",
        ] {
            assert!(!passes(&open, &[origin]), "{origin}");
        }
    }

    #[test]
    fn any_origin_passes_only_with_keys() {
        let any = Options::default().origin("*");
        assert!(!passes(&any, &["https://evil.test"]));
        let keys = any.authenticator(ApiKeys::new().add("ann", "secret"));
        assert!(passes(&keys, &["https://evil.test"]));
    }
}
