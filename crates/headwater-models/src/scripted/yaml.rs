//! Scripts written in YAML.

use std::fmt;

use super::script::Script;
use crate::nearest::nearest;

/// An error in a script, with its position.
///
/// ```
/// use headwater_models::scripted::Script;
///
/// let error = Script::from_yaml("name: email\nruels: []\n").unwrap_err();
/// assert_eq!((error.line(), error.column()), (2, 1));
/// assert_eq!(
///     error.to_string(),
///     "line 2, column 1: unknown field `ruels`: did you mean `rules`? (known: name, chunk, pace, rules)",
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    message: String,
    line: u64,
    column: u64,
}

impl ScriptError {
    /// Line, from 1; 0 if unknown.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Column, from 1; 0 if unknown.
    #[must_use]
    pub fn column(&self) -> u64 {
        self.column
    }

    /// The message without the position.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}, column {}: ", self.line, self.column)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScriptError {}

impl From<serde_saphyr::Error> for ScriptError {
    fn from(error: serde_saphyr::Error) -> Self {
        let error = error.without_snippet();
        let (line, column) = error.location().map_or((0, 0), |place| (place.line(), place.column()));
        let message = match error {
            serde_saphyr::Error::SerdeUnknownField { field, expected, .. } => {
                unknown("field", field, expected)
            }
            serde_saphyr::Error::SerdeUnknownVariant { variant, expected, .. } => {
                unknown("word", variant, expected)
            }
            other => {
                let text = other.to_string();
                let place = format!(" at line {line}, column {column}");
                text.strip_suffix(&place).unwrap_or(&text).to_owned()
            }
        };
        Self { message, line, column }
    }
}

fn unknown(what: &str, word: &str, known: &[&'static str]) -> String {
    let meant = nearest(word, known.iter().copied());
    let suggestion = meant.map(|meant| format!(": did you mean `{meant}`?")).unwrap_or_default();
    format!("unknown {what} `{word}`{suggestion} (known: {})", known.join(", "))
}

impl Script {
    /// Reads a script. The module documentation describes the format.
    ///
    /// # Errors
    /// If the text is not YAML or has an unknown key; the error has the position.
    pub fn from_yaml(text: &str) -> Result<Self, ScriptError> {
        Ok(serde_saphyr::from_str(text)?)
    }
}
