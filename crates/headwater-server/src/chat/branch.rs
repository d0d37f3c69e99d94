//! Going on from an answer that the request names: in its session where it is the newest, and in a fork of it otherwise.
//! Others that go on from the same answer are not disturbed, and can go on from theirs.

use headwater_dialects::AnswerRef;
use headwater_protocol::{CheckpointId, SessionId};
use headwater_runtime::{ErrorKind, Sent, Session, Turn, WhenBusy};

use super::{Asked, turn::derived};
use crate::{ApiError, Principal, agents::Served};

/// The session of an answer that a request goes on from.
pub(super) async fn session_of(
    served: &Served,
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
            "the answer is of agent `{}`, not of `{}`: go on with that one, or begin a new conversation",
            summary.agent, served.name
        );
        return Err(ApiError::conflict("session.other-agent", message));
    }
    summary.session.ok_or_else(unknown)
}

/// The session in which the conversation goes on.
pub(super) async fn at(asked: &Asked, session: Session, previous: &AnswerRef) -> Result<Session, ApiError> {
    // The same request again: what it began may be in a fork.
    if let Some(name) = derived(asked).await? {
        let fork = asked.session(&name);
        match fork.info().await {
            Ok(_) => return Ok(fork),
            Err(error) if matches!(error.kind(), ErrorKind::UnknownSession | ErrorKind::Foreign) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let info = session.info().await?;
    match checkpoint(&session, previous).await? {
        Some(_) if session.sent_before(&asked.request_keys()).await?.is_some() => Ok(session),
        Some(found) if info.going.is_none() && info.checkpoint.as_ref() == Some(&found) => Ok(session),
        Some(found) => fork(asked, &session, &found).await,
        // It is not complete yet: what comes next waits for it.
        None if info.going.as_ref() == Some(&previous.run) => Ok(session),
        None => Err(unknown()),
    }
}

/// Sends a turn after an answer. Another one may have come in between, which this one must not come after.
pub(super) async fn send(
    asked: &Asked,
    session: Session,
    previous: &AnswerRef,
    turn: Turn,
) -> Result<Sent, ApiError> {
    if session.info().await?.going.as_ref() == Some(&previous.run) {
        return Ok(session.send(turn.when_busy(WhenBusy::Queue)).await?);
    }
    match session.send(turn.clone().when_busy(WhenBusy::Refuse)).await {
        Err(error) if error.kind() == ErrorKind::SessionBusy => {
            let found = checkpoint(&session, previous).await?.ok_or_else(unknown)?;
            Ok(fork(asked, &session, &found).await?.send(turn).await?)
        }
        sent => Ok(sent?),
    }
}

/// Where an answer ended: the first checkpoint of its run after the answers before it.
async fn checkpoint(session: &Session, previous: &AnswerRef) -> Result<Option<CheckpointId>, ApiError> {
    let known = session.checkpoints_of(&previous.run).await?;
    let of_answer = known.into_iter().filter(|it| it.seq > previous.since);
    Ok(of_answer.min_by_key(|it| it.seq).map(|it| it.id))
}

async fn fork(asked: &Asked, session: &Session, at: &CheckpointId) -> Result<Session, ApiError> {
    let name = derived(asked).await?;
    match session.fork(at, name.as_deref()).await {
        // Begun by the same request at the same time.
        Err(error) if error.kind() == ErrorKind::SessionExists => {
            Ok(asked.session(name.as_deref().unwrap_or_default()))
        }
        forked => Ok(forked?),
    }
}

pub(super) fn unknown() -> ApiError {
    let message = "there is no such answer to go on from, or it is not yours: begin a new conversation";
    ApiError::not_found("previous.unknown", message)
}
