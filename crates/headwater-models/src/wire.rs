//! Wire formats of the providers, without I/O.
//!
//! A [`Wire`] turns a request into the parts of an HTTP request ([`Wire::encode`]) and the bytes of the
//! answer into events ([`Wire::decoder`]). Streamed and whole answers use the same code. Data that a provider
//! wants back with the next turn is in the metadata of its parts, keyed by provider name, and is read from
//! the `provider_options` of the next request's parts.

mod anthropic;
mod decoder;
mod failure;
mod google;
mod json_access;
mod openai_chat;
mod openai_responses;
mod prompt;
mod raw_answer;
mod sink;

use serde_json::Value;

use crate::{ModelError, ModelRequest, Warning};
use decoder::AnswerBody;

pub use decoder::AnswerDecoder;
pub use failure::failure;
pub use openai_chat::ChatQuirks;

/// The wire format of a provider.
#[derive(Debug, Clone, Copy)]
pub struct Wire(WireKind);

#[derive(Debug, Clone, Copy)]
enum WireKind {
    Responses,
    Chat(&'static ChatQuirks),
    Anthropic,
    Google,
}

/// The provider and model to call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The provider's name, which is the key of its options and metadata.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
}

impl Settings {
    /// Settings for a model of a provider.
    #[must_use]
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self { provider: provider.into(), model: model.into() }
    }
}

/// A request in a provider's format: a POST with a JSON body. The transport adds key and address.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EncodedRequest {
    /// Path below the base URL, with query.
    pub path: String,
    /// Headers other than content type and key.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Value,
    /// Options that were ignored or changed.
    pub warnings: Vec<Warning>,
}

impl Wire {
    /// OpenAI's Responses API.
    pub const RESPONSES: Self = Self(WireKind::Responses);
    /// Anthropic's Messages API.
    pub const ANTHROPIC: Self = Self(WireKind::Anthropic);
    /// Google's generateContent API.
    pub const GOOGLE: Self = Self(WireKind::Google);

    /// OpenAI's chat completions in the dialect of a provider.
    #[must_use]
    pub const fn chat(dialect: &'static ChatQuirks) -> Self {
        Self(WireKind::Chat(dialect))
    }

    /// The provider's name of this API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            WireKind::Responses => "responses",
            WireKind::Chat(_) => "chat completions",
            WireKind::Anthropic => "messages",
            WireKind::Google => "generateContent",
        }
    }

    /// Encodes a request.
    ///
    /// ```
    /// use headwater_models::{ModelRequest, wire::{ChatQuirks, Settings, Wire}};
    ///
    /// let settings = Settings::new("groq", "llama-3.3-70b-versatile");
    /// let encoded = Wire::chat(&ChatQuirks::GROQ).encode(&ModelRequest::new("Hello"), &settings)?;
    /// assert_eq!(encoded.path, "/chat/completions");
    /// assert_eq!(encoded.body["messages"][0]["content"], "Hello");
    /// # Ok::<(), headwater_models::ModelError>(())
    /// ```
    ///
    /// # Errors
    /// If the conversation contains something that this format cannot express, such as an unsupported file
    /// type.
    pub fn encode(self, request: &ModelRequest, settings: &Settings) -> Result<EncodedRequest, ModelError> {
        match self.0 {
            WireKind::Responses => openai_responses::encode(request, settings),
            WireKind::Chat(dialect) => openai_chat::encode(dialect, request, settings),
            WireKind::Anthropic => anthropic::encode(request, settings),
            WireKind::Google => google::encode(request, settings),
        }
    }

    /// A decoder for one answer.
    #[must_use]
    pub fn decoder(self, settings: &Settings) -> AnswerDecoder {
        let body = match self.0 {
            WireKind::Responses => AnswerBody::Responses(openai_responses::ResponsesAnswer::default()),
            WireKind::Chat(_) => AnswerBody::Chat(openai_chat::ChatAnswer::default()),
            WireKind::Anthropic => AnswerBody::Anthropic(anthropic::AnthropicAnswer::default()),
            WireKind::Google => AnswerBody::Google(google::GoogleAnswer::default()),
        };
        AnswerDecoder::new(&settings.provider, body)
    }
}
