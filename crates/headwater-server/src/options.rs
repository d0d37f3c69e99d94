//! How a server treats its requests.

use std::{collections::BTreeMap, fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

use axum::http::request::Parts;
use headwater_dialects::Dialect;
use headwater_durable_streams::DurableStreams;
use headwater_runtime::WhenBusy;
use serde_json::{Map, Value};

use crate::{
    ApiError, Metrics, Webhooks,
    auth::{Authenticator, OpenAccess, Principal},
};

/// How a server treats its requests.
///
/// ```
/// use std::time::Duration;
/// use headwater_server::{ApiKeys, Options};
///
/// let options = Options::default()
///     .authenticator(ApiKeys::new().add("ann", "a long secret"))
///     .path("ai-sdk", "/api/chat")
///     .heartbeat(Duration::from_secs(10));
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// The authenticated caller.
    pub authenticator: Arc<dyn Authenticator>,
    /// The approved context, for a run's `cx.runtime_context()`.
    pub(crate) context: Option<Arc<ContextFunction>>,
    /// The hosts that a request may name beside this machine, without ports; `*` is any, and is ignored without keys. Without any of
    /// them: with keys any, and without keys only this machine.
    pub hosts: Vec<String>,
    /// Allowed origins of web pages; `*` is any, and is ignored without keys.
    pub origins: Vec<String>,
    /// Additional request headers that these pages may send; `*` is any.
    pub cors_headers: Vec<String>,
    /// Whether these pages may send credentials such as cookies. Not with `*` as origin.
    pub cors_credentials: bool,
    /// Further paths of the dialects' chat routes, so that a page's old URL can be kept.
    pub paths: BTreeMap<String, Vec<ChatPath>>,
    /// The dialects that are served; `None` is all of them. The native wire always is.
    pub dialects: Option<Vec<String>>,
    /// Limits on requests.
    pub limits: Limits,
    /// Heartbeat interval: 15 s.
    pub heartbeat: Duration,
    /// Bytes of padding at the start of a stream, for proxies that hold back the first ones: 0.
    pub padding: usize,
    /// How long after its end a page can still resume a run: 5 minutes.
    pub replay: Duration,
    /// Policy for a message that arrives while its session's last one is being answered, if neither the agent
    /// nor the request sets one. Without it, the answer is stopped if a client's stop button only closes the
    /// connection, and otherwise the message is queued.
    pub when_busy: Option<WhenBusy>,
    /// The text between a failed attempt and the next one, if the failed one cannot be retracted.
    pub seam: String,
    /// Whether an attempt's text is held back until the attempt has ended.
    pub hold: bool,
    /// The interval for recovering runs of dead processes.
    pub recovery: Recovery,
    /// Servers to notify when runs end or start to wait.
    pub webhooks: Option<Webhooks>,
    /// Metrics, available at `/metrics` to every client that can reach the server.
    pub metrics: Option<Metrics>,
    /// Streams of the callers' own under `/v1/stream/`. Without it only runs are served as durable streams.
    pub durable_streams: Option<DurableStreams>,
}

/// The interval at which a server recovers the runs of its agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Recovery {
    /// Several times within the lease of its agents, so that a dead process is noticed soon.
    #[default]
    Automatic,
    /// At this interval.
    Every(Duration),
    /// Never. Another process does it, or the application calls [`Server::recover`](crate::Server::recover) itself.
    Off,
}

/// A further path of a dialect's chat route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatPath {
    /// The path.
    pub path: String,
    /// The agent at this path; `None` means the default agent, or the one named in the request.
    pub agent: Option<String>,
}

/// Whether a path can be one of a dialect's further paths.
///
/// # Errors
/// The problem with a path.
pub fn check_path(path: &str) -> Result<(), &'static str> {
    let Some(rest) = path.strip_prefix('/') else { return Err("a path must begin with `/`") };
    let mut segments = rest.trim_end_matches('/').split('/');
    if segments.any(|segment| segment.is_empty() || segment.starts_with([':', '*'])) {
        return Err("the segments of a path must not be empty or begin with `:` or `*`");
    }
    if rest.contains(|it: char| "{}?#%".contains(it) || it.is_whitespace()) {
        return Err("a path must not contain `{`, `}`, `?`, `#`, `%` or white space");
    }
    Ok(())
}

/// Limits on requests.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// The bytes of a body: 1 MiB.
    pub body: usize,
    /// How deeply the JSON of a body may be nested: 64 levels.
    pub depth: usize,
    /// The JSON values of a body: 50,000.
    pub values: usize,
    /// The bytes of bodies of one principal that may be read at once: 32 MiB.
    pub bodies: usize,
    /// The bytes of bodies of all principals that may be read at once: 128 MiB.
    pub bodies_total: usize,
    /// The messages in a request: 1,000.
    pub messages: usize,
    /// The runs of one principal that may be active at once, at all servers of a store together: 10,000.
    pub runs: usize,
    /// The runs of all principals that may be active at this server at once: 10,000. A request for another one gets 503, and
    /// runs of a server that died are left to other servers.
    pub active_runs: usize,
    /// The streams of one principal that may be open at once: 20,000.
    pub streams: usize,
    /// How long a run may be active until it waits or ends: unlimited. A run that exceeds it is stopped, with
    /// or without readers. The time restarts after an answer or a takeover.
    pub run_time: Option<Duration>,
    /// Time limit for receiving a body: 30 s.
    pub body_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 1 << 20,
            depth: 64,
            values: 50_000,
            bodies: 32 << 20,
            bodies_total: 128 << 20,
            messages: 1_000,
            runs: 10_000,
            active_runs: 10_000,
            streams: 20_000,
            run_time: None,
            body_time: Duration::from_secs(30),
        }
    }
}

/// Maps a request to a run's runtime context.
pub(crate) type ContextFunction = dyn Fn(Principal, Parts, Map<String, Value>) -> ContextFuture + Send + Sync;
type ContextFuture = Pin<Box<dyn Future<Output = Result<Value, ApiError>> + Send>>;

impl Default for Options {
    fn default() -> Self {
        Self {
            authenticator: Arc::new(OpenAccess::default()),
            context: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            cors_headers: Vec::new(),
            cors_credentials: false,
            paths: BTreeMap::new(),
            dialects: None,
            limits: Limits::default(),
            heartbeat: Duration::from_secs(15),
            padding: 0,
            replay: Duration::from_secs(5 * 60),
            when_busy: None,
            seam: String::new(),
            hold: false,
            recovery: Recovery::Automatic,
            webhooks: None,
            metrics: None,
            durable_streams: None,
        }
    }
}

impl Options {
    /// Sets how requests are authenticated.
    #[must_use]
    pub fn authenticator(mut self, authenticator: impl Authenticator + 'static) -> Self {
        self.authenticator = Arc::new(authenticator);
        self
    }

    /// Sets the function for `cx.runtime_context()` of runs: the approved context, made from the caller, the
    /// request, and the client's untrusted context. Without it the context is `{"principal": …, "claims":
    /// …}`: the principal's name, and the claims of a token.
    ///
    /// ```
    /// use headwater_server::Options;
    /// use serde_json::json;
    ///
    /// let options = Options::default().context(|principal, _request, client| async move {
    ///     Ok(json!({ "user": principal.id(), "language": client.get("language") }))
    /// });
    /// ```
    #[must_use]
    pub fn context<F, R>(mut self, context: F) -> Self
    where
        F: Fn(Principal, Parts, Map<String, Value>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, ApiError>> + Send + 'static,
    {
        self.context =
            Some(Arc::new(move |principal, parts, client| Box::pin(context(principal, parts, client))));
        self
    }

    /// Serves a dialect at a further path, with the default agent or the one named in the request.
    #[must_use]
    pub fn path(mut self, dialect: impl Into<String>, path: impl Into<String>) -> Self {
        let path = ChatPath { path: path.into(), agent: None };
        self.paths.entry(dialect.into()).or_default().push(path);
        self
    }

    /// Answers a dialect's requests at a further path, with one agent.
    ///
    /// ```
    /// use headwater_server::Options;
    ///
    /// Options::default().path_to("agents", "/api/onboarding", "onboarding");
    /// ```
    #[must_use]
    pub fn path_to(
        mut self,
        dialect: impl Into<String>,
        path: impl Into<String>,
        agent: impl Into<String>,
    ) -> Self {
        let path = ChatPath { path: path.into(), agent: Some(agent.into()) };
        self.paths.entry(dialect.into()).or_default().push(path);
        self
    }

    /// Sets the heartbeat interval of silent streams.
    #[must_use]
    pub fn heartbeat(mut self, heartbeat: Duration) -> Self {
        self.heartbeat = heartbeat;
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the interval for recovering runs that lost their driver or were answered without one.
    #[must_use]
    pub fn recovery(mut self, recovery: Recovery) -> Self {
        self.recovery = recovery;
        self
    }

    /// Serves metrics at `/metrics`.
    #[must_use]
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Serves streams of the callers' own.
    #[must_use]
    pub fn durable_streams(mut self, streams: DurableStreams) -> Self {
        self.durable_streams = Some(streams);
        self
    }

    /// Whether a dialect is served.
    #[must_use]
    pub fn serves(&self, dialect: &dyn Dialect) -> bool {
        let name = dialect.name();
        name == headwater_dialects::NATIVE.name()
            || self.dialects.as_ref().is_none_or(|served| served.iter().any(|served| served == name))
    }

    /// Adds an accepted host of requests; `*` accepts any, and requires keys.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// Allows pages of this origin; `*` is any, and needs keys.
    #[must_use]
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("authenticator", &self.authenticator)
            .field("hosts", &self.hosts)
            .field("origins", &self.origins)
            .field("paths", &self.paths)
            .field("limits", &self.limits)
            .field("heartbeat", &self.heartbeat)
            .finish_non_exhaustive()
    }
}
