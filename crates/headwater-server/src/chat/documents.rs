//! Documents that pages request: a conversation, the list of conversations, and checkpoints.

use axum::{
    Json,
    response::{IntoResponse as _, Response},
};
use headwater_dialects::{
    AgentEntry, CheckpointAction, CheckpointEntry, CheckpointReply, ConversationPage, PendingKind,
    PendingQuestion, SessionEntry, SessionList,
};
use headwater_protocol::{CheckpointId, RunId, RunState, RunStatus, SessionId};
use headwater_runtime::{Checkpoint, ErrorKind, OpenQuestion, Session, SessionInfo};
use serde_json::Value;

use super::{ChatContext, resume::is_old};
use crate::{
    ApiError,
    sessions::{self, add_unanswered},
};

/// Prefix of the checkpoint id that stands for a session's start.
const START: &str = "start:";

/// Default number of turns in a page of a conversation.
const TURNS: usize = 100;
/// Maximum number of turns in a page.
const MOST: usize = 1_000;

/// The current conversation, in the format of the dialect's pages.
pub(super) async fn conversation(context: &ChatContext) -> Result<Response, ApiError> {
    let Some(id) = &context.chat.session else {
        return Err(ApiError::bad("session.missing", "name the session"));
    };
    let session = context.session(id.as_str());
    let mut seen: Option<(SessionInfo, Value)> = None;
    loop {
        let info = match session.info().await {
            Ok(info) => info,
            // Unknown conversations count as empty, because a page loads its conversation before the first
            // message. The same applies to those of other principals.
            Err(error) if matches!(error.kind(), ErrorKind::UnknownSession | ErrorKind::Foreign) => {
                return Ok(Json(context.dialect.history(&ConversationPage::default())).into_response());
            }
            Err(error) => return Err(error.into()),
        };
        match seen {
            Some((known, document)) if known == info => return Ok(Json(document).into_response()),
            // The session changed during the read: its active run may have ended and be in the history now.
            _ => seen = Some((info.clone(), read(context, &session, &info).await?)),
        }
    }
}

/// The conversation of a session at the position of `info`.
async fn read(context: &ChatContext, session: &Session, info: &SessionInfo) -> Result<Value, ApiError> {
    let number = |key: &str| context.chat.context.get(key).and_then(Value::as_str)?.parse::<u64>().ok();
    let before = number("before").or_else(|| number("cursor"));
    let limit = number("limit").map_or(TURNS, |limit| usize::try_from(limit).unwrap_or(MOST).clamp(1, MOST));
    let page = session.history(None, before, limit).await?;
    let mut messages = page.messages;
    if before.is_none() {
        add_unanswered(&context.served.agent, info, &mut messages).await?;
    }
    let messages = context.served.shown(messages);
    let (run, waiting) = match context.dialect.history_names_run() {
        true => (active(context, info).await?, waiting(context, info).await?),
        false => (None, None),
    };
    let waiting = waiting.as_ref().map(|(run, state)| (*run, state));
    Ok(context.dialect.history(&ConversationPage { messages: &messages, before: page.before, run, waiting }))
}

/// The run that a page must follow: active, waiting, or failed recently, which the messages do not show.
async fn active<'a>(context: &ChatContext, info: &'a SessionInfo) -> Result<Option<&'a RunId>, ApiError> {
    if let Some(run) = info.going.as_ref().or(info.waiting.as_ref()) {
        return Ok(Some(run));
    }
    let Some(last) = &info.last_run else { return Ok(None) };
    let run = context.served.agent.run(last.clone());
    match run.summary().await {
        Ok(summary) if !is_old(context, &summary) => {}
        Err(error) if error.kind() != ErrorKind::UnknownRun => return Err(error.into()),
        _ => return Ok(None),
    }
    let failed = run.outcome().await?.state.run().status == RunStatus::Failed;
    Ok(failed.then_some(last))
}

/// The run that waits for an answer, with its state. A run with an unprocessed answer counts as active: the
/// page joins it instead.
async fn waiting<'a>(
    context: &ChatContext,
    info: &'a SessionInfo,
) -> Result<Option<(&'a RunId, RunState)>, ApiError> {
    let Some(id) = &info.waiting else { return Ok(None) };
    if context.served.agent.has_mail(id).await? {
        return Ok(None);
    }
    Ok(Some((id, context.served.agent.run(id.clone()).outcome().await?.state)))
}

/// The agents of the server.
pub(super) fn agents(context: &ChatContext) -> Response {
    let named = context.server.agents().named();
    let entries =
        named.iter().map(|served| AgentEntry { name: &served.name, description: served.agent.description() });
    let entries: Vec<_> = entries.collect();
    Json(context.dialect.agent_list(&entries)).into_response()
}

/// The conversations of the caller.
pub(super) async fn conversations(context: &ChatContext) -> Result<Response, ApiError> {
    let text = |key: &str| context.chat.context.get(key).and_then(Value::as_str);
    let limit = text("limit").and_then(|limit| limit.parse().ok()).unwrap_or(TURNS).clamp(1, MOST);
    let (agent, owner, cursor) = (&context.served.agent, Some(context.owner()), text("cursor"));
    let page = match text("includeArchived") {
        Some("true") => agent.all_sessions(owner, cursor, limit).await?,
        _ => agent.sessions(owner, cursor, limit).await?,
    };
    let sessions = page.sessions.iter().map(|session| SessionEntry {
        id: &session.id,
        title: session.label.as_deref(),
        archived: session.archived,
        created: session.created,
        updated: session.updated,
    });
    let (agent, next) = (context.served.name.as_str(), page.next.as_deref());
    let list = SessionList { agent, sessions: sessions.collect(), next };
    Ok(Json(context.dialect.session_list(&list)).into_response())
}

/// The answer to a request about checkpoints.
pub(super) async fn checkpoint(
    context: &ChatContext,
    action: &CheckpointAction,
) -> Result<Response, ApiError> {
    let reply = |reply: &CheckpointReply<'_>| Json(context.dialect.checkpoint_reply(reply)).into_response();
    Ok(match action {
        CheckpointAction::List => {
            let Some(id) = &context.chat.session else {
                return Err(ApiError::bad("session.missing", "name the session"));
            };
            let session = context.session(id.as_str());
            let (info, start) = (session.info().await?, start_of(id));
            let all = session.checkpoints(None, MOST).await?;
            let beginning = (all.len() < MOST).then(|| beginning(&info, &start));
            let entries = all.iter().rev().map(|checkpoint| entry(checkpoint, &start));
            reply(&CheckpointReply::List(beginning.into_iter().chain(entries).collect()))
        }
        CheckpointAction::Get(id) => {
            let (session, id) = found(context, id).await?;
            let (info, start) = (session.info().await?, start_of(session.id()));
            let (checkpoint, state) = match &id {
                Some(id) => (Some(session.checkpoint(id).await?), session.state(Some(id)).await?),
                None => Default::default(),
            };
            let structured = sessions::structured(&state);
            let messages = context.served.shown(state.messages);
            let entry = entry_or_beginning(checkpoint.as_ref(), &info, &start);
            reply(&CheckpointReply::Checkpoint { entry, messages: &messages, structured })
        }
        CheckpointAction::Rollback(id) => {
            let (session, id) = found(context, id).await?;
            let before = open(context, &session).await?;
            let undone = match &id {
                Some(id) => session.roll_back(id).await?,
                None => session.roll_back_to_start().await?,
            };
            let closed = before.iter().filter(|question| undone.requests.contains(&question.request));
            let tokens: Vec<_> = closed.filter_map(OpenQuestion::token).map(str::to_owned).collect();
            let (info, start) = (session.info().await?, start_of(session.id()));
            let checkpoint = standing_at(&session, id.as_ref()).await?;
            let open = open(context, &session).await?;
            reply(&CheckpointReply::RolledBack {
                session: session.id(),
                checkpoint: entry_or_beginning(checkpoint.as_ref(), &info, &start),
                pending: pending(&open),
                streams: &undone.streams,
                requests: &undone.requests,
                tokens: &tokens,
            })
        }
        CheckpointAction::Fork { checkpoint: id, session: name } => {
            let (session, id) = found(context, id).await?;
            let name = name.as_ref().map(SessionId::as_str);
            let forked = match &id {
                Some(id) => session.fork(id, name).await?,
                // A session without turns is created like any other.
                None => context.served.agent.seed_session(name, Some(context.owner()), Vec::new()).await?,
            };
            let (info, start) = (forked.info().await?, start_of(forked.id()));
            let checkpoint = standing_at(&forked, id.as_ref()).await?;
            let open = open(context, &forked).await?;
            reply(&CheckpointReply::Forked {
                session: forked.id(),
                parent: session.id(),
                checkpoint: entry_or_beginning(checkpoint.as_ref(), &info, &start),
                pending: pending(&open),
            })
        }
    })
}

/// The checkpoint id that stands for the start of a session.
fn start_of(session: &SessionId) -> CheckpointId {
    format!("{START}{session}").into()
}

/// The entry for the start of a session, for pages that roll back to before the first turn.
fn beginning<'a>(info: &'a SessionInfo, start: &'a CheckpointId) -> CheckpointEntry<'a> {
    CheckpointEntry {
        id: start,
        session_id: &info.id,
        turn_index: 0,
        label: Some("session start"),
        created_at: info.created,
        run_id: None,
        parent_checkpoint_id: None,
        workflow: "",
        nodes: &[],
        status: "finished",
    }
}

fn entry<'a>(checkpoint: &'a Checkpoint, start: &'a CheckpointId) -> CheckpointEntry<'a> {
    CheckpointEntry {
        id: &checkpoint.id,
        session_id: &checkpoint.session,
        turn_index: checkpoint.turn,
        label: checkpoint.label.as_deref(),
        created_at: checkpoint.created_at,
        run_id: Some(&checkpoint.run),
        parent_checkpoint_id: Some(checkpoint.parent.as_ref().unwrap_or(start)),
        workflow: &checkpoint.workflow,
        nodes: &checkpoint.position,
        status: checkpoint.status.as_str(),
    }
}

fn entry_or_beginning<'a>(
    checkpoint: Option<&'a Checkpoint>,
    info: &'a SessionInfo,
    start: &'a CheckpointId,
) -> CheckpointEntry<'a> {
    checkpoint.map_or_else(|| beginning(info, start), |checkpoint| entry(checkpoint, start))
}

async fn standing_at(session: &Session, id: Option<&CheckpointId>) -> Result<Option<Checkpoint>, ApiError> {
    Ok(match id {
        Some(id) => Some(session.checkpoint(id).await?),
        None => None,
    })
}

/// The open questions of a session without an active run. Questions of a checkpoint that was restored are open again.
async fn open(context: &ChatContext, session: &Session) -> Result<Vec<OpenQuestion>, ApiError> {
    session.settled().await?;
    match session.info().await?.waiting {
        Some(run) => Ok(context.served.agent.open_questions(&run).await?),
        None => Ok(Vec::new()),
    }
}

fn pending(open: &[OpenQuestion]) -> Vec<PendingQuestion<'_>> {
    open.iter()
        .filter_map(|question| {
            let kind = match (question.interrupt(), question.approval()) {
                (Some(interrupt), _) => PendingKind::Interrupt(interrupt),
                (None, Some((tool, input))) => PendingKind::Approval {
                    request: &question.request,
                    tool,
                    input,
                    signature: question.token().unwrap_or_default(),
                },
                (None, None) => return None,
            };
            Some(PendingQuestion { run: &question.run, node: &question.node, asked: question.asked, kind })
        })
        .collect()
}

/// The session and checkpoint for a request that names only the checkpoint; `None` is the start.
async fn found(
    context: &ChatContext,
    id: &CheckpointId,
) -> Result<(Session, Option<CheckpointId>), ApiError> {
    let Some(name) = id.as_str().strip_prefix(START) else {
        return Ok((session_of(context, id).await?, Some(id.clone())));
    };
    let session = context.session(name);
    match session.info().await {
        Ok(_) => Ok((session, None)),
        Err(error) if matches!(error.kind(), ErrorKind::UnknownSession | ErrorKind::Foreign) => {
            Err(ApiError::no_checkpoint())
        }
        Err(error) => Err(error.into()),
    }
}

/// The session of a checkpoint, for a request that names the checkpoint alone.
async fn session_of(context: &ChatContext, checkpoint: &CheckpointId) -> Result<Session, ApiError> {
    let session = context.served.agent.session_of_checkpoint(checkpoint).await?;
    let session = context.session(session.as_str());
    match session.info().await {
        Ok(_) => Ok(session),
        Err(error) if matches!(error.kind(), ErrorKind::UnknownSession | ErrorKind::Foreign) => {
            Err(ApiError::no_checkpoint())
        }
        Err(error) => Err(error.into()),
    }
}
