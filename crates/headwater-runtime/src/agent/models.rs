//! The models of an agent, and how their calls went.

use std::collections::BTreeMap;

use headwater_models::ModelKey;

use super::Agent;
use crate::ModelCalls;

/// After so many failures in a row a model counts as failing.
const FAILING: u32 = 3;

/// A model of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentModel {
    /// The names that the agent has for it; empty if only nodes name it.
    pub aliases: Vec<String>,
    /// Its name as `provider:model`.
    pub model: String,
    /// Whether it has the key that it needs.
    pub key: ModelKey,
    /// The URL under which it is called, if it is called over HTTP.
    pub address: Option<String>,
    /// How its calls went.
    pub calls: ModelCalls,
}

impl AgentModel {
    /// Whether its last calls all failed.
    #[must_use]
    pub fn is_failing(&self) -> bool {
        self.calls.failures >= FAILING
    }
}

impl Agent {
    /// The models that it has names for, that its workflows name, and that were called, ordered by name.
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
