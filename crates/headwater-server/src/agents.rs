//! The agents that a server has, by name.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use headwater_protocol::{Message, RunId};
use headwater_runtime::{Agent, ErrorKind, RunSummary};

use crate::{ApiError, ClientPolicy, Visibility};

/// The agents of a server, by name. Cheap to clone; clones share state.
///
/// ```
/// use std::sync::Arc;
/// use headwater_runtime::{Agent, Cx, END, Next, NodeResult, START, Workflow};
/// use headwater_server::Agents;
/// use headwater_store::Memory;
///
/// async fn greet(_cx: Cx, name: String) -> NodeResult {
///     Ok(Next::message(format!("Hello {name}!")))
/// }
///
/// let hello = Workflow::new("hello").node("greet", greet).edge(START, "greet").edge("greet", END).build()?;
/// let agent = Agent::builder().workflow(hello).store(Arc::new(Memory::new())).build()?;
/// let agents = Agents::new().add("hello", agent);
/// assert_eq!(agents.names(), ["hello"]);
/// # Ok::<(), headwater_runtime::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Agents(Arc<RwLock<AgentTable>>);

#[derive(Debug, Default)]
struct AgentTable {
    agents: BTreeMap<String, ServedAgent>,
    /// Retired agents: they accept no new turns but still have runs.
    retired: BTreeMap<String, ServedAgent>,
    default: Option<String>,
    /// The names in the order of addition, which is the order of lists.
    order: Vec<String>,
    /// The client policies that differ from the default.
    policies: BTreeMap<String, Arc<ClientPolicy>>,
}

/// An agent with its visibility and policy.
#[derive(Debug, Clone)]
pub(crate) struct ServedAgent {
    pub(crate) name: String,
    pub(crate) agent: Agent,
    pub(crate) visibility: Visibility,
    pub(crate) client: Arc<ClientPolicy>,
}

impl ServedAgent {
    /// Messages with hidden parts removed.
    pub(crate) fn shown(&self, messages: Vec<Message>) -> Vec<Message> {
        self.visibility.messages(messages)
    }
}

impl Agents {
    /// No agents yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an agent with the default [`Visibility`]: everything is visible except error texts. The first
    /// agent is the default.
    #[must_use]
    pub fn add(self, name: impl Into<String>, agent: Agent) -> Self {
        self.set(name, agent, Visibility::default());
        self
    }

    /// Adds an agent with the given visibility.
    #[must_use]
    pub fn add_with(self, name: impl Into<String>, agent: Agent, visibility: Visibility) -> Self {
        self.set(name, agent, visibility);
        self
    }

    /// Adds an agent or replaces the one with that name. Requests in progress keep the old agent.
    pub fn set(&self, name: impl Into<String>, agent: Agent, visibility: Visibility) {
        let name = name.into();
        let mut named = self.0.write().unwrap_or_else(PoisonError::into_inner);
        named.default.get_or_insert_with(|| name.clone());
        named.retired.remove(&name);
        if !named.order.contains(&name) {
            named.order.push(name.clone());
        }
        let shares = |other: &&ServedAgent| {
            other.name != name
                && other.agent.name() == agent.name()
                && Arc::ptr_eq(other.agent.store(), agent.store())
        };
        if let Some(other) = named.agents.values().find(shares) {
            tracing::error!(
                "agents `{}` and `{name}` have one store and are both named `{}` there, so that each would take the \
                 other's runs for its own: give them names with `Agent::builder().name(…)`",
                other.name,
                agent.name()
            );
        }
        let client = named.policies.get(&name).cloned().unwrap_or_default();
        named.agents.insert(name.clone(), ServedAgent { name, agent, visibility, client });
    }

    /// Sets the settings that clients of an agent may choose; the default is [`ClientPolicy::default`].
    #[must_use]
    pub fn trusting(self, name: &str, policy: ClientPolicy) -> Self {
        self.set_client_policy(name, policy);
        self
    }

    /// Sets the settings that clients of an agent may choose.
    pub fn set_client_policy(&self, name: &str, policy: ClientPolicy) {
        let mut named = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let policy = Arc::new(policy);
        named.policies.insert(name.to_owned(), policy.clone());
        let AgentTable { agents, retired, .. } = &mut *named;
        if let Some(served) = agents.get_mut(name).or_else(|| retired.get_mut(name)) {
            served.client = policy;
        }
    }

    /// Removes an agent.
    pub fn remove(&self, name: &str) {
        let mut named = self.0.write().unwrap_or_else(PoisonError::into_inner);
        named.agents.remove(name);
        named.retired.remove(name);
        named.order.retain(|known| known != name);
        if named.default.as_deref() == Some(name) {
            named.default = named.order.first().cloned();
        }
    }

    /// Retires an agent: it accepts no new turns. Its runs continue and can be read, answered and stopped. Requests
    /// that name no agent do not fall back to another one.
    pub fn retire(&self, name: &str) {
        let mut named = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(served) = named.agents.remove(name) {
            named.retired.insert(name.to_owned(), served);
        }
    }

    /// Sets the default agent, for requests that name none; otherwise it is the first agent. Unknown names
    /// are ignored.
    pub fn set_default(&self, name: &str) {
        let mut named = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if named.agents.contains_key(name) {
            named.default = Some(name.to_owned());
        }
    }

    /// The default agent, for requests that name none.
    #[must_use]
    pub fn default_name(&self) -> Option<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).default.clone()
    }

    /// The names, in the order of addition.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.named().into_iter().map(|served| served.name).collect()
    }

    /// The agents ordered by name, including [retired](Self::retire) ones.
    #[must_use]
    pub fn all(&self) -> Vec<Agent> {
        self.served().into_iter().map(|served| served.agent).collect()
    }

    /// The agents available to requests, in the order of addition.
    pub(crate) fn named(&self) -> Vec<ServedAgent> {
        let named = self.0.read().unwrap_or_else(PoisonError::into_inner);
        named.order.iter().filter_map(|name| named.agents.get(name)).cloned().collect()
    }

    pub(crate) fn served(&self) -> Vec<ServedAgent> {
        let named = self.0.read().unwrap_or_else(PoisonError::into_inner);
        named.agents.values().chain(named.retired.values()).cloned().collect()
    }

    /// The agent of that name, or the default.
    pub(crate) fn find(&self, name: Option<&str>) -> Result<ServedAgent, ApiError> {
        let named = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let name = name.or(named.default.as_deref());
        match name.and_then(|name| named.agents.get(name)) {
            Some(served) => Ok(served.clone()),
            None => {
                let name = name.map(str::to_owned);
                drop(named);
                Err(self.unknown(name.as_deref()))
            }
        }
    }

    /// An error for an unknown agent name, or for a server without a default agent.
    pub(crate) fn unknown(&self, name: Option<&str>) -> ApiError {
        let known = self.names();
        let message = match name {
            Some(name) if !known.is_empty() => {
                format!("there is no agent `{name}`: this server has `{}`", known.join("`, `"))
            }
            _ => "this server has no agents".to_owned(),
        };
        ApiError::not_found("agent.unknown", message).known(known)
    }

    /// The summary of a run without hidden fields, under this server's name for the agent. Clients know the
    /// agent by no other name.
    pub(crate) fn visible(&self, mut summary: RunSummary) -> RunSummary {
        let named = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut all = named.agents.values().chain(named.retired.values());
        let Some(served) = all.find(|served| served.agent.name() == summary.agent) else {
            return Visibility::default().summary(summary);
        };
        summary.agent.clone_from(&served.name);
        served.visibility.summary(summary)
    }

    /// The agents, as the store knows them, whose inputs readers do not see.
    pub(crate) fn with_hidden_inputs(&self) -> Vec<String> {
        let named = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let all = named.agents.values().chain(named.retired.values());
        let hidden = all.filter(|served| !served.visibility.input_previews);
        hidden.map(|served| served.agent.name().to_owned()).collect()
    }

    /// The name that this server has for an agent, which the store knows by another.
    pub(crate) fn name_of(&self, agent: &str) -> Option<String> {
        let named = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut all = named.agents.values().chain(named.retired.values());
        all.find(|served| served.agent.name() == agent).map(|served| served.name.clone())
    }

    /// Rejects a new turn of a retired agent.
    pub(crate) fn takes_turns(&self, agent: &Agent) -> Result<(), ApiError> {
        let named = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let retired = named.retired.values().find(|served| served.agent.name() == agent.name());
        match retired.map(|served| served.name.clone()) {
            Some(name) => {
                drop(named);
                self.find(Some(&name)).map(drop)
            }
            None => Ok(()),
        }
    }

    /// The agent of a run, and the run's metadata.
    pub(crate) async fn of_run(&self, run: &RunId) -> Result<(ServedAgent, RunSummary), ApiError> {
        let all = self.served();
        let mut failed = None;
        for served in &all {
            let summary = match served.agent.run(run.clone()).summary().await {
                Ok(summary) => summary,
                Err(error) if error.kind() == ErrorKind::UnknownRun => continue,
                // Another agent's store may have it.
                Err(error) => {
                    failed.get_or_insert(error);
                    continue;
                }
            };
            let owner = all.iter().find(|served| served.agent.name() == summary.agent);
            return owner.map(|owner| (owner.clone(), summary)).ok_or_else(ApiError::no_run);
        }
        Err(failed.map_or_else(ApiError::no_run, ApiError::from))
    }
}
