//! What a page with a list of conversations does to one of them.

use axum::{
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use headwater_runtime::Session;

use super::Asked;
use crate::ApiError;

/// Gives a conversation another label, archives it or brings it back.
pub(super) async fn change(
    asked: &Asked,
    label: Option<&str>,
    archived: Option<bool>,
) -> Result<Response, ApiError> {
    named(asked)?.change(label, archived).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Deletes a conversation with all that belongs to it.
pub(super) async fn delete(asked: &Asked) -> Result<Response, ApiError> {
    asked.served.agent.delete_session(named(asked)?.id().clone(), Some(asked.owner())).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn named(asked: &Asked) -> Result<Session, ApiError> {
    let id = asked.chat.session.as_ref();
    let id = id.ok_or_else(|| ApiError::bad("session.missing", "name the session"))?;
    Ok(asked.session(id.as_str()))
}
