//! From AG-UI events to records, through the same stages as the client: clean, expand, verify, apply.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, value::RawValue};

use super::{
    apply::Apply,
    chunk::Chunk,
    expand::Lanes,
    schema::{self, is_event},
    verify::Verify,
};
use crate::{
    decode::{Decode, Decoded},
    error::{Error, ErrorKind},
    framing::Frame,
    state::Message,
};

/// Reads AG-UI streams.
#[derive(Debug, Clone, Default)]
pub(super) struct Decoder {
    lanes: Lanes,
    verify: Verify,
    apply: Apply,
    thinking: Thinking,
}

/// The fields of the events that come most often, read without a detour.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hot<'a> {
    #[serde(borrow, rename = "type")]
    name: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "present")]
    message_id: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    tool_call_id: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    delta: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "present_number")]
    timestamp: Option<i64>,
    #[serde(borrow, default)]
    raw_event: Option<&'a RawValue>,
    #[serde(borrow, default)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    subagent_run_id: Option<Cow<'a, str>>,
}

/// A field that is there has a text; null is none.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'a, str>>, D::Error> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    Text::deserialize(deserializer).map(|text| Some(text.0))
}

fn present_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    i64::deserialize(deserializer).map(Some)
}

impl Decoder {
    /// A piece of a text, a thought or a call's arguments. `None` if the event is another one, or has something
    /// that wants a closer look.
    fn delta(&mut self, frame: &Frame<'_>, out: &mut Decoded) -> Option<Result<(), String>> {
        let hot: Hot<'_> = serde_json::from_str(frame.data).ok()?;
        if hot.raw_event.is_some() || hot.metadata.is_some() || !self.lanes.is_empty() {
            return None;
        }
        const SAFE: i64 = (1 << 53) - 1;
        if hot.timestamp.is_some_and(|time| time.abs() > SAFE) {
            return None;
        }
        let time = hot.timestamp.and_then(|time| u64::try_from(time).ok()).unwrap_or(0);
        let tag = hot.subagent_run_id.as_deref();
        let (id, delta) = match &*hot.name {
            "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT" => (hot.message_id?, hot.delta?),
            "TOOL_CALL_ARGS" => (hot.tool_call_id?, hot.delta?),
            _ => return None,
        };
        let verified = match &*hot.name {
            "TEXT_MESSAGE_CONTENT" => self.verify.text_delta(&id, tag),
            "REASONING_MESSAGE_CONTENT" => self.verify.thought_delta(&id, tag),
            _ => self.verify.args(&id, tag),
        };
        if verified.is_ok() {
            if hot.name == "TOOL_CALL_ARGS" {
                self.apply.args(&id, &delta, time, out);
            } else {
                self.apply.delta(&id, &delta, time, out);
            }
        }
        Some(verified)
    }

    fn event(&mut self, frame: &Frame<'_>, out: &mut Decoded) -> Result<(), Error> {
        let (name, mut event) = read(frame.data)?;
        let name = self.thinking.translate(name, &mut event);
        if !is_event(&name) {
            self.apply.unknown(name, event, out);
            return Ok(());
        }
        let chunk = typed(&name, event)?;
        let order = |message| Error::fatal(ErrorKind::Order, message);
        for chunk in self.lanes.expand(chunk).map_err(order)? {
            self.verify.event(&chunk).map_err(order)?;
            self.apply
                .event(&chunk, out)
                .map_err(|error| error.at(frame.index, frame.offset))
                .unwrap_or_else(|error| {
                    out.errors.push(error);
                });
        }
        Ok(())
    }
}

/// An event's type and its fields.
fn read(data: &str) -> Result<(String, Map<String, Value>), Error> {
    let value: Value = serde_json::from_str(data).map_err(|error| {
        let head: String = data.chars().take(40).collect();
        Error::fatal(ErrorKind::Json, format!("the frame is not JSON: {error}; it begins with {head:?}"))
    })?;
    let Value::Object(event) = value else {
        return Err(Error::fatal(ErrorKind::Field, "Invalid event: the frame is not a JSON object."));
    };
    let name = event.get("type").and_then(Value::as_str).filter(|name| !name.is_empty());
    let Some(name) = name.map(str::to_owned) else {
        return Err(Error::fatal(ErrorKind::Field, "Invalid event: the frame carries no event type."));
    };
    Ok((name, event))
}

/// An event of a known type, cleaned and held to its fields.
fn typed(name: &str, mut event: Map<String, Value>) -> Result<Chunk<'static>, Error> {
    schema::clean(name, &mut event).map_err(|issue| {
        let message = format!("{name}: `{}` must be {}", issue.path, issue.expected);
        Error::fatal(ErrorKind::Field, message)
    })?;
    serde_json::from_value(Value::Object(event))
        .map_err(|error| Error::fatal(ErrorKind::Field, format!("{name}: {error}")))
}

/// Whether the client's schemas let an event through, whatever came before it.
///
/// Unknown types pass: the client drops them.
///
/// ```
/// use headwater_protocol::dialects::ag_ui;
///
/// assert!(ag_ui::check_event(r#"{"type":"TEXT_MESSAGE_END","messageId":"m1"}"#).is_ok());
/// let error = ag_ui::check_event(r#"{"type":"TEXT_MESSAGE_END","messageId":null}"#).unwrap_err();
/// assert_eq!(error.to_string(), "TEXT_MESSAGE_END: `messageId` must be a string");
/// ```
///
/// # Errors
/// Says which field is wrong.
pub fn check_event(data: &str) -> Result<(), Error> {
    let (name, mut event) = read(data)?;
    let name = Thinking::default().translate(name, &mut event);
    if is_event(&name) { typed(&name, event).map(drop) } else { Ok(()) }
}

/// The events that reasoning had before it had a name.
#[derive(Debug, Clone, Default)]
struct Thinking {
    count: u32,
    span: Option<String>,
    message: Option<String>,
}

impl Thinking {
    fn translate(&mut self, name: String, event: &mut Map<String, Value>) -> String {
        let (modern, id) = match name.as_str() {
            "THINKING_START" => {
                event.shift_remove("title");
                self.span = Some(self.mint());
                ("REASONING_START", self.span.clone())
            }
            "THINKING_TEXT_MESSAGE_START" => {
                self.message = Some(self.mint());
                event.insert("role".to_owned(), Value::from("reasoning"));
                ("REASONING_MESSAGE_START", self.message.clone())
            }
            "THINKING_TEXT_MESSAGE_CONTENT" => ("REASONING_MESSAGE_CONTENT", self.message.clone()),
            "THINKING_TEXT_MESSAGE_END" => ("REASONING_MESSAGE_END", self.message.take()),
            "THINKING_END" => ("REASONING_END", self.span.take()),
            _ => return name,
        };
        let id = id.unwrap_or_else(|| self.mint());
        event.insert("messageId".to_owned(), Value::from(id));
        event.insert("type".to_owned(), Value::from(modern));
        modern.to_owned()
    }

    fn mint(&mut self) -> String {
        self.count += 1;
        format!("thinking-{}", self.count)
    }
}

impl Decode for Decoder {
    fn conversation(&mut self, messages: &[Message]) {
        self.apply.conversation(messages);
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut Decoded) {
        let read = match self.delta(frame, out) {
            Some(verified) => verified.map_err(|message| Error::fatal(ErrorKind::Order, message)),
            None => self.event(frame, out),
        };
        if let Err(error) = read {
            out.errors.push(error.at(frame.index, frame.offset));
        }
    }

    fn end(&mut self, _out: &mut Decoded) {}
}
