//! What a model is asked.

use headwater_protocol::ToolSpec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ContentPart, ModelMessage};

/// What a model is asked: the conversation, the tools, and how to answer.
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
    /// The conversation, the system's message first, if there is one.
    pub messages: Vec<ModelMessage>,
    /// The tools that it may call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// Which of them it shall call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// What form its answer has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_format: Option<ResponseFormat>,
    /// How freely it chooses its words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// How long its answer may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Words at which it stops.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// How much it thinks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<ReasoningOptions>,
    /// What only one provider understands, by the provider's name.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub provider_options: Map<String, Value>,
    /// Whether the answer is wanted in one piece, instead of as it grows.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// How often this was asked before, because an attempt failed. No provider is told.
    #[serde(skip_serializing_if = "is_zero")]
    pub attempt: u32,
}

// `skip_serializing_if` takes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl ModelRequest {
    /// Asks for an answer to a text.
    #[must_use]
    pub fn new(input: impl Into<String>) -> Self {
        let content = vec![ContentPart::Text { text: input.into(), provider_options: None }];
        Self { messages: vec![ModelMessage::User { content }], ..Self::default() }
    }

    /// Asks for the next message of a conversation.
    #[must_use]
    pub fn of(messages: Vec<ModelMessage>) -> Self {
        Self { messages, ..Self::default() }
    }

    /// Puts a system message before everything else.
    #[must_use]
    pub fn system(mut self, content: impl Into<String>) -> Self {
        let message = ModelMessage::System { content: content.into(), provider_options: None };
        self.messages.insert(0, message);
        self
    }
}

/// Which tools a model shall call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolChoice {
    /// Those that it wants.
    #[default]
    Auto,
    /// None, although there are some.
    None,
    /// Some tool.
    Required,
    /// This one.
    Tool(String),
}

impl ToolChoice {
    /// Reads a choice as pages and providers write it: a word, or an object that names a tool.
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
    /// If it is neither; the error says what it may be.
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
                "{value} is no choice of tools: write \"auto\", \"none\", \"required\", or \
                 {{\"type\": \"tool\", \"toolName\": \"…\"}}"
            )),
        }
    }
}

/// What form an answer has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ResponseFormat {
    /// Any text.
    #[default]
    Text,
    /// JSON, of some schema if one is given.
    Json {
        /// The JSON Schema.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Value>,
        /// What the schema is called.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
}

/// How much a model thinks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReasoningOptions {
    /// In a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<ReasoningEffort>,
    /// In tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
}

/// How much a model thinks, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ReasoningEffort {
    /// Not at all.
    None,
    /// As little as it can.
    Minimal,
    /// A little.
    Low,
    /// As usual.
    Medium,
    /// Much.
    High,
}

impl ReasoningEffort {
    /// The word.
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
