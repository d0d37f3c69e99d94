//! Parses chunks.

use std::borrow::Cow;

use headwater_protocol::{Error, ErrorKind};
use serde::Deserialize;
use serde_json::Value;

use super::Chunk;
use crate::json::{leading_type, value};

impl<'a> Chunk<'a> {
    /// Parses a chunk.
    ///
    /// # Errors
    /// Invalid JSON, an unknown type, or a field that is missing, `null` or of the wrong type. The client
    /// stops reading at each of these.
    pub(in super::super) fn read(text: &'a str) -> Result<Self, Error> {
        // The client's parser rejects keys that reach an object's prototype.
        if text.contains("proto") && reaches_prototype(&value(text)?) {
            let message = "a key would reach an object's prototype; the client refuses such JSON";
            return Err(Error::fatal(ErrorKind::Json, message));
        }
        let tag = tag(text)?;
        if tag.starts_with("data-") {
            return fields(text).map(Self::Data);
        }
        if let Some(chunk) = Self::read_as(&tag, text)? {
            return Ok(chunk);
        }
        value(text)?;
        let message = format!("unknown chunk type `{tag}`: the client stops reading at it");
        Err(Error::fatal(ErrorKind::UnknownType, message))
    }
}

/// The chunk's type, which nearly every sender writes first.
fn tag(text: &str) -> Result<Cow<'_, str>, Error> {
    if let Some(tag) = leading_type(text) {
        return Ok(Cow::Borrowed(tag));
    }
    match value(text)?.get("type") {
        Some(Value::String(tag)) => Ok(Cow::Owned(tag.clone())),
        Some(_) => Err(Error::fatal(ErrorKind::Field, "`type` must be a string")),
        None => Err(Error::fatal(ErrorKind::Field, "a chunk must be a JSON object with a string `type`")),
    }
}

pub(super) fn fields<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Error> {
    let error = match serde_json::from_str(text) {
        Ok(fields) => return Ok(fields),
        Err(error) => error,
    };
    // For duplicate keys the client takes the last one; so does a tree.
    T::deserialize(value(text)?).map_err(|_| Error::fatal(ErrorKind::Field, error.to_string()))
}

fn reaches_prototype(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(reaches_prototype),
        Value::Object(map) => {
            map.contains_key("__proto__")
                || map.get("constructor").is_some_and(|held| held.get("prototype").is_some())
                || map.values().any(reaches_prototype)
        }
        _ => false,
    }
}
