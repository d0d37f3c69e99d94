//! Reading fields as the real client does: it checks nothing, and JavaScript makes a text of anything.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{self, Visitor},
};
use serde_json::{Map, Value};

/// What JavaScript writes for a field that is not there.
pub(super) fn undefined<'a>() -> Cow<'a, str> {
    Cow::Borrowed("undefined")
}

/// A text, whatever it is.
pub(super) fn text<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'a, str>, D::Error> {
    deserializer.deserialize_any(Text).map(|read| read.unwrap_or(Cow::Borrowed("null")))
}

/// A text, or nothing for `null`.
pub(super) fn option<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Cow<'a, str>>, D::Error> {
    deserializer.deserialize_any(Text)
}

/// A text, and an empty one for `null`.
pub(super) fn word<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'a, str>, D::Error> {
    deserializer.deserialize_any(Text).map(Option::unwrap_or_default)
}

/// A boolean; anything else is none.
pub(super) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_bool())
}

/// A value that is there, even if it is `null`.
pub(super) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// What `{...value}` gives in JavaScript: arrays and texts have their indices as keys.
pub(super) fn spread(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        Value::Array(items) => {
            items.into_iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect()
        }
        Value::String(text) => {
            let letters = text.chars().map(|letter| Value::String(letter.into()));
            letters.enumerate().map(|(index, letter)| (index.to_string(), letter)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Map::new(),
    }
}

struct Text;

impl<'de> Visitor<'de> for Text {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text)))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(flag.to_string())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut out = String::new();
        let mut first = true;
        while let Some(item) = items.next_element::<Value>()? {
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            out.push_str(&in_list(&item));
        }
        Ok(Some(Cow::Owned(out)))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        while fields.next_entry::<de::IgnoredAny, de::IgnoredAny>()?.is_some() {}
        Ok(Some(Cow::Borrowed("[object Object]")))
    }
}

fn in_list(item: &Value) -> String {
    match item {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(in_list).collect::<Vec<_>>().join(","),
        Value::Object(_) => "[object Object]".to_owned(),
        Value::Bool(_) | Value::Number(_) => item.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn anything_becomes_the_text_that_javascript_writes() {
        for (json, expected) in [
            (r#""a\nb""#, "a\nb"),
            ("null", "null"),
            ("true", "true"),
            ("-3", "-3"),
            ("0.5", "0.5"),
            ("2.0", "2"),
            ("{\"a\":1}", "[object Object]"),
            ("[1,null,[\"x\",{}]]", "1,,x,[object Object]"),
        ] {
            assert_eq!(text(&mut serde_json::Deserializer::from_str(json)).unwrap(), expected, "{json}");
        }
    }

    #[test]
    fn anything_can_be_spread() {
        assert_eq!(Value::Object(spread(json!(["x", 1]))), json!({ "0": "x", "1": 1 }));
        assert_eq!(Value::Object(spread(json!("ab"))), json!({ "0": "a", "1": "b" }));
        assert_eq!(Value::Object(spread(json!({ "a": null }))), json!({ "a": null }));
        assert!(spread(json!(7)).is_empty());
    }
}
