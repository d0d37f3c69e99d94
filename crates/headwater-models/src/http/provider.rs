//! Providers: their addresses, authentication and wire formats.

use std::{env, fmt, sync::Arc};

use headwater_protocol::Secrets;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};

use crate::{
    ModelError, ModelErrorKind,
    nearest::nearest,
    wire::{ChatQuirks, Wire},
};

/// An API key. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Wraps a key.
    #[must_use]
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }
}

impl From<&str> for ApiKey {
    fn from(key: &str) -> Self {
        Self::new(key)
    }
}

impl From<String> for ApiKey {
    fn from(key: String) -> Self {
        Self::new(key)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// A provider: address, key and wire format.
#[derive(Debug, Clone)]
pub struct Provider {
    info: &'static ProviderInfo,
    /// Name of the provider and its options, if it was renamed.
    called: Option<Arc<str>>,
    base_url: Option<String>,
    key: Option<ApiKey>,
}

/// Built-in facts about a provider.
#[derive(Debug)]
struct ProviderInfo {
    name: &'static str,
    /// Key of its options and metadata.
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

const OPENAI_CHAT: ProviderInfo = ProviderInfo {
    name: "openai-chat",
    options: "openai",
    wire: Wire::chat(&ChatQuirks::OPENAI),
    base_url: Some("https://api.openai.com/v1"),
    base_url_variable: "OPENAI_BASE_URL",
    key_variables: &["OPENAI_API_KEY"],
    needs_key: true,
    key_header: KeyHeader::Bearer,
};

const AZURE_CHAT: ProviderInfo = ProviderInfo {
    name: "azure-chat",
    base_url: None,
    base_url_variable: "AZURE_OPENAI_BASE_URL",
    key_variables: &["AZURE_OPENAI_API_KEY"],
    key_header: KeyHeader::Own("api-key"),
    ..OPENAI_CHAT
};

/// All providers. Adding a provider with OpenAI's chat completions format takes one entry.
static PROVIDERS: [ProviderInfo; 11] = [
    ProviderInfo { name: "openai", wire: Wire::RESPONSES, ..OPENAI_CHAT },
    OPENAI_CHAT,
    // Azure's v1 API has OpenAI's wires, below an address of the customer's own.
    ProviderInfo { name: "azure", wire: Wire::RESPONSES, ..AZURE_CHAT },
    AZURE_CHAT,
    ProviderInfo {
        name: "anthropic",
        options: "anthropic",
        wire: Wire::ANTHROPIC,
        base_url: Some("https://api.anthropic.com"),
        base_url_variable: "ANTHROPIC_BASE_URL",
        key_variables: &["ANTHROPIC_API_KEY"],
        needs_key: true,
        key_header: KeyHeader::Own("x-api-key"),
    },
    ProviderInfo {
        name: "google",
        options: "google",
        wire: Wire::GOOGLE,
        base_url: Some("https://generativelanguage.googleapis.com/v1beta"),
        base_url_variable: "GOOGLE_BASE_URL",
        key_variables: &["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"],
        needs_key: true,
        key_header: KeyHeader::Own("x-goog-api-key"),
    },
    ProviderInfo {
        name: "deepseek",
        options: "deepseek",
        wire: Wire::chat(&ChatQuirks::DEEPSEEK),
        base_url: Some("https://api.deepseek.com"),
        base_url_variable: "DEEPSEEK_BASE_URL",
        key_variables: &["DEEPSEEK_API_KEY"],
        ..OPENAI_CHAT
    },
    ProviderInfo {
        name: "groq",
        options: "groq",
        wire: Wire::chat(&ChatQuirks::GROQ),
        base_url: Some("https://api.groq.com/openai/v1"),
        base_url_variable: "GROQ_BASE_URL",
        key_variables: &["GROQ_API_KEY"],
        ..OPENAI_CHAT
    },
    ProviderInfo {
        name: "mistral",
        options: "mistral",
        wire: Wire::chat(&ChatQuirks::MISTRAL),
        base_url: Some("https://api.mistral.ai/v1"),
        base_url_variable: "MISTRAL_BASE_URL",
        key_variables: &["MISTRAL_API_KEY"],
        ..OPENAI_CHAT
    },
    ProviderInfo {
        name: "ollama",
        options: "ollama",
        wire: Wire::chat(&ChatQuirks::OLLAMA),
        base_url: Some("http://127.0.0.1:11434/v1"),
        base_url_variable: "OLLAMA_BASE_URL",
        key_variables: &["OLLAMA_API_KEY"],
        needs_key: false,
        ..OPENAI_CHAT
    },
    ProviderInfo {
        name: "openai-compatible",
        options: "openai-compatible",
        wire: Wire::chat(&ChatQuirks::COMPATIBLE),
        base_url: None,
        base_url_variable: "OPENAI_COMPATIBLE_BASE_URL",
        key_variables: &["OPENAI_COMPATIBLE_API_KEY"],
        needs_key: false,
        ..OPENAI_CHAT
    },
];

impl Provider {
    /// A built-in provider by name, without a key.
    ///
    /// # Errors
    /// If the provider is unknown.
    pub fn new(name: &str) -> Result<Self, ModelError> {
        match PROVIDERS.iter().find(|info| info.name == name) {
            Some(info) => Ok(Self { info, called: None, base_url: None, key: None }),
            None => {
                let known: Vec<_> = Self::names().collect();
                let suggestion = nearest(name, Self::names())
                    .map(|meant| format!("did you mean `{meant}`? "))
                    .unwrap_or_default();
                let message =
                    format!("unknown provider `{name}`: {suggestion}known providers: {}", known.join(", "));
                Err(ModelError::new(ModelErrorKind::UnknownModel, message))
            }
        }
    }

    /// A provider with key and address from the environment, such as `ANTHROPIC_API_KEY` and
    /// `ANTHROPIC_BASE_URL`.
    ///
    /// # Errors
    /// If the provider is unknown, or a required variable is not set. With a custom address, the key is
    /// optional.
    pub fn from_env(name: &str) -> Result<Self, ModelError> {
        Self::from_variables(name, |variable| env::var(variable).ok())
    }

    /// Like [`Provider::from_env`], with variables from another source.
    ///
    /// # Errors
    /// As [`Provider::from_env`].
    pub fn from_variables(name: &str, get: impl Fn(&str) -> Option<String>) -> Result<Self, ModelError> {
        let provider = Self::new(name)?.with_variables(get);
        provider.check()?;
        Ok(provider)
    }

    /// Takes key and address from the environment if they are set. [`Provider::check`] reports missing ones.
    #[must_use]
    pub fn with_env(self) -> Self {
        self.with_variables(|variable| env::var(variable).ok())
    }

    fn with_variables(mut self, get: impl Fn(&str) -> Option<String>) -> Self {
        self.key = self.info.key_variables.iter().find_map(|variable| non_blank(get(variable))).map(ApiKey);
        self.base_url = non_blank(get(self.info.base_url_variable));
        self
    }

    /// Checks that the provider has the address and key that it needs.
    ///
    /// # Errors
    /// If the address is missing, or the key is missing and the address is the built-in one. The error names
    /// the variable to set.
    pub fn check(&self) -> Result<(), ModelError> {
        let missing = |kind, what: &str, variables: &[&str]| {
            let message = format!("no {what}: set {}", variables.join(" or "));
            Err(ModelError::new(kind, message).provider(self.name()))
        };
        if self.base_url.is_none() && self.info.base_url.is_none() {
            return missing(ModelErrorKind::InvalidRequest, "address", &[self.info.base_url_variable]);
        }
        if self.key.is_none() && self.info.needs_key && self.base_url.is_none() {
            return missing(ModelErrorKind::Auth, "API key", self.info.key_variables);
        }
        Ok(())
    }

    /// The names of all built-in providers.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PROVIDERS.iter().map(|info| info.name)
    }

    /// Sets the key.
    #[must_use]
    pub fn key(mut self, key: impl Into<ApiKey>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Removes the key.
    #[must_use]
    pub fn without_key(mut self) -> Self {
        self.key = None;
        self
    }

    /// Sets the base URL, including the version: `https://api.openai.com/v1`.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Renames the provider, to use several with the same wire format. Its options and metadata use this name
    /// too.
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

    /// Key of its options and metadata.
    pub(super) fn options(&self) -> &str {
        self.called.as_deref().unwrap_or(self.info.options)
    }

    /// The provider's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.called.as_deref().unwrap_or(self.info.name)
    }

    /// Whether a key is set.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Secrets that must not appear in errors.
    pub(super) fn secrets(&self) -> Secrets {
        Secrets::of(self.secret())
    }

    /// The key, which must not appear in recordings.
    pub(super) fn secret(&self) -> Option<&str> {
        self.key.as_ref().map(|ApiKey(key)| key.as_str())
    }

    /// Environment variables that may hold the key.
    #[must_use]
    pub fn key_variables(&self) -> &'static [&'static str] {
        self.info.key_variables
    }

    /// Environment variable that may hold the address.
    #[must_use]
    pub fn address_variable(&self) -> &'static str {
        self.info.base_url_variable
    }

    /// The base URL, if known.
    #[must_use]
    pub fn location(&self) -> Option<&str> {
        self.base_url.as_deref().or(self.info.base_url)
    }

    /// The name of the wire format.
    #[must_use]
    pub fn language(&self) -> &'static str {
        self.info.wire.name()
    }

    pub(super) fn wire(&self) -> Wire {
        self.info.wire
    }

    /// The URL of a path.
    pub(super) fn address(&self, path: &str) -> Result<String, ModelError> {
        let Some(base) = self.base_url.as_deref().or(self.info.base_url) else {
            let message = format!("no address: set {}", self.info.base_url_variable);
            return Err(ModelError::new(ModelErrorKind::InvalidRequest, message).provider(self.name()));
        };
        let base = base.trim_end_matches('/');
        // Some users include the version in the address although the path has it too.
        let base = if path.starts_with("/v1/") { base.strip_suffix("/v1").unwrap_or(base) } else { base };
        Ok(format!("{base}{path}"))
    }

    /// The header with the key, marked as sensitive so that logs do not show it.
    pub(super) fn key_header(&self) -> Result<Option<(HeaderName, HeaderValue)>, ModelError> {
        let Some(ApiKey(key)) = &self.key else { return Ok(None) };
        let (name, value) = match self.info.key_header {
            KeyHeader::Bearer => (AUTHORIZATION, format!("Bearer {key}")),
            KeyHeader::Own(name) => (HeaderName::from_static(name), key.clone()),
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| {
            let message =
                "the key has a character that is not allowed in a header: check for line breaks and quotes";
            ModelError::new(ModelErrorKind::Auth, message).provider(self.name())
        })?;
        value.set_sensitive(true);
        Ok(Some((name, value)))
    }
}

/// The value of a variable, unless it is blank.
fn non_blank(value: Option<String>) -> Option<String> {
    value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}
