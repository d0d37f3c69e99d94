//! What a tool gives.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a tool gives: for the model, and for the page where that differs.
///
/// ```
/// use headwater_tools::ToolOutput;
/// use serde_json::json;
///
/// assert_eq!(ToolOutput::text("4 °C").output, json!("4 °C"));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutput {
    /// A text or any JSON.
    pub output: Value,
    /// The same as structured content, where the tool gives both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// The tool ran and reports a failure of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

impl ToolOutput {
    /// A text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::json(Value::String(text.into()))
    }

    /// Any JSON.
    #[must_use]
    pub fn json(output: Value) -> Self {
        Self { output, structured: None, is_error: false }
    }
}

/// Why a tool gave nothing. The model is told, and may try something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolError {
    message: String,
}

impl ToolError {
    /// Says what happened.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    /// What happened.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ToolError {}
