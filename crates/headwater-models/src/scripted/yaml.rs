//! Scripts written in YAML.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::Value;

use super::{
    fault::{Fault, FaultFields},
    script::{Script, ScriptText},
    template::Template,
};
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

/// A visitor that accepts a string or a mapping.
struct TextOr<T>(std::marker::PhantomData<T>, &'static str);

trait FromText: Sized {
    type Fields: for<'de> Deserialize<'de> + Into<Self>;
    fn from_text(text: &str) -> Option<Self>;
}

impl<'de, T: FromText> Visitor<'de> for TextOr<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.1)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::Fields::deserialize(MapAccessDeserializer::new(map)).map(Into::into)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptTextFields {
    text: Template,
    #[serde(default)]
    metadata: Option<Value>,
}

impl From<ScriptTextFields> for ScriptText {
    fn from(fields: ScriptTextFields) -> Self {
        Self { text: fields.text, metadata: fields.metadata }
    }
}

impl FromText for ScriptText {
    type Fields = ScriptTextFields;

    fn from_text(text: &str) -> Option<Self> {
        Some(Self { text: Template::new(text), metadata: None })
    }
}

impl FromText for Fault {
    type Fields = FaultFields;

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "stall" => Some(Self::stall()),
            "cut" => Some(Self::cut()),
            "malformed" => Some(Self::malformed()),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for ScriptText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOr(
            std::marker::PhantomData,
            "a text (put a number in quotes), or `text` and `metadata`",
        ))
    }
}

impl<'de> Deserialize<'de> for Fault {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expecting = "`stall`, `cut`, `malformed`, or a mapping with `error`";
        deserializer.deserialize_any(TextOr(std::marker::PhantomData, expecting))
    }
}
