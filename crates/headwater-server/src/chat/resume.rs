//! Resuming the stream of a run, and stopping a run.

use axum::{
    Json,
    response::{IntoResponse as _, Response},
};
use headwater_dialects::RequestCursor;
use headwater_protocol::RunId;
use headwater_runtime::{ErrorKind, Run, RunSummary};
use serde_json::json;

use super::{
    ChatContext,
    aliases::{self, ResponseAlias},
    answers::{reenters_by_snapshot, repeat_response},
    respond, turn,
};
use crate::{
    ApiError,
    follow::{ReadFrom, run_of_cursor},
    stop::ended_by_stop,
    stream_response::Attachment,
};

/// The run to resume and the position in it; `None` if there is no stream to resume.
pub(super) async fn place(context: &ChatContext) -> Result<Option<Attachment>, ApiError> {
    let Some((run, known)) = find(context).await? else { return Ok(None) };
    let summary = owned(context, &run).await?;
    if context.chat.cursor.is_none() && !context.dialect.resumes_ended_runs() && is_old(context, &summary) {
        return Ok(None);
    }
    // The run may have lost its driver in a crash: ensures one before anything is streamed.
    context.served.agent.ensure_driven(run.id()).await?;
    let since = match &context.chat.answer {
        Some(answer) => answer.since,
        None => known.map_or(0, |known| known.since),
    };
    let from = match &context.chat.cursor {
        Some(RequestCursor::Start) | None if since > 0 || reenters_by_snapshot(context) => {
            repeat_response(context, since)
        }
        Some(cursor) => ReadFrom::cursor(&run, cursor, since).await?,
        None => ReadFrom::Reentry,
    };
    let mut attachment = Attachment::at(run, from);
    attachment.names = turn::names(context, &attachment);
    Ok(Some(attachment))
}

/// Stops the requested run.
pub(super) async fn stop(context: &ChatContext) -> Result<Response, ApiError> {
    let Some((run, _)) = find(context).await? else {
        return Err(ApiError::not_found("run.unknown", "there is no active run to stop"));
    };
    owned(context, &run).await?;
    if context.dialect.stop_gives_answer() {
        return stop_answer(context, run).await;
    }
    match context.served.agent.stop(run.id(), Some("the page asked for it")).await {
        Ok(run) => {
            let stopped = ended_by_stop(&run).await?;
            Ok(Json(json!({ "run": run.id(), "stopped": stopped })).into_response())
        }
        // An ended run needs no stop.
        Err(error) if error.kind() == ErrorKind::Ended => {
            Ok(Json(json!({ "run": run.id(), "stopped": false })).into_response())
        }
        Err(error) => Err(error.into()),
    }
}

/// Stops the run of an answer, unless the answer is complete: the run may be producing another one then.
async fn stop_answer(context: &ChatContext, run: Run) -> Result<Response, ApiError> {
    let since = context.chat.answer.as_ref().map_or(0, |answer| answer.since);
    let mut attachment = Attachment::at(run, ReadFrom::response(since));
    attachment.names = turn::names(context, &attachment);
    if !respond::is_complete(&attachment).await? {
        match context.served.agent.stop(attachment.run.id(), Some("the page asked for it")).await {
            Ok(run) => drop(ended_by_stop(&run).await?),
            Err(error) if error.kind() == ErrorKind::Ended => {}
            Err(error) => return Err(error.into()),
        }
    }
    respond::document(context, &attachment).await
}

/// The requested run: by id, by a cursor, or as the newest of its session.
async fn find(context: &ChatContext) -> Result<Option<(Run, Option<ResponseAlias>)>, ApiError> {
    let agent = &context.served.agent;
    if let Some(RequestCursor::EventId(cursor)) = &context.chat.cursor {
        let run = RunId::from(run_of_cursor(agent, cursor).await?);
        return Ok(Some((agent.run(run), None)));
    }
    if let Some(run) = &context.chat.run {
        let known = aliases::find(agent, context.owner(), &format!("run:{run}")).await?;
        let id = known.as_ref().map_or_else(|| run.clone(), |known| known.run.clone());
        return Ok(Some((agent.run(id), known)));
    }
    let Some(session) = &context.chat.session else {
        return Err(ApiError::bad("run.missing", "name the run or the session to resume"));
    };
    match context.session(session.as_str()).info().await {
        Ok(info) => Ok(info.last_run.map(|run| (agent.run(run), None))),
        Err(error) if matches!(error.kind(), ErrorKind::UnknownSession | ErrorKind::Foreign) => {
            // Some pages send a run id in place of a session id.
            let run = agent.run(session.as_str());
            match run.summary().await {
                Ok(summary) => Ok(is_own(context, &summary).then_some((run, None))),
                Err(error) if error.kind() == ErrorKind::UnknownRun => Ok(None),
                Err(error) => Err(error.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// The metadata of a run of the caller.
async fn owned(context: &ChatContext, run: &Run) -> Result<RunSummary, ApiError> {
    let summary = run.summary().await?;
    if is_own(context, &summary) { Ok(summary) } else { Err(ApiError::no_run()) }
}

/// Whether a run belongs to the agent and to the caller.
fn is_own(context: &ChatContext, summary: &RunSummary) -> bool {
    summary.owner.as_deref() == Some(context.owner()) && summary.agent == context.served.agent.name()
}

/// Whether a run ended so long ago that its page loads it as history instead.
pub(super) fn is_old(context: &ChatContext, summary: &RunSummary) -> bool {
    let kept = u64::try_from(context.server.options().replay.as_millis()).unwrap_or(u64::MAX);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
    summary.ended.is_some() && now.saturating_sub(summary.updated) > kept
}
