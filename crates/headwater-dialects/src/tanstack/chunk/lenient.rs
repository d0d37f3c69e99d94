//! Parses fields like the client, which validates nothing.

use std::borrow::Cow;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::value::RawValue;

use crate::json::JsonText;

/// A string, or a number or boolean as text; `None` for any other value.
pub(super) fn text<'de: 'a, 'a, D: Deserializer<'de>>(from: D) -> Result<Option<Cow<'a, str>>, D::Error> {
    let raw = <&RawValue>::deserialize(from)?.get();
    Ok(match raw.as_bytes().first() {
        Some(b'"') => serde_json::from_str(raw).ok().map(|JsonText(text)| text),
        Some(b'{' | b'[' | b'n') => None,
        _ => Some(Cow::Borrowed(raw)),
    })
}

/// A string; `None` for values that are falsy in JavaScript.
///
/// # Errors
/// For any other value: the client calls string methods on it.
pub(super) fn falsy_or_text<'de: 'a, 'a, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Cow<'a, str>>, D::Error> {
    let raw = <&RawValue>::deserialize(from)?.get();
    match raw {
        "null" | "false" | "0" => Ok(None),
        _ => match serde_json::from_str(raw) {
            Ok(JsonText(text)) => Ok(Some(text)),
            Err(_) => Err(D::Error::custom("`arguments` must be a string of JSON")),
        },
    }
}

/// A non-negative integer; `None` for any other value.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was looked at")]
pub(super) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let number = or_none::<f64, D>(from)?;
    Ok(number.filter(|number| (0.0..9e15).contains(number)).map(|number| number as u64))
}

/// Whether the value is `true`.
pub(super) fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    or_none(from).map(|flag| flag == Some(true))
}

/// A value of this type; `None` for any other value.
pub(super) fn or_none<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let raw = <&RawValue>::deserialize(from)?;
    Ok(serde_json::from_str(raw.get()).ok())
}
