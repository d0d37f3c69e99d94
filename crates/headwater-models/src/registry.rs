//! Models by name.

#[cfg(feature = "providers")]
use std::sync::OnceLock;
use std::{collections::BTreeMap, sync::Arc};

#[cfg(feature = "providers")]
use crate::http::{Player, Provider, Recorder, Transport};
use crate::{Model, ModelError, ModelErrorKind, nearest::nearest};

/// Models by name. A model is found by the name that it was added with, and by its own. With the feature `providers`,
/// `provider:model` of a known provider is found too, with the key that the environment has for it.
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
    #[cfg(feature = "providers")]
    transport: Arc<OnceLock<Transport>>,
    #[cfg(feature = "providers")]
    keyless: bool,
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

    /// Asks providers over this transport, instead of one with the usual waits.
    #[cfg(feature = "providers")]
    #[must_use]
    pub fn transport(mut self, transport: Transport) -> Self {
        self.transport = Arc::new(OnceLock::from(transport));
        self
    }

    /// Keeps what goes between here and the providers in files of a folder, without keys. Models that were added are
    /// asked as before: those that follow a script need no cassette.
    ///
    /// # Errors
    /// If the folder cannot be made, or this system's TLS cannot be set up.
    #[cfg(feature = "providers")]
    pub fn recording(self, folder: impl AsRef<std::path::Path>) -> Result<Self, ModelError> {
        let transport = self.opened()?.clone().recording(Recorder::new(folder)?);
        Ok(self.transport(transport))
    }

    /// Answers for the providers with what was kept in a folder; with `timed`, at the pace at which it came.
    ///
    /// # Errors
    /// If the folder has no exchanges that can be read, or this system's TLS cannot be set up.
    #[cfg(feature = "providers")]
    pub fn playing(self, folder: impl AsRef<std::path::Path>, timed: bool) -> Result<Self, ModelError> {
        let player = Player::new(folder)?;
        let transport = self.opened()?.clone().playing(if timed { player.timed() } else { player });
        Ok(self.transport(transport))
    }

    /// Finds providers' models also where the environment has no key for them, for those who do not ask them.
    #[must_use]
    pub fn without_keys(self) -> Self {
        #[cfg(feature = "providers")]
        return Self { keyless: true, ..self };
        #[cfg(not(feature = "providers"))]
        self
    }

    /// The model of a name.
    ///
    /// # Errors
    /// If there is none; the error lists the names, and the one that was probably meant. If it is a provider's and the
    /// environment has no key for it; the error says which variable to set.
    pub fn get(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        if let Some(found) = self.added.get(name).or_else(|| self.own.get(name)) {
            return Ok(Arc::clone(found));
        }
        #[cfg(feature = "providers")]
        if let Some((provider, model)) = name.split_once(':')
            && Provider::names().any(|known| known == provider)
            && !model.is_empty()
        {
            let (provider, transport) = (Provider::new(provider)?.with_env(), self.opened()?);
            // Whoever is not asked needs no key.
            if !transport.is_playing() && !self.keyless {
                provider.check()?;
            }
            return Ok(Arc::new(provider.model(model, transport)));
        }
        Err(self.unknown(name))
    }

    /// The transport, which is made when it is first needed.
    #[cfg(feature = "providers")]
    fn opened(&self) -> Result<&Transport, ModelError> {
        if let Some(transport) = self.transport.get() {
            return Ok(transport);
        }
        let made = Transport::new()?;
        Ok(self.transport.get_or_init(|| made))
    }

    /// All names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let own = self.own.keys().filter(|name| !self.added.contains_key(*name));
        self.added.keys().chain(own).map(String::as_str)
    }

    fn unknown(&self, name: &str) -> ModelError {
        #[cfg(feature = "providers")]
        if let Some((provider, model)) = name.split_once(':')
            && provider != "scripted"
            && !self.names().any(|known| known.split(':').next() == Some(provider))
        {
            return match Provider::new(provider) {
                Ok(_) => {
                    let message =
                        format!("`{name}` names no model: write `{provider}:` and the model's name");
                    ModelError::new(ModelErrorKind::UnknownModel, message)
                }
                Err(error) => {
                    let message = format!("there is no model `{model}` of `{provider}`: {}", error.message());
                    ModelError::new(ModelErrorKind::UnknownModel, message)
                }
            };
        }
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
