//! The routes.

mod append;
mod create;
mod headers;
pub mod serve;
mod source;

use axum::{
    Router,
    extract::{FromRequestParts, State},
    http::{StatusCode, Uri, header, request::Parts},
    response::{IntoResponse as _, Response},
    routing::{get, post, put},
};

pub use headers::{REQUEST_HEADERS, RESPONSE_HEADERS};

use crate::{
    DurableStreams, MOUNT, StreamError, StreamOwner,
    streams::{Expiry, Offset, StreamId, subscriptions::routes as subscriptions},
};
use headers::StreamReply;

/// The longest path of a stream.
const PATH: usize = 1_024;

/// The routes of streams and subscriptions, for callers with a [`StreamOwner`].
pub fn router(streams: &DurableStreams) -> Router {
    let stream = put(create::create).post(append::append).get(read).head(inspect).delete(remove);
    Router::new()
        .route("/v1/stream/{*path}", stream)
        .route(
            "/v1/stream/__ds/subscriptions/{id}",
            put(subscriptions::create).get(subscriptions::inspect).delete(subscriptions::delete),
        )
        .route("/v1/stream/__ds/subscriptions/{id}/streams", post(subscriptions::add_streams))
        .route(
            "/v1/stream/__ds/subscriptions/{id}/streams/{*stream}",
            axum::routing::delete(subscriptions::remove_stream),
        )
        .route("/v1/stream/__ds/subscriptions/{id}/claim", post(subscriptions::claim))
        .with_state(streams.clone())
}

/// The routes whose requests carry a token of their own, and the public keys of webhooks.
pub fn open_router(streams: &DurableStreams) -> Router {
    Router::new()
        .route("/v1/stream/__ds/jwks.json", get(subscriptions::keys))
        .route("/v1/stream/__ds/subscriptions/{id}/callback", post(subscriptions::callback))
        .route("/v1/stream/__ds/subscriptions/{id}/ack", post(subscriptions::ack))
        .route("/v1/stream/__ds/subscriptions/{id}/release", post(subscriptions::release))
        .with_state(streams.clone())
}

impl<S: Send + Sync> FromRequestParts<S> for StreamId {
    type Rejection = StreamError;

    /// The stream of the request. Its path is taken as it was sent, so that two spellings are two streams.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StreamError> {
        let owner = parts.extensions.get::<StreamOwner>().map_or_else(String::new, |owner| owner.0.clone());
        Ok(Self { owner, path: stream_path(&parts.uri)? })
    }
}

fn stream_path(uri: &Uri) -> Result<String, StreamError> {
    let path = uri.path().strip_prefix(MOUNT).unwrap_or_default();
    if path.is_empty() || path == "__ds" || path.starts_with("__ds/") {
        return Err(StreamError::unknown());
    }
    if path.len() > PATH {
        return Err(StreamError::bad(
            "path.too-long",
            format!("the path of a stream has at most {PATH} bytes"),
        ));
    }
    Ok(path.to_owned())
}

/// `HEAD`: the metadata of the stream, and its end.
async fn inspect(State(streams): State<DurableStreams>, id: StreamId) -> Result<Response, StreamError> {
    streams.ensure_background();
    let engine = &streams.0;
    let meta = engine.find(&id).await?;
    let tail = Offset::at(engine.tail(&meta).await?);
    let reply = StreamReply::new(StatusCode::OK).content_type(&meta.content_type).next_offset(tail);
    let reply = reply.set(header::CACHE_CONTROL, "no-store").closed(meta.closed.is_some());
    Ok(match &meta.expiry {
        Expiry::Never => reply,
        Expiry::Idle(seconds) => reply.set(headers::TTL, &seconds.to_string()),
        Expiry::At(time, _) => reply.set(headers::EXPIRES_AT, time),
    }
    .into_response())
}

/// `GET`.
async fn read(
    State(streams): State<DurableStreams>,
    id: StreamId,
    uri: Uri,
    headers: axum::http::HeaderMap,
) -> Result<Response, StreamError> {
    streams.ensure_background();
    let query = serve::ReadQuery::parse(uri.query().unwrap_or_default());
    let source = source::StoredStream::open(&streams, id).await?;
    serve::read(source, query?, &headers, streams.options()).await
}

/// `DELETE`.
async fn remove(State(streams): State<DurableStreams>, id: StreamId) -> Result<StatusCode, StreamError> {
    streams.ensure_background();
    streams.0.delete(&id).await?;
    streams.0.unlink_stream(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}
