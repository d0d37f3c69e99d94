//! Content types, and the messages of a JSON stream.

use bytes::Bytes;
use headwater_json::InputLimits;
use serde_json::value::RawValue;

use crate::StreamError;

/// How the bytes of a stream are framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentKind {
    /// Messages: an append of an array is one message per element, and a read returns an array.
    Json,
    Text,
    Binary,
}

impl ContentKind {
    pub(crate) fn of(content_type: &str) -> Self {
        match media_type(content_type).as_str() {
            "application/json" => Self::Json,
            text if text.starts_with("text/") => Self::Text,
            _ => Self::Binary,
        }
    }
}

/// A content type without its parameters, in lower case.
pub(crate) fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The messages of a JSON body, joined by commas, and their number.
pub(crate) fn flatten_json(body: &[u8]) -> Result<(Bytes, usize), StreamError> {
    let invalid =
        |why: &dyn std::fmt::Display| StreamError::bad("body.not-json", format!("invalid JSON: {why}"));
    let mut limits = InputLimits::default();
    // The body is as long as it may be already.
    (limits.string, limits.text) = (usize::MAX, usize::MAX);
    limits
        .check(body)
        .map_err(|exceeded| StreamError::bad("body.too-complex", format!("the body is {exceeded}")))?;
    let text = std::str::from_utf8(body).map_err(|error| invalid(&error))?;
    if !text.trim_start().starts_with('[') {
        let value: &RawValue = serde_json::from_str(text).map_err(|error| invalid(&error))?;
        return Ok((Bytes::copy_from_slice(value.get().as_bytes()), 1));
    }
    let values: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| invalid(&error))?;
    let joined = values.iter().map(|value| value.get()).collect::<Vec<_>>().join(",");
    Ok((joined.into(), values.len()))
}

/// The first messages of an append; `None` if it has fewer.
pub(super) fn first_messages(joined: &[u8], count: usize) -> Option<Bytes> {
    let array = [b"[", joined, b"]"].concat();
    let values: Vec<&RawValue> = serde_json::from_slice(&array).ok()?;
    let first: Vec<&str> = values.get(..count)?.iter().map(|value| value.get()).collect();
    Some(first.join(",").into())
}

/// The body of a read of a JSON stream: one array of the messages of all appends.
pub(crate) fn json_array<'a>(appends: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut array = vec![b'['];
    for append in appends.filter(|append| !append.is_empty()) {
        if array.len() > 1 {
            array.push(b',');
        }
        array.extend_from_slice(append);
    }
    array.push(b']');
    array
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_level_of_an_array_becomes_messages() {
        for (body, joined, count) in [
            (r#" {"a": 1} "#, r#"{"a": 1}"#, 1),
            ("[1, [2], \"x,y\"]", "1,[2],\"x,y\"", 3),
            ("[[1,2]]", "[1,2]", 1),
            ("[]", "", 0),
        ] {
            let (bytes, messages) = flatten_json(body.as_bytes()).unwrap();
            assert_eq!((&*bytes, messages), (joined.as_bytes(), count), "{body}");
        }
        for body in ["", "{", "1 2", "[1,]", "\u{0}"] {
            assert!(flatten_json(body.as_bytes()).is_err(), "{body}");
        }
    }

    #[test]
    fn prefix_of_an_append_has_whole_messages() {
        assert_eq!(first_messages(b"1,[2,3],4", 2).as_deref(), Some(&b"1,[2,3]"[..]));
        assert_eq!(first_messages(b"1", 2), None);
    }
}
