//! What is answered with a document: a conversation, the list of them, and what there is about checkpoints.

use axum::{
    Json,
    response::{IntoResponse as _, Response},
};
use headwater_dialects::{
    CheckpointAction, CheckpointEntry, CheckpointReply, HistoryPage, SessionEntry, SessionList,
};
use headwater_protocol::{CheckpointId, Message, RunId, RunState, RunStatus};
use headwater_runtime::{Agent, ErrorKind, Session, SessionInfo};
use serde_json::Value;

use super::{Asked, resume::is_old};
use crate::{ApiError, sessions};

/// How many turns a page of a conversation has, if nothing else is asked for.
const TURNS: usize = 100;
/// How many at most.
const MOST: usize = 1_000;

/// The conversation as it stands, in the form in which the dialect's pages keep it.
pub(super) async fn conversation(asked: &Asked) -> Result<Response, ApiError> {
    let Some(id) = &asked.chat.session else {
        return Err(ApiError::bad("session.missing", "name the session"));
    };
    let session = asked.session(id.as_str());
    let mut seen: Option<(SessionInfo, Value)> = None;
    loop {
        let info = match session.info().await {
            Ok(info) => info,
            // A conversation that has not begun is empty: a page asks for it before anyone says something. So is another's.
            Err(error) if matches!(error.kind(), ErrorKind::UnknownSession | ErrorKind::Foreign) => {
                return Ok(Json(asked.dialect.history(&HistoryPage::default())).into_response());
            }
            Err(error) => return Err(error.into()),
        };
        match seen {
            Some((known, document)) if known == info => return Ok(Json(document).into_response()),
            // It went on while it was read: what was going then may be in the history now, or the other way round.
            _ => seen = Some((info.clone(), read(asked, &session, &info).await?)),
        }
    }
}

/// The conversation of a session that stands where `info` says.
async fn read(asked: &Asked, session: &Session, info: &SessionInfo) -> Result<Value, ApiError> {
    let number = |key: &str| asked.chat.context.get(key).and_then(Value::as_str)?.parse::<u64>().ok();
    let before = number("before").or_else(|| number("cursor"));
    let limit = number("limit").map_or(TURNS, |limit| usize::try_from(limit).unwrap_or(MOST).clamp(1, MOST));
    let page = session.history(None, before, limit).await?;
    let mut messages = page.messages;
    if before.is_none() {
        add_unanswered(&asked.served.agent, info, &mut messages).await?;
    }
    let messages = asked.served.shown(messages);
    let (run, waiting) = match asked.dialect.history_names_run() {
        true => (active(asked, info).await?, waiting(asked, info).await?),
        false => (None, None),
    };
    let waiting = waiting.as_ref().map(|(run, state)| (*run, state));
    Ok(asked.dialect.history(&HistoryPage { messages: &messages, before: page.before, run, waiting }))
}

/// Adds the message that is being answered: it enters the history together with its answer.
pub(crate) async fn add_unanswered(
    agent: &Agent,
    info: &SessionInfo,
    messages: &mut Vec<Message>,
) -> Result<(), ApiError> {
    let Some(run) = &info.going else { return Ok(()) };
    let asked = agent.run(run.clone()).conversation().await?.pop();
    // A run that was resumed by an answer has its message in the history already.
    messages.extend(asked.filter(|asked| messages.iter().all(|message| message.id != asked.id)));
    Ok(())
}

/// The run that a page has to follow: one that goes on or waits, or that failed a moment ago, which messages do not tell.
async fn active<'a>(asked: &Asked, info: &'a SessionInfo) -> Result<Option<&'a RunId>, ApiError> {
    if let Some(run) = info.going.as_ref().or(info.waiting.as_ref()) {
        return Ok(Some(run));
    }
    let Some(last) = &info.last_run else { return Ok(None) };
    let run = asked.served.agent.run(last.clone());
    match run.summary().await {
        Ok(summary) if !is_old(asked, &summary) => {}
        Err(error) if error.kind() != ErrorKind::UnknownRun => return Err(error.into()),
        _ => return Ok(None),
    }
    let failed = run.outcome().await?.state.run().status == RunStatus::Failed;
    Ok(failed.then_some(last))
}

/// The run that waits for an answer, with its state. A run whose answer has arrived counts as active: the page joins it instead.
async fn waiting<'a>(
    asked: &Asked,
    info: &'a SessionInfo,
) -> Result<Option<(&'a RunId, RunState)>, ApiError> {
    let Some(id) = &info.waiting else { return Ok(None) };
    if asked.served.agent.has_mail(id).await? {
        return Ok(None);
    }
    Ok(Some((id, asked.served.agent.run(id.clone()).outcome().await?.state)))
}

/// The conversations of the caller.
pub(super) async fn conversations(asked: &Asked) -> Result<Response, ApiError> {
    let cursor = asked.chat.context.get("cursor").and_then(Value::as_str);
    let page = asked.served.agent.sessions(Some(asked.owner()), cursor, TURNS).await?;
    let sessions = page.sessions.iter().map(|session| SessionEntry {
        id: &session.id,
        title: session.label.as_deref(),
        updated: session.updated,
    });
    let list = SessionList { sessions: sessions.collect(), next: page.next.as_deref() };
    Ok(Json(asked.dialect.session_list(&list)).into_response())
}

/// The answer to a request about checkpoints.
pub(super) async fn checkpoint(asked: &Asked, action: &CheckpointAction) -> Result<Response, ApiError> {
    let reply = |reply: &CheckpointReply<'_>| Json(asked.dialect.checkpoint_reply(reply)).into_response();
    Ok(match action {
        CheckpointAction::List => {
            let Some(id) = &asked.chat.session else {
                return Err(ApiError::bad("session.missing", "name the session"));
            };
            let all = asked.session(id.as_str()).checkpoints(None, MOST).await?;
            reply(&CheckpointReply::List(all.iter().rev().map(entry).collect()))
        }
        CheckpointAction::Get(id) => {
            let session = session_of(asked, id).await?;
            let checkpoint = session.checkpoint(id).await?;
            let state = session.state(Some(id)).await?;
            let structured = sessions::structured(&state);
            let messages = asked.served.shown(state.messages);
            let entry = entry(&checkpoint);
            reply(&CheckpointReply::Checkpoint { entry, messages: &messages, structured })
        }
        CheckpointAction::Rollback(id) => {
            let undone = session_of(asked, id).await?.roll_back(id).await?;
            let (streams, requests) = (&undone.streams, &undone.requests);
            reply(&CheckpointReply::RolledBack { checkpoint: id, streams, requests })
        }
        CheckpointAction::Fork { checkpoint, session } => {
            let name = session.as_ref().map(headwater_protocol::SessionId::as_str);
            let forked = session_of(asked, checkpoint).await?.fork(checkpoint, name).await?;
            reply(&CheckpointReply::Forked { session: forked.id(), checkpoint })
        }
    })
}

fn entry(checkpoint: &headwater_runtime::Checkpoint) -> CheckpointEntry<'_> {
    CheckpointEntry {
        id: &checkpoint.id,
        session_id: &checkpoint.session,
        turn_index: checkpoint.turn,
        label: checkpoint.label.as_deref(),
        created_at: checkpoint.created_at,
        run_id: &checkpoint.run,
        parent_checkpoint_id: checkpoint.parent.as_ref(),
        workflow: &checkpoint.workflow,
        nodes: &checkpoint.position,
        status: checkpoint.status.as_str(),
    }
}

/// The session of a checkpoint, where the page names the checkpoint alone.
async fn session_of(asked: &Asked, checkpoint: &CheckpointId) -> Result<Session, ApiError> {
    let session = asked.served.agent.session_of_checkpoint(checkpoint).await?;
    let session = asked.session(session.as_str());
    match session.info().await {
        Ok(_) => Ok(session),
        Err(error) if matches!(error.kind(), ErrorKind::UnknownSession | ErrorKind::Foreign) => {
            Err(ApiError::no_checkpoint())
        }
        Err(error) => Err(error.into()),
    }
}
