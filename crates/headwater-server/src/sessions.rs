//! Sessions and their checkpoints: list, get, roll back, fork, run again.

mod documents;
pub(crate) mod events;
pub(crate) mod queue;

use axum::{
    Extension, Json,
    extract::{FromRequestParts, RawPathParams, State},
    http::request::Parts,
    response::{IntoResponse, Response},
};
use headwater_protocol::{CheckpointId, Message, Part};
use headwater_runtime::{Agent, ErrorKind, Session, SessionInfo, Start, Turn, TurnHandle, TurnOfRun};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub(crate) use documents::structured;
use documents::{
    CheckpointDetails, CheckpointDocument, CheckpointList, ExportDocument, MessageList, RolledBackDocument,
    SendTurnResponse, SessionListDocument, SessionResource, StopSessionResponse, VariantDocument,
    VariantList,
};

use crate::{
    ApiError, Principal, Server,
    agents::ServedAgent,
    audit::{self, Subject},
    dialect,
    extract::{
        JsonBody, OptionalBody, Paging, PathParams, QueryParams, Repeatable, RepeatableBody, page_size,
    },
    idempotency,
    limits::ids,
    operation::{AcceptedResponse, CreatedResponse, HandlerInput, NoContent},
    stop::ended_by_stop,
    telemetry,
};

/// The caller's session in the path.
pub(crate) struct OwnSession(Session, SessionInfo);

/// The same, with its agent.
pub(crate) struct ServedSession(Session, ServedAgent);

impl HandlerInput for OwnSession {}
impl HandlerInput for ServedSession {}

impl FromRequestParts<Server> for OwnSession {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self, Response> {
        let (_, session, info) = named(parts, server).await?;
        Ok(Self(session, info))
    }
}

impl FromRequestParts<Server> for ServedSession {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self, Response> {
        let (served, session, _) = named(parts, server).await?;
        Ok(Self(session, served))
    }
}

/// The session in a request's path, with its agent.
async fn named(parts: &mut Parts, server: &Server) -> Result<(ServedAgent, Session, SessionInfo), Response> {
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
) -> Result<(ServedAgent, Session, SessionInfo), ApiError> {
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

/// Filter for the list of sessions.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SessionQuery {
    /// The agent; otherwise the default.
    agent: Option<String>,
    /// The `next` of the page before.
    after: Option<String>,
    /// Maximum number of entries: 50, at most 500.
    limit: Option<usize>,
    /// Whether archived sessions are listed too; otherwise they are left out.
    archived: Option<bool>,
}

/// `GET /v1/sessions`.
pub(crate) async fn list(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    QueryParams(query): QueryParams<SessionQuery>,
) -> Result<Json<SessionListDocument>, ApiError> {
    let served = server.agents().find(query.agent.as_deref())?;
    let paging = Paging { after: query.after, limit: query.limit };
    let (owner, after, limit) = (Some(principal.id()), paging.after.as_deref(), paging.limit());
    audit::access(&principal, None, Subject::default());
    let page = match query.archived {
        archived if principal.is_operator() => {
            served.agent.sessions_of_everyone(after, limit, archived == Some(true)).await?
        }
        Some(true) => served.agent.all_sessions(owner, after, limit).await?,
        _ => served.agent.sessions(owner, after, limit).await?,
    };
    Ok(Json(SessionListDocument {
        agent: served.name,
        sessions: page.sessions.into_iter().map(Into::into).collect(),
        next: page.next,
        unreadable: page.unreadable.iter().map(ToString::to_string).collect(),
    }))
}

/// A session to create.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CreateSession {
    /// Its id; otherwise a fresh one.
    id: Option<String>,
    /// The agent; otherwise the default.
    agent: Option<String>,
    /// An exported session.
    import: Option<Value>,
}

/// `POST /v1/sessions`.
pub(crate) async fn create(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    OptionalBody(body): OptionalBody<CreateSession>,
) -> Result<CreatedResponse<SessionResource>, ApiError> {
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
    Ok(CreatedResponse(session.info().await?.into()))
}

/// `GET /v1/sessions/{session}`.
pub(crate) async fn inspect(OwnSession(_, info): OwnSession) -> Result<Json<SessionResource>, ApiError> {
    Ok(Json(info.into()))
}

/// Changes to a session. Absent fields stay as they are.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ChangeSession {
    /// The label; at most 80 characters of it are kept.
    label: Option<String>,
    /// Whether lists leave the session out.
    archived: Option<bool>,
}

/// `PATCH /v1/sessions/{session}`.
pub(crate) async fn change(
    OwnSession(session, _): OwnSession,
    JsonBody(ChangeSession { label, archived }): JsonBody<ChangeSession>,
) -> Result<Json<SessionResource>, ApiError> {
    Ok(Json(session.change(label.as_deref(), archived).await?.into()))
}

/// Deletes a session without reading it: one that cannot be read can be deleted.
pub(crate) async fn delete(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    PathParams(session): PathParams<String>,
) -> Result<NoContent, ApiError> {
    for served in server.agents().served() {
        match served.agent.delete_session(session.as_str(), Some(principal.id())).await {
            Ok(()) => return Ok(NoContent),
            Err(error) if matches!(error.kind(), ErrorKind::UnknownSession | ErrorKind::Foreign) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(ApiError::no_session())
}

/// Selection of messages.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct MessageQuery {
    /// The dialect to write them in; otherwise the native form.
    dialect: Option<String>,
    /// The last checkpoint to include; the newest by default.
    at: Option<String>,
    /// The `before` of the page before.
    before: Option<u64>,
    /// Maximum number of turns: 50, at most 500.
    limit: Option<usize>,
}

/// `GET /v1/sessions/{session}/messages`.
pub(crate) async fn messages(
    ServedSession(session, served): ServedSession,
    QueryParams(query): QueryParams<MessageQuery>,
) -> Result<Json<MessageList>, ApiError> {
    let dialect = query.dialect.as_deref().map(dialect::find_wire).transpose()?;
    ids::check_all([("at", query.at.as_deref())])?;
    let at = query.at.as_deref().map(CheckpointId::from);
    let mut info = session.info().await?;
    let page = loop {
        let mut page = session.history(at.as_ref(), query.before, page_size(query.limit)).await?;
        if at.is_none() && query.before.is_none() {
            add_unanswered(&served.agent, &info, &mut page.messages).await?;
        }
        // A turn that started or ended while the history was read would be missing.
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
    let messages = served.shown(page.messages).iter().map(write).collect();
    Ok(Json(MessageList { messages, before: page.before }))
}

/// Adds the message that is being answered: it enters the history together with its answer.
pub(crate) async fn add_unanswered(
    agent: &Agent,
    info: &SessionInfo,
    messages: &mut Vec<Message>,
) -> Result<(), ApiError> {
    let Some(run) = &info.going else { return Ok(()) };
    let asked = agent.conversation_before(run).await?.pop();
    // A run that was resumed by an answer has its message in the history already.
    messages.extend(asked.filter(|asked| messages.iter().all(|message| message.id != asked.id)));
    Ok(())
}

/// A message to send.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct SendMessage {
    /// The user message.
    text: String,
    /// The workflow; otherwise the default of the agent.
    workflow: Option<String>,
    /// A label of the turn, for people; the default is the beginning of the text.
    label: Option<String>,
}

/// `POST /v1/sessions/{session}/messages`.
pub(crate) async fn send(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    ServedSession(session, served): ServedSession,
    request: RepeatableBody<SendMessage>,
) -> Result<AcceptedResponse<SendTurnResponse>, ApiError> {
    server.agents().takes_turns(&served.agent)?;
    let RepeatableBody { body: message, fingerprint, key, parts } = request;
    ids::check_all([("workflow", message.workflow.as_deref())])?;
    served.client.check_workflow(&served.agent, message.workflow.as_deref())?;
    let place = ["messages", session.id().as_str()];
    idempotency::check(&served.agent, principal.id(), place, key.as_deref(), &fingerprint).await?;
    if let Some(before) = session.sent_before(key.as_slice()).await? {
        return accepted(&before).await;
    }
    let _permit = server.may_begin(&principal).await?;
    let request = telemetry::request_id_of(&parts.headers);
    let context = server.runtime_context(&principal, parts, Map::new).await?;
    let mut start = Start::new(message.text).owner(principal.id()).request(request).runtime_context(context);
    if let Some(workflow) = message.workflow {
        start = start.workflow(workflow);
    }
    let mut turn = Turn::from(start);
    if let Some(label) = message.label {
        turn = turn.label(label);
    }
    let turn = key.into_iter().fold(turn, Turn::request_key);
    accepted(&session.send(turn).await?).await
}

/// A turn whose run can be followed, unless it waits for the turns before it.
async fn accepted(turn: &TurnHandle) -> Result<AcceptedResponse<SendTurnResponse>, ApiError> {
    if !turn.queued {
        // The same request at the same time may be faster than the first: the run that is named must exist.
        turn.begun().await?;
    }
    Ok(AcceptedResponse(turn.into()))
}

/// `POST /v1/sessions/{session}/stop`.
pub(crate) async fn stop(OwnSession(session, _): OwnSession) -> Result<Json<StopSessionResponse>, ApiError> {
    let run = session.stop(Some("a person asked for it")).await?;
    let stopped = match &run {
        Some(run) if ended_by_stop(run).await? => Some(run.id().to_string()),
        _ => None,
    };
    Ok(Json(StopSessionResponse { stopped }))
}

/// `POST /v1/sessions/{session}/undo`.
pub(crate) async fn undo(OwnSession(session, _): OwnSession) -> Result<Json<RolledBackDocument>, ApiError> {
    let undone = session.undo().await?;
    Ok(Json(undone.into()))
}

/// `GET /v1/sessions/{session}/export`.
pub(crate) async fn export(
    ServedSession(session, served): ServedSession,
) -> Result<Json<ExportDocument>, ApiError> {
    let document = session.export().await?.with_agent(&served.name);
    let mut document = document.retain_parts(|part| served.visibility.part(part));
    if !served.visibility.state {
        document = document.without_state();
    }
    Ok(Json(ExportDocument(document)))
}

/// Selection of checkpoints.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CheckpointQuery {
    /// The `before` of the page before.
    before: Option<u64>,
    /// Maximum number of entries: 50, at most 500.
    limit: Option<usize>,
}

/// `GET /v1/sessions/{session}/checkpoints`.
pub(crate) async fn checkpoints(
    OwnSession(session, _): OwnSession,
    QueryParams(query): QueryParams<CheckpointQuery>,
) -> Result<Json<CheckpointList>, ApiError> {
    let limit = page_size(query.limit);
    let found = session.checkpoints(query.before, limit).await?;
    let before = (found.len() == limit).then(|| found.last().map(|last| last.turn)).flatten();
    Ok(Json(CheckpointList { checkpoints: found.into_iter().map(Into::into).collect(), before }))
}

type Of = PathParams<(String, String)>;

/// `GET /v1/sessions/{session}/checkpoints/{checkpoint}`.
pub(crate) async fn checkpoint(
    ServedSession(session, served): ServedSession,
    PathParams((_, checkpoint)): Of,
) -> Result<Json<CheckpointDetails>, ApiError> {
    let id = session.find_checkpoint(&checkpoint, TurnOfRun::Last).await?;
    let checkpoint = CheckpointDocument::from(session.checkpoint(&id).await?);
    let state = session.state(Some(&id)).await?;
    Ok(Json(CheckpointDetails {
        checkpoint,
        structured: structured(&state),
        workflow_state: if served.visibility.state { state.workflow_state } else { Map::new() },
        messages: served.shown(state.messages).iter().map(|message| json!(message)).collect(),
    }))
}

/// `POST …/rollback`.
pub(crate) async fn roll_back(
    OwnSession(session, _): OwnSession,
    PathParams((_, checkpoint)): Of,
) -> Result<Json<RolledBackDocument>, ApiError> {
    let checkpoint = session.find_checkpoint(&checkpoint, TurnOfRun::Last).await?;
    let undone = session.roll_back(&checkpoint).await?;
    Ok(Json(undone.into()))
}

/// A fork to make.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkSession {
    /// The id of the new session; otherwise a fresh one.
    id: Option<String>,
}

/// `POST …/fork`.
pub(crate) async fn fork(
    OwnSession(session, _): OwnSession,
    PathParams((_, checkpoint)): Of,
    OptionalBody(body): OptionalBody<ForkSession>,
) -> Result<CreatedResponse<SessionResource>, ApiError> {
    let checkpoint = session.find_checkpoint(&checkpoint, TurnOfRun::Last).await?;
    let forked = session.fork(&checkpoint, body.id.as_deref()).await?;
    Ok(CreatedResponse(forked.info().await?.into()))
}

/// `POST …/regenerate`.
pub(crate) async fn regenerate(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    session: ServedSession,
    PathParams((_, checkpoint)): Of,
    request: Repeatable,
) -> Result<AcceptedResponse<SendTurnResponse>, ApiError> {
    do_again(&server, &principal, &session, &checkpoint, request, None).await
}

/// Another text for a message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditMessage {
    text: String,
}

/// `POST …/edit`.
pub(crate) async fn edit(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    session: ServedSession,
    PathParams((_, checkpoint)): Of,
    request: RepeatableBody<EditMessage>,
) -> Result<AcceptedResponse<SendTurnResponse>, ApiError> {
    let RepeatableBody { body: EditMessage { text }, key, parts, .. } = request;
    let request = Repeatable { key, parts };
    do_again(&server, &principal, &session, &checkpoint, request, Some(text)).await
}

/// Does a turn again, once for one key: with another text, or as it was.
async fn do_again(
    server: &Server,
    principal: &Principal,
    ServedSession(session, served): &ServedSession,
    turn: &str,
    Repeatable { key, parts }: Repeatable,
    text: Option<String>,
) -> Result<AcceptedResponse<SendTurnResponse>, ApiError> {
    server.agents().takes_turns(&served.agent)?;
    let fingerprint = idempotency::fingerprint(format!("{turn}\n{text:?}").as_bytes());
    let place = ["again", session.id().as_str()];
    idempotency::check(&served.agent, principal.id(), place, key.as_deref(), &fingerprint).await?;
    if let Some(before) = session.sent_before(key.as_slice()).await? {
        return accepted(&before).await;
    }
    let turn = session.find_checkpoint(turn, TurnOfRun::First).await?;
    let _permit = server.may_begin(principal).await?;
    let request = telemetry::request_id_of(&parts.headers);
    let context = server.runtime_context(principal, parts, Map::new).await?;
    let start = Start::new(text.as_deref().unwrap_or_default()).request(request).runtime_context(context);
    let now = key.into_iter().fold(Turn::from(start), Turn::request_key);
    let again = match text {
        Some(_) => session.edit(&turn, now).await?,
        None => session.regenerate_as(&turn, now).await?,
    };
    accepted(&again).await
}

/// `GET …/variants`.
pub(crate) async fn variants(
    OwnSession(session, _): OwnSession,
    PathParams((_, checkpoint)): Of,
) -> Result<Json<VariantList>, ApiError> {
    let checkpoint = session.find_checkpoint(&checkpoint, TurnOfRun::First).await?;
    let variants = session.variants(&checkpoint).await?;
    let variants = variants.into_iter().map(VariantDocument::from).collect();
    Ok(Json(VariantList { variants }))
}

/// `POST …/select`.
pub(crate) async fn select(
    OwnSession(session, _): OwnSession,
    PathParams((_, checkpoint)): Of,
) -> Result<Json<RolledBackDocument>, ApiError> {
    let undone = session.select(&CheckpointId::from(checkpoint)).await?;
    Ok(Json(undone.into()))
}
