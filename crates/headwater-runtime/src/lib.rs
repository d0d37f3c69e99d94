//! Runs agents: workflows of plain async functions, whose effects are recorded in a journal.
//!
//! Node code calls hooks on its [`Cx`] to call models and tools, ask people, keep small state and emit
//! output. The result of a hook is recorded before it is returned; so a node that is run again, after a crash
//! or an answer, starts from the top and gets the same results from its hooks, without repeating any work.
//!
//! # Three types to know
//!
//! - [`Workflow`] is the graph: nodes, which are async functions, and the edges between them. Edges may have conditions
//!   and may form loops.
//! - [`Agent`] has workflows, models, tools and a store. It starts runs, answers their questions, stops them, and takes
//!   them over from processes that died ([`Agent::recover`]). [`Session`] is a conversation whose turns are runs.
//! - [`Run`] is one execution. Its journal is the only state: any process with the same store can read its events
//!   ([`Run::events`]), wait for its end ([`Run::outcome`]) or answer it ([`Run::answer`]).
//!
//! # Example
//!
//! A run that asks a person before it continues. Here it waits in memory; with another store it can wait for weeks, and
//! any process can continue it.
//!
//! ```
//! use std::sync::Arc;
//! use headwater_runtime::{Agent, Choice, Cx, END, Next, NodeResult, START, Start, Workflow};
//! use headwater_store::Memory;
//!
//! async fn confirm(cx: Cx, order: String) -> NodeResult {
//!     let question = Choice::new(format!("Order {order}?")).option("yes", "Yes").option("no", "No");
//!     let answer = cx.interrupt(question).id("confirm").await?;
//!     Ok(Next::message(format!("{order}: {answer}")))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let order = Workflow::new("order").node("confirm", confirm).edge(START, "confirm").edge("confirm", END).build()?;
//! let agent = Agent::builder().workflow(order).store(Arc::new(Memory::new())).build()?;
//!
//! let run = agent.start(Start::new("tea")).await?;
//! let waiting = run.outcome().await?;
//! let run = run.answer(waiting.question()?, "yes").await?;
//! assert_eq!(run.outcome().await?.text(), "tea: yes");
//! # Ok(())
//! # }
//! ```
//!
//! # Where to look next
//!
//! - what node code can do: the methods of [`Cx`]
//! - retries, timeouts and branches of nodes: [`NodeOptions`] and [`WorkflowBuilder`]
//! - conversations, forks, edits and checkpoints: [`Session`] and [`SessionOptions`]
//! - changed code and runs in flight: [`replay()`] and [`Divergence`]
//! - stable codes of errors, and the sentences that readers see: [`Error::code`] and [`READER_ERRORS`]

mod agent;
mod codec;
mod cx;
mod environment;
mod error;
#[cfg(feature = "yaml")]
mod file;
mod hooks;
mod id;
mod journal;
mod keys;
mod limits;
mod model;
mod model_health;
mod next;
mod node;
mod options;
mod page;
mod price;
mod question;
mod raw;
mod reader_error;
mod replay;
mod run;
mod session;
mod skip;
mod telemetry;
mod usage;
mod workflow;

pub use agent::{Agent, AgentBuilder, AgentModel, AgentTool, RunIndex};
pub use cx::Cx;
pub use error::{Error, ErrorKind, NodeError, Result};
#[cfg(feature = "yaml")]
pub use file::{
    AgentFile, FileClient, FileEdge, FileError, FileErrorKind, FileErrors, FileNode, FileOptions,
    FileVisibility, FileWorkflow, Functions,
};
pub use headwater_models::ModelKey;
pub use hooks::{
    Ask, AskMode, CallDecision, Choice, Emit, Failover, FinishedToolCall, Form, InterruptHook, MultiChoice,
    OptionalInterrupt, Question, ReasonFuture, ReasonHook, ReasonReply, Relay, RelayHook, StateHook,
    StructuredHook, StructuredOutput, Text, ToolOptions,
};
pub use id::fresh_id;
pub use journal::{
    AnswerValue, HistoryRange, InvalidatedStream, JournalEntry, RecordReader, RunSpec, TraceCall, TraceNode,
    TraceStep, TraceStepKind, VisibleRecord, state_after,
};
pub use model::ModelRef;
pub use model_health::ModelCalls;
pub use next::{Next, NodeResult};
pub use node::{Divergence, DivergenceKind, NodeInput};
pub use options::AgentOptions;
pub use page::{open_page, seal_page};
pub use price::{Price, PriceList};
pub use question::{Answer, OpenQuestion, QuestionPage};
pub use raw::RawJson;
pub use reader_error::{READER_ERRORS, code_of, coded, error_for_reader, reader_text};
pub use replay::{ReplayReport, replay};
pub use run::{
    LocalRun, Owners, RecoveryReport, Run, RunFilter, RunNotice, RunOutcome, RunPage, RunPlace, RunSummary,
    RunTrace, Start, lost_after,
};
pub use session::{
    Checkpoint, CheckpointStatus, FoundTurn, HistoryPage, QueuedMessage, RollbackSummary, Session,
    SessionDocument, SessionInfo, SessionOptions, SessionPage, SessionState, SessionView, SummaryRequest,
    Turn, TurnHandle, TurnInput, TurnOfRun, Variant, WhenBusy,
};
pub use workflow::{END, NodeFunction, NodeOptions, OnError, Retry, START, Workflow, WorkflowBuilder};
