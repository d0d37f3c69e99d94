//! Ids chosen or repeated by a client: sessions, runs, messages, checkpoints, questions, keys, names of
//! agents.

use axum::{
    extract::{FromRequestParts as _, RawPathParams, rejection::RawPathParamsRejection},
    http::request::Parts,
};
use headwater_dialects::{Action, ChatRequest, CheckpointAction};
use headwater_protocol::{MessageId, RunId, SessionId};

use crate::ApiError;

/// The longest id, in bytes. Ids become parts of keys in the store, of headers and of log lines.
pub(crate) const LONGEST: usize = 256;

/// Refuses an id that is empty, too long, or has control characters.
pub(crate) fn check(what: &str, id: &str) -> Result<(), ApiError> {
    if id.is_empty() {
        return Err(invalid(what, "it is empty"));
    }
    check_unless_empty(what, id)
}

/// The same, if an empty id stands for a missing one.
pub(crate) fn check_unless_empty(what: &str, id: &str) -> Result<(), ApiError> {
    if id.len() > LONGEST {
        return Err(invalid(what, &format!("it has {} bytes, at most {LONGEST} are allowed", id.len())));
    }
    if id.chars().any(char::is_control) {
        return Err(invalid(what, "it has a control character"));
    }
    Ok(())
}

/// Checks the ids that are present; fails on the first invalid one.
pub(crate) fn check_all<'a>(
    ids: impl IntoIterator<Item = (&'static str, Option<&'a str>)>,
) -> Result<(), ApiError> {
    ids.into_iter().try_for_each(|(what, id)| id.map_or(Ok(()), |id| check(what, id)))
}

fn invalid(what: &str, why: &str) -> ApiError {
    ApiError::bad("id.invalid", format!("invalid `{what}`: {why}"))
}

/// Checks the ids in a request's path and headers.
pub(crate) async fn check_parts(parts: &mut Parts) -> Result<(), ApiError> {
    match RawPathParams::from_request_parts(parts, &()).await {
        Ok(params) => {
            for (name, value) in &params {
                match name {
                    // Ids and words added by the dialect's client, and the paths of streams.
                    "rest" | "path" | "stream" => {
                        value.split('/').try_for_each(|part| check_unless_empty("path", part))?;
                    }
                    name => check(name, value)?,
                }
            }
        }
        Err(RawPathParamsRejection::InvalidUtf8InPathParam(error)) => {
            return Err(ApiError::bad("path.invalid", format!("the path cannot be read: {error}")));
        }
        Err(_) => {}
    }
    for name in ["x-run-id", "idempotency-key"] {
        if let Some(id) = parts.headers.get(name).and_then(|value| value.to_str().ok()) {
            check_unless_empty(name, id)?;
        }
    }
    Ok(())
}

/// Checks the ids in a dialect's request. An empty id means none: pages send it where they have none yet.
pub(crate) fn check_chat(chat: &ChatRequest) -> Result<(), ApiError> {
    let single = [
        ("session", chat.session.as_ref().map(SessionId::as_str)),
        ("run", chat.run.as_ref().map(RunId::as_str)),
        ("previous", chat.previous.as_ref().map(|previous| previous.run.as_str())),
        ("parentRun", chat.parent_run.as_ref().map(RunId::as_str)),
        ("message", chat.message.as_ref().map(MessageId::as_str)),
        ("workflow", chat.workflow.as_deref()),
        ("idempotencyKey", chat.idempotency_key.as_deref()),
    ];
    let messages = chat.messages.iter().map(|message| ("message id", message.id.as_str()));
    let results = chat.tool_results.iter().map(|result| ("tool call", result.call.as_str()));
    let approvals = chat.approvals.iter().flat_map(|given| {
        let call = given.call.as_ref().map(|call| ("tool call", call.as_str()));
        [Some(("approval", given.approval.as_str())), call].into_iter().flatten()
    });
    let answers = chat.answers.iter().map(|given| ("request", given.request.as_str()));
    let all = single.into_iter().filter_map(|(what, id)| Some((what, id?)));
    let mut all = all.chain(messages).chain(results).chain(approvals).chain(answers);
    all.try_for_each(|(what, id)| check_unless_empty(what, id))?;
    match &chat.action {
        Action::Checkpoint(CheckpointAction::Get(id) | CheckpointAction::Rollback(id)) => {
            check_unless_empty("checkpoint", id.as_str())
        }
        Action::Checkpoint(CheckpointAction::Fork { checkpoint, session }) => {
            check_unless_empty("checkpoint", checkpoint.as_str())?;
            session.as_ref().map_or(Ok(()), |id| check_unless_empty("session", id.as_str()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_is_refused_when_empty_long_or_with_control_characters() {
        for id in ["a", ":r0:", "tenant/chat 1", "é😀", &"x".repeat(LONGEST)] {
            assert!(check("session", id).is_ok(), "{id}");
        }
        for id in ["", "a\nb", "\0", "\u{85}", "\u{1b}[0m", &"x".repeat(LONGEST + 1)] {
            assert_eq!(check("session", id).unwrap_err().code(), "id.invalid", "{id:?}");
        }
    }
}
