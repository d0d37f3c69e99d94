//! Reading fields as the client does, which checks nothing.

use std::borrow::Cow;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::value::RawValue;

use crate::json::Text;

/// A text; a number or a boolean as it is written; nothing for everything else.
pub(super) fn text<'de: 'a, 'a, D: Deserializer<'de>>(from: D) -> Result<Option<Cow<'a, str>>, D::Error> {
    let raw = <&RawValue>::deserialize(from)?.get();
    Ok(match raw.as_bytes().first() {
        Some(b'"') => serde_json::from_str(raw).ok().map(|Text(text)| text),
        Some(b'{' | b'[' | b'n') => None,
        _ => Some(Cow::Borrowed(raw)),
    })
}

/// A text, or nothing for what JavaScript takes for false.
///
/// # Errors
/// For everything else: the client calls a string's methods on it.
pub(super) fn falsy_or_text<'de: 'a, 'a, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Cow<'a, str>>, D::Error> {
    let raw = <&RawValue>::deserialize(from)?.get();
    match raw {
        "null" | "false" | "0" => Ok(None),
        _ => match serde_json::from_str(raw) {
            Ok(Text(text)) => Ok(Some(text)),
            Err(_) => Err(D::Error::custom("`arguments` must be a string of JSON")),
        },
    }
}

/// A whole number that is not negative; nothing for everything else.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was looked at")]
pub(super) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let number = or_none::<f64, D>(from)?;
    Ok(number.filter(|number| (0.0..9e15).contains(number)).map(|number| number as u64))
}

/// Whether it is `true`.
pub(super) fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    or_none(from).map(|flag| flag == Some(true))
}

/// A value of that type; nothing for everything else.
pub(super) fn or_none<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let raw = <&RawValue>::deserialize(from)?;
    Ok(serde_json::from_str(raw.get()).ok())
}
