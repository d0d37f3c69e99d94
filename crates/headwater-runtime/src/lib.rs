//! Runs agents: workflows of plain async functions, whose every effect is kept in a journal.
//!
//! Node code calls hooks on its [`Cx`]: it asks models, calls tools, asks people, keeps small state and shows things.
//! What a hook gave is written down before it is returned; so a node that is run again, after a crash or an answer,
//! starts from the top and gets the same from each hook, without anything being done twice.
//!
//! See [`Agent`] for the shortest program.

mod agent;
mod codec;
mod cx;
mod error;
#[cfg(feature = "yaml")]
mod file;
mod hooks;
mod id;
mod journal;
mod keys;
mod limits;
mod model;
mod next;
mod page;
mod raw;
mod reader_error;
mod replay;
mod run;
mod seeing;
mod session;
mod usage;
mod value_pages;
mod workflow;

pub use agent::{
    Agent, AgentBuilder, AgentOptions, AgentTool, Answered, DrivenRun, OpenQuestion, Outcome, QuestionPage,
    Run, RunFilter, RunPage, RunPlace, RunSummary, Start, Tended, lost_after,
};
pub use cx::Cx;
pub use error::{Error, ErrorKind, NodeError, Result};
#[cfg(feature = "yaml")]
pub use file::{
    AgentFile, FileClient, FileEdge, FileError, FileErrorKind, FileErrors, FileNode, FileOptions,
    FileVisibility, FileWorkflow, Functions,
};
pub use hooks::{
    Ask, AskMode, Choice, Declinable, Emit, Failover, Form, InterruptHook, MaybeAnswer, MultiChoice,
    Question, Reason, ReasonFuture, Reply, State, Structured, StructuredHook, Text, ToolCallMade,
    ToolOptions,
};
pub use id::fresh_id;
pub use journal::{Answer, Begun, Entry, Invalidated, RecordReader, VisibleRecord, state_after};
pub use model::ModelRef;
pub use next::{Next, NodeResult};
pub use page::{open_page, seal_page};
pub use raw::RawJson;
pub use reader_error::{READER_ERRORS, code_of, coded, error_for_reader, reader_text};
pub use replay::{Divergence, DivergenceKind, Replayed, replay};
pub use session::{
    Checkpoint, CheckpointStatus, FoundTurn, HistoryPage, QueuedMessage, RolledBack, Sent, Session,
    SessionDocument, SessionInfo, SessionOptions, SessionPage, SessionState, SummaryRequest, Turn, TurnInput,
    TurnOfRun, Variant, WhenBusy,
};
pub use workflow::{
    END, NodeFunction, NodeInput, NodeOptions, OnError, Retry, START, Workflow, WorkflowBuilder,
};
