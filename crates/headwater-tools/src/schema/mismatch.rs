//! Where and how a value does not fit a schema.

use std::fmt;

/// One mismatch between a value and a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// Path in the value, such as `bullets[2].title`; empty for the value itself.
    pub path: String,
    /// The expected and the actual value.
    pub message: String,
}

impl Mismatch {
    /// Maximum number of reported mismatches.
    pub const LIMIT: usize = 20;

    /// Joins several into one line, for a model or a log.
    ///
    /// ```
    /// use headwater_tools::{Mismatch, Schema};
    /// use serde_json::json;
    ///
    /// # fn main() -> Result<(), headwater_tools::Error> {
    /// let schema = Schema::new(json!({ "required": ["a", "b"] }))?;
    /// let mismatches = schema.check(&json!({})).unwrap_err();
    /// assert_eq!(Mismatch::in_one_line(&mismatches), "a: missing; b: missing");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn in_one_line(mismatches: &[Self]) -> String {
        mismatches.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }

    #[cfg(feature = "json-schema")]
    pub(super) fn new(path: String, message: impl Into<String>) -> Self {
        Self { path, message: message.into() }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}
