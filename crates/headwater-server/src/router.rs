//! The router of a server.

use axum::Router;

use crate::{Agents, Options, Server, api};

/// A router that serves agents without keys: mount it in an application of your own, or serve it as it is.
///
/// It only answers for its own routes. With a [`Server`] there are [`Options`]: authentication, limits, metrics.
pub fn router(agents: Agents) -> Router {
    Server::new(agents, Options::default()).router()
}

impl Server {
    /// The routes, to be merged into an application, which answers all other paths itself.
    ///
    /// ```no_run
    /// # fn routes(server: headwater_server::Server) -> axum::Router {
    /// use axum::{Router, routing::get};
    ///
    /// Router::new().route("/about", get(|| async { "mine" })).merge(server.router()).fallback(|| async { "my own 404" })
    /// # }
    /// ```
    ///
    /// From here on the server recovers the runs of its agents in the background, as set by
    /// [`Options::recovery`]: as long as these routes or the server live, and within a Tokio runtime; without
    /// one, from the first request on.
    pub fn router(&self) -> Router {
        api::routes(self).into_router(self)
    }

    /// The routes as a complete application, with `more` beside them: other paths get 404 `route.unknown`.
    /// Routes of `more` need no key, and are behind the same guard as the rest. Runs are recovered as with
    /// [`Server::router`].
    pub fn application(&self, more: Router) -> Router {
        api::routes(self).into_application(self, more)
    }

    /// The routes by method and path, in the order of addition.
    ///
    /// ```
    /// use headwater_server::{Agents, Options, Server};
    ///
    /// let server = Server::new(Agents::new(), Options::default());
    /// assert!(server.routes().contains(&("POST", "/v1/runs".to_owned())));
    /// ```
    #[must_use]
    pub fn routes(&self) -> Vec<(&'static str, String)> {
        api::routes(self).into_list().into_iter().map(|route| (route.method, route.path)).collect()
    }
}
