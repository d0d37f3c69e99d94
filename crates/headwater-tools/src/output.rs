//! Outputs and errors of tools.

use std::{borrow::Cow, error::Error as StdError, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error_chain::with_causes;

/// The output of a tool for the model, and for the page if that differs.
///
/// ```
/// use headwater_tools::ToolOutput;
/// use serde_json::json;
///
/// assert_eq!(ToolOutput::text("4 °C").output, json!("4 °C"));
/// assert!(ToolOutput::failure("the sensor does not answer").is_error);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutput {
    /// A text or any JSON value.
    pub output: Value,
    /// The output as structured content, if the tool returns both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// Whether the tool ran and reports a failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

impl ToolOutput {
    /// A text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::json(Value::String(text.into()))
    }

    /// Any JSON value.
    #[must_use]
    pub fn json(output: Value) -> Self {
        Self { output, structured: None, is_error: false }
    }

    /// A failure that the tool itself reports.
    #[must_use]
    pub fn failure(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// Adds structured content.
    #[must_use]
    pub fn with_structured(mut self, structured: Value) -> Self {
        self.structured = Some(structured);
        self
    }
}

/// Why a tool call failed. The model sees the message and may try something else.
///
/// A message passed to [`ToolError::new`] is written for the model and the user, and readers of the run see
/// it. Any other error converts into a `ToolError` with `?`, with all causes in the message. As it may name
/// files and addresses, it has a code, and readers see only the code. Because of this conversion, the type is
/// not a [`std::error::Error`] itself; it converts into `Box<dyn Error + Send + Sync>` where one is needed.
///
/// ```
/// use headwater_tools::ToolError;
///
/// fn parse(id: &str) -> Result<u32, ToolError> {
///     Ok(id.parse::<u32>()?)
/// }
/// let error = parse("x").unwrap_err();
/// assert_eq!(error.message(), "invalid digit found in string");
/// assert_eq!(error.code(), Some("tool.failed"));
/// assert_eq!(ToolError::new("there is no such order").code(), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolError {
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<Cow<'static, str>>,
}

impl ToolError {
    /// An error with a message for the model and the user.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: None }
    }

    /// Marks a failure outside the tool: readers see the code instead of the message.
    #[must_use]
    pub fn with_code(mut self, code: &'static str) -> Self {
        self.code = Some(Cow::Borrowed(code));
        self
    }

    /// The code, if the message is not for readers.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// Whether something outside the tool failed, so that the message contains nothing of the call's input.
    #[must_use]
    pub fn is_infrastructure(&self) -> bool {
        self.code().is_some_and(|code| !matches!(code, "tool.failed" | "mcp.refused"))
    }

    /// The message, preceded by the code if there is one.
    #[must_use]
    pub fn coded(&self) -> String {
        match self.code() {
            Some(code) => format!("{code}: {}", self.message),
            None => self.message.clone(),
        }
    }

    /// What the model reads as the result of the call.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Converts any boxed error: `anyhow::Error` and similar types are not [`std::error::Error`]s, but can be
    /// boxed.
    pub(crate) fn from_boxed(error: Box<dyn StdError + Send + Sync>) -> Self {
        match error.downcast::<BoxedToolError>() {
            Ok(boxed) => boxed.0,
            Err(error) => Self::new(with_causes(&*error)).with_code("tool.failed"),
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: StdError + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        let code = (&error as &(dyn StdError + 'static)).downcast_ref::<crate::Error>();
        let code = code.map_or("tool.failed", |error| error.kind().code());
        Self::new(with_causes(&error)).with_code(code)
    }
}

impl From<ToolError> for Box<dyn StdError + Send + Sync> {
    fn from(error: ToolError) -> Self {
        Box::new(BoxedToolError(error))
    }
}

/// A tool error as a boxed error.
#[derive(Debug)]
struct BoxedToolError(ToolError);

impl fmt::Display for BoxedToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for BoxedToolError {}
