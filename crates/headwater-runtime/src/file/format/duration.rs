//! Durations: `500ms`, `30s`, `5m`, `2h`, `7d`.

use std::{borrow::Cow, fmt, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer,
    de::{self, Visitor},
};

/// A duration with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::file) struct Length(pub(in crate::file) Duration);

const WANTED: &str = "a duration with its unit: 500ms, 30s, 5m, 2h or 7d";

fn parse(text: &str) -> Option<Duration> {
    let digits = text.find(|char: char| !char.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let seconds = match unit.trim_start() {
        "ms" => return Some(Duration::from_millis(number)),
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return None,
    };
    number.checked_mul(seconds).map(Duration::from_secs)
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Length;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(WANTED)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Length, E> {
                parse(text).map(Length).ok_or_else(|| E::custom(format!("`{text}` is not {WANTED}")))
            }
        }

        deserializer.deserialize_str(Text)
    }
}

impl JsonSchema for Length {
    fn schema_name() -> Cow<'static, str> {
        "Length".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^[0-9]+ *(ms|s|m|h|d)$",
            "description": "A duration with its unit: 500ms, 30s, 5m, 2h or 7d.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_needs_a_number_and_a_unit() {
        assert_eq!(parse("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(parse("2 h"), Some(Duration::from_secs(7200)));
        assert_eq!(parse("7d"), Some(Duration::from_secs(604_800)));
        for wrong in ["", "5", "s", "-1s", "1.5s", "1w", "99999999999999999999s", "18446744073709551615d"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
