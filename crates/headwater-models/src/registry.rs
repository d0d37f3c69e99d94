//! A registry of models by name.

#[cfg(feature = "providers")]
use std::sync::OnceLock;
use std::{collections::BTreeMap, sync::Arc};

#[cfg(feature = "providers")]
use crate::http::{HttpModel, Player, Provider, Recorder, Transport};
use crate::{Model, ModelError, ModelErrorKind, nearest::nearest};

/// A registry of models. A model is found by the name that it was added under and by its own name. With the
/// feature `providers`, `provider:model` of a built-in provider is found too, with the key from the
/// environment.
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
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a model under a name, replacing an earlier one of that name.
    #[must_use]
    pub fn add(self, name: impl Into<String>, model: impl Model) -> Self {
        self.add_shared(name, Arc::new(model))
    }

    /// Adds a shared model under a name, replacing an earlier one of that name.
    #[must_use]
    pub fn add_shared(mut self, name: impl Into<String>, model: Arc<dyn Model>) -> Self {
        self.own.insert(model.name().to_owned(), Arc::clone(&model));
        self.added.insert(name.into(), model);
        self
    }

    /// Calls providers over this transport instead of the default one.
    #[cfg(feature = "providers")]
    #[must_use]
    pub fn transport(mut self, transport: Transport) -> Self {
        self.transport = Arc::new(OnceLock::from(transport));
        self
    }

    /// Records all traffic with providers in a folder, without keys. Models that were added are not recorded:
    /// scripted models need no cassette.
    ///
    /// # Errors
    /// If the folder cannot be created, or TLS cannot be set up on this system.
    #[cfg(feature = "providers")]
    pub fn recording(self, folder: impl AsRef<std::path::Path>) -> Result<Self, ModelError> {
        let transport = self.shared_transport()?.clone().recording(Recorder::new(folder)?);
        Ok(self.transport(transport))
    }

    /// Answers for the providers from a cassette folder; with `timed`, at the recorded pace.
    ///
    /// # Errors
    /// If the folder has no readable exchanges, or TLS cannot be set up on this system.
    #[cfg(feature = "providers")]
    pub fn playing(self, folder: impl AsRef<std::path::Path>, timed: bool) -> Result<Self, ModelError> {
        let player = Player::new(folder)?;
        let transport = self.shared_transport()?.clone().playing(if timed { player.timed() } else { player });
        Ok(self.transport(transport))
    }

    /// Finds providers' models even without a key in the environment, for callers that never call them.
    #[must_use]
    pub fn without_keys(self) -> Self {
        #[cfg(feature = "providers")]
        return Self { keyless: true, ..self };
        #[cfg(not(feature = "providers"))]
        self
    }

    /// Whether models are found without their keys: they are not called, or answer from a recording.
    #[cfg(feature = "providers")]
    #[must_use]
    pub fn needs_no_keys(&self) -> bool {
        self.keyless || self.transport.get().is_some_and(Transport::is_playing)
    }

    /// Looks up a model.
    ///
    /// # Errors
    /// If the name is unknown; the error suggests a similar name. If the environment has no key for the
    /// provider; the error names the variable to set.
    pub fn get(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        if let Some(found) = self.added.get(name).or_else(|| self.own.get(name)) {
            return Ok(Arc::clone(found));
        }
        #[cfg(feature = "providers")]
        if let Some((provider, model)) = name.split_once(':')
            && Provider::names().any(|known| known == provider)
            && !model.is_empty()
        {
            return Ok(Arc::new(self.model_of(&Provider::new(provider)?.with_env(), model)?));
        }
        Err(self.unknown(name))
    }

    /// A model of a provider that was set up by hand, called over the transport of this registry.
    ///
    /// # Errors
    /// If the provider has no address or no key, as [`Provider::check`] says.
    #[cfg(feature = "providers")]
    pub fn model_of(&self, provider: &Provider, model: &str) -> Result<HttpModel, ModelError> {
        let transport = self.shared_transport()?;
        // A provider that is not called needs no key.
        if !transport.is_playing() && !self.keyless {
            provider.check()?;
        }
        Ok(provider.model(model, transport))
    }

    /// The transport, created on first use.
    #[cfg(feature = "providers")]
    fn shared_transport(&self) -> Result<&Transport, ModelError> {
        if let Some(transport) = self.transport.get() {
            return Ok(transport);
        }
        let made = Transport::new()?;
        Ok(self.transport.get_or_init(|| made))
    }

    /// All names in order.
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
                    let message = format!("`{name}` has no model name: write `{provider}:MODEL`");
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
                format!(
                    "there is no model `{name}`: did you mean `{meant}`? known models: {}",
                    known.join(", ")
                )
            }
            None if known.is_empty() => format!("there is no model `{name}`: no models were added"),
            None => format!("there is no model `{name}`: known models: {}", known.join(", ")),
        };
        ModelError::new(ModelErrorKind::UnknownModel, message)
    }
}
