//! The client of one server.

use std::sync::Arc;

use headwater_protocol::RunStatus;
use serde_json::{Value, json};

use crate::{
    Options, Result,
    documents::{AgentPage, InterruptPage, ModelPage, RunPage, SessionPage, SessionSummary},
    http::{Http, Request, query},
    platform,
};

/// A Headwater server, for one caller. Clones share its connections.
///
/// ```no_run
/// use headwater_client::{Client, Update};
///
/// # async fn example() -> headwater_client::Result<()> {
/// let client = Client::new("http://127.0.0.1:8787").key("secret");
/// let mut stream = client.send("Hello").session("s1").await?.follow();
/// while let Some(update) = stream.next().await? {
///     if let Update::Event(event) = update {
///         println!("{:?}", event.record.event);
///     }
/// }
/// println!("{}", stream.text());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) http: Http,
}

impl Client {
    /// A client of the server at this URL: `https://example.com`, with a path if the server is mounted at one.
    #[must_use]
    pub fn new(url: impl AsRef<str>) -> Self {
        Self { http: Http::new(url.as_ref()) }
    }

    /// Sets the key or token of the caller, sent with every request as `Authorization: Bearer`.
    #[must_use]
    pub fn key(mut self, key: impl AsRef<str>) -> Self {
        self.http.set_key(key.as_ref());
        self
    }

    /// Adds a header to every request.
    #[must_use]
    pub fn header(mut self, name: impl AsRef<str>, value: impl AsRef<str>) -> Self {
        self.http.set_header(name.as_ref(), value.as_ref());
        self
    }

    /// Sets time limits and sizes.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.http.options = Arc::new(options);
        self
    }

    /// Sets the HTTP client, for example with a proxy or custom certificates.
    #[must_use]
    pub fn http_client(mut self, client: reqwest::Client) -> Self {
        self.http.set_client(client);
        self
    }

    /// The URL of the server.
    #[must_use]
    pub fn url(&self) -> &str {
        self.http.base()
    }

    /// Creates a session with an id chosen by the server, optionally with a specific agent.
    ///
    /// # Errors
    /// If the server refuses or cannot be reached.
    pub async fn create_session(&self, agent: Option<&str>) -> Result<SessionSummary> {
        let body = agent.map_or_else(|| json!({}), |agent| json!({ "agent": agent }));
        self.http.json(&Request::post("/v1/sessions", &body)).await
    }

    /// Creates a session from the document of [`SessionHandle::export`](crate::SessionHandle::export).
    ///
    /// # Errors
    /// If the server refuses the document.
    pub async fn import_session(&self, document: &Value) -> Result<SessionSummary> {
        self.http.json(&Request::post("/v1/sessions", &json!({ "import": document }))).await
    }

    /// A page of runs, newest first.
    ///
    /// ```no_run
    /// use headwater_client::{Client, RunFilter};
    /// use headwater_protocol::RunStatus;
    ///
    /// # async fn example(client: Client) -> headwater_client::Result<()> {
    /// let filter = RunFilter { status: Some(RunStatus::Failed), limit: Some(20), ..RunFilter::default() };
    /// for run in client.runs(&filter).await?.runs {
    ///     println!("{} {:?}", run.id, run.error);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the server refuses or cannot be reached.
    pub async fn runs(&self, filter: &RunFilter) -> Result<RunPage> {
        self.http.json(&Request::get(format!("/v1/runs{}", filter.query()))).await
    }

    /// A page of sessions, newest first.
    ///
    /// # Errors
    /// If the server refuses or cannot be reached.
    pub async fn sessions(&self, filter: &SessionFilter) -> Result<SessionPage> {
        self.http.json(&Request::get(format!("/v1/sessions{}", filter.query()))).await
    }

    /// A page of everything that waits for the caller, in all runs. `after` is the `next` of the page before.
    ///
    /// # Errors
    /// If the server refuses or cannot be reached.
    pub async fn interrupts(&self, after: Option<&str>) -> Result<InterruptPage> {
        let query = query([("after", after.map(str::to_owned))]);
        self.http.json(&Request::get(format!("/v1/interrupts{query}"))).await
    }

    /// The agents that the caller can send messages to.
    ///
    /// # Errors
    /// If the server refuses or cannot be reached.
    pub async fn agents(&self) -> Result<AgentPage> {
        self.http.json(&Request::get("/v1/agents")).await
    }

    /// The models of the agents: whether their keys are configured, and how their calls went.
    ///
    /// # Errors
    /// If the server refuses or cannot be reached.
    pub async fn models(&self) -> Result<ModelPage> {
        self.http.json(&Request::get("/v1/models")).await
    }
}

/// Filter for a list of runs.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    /// Those with this status.
    pub status: Option<RunStatus>,
    /// Those of this agent.
    pub agent: Option<String>,
    /// Those of this session.
    pub session: Option<String>,
    /// Those that were started at this time or later, in ISO 8601.
    pub since: Option<String>,
    /// Only runs whose listed input has this text.
    pub q: Option<String>,
    /// The `next` of the page before.
    pub after: Option<String>,
    /// Maximum number of runs: 50, at most 500.
    pub limit: Option<usize>,
}

impl RunFilter {
    fn query(&self) -> String {
        query([
            ("status", self.status.map(|status| status.as_str().to_owned())),
            ("agent", self.agent.clone()),
            ("session", self.session.clone()),
            ("since", self.since.clone()),
            ("q", self.q.clone()),
            ("after", self.after.clone()),
            ("limit", self.limit.map(|limit| limit.to_string())),
        ])
    }
}

/// Filter for a list of sessions.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    /// Those of this agent; otherwise of the default agent.
    pub agent: Option<String>,
    /// Whether archived sessions are listed too.
    pub archived: bool,
    /// The `next` of the page before.
    pub after: Option<String>,
    /// Maximum number of sessions: 50, at most 500.
    pub limit: Option<usize>,
}

impl SessionFilter {
    fn query(&self) -> String {
        query([
            ("agent", self.agent.clone()),
            ("archived", self.archived.then(|| "true".to_owned())),
            ("after", self.after.clone()),
            ("limit", self.limit.map(|limit| limit.to_string())),
        ])
    }
}

pub(crate) fn new_key() -> String {
    format!("{:016x}{:016x}", platform::random(), platform::random())
}
