//! The languages of the providers, without any I/O.
//!
//! A [`Wire`] turns a request into the parts of an HTTP request ([`Wire::encode`]), and the bytes of the answer into
//! events ([`Wire::decoder`]). Streams and whole answers take the same way. What an answer wants back with the next turn
//! is in the metadata of its parts, under the provider's name, and is read from the `provider_options` of the next
//! request's parts.

mod anthropic;
mod decoder;
mod failure;
mod google;
mod openai_chat;
mod openai_responses;
mod prompt;
mod raw;
mod read;
mod sink;

use serde_json::Value;

use crate::{ModelError, ModelRequest, Warning};
use decoder::Body;

pub use decoder::Decoder;
pub use failure::failure;
pub use openai_chat::Dialect;

/// The language of a provider.
#[derive(Debug, Clone, Copy)]
pub struct Wire(Kind);

#[derive(Debug, Clone, Copy)]
enum Kind {
    Responses,
    Chat(&'static Dialect),
    Anthropic,
    Google,
}

/// Who is asked, and for which model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The provider's name, under which its options and metadata are kept.
    pub provider: String,
    /// The model's name, as the provider knows it.
    pub model: String,
}

impl Settings {
    /// A model of a provider.
    #[must_use]
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self { provider: provider.into(), model: model.into() }
    }
}

/// A request as a provider takes it: a POST of a JSON body. The key and the address are the transport's business.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Encoded {
    /// The path below the provider's address, with the query.
    pub path: String,
    /// Headers beside the content type and the key.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Value,
    /// Options that are not or not wholly honoured.
    pub warnings: Vec<Warning>,
}

impl Wire {
    /// OpenAI's responses.
    pub const RESPONSES: Self = Self(Kind::Responses);
    /// Anthropic's messages.
    pub const ANTHROPIC: Self = Self(Kind::Anthropic);
    /// Google's generateContent.
    pub const GOOGLE: Self = Self(Kind::Google);

    /// OpenAI's chat completions, as somebody speaks them.
    #[must_use]
    pub const fn chat(dialect: &'static Dialect) -> Self {
        Self(Kind::Chat(dialect))
    }

    /// What the provider calls this API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            Kind::Responses => "responses",
            Kind::Chat(_) => "chat completions",
            Kind::Anthropic => "messages",
            Kind::Google => "generateContent",
        }
    }

    /// Writes a request.
    ///
    /// ```
    /// use headwater_models::{ModelRequest, wire::{Dialect, Settings, Wire}};
    ///
    /// let settings = Settings::new("groq", "llama-3.3-70b-versatile");
    /// let encoded = Wire::chat(&Dialect::GROQ).encode(&ModelRequest::new("Hello"), &settings)?;
    /// assert_eq!(encoded.path, "/chat/completions");
    /// assert_eq!(encoded.body["messages"][0]["content"], "Hello");
    /// # Ok::<(), headwater_models::ModelError>(())
    /// ```
    ///
    /// # Errors
    /// If the conversation has something that this wire cannot say at all, such as a file of a kind that it does not take.
    pub fn encode(self, request: &ModelRequest, settings: &Settings) -> Result<Encoded, ModelError> {
        match self.0 {
            Kind::Responses => openai_responses::encode(request, settings),
            Kind::Chat(dialect) => openai_chat::encode(dialect, request, settings),
            Kind::Anthropic => anthropic::encode(request, settings),
            Kind::Google => google::encode(request, settings),
        }
    }

    /// Reads an answer.
    #[must_use]
    pub fn decoder(self, settings: &Settings) -> Decoder {
        let body = match self.0 {
            Kind::Responses => Body::Responses(openai_responses::Answer::default()),
            Kind::Chat(_) => Body::Chat(openai_chat::Answer::default()),
            Kind::Anthropic => Body::Anthropic(anthropic::Answer::default()),
            Kind::Google => Body::Google(google::Answer::default()),
        };
        Decoder::new(&settings.provider, body)
    }
}
