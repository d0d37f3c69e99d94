//! The Durable Streams protocol: the runs of a server as streams, and the callers' own streams if the options
//! enable them.

mod run_stream;

use axum::{
    Extension, Router,
    body::Body,
    extract::{DefaultBodyLimit, Request, State},
    http::Uri,
    middleware::{self, Next},
    response::Response,
    routing::get,
};
use futures_util::StreamExt as _;
use headwater_durable_streams::{MOUNT, StreamOwner};

use crate::{ApiError, Principal, Server};

/// The routes for authenticated callers.
pub(crate) fn guarded_routes(server: &Server) -> Router<Server> {
    let mut streams = Router::new();
    if let Some(durable) = &server.options().durable_streams {
        // Bodies were measured before.
        streams =
            streams.merge(headwater_durable_streams::router(durable)).layer(DefaultBodyLimit::disable());
    }
    Router::new()
        .route("/v1/streams/runs/{run}", get(run_stream::read).head(run_stream::inspect))
        .merge(streams.with_state(()))
        .route_layer(middleware::from_fn_with_state(server.clone(), admit_reader))
}

/// The routes whose requests carry a token of their own.
pub(crate) fn open_routes(server: &Server) -> Router<Server> {
    let durable = server.options().durable_streams.as_ref();
    durable.map_or_else(Router::new, |durable| headwater_durable_streams::open_router(durable).with_state(()))
}

/// Whether a request is about a stream whose content is its writer's: any bytes, of any type.
pub(crate) fn takes_any_content(uri: &Uri) -> bool {
    let stream = uri.path().strip_prefix(MOUNT);
    stream.is_some_and(|path| !path.starts_with("__ds/"))
}

/// Sets the owner of the streams, and counts a live read as an open stream of the caller.
async fn admit_reader(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let is_live = request.uri().query().is_some_and(|query| query.contains("live="));
    let permit = is_live.then(|| server.may_read(&principal)).transpose()?;
    request.extensions_mut().insert(StreamOwner(principal.id().to_owned()));
    let response = next.run(request).await;
    let Some(permit) = permit else { return Ok(response) };
    let (parts, body) = response.into_parts();
    // The permit lives as long as the body.
    let body = body.into_data_stream().map(move |piece| {
        let _ = &permit;
        piece
    });
    Ok(Response::from_parts(parts, Body::from_stream(body)))
}
