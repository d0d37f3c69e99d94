//! Tolerant access to providers' JSON, whose fields may be missing, null or of another type.

use serde_json::{Map, Value};

/// The text of a field, unless it is missing, null or empty.
pub(super) fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Like [`text`], as an owned string.
pub(super) fn owned(value: &Value, key: &str) -> Option<String> {
    text(value, key).map(str::to_owned)
}

/// The integer at a JSON pointer such as `/usage/total`.
pub(super) fn number(value: &Value, pointer: &str) -> Option<u64> {
    let number = value.pointer(pointer)?;
    number.as_u64().or_else(|| {
        // Some gateways send counts as floats.
        let float = number.as_f64().filter(|float| *float >= 0.0 && *float < 9e15)?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Some(float as u64)
    })
}

/// The elements of a list field, or an empty slice.
pub(super) fn items<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A field that is present and not null.
pub(super) fn given<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    value.get(key).filter(|value| !value.is_null())
}

/// Metadata in the form `{ provider: fields }`, or `None` without fields.
pub(super) fn metadata(
    provider: &str,
    fields: impl IntoIterator<Item = (&'static str, Option<Value>)>,
) -> Option<Value> {
    let fields: Map<String, Value> =
        fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    (!fields.is_empty())
        .then(|| Value::Object(Map::from_iter([(provider.to_owned(), Value::Object(fields))])))
}
