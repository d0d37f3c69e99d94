//! What all routes share.

use std::sync::{Arc, OnceLock};

use axum::{Router, http::request::Parts};
use serde_json::{Map, Value};

use crate::{
    Agents, ApiError, Options, Principal,
    follow::Streams,
    limits::{InUse, Permit},
    openapi::Document,
    router,
};

/// A server: agents and how their requests are treated. Cheap to clone; all clones are one.
///
/// ```no_run
/// # async fn serve(agents: headwater_server::Agents) -> std::io::Result<()> {
/// use headwater_server::{Options, Server};
///
/// let server = Server::new(agents, Options::default());
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8787").await?;
/// // As a make service the router is not copied for each connection.
/// axum::serve(listener, server.application(axum::Router::new()).into_make_service()).await
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Server(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    agents: Agents,
    options: Options,
    streams: Streams,
    in_use: InUse,
    document: OnceLock<Document>,
}

impl Server {
    /// A server of these agents.
    #[must_use]
    pub fn new(agents: Agents, options: Options) -> Self {
        let (streams, in_use) = (Streams::default(), InUse::default());
        Self(Arc::new(Inner { agents, options, streams, in_use, document: OnceLock::new() }))
    }

    /// The routes, to be merged into an application: it answers for every other path itself.
    ///
    /// ```no_run
    /// # fn routes(server: headwater_server::Server) -> axum::Router {
    /// use axum::{Router, routing::get};
    ///
    /// Router::new().route("/about", get(|| async { "mine" })).merge(server.router()).fallback(|| async { "my own 404" })
    /// # }
    /// ```
    pub fn router(&self) -> Router {
        router::routes(self).into_router(self)
    }

    /// The routes as an application of their own, with `more` beside them: other paths get 404 `route.unknown`. What `more` has
    /// needs no key, and is behind the same guard as the rest.
    pub fn application(&self, more: Router) -> Router {
        router::routes(self).into_application(self, more)
    }

    /// The routes by method and path, in the order in which they are added.
    ///
    /// ```
    /// use headwater_server::{Agents, Options, Server};
    ///
    /// let server = Server::new(Agents::new(), Options::default());
    /// assert!(server.routes().contains(&("POST", "/v1/runs".to_owned())));
    /// ```
    #[must_use]
    pub fn routes(&self) -> Vec<(&'static str, String)> {
        router::routes(self).into_list()
    }

    /// The agents.
    #[must_use]
    pub fn agents(&self) -> &Agents {
        &self.0.agents
    }

    /// How requests are treated.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// The OpenAPI document, which never changes.
    pub(crate) fn document(&self, build: impl FnOnce() -> Document) -> &Document {
        self.0.document.get_or_init(build)
    }

    pub(crate) fn streams(&self) -> &Streams {
        &self.0.streams
    }

    /// Ends all streams without an end, so that their readers come back, here or at another server. To be called
    /// when the server shuts down; the runs go on elsewhere, or here after a restart. `/readyz` says so from now on.
    pub fn let_go(&self) {
        self.0.streams.close();
    }

    /// How many bytes are kept for those who read the same run in the same way, however slow they are.
    #[must_use]
    pub fn bytes_held(&self) -> usize {
        self.0.streams.bytes_held()
    }

    /// Lets a principal begin a run.
    pub(crate) fn may_begin(&self, principal: &Principal) -> Result<Permit, ApiError> {
        self.0.in_use.run(&self.0.agents, &self.0.options.limits, principal)
    }

    /// What the route approves of, where the request has no dialect.
    pub(crate) async fn runtime_context(
        &self,
        principal: &Principal,
        parts: Parts,
        client: Map<String, Value>,
    ) -> Result<Value, ApiError> {
        match &self.0.options.context {
            Some(context) => context(principal.clone(), parts, client).await,
            None => Ok(Value::Null),
        }
    }

    /// Lets a principal open a stream.
    pub(crate) fn may_read(&self, principal: &Principal) -> Result<Permit, ApiError> {
        self.0.in_use.stream(&self.0.options.limits, principal)
    }

    pub(crate) fn watch_time(&self) {
        self.0.in_use.watch_time(&self.0.agents, &self.0.options.limits);
    }
}
