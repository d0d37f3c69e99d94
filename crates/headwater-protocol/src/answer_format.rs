//! The form that a client wants its answer in.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// JSON as the text of an answer, as a request asks for it.
///
/// ```
/// use headwater_protocol::AnswerFormat;
///
/// let any: AnswerFormat = serde_json::from_str("{}").unwrap();
/// assert_eq!(any.schema, None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerFormat {
    /// What the schema is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The JSON Schema; any JSON without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}
