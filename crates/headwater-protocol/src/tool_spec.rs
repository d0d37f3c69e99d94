//! Descriptions of tools: those that models read, and those that a page sends along.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool as a model is told about it.
///
/// ```
/// use headwater_protocol::ToolSpec;
/// use serde_json::json;
///
/// let tool = ToolSpec::new("weather", json!({ "type": "object", "properties": { "city": { "type": "string" } } }))
///     .description("The weather of a city");
/// assert_eq!(tool.name, "weather");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolSpec {
    /// Its name, by which the model calls it.
    pub name: String,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its input.
    pub input_schema: Value,
    /// The JSON Schema of its structured output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// What only one provider understands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_options: Option<Value>,
}

impl ToolSpec {
    /// A tool of this name whose input fits this schema.
    #[must_use]
    pub fn new(name: impl Into<String>, input_schema: Value) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            input_schema,
            output_schema: None,
            provider_options: None,
        }
    }

    /// Says what it does.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

/// A tool that the page can execute, as its request describes it.
///
/// ```
/// use headwater_protocol::ClientTool;
///
/// let tool: ClientTool = serde_json::from_str(r#"{"name":"position"}"#).unwrap();
/// assert_eq!(tool.parameters, None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientTool {
    /// Its name.
    pub name: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
}
