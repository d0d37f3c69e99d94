//! The hosts that a request may name. A page elsewhere can point its own name at this machine, and would then
//! have the same origin as the server: only the name reveals it.

use std::net::{IpAddr, Ipv6Addr};

use axum::http::{StatusCode, header, request::Parts};

use crate::{ApiError, Options};

pub(super) fn check(options: &Options, parts: &Parts) -> Result<(), ApiError> {
    let open = options.authenticator.is_open();
    if !open && options.hosts.is_empty() {
        // A request without a key is refused, and a page elsewhere has none.
        return Ok(());
    }
    let mut named = named(parts).peekable();
    if named.peek().is_some() && named.all(|authority| is_known(options, open, authority)) {
        return Ok(());
    }
    let message = if open {
        "the request names a host that is not this machine: without keys the server answers to this machine only. Set keys, or \
         add the host to `hosts`"
    } else {
        "the request names a host that is not one of this server: add it to `hosts`"
    };
    Err(ApiError::new(StatusCode::FORBIDDEN, "host.refused", message))
}

/// All authorities in a request: in `Host`, and in the target of HTTP/2.
pub(super) fn named(parts: &Parts) -> impl Iterator<Item = &str> {
    // A value that is not text cannot be a host.
    let headers =
        parts.headers.get_all(header::HOST).into_iter().map(|host| host.to_str().unwrap_or_default());
    headers.chain(parts.uri.authority().map(axum::http::uri::Authority::as_str))
}

fn is_known(options: &Options, open: bool, authority: &str) -> bool {
    let Some(host) = host_of(authority) else { return false };
    // Without keys `*` would let every page drive the server, so it is ignored.
    let any = |known: &str| known == "*" && !open;
    is_loopback(host) || options.hosts.iter().any(|known| any(known) || known.eq_ignore_ascii_case(host))
}

/// The host of an authority: a name, an IPv4 address, or an IPv6 address without its brackets. `None` for a
/// text that is not exactly a host with an optional port.
pub(super) fn host_of(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            host.parse::<Ipv6Addr>().ok()?;
            (host, port)
        }
        None => {
            let at = authority.find(':').unwrap_or(authority.len());
            let (host, port) = authority.split_at(at);
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            (!host.is_empty() && host.bytes().all(allowed)).then_some((host, port))?
        }
    };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then_some(host)
}

pub(super) fn is_loopback(host: &str) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;
    use crate::ApiKeys;

    fn code(options: &Options, host: Option<&str>) -> Option<String> {
        let mut request = Request::get("/v1/runs");
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        check(options, &parts).err().map(|error| error.code().to_owned())
    }

    #[test]
    fn without_keys_only_this_machine_and_named_hosts_are_answered() {
        let open = Options::default().host("agents.test");
        for host in [
            "localhost",
            "localhost:8787",
            "LOCALHOST.",
            "app.localhost:1",
            "127.0.0.1:8787",
            "127.9.9.9",
            "[::1]:8787",
            "[::ffff:127.0.0.1]",
            "agents.test",
            "Agents.test:443",
        ] {
            assert_eq!(code(&open, Some(host)), None, "{host}");
        }
        for host in [
            "evil.test",
            "localhost.evil.test",
            "127.0.0.1.evil.test",
            "10.0.0.1",
            "[::2]",
            "",
            "[::1",
            "::1",
            "[::1].evil.test",
            "[::1]evil",
            "[::1]:",
            "[::1]:80@evil.test",
            "[localhost]",
            "localhost:8787@evil.test",
            "localhost@evil.test",
            "localhost:",
            "localhost:x",
            "localhost:99999",
            "localhost:80:80",
            "localhost,evil.test",
            "localhost evil.test",
            "localhost/evil.test",
            "localhost#evil.test",
            ".localhost.evil.test",
            "0x7f.1",
            "2130706433",
            "127.1",
            "0177.0.0.1",
        ] {
            assert_eq!(code(&open, Some(host)).as_deref(), Some("host.refused"), "{host}");
        }
        assert_eq!(code(&open, None).as_deref(), Some("host.refused"));
        let any = Options::default().host("*");
        assert_eq!(code(&any, Some("evil.test")).as_deref(), Some("host.refused"), "`*` needs keys");
    }

    #[test]
    fn every_host_that_a_request_names_must_be_known() {
        let checked = |request: axum::http::request::Builder| {
            let (parts, ()) = request.body(()).unwrap().into_parts();
            check(&Options::default(), &parts).is_ok()
        };
        assert!(checked(Request::get("http://localhost/v1/runs")), "as HTTP/2 has it");
        assert!(!checked(Request::get("http://evil.test/v1/runs").header("host", "localhost")));
        assert!(!checked(Request::get("http://localhost/v1/runs").header("host", "evil.test")));
        let twice = Request::get("/v1/runs").header("host", "localhost").header("host", "evil.test");
        assert!(!checked(twice));
    }

    #[test]
    fn with_keys_any_host_is_answered_unless_some_are_named() {
        let keys = || Options::default().authenticator(ApiKeys::new().add("ann", "secret"));
        assert_eq!(code(&keys(), Some("agents.test")), None);
        assert_eq!(code(&keys().host("agents.test"), Some("agents.test")), None);
        assert_eq!(code(&keys().host("*"), Some("evil.test")), None);
        assert_eq!(code(&keys().host("agents.test"), Some("evil.test")).as_deref(), Some("host.refused"));
    }
}
