//! Changes to a conversation by a page with a list of conversations.

use axum::{
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use headwater_runtime::Session;

use super::ChatContext;
use crate::ApiError;

/// Sets the label of a conversation, archives or unarchives it.
pub(super) async fn change(
    context: &ChatContext,
    label: Option<&str>,
    archived: Option<bool>,
) -> Result<Response, ApiError> {
    named(context)?.change(label, archived).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Deletes a conversation with all its data.
pub(super) async fn delete(context: &ChatContext) -> Result<Response, ApiError> {
    context.served.agent.delete_session(named(context)?.id().clone(), Some(context.owner())).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn named(context: &ChatContext) -> Result<Session, ApiError> {
    let id = context.chat.session.as_ref();
    let id = id.ok_or_else(|| ApiError::bad("session.missing", "name the session"))?;
    Ok(context.session(id.as_str()))
}
