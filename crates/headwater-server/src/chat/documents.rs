//! What is answered with a document: a conversation, the list of them, and what there is about checkpoints.

use axum::{
    Json,
    response::{IntoResponse as _, Response},
};
use headwater_protocol::{CheckpointAction, CheckpointId, Message, RunId, RunStatus, rfc3339};
use headwater_runtime::{Agent, ErrorKind, Session, SessionInfo};
use serde_json::{Value, json};

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
                return Ok(Json(document(asked, &[], Following::default(), None)).into_response());
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
    let following = match asked.dialect.habits().joins_runs {
        true => Following { run: active(asked, info).await?, interrupts: interrupts(asked, info).await? },
        false => Following::default(),
    };
    Ok(document(asked, &messages, following, page.before))
}

/// What goes on in a conversation.
#[derive(Default)]
struct Following<'a> {
    run: Option<&'a RunId>,
    interrupts: Value,
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
    match run.meta().await {
        Ok(meta) if !is_old(asked, &meta) => {}
        Err(error) if error.kind() != ErrorKind::UnknownRun => return Err(error.into()),
        _ => return Ok(None),
    }
    let failed = run.outcome().await?.state.run().status == RunStatus::Failed;
    Ok(failed.then_some(last))
}

/// A part of a conversation; there is more `before`.
fn document(asked: &Asked, messages: &[Message], following: Following<'_>, before: Option<u64>) -> Value {
    let messages: Vec<_> = messages.iter().map(|message| asked.dialect.page_message(message)).collect();
    let Following { run, interrupts } = following;
    let cursor = before.map(|before| before.to_string());
    let joins = asked.dialect.habits().joins_runs;
    match (joins, cursor) {
        (false, None) => json!({ "messages": messages, "hasMore": false }),
        (false, Some(cursor)) => json!({ "messages": messages, "hasMore": true, "cursor": cursor }),
        (true, cursor) => {
            let active = run.map(|run| json!({ "runId": run }));
            let page = cursor.map(|cursor| json!({ "truncated": true, "cursor": cursor }));
            let fields =
                [("messages", json!(messages)), ("activeRun", json!(active)), ("interrupts", interrupts)];
            fields.into_iter().chain(page.map(|page| ("page", page))).collect()
        }
    }
}

/// What the session waits for, as the dialect's stream says it.
async fn interrupts(asked: &Asked, info: &SessionInfo) -> Result<Value, ApiError> {
    let Some(id) = &info.waiting else { return Ok(Value::Null) };
    // What was answered and not yet taken up is no wait to whoever comes back: the page joins the run instead.
    if asked.served.agent.has_mail(id).await? {
        return Ok(Value::Null);
    }
    let run = asked.served.agent.run(id.clone());
    let pending = asked.dialect.pending_interrupts(&run.outcome().await?.state, id.as_str());
    Ok(json!({ "runId": id, "pending": pending }))
}

/// The conversations of whoever asks.
pub(super) async fn conversations(asked: &Asked) -> Result<Response, ApiError> {
    let cursor = asked.chat.context.get("cursor").and_then(Value::as_str);
    let page = asked.served.agent.sessions(Some(asked.owner()), cursor, TURNS).await?;
    let conversations: Vec<_> = page
        .sessions
        .iter()
        .map(|session| {
            json!({ "id": session.id, "title": session.label, "lastMessageAt": rfc3339(session.updated) })
        })
        .collect();
    let more = page.next.is_some();
    Ok(Json(json!({ "conversations": conversations, "cursor": page.next, "hasMore": more })).into_response())
}

/// Something about checkpoints, in Kortyx' words.
pub(super) async fn checkpoint(asked: &Asked, action: &CheckpointAction) -> Result<Response, ApiError> {
    match action {
        CheckpointAction::List => {
            let Some(id) = &asked.chat.session else {
                return Err(ApiError::bad("session.missing", "name the session"));
            };
            let mut all = asked.session(id.as_str()).checkpoints(None, MOST).await?;
            all.reverse();
            let all: Vec<_> = all.iter().map(summary).collect();
            Ok(Json(all).into_response())
        }
        CheckpointAction::Get(id) => {
            let session = session_of(asked, id).await?;
            let checkpoint = session.checkpoint(id).await?;
            let state = session.state(Some(id)).await?;
            let mut document = summary(&checkpoint);
            if let Value::Object(fields) = &mut document {
                fields.insert("structured".to_owned(), sessions::structured(&state));
                let messages = asked.served.shown(state.messages);
                let messages: Vec<_> =
                    messages.iter().map(|message| asked.dialect.page_message(message)).collect();
                fields.insert("messages".to_owned(), json!(messages));
            }
            Ok(Json(document).into_response())
        }
        CheckpointAction::Rollback(id) => {
            let undone = session_of(asked, id).await?.roll_back(id).await?;
            Ok(Json(json!({
                "checkpointId": id,
                "invalidatedStreamIds": undone.streams,
                "invalidatedRequestIds": undone.requests,
            }))
            .into_response())
        }
        CheckpointAction::Fork { checkpoint, session } => {
            let name = session.as_ref().map(headwater_protocol::SessionId::as_str);
            let forked = session_of(asked, checkpoint).await?.fork(checkpoint, name).await?;
            Ok(Json(json!({ "sessionId": forked.id(), "checkpointId": checkpoint })).into_response())
        }
    }
}

/// A checkpoint in Kortyx' words.
fn summary(checkpoint: &headwater_runtime::Checkpoint) -> Value {
    json!({
        "id": checkpoint.id,
        "sessionId": checkpoint.session,
        "turnIndex": checkpoint.turn,
        "label": checkpoint.label,
        "createdAt": checkpoint.created_at,
        "runId": checkpoint.run,
        "parentCheckpointId": checkpoint.parent,
        "workflow": checkpoint.workflow,
        "nodes": checkpoint.position,
        "status": checkpoint.status,
    })
}

/// The session of a checkpoint, which Kortyx' page does not name.
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
