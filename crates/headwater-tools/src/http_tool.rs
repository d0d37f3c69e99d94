//! A tool that calls an HTTP API.

use std::{fmt, sync::Arc, time::Duration};

use headwater_protocol::{Secrets, ToolSpec};
use reqwest::{Method, Url, header::CONTENT_TYPE, redirect::Policy};
use rustls::crypto::CryptoProvider;
use serde_json::Value;

use crate::{
    Approval, Error, ErrorKind, Result, Tool, ToolContext, ToolError, ToolFuture, ToolOutput,
    UnfinishedPolicy,
};

/// How many redirects are followed, all of them to the same host.
const MOST_REDIRECTS: usize = 5;
/// The bytes of a refusal that the model is shown.
const SHOWN: usize = 2_000;

/// The request of one call.
#[derive(Debug, Clone)]
pub struct HttpCall {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// Where it goes.
    pub url: String,
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// Its body, sent as JSON.
    pub body: Option<Value>,
}

type MakeCall = dyn Fn(&Value) -> Result<HttpCall, ToolError> + Send + Sync;

/// A tool that calls an HTTP API: a function makes a request of the input, and the model gets the answer.
///
/// Only the hosts that were allowed are called, whatever the input is, and a redirect is followed only to the same host.
///
/// ```
/// use headwater_protocol::ToolSpec;
/// use headwater_tools::{HttpCall, HttpTool};
/// use serde_json::json;
///
/// # fn main() -> Result<(), headwater_tools::Error> {
/// let tool = HttpTool::new(ToolSpec::new("weather", json!({ "type": "object" })), |_input| {
///     let url = "https://api.example.com/weather".to_owned();
///     Ok(HttpCall { method: "GET".to_owned(), url, headers: Vec::new(), body: None })
/// })?
/// .host("api.example.com");
/// # Ok(())
/// # }
/// ```
pub struct HttpTool {
    spec: ToolSpec,
    make: Arc<MakeCall>,
    client: reqwest::Client,
    hosts: Vec<String>,
    secrets: Secrets,
    timeout: Duration,
    max_bytes: usize,
    approval: Approval,
    unfinished: UnfinishedPolicy,
}

impl HttpTool {
    /// A tool that may call no host yet.
    ///
    /// # Errors
    /// If TLS cannot be set up on this system.
    pub fn new(
        spec: ToolSpec,
        make: impl Fn(&Value) -> Result<HttpCall, ToolError> + Send + Sync + 'static,
    ) -> Result<Self> {
        // Without a default crypto provider, building the HTTP client panics. An installed one is kept.
        if CryptoProvider::get_default().is_none() {
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let client = reqwest::Client::builder()
            .redirect(same_host())
            .connect_timeout(Duration::from_secs(10))
            .user_agent(concat!("headwater/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| Error::caused(ErrorKind::Unreachable, "cannot build the HTTP client", error))?;
        Ok(Self {
            spec,
            make: Arc::new(make),
            client,
            hosts: Vec::new(),
            secrets: Secrets::default(),
            timeout: Duration::from_secs(30),
            max_bytes: 256 << 10,
            approval: Approval::NotNeeded,
            unfinished: UnfinishedPolicy::Fail,
        })
    }

    /// Allows a host: `api.example.com` at the usual port, or `localhost:8000`.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into().to_ascii_lowercase());
        self
    }

    /// A text that no error and no answer shown to the model may contain.
    #[must_use]
    pub fn secret(mut self, secret: &str) -> Self {
        self.secrets.add(secret);
        self
    }

    /// How long a call may take: 30 s.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The bytes that an answer may have: 256 KiB.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Whether a person must approve calls.
    #[must_use]
    pub fn approval(mut self, approval: Approval) -> Self {
        self.approval = approval;
        self
    }

    /// What to do with a call whose outcome is unknown.
    #[must_use]
    pub fn unfinished(mut self, unfinished: UnfinishedPolicy) -> Self {
        self.unfinished = unfinished;
        self
    }

    /// The URL of a call, if its host is allowed.
    fn check_url(&self, url: &str) -> Result<Url, ToolError> {
        let refused = |why: String| ToolError::new(why).with_code("tool.http-refused");
        let url = Url::parse(url).map_err(|error| refused(format!("invalid URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused(format!(
                "the URL must begin with http:// or https://, not {}:",
                url.scheme()
            )));
        }
        let host = url.host_str().unwrap_or_default();
        let named = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        if !self.hosts.contains(&named) {
            return Err(refused(format!(
                "the host `{named}` is not allowed: this tool may call {}",
                self.hosts.join(", ")
            )));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("the URL must not contain a user or a password".to_owned()));
        }
        Ok(url)
    }

    async fn send(&self, input: Value, context: ToolContext) -> Result<ToolOutput, ToolError> {
        let call = (self.make)(&input)?;
        let url = self.check_url(&call.url)?;
        let method = Method::from_bytes(call.method.as_bytes())
            .map_err(|_| ToolError::new(format!("invalid method `{}`", call.method)))?;
        let mut request = self.client.request(method, url).timeout(self.timeout);
        // A server that honours it does a repeated call once.
        request = request.header("idempotency-key", &context.idempotency_key);
        for (name, value) in &call.headers {
            request = request.header(name, value);
        }
        if let Some(body) = &call.body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let failed = |error: reqwest::Error| {
            let why = if error.is_timeout() {
                format!("no answer within {:?}", self.timeout)
            } else {
                crate::error_chain::with_causes(&error.without_url())
            };
            ToolError::new(self.secrets.remove(&why)).with_code("tool.http-failed")
        };
        let mut answer = request.send().await.map_err(failed)?;
        let status = answer.status();
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let is_json = kind.contains("json");
        let mut body = Vec::new();
        while let Some(bytes) = answer.chunk().await.map_err(failed)? {
            if body.len() + bytes.len() > self.max_bytes {
                let message = format!("the answer has more than {} bytes", self.max_bytes);
                return Err(ToolError::new(message).with_code("tool.http-too-large"));
            }
            body.extend_from_slice(&bytes);
        }
        let text = self.secrets.remove(&String::from_utf8_lossy(&body));
        if !status.is_success() {
            let shown: String = text.chars().take(SHOWN).collect();
            return Ok(ToolOutput::failure(format!("the server answered {status}: {shown}")));
        }
        Ok(match serde_json::from_str::<Value>(&text) {
            Ok(value) if is_json => ToolOutput::json(value),
            _ => ToolOutput::text(text),
        })
    }
}

/// Follows redirects only to the same host, so that no header goes elsewhere.
fn same_host() -> Policy {
    Policy::custom(|attempt| {
        let same = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
        if same && attempt.previous().len() <= MOST_REDIRECTS { attempt.follow() } else { attempt.stop() }
    })
}

impl Tool for HttpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn origin(&self) -> String {
        format!("the HTTP tool `{}`", self.spec.name)
    }

    fn approval(&self, _: &Value) -> Approval {
        self.approval
    }

    fn unfinished(&self) -> UnfinishedPolicy {
        self.unfinished
    }

    fn call(&self, input: Value, context: ToolContext) -> ToolFuture<'_> {
        Box::pin(self.send(input, context))
    }
}

impl fmt::Debug for HttpTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTool")
            .field("name", &self.spec.name)
            .field("hosts", &self.hosts)
            .finish_non_exhaustive()
    }
}
