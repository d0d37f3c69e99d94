//! The providers: where they are, how they are told the key, and what language they speak.

use std::{env, fmt, sync::Arc};

use headwater_protocol::Secrets;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};

use super::{HttpModel, Transport};
use crate::{
    ModelError, ModelErrorKind,
    nearest::nearest,
    wire::{Dialect, Settings, Wire},
};

/// A key. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// A key.
    #[must_use]
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }
}

impl From<&str> for Key {
    fn from(key: &str) -> Self {
        Self::new(key)
    }
}

impl From<String> for Key {
    fn from(key: String) -> Self {
        Self::new(key)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// A provider: its address, its key and its language.
#[derive(Debug, Clone)]
pub struct Provider {
    known: &'static Known,
    /// Its name and the name of its options, if they are not the usual ones.
    called: Option<Arc<str>>,
    base_url: Option<String>,
    key: Option<Key>,
}

/// What we know of a provider.
#[derive(Debug)]
struct Known {
    name: &'static str,
    /// Under which its options and metadata are kept.
    options: &'static str,
    wire: Wire,
    base_url: Option<&'static str>,
    base_url_variable: &'static str,
    key_variables: &'static [&'static str],
    needs_key: bool,
    key_header: KeyHeader,
}

#[derive(Debug, Clone, Copy)]
enum KeyHeader {
    Bearer,
    Own(&'static str),
}

const OPENAI_CHAT: Known = Known {
    name: "openai-chat",
    options: "openai",
    wire: Wire::chat(&Dialect::OPENAI),
    base_url: Some("https://api.openai.com/v1"),
    base_url_variable: "OPENAI_BASE_URL",
    key_variables: &["OPENAI_API_KEY"],
    needs_key: true,
    key_header: KeyHeader::Bearer,
};

/// All providers. To add one that speaks chat completions is to add its lines here.
static KNOWN: [Known; 9] = [
    Known { name: "openai", wire: Wire::RESPONSES, ..OPENAI_CHAT },
    OPENAI_CHAT,
    Known {
        name: "anthropic",
        options: "anthropic",
        wire: Wire::ANTHROPIC,
        base_url: Some("https://api.anthropic.com"),
        base_url_variable: "ANTHROPIC_BASE_URL",
        key_variables: &["ANTHROPIC_API_KEY"],
        needs_key: true,
        key_header: KeyHeader::Own("x-api-key"),
    },
    Known {
        name: "google",
        options: "google",
        wire: Wire::GOOGLE,
        base_url: Some("https://generativelanguage.googleapis.com/v1beta"),
        base_url_variable: "GOOGLE_BASE_URL",
        key_variables: &["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"],
        needs_key: true,
        key_header: KeyHeader::Own("x-goog-api-key"),
    },
    Known {
        name: "deepseek",
        options: "deepseek",
        wire: Wire::chat(&Dialect::DEEPSEEK),
        base_url: Some("https://api.deepseek.com"),
        base_url_variable: "DEEPSEEK_BASE_URL",
        key_variables: &["DEEPSEEK_API_KEY"],
        ..OPENAI_CHAT
    },
    Known {
        name: "groq",
        options: "groq",
        wire: Wire::chat(&Dialect::GROQ),
        base_url: Some("https://api.groq.com/openai/v1"),
        base_url_variable: "GROQ_BASE_URL",
        key_variables: &["GROQ_API_KEY"],
        ..OPENAI_CHAT
    },
    Known {
        name: "mistral",
        options: "mistral",
        wire: Wire::chat(&Dialect::MISTRAL),
        base_url: Some("https://api.mistral.ai/v1"),
        base_url_variable: "MISTRAL_BASE_URL",
        key_variables: &["MISTRAL_API_KEY"],
        ..OPENAI_CHAT
    },
    Known {
        name: "ollama",
        options: "ollama",
        wire: Wire::chat(&Dialect::OLLAMA),
        base_url: Some("http://127.0.0.1:11434/v1"),
        base_url_variable: "OLLAMA_BASE_URL",
        key_variables: &["OLLAMA_API_KEY"],
        needs_key: false,
        ..OPENAI_CHAT
    },
    Known {
        name: "openai-compatible",
        options: "openai-compatible",
        wire: Wire::chat(&Dialect::COMPATIBLE),
        base_url: None,
        base_url_variable: "OPENAI_COMPATIBLE_BASE_URL",
        key_variables: &["OPENAI_COMPATIBLE_API_KEY"],
        needs_key: false,
        ..OPENAI_CHAT
    },
];

impl Provider {
    /// A provider without a key, by its name.
    ///
    /// # Errors
    /// If there is no provider of this name.
    pub fn new(name: &str) -> Result<Self, ModelError> {
        match KNOWN.iter().find(|known| known.name == name) {
            Some(known) => Ok(Self { known, called: None, base_url: None, key: None }),
            None => {
                let known: Vec<_> = Self::names().collect();
                let suggestion = nearest(name, Self::names())
                    .map(|meant| format!("did you mean `{meant}`? "))
                    .unwrap_or_default();
                let message =
                    format!("there is no provider `{name}`: {suggestion}known are {}", known.join(", "));
                Err(ModelError::new(ModelErrorKind::UnknownModel, message))
            }
        }
    }

    /// A provider with the key and the address that the environment gives, such as `ANTHROPIC_API_KEY` and
    /// `ANTHROPIC_BASE_URL`.
    ///
    /// # Errors
    /// If there is no provider of this name, or if the environment does not have what it needs. A provider at an
    /// address of one's own may do without a key.
    pub fn from_env(name: &str) -> Result<Self, ModelError> {
        Self::from_variables(name, |variable| env::var(variable).ok())
    }

    /// The same with variables from elsewhere.
    ///
    /// # Errors
    /// As [`Provider::from_env`].
    pub fn from_variables(name: &str, get: impl Fn(&str) -> Option<String>) -> Result<Self, ModelError> {
        let provider = Self::new(name)?.with_variables(get);
        provider.check()?;
        Ok(provider)
    }

    /// Takes the key and the address from the environment, where it has them. [`Provider::check`] says what is missing.
    #[must_use]
    pub fn with_env(self) -> Self {
        self.with_variables(|variable| env::var(variable).ok())
    }

    fn with_variables(mut self, get: impl Fn(&str) -> Option<String>) -> Self {
        self.key = self.known.key_variables.iter().find_map(|variable| given(get(variable))).map(Key);
        self.base_url = given(get(self.known.base_url_variable));
        self
    }

    /// Whether it has all that it needs to be asked.
    ///
    /// # Errors
    /// If it has no key and is not at an address of one's own, or if nobody knows where it is; the error says which
    /// variable to set.
    pub fn check(&self) -> Result<(), ModelError> {
        let missing = |kind, what: &str, variables: &[&str]| {
            let message = format!("there is no {what}: set {}", variables.join(" or "));
            Err(ModelError::new(kind, message).provider(self.name()))
        };
        if self.base_url.is_none() && self.known.base_url.is_none() {
            return missing(ModelErrorKind::InvalidRequest, "address", &[self.known.base_url_variable]);
        }
        if self.key.is_none() && self.known.needs_key && self.base_url.is_none() {
            return missing(ModelErrorKind::Auth, "key", self.known.key_variables);
        }
        Ok(())
    }

    /// The names of all providers.
    pub fn names() -> impl Iterator<Item = &'static str> {
        KNOWN.iter().map(|known| known.name)
    }

    /// Gives it a key.
    #[must_use]
    pub fn key(mut self, key: impl Into<Key>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Says where it is, up to and with the version: `https://api.openai.com/v1`.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Calls it something else, where several speak the same language. Its options and metadata have this name too.
    ///
    /// ```
    /// use headwater_models::http::Provider;
    ///
    /// let xai = Provider::new("openai-compatible")?.called("xai").base_url("https://api.x.ai/v1");
    /// assert_eq!(xai.name(), "xai");
    /// # Ok::<(), headwater_models::ModelError>(())
    /// ```
    #[must_use]
    pub fn called(mut self, name: impl Into<Arc<str>>) -> Self {
        self.called = Some(name.into());
        self
    }

    /// One of its models.
    #[must_use]
    pub fn model(&self, model: impl Into<String>, transport: &Transport) -> HttpModel {
        let options = self.called.as_deref().unwrap_or(self.known.options);
        HttpModel::new(self.clone(), Settings::new(options, model), transport.clone())
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.called.as_deref().unwrap_or(self.known.name)
    }

    /// Whether it has a key.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// What no error may show.
    pub(super) fn secrets(&self) -> Secrets {
        Secrets::of(self.secret())
    }

    /// The key, which a recording must not hold.
    pub(super) fn secret(&self) -> Option<&str> {
        self.key.as_ref().map(|Key(key)| key.as_str())
    }

    /// The variables of the environment that may hold its key.
    #[must_use]
    pub fn key_variables(&self) -> &'static [&'static str] {
        self.known.key_variables
    }

    /// The variable of the environment that may hold its address.
    #[must_use]
    pub fn address_variable(&self) -> &'static str {
        self.known.base_url_variable
    }

    /// Where it is, if that is known.
    #[must_use]
    pub fn location(&self) -> Option<&str> {
        self.base_url.as_deref().or(self.known.base_url)
    }

    /// What language it speaks, in a word or two.
    #[must_use]
    pub fn language(&self) -> &'static str {
        self.known.wire.name()
    }

    pub(super) fn wire(&self) -> Wire {
        self.known.wire
    }

    /// The address of a path.
    pub(super) fn address(&self, path: &str) -> Result<String, ModelError> {
        let Some(base) = self.base_url.as_deref().or(self.known.base_url) else {
            let message = format!("it is not known where it is: set {}", self.known.base_url_variable);
            return Err(ModelError::new(ModelErrorKind::InvalidRequest, message).provider(self.name()));
        };
        let base = base.trim_end_matches('/');
        // Some write the version into the address although the path has it.
        let base = if path.starts_with("/v1/") { base.strip_suffix("/v1").unwrap_or(base) } else { base };
        Ok(format!("{base}{path}"))
    }

    /// The header with the key, if there is one. It is marked so that no log shows it.
    pub(super) fn key_header(&self) -> Result<Option<(HeaderName, HeaderValue)>, ModelError> {
        let Some(Key(key)) = &self.key else { return Ok(None) };
        let (name, value) = match self.known.key_header {
            KeyHeader::Bearer => (AUTHORIZATION, format!("Bearer {key}")),
            KeyHeader::Own(name) => (HeaderName::from_static(name), key.clone()),
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| {
            let message = "the key has a character that no header can hold: check for line ends and quotes";
            ModelError::new(ModelErrorKind::Auth, message).provider(self.name())
        })?;
        value.set_sensitive(true);
        Ok(Some((name, value)))
    }
}

/// What a variable says, if it says anything.
fn given(value: Option<String>) -> Option<String> {
    value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}
