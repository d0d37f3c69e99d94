//! Reading as loosely as JavaScript does, where the client does.

use std::borrow::Cow;
use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeOwned, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

/// A text; a number or a boolean as JavaScript would print it; nothing for everything else.
pub(super) fn text<'de: 'a, 'a, D: Deserializer<'de>>(from: D) -> Result<Option<Cow<'a, str>>, D::Error> {
    from.deserialize_any(Text).map(Loose::text)
}

/// A text, or nothing for what JavaScript takes for false.
///
/// # Errors
/// For everything else: the client calls a string's methods on it.
pub(super) fn falsy_or_text<'de: 'a, 'a, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Cow<'a, str>>, D::Error> {
    match from.deserialize_any(Text)? {
        Loose::Text(text) => Ok(Some(text)),
        Loose::Printed(text) if text != "0" && text != "false" => {
            Err(de::Error::custom("`arguments` must be a string of JSON"))
        }
        Loose::Other => Err(de::Error::custom("`arguments` must be a string of JSON")),
        Loose::Nothing | Loose::Printed(_) => Ok(None),
    }
}

/// A whole number that is not negative; nothing for everything else.
pub(super) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    from.deserialize_any(Number)
}

/// A value, `null` too.
pub(super) fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// A value, `null` too.
pub(super) fn present_cow<'de, 'a, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Cow<'a, Value>>, D::Error> {
    present(from).map(|value| value.map(Cow::Owned))
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

enum Loose<'a> {
    Nothing,
    Text(Cow<'a, str>),
    Printed(String),
    Other,
}

impl<'a> Loose<'a> {
    fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) => Some(text),
            Self::Printed(text) => Some(Cow::Owned(text)),
            Self::Nothing | Self::Other => None,
        }
    }
}

struct Text;

impl<'de> Visitor<'de> for Text {
    type Value = Loose<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Loose<'de>, E> {
        Ok(Loose::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Loose<'de>, E> {
        Ok(Loose::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Loose<'de>, E> {
        Ok(Loose::Nothing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Loose<'de>, E> {
        Ok(Loose::Printed(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Loose<'de>, E> {
        Ok(Loose::Printed(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Loose<'de>, E> {
        Ok(Loose::Printed(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Loose<'de>, E> {
        Ok(Loose::Printed(value.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Loose<'de>, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Loose::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Loose<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Loose::Other)
    }
}

struct Number;

impl<'de> Visitor<'de> for Number {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_u64<E>(self, value: u64) -> Result<Option<u64>, E> {
        Ok(Some(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Option<u64>, E> {
        Ok(u64::try_from(value).ok())
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was looked at")]
    fn visit_f64<E>(self, value: f64) -> Result<Option<u64>, E> {
        Ok((0.0..9e15).contains(&value).then_some(value as u64))
    }

    fn visit_unit<E>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Option<u64>, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<u64>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}
