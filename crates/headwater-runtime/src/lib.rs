//! Runs agents: workflows of plain async functions, whose effects are recorded in a journal.
//!
//! Node code calls hooks on its [`Cx`] to call models and tools, ask people, keep small state and emit
//! output. The result of a hook is recorded before it is returned; so a node that is run again, after a crash
//! or an answer, starts from the top and gets the same results from its hooks, without repeating any work.
//!
//! See [`Agent`] for the shortest program.

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
    AnswerValue, HistoryRange, InvalidatedStream, JournalEntry, RecordReader, RunSpec, VisibleRecord,
    state_after,
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
    Start, lost_after,
};
pub use session::{
    Checkpoint, CheckpointStatus, FoundTurn, HistoryPage, QueuedMessage, RollbackSummary, Session,
    SessionDocument, SessionInfo, SessionOptions, SessionPage, SessionState, SessionView, SummaryRequest,
    Turn, TurnHandle, TurnInput, TurnOfRun, Variant, WhenBusy,
};
pub use workflow::{END, NodeFunction, NodeOptions, OnError, Retry, START, Workflow, WorkflowBuilder};
