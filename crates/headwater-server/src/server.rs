//! State shared by all routes.

use std::sync::{
    Arc, Mutex, OnceLock, PoisonError, Weak,
    atomic::{AtomicBool, Ordering},
};

use axum::http::{StatusCode, request::Parts};
use bytes::Bytes;
use headwater_protocol::RunId;
use headwater_runtime::{Agent, RunIndex};
use headwater_store::Store;
use serde_json::{Map, Value, json};

use crate::{
    Agents, ApiError, Options, Principal,
    background::BackgroundTask,
    follow::{OpenStreams, reader_presence},
    limits::{self, InUse, Permit},
    members::Members,
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
pub struct Server(Arc<ServerState>);

#[derive(Debug)]
struct ServerState {
    agents: Agents,
    options: Options,
    streams: OpenStreams,
    in_use: InUse,
    openapi: OnceLock<OpenApiDocument>,
    recovery_task: BackgroundTask,
    webhook_task: BackgroundTask,
    members: Members,
    is_draining: AtomicBool,
    /// For each store, by its address.
    run_indexes: Mutex<Vec<(usize, Arc<RunIndex>)>>,
}

/// The OpenAPI document as it is sent.
#[derive(Debug)]
pub(crate) struct OpenApiDocument {
    pub(crate) text: Bytes,
    pub(crate) etag: String,
}

/// A server that is not kept alive.
#[derive(Debug)]
pub(crate) struct WeakServer(Weak<ServerState>);

impl WeakServer {
    pub(crate) fn upgrade(&self) -> Option<Server> {
        self.0.upgrade().map(Server)
    }
}

impl Server {
    /// A server of these agents.
    #[must_use]
    pub fn new(agents: Agents, options: Options) -> Self {
        let (streams, in_use, recovery_task, openapi) = Default::default();
        let (members, is_draining, run_indexes, webhook_task) = Default::default();
        Self(Arc::new(ServerState {
            agents,
            options,
            streams,
            in_use,
            recovery_task,
            openapi,
            members,
            is_draining,
            run_indexes,
            webhook_task,
        }))
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

    /// The index of the runs of a store.
    pub(crate) fn run_index(&self, store: usize) -> Arc<RunIndex> {
        let mut indexes = self.0.run_indexes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, index)) = indexes.iter().find(|(known, _)| *known == store) {
            return index.clone();
        }
        let index = Arc::<RunIndex>::default();
        indexes.push((store, index.clone()));
        index
    }

    /// The OpenAPI document, built with the first request for it: it never changes.
    pub(crate) fn openapi(&self, build: impl FnOnce() -> OpenApiDocument) -> &OpenApiDocument {
        self.0.openapi.get_or_init(build)
    }

    /// The task that recovers runs in the background.
    pub(crate) fn recovery_task(&self) -> &BackgroundTask {
        &self.0.recovery_task
    }

    /// The task that delivers webhooks.
    pub(crate) fn webhook_task(&self) -> &BackgroundTask {
        &self.0.webhook_task
    }

    /// The servers that share the stores of this one.
    pub(crate) fn members(&self) -> &Members {
        &self.0.members
    }

    pub(crate) fn streams(&self) -> &OpenStreams {
        &self.0.streams
    }

    /// Ends all streams without an end marker, so that readers reconnect, here or to another server. Call it when the
    /// server shuts down; the runs continue elsewhere, or here after a restart. `/readyz` reports it from now on.
    pub fn let_go(&self) {
        self.0.streams.close();
        if let Some(durable) = &self.0.options.durable_streams {
            durable.let_go();
        }
    }

    /// Starts draining: `/readyz` is 503 from now on, and requests that would start a run or open a stream
    /// get 503 with `Retry-After`, so that they go to another server. Runs active here continue, with their
    /// readers.
    ///
    /// ```no_run
    /// # async fn leave(server: headwater_server::Server) {
    /// use std::time::Duration;
    ///
    /// server.drain();
    /// let _ = tokio::time::timeout(Duration::from_secs(10), server.idle()).await;
    /// server.hand_over().await;
    /// # }
    /// ```
    pub fn drain(&self) {
        self.0.is_draining.store(true, Ordering::Relaxed);
        self.0.agents.all().iter().for_each(Agent::drain);
    }

    /// Waits until no run is active at this server.
    pub async fn idle(&self) {
        // A run of one agent may begin one of another.
        while let Some(agent) = self.0.agents.all().into_iter().find(|agent| agent.driving() > 0) {
            agent.idle().await;
        }
    }

    /// Hands the active runs over to the other servers of the store, and ends all streams as
    /// [`Server::let_go`] does, so that their readers reconnect there. Returns the number of runs handed
    /// over.
    pub async fn hand_over(&self) -> usize {
        self.drain();
        let mut count = 0;
        for agent in self.0.agents.all() {
            count += agent.hand_over().await;
        }
        self.let_go();
        self.0.members.leave(&self.stores()).await;
        count
    }

    /// Whether the server is about to leave.
    pub(crate) fn is_leaving(&self) -> bool {
        self.0.is_draining.load(Ordering::Relaxed) || self.0.streams.is_closing()
    }

    /// Refuses work while draining.
    fn check_not_leaving(&self) -> Result<(), ApiError> {
        if !self.0.is_draining.load(Ordering::Relaxed) {
            return Ok(());
        }
        let message = "the server is about to stop: send the request again, another server answers it";
        Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "server.stopping", message).retry_after(1))
    }

    /// The stores of all agents, each once.
    pub(crate) fn stores(&self) -> Vec<Arc<dyn Store>> {
        let mut stores: Vec<Arc<dyn Store>> = Vec::new();
        for agent in self.0.agents.all() {
            if !stores.iter().any(|store| Arc::ptr_eq(store, agent.store())) {
                stores.push(agent.store().clone());
            }
        }
        stores
    }

    pub(crate) fn downgrade(&self) -> WeakServer {
        WeakServer(Arc::downgrade(&self.0))
    }

    /// Number of readers of a run at this server.
    #[must_use]
    pub fn readers(&self, run: &RunId) -> usize {
        self.0.streams.readers(run)
    }

    /// Number of bytes buffered for shared streams.
    #[must_use]
    pub fn bytes_held(&self) -> usize {
        self.0.streams.bytes_held()
    }

    /// Admits a run of a principal. The store is read only if the principal exceeds this server's share of
    /// its limit.
    pub(crate) async fn may_begin(&self, principal: &Principal) -> Result<Permit, ApiError> {
        self.check_not_leaving()?;
        let ServerState { agents, options, in_use, members, .. } = &*self.0;
        let (permit, is_over_share) = in_use.run(agents, &options.limits, principal, members.count())?;
        if is_over_share && members.count() > 1 {
            limits::check_everywhere(agents, &options.limits, principal, &permit).await?;
        }
        Ok(permit)
    }

    /// Whether a run had readers and has lost them, at this server or another one.
    pub(crate) async fn was_left(&self, agent: &Agent, run: &RunId) -> Result<bool, ApiError> {
        let streams = &self.0.streams;
        if streams.readers(run) > 0 {
            return Ok(false);
        }
        if self.0.members.count() > 1
            && let Some(left) = reader_presence::was_left(agent, run).await?
        {
            return Ok(left);
        }
        Ok(streams.was_left(run))
    }

    /// Whether other servers must know of the readers of an agent's runs.
    pub(crate) fn announces_readers(&self, agent: &Agent) -> bool {
        self.0.members.count() > 1 && agent.when_busy().or(self.0.options.when_busy).is_some()
    }

    /// Runtime context: from `Options::context`, else the principal and its claims.
    pub(crate) async fn runtime_context(
        &self,
        principal: &Principal,
        parts: Parts,
        client: impl FnOnce() -> Map<String, Value>,
    ) -> Result<Value, ApiError> {
        match &self.0.options.context {
            // Parsed or copied only if a context function uses it.
            Some(context) => context(principal.clone(), parts, client()).await,
            None => {
                let mut context = json!({ "principal": principal.id(), "claims": principal.claims() });
                if let (Some(operator), Some(context)) =
                    (principal.acting_operator(), context.as_object_mut())
                {
                    context.insert("operator".to_owned(), operator.into());
                }
                Ok(context)
            }
        }
    }

    /// Admits a body of a principal.
    pub(crate) fn may_hold(&self, principal: &Principal, bytes: usize) -> Result<Permit, ApiError> {
        self.0.in_use.body(&self.0.options.limits, principal, bytes)
    }

    /// Admits a stream of a principal.
    pub(crate) fn may_read(&self, principal: &Principal) -> Result<Permit, ApiError> {
        self.check_not_leaving()?;
        self.0.in_use.stream(&self.0.options.limits, principal)
    }

    pub(crate) fn watch_time(&self) {
        self.0.in_use.watch_time(&self.0.agents, &self.0.options.limits);
    }
}
