//! Parses fields like the real client, which validates nothing: JavaScript turns any value into text.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// JavaScript's text for an absent field.
pub(super) fn undefined<'a>() -> Cow<'a, str> {
    Cow::Borrowed("undefined")
}

/// Any value as text.
pub(super) fn text<'de, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'a, str>, D::Error> {
    Ok(option(deserializer)?.unwrap_or(Cow::Borrowed("null")))
}

/// Any value as text; `None` for `null`.
pub(super) fn option<'de, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Cow<'a, str>>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok((!value.is_null()).then(|| Cow::Owned(printed(value))))
}

/// Any value as text; empty for `null`.
pub(super) fn word<'de, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'a, str>, D::Error> {
    option(deserializer).map(Option::unwrap_or_default)
}

/// A boolean; `None` for any other value.
pub(super) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_bool())
}

/// Parses a JSON object: serde would also accept an array.
pub(super) fn object<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, serde_json::Error> {
    if json.trim_start().starts_with('[') {
        return Err(serde::de::Error::custom("a chunk must be an object, not an array"));
    }
    serde_json::from_str(json)
}

/// The result of `{...value}` in JavaScript: arrays and strings have their indices as keys.
pub(super) fn spread(value: Value) -> Map<String, Value> {
    let items = match value {
        Value::Object(map) => return map,
        Value::Array(items) => items,
        Value::String(text) => text.chars().map(|letter| Value::String(letter.into())).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    };
    items.into_iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect()
}

/// The text that JavaScript prints for a value.
fn printed(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        Value::Array(items) => items.into_iter().map(printed).collect::<Vec<_>>().join(","),
        Value::Object(_) => "[object Object]".to_owned(),
        // JavaScript only has floats, and prints whole ones without a point.
        Value::Number(number) => number
            .as_i64()
            .map_or_else(|| number.as_f64().unwrap_or_default().to_string(), |it| it.to_string()),
        Value::Bool(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests;
