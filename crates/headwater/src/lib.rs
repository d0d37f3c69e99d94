//! Runs AI agents and streams them to people.
//!
//! An agent is a workflow of async functions. Every run is kept in a journal, goes on after a crash without anything being
//! done twice, and can be served in the stream protocol that a chat UI already speaks.
//!
//! ```
//! use headwater::prelude::*;
//!
//! async fn greet(cx: Cx, name: String) -> NodeResult {
//!     let reply = cx.reason("writer").input(format!("Greet {name}.")).await?;
//!     Ok(Next::data(&serde_json::json!({ "greeting": reply.text }))?)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let script = Script::new("hello").rule(Rule::always().text("Hello, dear {input}"));
//! let workflow = Workflow::new("hello").node("greet", greet).edge(START, "greet").edge("greet", END).build()?;
//! let agent = Agent::builder()
//!     .workflow(workflow)
//!     .model("writer", ScriptedModel::new(script))
//!     .store(Arc::new(Memory::new()))
//!     .build()?;
//! let outcome = agent.start(Start::new("world")).await?.outcome().await?;
//! assert_eq!(outcome.text(), "Hello, dear Greet world.");
//! # Ok(())
//! # }
//! ```
//!
//! This crate has no code of its own: it gathers what the others have.

#[cfg(feature = "cli")]
pub use headwater_cli as cli;
pub use headwater_dialects as dialects;
pub use headwater_json as json;
pub use headwater_models as models;
pub use headwater_protocol as protocol;
pub use headwater_runtime as runtime;
#[cfg(feature = "server")]
pub use headwater_server as server;
pub use headwater_store as store;
pub use headwater_tools as tools;

/// For tests of one's own agents: a recorded run is run again with today's code.
pub mod testing {
    pub use headwater_runtime::{Divergence, DivergenceKind, Replayed, replay};
}

/// What nearly every agent needs.
pub mod prelude {
    pub use std::sync::Arc;

    pub use headwater_models::{
        Model, Models,
        scripted::{Rule, Script, ScriptedModel, When},
    };
    pub use headwater_runtime::{
        Agent, AgentFile, Answer, Answered, Ask, Checkpoint, Choice, Cx, END, FileOptions, Form, Functions,
        MaybeAnswer, MultiChoice, Next, NodeError, NodeOptions, NodeResult, OnError, Retry, Run, START, Sent,
        Session, SessionDocument, SessionInfo, SessionOptions, SessionPage, SessionState, Start, Structured,
        SummaryRequest, Text, ToolOptions, Turn, TurnInput, Variant, WhenBusy, Workflow,
    };
    pub use headwater_store::{Memory, Store, embedded::Embedded};
    pub use headwater_tools::{FunctionTool, Schema, Tool, ToolContext, ToolError, ToolOutput, Tools};
    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};
}

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/sessions.md")]
struct Sessions;
