//! Serves agents over HTTP, to the chat UIs that are there already: an axum router to mount anywhere.
//!
//! ```no_run
//! # async fn serve(agent: headwater_runtime::Agent) -> std::io::Result<()> {
//! use headwater_server::{Agents, router};
//!
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8787").await?;
//! axum::serve(listener, router(Agents::new().add("email", agent))).await
//! # }
//! ```
//!
//! A request goes one way: `router` finds the route, `guard` finds out who is asking, `chat` reads the request in its
//! dialect and finds or begins the run that answers it, and `follow` writes that run's journal in the same dialect.

mod about;
mod agents;
mod api;
mod auth;
mod chat;
mod client_policy;
mod control;
mod error;
mod extract;
mod follow;
mod guard;
mod health;
mod idempotency;
mod limits;
mod members;
mod openapi;
mod options;
#[cfg(feature = "otel")]
pub mod otel;
mod recovery;
mod router;
mod seeing;
mod serve;
mod server;
mod sessions;
mod visibility;

pub use agents::Agents;
pub use auth::{
    ApiKeys, Authenticated, Authenticator, Fetched, Jwt, KeyError, Open, Principal, PublishedKeys, Several,
    unauthorized,
};
pub use client_policy::ClientPolicy;
pub use error::{ApiError, CODES};
pub use options::{ChatPath, Limits, Options};
pub use recovery::Recovery;
pub use router::{check_path, router};
pub use seeing::{METRICS, Metrics};
pub use serve::{Connections, serve};
pub use server::Server;
pub use visibility::Visibility;
