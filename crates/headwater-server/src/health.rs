//! Whether the process lives, and whether it can serve.

use std::time::Duration;

use axum::{
    Json,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::IntoResponse as _,
};
use futures_util::FutureExt as _;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{ApiError, Server, operation::PlainText};

/// Timeout for a response of the store.
const PATIENCE: Duration = Duration::from_secs(5);

/// How the server is.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Health {
    status: &'static str,
}

/// `GET /healthz`: the process is alive, and none of its stores has stopped. A stopped store works again
/// after reopening, so a supervisor may restart the process.
pub(crate) async fn alive(State(server): State<Server>) -> Result<Json<Health>, ApiError> {
    for store in server.stores() {
        if let Some(cause) = store.stopped().now_or_never() {
            tracing::debug!(%cause, "the store has stopped");
            return Err(ApiError::store_stopped());
        }
    }
    Ok(Json(Health { status: "ok" }))
}

/// `GET /readyz`: the stores answer, and the server is not about to leave.
pub(crate) async fn ready(State(server): State<Server>) -> Result<Json<Health>, ApiError> {
    let unready = |code: &str, message: String| {
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, code, message).retry_after(1)
    };
    if server.is_leaving() {
        return Err(unready("server.leaving", "the server is leaving: use another one".to_owned()));
    }
    for store in server.stores() {
        // A store that has stopped still reads, so check that it can sync.
        match tokio::time::timeout(PATIENCE, store.flush()).await {
            Ok(Err(error)) if *error.kind() == headwater_store::ErrorKind::Full => {
                return Err(unready("store.full", error.to_string()));
            }
            Ok(flushed) => flushed?,
            Err(_) => return Err(unready("store.slow", format!("a store took longer than {PATIENCE:?}"))),
        }
    }
    Ok(Json(Health { status: "ready" }))
}

/// `GET /metrics`.
pub(crate) async fn metrics(State(server): State<Server>) -> Result<PlainText, ApiError> {
    let Some(metrics) = &server.options().metrics else {
        return Err(ApiError::not_found("metrics.off", "metrics are off on this server"));
    };
    metrics::gauge!("headwater_stream_bytes_held").set(gauge(server.bytes_held()));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok(PlainText(([(header::CONTENT_TYPE, kind)], metrics.render()).into_response()))
}

#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 bytes")]
fn gauge(value: usize) -> f64 {
    value as f64
}
