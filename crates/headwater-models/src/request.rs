//! Requests to a model.

use headwater_protocol::ToolSpec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ContentPart, ModelMessage};

/// A request to a model: the conversation, the tools, and options for the answer.
///
/// ```
/// use headwater_models::ModelRequest;
///
/// let request = ModelRequest::new("What is the capital of Norway?").system("Answer with one word.");
/// assert_eq!(request.messages.len(), 2);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The conversation; a system message comes first.
    pub messages: Vec<ModelMessage>,
    /// Tools that the model may call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// Whether and which tools the model must call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Format of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_format: Option<ResponseFormat>,
    /// Sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Maximum number of tokens of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Texts that end the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// How much the model reasons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<ReasoningOptions>,
    /// Options for single providers, keyed by provider name.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub provider_options: Map<String, Value>,
    /// Whether to request the answer without streaming.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// Number of failed attempts before this one. Not sent to providers.
    #[serde(skip_serializing_if = "is_zero")]
    pub attempt: u32,
}

// The signature that `skip_serializing_if` requires.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl ModelRequest {
    /// A request with one user message.
    #[must_use]
    pub fn new(input: impl Into<String>) -> Self {
        let content = vec![ContentPart::Text { text: input.into(), provider_options: None }];
        Self { messages: vec![ModelMessage::User { content }], ..Self::default() }
    }

    /// A request that continues a conversation.
    #[must_use]
    pub fn of(messages: Vec<ModelMessage>) -> Self {
        Self { messages, ..Self::default() }
    }

    /// Inserts a system message at the beginning.
    #[must_use]
    pub fn system(mut self, content: impl Into<String>) -> Self {
        let message = ModelMessage::System { content: content.into(), provider_options: None };
        self.messages.insert(0, message);
        self
    }
}

/// Whether and which tools a model must call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model must not call tools.
    None,
    /// The model must call some tool.
    Required,
    /// The model must call this tool.
    Tool(String),
}

impl ToolChoice {
    /// Parses a tool choice as pages and providers write it: a word, or an object that names a tool.
    ///
    /// ```
    /// use headwater_models::ToolChoice;
    /// use serde_json::json;
    ///
    /// assert_eq!(ToolChoice::parse(&json!("required")), Ok(ToolChoice::Required));
    /// let named = json!({ "type": "function", "function": { "name": "search" } });
    /// assert_eq!(ToolChoice::parse(&named), Ok(ToolChoice::Tool("search".to_owned())));
    /// assert!(ToolChoice::parse(&json!("somehow")).is_err());
    /// ```
    ///
    /// # Errors
    /// If the value is neither; the error lists the valid forms.
    pub fn parse(value: &Value) -> Result<Self, String> {
        let word = value.as_str().or_else(|| value.get("type")?.as_str());
        let name = ["toolName", "tool_name", "name"]
            .iter()
            .find_map(|key| value.get(key)?.as_str())
            .or_else(|| value.pointer("/function/name")?.as_str());
        match (word, name) {
            (Some("auto"), None) => Ok(Self::Auto),
            (Some("none"), None) => Ok(Self::None),
            (Some("required" | "any"), None) => Ok(Self::Required),
            (Some("tool" | "function"), Some(name)) if !name.is_empty() => Ok(Self::Tool(name.to_owned())),
            _ => Err(format!(
                "invalid tool choice {value}: write \"auto\", \"none\", \"required\", or \
                 {{\"type\": \"tool\", \"toolName\": \"…\"}}"
            )),
        }
    }
}

/// Format of an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ResponseFormat {
    /// Any text.
    #[default]
    Text,
    /// JSON, following a schema if one is given.
    Json {
        /// The JSON Schema.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Value>,
        /// Name of the schema.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
}

/// How much a model reasons.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReasoningOptions {
    /// As a level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<ReasoningEffort>,
    /// As a maximum number of tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
}

/// Reasoning level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ReasoningEffort {
    /// No reasoning.
    None,
    /// As little as the model supports.
    Minimal,
    /// Little.
    Low,
    /// The usual amount.
    Medium,
    /// Much.
    High,
}

impl ReasoningEffort {
    /// The name of the level.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}
