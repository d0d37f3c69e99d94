//! Bodies of requests: weighed before they are read, and scanned before anything parses them.

use axum::{
    Extension,
    body::{Body, HttpBody as _},
    extract::{MatchedPath, Request, State},
    http::{Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::Response,
};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use headwater_json::{InputLimits, LimitKind};

use crate::{
    ApiError, Limits, Principal, Server,
    durable_streams::takes_any_content,
    limits::{InUse, ids},
};

/// Levels that an export adds around the values of a session: its import may be nested that much deeper than
/// other bodies.
const DOCUMENT_LEVELS: usize = 16;

/// The route whose values stay text until a node asks for them.
const TEXT_ROUTE: &str = "/v1/runs";

/// How much of an oversized body is received and dropped. Many clients read a response only after sending
/// everything: if the connection closed earlier, they would report a broken pipe instead of the refusal.
const DRAINED: usize = 8 << 20;

/// Reads a request's body within the limits, and checks the ids in its path and headers, before routing. The
/// size of the body counts as in use until the route has answered.
pub(crate) async fn read_body(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    ids::check_parts(&mut parts).await?;
    if body.is_end_stream() {
        return Ok(next.run(Request::from_parts(parts, body)).await);
    }
    let limits = &server.options().limits;
    let announced = body.size_hint().exact().map(|size| usize::try_from(size).unwrap_or(usize::MAX));
    if announced.is_some_and(|size| size > limits.body) {
        // A client that waits for permission is refused before it sends anything.
        if !parts.headers.contains_key(header::EXPECT) {
            in_time(limits, receive(body, 0)).await??;
        }
        return Err(too_large(limits));
    }
    let mut held = server.may_hold(&principal, announced.unwrap_or(limits.body))?;
    let received = in_time(limits, receive(body, limits.body)).await??;
    let body = received.ok_or_else(|| too_large(limits))?;
    if takes_any_content(&parts.uri) {
        return Ok(next.run(Request::from_parts(parts, Body::from(body))).await);
    }
    let values = scan(limits, &parts, &body)?;
    if route(&parts) != Some(TEXT_ROUTE) {
        InUse::parse(limits, &mut held, values)?;
    }
    Ok(next.run(Request::from_parts(parts, Body::from(body))).await)
}

/// The body, or nothing if it is longer than that.
async fn receive(body: Body, limit: usize) -> Result<Option<Bytes>, ApiError> {
    let mut pieces = body.into_data_stream();
    let (mut kept, mut size) = (BytesMut::new(), 0_usize);
    while let Some(piece) = pieces.next().await {
        let piece =
            piece.map_err(|error| ApiError::bad("body.cut", format!("the body did not arrive: {error}")))?;
        size = size.saturating_add(piece.len());
        if size <= limit {
            kept.extend_from_slice(&piece);
        } else if size <= limit.saturating_add(DRAINED) {
            kept = BytesMut::new();
        } else {
            break;
        }
    }
    Ok((size <= limit).then(|| kept.freeze()))
}

async fn in_time<T>(limits: &Limits, receiving: impl Future<Output = T>) -> Result<T, ApiError> {
    tokio::time::timeout(limits.body_time, receiving).await.map_err(|_| {
        let message = format!("the body did not arrive within {} s", limits.body_time.as_secs());
        ApiError::new(StatusCode::REQUEST_TIMEOUT, "body.slow", message)
    })
}

fn too_large(limits: &Limits) -> ApiError {
    let message = format!("the body is larger than {} bytes: send less, or raise `limits.body`", limits.body);
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "body.too-large", message)
}

fn route(parts: &Parts) -> Option<&str> {
    parts.extensions.get::<MatchedPath>().map(MatchedPath::as_str)
}

/// Refuses a body nested too deeply to be stored, or with too many values to be parsed. Returns the number of
/// its values.
fn scan(limits: &Limits, parts: &Parts, body: &[u8]) -> Result<usize, ApiError> {
    let mut allowed = InputLimits::default();
    (allowed.depth, allowed.values) = (limits.depth, limits.values);
    // The body is as long as it may be already.
    (allowed.string, allowed.text) = (usize::MAX, usize::MAX);
    if route(parts) == Some("/v1/sessions") && parts.method == Method::POST {
        allowed.depth = allowed.depth.saturating_add(DOCUMENT_LEVELS);
    }
    allowed.count(body).map_err(|exceeded| {
        let message = format!("the body has {exceeded}: send less, or in several requests");
        match exceeded.kind() {
            LimitKind::Depth => {
                ApiError::bad("body.too-deep", format!("the body is {exceeded}: nest its values less"))
            }
            LimitKind::ReservedKey => {
                ApiError::bad("body.reserved-key", format!("the body has {exceeded}: use another key"))
            }
            LimitKind::Key => ApiError::bad("body.key-too-long", message),
            _ => ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "body.too-many-values", message),
        }
    })
}
