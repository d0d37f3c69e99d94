//! Parses the parts of a frame.

use std::borrow::Cow;

use headwater_protocol::{BlockKind, Error, ErrorKind};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::json::{self, JsonText};

/// The most frequent chunks.
#[derive(Debug, PartialEq)]
pub(super) enum WireDelta<'a> {
    Block { kind: BlockKind, id: Cow<'a, str>, delta: Cow<'a, str> },
    ToolInput { call: Cow<'a, str>, delta: Cow<'a, str> },
}

/// Matches an enveloped delta exactly as our encoder writes it, without a parser; anything else is left to
/// the parser. Returns the event id, the sequence number and the delta.
pub(super) fn as_written(json: &str) -> Option<(&str, i64, WireDelta<'_>)> {
    let (event_id, rest) = plain(json.strip_prefix(r#"{"eventId":""#)?)?;
    let (sequence, rest) = rest.strip_prefix(r#","sequence":"#)?.split_once(',')?;
    let is_number = sequence.bytes().all(|digit| digit.is_ascii_digit());
    if !is_number || (sequence.len() > 1 && sequence.starts_with('0')) {
        return None;
    }
    let (kind, rest) = plain(rest.strip_prefix(r#""chunk":{"type":""#)?)?;
    let (block, id_field, delta_field) = match kind {
        "text-delta" => (Some(BlockKind::Text), r#","id":""#, r#","delta":"#),
        "reasoning-delta" => (Some(BlockKind::Reasoning), r#","id":""#, r#","delta":"#),
        "tool-input-delta" => (None, r#","toolCallId":""#, r#","inputTextDelta":"#),
        _ => return None,
    };
    let (id, rest) = plain(rest.strip_prefix(id_field)?)?;
    let text = rest.strip_prefix(delta_field)?.strip_suffix("}}")?;
    // If the rest is a single string, there are no other fields.
    let JsonText(delta) = serde_json::from_str(text).ok()?;
    let id = Cow::Borrowed(id);
    let delta = match block {
        Some(kind) => WireDelta::Block { kind, id, delta },
        None => WireDelta::ToolInput { call: id, delta },
    };
    Some((event_id, sequence.parse().ok()?, delta))
}

/// The text up to the closing quote, if it has no escapes or control characters, and the rest.
fn plain(json: &str) -> Option<(&str, &str)> {
    let end = json.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
    let (text, rest) = json.split_at_checked(end)?;
    Some((text, rest.strip_prefix('"')?))
}

/// Any frame.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FrameHead<'a> {
    #[serde(default, deserialize_with = "headwater_json::present")]
    pub(super) event_id: Option<Value>,
    #[serde(default, deserialize_with = "headwater_json::present")]
    pub(super) sequence: Option<Value>,
    #[serde(borrow, default, deserialize_with = "headwater_json::present")]
    pub(super) chunk: Option<&'a RawValue>,
}

/// The same JSON without duplicate fields; the last one counts.
pub(super) fn single_fields(text: &str) -> Result<String, Error> {
    json::value(text).map(|value| value.to_string())
}

pub(super) fn no_chunk() -> Error {
    Error::fatal(ErrorKind::Field, "a chunk must be a JSON object with a string `type`")
}

/// The identity of an event id. The real client compares values, so 2 and "2" differ; falsy values and
/// objects never match.
pub(super) fn event_id(value: Value) -> Option<String> {
    match value {
        Value::String(id) => Some(id),
        Value::Number(number) if number.as_f64() != Some(0.0) => Some(format!("\u{0}{number}")),
        Value::Bool(true) => Some("\u{0}true".to_owned()),
        _ => None,
    }
}

/// An integer sequence number.
#[expect(clippy::cast_possible_truncation, reason = "checked to be integral and small")]
pub(super) fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        let number = value.as_f64()?;
        (number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0).then_some(number as i64)
    })
}
