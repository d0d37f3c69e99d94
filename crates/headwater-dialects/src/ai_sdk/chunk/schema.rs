//! Constraints of the client's schema beyond the type of a field.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};

type OptionalJson<'a, E> = Result<Option<Cow<'a, Value>>, E>;

/// `providerMetadata`: an object of objects, by provider.
pub(super) fn provider_metadata<'de, 'a, D: Deserializer<'de>>(from: D) -> OptionalJson<'a, D::Error> {
    let value = Value::deserialize(from)?;
    if is_provider_metadata(&value) {
        Ok(Some(Cow::Owned(value)))
    } else {
        Err(de::Error::custom("`providerMetadata` must be an object of objects, by provider"))
    }
}

/// Whether the client accepts the value as `providerMetadata`.
pub(in super::super) fn is_provider_metadata(value: &Value) -> bool {
    value.as_object().is_some_and(|providers| providers.values().all(Value::is_object))
}

/// `toolMetadata`: a JSON object.
pub(super) fn tool_metadata<'de, 'a, D: Deserializer<'de>>(from: D) -> OptionalJson<'a, D::Error> {
    let value = Map::deserialize(from)?;
    Ok(Some(Cow::Owned(Value::Object(value))))
}

/// The parts of a steering message: texts and files.
pub(super) fn steering_parts<'de, 'a, D: Deserializer<'de>>(from: D) -> OptionalJson<'a, D::Error> {
    let parts = Value::deserialize(from)?;
    let known = |part: &Value| {
        let has = |keys: &[&str]| keys.iter().all(|key| part.get(key).is_some_and(Value::is_string));
        (part["type"] == "text" && has(&["text"])) || (part["type"] == "file" && has(&["mediaType", "url"]))
    };
    match parts.as_array().is_some_and(|parts| parts.iter().all(known)) {
        true => Ok(Some(Cow::Owned(parts))),
        false => Err(de::Error::custom("a part must be a text or a file")),
    }
}
