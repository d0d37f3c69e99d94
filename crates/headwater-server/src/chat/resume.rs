//! Coming back to a run, and stopping one.

use axum::{
    Json,
    response::{IntoResponse as _, Response},
};
use headwater_dialects::RequestCursor;
use headwater_protocol::RunId;
use headwater_runtime::{ErrorKind, Run, RunSummary};
use serde_json::json;

use super::{
    Asked, Placed,
    answers::{begin_again, tells_by_snapshot},
    known::{self, Known},
    respond, turn,
};
use crate::{
    ApiError, control,
    follow::{From, run_of_cursor},
};

/// The run that a page comes back to, and where it goes on; none if there is nothing to come back to.
pub(super) async fn place(asked: &Asked) -> Result<Option<Placed>, ApiError> {
    let Some((run, known)) = find(asked).await? else { return Ok(None) };
    let summary = owned(asked, &run).await?;
    if asked.chat.cursor.is_none() && !asked.dialect.resumes_ended_runs() && is_old(asked, &summary) {
        return Ok(None);
    }
    // Nobody may be driving it since its process died: it goes on before anyone is told about it.
    asked.served.agent.take_up(run.id()).await?;
    let since = match &asked.chat.answer {
        Some(answer) => answer.since,
        None => known.map_or(0, |known| known.since),
    };
    let from = match &asked.chat.cursor {
        Some(RequestCursor::Start) | None if since > 0 || tells_by_snapshot(asked) => {
            begin_again(asked, since)
        }
        Some(cursor) => From::cursor(&run, cursor, since).await?,
        None => From::Reentry,
    };
    let mut placed = Placed::at(run, from);
    placed.names = turn::names(asked, &placed);
    Ok(Some(placed))
}

/// Stops the run that a request names.
pub(super) async fn stop(asked: &Asked) -> Result<Response, ApiError> {
    let Some((run, _)) = find(asked).await? else {
        return Err(ApiError::not_found("run.unknown", "nothing goes on that could be stopped"));
    };
    owned(asked, &run).await?;
    if asked.dialect.stop_gives_answer() {
        return stop_answer(asked, run).await;
    }
    match asked.served.agent.stop(run.id(), Some("the page asked for it")).await {
        Ok(run) => {
            let stopped = control::ended_by_stop(&run).await?;
            Ok(Json(json!({ "run": run.id(), "stopped": stopped })).into_response())
        }
        // What has ended needs no stopping.
        Err(error) if error.kind() == ErrorKind::Ended => {
            Ok(Json(json!({ "run": run.id(), "stopped": false })).into_response())
        }
        Err(error) => Err(error.into()),
    }
}

/// Stops the run of an answer, unless the answer is complete: then the run may go on with another one.
async fn stop_answer(asked: &Asked, run: Run) -> Result<Response, ApiError> {
    let since = asked.chat.answer.as_ref().map_or(0, |answer| answer.since);
    let mut placed = Placed::at(run, From::response(since));
    placed.names = turn::names(asked, &placed);
    if !respond::is_complete(&placed).await? {
        match asked.served.agent.stop(placed.run.id(), Some("the page asked for it")).await {
            Ok(run) => drop(control::ended_by_stop(&run).await?),
            Err(error) if error.kind() == ErrorKind::Ended => {}
            Err(error) => return Err(error.into()),
        }
    }
    respond::document(asked, &placed).await
}

/// The run that a request names: itself, by a cursor, or as the newest of its session.
async fn find(asked: &Asked) -> Result<Option<(Run, Option<Known>)>, ApiError> {
    let agent = &asked.served.agent;
    if let Some(RequestCursor::EventId(cursor)) = &asked.chat.cursor {
        let run = RunId::from(run_of_cursor(agent, cursor).await?);
        return Ok(Some((agent.run(run), None)));
    }
    if let Some(run) = &asked.chat.run {
        let known = known::find(agent, asked.owner(), &format!("run:{run}")).await?;
        let id = known.as_ref().map_or_else(|| run.clone(), |known| known.run.clone());
        return Ok(Some((agent.run(id), known)));
    }
    let Some(session) = &asked.chat.session else {
        return Err(ApiError::bad("run.missing", "name the run or the session to come back to"));
    };
    match asked.session(session.as_str()).info().await {
        Ok(info) => Ok(info.last_run.map(|run| (agent.run(run), None))),
        Err(error) if matches!(error.kind(), ErrorKind::UnknownSession | ErrorKind::Foreign) => {
            // Where a page names a run in the place of a session.
            let run = agent.run(session.as_str());
            match run.summary().await {
                Ok(summary) => Ok(is_own(asked, &summary).then_some((run, None))),
                Err(error) if error.kind() == ErrorKind::UnknownRun => Ok(None),
                Err(error) => Err(error.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// What is known about a run that must belong to whoever asks.
async fn owned(asked: &Asked, run: &Run) -> Result<RunSummary, ApiError> {
    let summary = run.summary().await?;
    if is_own(asked, &summary) { Ok(summary) } else { Err(ApiError::no_run()) }
}

/// Whether a run is of the agent, and theirs who ask.
fn is_own(asked: &Asked, summary: &RunSummary) -> bool {
    summary.owner.as_deref() == Some(asked.owner()) && summary.agent == asked.served.agent.name()
}

/// Whether a run ended so long ago that its page has it from elsewhere.
pub(super) fn is_old(asked: &Asked, summary: &RunSummary) -> bool {
    let kept = u64::try_from(asked.server.options().replay.as_millis()).unwrap_or(u64::MAX);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
    summary.ended.is_some() && now.saturating_sub(summary.updated) > kept
}
