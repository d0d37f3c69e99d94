//! Serves agents over HTTP to existing chat UIs: an axum router to mount anywhere.
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
//! Path of a request: `router` finds the route, `guard` authenticates the caller, `chat` reads the request in
//! its dialect and finds or starts the run that answers it, and `follow` streams that run's journal in the
//! same dialect.

mod agent_list;
mod agents;
mod api;
mod audit;
mod auth;
mod background;
mod chat;
mod client_policy;
mod dialect;
mod durable_streams;
mod error;
mod extract;
mod follow;
mod guard;
mod health;
mod idempotency;
mod limits;
mod members;
mod model_list;
mod openapi;
mod operation;
mod options;
#[cfg(feature = "otel")]
pub mod otel;
mod recovery;
mod router;
mod routes;
mod runs;
mod serve;
mod server;
mod sessions;
mod stop;
mod stream_response;
mod telemetry;
mod timestamp;
mod visibility;
mod webhook_delivery;
mod webhooks;

pub use agents::Agents;
pub use auth::{
    ApiKeys, AuthFuture, Authenticator, AuthenticatorChain, Jwt, KeyError, KeyFetch, OpenAccess, Principal,
    PublishedKeys, unauthorized,
};
pub use client_policy::ClientPolicy;
pub use error::{ApiError, CODES};
pub use headwater_durable_streams::{DurableStreams, StreamOptions};
pub use options::{ChatPath, Limits, Options, Recovery, check_path};
pub use router::router;
pub use serve::{Connections, serve};
pub use server::Server;
pub use telemetry::{METRICS, Metrics};
pub use visibility::Visibility;
pub use webhooks::{
    WebhookEvent, WebhookReply, WebhookRequest, WebhookSender, WebhookSent, WebhookTarget, Webhooks,
};
