//! What stands in a frame, before anything is made of it.

use std::borrow::Cow;

use headwater_protocol::{BlockKind, Error, ErrorKind};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::json::{self, Text};

/// What comes often.
#[derive(Debug, PartialEq)]
pub(super) enum Delta<'a> {
    Block { kind: BlockKind, id: Cow<'a, str>, delta: Cow<'a, str> },
    ToolInput { call: Cow<'a, str>, delta: Cow<'a, str> },
}

/// An enveloped delta exactly as our encoder writes it, which is read by comparing; anything else is left
/// to a real parser. Gives the event id, the sequence and the delta.
pub(super) fn as_written(json: &str) -> Option<(&str, i64, Delta<'_>)> {
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
    // If this is one string and nothing more, then there are no other fields.
    let Text(delta) = serde_json::from_str(text).ok()?;
    let id = Cow::Borrowed(id);
    let delta = match block {
        Some(kind) => Delta::Block { kind, id, delta },
        None => Delta::ToolInput { call: id, delta },
    };
    Some((event_id, sequence.parse().ok()?, delta))
}

/// The text up to the closing quote, if nothing in it is escaped or would have to be, and what follows.
fn plain(json: &str) -> Option<(&str, &str)> {
    let end = json.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
    let (text, rest) = json.split_at_checked(end)?;
    Some((text, rest.strip_prefix('"')?))
}

/// Any frame.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Head<'a> {
    #[serde(default, deserialize_with = "headwater_json::present")]
    pub(super) event_id: Option<Value>,
    #[serde(default, deserialize_with = "headwater_json::present")]
    pub(super) sequence: Option<Value>,
    #[serde(borrow, default, deserialize_with = "headwater_json::present")]
    pub(super) chunk: Option<&'a RawValue>,
}

/// The same JSON with each field once, the last one of a name.
pub(super) fn single_fields(text: &str) -> Result<String, Error> {
    json::value(text).map(|value| value.to_string())
}

pub(super) fn no_chunk() -> Error {
    Error::fatal(ErrorKind::Field, "a chunk must be a JSON object with a string `type`")
}

/// What an event id is known by. The real client compares values, so 2 and "2" differ, and what JavaScript
/// takes for false, or for another object each time, is never seen before.
pub(super) fn event_id(value: Value) -> Option<String> {
    match value {
        Value::String(id) => Some(id),
        Value::Number(number) if number.as_f64() != Some(0.0) => Some(format!("\u{0}{number}")),
        Value::Bool(true) => Some("\u{0}true".to_owned()),
        _ => None,
    }
}

/// A sequence that can be counted on from.
#[expect(clippy::cast_possible_truncation, reason = "checked to be integral and small")]
pub(super) fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        let number = value.as_f64()?;
        (number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0).then_some(number as i64)
    })
}
