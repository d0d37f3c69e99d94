//! Requests to one server.

use std::{pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_core::Stream;
use futures_util::{
    StreamExt as _,
    future::{Either, select},
};
use reqwest::{
    Method, Response,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Error, Options, Result,
    platform::{self, BoxFuture},
};

/// The body of a response as it arrives.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) type ByteStream = Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>;
#[cfg(target_arch = "wasm32")]
pub(crate) type ByteStream = Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>>>>;

/// Number of network failures after which an idempotent request is sent again.
const RETRIES: u32 = 3;

#[derive(Debug, Clone)]
pub(crate) struct Http {
    base: Arc<str>,
    headers: HeaderMap,
    /// An invalid header, reported by the next request.
    invalid_header: Option<Arc<str>>,
    client: std::result::Result<reqwest::Client, Arc<str>>,
    pub(crate) options: Arc<Options>,
}

/// A request by its path under the base URL.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Option<String>,
}

impl Request {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), headers: Vec::new(), body: None }
    }

    /// A GET of an absolute URL, in place of a path under the base.
    pub(crate) fn get_url(url: String) -> Self {
        Self::get(url)
    }

    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self { method: Method::DELETE, ..Self::get(path) }
    }

    pub(crate) fn post(path: impl Into<String>, body: &impl Serialize) -> Self {
        let body = serde_json::to_string(body).unwrap_or_default();
        Self { method: Method::POST, body: Some(body), ..Self::get(path) }
    }

    /// A `POST` request with an empty object as its body.
    pub(crate) fn post_empty(path: impl Into<String>) -> Self {
        Self { method: Method::POST, body: Some("{}".to_owned()), ..Self::get(path) }
    }

    pub(crate) fn patch(path: impl Into<String>, body: &impl Serialize) -> Self {
        Self { method: Method::PATCH, ..Self::post(path, body) }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// A path with each segment percent-encoded: an id may contain anything.
pub(crate) fn path<'a>(segments: impl IntoIterator<Item = &'a str>) -> String {
    let mut out = String::from("/v1");
    for segment in segments {
        out.push('/');
        encode(segment, &mut out);
    }
    out
}

/// A query string of the parameters that have a value.
pub(crate) fn query<'a>(parameters: impl IntoIterator<Item = (&'a str, Option<String>)>) -> String {
    let mut out = String::new();
    for (name, value) in parameters {
        if let Some(value) = value {
            out.push(if out.is_empty() { '?' } else { '&' });
            out.push_str(name);
            out.push('=');
            encode(&value, &mut out);
        }
    }
    out
}

pub(crate) fn encode_segment(text: &str) -> String {
    let mut out = String::new();
    encode(text, &mut out);
    out
}

fn encode(text: &str, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let digit = |value: u8| HEX.get(usize::from(value)).map_or('0', |digit| char::from(*digit));
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
}

impl Http {
    pub(crate) fn new(url: &str) -> Self {
        Self {
            base: url.trim_end_matches('/').into(),
            headers: HeaderMap::new(),
            invalid_header: None,
            client: build_client().map_err(Arc::from),
            options: Arc::default(),
        }
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    pub(crate) fn set_client(&mut self, client: reqwest::Client) {
        self.client = Ok(client);
    }

    pub(crate) fn set_key(&mut self, key: &str) {
        self.set_header(AUTHORIZATION.as_str(), &format!("Bearer {key}"));
    }

    pub(crate) fn set_header(&mut self, name: &str, value: &str) {
        match (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
            (Ok(header), Ok(mut value)) => {
                value.set_sensitive(header == AUTHORIZATION);
                self.headers.insert(header, value);
            }
            // The value may be a secret, so only the name is reported.
            _ => self.invalid_header = Some(name.into()),
        }
    }

    /// The JSON of a response.
    pub(crate) async fn json<T: DeserializeOwned>(&self, request: &Request) -> Result<T> {
        let body = self.bytes(request).await?;
        serde_json::from_slice(&body).map_err(Error::unexpected)
    }

    /// The JSON of a response to a request that counts once, however often it is sent. It is sent again if
    /// the network fails, or if the server is overloaded and sends a retry time.
    pub(crate) async fn json_once<T: DeserializeOwned>(&self, request: &Request) -> Result<T> {
        let body = self.repeat(request).await?;
        serde_json::from_slice(&body).map_err(Error::unexpected)
    }

    /// Sends a request whose response has no content, again if the network fails.
    pub(crate) async fn empty_once(&self, request: &Request) -> Result<()> {
        self.repeat(request).await.map(drop)
    }

    async fn repeat(&self, request: &Request) -> Result<Vec<u8>> {
        let mut attempt = 1;
        loop {
            let error = match self.bytes(request).await {
                Err(error) if error.is_retryable() && attempt <= RETRIES => error,
                done => return done,
            };
            let delay = match error.retry_after() {
                Some(delay) if delay <= self.options.request_timeout => delay,
                None if error.code() == "network" => self.options.delay(attempt),
                _ => return Err(error),
            };
            platform::sleep(delay).await;
            attempt += 1;
        }
    }

    async fn bytes(&self, request: &Request) -> Result<Vec<u8>> {
        let limit = self.options.max_response_bytes;
        let work = async {
            let response = self.send(request).await?;
            read_body(response, limit).await
        };
        within(self.options.request_timeout, work).await?
    }

    /// Opens a stream. Only the head of the response is read.
    pub(crate) fn open(&self, request: Request) -> BoxFuture<Result<Response>> {
        let http = self.clone();
        Box::pin(async move { http.send(&request).await })
    }

    async fn send(&self, request: &Request) -> Result<Response> {
        let client = self.client.as_ref().map_err(|message| Error::new("tls", &**message))?;
        if let Some(name) = &self.invalid_header {
            let message = format!("invalid header `{name}`: use visible ASCII characters");
            return Err(Error::new("header.invalid", message));
        }
        let url = match request.path.contains("://") {
            true => request.path.clone(),
            false => format!("{}{}", self.base, request.path),
        };
        let mut builder = client.request(request.method.clone(), url);
        builder = builder.headers(self.headers.clone());
        if let Some(body) = &request.body {
            builder = builder.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        for (name, value) in &request.headers {
            builder = builder.header(*name, value);
        }
        let response = builder.send().await.map_err(Error::of_network)?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = retry_after.map(str::to_owned);
        // An error that cannot be read is still an error.
        let body = within(self.options.request_timeout, read_body(response, 1 << 20)).await;
        let body = body.and_then(|body| body).unwrap_or_default();
        Err(Error::of_response(status.as_u16(), retry_after.as_deref(), &body))
    }
}

pub(crate) fn accept_events(request: Request) -> Request {
    request.header(ACCEPT.as_str(), "text/event-stream")
}

/// The result of a future, or `timeout`.
pub(crate) async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Result<T> {
    match select(std::pin::pin!(work), platform::sleep(limit)).await {
        Either::Left((done, _)) => Ok(done),
        Either::Right(_) => {
            Err(Error::retryable("timeout", format!("the server did not respond within {limit:?}")))
        }
    }
}

async fn read_body(response: Response, limit: usize) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(Error::of_network)?;
        if body.len() + piece.len() > limit {
            let message = format!("the response has more than {limit} bytes: raise `max_response_bytes`");
            return Err(Error::new("http.too-large", message));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

#[cfg(not(target_arch = "wasm32"))]
fn build_client() -> std::result::Result<reqwest::Client, String> {
    use rustls_platform_verifier::BuilderVerifierExt as _;
    let broken = |error: &dyn std::fmt::Display| format!("cannot set up TLS on this system ({error})");
    // ring for this client only: the default of the process belongs to the application.
    let builder = || {
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| broken(&error))
    };
    // A system without CA certificates can still reach a server over plain HTTP.
    let mut tls = match builder()?.with_platform_verifier() {
        Ok(verified) => verified.with_no_client_auth(),
        Err(_) => builder()?.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth(),
    };
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .connect_timeout(Duration::from_secs(10))
        // A redirect must not forward the key to another host.
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("headwater-client/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| broken(&error))
}

#[cfg(target_arch = "wasm32")]
fn build_client() -> std::result::Result<reqwest::Client, String> {
    Ok(reqwest::Client::new())
}
