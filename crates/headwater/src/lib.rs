//! Runs AI agents and streams them to chat UIs.
//!
//! An agent is a workflow of async functions. Every run is recorded in a journal, continues after a crash without
//! repeating a finished effect, and is served in the stream protocol that a chat UI already speaks.
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
//!     .store(Memory::new())
//!     .build()?;
//! let outcome = agent.start(Start::new("world")).await?.outcome().await?;
//! assert_eq!(outcome.text(), "Hello, dear Greet world.");
//! # Ok(())
//! # }
//! ```
//!
//! # Where to look
//!
//! | you want to | module |
//! |---|---|
//! | write the nodes of an agent | [`hooks`]: ask models and people, call tools, keep state, show things |
//! | connect nodes to a graph | [`workflow`] |
//! | build agents, and start, follow, answer and stop their runs | [`agent`] |
//! | hold a conversation over many runs | [`session`] |
//! | ask a provider, or a script in tests | [`models`] |
//! | give a model functions to call | [`tools`] |
//! | keep runs in memory, a folder, Redis or Postgres | [`store`] |
#![cfg_attr(feature = "yaml", doc = "| describe an agent in a YAML file | [`agent::file`] |")]
#![cfg_attr(feature = "server", doc = "| serve agents to chat UIs over HTTP | [`server`] |")]
#![cfg_attr(feature = "client", doc = "| follow runs of a server from another program | [`client`] |")]
#![cfg_attr(feature = "cli", doc = "| put the command line into a program of your own | [`cli`] |")]
//! | test agents without a key or a network | [`testing`] |
//! | read and write the stream protocols of chat UIs | [`dialects`], [`protocol`] |
//!
//! # Features
//!
//! All of them can be left out. The default is `embedded`, `json-schema`, `providers`, `mcp`, `yaml` and `server`.
//!
//! | feature | gives |
//! |---|---|
//! | `embedded`, `redis`, `postgres` | stores that survive the process |
//! | `providers` | models of OpenAI, Anthropic, Google and compatible servers |
//! | `mcp` | tools of MCP servers |
//! | `json-schema` | values are checked against their JSON Schema, not only by the Rust type that they are read into |
//! | `yaml` | agents as files; includes `providers` and `mcp` |
//! | `server` | the axum router |
//! | `client` | a client of a Headwater server, and of servers that speak a dialect |
//! | `cli` | the `headwater` command with your own agents |
//! | `otel` | spans and metrics for an OpenTelemetry collector |

#[cfg(feature = "cli")]
pub mod cli {
    //! The command line as a library: [`cli::main`](main) is `headwater` with your own agents beside the files.
    //!
    //! Its settings, commands and flags are those of the program: see [operations.md].
    //!
    #![doc = include_str!("links.md")]

    pub use headwater_cli::*;
}

pub mod dialects {
    //! The stream protocols of chat UIs: to serve them from a run, and to read the streams of any server.
    //!
    //! [`Encoder`] turns records into the frames of a [`Dialect`], and [`Decoder`] reads them back into events. [`find`] and
    //! [`reader`] look a dialect up by its name. Nothing here does I/O. What each page shows of an event is in [dialects.md].
    //!
    //! ```
    //! use headwater::dialects::{EncodeOptions, Encoder, find};
    //! use headwater::protocol::{Event, Record};
    //!
    //! let mut encoder = Encoder::new(find("ai-sdk").unwrap(), &EncodeOptions::default());
    //! encoder.record(&Record::new(1, Event::Message { content: "Hello".into() }));
    //! encoder.finish();
    //! assert!(String::from_utf8_lossy(encoder.bytes()).contains("Hello"));
    //! ```
    //!
    #![doc = include_str!("links.md")]

    pub use headwater_dialects::*;
}

pub mod json {
    //! Reading JSON while it arrives: values by path, partial values, and limits.
    //!
    //! A model's structured answer comes in pieces: [`Parser`] looks at every byte once, and [`PartialValue`] is the value so far.

    pub use headwater_json::*;
}

pub mod protocol {
    //! The event model of a run, and the wire format that carries it without loss.
    //!
    //! [`Event`] is something that happened, [`Record`] an event with its number, time and origin, and [`RunState`] what records
    //! add up to: messages, structured objects, open questions and the status of the run. [`native`] is our own wire.

    pub use headwater_protocol::*;
}

// `links.md` comes first, so that a guide's links to other guides lead to modules here, and to files on GitHub.

#[doc = include_str!("links.md")]
#[doc = include_str!("../docs/agents.md")]
pub mod agent {
    pub use headwater_runtime::{
        Agent, AgentBuilder, AgentOptions, AgentTool, Answer, Error, ErrorKind, LocalRun, OpenQuestion,
        QuestionPage, Result, Run, RunFilter, RunOutcome, RunPage, RunPlace, RunSummary, Start,
    };

    #[doc = include_str!("links.md")]
    #[doc = include_str!("../docs/yaml.md")]
    #[cfg(feature = "yaml")]
    pub mod file {
        pub use headwater_runtime::{
            AgentFile, FileClient, FileEdge, FileError, FileErrorKind, FileErrors, FileNode, FileOptions,
            FileVisibility, FileWorkflow, Functions,
        };
    }
}

// The code of these two guides is part of `headwater-runtime/examples`, where it is compiled and run; a test
// compares the two.
#[doc = include_str!("links.md")]
#[cfg_attr(not(doctest), doc = include_str!("../docs/workflows.md"))]
pub mod workflow {
    pub use headwater_runtime::{
        END, Next, NodeError, NodeFunction, NodeInput, NodeOptions, NodeResult, OnError, RawJson, Retry,
        START, Workflow, WorkflowBuilder,
    };
}

#[doc = include_str!("links.md")]
#[cfg_attr(not(doctest), doc = include_str!("../docs/hooks.md"))]
pub mod hooks {
    pub use headwater_runtime::{
        Ask, AskMode, Choice, Cx, Emit, Failover, FinishedToolCall, Form, InterruptHook, ModelRef,
        MultiChoice, OptionalInterrupt, Question, ReasonFuture, ReasonHook, ReasonReply, StateHook,
        StructuredHook, StructuredOutput, Text, ToolOptions,
    };
}

#[doc = include_str!("links.md")]
#[doc = include_str!("../docs/sessions.md")]
pub mod session {
    pub use headwater_runtime::{
        Checkpoint, CheckpointStatus, HistoryPage, QueuedMessage, RollbackSummary, Session, SessionDocument,
        SessionInfo, SessionOptions, SessionPage, SessionState, SummaryRequest, Turn, TurnHandle, TurnInput,
        Variant, WhenBusy,
    };
}

#[doc = include_str!("links.md")]
#[doc = include_str!("../docs/models.md")]
pub mod models {
    pub use headwater_models::*;
}

#[doc = include_str!("links.md")]
#[cfg_attr(any(not(doctest), feature = "mcp"), doc = include_str!("../docs/tools.md"))]
pub mod tools {
    pub use headwater_tools::*;
}

#[doc = include_str!("links.md")]
#[cfg_attr(any(not(doctest), feature = "embedded"), doc = include_str!("../docs/stores.md"))]
pub mod store {
    pub use headwater_store::*;
}

#[doc = include_str!("links.md")]
#[doc = include_str!("../docs/server.md")]
#[cfg(feature = "server")]
pub mod server {
    pub use headwater_server::*;
}

#[doc = include_str!("links.md")]
#[doc = include_str!("../docs/client.md")]
#[cfg(any(doctest, feature = "client"))]
pub mod client {
    pub use headwater_client::*;
}

#[doc = include_str!("links.md")]
#[cfg_attr(any(not(doctest), feature = "providers"), doc = include_str!("../docs/testing.md"))]
pub mod testing {
    pub use headwater_models::scripted;
    pub use headwater_runtime::{Divergence, DivergenceKind, ReplayReport, replay};
}

/// The names that nearly every agent needs.
///
/// ```
/// use headwater::prelude::*;
/// ```
pub mod prelude {
    pub use headwater_models::scripted::{Rule, Script, ScriptedModel};
    pub use headwater_runtime::{
        Agent, Choice, Cx, END, Form, Next, NodeError, NodeResult, Run, START, Session, Start,
        StructuredOutput, Workflow,
    };
    #[cfg(feature = "embedded")]
    pub use headwater_store::Embedded;
    pub use headwater_store::Memory;
    pub use headwater_tools::{FunctionTool, ToolError, Tools};
    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};
}

#[cfg(all(doctest, feature = "server"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
