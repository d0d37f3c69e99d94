//! Errors in the form that the clients of a route read, wherever the error came from.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
    http::header,
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use headwater_dialects::{Dialect, RouteBase};

use crate::{ApiError, Server};

/// Writes an error as the dialect of the route does.
pub(crate) async fn errors_in_dialect(
    State(server): State<Server>,
    request: Request,
    next: Next,
) -> Response {
    let dialect = dialect_of(&server, request.uri().path());
    let response = next.run(request).await;
    let error = response.extensions().get::<Arc<ApiError>>().cloned();
    let document = error.and_then(|error| error.document_of(dialect?));
    let Some(document) = document else { return response };
    let (mut parts, _) = response.into_parts();
    let (written, body) = Json(document).into_response().into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.extend(written.headers);
    Response::from_parts(parts, body)
}

/// The dialect that a path belongs to.
fn dialect_of(server: &Server, path: &str) -> Option<&'static dyn Dialect> {
    let below =
        |base: &str| path.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    headwater_dialects::CHAT.iter().copied().find(|dialect| {
        let own = dialect.routes().iter().any(|route| {
            let path = route.path.split("/{").next().unwrap_or_default();
            match route.base {
                RouteBase::Version => below(&format!("/v1/{path}")),
                RouteBase::Dialect | RouteBase::DialectAndAgent(_) => {
                    below(&format!("/v1/{}", dialect.name()))
                }
            }
        });
        let mut given = server.options().paths.iter().filter(|(name, _)| *name == dialect.name());
        own || given.any(|(_, paths)| paths.iter().any(|given| below(given.path.trim_end_matches('/'))))
    })
}
