//! A macro that declares the chunks of a dialect: their types and fields.

/// Declares the chunks of a dialect once, for both writing and reading.
///
/// The enum has a line per wire type: its name, variant and fields. It gets `TYPES`, the names, and
/// `read_as`, which parses a chunk of a type with the function after `by` and returns `None` for unknown
/// types. Variants after `else` are serialised as they are.
///
/// A struct has the fields of one or more types:
///
/// - `id: text` is a required string. It borrows from the frame unless it contains escapes.
/// - `title?: text` may be missing or `null`, and is left out if it has no value.
/// - `input?: Json<'a> = "present"` is parsed with that function.
///
/// ```ignore
/// chunks! {
///     enum Chunk by read(&Frame<'a>) -> Error {
///         "text-delta" => TextDelta(TextDelta<'a>),
///     } else {
///         Other(Cow<'a, Value>),
///     }
///     struct TextDelta<'a> { id: text, delta: text, title?: text, }
/// }
/// ```
macro_rules! chunks {
    (
        $(#[$meta:meta])*
        enum $chunk:ident by $read:ident($source:ty) -> $error:ty {
            $($(#[$about:meta])* $tag:literal => $variant:ident($fields:ty),)*
        } else {
            $($(#[$about_other:meta])* $other:ident($type:ty),)*
        }
        $($structs:tt)*
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        #[serde(tag = "type")]
        pub(super) enum $chunk<'a> {
            $($(#[$about])* #[serde(rename = $tag)] $variant($fields),)*
            $($(#[$about_other])* #[serde(untagged)] $other($type),)*
        }

        #[allow(dead_code, reason = "not every dialect needs both")]
        impl<'a> $chunk<'a> {
            /// The types of chunks.
            pub(super) const TYPES: &'static [&'static str] = &[$($tag),*];

            /// Parses a chunk of a type; `None` for unknown types.
            pub(super) fn read_as(name: &str, from: $source) -> Result<Option<Self>, $error> {
                Ok(Some(match name {
                    $($tag => Self::$variant($read(from)?),)*
                    _ => return Ok(None),
                }))
            }
        }

        $crate::chunk::chunks! { $($structs)* }
    };
    ($($(#[$meta:meta])* struct $name:ident $(<$life:lifetime>)? { $($fields:tt)* })*) => {
        $($crate::chunk::chunks! { @ [$(#[$meta])* struct $name $(<$life>)?] [] $($fields)* })*
    };

    (@ [$(#[$meta:meta])* struct $name:ident $(<$life:lifetime>)?] [$($done:tt)*]) => {
        #[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        $(#[$meta])*
        pub(super) struct $name $(<$life>)? { $($done)* }
    };
    (@ $head:tt [$($done:tt)*] $(#[$meta:meta])* $field:ident?: text, $($rest:tt)*) => {
        $crate::chunk::chunks! {
            @ $head [$($done)*] $(#[$meta])* $field?: text = "crate::json::text", $($rest)*
        }
    };
    (@ $head:tt [$($done:tt)*] $(#[$meta:meta])* $field:ident?: text = $read:literal, $($rest:tt)*) => {
        $crate::chunk::chunks! { @ $head [
            $($done)*
            $(#[$meta])*
            #[serde(borrow, default, deserialize_with = $read, skip_serializing_if = "Option::is_none")]
            pub(super) $field: Option<std::borrow::Cow<'a, str>>,
        ] $($rest)* }
    };
    (@ $head:tt [$($done:tt)*] $(#[$meta:meta])* $field:ident?: $type:ty $(= $read:literal)?, $($rest:tt)*) => {
        $crate::chunk::chunks! { @ $head [
            $($done)*
            $(#[$meta])*
            #[serde(default, skip_serializing_if = "Option::is_none" $(, deserialize_with = $read)?)]
            pub(super) $field: Option<$type>,
        ] $($rest)* }
    };
    (@ $head:tt [$($done:tt)*] $(#[$meta:meta])* $field:ident: text $(= $read:literal)?, $($rest:tt)*) => {
        $crate::chunk::chunks! { @ $head [
            $($done)*
            $(#[$meta])*
            #[serde(borrow $(, deserialize_with = $read)?)]
            pub(super) $field: std::borrow::Cow<'a, str>,
        ] $($rest)* }
    };
    (@ $head:tt [$($done:tt)*] $(#[$meta:meta])* $field:ident: $type:ty $(= $read:literal)?, $($rest:tt)*) => {
        $crate::chunk::chunks! { @ $head [
            $($done)*
            $(#[$meta])*
            $(#[serde(deserialize_with = $read)])?
            pub(super) $field: $type,
        ] $($rest)* }
    };
}

pub(crate) use chunks;
