//! Parses a chunk in two steps, first its type, then its fields, so that no chunk is buffered as a tree.

use std::borrow::Cow;

use headwater_json::InputLimits;
use headwater_protocol::{Error, ErrorKind, Frame};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// A string that borrows from the frame unless it has escapes.
#[derive(Deserialize)]
pub(crate) struct JsonText<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// The type of a chunk; other fields are ignored.
#[derive(Deserialize)]
pub(crate) struct Tag<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Cow<'a, str>,
}

/// The `type` of a chunk.
///
/// # Errors
/// If the frame is not a JSON object with a string `type`.
pub(crate) fn type_of<'a>(frame: &Frame<'a>) -> Result<Cow<'a, str>, Error> {
    match serde_json::from_str::<Tag<'a>>(frame.data) {
        Ok(Tag { kind }) => Ok(kind),
        Err(error) if error.is_data() => {
            let message = format!("a chunk must be a JSON object with a string `type`: {error}");
            Err(Error::new(ErrorKind::Field, message).at(frame.index, frame.offset))
        }
        Err(error) => Err(not_json(frame, &error)),
    }
}

/// Parses a frame's JSON as one type.
///
/// # Errors
/// Names the field that is missing or wrong.
pub(crate) fn read<'a, T: Deserialize<'a>>(frame: &Frame<'a>) -> Result<T, Error> {
    serde_json::from_str(frame.data).map_err(|error| {
        if error.is_data() {
            Error::new(ErrorKind::Field, error.to_string()).at(frame.index, frame.offset)
        } else {
            not_json(frame, &error)
        }
    })
}

/// Parses an optional string that borrows from the frame unless it has escapes; inside an `Option` serde
/// would copy it.
pub(crate) fn text<'de: 'a, 'a, D: Deserializer<'de>>(from: D) -> Result<Option<Cow<'a, str>>, D::Error> {
    Ok(Option::<JsonText<'a>>::deserialize(from)?.map(|JsonText(text)| text))
}

/// Parses JSON as a tree.
///
/// # Errors
/// If it is not JSON. The client stops reading then.
pub(crate) fn value(text: &str) -> Result<Value, Error> {
    serde_json::from_str(text).map_err(|error| Error::fatal(ErrorKind::Json, not_json_text(text, &error)))
}

/// The type of a chunk that begins with it, as almost all do, without a search.
pub(crate) fn leading_type(text: &str) -> Option<&str> {
    let (kind, rest) = text.strip_prefix("{\"type\":\"")?.split_once('"')?;
    (!kind.contains('\\') && rest.starts_with([',', '}'])).then_some(kind)
}

fn not_json(frame: &Frame<'_>, error: &serde_json::Error) -> Error {
    Error::new(ErrorKind::Json, not_json_text(frame.data, error)).at(frame.index, frame.offset)
}

fn not_json_text(text: &str, error: &serde_json::Error) -> String {
    let head: String = text.chars().take(40).collect();
    format!("the frame is not JSON: {error}; it begins with {head:?}")
}

/// The JSON type of a value, for an error message.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Appends fields to an object; those without a value are left out.
pub(crate) fn with<const N: usize>(mut object: Value, fields: [(&str, Option<Value>); N]) -> Value {
    if let Value::Object(map) = &mut object {
        for (key, value) in fields {
            map.extend(value.map(|value| (key.to_owned(), value)));
        }
    }
    object
}

/// Removes an optional string from a request.
///
/// # Errors
/// If it is not a string.
pub(crate) fn take_text(body: &mut Map<String, Value>, key: &str) -> Result<Option<String>, Error> {
    match body.shift_remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => {
            let message = format!("`{key}` must be a string, not {}", kind_of(&other));
            Err(Error::new(ErrorKind::Request, message))
        }
    }
}

/// How many values all embedded texts of a request may have together. The server's limits on a body do not
/// see these values, so the number is a fraction of what a body may have.
const VALUES: usize = 10_000;

/// Parses JSON that messages carry as text: inputs and outputs of tools. The limits on the request body only
/// see a string, so they are enforced here; text beyond them stays text, like text that is not JSON.
pub(crate) struct EmbeddedJson {
    limits: InputLimits,
    /// Whether all texts share one budget.
    shared: bool,
}

impl EmbeddedJson {
    /// For one request: all texts together may have [`VALUES`] values.
    pub(crate) fn of_request() -> Self {
        let mut limits = InputLimits::default();
        limits.values = VALUES;
        Self { limits, shared: true }
    }

    /// For a stream: the limits apply to each text alone.
    pub(crate) fn of_stream() -> Self {
        Self { limits: InputLimits::default(), shared: false }
    }

    /// The parsed text, if it is JSON within the limits.
    pub(crate) fn read(&mut self, text: &str) -> Option<Value> {
        let values = self.limits.count(text.as_bytes()).ok()?;
        let value = serde_json::from_str(text).ok()?;
        if self.shared {
            self.limits.values -= values;
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests;
