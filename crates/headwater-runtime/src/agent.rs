//! An agent: workflows with their models and tools, and the store that keeps its runs.
//!
//! [`Agent`] composes the layers: journals, questions, runs and sessions. Its methods delegate to them.

mod build;
mod models;
mod questions;
mod recovery;
mod run_index;
mod runs;
mod sessions;

use std::{sync::Arc, time::Duration};

use headwater_protocol::{Executor, ToolSpec};
use headwater_store::{Secret, Store};
use headwater_tools::Approval;
use serde_json::Value;

pub use build::AgentBuilder;
pub use models::AgentModel;
pub use run_index::RunIndex;

use crate::{Result, WhenBusy, Workflow, environment::Environment, run::Runs, session::Sessions};

/// An agent. Cheap to clone; clones share state.
///
/// ```
/// use std::sync::Arc;
/// use headwater_runtime::{Agent, Cx, END, Next, NodeResult, START, Start, Workflow};
/// use headwater_store::Memory;
///
/// async fn greet(_cx: Cx, name: String) -> NodeResult {
///     Ok(Next::message(format!("Hello {name}!")))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let hello = Workflow::new("hello").node("greet", greet).edge(START, "greet").edge("greet", END).build()?;
/// let agent = Agent::builder().workflow(hello).store(Arc::new(Memory::new())).build()?;
///
/// let run = agent.start(Start::new("world")).await?;
/// let outcome = run.outcome().await?;
/// assert_eq!(outcome.text(), "Hello world!");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Agent {
    card: Arc<AgentCard>,
    pub(crate) runs: Arc<Runs>,
    sessions: Arc<Sessions>,
}

/// Descriptions for people.
#[derive(Debug)]
struct AgentCard {
    description: Option<String>,
    suggestions: Vec<String>,
}

/// A tool in the list of an agent's tools.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct AgentTool<'a> {
    /// Its name, description and schema, as sent to a model.
    pub spec: &'a ToolSpec,
    /// Where it is executed.
    pub executor: Executor,
    /// Whether calls may need a person's approval.
    pub may_need_approval: bool,
}

impl Agent {
    /// A builder for an agent.
    pub fn builder() -> AgentBuilder {
        AgentBuilder::default()
    }

    /// The policy for messages that arrive while a run of their session is active, if the agent sets one.
    #[must_use]
    pub fn when_busy(&self) -> Option<WhenBusy> {
        self.sessions.options.when_busy
    }

    /// Its name, unique among the agents that share a store.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.env().agent
    }

    /// A description for people.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.card.description.as_deref()
    }

    /// Suggested first messages.
    #[must_use]
    pub fn suggestions(&self) -> &[String] {
        &self.card.suggestions
    }

    /// The tools that nodes can use by name. A node may have further ones.
    pub fn tools(&self) -> impl Iterator<Item = AgentTool<'_>> {
        self.runs.services.tools.iter().map(|tool| AgentTool {
            spec: tool.spec(),
            executor: tool.executor(),
            // An approval rule that cannot read its input requires approval, so this covers every tool with a
            // rule.
            may_need_approval: tool.approval(&Value::Null) == Approval::Needed,
        })
    }

    /// The model that answers in a workflow, if it is known before a call: the workflow's model, or the
    /// agent's only one.
    #[must_use]
    pub fn model_of(&self, workflow: &Workflow) -> Option<String> {
        self.runs.answering_model(workflow)
    }

    /// Whether a run may wait for input from its page.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.env().options.asks
    }

    /// The store of its runs.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.env().store
    }

    /// The lease duration: how long a dead process blocks others from taking its runs over.
    #[must_use]
    pub fn lease(&self) -> Duration {
        self.env().options.lease
    }

    /// The newest version of each of its workflows.
    pub fn workflows(&self) -> impl Iterator<Item = &Workflow> {
        self.runs.workflows.all_newest()
    }

    /// The workflow of runs that do not name one.
    #[must_use]
    pub fn default_workflow(&self) -> Option<&str> {
        self.runs.workflows.default_id()
    }

    /// How long an ended run is kept.
    #[must_use]
    pub fn keeps(&self) -> Duration {
        self.env().options.keep
    }

    /// All versions of its workflows, the newest of each last.
    #[cfg(feature = "yaml")]
    pub(crate) fn all_workflows(&self) -> impl Iterator<Item = &Workflow> {
        self.runs.workflows.all_versions()
    }

    /// The secret that signs its tokens and cursors.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn secret(&self) -> Result<&Secret> {
        self.env().secret().await
    }

    pub(crate) fn env(&self) -> &Arc<Environment> {
        &self.runs.env
    }
}
