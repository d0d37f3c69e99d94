//! Whether the process lives, and whether it can serve.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde_json::json;

use crate::{ApiError, Server};

/// How long a store may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// `GET /healthz`: the process lives.
pub(crate) async fn lives() -> Response {
    Json(json!({ "status": "ok" })).into_response()
}

/// `GET /readyz`: the stores answer, and the server is not about to leave.
pub(crate) async fn ready(State(server): State<Server>) -> Result<Response, ApiError> {
    let unready = |code: &str, message: String| {
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, code, message).retry_after(1)
    };
    if server.streams().is_closing() {
        return Err(unready("server.leaving", "the server is about to leave: ask another one".to_owned()));
    }
    let mut asked = Vec::new();
    for agent in server.agents().all() {
        let store = agent.store();
        let place = Arc::as_ptr(store).cast::<()>().addr();
        if asked.contains(&place) {
            continue;
        }
        asked.push(place);
        // A store that has stopped still reads, so it is asked to write down what it has.
        match tokio::time::timeout(PATIENCE, store.flush()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                return Err(unready("store.failed", format!("a store does not answer: {error}")));
            }
            Err(_) => return Err(unready("store.slow", format!("a store took longer than {PATIENCE:?}"))),
        }
    }
    Ok(Json(json!({ "status": "ready" })).into_response())
}
