//! Every route of a server: those of the dialects, the native HTTP API in one table, and the configured paths.
//!
//! A native route is a line here and a handler. The handler's signature describes the request and the response
//! ([`crate::operation`]), so `GET /openapi.json` needs nothing else; the line adds the name, the summary and the error
//! codes.

use axum::{
    extract::{Request, State},
    http::HeaderMap,
};
use headwater_dialects::{Dialect, ErrorReply, Operations, Route as DialectRoute, RouteBase};

use crate::{
    ApiError, ChatPath, Server, agent_list, chat, health, model_list,
    openapi::{self, DocumentResponse, dialects::operations},
    operation::{ApiHandler, Operation, codes},
    options::check_path,
    routes::Routes,
    runs, sessions,
};

/// A line of the table.
fn route<T, H: ApiHandler<T>>(
    id: &'static str,
    summary: &'static str,
    handler: H,
    codes: &'static [&'static str],
) -> (Operation, H) {
    (Operation { id, summary, codes, open: false, own_errors: false, describe: H::describe }, handler)
}

/// Adds all native routes.
#[rustfmt::skip]
fn native_routes(routes: Routes) -> Routes {
    const SESSION: &str = "/v1/sessions/{session}";
    const QUEUED: &str = "/v1/sessions/{session}/queue/{run}";
    const CHECKPOINT: &str = "/v1/sessions/{session}/checkpoints/{checkpoint}";
    let session = |action: &str| format!("{SESSION}/{action}");
    let queued = |action: &str| format!("{QUEUED}/{action}");
    let checkpoint = |action: &str| format!("{CHECKPOINT}/{action}");
    routes
        .get("/v1/agents", route("listAgents", "List the agents that you can talk to.", agent_list::agents, &[]))
        .get("/v1/models", route("listModels", "List the models of the agents, and how their calls went.", model_list::models, &[]))
        .get("/v1/runs", route("listRuns", "List your runs, newest first.", runs::list, &["page.invalid", "agent.unknown"]))
        .post("/v1/runs", route("startRun", "Start a run.", runs::start, codes::START))
        .get("/v1/runs/{run}", route("getRun", "Get a run and its open questions.", runs::inspect, &["run.unknown"]))
        .get("/v1/runs/{run}/events", route("followRun", "Follow a run, live or long after, in any dialect.", runs::events, codes::FOLLOW))
        .post("/v1/runs/{run}/stop", route("stopRun", "Stop a run.", runs::stop, &["run.unknown", "run.busy", "workflow.version"]))
        .post("/v1/runs/{run}/answer", route("answerRun", "Answer a question of a run.", runs::answer, codes::ANSWER))
        .get("/v1/interrupts", route("listInterrupts", "List the open questions of your runs.", runs::interrupts, &["page.invalid"]))
        .post("/v1/interrupts/{request}", route("answerInterrupt", "Answer a question by its id.", runs::answer_request, codes::ANSWER))
        .get("/v1/sessions", route("listSessions", "List your sessions, newest first.", sessions::list, &["agent.unknown", "page.invalid"]))
        .post("/v1/sessions", route("createSession", "Create a session, or import one.", sessions::create, codes::CREATE))
        .get(SESSION, route("getSession", "Get a session.", sessions::inspect, codes::SESSION))
        .patch(SESSION, route("changeSession", "Give a session another label, or archive it.", sessions::change, codes::CHANGE))
        .delete(SESSION, route("deleteSession", "Delete a session and all that belongs to it.", sessions::delete, &["session.unknown"]))
        .get(&session("events"), route("watchSession", "Watch a session: it is sent at once, and again after each change.", sessions::events::events, codes::WATCH))
        .get(&session("messages"), route("listMessages", "List the messages of a session.", sessions::messages, codes::MESSAGES))
        .post(&session("messages"), route("sendMessage", "Send a message to a session.", sessions::send, codes::TURN))
        .post(&session("stop"), route("stopSession", "Stop the active run of a session.", sessions::stop, codes::SESSION))
        .post(&session("undo"), route("undoTurn", "Undo the last turn.", sessions::undo, codes::CHECKPOINT))
        .get(&session("export"), route("exportSession", "Export a session as a document.", sessions::export, &["session.unknown", "session.too-large"]))
        .get(&session("queue"), route("listQueue", "List the queued messages.", sessions::queue::list, codes::SESSION))
        .delete(QUEUED, route("removeQueued", "Remove a queued message.", sessions::queue::remove, codes::QUEUE))
        .post(&queued("edit"), route("editQueued", "Edit a queued message.", sessions::queue::edit, codes::QUEUE))
        .post(&queued("send"), route("sendQueued", "Stop the active run and send a queued message now.", sessions::queue::send_now, codes::QUEUE))
        .get(&session("checkpoints"), route("listCheckpoints", "List the checkpoints of a session, newest first.", sessions::checkpoints, codes::SESSION))
        .get(CHECKPOINT, route("getCheckpoint", "Get a checkpoint, and the session as it was there.", sessions::checkpoint, codes::CHECKPOINT))
        .post(&checkpoint("rollback"), route("rollBack", "Roll a session back to a checkpoint.", sessions::roll_back, codes::CHECKPOINT))
        .post(&checkpoint("fork"), route("forkSession", "Fork a session at a checkpoint.", sessions::fork, codes::FORK))
        .post(&checkpoint("regenerate"), route("regenerateTurn", "Run a turn again.", sessions::regenerate, codes::TURN))
        .post(&checkpoint("edit"), route("editTurn", "Run a turn again with another text.", sessions::edit, codes::TURN))
        .get(&checkpoint("variants"), route("listVariants", "List the variants of a turn.", sessions::variants, codes::CHECKPOINT))
        .post(&checkpoint("select"), route("selectVariant", "Continue with another variant of a turn.", sessions::select, codes::CHECKPOINT))
        .open("/healthz", route("health", "Check that the process is alive and its store accepts writes.", health::alive, &["store.stopped"]))
        .open("/readyz", route("readiness", "Check that the server can serve.", health::ready, codes::READY))
        .open("/metrics", route("metrics", "Get the metrics for Prometheus.", health::metrics, &["metrics.off"]))
        .open("/openapi.json", route("openapi", "Get this document.", openapi_document, &[]))
}

/// All routes of a server.
pub(crate) fn routes(server: &Server) -> Routes {
    let mut routes = Routes::new();
    for route in dialect_routes() {
        let ask =
            move |state, principal, path, request| chat::by_route(route, state, principal, path, request);
        let path = format!("/v1/{{dialect}}/{}", route.path);
        routes = routes.dialect(&path, operations(route.operations, false), ask);
        if let RouteBase::DialectAndAgent(below_agent) = route.base {
            let path = format!("/v1/{{dialect}}/{{agent}}/{}", route.path);
            routes = routes.dialect(&path, operations(below_agent, false), ask);
        }
    }
    for &dialect in headwater_dialects::CHAT {
        let own = dialect.routes().iter().filter(|route| route.base == RouteBase::Version);
        for route in own {
            let ask =
                move |state, principal, request: Request| chat::ask(state, principal, dialect, None, request);
            let operations = operations(route.operations, has_own_errors(dialect));
            routes = routes.dialect(&route.url(dialect.name()), operations, ask);
        }
    }
    routes = native_routes(routes);
    for (name, paths) in &server.options().paths {
        let Some(dialect) = headwater_dialects::CHAT.iter().copied().find(|dialect| dialect.name() == name)
        else {
            tracing::error!("unknown dialect `{name}`: its paths are not served");
            continue;
        };
        routes = paths.iter().fold(routes, |routes, path| configured_path(routes, dialect, path));
    }
    routes
}

/// Adds a configured path of a dialect's chat route.
fn configured_path(
    routes: Routes,
    dialect: &'static dyn Dialect,
    ChatPath { path, agent }: &ChatPath,
) -> Routes {
    let path = path.trim_end_matches('/');
    let free = if routes.has_path(path) { Err("it is served already") } else { Ok(()) };
    if let Err(fault) = check_path(path).and(free) {
        tracing::error!("path `{path}` of dialect `{}` is not served: {fault}", dialect.name());
        return routes;
    }
    let agent = agent.clone();
    let ask = move |state, principal, request: Request| {
        let agent = agent.clone();
        async move { chat::ask(state, principal, dialect, agent.as_deref(), request).await }
    };
    let [own, below] = [0, 1].map(|at| dialect.routes().get(at).unwrap_or(&DialectRoute::CHAT).operations);
    // Operations of its other routes are served below this path too.
    let below = dialect.routes().iter().fold(below, |below, route| Operations {
        change: below.change.or(route.operations.change),
        remove: below.remove.or(route.operations.remove),
        ..below
    });
    let errors = has_own_errors(dialect);
    routes.dialect(path, operations(own, errors), ask.clone()).dialect(
        &format!("{path}/{{*rest}}"),
        operations(below, errors),
        ask,
    )
}

/// Whether a dialect has its own error format.
fn has_own_errors(dialect: &dyn Dialect) -> bool {
    dialect.error_document(&ErrorReply { status: 404, code: "", message: "", known: &[] }).is_some()
}

/// The routes below `/v1/{dialect}` of all dialects, each once.
fn dialect_routes() -> Vec<DialectRoute> {
    let mut routes: Vec<DialectRoute> = Vec::new();
    for route in headwater_dialects::CHAT.iter().flat_map(|dialect| dialect.routes()) {
        if !routes.contains(route) && route.base != RouteBase::Version {
            routes.push(*route);
        }
    }
    routes
}

/// `GET /openapi.json`.
async fn openapi_document(
    State(server): State<Server>,
    headers: HeaderMap,
) -> Result<DocumentResponse, ApiError> {
    Ok(openapi::document(&server, &headers, || routes(&server).into_list()))
}
