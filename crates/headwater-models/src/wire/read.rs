//! Reading what providers send: JSON whose fields may be missing, null, or something else.

use serde_json::{Map, Value};

/// The text of a field, unless it is missing, null or empty.
pub(super) fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The text of a field as a string of its own.
pub(super) fn owned(value: &Value, key: &str) -> Option<String> {
    text(value, key).map(str::to_owned)
}

/// The whole number at a place such as `/usage/total`.
pub(super) fn number(value: &Value, place: &str) -> Option<u64> {
    let number = value.pointer(place)?;
    number.as_u64().or_else(|| {
        // Some gateways count in floats.
        let float = number.as_f64().filter(|float| *float >= 0.0 && *float < 9e15)?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Some(float as u64)
    })
}

/// The items of a list, or none.
pub(super) fn items<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A field that is there and not null.
pub(super) fn given<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    value.get(key).filter(|value| !value.is_null())
}

/// `{ provider: fields }`, which is how metadata is kept; nothing if there are no fields.
pub(super) fn metadata(
    provider: &str,
    fields: impl IntoIterator<Item = (&'static str, Option<Value>)>,
) -> Option<Value> {
    let fields: Map<String, Value> =
        fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    (!fields.is_empty())
        .then(|| Value::Object(Map::from_iter([(provider.to_owned(), Value::Object(fields))])))
}
