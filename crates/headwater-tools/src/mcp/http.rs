//! The address of a server over HTTP, and the transport to it.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use headwater_protocol::Secrets;
use reqwest::{
    StatusCode, Url,
    header::{HeaderName, HeaderValue},
    redirect::Policy,
};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use rustls::crypto::CryptoProvider;

use crate::{Error, ErrorKind, Result};

const LONGEST_CONNECT: Duration = Duration::from_secs(10);
const MOST_REDIRECTS: usize = 5;

/// The URL of a server and the headers of every request.
#[derive(Clone)]
pub(super) struct Address {
    url: Arc<str>,
    /// The URL without password and query, which may be secret.
    shown: String,
    headers: HashMap<HeaderName, HeaderValue>,
}

impl Address {
    /// An address, and an error if it is invalid.
    pub(super) fn new(url: &str) -> (Self, Option<Error>) {
        let new = |shown: String| Self { url: url.into(), shown, headers: HashMap::new() };
        let wrong =
            |why: &str| Error::new(ErrorKind::Settings, format!("the address of an MCP server {why}"));
        match Url::parse(url) {
            Ok(parsed) if matches!(parsed.scheme(), "http" | "https") => {
                let port = parsed.port().map(|port| format!(":{port}")).unwrap_or_default();
                let host = parsed.host_str().unwrap_or_default();
                (new(format!("{}://{host}{port}{}", parsed.scheme(), parsed.path())), None)
            }
            Ok(parsed) => {
                let scheme = parsed.scheme().to_owned();
                (
                    new(scheme.clone()),
                    Some(wrong(&format!("must begin with http:// or https://, not {scheme}:"))),
                )
            }
            Err(error) => (new("?".to_owned()), Some(wrong(&format!("is invalid: {error}")))),
        }
    }

    /// Secrets that no message may contain: the header values. Password and query of the URL are never shown
    /// anyway.
    pub(super) fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        for value in self.headers.values().filter_map(|value| value.to_str().ok()) {
            secrets.add(value);
            value.split_whitespace().skip(1).for_each(|token| secrets.add(token));
        }
        secrets
    }

    /// Adds a header.
    pub(super) fn header(&mut self, name: &str, value: &str) -> Result<(), String> {
        let name = HeaderName::try_from(name).map_err(|_| format!("invalid header name {name:?}"))?;
        let mut value =
            HeaderValue::try_from(value).map_err(|_| format!("invalid value of the header \"{name}\""))?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(())
    }

    /// The transport to the server.
    pub(super) fn transport(&self) -> Result<StreamableHttpClientTransport<reqwest::Client>> {
        // Without a default crypto provider, building the HTTP client panics. An installed one is kept.
        if CryptoProvider::get_default().is_none() {
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let client = reqwest::Client::builder()
            .connect_timeout(LONGEST_CONNECT)
            .redirect(same_origin())
            .build()
            .map_err(|error| Error::caused(ErrorKind::Unreachable, "cannot build the HTTP client", error))?;
        let config = StreamableHttpClientTransportConfig::with_uri(Arc::clone(&self.url))
            .max_sse_event_size(super::process::LONGEST_LINE)
            .custom_headers(self.headers.clone());
        Ok(StreamableHttpClientTransport::with_client(client, config))
    }
}

/// Follows redirects only within the same origin and only if the body is kept, so that no message or secret
/// goes elsewhere.
fn same_origin() -> Policy {
    Policy::custom(|attempt| {
        let keeps_body =
            matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
        let same = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
        if keeps_body && same && attempt.previous().len() <= MOST_REDIRECTS {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address").field("url", &self.shown).finish_non_exhaustive()
    }
}
