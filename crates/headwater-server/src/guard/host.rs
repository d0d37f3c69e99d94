//! Which host a request may name. A page elsewhere can make its own name point at this machine, and would then be of
//! the same origin as the server: only the name tells that it is not.

use std::net::IpAddr;

use axum::http::{StatusCode, request::Parts};

use super::named_host;
use crate::{ApiError, Options};

pub(super) fn check(options: &Options, parts: &Parts) -> Result<(), ApiError> {
    let open = options.authenticator.is_open();
    if !open && options.hosts.is_empty() {
        // Whoever has no key is not let in, and a page elsewhere has none.
        return Ok(());
    }
    let named = named_host(parts).map(without_port);
    let known = named.is_some_and(|named| {
        is_loopback(named) || options.hosts.iter().any(|host| host == "*" || host.eq_ignore_ascii_case(named))
    });
    if known {
        return Ok(());
    }
    let named = named.unwrap_or("no host");
    let message = if open {
        format!(
            "the request names {named}: without keys this server answers to this machine only. Give it keys, or \
             name the host in its options"
        )
    } else {
        format!("the request names {named}, which is no host of this server")
    };
    Err(ApiError::new(StatusCode::FORBIDDEN, "host.refused", message))
}

/// The host of an authority.
pub(super) fn without_port(authority: &str) -> &str {
    if let Some(rest) = authority.strip_prefix('[') {
        return rest.split_once(']').map_or(authority, |(host, _)| host);
    }
    authority.rsplit_once(':').map_or(authority, |(host, _)| host)
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    let name = host.to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
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
        for host in
            ["evil.test", "localhost.evil.test", "127.0.0.1.evil.test", "10.0.0.1", "[::2]", "", "[::1"]
        {
            assert_eq!(code(&open, Some(host)).as_deref(), Some("host.refused"), "{host}");
        }
        assert_eq!(code(&open, None).as_deref(), Some("host.refused"));
        assert_eq!(code(&Options::default().host("*"), Some("evil.test")), None);
    }

    #[test]
    fn with_keys_any_host_is_answered_unless_some_are_named() {
        let keys = || Options::default().authenticator(ApiKeys::new().add("ann", "secret"));
        assert_eq!(code(&keys(), Some("agents.test")), None);
        assert_eq!(code(&keys().host("agents.test"), Some("agents.test")), None);
        assert_eq!(code(&keys().host("agents.test"), Some("evil.test")).as_deref(), Some("host.refused"));
    }
}
