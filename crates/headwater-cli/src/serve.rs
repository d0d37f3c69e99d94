//! The server process: opens the store, loads the agents, recovers the runs of dead processes, serves, and
//! shuts down.

mod agents;
mod browser;
mod descriptors;
mod greeting;
pub(crate) mod listen;
pub(crate) mod logs;
mod process;
pub(crate) mod store;
mod studio;
#[cfg(test)]
mod tests;
mod tokens;
mod webhooks;

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use headwater_models::Models;
use headwater_runtime::{Agent, AgentOptions, FileVisibility};
use headwater_server::{
    Agents, ApiKeys, AuthenticatorChain, ClientPolicy, Connections, DurableStreams, Limits, Metrics,
    OpenAccess, Options, Server, StreamOptions, Visibility,
};
use headwater_store::{Memory, Store};
use tokio::{net::TcpListener, sync::watch, task::JoinSet};

use crate::{
    config::{OnFailure, ServerSettings, StoreUrl},
    demo,
    failure::CommandFailure,
    proxy::ProxySettings,
};
use agents::{AgentFileChange, AgentFiles, LoadedAgent};

/// How long the store may take to hand over the runs that did not end in time.
const HANDING_OVER: Duration = Duration::from_secs(5);

/// How long clients have to read the remaining bytes once the server has stopped.
const CLOSING: Duration = Duration::from_secs(2);

/// Whether the page is opened in the browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StudioPage {
    Open,
    Closed,
}

/// How often `watch` checks files for changes.
const LOOK: Duration = Duration::from_millis(500);

/// Serves until a signal or a stopped store ends it: the proxy, or else the agents of files, or else the program's.
pub(crate) async fn serve(
    settings: &ServerSettings,
    models: Models,
    program: &crate::ProgramAgents,
    proxy: Option<&ProxySettings>,
    page: StudioPage,
) -> Result<(), CommandFailure> {
    let mut options = server_options(settings).await?;
    if let Some(proxy) = proxy {
        options = proxy.server_options(options);
    }
    let (listener, address) = listen::listen(settings).await?;
    descriptors::raise();
    let opened = store::open(settings).await?;
    let store = opened.store();
    if settings.durable_streams.enabled {
        options = options.durable_streams(durable_streams(settings, store.clone()));
    }
    let noted = store::ServerProcess::note(settings, address.to_string());
    let (server, files) = build(settings, options, models, program, proxy, &store)?;
    let is_demo = proxy.is_none() && files.is_none() && program.names().next().is_none();
    let default = server.agents().default_name().unwrap_or_default();

    let mut signals = StopSignals::watch()?;
    // Recover runs of dead processes before any client asks for them.
    server.recover().await;
    greeting::print(settings, address, &server, &default)?;
    if page == StudioPage::Open {
        browser::open(address);
    }

    let (stopping, stopped) = watch::channel(false);
    let mut tasks = JoinSet::new();
    if let (Some(files), true) = (files, settings.watch) {
        tasks.spawn(keep_reading(files, server.clone(), stopped.clone()));
    }
    let mut pages = studio::routes();
    if !listen::has_keys(settings) {
        let survives = !matches!(settings.store, StoreUrl::Memory(_));
        pages = pages.merge(process::routes(settings, address, is_demo && survives));
    }
    let routes = server.application(pages);
    let (going, mut gone) = (server.clone(), stopped);
    let mut connections = Connections::default().idle(settings.limits.idle).stall(settings.limits.stall);
    if let Some(most) = settings.limits.connections {
        connections = connections.most(most);
    }
    let serving = connections.serve(listener, routes, async move {
        // An error means that no sender is left to signal the stop, so stop.
        let _ = gone.wait_for(|stopped| *stopped).await;
        going.let_go();
    });
    let mut serving = std::pin::pin!(serving);
    let mut failure = None;
    tokio::select! {
        () = &mut serving => {}
        cause = store.stopped(), if settings.store_on_failure == OnFailure::Exit => {
            tracing::error!(code = cause.code(), %cause, "the store has stopped: exiting so that a supervisor restarts the server");
            failure = Some(CommandFailure::temporary(format!(
                "the store has stopped: {cause}; its runs continue when the server is restarted"
            )));
        }
        () = opened.keep_recovering(), if settings.store_on_failure == OnFailure::Recover => {}
        name = signals.next() => {
            tracing::info!(signal = name?, "stopping: no new runs are accepted, active runs may end");
            server.drain();
            // Requests are still answered meanwhile: load balancers see that this server is not ready, and
            // readers of runs that end in time notice nothing.
            tokio::select! {
                () = server.idle() => {}
                () = &mut serving => {}
                () = tokio::time::sleep(settings.shutdown) => {}
                name = signals.next() => {
                    tracing::warn!(signal = name?, "second stop signal: stopping at once");
                }
            }
            match tokio::time::timeout(HANDING_OVER, server.hand_over()).await {
                Ok(0) => {}
                Ok(runs) => {
                    tracing::warn!(runs, "runs did not end in time: other servers take them over, or this one after a restart");
                }
                Err(_) => {
                    server.let_go();
                    tracing::warn!("the store does not respond: active runs are taken over when their leases expire");
                }
            }
            stopping.send_replace(true);
            // Let readers receive the bytes already written for them.
            if tokio::time::timeout(CLOSING, serving).await.is_err() {
                tracing::debug!("connections were closed before their clients had read everything");
            }
        }
    }
    stopping.send_replace(true);
    tasks.shutdown().await;
    server.agents().all().iter().for_each(Agent::abandon);
    if let Some(failure) = failure {
        drop(noted);
        return Err(failure);
    }
    // Make everything that clients have seen durable, whatever the fsync policy.
    let flushed = store.flush().await;
    drop(noted);
    flushed.map_err(|error| CommandFailure::temporary(format!("cannot flush the store: {error}")))
}

/// The server with its agents, and the files that they came from.
fn build(
    settings: &ServerSettings,
    options: Options,
    models: Models,
    program: &crate::ProgramAgents,
    proxy: Option<&ProxySettings>,
    store: &Arc<dyn Store>,
) -> Result<(Server, Option<AgentFiles>), CommandFailure> {
    let ServedAgents { agents, files, default } = agents(settings, models, program, proxy, store)?;
    let is_demo = proxy.is_none() && files.is_none() && program.names().next().is_none();
    let served = Agents::new();
    for (name, agent, visibility) in agents {
        served.set(name, agent, visibility);
    }
    if let Some(default) = &default {
        served.set_default(default);
    }
    for loaded in files.iter().flat_map(AgentFiles::loaded) {
        served.set_client_policy(loaded.file.name(), client_policy(loaded));
    }
    if is_demo {
        // Clients of the demo agents may use every feature.
        for name in served.names() {
            served.set_client_policy(&name, ClientPolicy::open());
        }
    }
    Ok((Server::new(served, options), files))
}

/// Serves without a word on a loopback port that the system picks, for this process alone: with a store in memory, and
/// the only key is the caller's. Gives the address; the server ends with the runtime.
pub(crate) async fn in_process(
    settings: &ServerSettings,
    program: &crate::ProgramAgents,
    key: &str,
) -> Result<SocketAddr, CommandFailure> {
    let mut options = server_options(settings).await?;
    options = options.authenticator(ApiKeys::new().add(IN_PROCESS, key));
    let store: Arc<dyn Store> = Arc::new(Memory::default());
    let (server, _) = build(settings, options, Models::new(), program, None, &store)?;
    let failed = |error| CommandFailure::new(format!("cannot listen on 127.0.0.1: {error}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let routes = server.application(axum::Router::new());
    tokio::spawn(Connections::default().serve(listener, routes, std::future::pending()));
    Ok(address)
}

/// The principal of a server within another command.
const IN_PROCESS: &str = "chat";

/// The agents to serve.
pub(crate) struct ServedAgents {
    pub(crate) agents: Vec<Named>,
    files: Option<AgentFiles>,
    /// The agent for requests that name no agent, if it is not the first.
    default: Option<String>,
}

/// The agents of the given files, else those of the program, else the demo agents.
pub(crate) fn agents(
    settings: &ServerSettings,
    models: Models,
    program: &crate::ProgramAgents,
    proxy: Option<&ProxySettings>,
    store: &Arc<dyn Store>,
) -> Result<ServedAgents, CommandFailure> {
    let mut options = AgentOptions::default();
    options.lease = settings.lease;
    if settings.store.is_shared() {
        options.version_wait = settings.version_wait;
    }
    options.prices = settings.prices.clone();
    options.notices = !settings.webhooks.is_empty();
    let mut default = None;
    let (agents, files): (Vec<Named>, _) = if let Some(proxy) = proxy {
        (vec![proxy.agent(store, options, listen::has_keys(settings))?], None)
    } else if !settings.agents.is_empty() {
        let files = AgentFiles::load(&settings.agents, store, models, options)?;
        let named =
            |loaded: &LoadedAgent| (loaded.file.name().to_owned(), loaded.agent.clone(), visibility(loaded));
        (files.loaded().iter().map(named).collect(), Some(files))
    } else if program.names().next().is_some() {
        let made = |name: &str| {
            Some(
                program
                    .make(name, store.clone())?
                    .map(|agent| (name.to_owned(), agent, Visibility::default())),
            )
        };
        (program.names().filter_map(made).collect::<Result<_, _>>()?, None)
    } else {
        let demo = demo::agents(store, &options, settings.demo_pace)
            .map_err(|error| CommandFailure::new(format!("cannot build the demo agents: {error}")))?;
        default = Some(demo::DEFAULT.to_owned());
        // The demo hides nothing from its user.
        let visibility = Visibility { errors: true, state: true, ..Visibility::default() };
        (demo.into_iter().map(|(name, agent)| (name, agent, visibility)).collect(), None)
    };
    if let Some(wanted) = &settings.default_agent {
        if !agents.iter().any(|(name, ..)| name == wanted) {
            let known: Vec<_> = agents.iter().map(|(name, ..)| name.as_str()).collect();
            let known = known.join(", ");
            return Err(CommandFailure::new(format!(
                "`default_agent`: unknown agent `{wanted}`: known agents: {known}"
            )));
        }
        default = Some(wanted.clone());
    }
    Ok(ServedAgents { agents, files, default })
}

/// An agent, its name, and its visibility to readers.
pub(crate) type Named = (String, Agent, Visibility);

fn visibility(loaded: &LoadedAgent) -> Visibility {
    let FileVisibility { reasoning, tool_inputs, tool_outputs, errors, input_previews, state, .. } =
        loaded.file.visibility();
    Visibility { reasoning, tool_inputs, tool_outputs, errors, input_previews, state }
}

fn client_policy(loaded: &LoadedAgent) -> ClientPolicy {
    let client = loaded.file.client();
    ClientPolicy {
        system: client.system,
        seed: client.seed,
        workflows: client.workflows.clone(),
        data: client.data,
    }
}

/// The streams of callers' own.
fn durable_streams(settings: &ServerSettings, store: Arc<dyn Store>) -> DurableStreams {
    let mut options = StreamOptions::default();
    options.webhooks = settings.durable_streams.webhooks;
    options.long_poll = settings.durable_streams.long_poll;
    options.heartbeat = settings.heartbeat;
    DurableStreams::new(store, options)
}

pub(crate) async fn server_options(settings: &ServerSettings) -> Result<Options, CommandFailure> {
    let mut limits = Limits::default();
    limits.body = settings.limits.body;
    limits.depth = settings.limits.depth;
    limits.values = settings.limits.values;
    limits.bodies = settings.limits.bodies;
    limits.bodies_total = settings.limits.bodies_total;
    limits.messages = settings.limits.messages;
    limits.runs = settings.limits.runs;
    limits.active_runs = settings.limits.active_runs;
    limits.streams = settings.limits.streams;
    limits.run_time = settings.limits.run_time;
    limits.body_time = settings.limits.body_time;
    let mut options = Options::default().heartbeat(settings.heartbeat);
    options.limits = limits;
    options.padding = settings.padding;
    options.replay = settings.replay;
    options.when_busy = settings.when_busy;
    options.seam.clone_from(&settings.seam);
    options.hold = settings.hold;
    options.cors_headers.clone_from(&settings.cors_headers);
    options.cors_credentials = settings.cors_credentials;
    for origin in &settings.cors {
        options = options.origin(origin);
    }
    for (dialect, path) in &settings.paths {
        options.paths.entry(dialect.name().to_owned()).or_default().push(path.clone());
    }
    options.hosts.clone_from(&settings.hosts);
    if settings.metrics {
        options.metrics = Metrics::install();
    }
    options.webhooks = webhooks::of(settings)?;
    let mut either = AuthenticatorChain::new();
    if !settings.api_keys.is_empty() {
        let keys = settings.api_keys.iter();
        either = either.or(keys.fold(ApiKeys::new(), |keys, (name, key)| {
            match settings.operators.contains(name) {
                true => keys.add_operator(name.as_str(), &key.0),
                false => keys.add(name.as_str(), &key.0),
            }
        }));
    }
    if let Some(jwt) = &settings.jwt {
        for tokens in tokens::checkers(jwt).await? {
            either = either.or(tokens);
        }
    }
    let local_operates = settings.operators.iter().any(|name| name == OpenAccess::PRINCIPAL);
    Ok(match listen::has_keys(settings) {
        true => options.authenticator(either),
        false if local_operates => options.authenticator(OpenAccess::operator()),
        false => options,
    })
}

/// Reloads agent files when they change.
async fn keep_reading(mut files: AgentFiles, server: Server, mut stopped: watch::Receiver<bool>) {
    let mut ticks = tokio::time::interval(LOOK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = stopped.changed() => return,
        }
        let looked = tokio::task::spawn_blocking(move || {
            let changes = files.changes();
            (files, changes)
        });
        let changes = match looked.await {
            Ok((back, changes)) => {
                files = back;
                changes
            }
            Err(error) => {
                tracing::error!(%error, "agent files are no longer watched");
                return;
            }
        };
        for change in changes {
            match change {
                // Apply the change before it is logged, so that the log line is true.
                AgentFileChange::Loaded(loaded) => {
                    let (name, file) = (loaded.file.name(), loaded.path.display());
                    server.agents().set_client_policy(name, client_policy(&loaded));
                    server.agents().set(name, loaded.agent.clone(), visibility(&loaded));
                    tracing::info!(agent = name, %file, "agent reloaded: new runs use it, waiting runs keep their version");
                }
                AgentFileChange::Removed(name) => {
                    server.agents().retire(&name);
                    tracing::info!(
                        agent = name,
                        "agent file deleted: it accepts no new turns and finishes its active runs"
                    );
                }
                AgentFileChange::Broken(why) => {
                    tracing::error!("cannot reload the agent, the old version stays:\n{why}");
                }
            }
        }
    }
}

/// The signals that stop the process. They are caught from the moment this exists; create it before the
/// greeting, because a supervisor may send a signal as soon as it has read the greeting.
#[cfg(unix)]
struct StopSignals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl StopSignals {
    fn watch() -> Result<Self, CommandFailure> {
        use tokio::signal::unix::{SignalKind, signal};
        let failed = |error| CommandFailure::new(format!("cannot wait for signals: {error}"));
        let terminate = signal(SignalKind::terminate()).map_err(failed)?;
        Ok(Self { terminate, interrupt: signal(SignalKind::interrupt()).map_err(failed)? })
    }

    /// Waits for the next signal and returns its name.
    async fn next(&mut self) -> Result<&'static str, CommandFailure> {
        Ok(tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        })
    }
}

#[cfg(not(unix))]
struct StopSignals;

#[cfg(not(unix))]
impl StopSignals {
    #[expect(clippy::unnecessary_wraps, reason = "signals can fail elsewhere")]
    fn watch() -> Result<Self, CommandFailure> {
        Ok(Self)
    }

    async fn next(&mut self) -> Result<&'static str, CommandFailure> {
        let pressed = tokio::signal::ctrl_c().await;
        pressed.map_err(|error| CommandFailure::new(format!("cannot wait for signals: {error}")))?;
        Ok("Ctrl-C")
    }
}
