//! What the client's schema demands of a field beyond its type.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

type OptionalJson<'a, E> = Result<Option<Cow<'a, Value>>, E>;

/// An optional field that is there: `null` is refused like any other wrong type.
pub(super) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// An optional field that may be anything, `null` too.
pub(super) fn anything<'de, 'a, D: Deserializer<'de>>(from: D) -> OptionalJson<'a, D::Error> {
    Value::deserialize(from).map(|value| Some(Cow::Owned(value)))
}

/// `providerMetadata`: an object of objects, by provider.
pub(super) fn provider_metadata<'de, 'a, D: Deserializer<'de>>(from: D) -> OptionalJson<'a, D::Error> {
    let value = Value::deserialize(from)?;
    if is_provider_metadata(&value) {
        Ok(Some(Cow::Owned(value)))
    } else {
        Err(de::Error::custom("`providerMetadata` must be an object of objects, by provider"))
    }
}

/// Whether the client takes it as `providerMetadata`.
pub(in super::super) fn is_provider_metadata(value: &Value) -> bool {
    value.as_object().is_some_and(|providers| providers.values().all(Value::is_object))
}

/// `toolMetadata`: a JSON object.
pub(super) fn tool_metadata<'de, 'a, D: Deserializer<'de>>(from: D) -> OptionalJson<'a, D::Error> {
    let value = Value::deserialize(from)?;
    if value.is_object() {
        Ok(Some(Cow::Owned(value)))
    } else {
        Err(de::Error::custom("`toolMetadata` must be a JSON object"))
    }
}

pub(super) fn finish_reason<'de, 'a, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Cow<'a, str>>, D::Error> {
    word(from, &["stop", "length", "content-filter", "tool-calls", "error", "other", "interrupted"])
}

pub(super) fn input_encoding<'de, 'a, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Cow<'a, str>>, D::Error> {
    word(from, &["json", "text"])
}

fn word<'de, 'a, D: Deserializer<'de>>(
    from: D,
    words: &'static [&'static str],
) -> Result<Option<Cow<'a, str>>, D::Error> {
    let word = String::deserialize(from)?;
    if words.contains(&word.as_str()) {
        Ok(Some(Cow::Owned(word)))
    } else {
        Err(de::Error::unknown_variant(&word, words))
    }
}

/// A citation's source: a page or a document.
pub(super) fn citation_source<'de, D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
    let source = Value::deserialize(from)?;
    let text = |key: &str| source.get(key).and_then(Value::as_str);
    let named = text("type") == Some("source") && text("id").is_some();
    let known = match text("sourceType") {
        Some("url") => text("url").is_some(),
        Some("document") => text("mediaType").is_some() && text("title").is_some(),
        _ => false,
    };
    if named && known { Ok(source) } else { Err(de::Error::custom("`source` is no source of a citation")) }
}

/// The parts of a steering message: texts and files.
pub(super) fn steering_parts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Value>, D::Error> {
    let parts = Vec::<Value>::deserialize(from)?;
    let known = parts.iter().all(|part| {
        let text = |key: &str| part.get(key).and_then(Value::as_str);
        match text("type") {
            Some("text") => text("text").is_some(),
            Some("file") => text("mediaType").is_some() && text("url").is_some(),
            _ => false,
        }
    });
    if known { Ok(parts) } else { Err(de::Error::custom("a part must be a text or a file")) }
}
