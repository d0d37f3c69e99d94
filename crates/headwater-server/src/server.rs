//! What all routes share.

use std::sync::Arc;

use axum::Router;

use crate::{Agents, Options, follow::Streams, router};

/// A server: agents and how their requests are treated. Cheap to clone; all clones are one.
///
/// ```no_run
/// # async fn serve(agents: headwater_server::Agents) -> std::io::Result<()> {
/// use headwater_server::{Options, Server};
///
/// let server = Server::new(agents, Options::default());
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8787").await?;
/// // As a make service the router is not copied for each connection.
/// axum::serve(listener, server.router().into_make_service()).await
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Server(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    agents: Agents,
    options: Options,
    streams: Streams,
}

impl Server {
    /// A server of these agents.
    #[must_use]
    pub fn new(agents: Agents, options: Options) -> Self {
        Self(Arc::new(Inner { agents, options, streams: Streams::default() }))
    }

    /// The routes, to be served or mounted.
    pub fn router(&self) -> Router {
        router::routes(self.clone())
    }

    /// The agents.
    #[must_use]
    pub fn agents(&self) -> &Agents {
        &self.0.agents
    }

    /// How requests are treated.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    pub(crate) fn streams(&self) -> &Streams {
        &self.0.streams
    }

    /// Ends all streams without an end, so that their readers come back, here or at another server. To be called
    /// when the server shuts down; the runs go on elsewhere, or here after a restart.
    pub fn let_go(&self) {
        self.0.streams.close();
    }
}
