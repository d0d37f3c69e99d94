//! Building an agent.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use headwater_models::Models;
use headwater_store::{Clock, IntoStore, Store, SystemClock};
use headwater_tools::{Tool, Tools};

use super::{Agent, AgentCard};
use crate::{
    AgentOptions, Error, ModelRef, Price, Result, SessionOptions, Workflow,
    environment::Environment,
    error::ErrorKind,
    id::fresh_id,
    model::ModelCatalog,
    model_health::ModelHealthLog,
    node::NodeServices,
    question::Questions,
    run::{RunRegistry, Runs, TurnHost, Workflows},
    session::Sessions,
};

/// Builder of an agent. See [`Agent::builder`].
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
    registry: RunRegistry,
    health: Arc<ModelHealthLog>,
}

impl AgentBuilder {
    /// Sets the name, unique among the agents that share a store; the default is `agent`. Only an agent of
    /// the same name resumes its runs.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the description for people.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds a suggested first message, for pages that show them.
    pub fn suggestion(mut self, message: impl Into<String>) -> Self {
        self.suggestions.push(message.into());
        self
    }

    /// Adds a workflow. Several versions of one may be added: new runs use the one added last, and waiting
    /// runs continue with their original version.
    pub fn workflow(mut self, workflow: Workflow) -> Self {
        self.workflows.push(workflow);
        self
    }

    /// Sets the workflow of runs that do not name one. Required if there are several.
    pub fn default_workflow(mut self, id: impl Into<String>) -> Self {
        self.default_workflow = Some(id.into());
        self
    }

    /// Adds the models that are available as `provider:model`.
    pub fn models(mut self, models: Models) -> Self {
        self.models = models;
        self
    }

    /// Adds a model, or a reference to one, under the agent's own name for it.
    pub fn model(mut self, name: impl Into<String>, model: impl Into<ModelRef>) -> Self {
        match model.into() {
            ModelRef::Name(meant) => {
                self.aliases.insert(name.into(), meant);
            }
            ModelRef::Model(model) => self.models = self.models.add_shared(name, model),
        }
        self
    }

    /// Adds a tool that nodes can use by name.
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds a shared tool.
    pub fn shared_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Sets the store of its runs: a store, or an `Arc` of a shared one.
    pub fn store(mut self, store: impl IntoStore) -> Self {
        self.store = Some(store.into_store());
        self
    }

    /// Sets the clock. The store has its own.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Sets the options of its runs.
    pub fn options(mut self, options: AgentOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the options of its sessions.
    pub fn sessions(mut self, sessions: SessionOptions) -> Self {
        self.sessions = sessions;
        self
    }

    /// Sets the price of a model, by its name as `provider:model`.
    pub fn price(mut self, model: impl Into<String>, price: Price) -> Self {
        self.options.prices.set(model, price);
        self
    }

    /// Sets how long a run may wait for an answer.
    pub fn max_wait(mut self, wait: Duration) -> Self {
        self.options.max_wait = wait;
        self
    }

    /// Sets the replaced agent, whose runs may still be active: either agent can wake and stop them.
    #[cfg(feature = "yaml")]
    pub(crate) fn continue_from(mut self, agent: &Agent) -> Self {
        self.registry = agent.runs.registry.clone();
        self.health = agent.runs.services.models.health.clone();
        self
    }

    /// Checks the definition and builds the agent.
    ///
    /// # Errors
    /// When the definition is inconsistent; the message names the fault.
    pub fn build(self) -> Result<Agent> {
        let fail = |message: String| Err(Error::new(ErrorKind::Build, message));
        let Some(store) = self.store else {
            return fail(
                "the agent has no store: add `.store(Arc::new(Memory::new()))`, or one that lasts".into(),
            );
        };
        let workflows = Workflows::new(&self.workflows, self.default_workflow)?;
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
        let name = self.name.unwrap_or_else(|| "agent".to_owned());
        let clock = self.clock.unwrap_or_else(|| Arc::new(SystemClock));
        let env = Arc::new(Environment::new(name, fresh_id("process")?, store, clock, self.options));
        let services = Arc::new(NodeServices {
            models: ModelCatalog::new(self.models, self.aliases, self.health),
            tools,
            questions: Questions::new(env.clone()),
            env,
        });
        let sessions = Arc::new_cyclic(|sessions: &Weak<Sessions>| {
            let turns: Weak<dyn TurnHost> = sessions.clone();
            Sessions::new(Arc::new(Runs::new(services, workflows, self.registry, turns)), self.sessions)
        });
        let card = AgentCard { description: self.description, suggestions: self.suggestions };
        Ok(Agent { card: Arc::new(card), runs: sessions.runs.clone(), sessions })
    }
}
