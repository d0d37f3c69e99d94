//! What is answered with a document: a conversation, the list of them, and what there is about checkpoints.

use axum::{
    Json,
    response::{IntoResponse as _, Response},
};
use headwater_protocol::{CheckpointAction, ui_message};
use serde_json::json;

use super::Asked;
use crate::ApiError;

/// How many turns a page of a conversation has.
const TURNS: usize = 100;

/// The conversation as it stands.
pub(super) async fn conversation(asked: &Asked) -> Result<Response, ApiError> {
    let Some(session) = &asked.chat.session else {
        return Err(ApiError::bad("session.missing", "name the session"));
    };
    let session = asked.session(session.as_str());
    let page = session.history(None, None, TURNS).await?;
    let info = session.info().await?;
    let messages: Vec<_> = page.messages.iter().map(ui_message::write).collect();
    let run = info.going.or(info.waiting);
    Ok(Json(json!({
        "messages": messages,
        "activeRun": run.map(|run| json!({ "runId": run })),
        "interrupts": null,
    }))
    .into_response())
}

/// The conversations of whoever asks.
pub(super) async fn conversations(asked: &Asked) -> Result<Response, ApiError> {
    let page = asked.served.agent.sessions(Some(asked.owner()), None, TURNS).await?;
    let conversations: Vec<_> = page
        .sessions
        .iter()
        .map(|session| json!({ "id": session.id, "title": session.label, "lastMessageAt": session.updated }))
        .collect();
    Ok(Json(json!({ "conversations": conversations, "cursor": page.next })).into_response())
}

/// Something about checkpoints, in Kortyx' words.
pub(super) async fn checkpoint(_asked: &Asked, _action: &CheckpointAction) -> Result<Response, ApiError> {
    Err(ApiError::bad("request.invalid", "not here"))
}
