//! Parts of a script that are written as a plain string or as a mapping.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::Value;

use super::{
    fault::{Fault, FaultFields},
    script::ScriptText,
    template::ScriptTemplate,
};

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
    text: ScriptTemplate,
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
        Some(Self { text: ScriptTemplate::new(text), metadata: None })
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
