//! Continues from an answer that the request names: in its session if it is the newest there, otherwise in a fork.
//! Other conversations that continue from the same answer are not affected.

use headwater_dialects::AnswerRef;
use headwater_protocol::{CheckpointId, SessionId};
use headwater_runtime::{ErrorKind, Session, SessionView, Turn, TurnHandle, WhenBusy};

use super::ChatContext;
use crate::{ApiError, Principal, agents::ServedAgent};

/// The session of an answer that a request continues from.
pub(super) async fn session_of(
    served: &ServedAgent,
    principal: &Principal,
    previous: &AnswerRef,
) -> Result<SessionId, ApiError> {
    let summary = match served.agent.run(previous.run.clone()).summary().await {
        Err(error) if error.kind() == ErrorKind::UnknownRun => return Err(unknown()),
        summary => summary?,
    };
    if summary.owner.as_deref() != Some(principal.id()) {
        return Err(unknown());
    }
    if summary.agent != served.agent.name() {
        let message = format!(
            "the answer is of agent `{}`, not of `{}`: continue with that agent, or begin a new conversation",
            summary.agent, served.name
        );
        return Err(ApiError::conflict("session.other-agent", message));
    }
    summary.session.ok_or_else(unknown)
}

/// The session in which the conversation continues.
pub(super) async fn at(
    context: &ChatContext,
    session: SessionView,
    previous: &AnswerRef,
) -> Result<SessionView, ApiError> {
    // A repeated request: its turn may be in a fork.
    if let Some(name) = context.derived_session_id().await? {
        match context.session(&name).view().await {
            Ok(fork) => return Ok(fork),
            Err(error) if matches!(error.kind(), ErrorKind::UnknownSession | ErrorKind::Foreign) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let info = session.info();
    match checkpoint(&session, previous).await? {
        Some(_) if session.sent_before(&context.request_keys()).await?.is_some() => Ok(session),
        Some(found) if info.going.is_none() && info.checkpoint.as_ref() == Some(&found) => Ok(session),
        Some(found) => Ok(fork(context, session.session(), &found).await?.view().await?),
        // It is not complete yet: the next turn waits for it.
        None if info.going.as_ref() == Some(&previous.run) => Ok(session),
        None => Err(unknown()),
    }
}

/// Sends a turn after an answer, unless another turn was added in between.
pub(super) async fn send(
    context: &ChatContext,
    session: SessionView,
    previous: &AnswerRef,
    turn: Turn,
) -> Result<TurnHandle, ApiError> {
    if session.info().going.as_ref() == Some(&previous.run) {
        return Ok(session.send(turn.when_busy(WhenBusy::Queue)).await?);
    }
    let unseen = session.session().clone();
    match session.send(turn.clone().when_busy(WhenBusy::Refuse)).await {
        Err(error) if error.kind() == ErrorKind::SessionBusy => {
            let session = unseen.view().await?;
            let found = checkpoint(&session, previous).await?.ok_or_else(unknown)?;
            Ok(fork(context, &unseen, &found).await?.send(turn).await?)
        }
        sent => Ok(sent?),
    }
}

/// Where an answer ended: the first checkpoint of its run after the answers before it.
async fn checkpoint(session: &SessionView, previous: &AnswerRef) -> Result<Option<CheckpointId>, ApiError> {
    let known = session.checkpoints_of(&previous.run).await?;
    let of_answer = known.into_iter().filter(|it| it.seq > previous.since);
    Ok(of_answer.min_by_key(|it| it.seq).map(|it| it.id))
}

async fn fork(context: &ChatContext, session: &Session, at: &CheckpointId) -> Result<Session, ApiError> {
    let name = context.derived_session_id().await?;
    match session.fork(at, name.as_deref()).await {
        // Created by a concurrent copy of the request.
        Err(error) if error.kind() == ErrorKind::SessionExists => {
            Ok(context.session(name.as_deref().unwrap_or_default()))
        }
        forked => Ok(forked?),
    }
}

pub(super) fn unknown() -> ApiError {
    let message = "unknown answer to continue from, or it is not yours: begin a new conversation";
    ApiError::not_found("previous.unknown", message)
}
