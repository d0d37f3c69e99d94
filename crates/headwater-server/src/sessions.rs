//! Sessions and their checkpoints.

use axum::Router;

use crate::Server;

pub(crate) fn routes() -> Router<Server> {
    Router::new()
}
