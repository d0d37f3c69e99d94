//! An agent: workflows with their models and tools, and the store that keeps its runs.

mod build;
mod control;
mod drivers;
mod handover;
mod list;
mod question;
mod reach;
mod recall;
mod rehearse;
mod resuming;
mod run;
mod skip;
mod summary;
mod takeover;
mod tend;
mod token;
mod wake;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use headwater_models::{Model, Models};
use headwater_protocol::{Executor, ToolSpec};
use headwater_store::{Clock, Secret, Store};
use headwater_tools::{Approval, Tools};
use serde_json::Value;
use tokio::sync::OnceCell;

pub use build::AgentBuilder;
pub use control::Answered;
pub(crate) use control::client_request;
pub(crate) use control::taken_back;
pub use drivers::DrivenRun;
pub(crate) use drivers::Seat;
pub use list::{RunFilter, RunPage, RunPlace};
pub use question::{OpenQuestion, QuestionPage};
pub(crate) use run::unknown as unknown_run;
pub use run::{Outcome, Run, Start, lost_after};
pub use summary::RunSummary;
pub(crate) use summary::SummaryState;
pub use tend::Tended;
pub(crate) use tend::stopped;

use crate::{
    Error, Result, SessionOptions, WhenBusy, Workflow, error::ErrorKind, session::NodeCache,
    workflow::is_content_version,
};

/// An agent. Cheap to clone; all clones are one.
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
pub struct Agent(pub(crate) Arc<AgentInner>);

#[derive(Debug)]
pub(crate) struct AgentInner {
    pub(crate) name: String,
    description: Option<String>,
    suggestions: Vec<String>,
    workflows: HashMap<String, Versions>,
    pub(crate) default_workflow: Option<String>,
    models: Models,
    aliases: HashMap<String, String>,
    pub(crate) tools: Tools,
    pub(crate) store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    secret: OnceCell<Secret>,
    /// Names this process among those that share the store.
    pub(crate) owner: String,
    pub(crate) options: AgentOptions,
    pub(crate) sessions: SessionOptions,
    /// Shared with the agent that it takes over from: a run that is going can be woken through either.
    drivers: Arc<Mutex<drivers::Drivers>>,
    resuming: resuming::Resuming,
    skipped: Mutex<skip::Skipped>,
    pub(crate) nodes: NodeCache,
}

#[derive(Debug)]
struct Versions {
    newest: String,
    all: BTreeMap<String, Workflow>,
}

/// A tool of an agent, as it is listed.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct AgentTool<'a> {
    /// How a model is told about it.
    pub spec: &'a ToolSpec,
    /// Who executes it.
    pub executor: Executor,
    /// Whether a person may have to agree to a call.
    pub may_need_approval: bool,
}

/// How an agent treats its runs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AgentOptions {
    /// How long a run may wait for somebody: 7 days.
    pub max_wait: Duration,
    /// How long a run that has ended is kept: 7 days.
    pub keep: Duration,
    /// How much data and state a run may have: 256 KiB.
    pub max_state_bytes: usize,
    /// How often one workflow may hand over to another in a run: 32.
    pub max_transitions: u32,
    /// Whether a hook that is called with something else than the journal says stops the run, instead of a warning.
    pub strict_replay: bool,
    /// How long a process that died keeps its runs from being taken over: 30 s. A lease is renewed three times as often.
    pub lease: Duration,
    /// How long a run whose workflow file has changed is left to processes that still have the file it began with, before it
    /// fails with `workflow.changed`: not at all. Set it where several processes share the store and are upgraded one after
    /// another. A run of a workflow with a `version` of its own waits as long as it takes.
    pub version_wait: Duration,
    /// The bytes that a run may have in its journal: 128 MiB. A run that would have more fails with `run.too-large`.
    pub max_run_bytes: u64,
    /// The bytes that one answer of a model may have, with its reasoning and the inputs of its tool calls: 4 MiB. A run
    /// whose model says more fails with `model.output-too-large`.
    pub max_answer_bytes: usize,
    /// The bytes that one tool call may give, as JSON: 4 MiB. A call that gives more fails, and the model is told so.
    pub max_tool_output_bytes: usize,
    /// How often a run may be taken over in a row without getting any further: 10. Then it fails with `run.abandoned`.
    pub max_takeovers: u32,
    /// Whether a run may ask its page for something, an answer, an approval or what a tool of the page gives: yes. Some pages
    /// are shown what the server's tools do only at the end of such a run.
    pub asks: bool,
}

impl Default for AgentOptions {
    fn default() -> Self {
        let week = Duration::from_secs(7 * 24 * 60 * 60);
        Self {
            max_wait: week,
            keep: week,
            max_state_bytes: 256 << 10,
            max_transitions: 32,
            strict_replay: false,
            lease: Duration::from_secs(30),
            version_wait: Duration::ZERO,
            max_run_bytes: 128 << 20,
            max_answer_bytes: 4 << 20,
            max_tool_output_bytes: 4 << 20,
            max_takeovers: 10,
            asks: true,
        }
    }
}

impl Agent {
    /// Begins an agent.
    pub fn builder() -> AgentBuilder {
        AgentBuilder::default()
    }

    /// What happens to a message that comes while a run of its session is going, where the agent says it.
    #[must_use]
    pub fn when_busy(&self) -> Option<WhenBusy> {
        self.0.sessions.when_busy
    }

    /// Its name among the agents that share a store.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// What it does, for people.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.0.description.as_deref()
    }

    /// Messages to begin a conversation with.
    #[must_use]
    pub fn suggestions(&self) -> &[String] {
        &self.0.suggestions
    }

    /// The tools that its nodes can take by name. A node may have others of its own.
    pub fn tools(&self) -> impl Iterator<Item = AgentTool<'_>> {
        self.0.tools.iter().map(|tool| AgentTool {
            spec: tool.spec(),
            executor: tool.executor(),
            // A rule that cannot read its input wants approval, so this is so for all tools that may.
            may_need_approval: tool.approval(&Value::Null) == Approval::Needed,
        })
    }

    /// The model that answers in a workflow, where it is known before the workflow asks one: the one that the workflow
    /// names, or the agent's only model.
    #[must_use]
    pub fn model_of(&self, workflow: &Workflow) -> Option<String> {
        self.0.answering_model(workflow)
    }

    /// Whether a run may ask its page for something.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.0.options.asks
    }

    /// The store that keeps its runs.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// How long a process that died keeps its runs from being taken over.
    #[must_use]
    pub fn lease(&self) -> Duration {
        self.0.options.lease
    }

    /// The newest version of each of its workflows.
    pub fn workflows(&self) -> impl Iterator<Item = &Workflow> {
        self.0.workflows.values().filter_map(|versions| versions.all.get(&versions.newest))
    }

    /// The workflow of runs that name none.
    #[must_use]
    pub fn default_workflow(&self) -> Option<&str> {
        self.0.default_workflow.as_deref()
    }

    /// How long a run that has ended is kept.
    #[must_use]
    pub fn keeps(&self) -> Duration {
        self.0.options.keep
    }

    /// All versions of its workflows, the newest of each last.
    #[cfg(feature = "yaml")]
    pub(crate) fn all_workflows(&self) -> impl Iterator<Item = &Workflow> {
        self.0.workflows.values().flat_map(|versions| {
            let older = versions.all.values().filter(|workflow| workflow.version() != versions.newest);
            older.chain(versions.all.get(&versions.newest))
        })
    }

    /// What signs its tokens and cursors.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn secret(&self) -> Result<&Secret> {
        self.0.secret().await
    }
}

impl AgentInner {
    pub(crate) fn now(&self) -> u64 {
        self.clock.now().0
    }

    fn drivers(&self) -> MutexGuard<'_, drivers::Drivers> {
        self.drivers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn secret(&self) -> Result<&Secret> {
        Ok(self.secret.get_or_try_init(|| Secret::of(&*self.store)).await?)
    }

    /// A workflow in its newest version.
    pub(crate) fn workflow(&self, id: &str) -> Result<Workflow> {
        let versions = self.workflows.get(id).ok_or_else(|| self.unknown_workflow(id))?;
        versions.all.get(&versions.newest).cloned().ok_or_else(|| self.unknown_workflow(id))
    }

    /// A workflow in the version that a run began with.
    pub(crate) fn workflow_version(&self, id: &str, version: &str) -> Result<Workflow> {
        let versions = self.workflows.get(id).ok_or_else(|| match is_content_version(version) {
            true => changed_workflow(id),
            false => self.unknown_workflow(id),
        })?;
        versions.all.get(version).cloned().ok_or_else(|| {
            if is_content_version(version) {
                return changed_workflow(id);
            }
            let known: Vec<_> = versions.all.keys().map(String::as_str).collect();
            let message = format!(
                "the run needs version {version} of workflow `{id}`, registered are {}: it waits until that version \
                 is registered too",
                known.join(", ")
            );
            Error::new(ErrorKind::UnknownWorkflow, message).with_code("workflow.version")
        })
    }

    fn unknown_workflow(&self, id: &str) -> Error {
        let mut known: Vec<_> = self.workflows.keys().map(|id| format!("`{id}`")).collect();
        known.sort_unstable();
        let message = format!("there is no workflow `{id}`: this agent has {}", known.join(", "));
        Error::new(ErrorKind::UnknownWorkflow, message)
    }

    /// A model, by its name in this agent or as `provider:model`.
    pub(crate) fn model(&self, name: &str) -> Result<Arc<dyn Model>> {
        let meant = self.aliases.get(name).map_or(name, String::as_str);
        self.models.get(meant).map_err(|error| Error::new(ErrorKind::UnknownModel, error.to_string()))
    }
}

impl AgentInner {
    /// The name of the model that answers in a workflow, as far as it is known before the workflow asks one: the one that
    /// the workflow names, or the agent's only model.
    fn answering_model(&self, workflow: &Workflow) -> Option<String> {
        if let Some(model) = &workflow.graph().model {
            return Some(model.resolve(self).ok()?.name().to_owned());
        }
        let names = self.models.names().chain(self.aliases.keys().map(String::as_str));
        let mut models = names.filter_map(|name| Some(self.model(name).ok()?.name().to_owned()));
        let first = models.next()?;
        models.all(|other| other == first).then_some(first)
    }
}

/// The code of a run that cannot go on because the workflow that it began with is gone for good.
pub(crate) const WORKFLOW_CHANGED: &str = "workflow.changed";

fn changed_workflow(id: &str) -> Error {
    let message = format!(
        "workflow `{id}` was changed while the run was under way, and the version that it began with is gone: start \
         again, or give the workflow a `version` and keep the old one until its runs have ended"
    );
    Error::new(ErrorKind::UnknownWorkflow, message).with_code(WORKFLOW_CHANGED)
}
