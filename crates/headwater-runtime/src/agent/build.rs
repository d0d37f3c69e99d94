//! Putting an agent together.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
    time::Duration,
};

use headwater_models::Models;
use headwater_store::{Clock, Store, SystemClock};
use headwater_tools::{Tool, Tools};
use tokio::sync::OnceCell;

use super::{Agent, AgentInner, AgentOptions, Versions, drivers::Drivers, resuming::Resuming};
use crate::{Error, ModelRef, Result, SessionOptions, Workflow, error::ErrorKind, session::NodeCache};

/// An agent that is being put together. See [`Agent::builder`].
#[derive(Debug, Default)]
#[must_use]
pub struct AgentBuilder {
    description: Option<String>,
    suggestions: Vec<String>,
    name: Option<String>,
    workflows: Vec<Workflow>,
    default_workflow: Option<String>,
    models: Models,
    aliases: HashMap<String, String>,
    tools: Vec<Arc<dyn Tool>>,
    store: Option<Arc<dyn Store>>,
    clock: Option<Arc<dyn Clock>>,
    options: AgentOptions,
    sessions: SessionOptions,
    drivers: Arc<Mutex<Drivers>>,
    resuming: Resuming,
}

impl AgentBuilder {
    /// Names it among the agents that share a store, `agent` otherwise: a run is only taken up by the agent that began it.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Says what it does, for people.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds a message to begin a conversation with, for pages that offer some.
    pub fn suggestion(mut self, message: impl Into<String>) -> Self {
        self.suggestions.push(message.into());
        self
    }

    /// Adds a workflow. Several versions of one may be added: new runs take the one that was added last, and runs that
    /// wait go on with the one that they began with.
    pub fn workflow(mut self, workflow: Workflow) -> Self {
        self.workflows.push(workflow);
        self
    }

    /// Says which workflow runs take that name none. Needed where there are several.
    pub fn default_workflow(mut self, id: impl Into<String>) -> Self {
        self.default_workflow = Some(id.into());
        self
    }

    /// Adds the models that can be named as `provider:model`.
    pub fn models(mut self, models: Models) -> Self {
        self.models = models;
        self
    }

    /// Gives a model a name of the agent's own: a model, or the name of one.
    pub fn model(mut self, name: impl Into<String>, model: impl Into<ModelRef>) -> Self {
        match model.into() {
            ModelRef::Name(meant) => {
                self.aliases.insert(name.into(), meant);
            }
            ModelRef::Model(model) => self.models = self.models.add_shared(name, model),
        }
        self
    }

    /// Adds a tool that nodes can take by its name.
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds a tool that others hold too.
    pub fn shared_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Says where its runs are kept.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Says what time it is. The store has a clock of its own.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Says how it treats its runs.
    pub fn options(mut self, options: AgentOptions) -> Self {
        self.options = options;
        self
    }

    /// Says how it treats its sessions.
    pub fn sessions(mut self, sessions: SessionOptions) -> Self {
        self.sessions = sessions;
        self
    }

    /// Says how long a run may wait for somebody.
    pub fn max_wait(mut self, wait: Duration) -> Self {
        self.options.max_wait = wait;
        self
    }

    /// Takes over from an agent whose runs may still be going: they are woken and stopped through either.
    #[cfg(feature = "yaml")]
    pub(crate) fn take_over(mut self, agent: &Agent) -> Self {
        self.drivers = agent.0.drivers.clone();
        self.resuming = agent.0.resuming.clone();
        self
    }

    /// Checks it and makes it an agent.
    ///
    /// # Errors
    /// When it does not hold together; the message names what.
    pub fn build(self) -> Result<Agent> {
        let fail = |message: String| Err(Error::new(ErrorKind::Build, message));
        let Some(store) = self.store else {
            return fail(
                "the agent has no store: add `.store(Arc::new(Memory::new()))`, or one that lasts".into(),
            );
        };
        let mut workflows: HashMap<String, Versions> = HashMap::new();
        for workflow in &self.workflows {
            let versions = workflows
                .entry(workflow.id().to_owned())
                .or_insert_with(|| Versions { newest: String::new(), all: BTreeMap::new() });
            workflow.version().clone_into(&mut versions.newest);
            if versions.all.insert(workflow.version().to_owned(), workflow.clone()).is_some() {
                let (id, version) = (workflow.id(), workflow.version());
                return fail(format!("workflow `{id}` was added twice in version {version}"));
            }
        }
        let default_workflow = match (self.default_workflow, &*self.workflows) {
            (Some(id), _) if !workflows.contains_key(&id) => {
                return fail(format!("the default workflow `{id}` was not added"));
            }
            (Some(id), _) => Some(id),
            (None, []) => return fail("the agent has no workflow".into()),
            (None, [first, others @ ..]) => {
                others.iter().all(|other| other.id() == first.id()).then(|| first.id().to_owned())
            }
        };
        for (alias, meant) in &self.aliases {
            if let Err(error) = self.models.get(meant) {
                return fail(format!("model `{alias}`: {error}"));
            }
        }
        let mut tools = Tools::new();
        for tool in self.tools {
            tools =
                tools.with_shared(tool).map_err(|error| Error::new(ErrorKind::Build, error.to_string()))?;
        }
        Ok(Agent(Arc::new(AgentInner {
            name: self.name.unwrap_or_else(|| "agent".to_owned()),
            description: self.description,
            suggestions: self.suggestions,
            workflows,
            default_workflow,
            models: self.models,
            aliases: self.aliases,
            tools,
            store,
            clock: self.clock.unwrap_or_else(|| Arc::new(SystemClock)),
            secret: OnceCell::new(),
            owner: crate::id::fresh_id("process")?,
            options: self.options,
            sessions: self.sessions,
            drivers: self.drivers,
            resuming: self.resuming,
            skipped: Mutex::default(),
            nodes: NodeCache::default(),
        })))
    }
}
