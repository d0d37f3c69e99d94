//! The native HTTP API: every route in one table.
//!
//! A route is a line here and a handler. The handler's signature says what the route takes and gives ([`describe`]), so
//! `GET /openapi.json` needs nothing else; the line adds the name, the summary and the codes of its errors.

pub(crate) mod codes;
pub(crate) mod describe;
pub(crate) mod query;
mod time;

pub(crate) use time::Timestamp;

use self::describe::{ApiHandler, Sketch};
use crate::{about, control, health, openapi, router::Routes, seeing, sessions};

/// What the OpenAPI document says about a route.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    /// The codes beside those that all routes of its kind have.
    pub(crate) codes: &'static [&'static str],
    /// Whether it needs no key.
    pub(crate) open: bool,
    /// Whether its errors have a form of its own.
    pub(crate) own_errors: bool,
    pub(crate) describe: fn(&mut Sketch),
}

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
pub(crate) fn routes(routes: Routes) -> Routes {
    const SESSION: &str = "/v1/sessions/{session}";
    const QUEUED: &str = "/v1/sessions/{session}/queue/{run}";
    const CHECKPOINT: &str = "/v1/sessions/{session}/checkpoints/{checkpoint}";
    let session = |action: &str| format!("{SESSION}/{action}");
    let queued = |action: &str| format!("{QUEUED}/{action}");
    let checkpoint = |action: &str| format!("{CHECKPOINT}/{action}");
    routes
        .get("/v1/agents", route("listAgents", "List the agents that you can talk to.", about::agents, &[]))
        .get("/v1/runs", route("listRuns", "List your runs, newest first.", control::list, &["page.invalid", "agent.unknown"]))
        .post("/v1/runs", route("startRun", "Start a run.", control::start, codes::START))
        .get("/v1/runs/{run}", route("getRun", "Get a run and what it waits for.", control::inspect, &["run.unknown"]))
        .get("/v1/runs/{run}/events", route("followRun", "Follow a run, live or long after, in any dialect.", control::events, codes::FOLLOW))
        .post("/v1/runs/{run}/stop", route("stopRun", "Stop a run.", control::stop, &["run.unknown", "run.busy", "workflow.version"]))
        .post("/v1/runs/{run}/answer", route("answerRun", "Answer what a run waits for.", control::answer, codes::ANSWER))
        .get("/v1/interrupts", route("listInterrupts", "List what waits for you.", control::interrupts, &["page.invalid"]))
        .post("/v1/interrupts/{request}", route("answerInterrupt", "Answer something by its id alone.", control::answer_request, codes::ANSWER))
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
        .get(&session("queue"), route("listQueue", "List the messages that wait for their turn.", sessions::queue::list, codes::SESSION))
        .delete(QUEUED, route("removeQueued", "Remove a message that waits for its turn.", sessions::queue::remove, codes::QUEUE))
        .post(&queued("edit"), route("editQueued", "Give a message that waits another text.", sessions::queue::edit, codes::QUEUE))
        .post(&queued("send"), route("sendQueued", "Stop the active run and send a message that waits now.", sessions::queue::send_now, codes::QUEUE))
        .get(&session("checkpoints"), route("listCheckpoints", "List the checkpoints of a session, newest first.", sessions::checkpoints, codes::SESSION))
        .get(CHECKPOINT, route("getCheckpoint", "Get a checkpoint, and the session as it was there.", sessions::checkpoint, codes::CHECKPOINT))
        .post(&checkpoint("rollback"), route("rollBack", "Roll a session back to a checkpoint.", sessions::roll_back, codes::CHECKPOINT))
        .post(&checkpoint("fork"), route("forkSession", "Fork a session at a checkpoint.", sessions::fork, codes::FORK))
        .post(&checkpoint("regenerate"), route("regenerateTurn", "Run a turn again.", sessions::regenerate, codes::TURN))
        .post(&checkpoint("edit"), route("editTurn", "Run a turn again with another text.", sessions::edit, codes::TURN))
        .get(&checkpoint("variants"), route("listVariants", "List the turns that took the place of this one.", sessions::variants, codes::CHECKPOINT))
        .post(&checkpoint("select"), route("selectVariant", "Continue with another variant of a turn.", sessions::select, codes::CHECKPOINT))
        .open("/healthz", route("health", "Check that the process is alive and its store takes writes.", health::lives, &["store.stopped"]))
        .open("/readyz", route("readiness", "Check that the server can serve.", health::ready, codes::READY))
        .open("/metrics", route("metrics", "Get the metrics for Prometheus.", seeing::metrics, &["metrics.off"]))
        .open("/openapi.json", route("openapi", "Get this document.", openapi::document, &[]))
}
