//! Starting a run: once for one key, in a session or alone.

use std::time::Duration;

use axum::{Extension, extract::State, http::request::Parts};
use headwater_protocol::{RunId, RunStatus};
use headwater_runtime::{Agent, ErrorKind, RawJson, RunSummary, Start, Turn};
use headwater_store::JournalId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::{
    ApiError, Principal, Server, agents::ServedAgent, extract::RepeatableBody, idempotency, limits::ids,
    operation::CreatedResponse, telemetry,
};

/// How long a repeated request waits for the start of its run.
const BEGINNING: Duration = Duration::from_secs(3);

/// How long it waits for the first record before it looks again.
const POLL: Duration = Duration::from_millis(500);

/// A run to start.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct StartRun {
    #[serde(default)]
    /// The user message.
    input: String,
    /// The agent; otherwise the default.
    agent: Option<String>,
    /// The workflow; otherwise the default of the agent.
    workflow: Option<String>,
    /// The session that the run is a turn of; created if it does not exist.
    session: Option<String>,
    /// Data that the first node finds beside the input.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>")]
    data: RawJson,
    /// The client's data about itself: not trusted.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>")]
    context: RawJson,
}

impl StartRun {
    fn check(&self) -> Result<(), ApiError> {
        // The name of the session is checked where sessions are.
        ids::check_all([("agent", self.agent.as_deref()), ("workflow", self.workflow.as_deref())])?;
        for (name, raw) in [("data", &self.data), ("context", &self.context)] {
            if !raw.is_object() {
                return Err(ApiError::bad("body.invalid", format!("`{name}` must be an object")));
            }
        }
        Ok(())
    }
}

/// A run that was started.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct StartRunResponse {
    run: String,
    agent: String,
    /// Whether it is queued behind other turns of its session: it can be followed once it has started.
    queued: bool,
    /// Whether it was started before, with the same key.
    repeated: bool,
}

/// `POST /v1/runs`.
pub(crate) async fn start(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    request: RepeatableBody<StartRun>,
) -> Result<CreatedResponse<StartRunResponse>, ApiError> {
    let RepeatableBody { mut body, fingerprint, key, parts } = request;
    body.check()?;
    let served = server.agents().find(body.agent.as_deref())?;
    served.client.check_workflow(&served.agent, body.workflow.as_deref())?;
    served.client.check_data(!body.data.is_null())?;
    let session = body.session.take();
    let place = ["/v1/runs", session.as_deref().unwrap_or_default()];
    idempotency::check(&served.agent, principal.id(), place, key.as_deref(), &fingerprint).await?;
    let start = RunRequest { server: &server, principal: &principal, served: &served, parts, body };
    let (run, queued, repeated) = match session {
        Some(session) => start.in_session(session, key).await?,
        None => start.alone(key).await?,
    };
    Ok(CreatedResponse(StartRunResponse { run: run.to_string(), agent: served.name, queued, repeated }))
}

/// A requested run, started once per key.
struct RunRequest<'a> {
    server: &'a Server,
    principal: &'a Principal,
    served: &'a ServedAgent,
    parts: Parts,
    body: StartRun,
}

impl RunRequest<'_> {
    async fn in_session(self, session: String, key: Option<String>) -> Result<(RunId, bool, bool), ApiError> {
        let (server, principal, agent) = (self.server, self.principal, &self.served.agent);
        let known = match agent.session(session.as_str(), Some(principal.id())).view().await {
            Err(error) if error.kind() == ErrorKind::UnknownSession => None,
            known => Some(known?),
        };
        let before = match &known {
            Some(known) => known.sent_before(key.as_slice()).await?,
            None => None,
        };
        let sent = match before {
            Some(sent) => sent,
            None => {
                let _permit = server.may_begin(principal).await?;
                let turn = key.into_iter().fold(Turn::from(self.start().await?), Turn::request_key);
                match known {
                    Some(known) => known.send(turn).await?,
                    None => agent.begin_session(Some(&session), Some(principal.id()), turn).await?,
                }
            }
        };
        if !sent.queued {
            // The run that is named can be followed.
            sent.begun().await?;
        }
        Ok((sent.run, sent.queued, sent.repeated))
    }

    async fn alone(self, key: Option<String>) -> Result<(RunId, bool, bool), ApiError> {
        let (server, principal, agent) = (self.server, self.principal, &self.served.agent);
        let name = match key {
            Some(key) => {
                Some(RunId::from(idempotency::derived_id(self.served, principal, "run", &key).await?))
            }
            None => None,
        };
        if let Some(name) = &name {
            match agent.run(name.clone()).summary().await {
                Err(error) if error.kind() == ErrorKind::UnknownRun => {}
                known => {
                    let RunSummary { run, status, .. } = known?;
                    // A process that dies before the start is durable leaves a summary behind: the run is
                    // started again.
                    if begun(agent, &run).await? || status != RunStatus::Running {
                        return Ok((run, false, true));
                    }
                }
            }
        }
        let _permit = server.may_begin(principal).await?;
        let mut start = self.start().await?;
        if let Some(name) = &name {
            start = start.run(name.clone());
        }
        match (agent.start(start).await, name) {
            // The same request at the same time, maybe at another node.
            (Err(error), Some(name)) if error.kind() == ErrorKind::Exists => {
                if !begun(agent, &name).await? {
                    return Err(ApiError::store_busy());
                }
                Ok((name, false, true))
            }
            (run, _) => Ok((run?.id().clone(), false, false)),
        }
    }

    /// The spec of the run, if the route approves it.
    async fn start(self) -> Result<Start, ApiError> {
        let Self { server, principal, parts, body, .. } = self;
        let request = telemetry::request_id_of(&parts.headers);
        let context =
            server.runtime_context(principal, parts, || body.context.read().unwrap_or_default()).await?;
        let start = Start::new(body.input)
            .request(request)
            .owner(principal.id())
            .data(body.data)
            .client_context(body.context)
            .runtime_context(context);
        Ok(match body.workflow {
            Some(workflow) => start.workflow(workflow),
            None => start,
        })
    }
}

/// Waits until a run requested before can be followed. A journal is claimed before the start of its run is
/// durable, and the process that does this may be waiting for the engine, or dead. False if there is no
/// journal: recovery has removed a run that a dead process could not start.
async fn begun(agent: &Agent, run: &RunId) -> Result<bool, ApiError> {
    let (journal, store) = (JournalId::from(run.as_str()), agent.store());
    let deadline = Instant::now() + BEGINNING;
    while let Some(info) = store.info(&journal).await? {
        if info.tail.last > 0 {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Err(ApiError::store_busy());
        }
        // It may be removed meanwhile, which no store reports to readers reliably.
        let until = deadline.min(Instant::now() + POLL);
        if let Ok(Err(_)) = timeout_at(until, store.wait(&journal, 0)).await {
            sleep_until(until).await;
        }
    }
    Ok(false)
}
