//! The routes.

use axum::{
    Router, middleware,
    routing::{any, get, post},
};

use crate::{Agents, Options, Server, chat, control, guard, sessions};

/// A router that serves agents to whoever can reach it: mount it in an application of your own, or serve it as it is.
///
/// With a [`Server`] there is more to say: who may ask, and for what.
pub fn router(agents: Agents) -> Router {
    Server::new(agents, Options::default()).router()
}

/// All routes of a server.
pub(crate) fn routes(server: Server) -> Router {
    let mut routes = Router::new()
        .route("/v1/{dialect}/chat", any(chat::by_name))
        .route("/v1/{dialect}/chat/{*rest}", any(chat::by_name_and_rest))
        .route("/v1/{dialect}/checkpoints", any(chat::by_name))
        .route("/v1/{dialect}/onboarding", any(chat::by_name))
        .route("/v1/runs", get(control::list).post(control::start))
        .route("/v1/runs/{run}", get(control::inspect))
        .route("/v1/runs/{run}/events", get(control::events))
        .route("/v1/runs/{run}/stop", post(control::stop))
        .route("/v1/runs/{run}/answer", post(control::answer))
        .route("/v1/interrupts", get(control::interrupts))
        .route("/v1/interrupts/{request}", post(control::answer_request))
        .merge(sessions::routes());
    for (dialect, paths) in &server.options().paths {
        let Some(dialect) = headwater_protocol::dialects::find(dialect) else {
            tracing::error!("there is no dialect `{dialect}`: its paths are not served");
            continue;
        };
        for path in paths {
            let path = path.trim_end_matches('/');
            let ask = move |state, principal, request| chat::ask(state, principal, dialect, request);
            routes = routes.route(path, any(ask)).route(&format!("{path}/{{*rest}}"), any(ask));
        }
    }
    routes.layer(middleware::from_fn_with_state(server.clone(), guard::authenticate)).with_state(server)
}
