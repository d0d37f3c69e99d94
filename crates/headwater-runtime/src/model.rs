//! Which model is meant.

use std::sync::Arc;

use headwater_models::{Model, scripted::ScriptedModel};

use crate::{Result, agent::AgentInner};

/// A model, or the name of one: its name in the agent, or `provider:model`.
#[derive(Debug, Clone)]
pub enum ModelRef {
    /// By its name.
    Name(String),
    /// Itself.
    Model(Arc<dyn Model>),
}

impl ModelRef {
    pub(crate) fn resolve(&self, agent: &AgentInner) -> Result<Arc<dyn Model>> {
        match self {
            Self::Name(name) => agent.model(name),
            Self::Model(model) => Ok(model.clone()),
        }
    }
}

impl From<&str> for ModelRef {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl From<String> for ModelRef {
    fn from(name: String) -> Self {
        Self::Name(name)
    }
}

impl<M: Model> From<Arc<M>> for ModelRef {
    fn from(model: Arc<M>) -> Self {
        Self::Model(model)
    }
}

impl From<Arc<dyn Model>> for ModelRef {
    fn from(model: Arc<dyn Model>) -> Self {
        Self::Model(model)
    }
}

impl From<ScriptedModel> for ModelRef {
    fn from(model: ScriptedModel) -> Self {
        Self::Model(Arc::new(model))
    }
}
