//! The Rust client of a Headwater server.
//!
//! - [`Client`] is a server: [`send`](Client::send) starts a run, and lists, sessions and questions are its methods.
//! - [`RunHandle`] is a run: follow, stop, answer. [`SessionHandle`] is a conversation.
//! - [`RunStream`] yields each event of a run once, keeps its [`RunState`](headwater_protocol::RunState), and
//!   reconnects automatically.
//!
//! ```no_run
//! use headwater_client::Client;
//!
//! # async fn example() -> headwater_client::Result<()> {
//! let client = Client::new("http://127.0.0.1:8787");
//! let state = client.send("Hello").await?.follow().finish().await?;
//! println!("{:?}", state.messages());
//! # Ok(())
//! # }
//! ```
//!
//! [`Client::dialect`] reads other servers of a dialect: [`DialectChat`].
//!
//! It runs on tokio. For wasm32 it has the browser's `fetch` and timers, which no test builds yet.

mod answer;
mod client;
mod connection;
mod dialect_chat;
mod dialect_reader;
mod documents;
mod error;
mod http;
mod options;
mod pending;
mod platform;
mod run;
mod run_reader;
mod run_stream;
mod send_message;
mod session;
mod tools;
mod update;
mod wire_stream;

pub use answer::Answer;
pub use client::{Client, RunFilter, SessionFilter};
pub use dialect_chat::DialectChat;
pub use documents::{
    AgentPage, AgentSummary, AgentToolSummary, Checkpoint, CheckpointDetails, CheckpointPage, ForkOrigin,
    InterruptPage, KeyPresence, MessagePage, ModelHealth, ModelPage, ModelSummary, OpenInterrupt,
    OpenInterruptKind, QueuedMessage, RollbackResult, RunDetails, RunPage, RunSummary, SessionPage,
    SessionSummary, StopResult, Variant,
};
pub use error::{Error, Result};
pub use options::Options;
pub use pending::PendingRequest;
pub use platform::{BoxFuture, MaybeSend};
pub use run::RunHandle;
pub use run_reader::RunReader;
pub use run_stream::RunStream;
pub use send_message::SendMessage;
pub use session::SessionHandle;
pub use tools::ToolSet;
pub use update::{Change, ConnectionStatus, EventUpdate, Update};
pub use wire_stream::WireStream;
