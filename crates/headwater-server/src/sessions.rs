//! Sessions and their checkpoints: list, look at, go back, branch, do again.

use axum::{
    Extension, Json,
    body::Body,
    extract::{FromRequestParts, RawPathParams, Request, State},
    http::{StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use headwater_protocol::{CheckpointId, Message, Part, rfc3339};
use headwater_runtime::{Checkpoint, ErrorKind, Sent, Session, SessionInfo, SessionState, Start, Turn};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    ApiError, Principal, Server,
    agents::Served,
    chat,
    control::{self, read_json, read_keyed_json, read_optional_json},
    extract::{Path, Query},
    idempotency,
    limits::ids,
    router::Routes,
    seeing,
};

pub(crate) fn routes(routes: Routes) -> Routes {
    const CHECKPOINT: &str = "/v1/sessions/{session}/checkpoints/{checkpoint}";
    let of = |action: &str| format!("{CHECKPOINT}/{action}");
    routes
        .get("/v1/sessions", list)
        .post("/v1/sessions", create)
        .get("/v1/sessions/{session}", inspect)
        .delete("/v1/sessions/{session}", delete)
        .get("/v1/sessions/{session}/messages", messages)
        .post("/v1/sessions/{session}/messages", send)
        .post("/v1/sessions/{session}/stop", stop)
        .post("/v1/sessions/{session}/undo", undo)
        .get("/v1/sessions/{session}/export", export)
        .get("/v1/sessions/{session}/checkpoints", checkpoints)
        .get(CHECKPOINT, checkpoint)
        .post(&of("rollback"), roll_back)
        .post(&of("fork"), fork)
        .post(&of("regenerate"), regenerate)
        .post(&of("edit"), edit)
        .get(&of("variants"), variants)
        .post(&of("select"), select)
}

/// The session that the path names, which belongs to whoever asks.
struct Mine(Session, SessionInfo);

/// The same, and what its readers see of it.
struct Shown(Session, Served);

impl FromRequestParts<Server> for Mine {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self, Response> {
        let (_, session, info) = named(parts, server).await?;
        Ok(Self(session, info))
    }
}

impl FromRequestParts<Server> for Shown {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self, Response> {
        let (served, session, _) = named(parts, server).await?;
        Ok(Self(session, served))
    }
}

/// The session that a request's path names, with its agent.
async fn named(parts: &mut Parts, server: &Server) -> Result<(Served, Session, SessionInfo), Response> {
    let principal = Extension::<Principal>::from_request_parts(parts, server).await;
    let Extension(principal) = principal.map_err(IntoResponse::into_response)?;
    let names = RawPathParams::from_request_parts(parts, server).await;
    let names = names.map_err(IntoResponse::into_response)?;
    let named = names.iter().find(|(name, _)| *name == "session").map_or("", |(_, id)| id);
    find_served(server, &principal, named).await.map_err(IntoResponse::into_response)
}

/// The session of that name, of whichever agent has it.
async fn find_served(
    server: &Server,
    principal: &Principal,
    id: &str,
) -> Result<(Served, Session, SessionInfo), ApiError> {
    for served in server.agents().served() {
        let session = served.agent.session(id, Some(principal.id()));
        match session.info().await {
            Ok(info) => return Ok((served, session, info)),
            Err(error) if matches!(error.kind(), ErrorKind::UnknownSession | ErrorKind::Foreign) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(ApiError::no_session())
}

#[derive(Debug, Deserialize)]
struct Listing {
    agent: Option<String>,
    after: Option<String>,
    before: Option<u64>,
    limit: Option<usize>,
    dialect: Option<String>,
    at: Option<String>,
}

impl Listing {
    fn limit(&self) -> usize {
        self.limit.unwrap_or(50).clamp(1, 500)
    }
}

async fn list(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    Query(query): Query<Listing>,
) -> Result<Response, ApiError> {
    let served = server.agents().find(query.agent.as_deref())?;
    let page = served.agent.sessions(Some(principal.id()), query.after.as_deref(), query.limit()).await?;
    let sessions: Vec<_> = page.sessions.iter().map(shown).collect();
    let document = json!({ "agent": served.name, "sessions": sessions, "next": page.next });
    Ok(control::page(document, &page.unreadable))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Create {
    id: Option<String>,
    agent: Option<String>,
    /// A session that was exported.
    import: Option<Value>,
}

async fn create(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    body: Body,
) -> Result<Response, ApiError> {
    let body: Create = read_optional_json(body).await?;
    ids::check_all([("agent", body.agent.as_deref())])?;
    let served = server.agents().find(body.agent.as_deref())?;
    let owner = Some(principal.id());
    let session = match (body.import, body.id) {
        // A document is its sender's word: it may have been written by hand.
        (Some(document), id) => {
            served.client.check_import()?;
            let takes = |role, part: &mut Part| served.client.takes(role, part);
            served.agent.import_untrusted_session(document, owner, id.as_deref(), takes).await?
        }
        (None, Some(id)) => served.agent.open_session(id, owner).await?,
        (None, None) => served.agent.new_session(owner).await?,
    };
    Ok((StatusCode::CREATED, Json(shown(&session.info().await?))).into_response())
}

async fn inspect(Mine(_, info): Mine) -> Result<Response, ApiError> {
    Ok(Json(shown(&info)).into_response())
}

/// Deletes a session without reading it: one that cannot be read can be deleted.
async fn delete(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    Path(session): Path<String>,
) -> Result<Response, ApiError> {
    for served in server.agents().served() {
        match served.agent.delete_session(session.as_str(), Some(principal.id())).await {
            Ok(()) => return Ok(StatusCode::NO_CONTENT.into_response()),
            Err(error) if matches!(error.kind(), ErrorKind::UnknownSession | ErrorKind::Foreign) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(ApiError::no_session())
}

async fn messages(Shown(session, served): Shown, Query(query): Query<Listing>) -> Result<Response, ApiError> {
    let dialect = query.dialect.as_deref().map(chat::find_wire).transpose()?;
    ids::check_all([("at", query.at.as_deref())])?;
    let at = query.at.as_deref().map(CheckpointId::from);
    let mut info = session.info().await?;
    let page = loop {
        let mut page = session.history(at.as_ref(), query.before, query.limit()).await?;
        if at.is_none() && query.before.is_none() {
            chat::add_unanswered(&served.agent, &info, &mut page.messages).await?;
        }
        // A turn that began or ended while the history was read would be missing.
        let now = session.info().await?;
        if now == info {
            break page;
        }
        info = now;
    };
    let write = |message: &Message| match dialect {
        Some(dialect) => dialect.page_message(message),
        None => json!(message),
    };
    let messages: Vec<_> = served.shown(page.messages).iter().map(write).collect();
    Ok(Json(json!({ "messages": messages, "before": page.before })).into_response())
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Say {
    text: String,
    workflow: Option<String>,
    label: Option<String>,
}

async fn send(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    Path(session): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let (served, session, _) = find_served(&server, &principal, &session).await?;
    server.agents().takes_turns(session.agent())?;
    let (parts, body) = request.into_parts();
    let key = chat::idempotency_key(&parts.headers);
    let (say, fingerprint): (Say, _) = read_keyed_json(body).await?;
    ids::check_all([("workflow", say.workflow.as_deref())])?;
    served.client.check_workflow(&served.agent, say.workflow.as_deref())?;
    let place = ["messages", session.id().as_str()];
    idempotency::check(session.agent(), principal.id(), place, key.as_deref(), &fingerprint).await?;
    if let Some(before) = session.sent_before(key.as_slice()).await? {
        return told(&before).await;
    }
    let _permit = server.may_begin(&principal)?;
    let request = seeing::request_id_of(&parts.headers);
    let context = server.runtime_context(&principal, parts, Map::new).await?;
    let mut start = Start::new(say.text).owner(principal.id()).request(request).runtime_context(context);
    if let Some(workflow) = say.workflow {
        start = start.workflow(workflow);
    }
    let mut turn = Turn::from(start);
    if let Some(label) = say.label {
        turn = turn.label(label);
    }
    let turn = key.into_iter().fold(turn, Turn::request_key);
    told(&session.send(turn).await?).await
}

/// Tells about a turn whose run can be followed, unless it waits for the turns before it.
async fn told(turn: &Sent) -> Result<Response, ApiError> {
    if !turn.queued {
        // Whoever sends the same a second time may be faster than the first: the run that is named must be there.
        turn.begun().await?;
    }
    Ok((StatusCode::ACCEPTED, Json(sent(turn))).into_response())
}

async fn stop(Mine(session, _): Mine) -> Result<Response, ApiError> {
    let run = session.stop(Some("a person asked for it")).await?;
    let stopped = match &run {
        Some(run) if control::ended_by_stop(run).await? => Some(run.id()),
        _ => None,
    };
    Ok(Json(json!({ "stopped": stopped })).into_response())
}

async fn undo(Mine(session, _): Mine) -> Result<Response, ApiError> {
    let undone = session.undo().await?;
    Ok(Json(json!({ "streams": undone.streams, "requests": undone.requests })).into_response())
}

async fn export(Shown(session, served): Shown) -> Result<Response, ApiError> {
    let document = session.export().await?.with_agent(&served.name);
    let mut document = document.retain_parts(|part| served.visibility.part(part));
    if !served.visibility.state {
        document = document.without_state();
    }
    Ok(Json(document).into_response())
}

async fn checkpoints(Mine(session, _): Mine, Query(query): Query<Listing>) -> Result<Response, ApiError> {
    let found = session.checkpoints(query.before, query.limit()).await?;
    let before = (found.len() == query.limit()).then(|| found.last().map(|last| last.turn)).flatten();
    Ok(Json(json!({ "checkpoints": found, "before": before })).into_response())
}

type Of = Path<(String, String)>;

async fn checkpoint(Shown(session, served): Shown, Path((_, checkpoint)): Of) -> Result<Response, ApiError> {
    let id = CheckpointId::from(checkpoint);
    let checkpoint: Checkpoint = session.checkpoint(&id).await?;
    let state = session.state(Some(&id)).await?;
    Ok(Json(json!({
        "checkpoint": checkpoint,
        "structured": structured(&state),
        "workflowState": if served.visibility.state { state.workflow_state } else { Map::new() },
        "messages": served.shown(state.messages),
    }))
    .into_response())
}

async fn roll_back(Mine(session, _): Mine, Path((_, checkpoint)): Of) -> Result<Response, ApiError> {
    let undone = session.roll_back(&CheckpointId::from(checkpoint)).await?;
    Ok(Json(json!({ "streams": undone.streams, "requests": undone.requests })).into_response())
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fork {
    id: Option<String>,
}

async fn fork(Mine(session, _): Mine, Path((_, checkpoint)): Of, body: Body) -> Result<Response, ApiError> {
    let body: Fork = read_optional_json(body).await?;
    let forked = session.fork(&CheckpointId::from(checkpoint), body.id.as_deref()).await?;
    Ok((StatusCode::CREATED, Json(shown(&forked.info().await?))).into_response())
}

async fn regenerate(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    Mine(session, _): Mine,
    Path((_, checkpoint)): Of,
    request: Request,
) -> Result<Response, ApiError> {
    let (parts, _) = request.into_parts();
    do_again(&server, &principal, &session, &CheckpointId::from(checkpoint), parts, None).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    text: String,
}

async fn edit(
    Extension(principal): Extension<Principal>,
    State(server): State<Server>,
    Mine(session, _): Mine,
    Path((_, checkpoint)): Of,
    request: Request,
) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let Edit { text } = read_json(body).await?;
    do_again(&server, &principal, &session, &CheckpointId::from(checkpoint), parts, Some(text)).await
}

/// Does a turn again, once for one key: with another text, or as it was.
async fn do_again(
    server: &Server,
    principal: &Principal,
    session: &Session,
    turn: &CheckpointId,
    parts: Parts,
    text: Option<String>,
) -> Result<Response, ApiError> {
    server.agents().takes_turns(session.agent())?;
    let key = chat::idempotency_key(&parts.headers);
    let fingerprint = idempotency::fingerprint(format!("{turn}\n{text:?}").as_bytes());
    let place = ["again", session.id().as_str()];
    idempotency::check(session.agent(), principal.id(), place, key.as_deref(), &fingerprint).await?;
    if let Some(before) = session.sent_before(key.as_slice()).await? {
        return told(&before).await;
    }
    let _permit = server.may_begin(principal)?;
    let request = seeing::request_id_of(&parts.headers);
    let context = server.runtime_context(principal, parts, Map::new).await?;
    let start = Start::new(text.as_deref().unwrap_or_default()).request(request).runtime_context(context);
    let now = key.into_iter().fold(Turn::from(start), Turn::request_key);
    let again = match text {
        Some(_) => session.edit(turn, now).await?,
        None => session.regenerate_as(turn, now).await?,
    };
    told(&again).await
}

async fn variants(Mine(session, _): Mine, Path((_, checkpoint)): Of) -> Result<Response, ApiError> {
    let variants = session.variants(&CheckpointId::from(checkpoint)).await?;
    let variants: Vec<_> = variants
        .iter()
        .map(|variant| json!({ "checkpoint": variant.checkpoint, "selected": variant.selected }))
        .collect();
    Ok(Json(json!({ "variants": variants })).into_response())
}

async fn select(Mine(session, _): Mine, Path((_, checkpoint)): Of) -> Result<Response, ApiError> {
    let undone = session.select(&CheckpointId::from(checkpoint)).await?;
    Ok(Json(json!({ "streams": undone.streams, "requests": undone.requests })).into_response())
}

fn shown(info: &SessionInfo) -> Value {
    json!({
        "id": info.id,
        "label": info.label,
        "createdAt": rfc3339(info.created),
        "updatedAt": rfc3339(info.updated),
        "turns": info.turns,
        "checkpoint": info.checkpoint,
        "forkedFrom": info.forked.as_ref().map(|(session, checkpoint)| {
            json!({ "session": session, "checkpoint": checkpoint })
        }),
        "lastRun": info.last_run,
        "going": info.going,
        "waiting": info.waiting,
        "queued": info.queued,
    })
}

fn sent(sent: &Sent) -> Value {
    json!({ "run": sent.run, "checkpoint": sent.checkpoint, "queued": sent.queued, "repeated": sent.repeated })
}

/// The structured streams of a state, by name.
pub(crate) fn structured(state: &SessionState) -> Value {
    json!(state.structured)
}
