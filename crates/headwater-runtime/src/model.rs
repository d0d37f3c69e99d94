//! Model references of an agent.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use headwater_models::{Model, Models, scripted::ScriptedModel};

use crate::{Error, Result, error::ErrorKind, model_health::ModelHealthLog};

/// The models of an agent, and its names for them.
#[derive(Debug, Clone)]
pub(crate) struct ModelCatalog {
    models: Models,
    /// The agent's own names for models of `models`.
    aliases: HashMap<String, String>,
    /// Health of their calls.
    pub(crate) health: Arc<ModelHealthLog>,
}

impl ModelCatalog {
    pub(crate) fn new(models: Models, aliases: HashMap<String, String>, health: Arc<ModelHealthLog>) -> Self {
        Self { models, aliases, health }
    }

    /// The names of the agent's models: aliases, and models that were called.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let own = self.aliases.keys().cloned().chain(self.models.names().map(str::to_owned));
        own.chain(self.health.names()).collect()
    }

    /// The full `provider:model` name for an alias, whether or not the model can be called.
    pub(crate) fn full_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.aliases.get(name).map_or(name, String::as_str)
    }

    /// A model, by alias or as `provider:model`.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<dyn Model>> {
        let name = self.aliases.get(name).map_or(name, String::as_str);
        self.models.get(name).map_err(|error| Error::new(ErrorKind::UnknownModel, error.to_string()))
    }

    /// The only model of the agent; `None` if there are several.
    pub(crate) fn only(&self) -> Option<String> {
        let names = self.models.names().chain(self.aliases.keys().map(String::as_str));
        let mut models = names.filter_map(|name| Some(self.get(name).ok()?.name().to_owned()));
        let first = models.next()?;
        models.all(|other| other == first).then_some(first)
    }

    /// The same models without their keys, for a replay, which never calls them.
    pub(crate) fn without_keys(&self) -> Self {
        Self {
            models: self.models.clone().without_keys(),
            aliases: self.aliases.clone(),
            health: Arc::default(),
        }
    }
}

/// A model, or the name of one: an alias of the agent, or `provider:model`.
#[derive(Debug, Clone)]
pub enum ModelRef {
    /// A name.
    Name(String),
    /// A model object.
    Model(Arc<dyn Model>),
}

impl ModelRef {
    pub(crate) fn resolve(&self, models: &ModelCatalog) -> Result<Arc<dyn Model>> {
        match self {
            Self::Name(name) => models.get(name),
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
