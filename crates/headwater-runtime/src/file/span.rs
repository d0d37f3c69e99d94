//! Positions in a file, and values that carry theirs.

use std::{borrow::Cow, fmt, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_saphyr::Spanned;

/// The name and text of a file, for error messages.
#[derive(Debug)]
pub(super) struct SourceText {
    pub(super) name: String,
    pub(super) text: String,
}

/// A range of text in a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TextSpan {
    /// From 1; 0 if unknown.
    pub(super) line: usize,
    /// In characters, from 1; 0 if unknown.
    pub(super) column: usize,
    /// In bytes from the start of the file.
    pub(super) start: usize,
    /// In bytes.
    pub(super) length: usize,
}

impl TextSpan {
    /// The span of a range of bytes.
    pub(super) fn of(text: &str, start: usize, length: usize) -> Self {
        let before = text.get(..start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before.get(line_start..).map_or(0, |line| line.chars().count()) + 1;
        Self { line, column, start, length }
    }
}

impl From<serde_saphyr::Location> for TextSpan {
    fn from(location: serde_saphyr::Location) -> Self {
        let number = |number: u64| usize::try_from(number).unwrap_or(0);
        let span = location.span();
        Self {
            line: number(location.line()),
            column: number(location.column()),
            start: span.byte_offset().map_or(0, number),
            length: span.byte_len().map_or(0, number),
        }
    }
}

/// A value and its position.
#[derive(Debug, Clone)]
pub(super) struct WithSpan<T> {
    pub(super) value: T,
    pub(super) span: TextSpan,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for WithSpan<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<T>::deserialize(deserializer)?;
        Ok(Self { value: spanned.value, span: spanned.referenced.into() })
    }
}

impl<T: JsonSchema> JsonSchema for WithSpan<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// A mapping from names to values that keeps the order of the file.
#[derive(Debug, Clone)]
pub(super) struct NameMap<T>(pub(super) Vec<(WithSpan<String>, T)>);

impl<T> Default for NameMap<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> NameMap<T> {
    pub(super) fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(known, _)| known.value == name).map(|(_, value)| value)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.value.as_str())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for NameMap<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = NameMap<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping from names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NameMap<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(NameMap(entries))
            }
        }

        deserializer.deserialize_map(Entries(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for NameMap<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("named_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let item = generator.subschema_for::<T>();
        schemars::json_schema!({ "type": "object", "additionalProperties": item })
    }
}

/// Reads a bare string, or a mapping with more fields. Serde's untagged enums buffer both, which would lose
/// the positions.
pub(super) fn text_or_map<'de, D, T, F>(
    deserializer: D,
    expecting: &'static str,
    from_text: fn(&str) -> Result<T, String>,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    F: Deserialize<'de> + Into<T>,
{
    struct TextOr<T, F> {
        expecting: &'static str,
        from_text: fn(&str) -> Result<T, String>,
        fields: PhantomData<F>,
    }

    impl<'de, T, F: Deserialize<'de> + Into<T>> Visitor<'de> for TextOr<T, F> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.expecting)
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
            (self.from_text)(text).map_err(E::custom)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            F::deserialize(MapAccessDeserializer::new(map)).map(Into::into)
        }
    }

    deserializer.deserialize_any(TextOr { expecting, from_text, fields: PhantomData::<F> })
}
