//! Before any route: who is asking, and may they.

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};

use crate::{ApiError, Server};

/// Finds out who is asking.
pub(crate) async fn authenticate(
    State(server): State<Server>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    let principal = server.options().authenticator.authenticate(&parts).await?;
    parts.extensions.insert(principal);
    Ok(next.run(Request::from_parts(parts, body)).await)
}
