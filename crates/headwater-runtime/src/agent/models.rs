//! The models of an agent, and the health of their calls.

use std::collections::BTreeMap;

use headwater_models::ModelKey;

use super::Agent;
use crate::ModelCalls;

/// Number of consecutive failures after which a model counts as failing.
const FAILING: u32 = 3;

/// A model of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentModel {
    /// The agent's names for it; empty if only nodes name it.
    pub aliases: Vec<String>,
    /// Its name as `provider:model`.
    pub model: String,
    /// Whether its API key is present.
    pub key: ModelKey,
    /// Its URL, if it is called over HTTP.
    pub address: Option<String>,
    /// Health of its calls.
    pub calls: ModelCalls,
}

impl AgentModel {
    /// Whether its recent calls all failed.
    #[must_use]
    pub fn is_failing(&self) -> bool {
        self.calls.failures >= FAILING
    }
}

impl Agent {
    /// The models with aliases, those named by workflows, and those that were called, ordered by name.
    #[must_use]
    pub fn models(&self) -> Vec<AgentModel> {
        let models = &self.runs.services.models;
        let mut names = models.names();
        names.extend(self.workflows().filter_map(|workflow| self.model_of(workflow)));
        let mut found: BTreeMap<String, AgentModel> = BTreeMap::new();
        for name in names {
            let (model, key, address) = match models.get(&name) {
                Ok(model) => (model.name().to_owned(), model.key(), model.address().map(str::to_owned)),
                Err(_) => (models.full_name(&name).to_owned(), ModelKey::Missing, None),
            };
            let calls = models.health.get(&model);
            let entry = found.entry(model.clone()).or_insert(AgentModel {
                aliases: Vec::new(),
                model,
                key,
                address,
                calls,
            });
            if name != entry.model {
                entry.aliases.push(name);
            }
        }
        found.into_values().collect()
    }
}
