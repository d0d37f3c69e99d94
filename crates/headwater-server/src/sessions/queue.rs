//! The queue of a session: messages that wait behind the active run.

use axum::Json;
use headwater_protocol::RunId;
use headwater_runtime::QueuedMessage;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{EditMessage, Of, OwnSession, documents::SendTurnResponse};
use crate::{
    ApiError,
    extract::{JsonBody, PathParams},
    operation::{AcceptedResponse, NoContent},
    timestamp::Timestamp,
};

/// A message that waits for its turn.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "QueuedMessage", deny_unknown_fields)]
pub(crate) struct QueuedDocument {
    /// The run that will answer it, and its key for edit, remove and send.
    run: String,
    /// The checkpoint that its turn will leave.
    checkpoint: String,
    text: String,
    /// The whole message in the native form, with its files.
    message: Value,
    label: Option<String>,
    queued_at: Timestamp,
}

impl From<QueuedMessage> for QueuedDocument {
    fn from(queued: QueuedMessage) -> Self {
        Self {
            run: queued.run.to_string(),
            checkpoint: queued.checkpoint.to_string(),
            text: queued.message.plain_text(),
            message: json!(queued.message),
            label: queued.label,
            queued_at: Timestamp(queued.queued),
        }
    }
}

/// The queued messages, the next one first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Queue {
    queue: Vec<QueuedDocument>,
}

/// `GET /v1/sessions/{session}/queue`.
pub(crate) async fn list(OwnSession(session, _): OwnSession) -> Result<Json<Queue>, ApiError> {
    Ok(Json(Queue { queue: session.queue().await?.into_iter().map(Into::into).collect() }))
}

/// `POST …/queue/{run}/edit`.
pub(crate) async fn edit(
    OwnSession(session, _): OwnSession,
    PathParams((_, run)): Of,
    JsonBody(EditMessage { text }): JsonBody<EditMessage>,
) -> Result<Json<QueuedDocument>, ApiError> {
    Ok(Json(session.edit_queued(&RunId::from(run), &text).await?.into()))
}

/// `DELETE …/queue/{run}`.
pub(crate) async fn remove(
    OwnSession(session, _): OwnSession,
    PathParams((_, run)): Of,
) -> Result<NoContent, ApiError> {
    session.remove_queued(&RunId::from(run)).await?;
    Ok(NoContent)
}

/// `POST …/queue/{run}/send`.
pub(crate) async fn send_now(
    OwnSession(session, _): OwnSession,
    PathParams((_, run)): Of,
) -> Result<AcceptedResponse<SendTurnResponse>, ApiError> {
    let sent = session.send_queued(&RunId::from(run)).await?;
    Ok(AcceptedResponse(SendTurnResponse::from(&sent)))
}
