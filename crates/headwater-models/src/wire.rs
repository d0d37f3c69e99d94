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

use serde_json::{Map, Value};

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

/// The HTTP method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpMethod {
    /// POST, with the body as JSON.
    Post,
    /// GET, without a body.
    Get,
}

/// A request in a provider's format. The transport adds key and address.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EncodedRequest {
    /// The method: POST, except to continue an answer.
    pub method: HttpMethod,
    /// Path below the base URL, with query.
    pub path: String,
    /// Headers other than content type and key.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Value,
    /// Options that were ignored or changed.
    pub warnings: Vec<Warning>,
    /// Whether the provider keeps the answer, so that a stream that was cut can be continued.
    pub is_resumable: bool,
}

impl EncodedRequest {
    /// A request about an answer that the provider keeps.
    fn of_answer(method: HttpMethod, path: String) -> Self {
        let (headers, warnings) = (Vec::new(), Vec::new());
        Self { method, path, headers, body: Value::Object(Map::new()), warnings, is_resumable: true }
    }
}

/// A position in an answer that the provider keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerPosition {
    /// The provider's id of the answer.
    pub answer: String,
    /// The number of the last event that was read; without one, the answer is read from its beginning.
    pub sequence: Option<u64>,
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

    /// The request for the rest of an answer; `None` if the API has none.
    #[must_use]
    pub fn resume(self, position: &AnswerPosition) -> Option<EncodedRequest> {
        match self.0 {
            WireKind::Responses => openai_responses::resume(position),
            WireKind::Chat(_) | WireKind::Anthropic | WireKind::Google => None,
        }
    }

    /// The request that stops an answer which the provider would complete without a reader; `None` if the API has none.
    #[must_use]
    pub fn cancel(self, answer: &str) -> Option<EncodedRequest> {
        match self.0 {
            WireKind::Responses => openai_responses::cancel(answer),
            WireKind::Chat(_) | WireKind::Anthropic | WireKind::Google => None,
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
