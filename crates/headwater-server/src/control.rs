//! Runs by their names: start, list, look at, follow, answer, stop.

mod answers;
mod start;

pub(crate) use answers::{AnswerBody, answer, answer_request, interrupts, question};
pub(crate) use start::{StartBody, start};

use std::time::Duration;

use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::HeaderMap,
    response::{IntoResponse as _, Response},
};
use headwater_protocol::{CursorSupport, ReaderNames, RequestCursor, RunId, dialects};
use headwater_runtime::{ErrorKind, Run, RunMeta, RunPhase, open_page, seal_page};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    ApiError, Principal, Server,
    agents::Served,
    chat::{self, Placed},
    extract::{Path, Query},
    follow::{Ending, From, View},
    idempotency,
};

/// A run that belongs to whoever asks.
pub(crate) async fn owned(
    server: &Server,
    principal: &Principal,
    run: &str,
) -> Result<(Served, Run, RunMeta), ApiError> {
    let id = RunId::from(run);
    let (served, meta) = server.agents().of_run(&id).await?;
    if meta.owner.as_deref() != Some(principal.id()) {
        return Err(ApiError::no_run());
    }
    let run = served.agent.run(id);
    Ok((served, run, meta))
}

#[derive(Debug, Deserialize)]
pub(crate) struct Paging {
    after: Option<String>,
    limit: Option<usize>,
}

impl Paging {
    fn limit(&self) -> usize {
        self.limit.unwrap_or(50).clamp(1, 500)
    }
}

/// A page of a list, which names what cannot be read, if there is any.
pub(crate) fn page(mut page: Value, unreadable: &[impl Serialize]) -> Response {
    if !unreadable.is_empty()
        && let Some(fields) = page.as_object_mut()
    {
        fields.insert("unreadable".to_owned(), json!(unreadable));
    }
    Json(page).into_response()
}

/// `GET /v1/runs`.
pub(crate) async fn list(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    Query(paging): Query<Paging>,
) -> Result<Response, ApiError> {
    let all = server.agents().served();
    let Some(first) = all.first() else {
        return Ok(Json(json!({ "runs": [], "next": null })).into_response());
    };
    let (owner, limit) = (Some(principal.id()), paging.limit());
    let secret = first.agent.secret().await?;
    let after = match &paging.after {
        Some(after) => Some(open_page(secret, "runs", owner, after)?),
        None => None,
    };
    let after = after.map(|(created, run)| (created, RunId::from(run)));
    let mut seen: Vec<usize> = Vec::new();
    let mut runs: Vec<RunMeta> = Vec::new();
    let mut unreadable: Vec<RunId> = Vec::new();
    for served in &all {
        let store = std::sync::Arc::as_ptr(served.agent.store()).cast::<()>().addr();
        if seen.contains(&store) {
            continue;
        }
        seen.push(store);
        let after = after.as_ref().map(|(created, run)| (*created, run));
        let found = served.agent.runs_of(owner, after, limit + 1).await?;
        runs.extend(found.runs);
        unreadable.extend(found.unreadable);
    }
    // As each store lists them: the newest first.
    runs.sort_by(|one, other| other.created.cmp(&one.created).then_with(|| one.run.cmp(&other.run)));
    let more = runs.len() > limit;
    runs.truncate(limit);
    let last = runs.last().filter(|_| more);
    let next = last.map(|last| seal_page(secret, "runs", owner, last.created, last.run.as_str()));
    let runs: Vec<_> = runs.into_iter().map(|meta| server.agents().visible(meta)).collect();
    Ok(page(json!({ "runs": runs, "next": next }), &unreadable))
}

/// `GET /v1/runs/{run}`.
pub(crate) async fn inspect(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    Path(run): Path<String>,
) -> Result<Response, ApiError> {
    let (served, run, mut meta) = owned(&server, &principal, &run).await?;
    meta.agent.clone_from(&served.name);
    let open = served.agent.open_questions(run.id()).await?;
    if meta.phase != RunPhase::Ended {
        // The journal is ahead of what is noted beside it.
        meta.phase = if run.waits().await? { RunPhase::Waiting } else { RunPhase::Running };
    }
    let open: Vec<_> = open.iter().map(question).collect();
    let meta = served.visibility.meta(meta);
    Ok(Json(json!({ "run": meta, "agent": served.name, "waitsFor": open })).into_response())
}

#[derive(Debug, Deserialize)]
pub(crate) struct Following {
    dialect: Option<String>,
    profile: Option<String>,
    framing: Option<String>,
    after: Option<String>,
    until: Option<String>,
}

/// `GET /v1/runs/{run}/events`.
pub(crate) async fn events(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    Path(run): Path<String>,
    Query(query): Query<Following>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (served, run, _) = owned(&server, &principal, &run).await?;
    let dialect = query.dialect.as_deref().map_or(Ok(dialects::NATIVE), chat::find_wire)?;
    let named = query.profile.as_deref().map(|name| chat::profile(dialect, name)).transpose()?;
    let profile = named.unwrap_or_else(|| dialect.default_profile());
    let framing = chat::framing(dialect, profile, &headers, query.framing.as_deref())?;
    let ending = match query.until.as_deref() {
        None => None,
        Some("wait") => Some(Ending::AtWait),
        Some("end") => Some(Ending::AtEnd),
        Some(other) => {
            return Err(ApiError::bad("until.unknown", format!("`until` is `wait` or `end`, not `{other}`")));
        }
    };
    served.agent.take_up(run.id()).await?;
    let sent = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let from = match query.after.or(sent).filter(|after| !after.is_empty()) {
        None => From::Start,
        Some(now) if now == "now" => From::Reentry,
        Some(after) => {
            // Where frames are not counted, a number is no place.
            let counts = profile.cursor == CursorSupport::Sequence;
            let cursor = match after.parse() {
                Ok(sequence) if counts => RequestCursor::Sequence(sequence),
                _ => RequestCursor::EventId(after),
            };
            From::cursor(&run, &cursor).await?
        }
    };
    let options = server.options();
    let view = View {
        dialect,
        profile,
        framing,
        names: ReaderNames::default(),
        messages: served.shown(chat::conversation_before(profile, &run).await?),
        thought: None,
        visibility: served.visibility,
        seam: options.seam.clone(),
        hold: options.hold,
        waits: true,
    };
    chat::follow(&server, Placed::at(run, from), view, ending, server.may_read(&principal)?).await
}

/// `POST /v1/runs/{run}/stop`.
pub(crate) async fn stop(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    Path(run): Path<String>,
) -> Result<Response, ApiError> {
    let (served, run, _) = owned(&server, &principal, &run).await?;
    let stopped = match served.agent.stop(run.id(), Some("a person asked for it")).await {
        Ok(run) => ended_by_stop(&run).await?,
        Err(error) if error.kind() == ErrorKind::Ended => false,
        Err(error) => return Err(error.into()),
    };
    Ok(Json(json!({ "run": run.id(), "stopped": stopped })).into_response())
}

/// How long the response to a stop waits for the run to end. Models and tools have three seconds at most.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// Whether a run that is being stopped ends by that, and not by itself at the same moment. One that takes longer to end than
/// the response waits counts as stopped: its stop is durable.
pub(crate) async fn ended_by_stop(run: &Run) -> Result<bool, ApiError> {
    Ok(run.ended_by_stop(STOP_PATIENCE).await?.unwrap_or(true))
}

/// The bytes of a body, which was read within the limits before the route was found.
pub(crate) async fn whole(body: Body) -> Result<bytes::Bytes, ApiError> {
    let read = axum::body::to_bytes(body, usize::MAX).await;
    read.map_err(|error| ApiError::bad("body.cut", format!("the body did not arrive: {error}")))
}

/// Reads a JSON body.
pub(crate) async fn read_json<T: serde::de::DeserializeOwned>(body: Body) -> Result<T, ApiError> {
    let bytes = whole(body).await?;
    if bytes.is_empty() {
        return Err(ApiError::bad("body.missing", "the body is empty: send a JSON object"));
    }
    parse(&bytes)
}

/// Reads a JSON body that may be left out.
pub(crate) async fn read_optional_json<T: serde::de::DeserializeOwned>(body: Body) -> Result<T, ApiError> {
    let bytes = whole(body).await?;
    parse(if bytes.is_empty() { b"{}" } else { &bytes })
}

fn parse<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(bytes)
        .map_err(|error| ApiError::bad("body.invalid", format!("the body cannot be read: {error}")))
}

/// Reads a JSON body, and gives by what it is known again.
pub(crate) async fn read_keyed_json<T: serde::de::DeserializeOwned>(
    body: Body,
) -> Result<(T, String), ApiError> {
    let bytes = whole(body).await?;
    let fingerprint = idempotency::fingerprint(&bytes);
    Ok((read_json(Body::from(bytes)).await?, fingerprint))
}
