//! JSON kept as text and parsed on demand.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use serde_json::{Map, Value, value::RawValue};

/// JSON kept as text: the contexts and data of a run, from the request to the journal. Cheap to clone.
///
/// A parsed value needs up to 70 times the memory of its text, and most runs never read theirs.
///
/// ```
/// use headwater_runtime::RawJson;
/// use serde_json::json;
///
/// let raw = RawJson::from(json!({ "user": "ann" }));
/// assert_eq!(raw.get(), r#"{"user":"ann"}"#);
/// let parsed: serde_json::Value = raw.read()?;
/// assert_eq!(parsed["user"], "ann");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct RawJson(Option<Arc<RawValue>>);

impl RawJson {
    /// The text; `null` if empty.
    #[must_use]
    pub fn get(&self) -> &str {
        self.0.as_deref().map_or("null", RawValue::get)
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.0.is_none()
    }

    /// Whether it is an object or empty.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.0.as_deref().is_none_or(|raw| raw.get().starts_with('{'))
    }

    /// Serialises a value.
    ///
    /// # Errors
    /// If it does not serialise.
    pub fn write<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Self> {
        serde_json::value::to_raw_value(value).map(Into::into)
    }

    /// Parses the text.
    ///
    /// # Errors
    /// If the JSON is not of that type.
    pub fn read<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(self.get())
    }

    /// Parses an object; an empty one if the JSON is not an object.
    pub(crate) fn object(&self) -> Map<String, Value> {
        if self.is_null() { Map::new() } else { self.read().unwrap_or_default() }
    }
}

impl From<Box<RawValue>> for RawJson {
    fn from(raw: Box<RawValue>) -> Self {
        if raw.get() == "null" { Self(None) } else { Self(Some(raw.into())) }
    }
}

impl From<&Value> for RawJson {
    fn from(value: &Value) -> Self {
        // All keys are strings, so this cannot fail.
        Self::write(value).unwrap_or_default()
    }
}

impl From<Value> for RawJson {
    fn from(value: Value) -> Self {
        Self::from(&value)
    }
}

impl From<&Map<String, Value>> for RawJson {
    fn from(map: &Map<String, Value>) -> Self {
        if map.is_empty() {
            return Self(None);
        }
        Self::write(map).unwrap_or_default()
    }
}

impl From<Map<String, Value>> for RawJson {
    fn from(map: Map<String, Value>) -> Self {
        Self::from(&map)
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Into::into)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn raw_json_round_trips_through_text_and_value() {
        for value in [json!(null), json!({}), json!({"a": [1, {"b": null}]}), json!("text")] {
            let raw = RawJson::from(value.clone());
            let written = serde_json::to_string(&[&raw]).unwrap();
            assert_eq!(serde_json::from_str::<Vec<RawJson>>(&written).unwrap(), std::slice::from_ref(&raw));
            let read: Vec<RawJson> = serde_json::from_value(json!([value])).unwrap();
            assert_eq!(read, [raw]);
        }
    }
}
