//! Models by name.

use std::{collections::BTreeMap, sync::Arc};

use crate::{Model, ModelError, ModelErrorKind, nearest::nearest};

/// Models by name. A model is found by the name that it was added with, and by its own.
///
/// ```
/// use headwater_models::{Models, scripted::{Script, ScriptedModel}};
///
/// let models = Models::new().add("writer", ScriptedModel::new(Script::new("email")));
/// assert_eq!(models.get("writer")?.name(), "scripted:email");
/// assert_eq!(models.get("scripted:email")?.name(), "scripted:email");
///
/// let error = models.get("scripted:emial").unwrap_err();
/// assert!(error.to_string().contains("did you mean `scripted:email`?"));
/// # Ok::<(), headwater_models::ModelError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Models {
    added: BTreeMap<String, Arc<dyn Model>>,
    own: BTreeMap<String, Arc<dyn Model>>,
}

impl Models {
    /// No models.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a model under a name. The last one of a name counts.
    #[must_use]
    pub fn add(self, name: impl Into<String>, model: impl Model) -> Self {
        self.add_shared(name, Arc::new(model))
    }

    /// Adds a model that others hold too. The last one of a name counts.
    #[must_use]
    pub fn add_shared(mut self, name: impl Into<String>, model: Arc<dyn Model>) -> Self {
        self.own.insert(model.name().to_owned(), Arc::clone(&model));
        self.added.insert(name.into(), model);
        self
    }

    /// The model of a name.
    ///
    /// # Errors
    /// If there is none; the error lists the names, and the one that was probably meant.
    pub fn get(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        let found = self.added.get(name).or_else(|| self.own.get(name));
        found.map(Arc::clone).ok_or_else(|| self.unknown(name))
    }

    /// All names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let own = self.own.keys().filter(|name| !self.added.contains_key(*name));
        self.added.keys().chain(own).map(String::as_str)
    }

    fn unknown(&self, name: &str) -> ModelError {
        let known: Vec<_> = self.names().collect();
        let message = match nearest(name, known.iter().copied()) {
            Some(meant) => {
                format!("there is no model `{name}`: did you mean `{meant}`? known are {}", known.join(", "))
            }
            None if known.is_empty() => format!("there is no model `{name}`: none was added"),
            None => format!("there is no model `{name}`: known are {}", known.join(", ")),
        };
        ModelError::new(ModelErrorKind::UnknownModel, message)
    }
}
