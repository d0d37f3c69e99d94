//! Decodes AG-UI events to records.

use std::borrow::Cow;

use headwater_protocol::{Error, ErrorKind, Frame, Message};
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::{chunk::Chunk, read::EventReader};
use crate::{
    decode::{Decode, DecodeOutput},
    json,
};

/// Decodes AG-UI streams.
#[derive(Debug, Clone, Default)]
pub(super) struct AgUiDecoder {
    reader: EventReader,
    thinking: Thinking,
}

/// The fields of the most frequent events, parsed without an intermediate tree.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeltaEvent<'a> {
    #[serde(borrow, rename = "type")]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    message_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_call_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    delta: Option<Cow<'a, str>>,
    #[serde(default)]
    timestamp: Option<i64>,
    #[serde(borrow, default)]
    metadata: Option<&'a RawValue>,
}

impl AgUiDecoder {
    /// Decodes a delta of text, reasoning or arguments. `None` if it is another event or has more fields.
    fn delta(&mut self, frame: &Frame<'_>, out: &mut DecodeOutput) -> Option<Result<(), Error>> {
        let hot: DeltaEvent<'_> = serde_json::from_str(frame.data).ok()?;
        if hot.metadata.is_some() || !self.reader.has_no_lanes() {
            return None;
        }
        let time = hot.timestamp.and_then(|time| u64::try_from(time).ok()).unwrap_or(0);
        Some(match &*hot.name {
            "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT" => {
                self.reader.delta(&hot.message_id?, &hot.delta?, time, out)
            }
            "TOOL_CALL_ARGS" => self.reader.args(&hot.tool_call_id?, &hot.delta?, time, out),
            _ => return None,
        })
    }

    fn event(&mut self, frame: &Frame<'_>, out: &mut DecodeOutput) -> Result<(), Error> {
        let (name, mut event) = fields(frame.data)?;
        let name = self.thinking.translate(name, &mut event);
        let subagent = event.get("subagentRunId").and_then(Value::as_str).map(str::to_owned);
        match typed(&name, event)? {
            WireEvent::Chunk(chunk) => self.reader.event(&name, *chunk, subagent.as_deref(), out),
            WireEvent::Other(event) => {
                self.reader.unknown(name, event, out);
                Ok(())
            }
        }
    }
}

/// An event's type and fields.
pub(super) fn fields(data: &str) -> Result<(String, Map<String, Value>), Error> {
    let Value::Object(event) = json::value(data)? else {
        return Err(Error::fatal(ErrorKind::Json, "the frame is not a JSON object"));
    };
    let name = event.get("type").and_then(Value::as_str).filter(|name| !name.is_empty());
    let Some(name) = name.map(str::to_owned) else {
        return Err(Error::fatal(ErrorKind::Field, "the event has no `type`"));
    };
    Ok((name, event))
}

/// An AG-UI event, or one of a later version.
pub(super) enum WireEvent {
    Chunk(Box<Chunk<'static>>),
    Other(Map<String, Value>),
}

/// Parses the fields of an event of this type.
pub(super) fn typed(name: &str, event: Map<String, Value>) -> Result<WireEvent, Error> {
    if !Chunk::TYPES.contains(&name) {
        return Ok(WireEvent::Other(event));
    }
    match Chunk::read_as(name, Value::Object(event)) {
        Ok(Some(chunk)) => Ok(WireEvent::Chunk(Box::new(chunk))),
        Ok(None) => Ok(WireEvent::Other(Map::new())),
        Err(error) => Err(Error::fatal(ErrorKind::Field, format!("{name}: {error}"))),
    }
}

/// The former names of the reasoning events.
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

impl Decode for AgUiDecoder {
    fn conversation(&mut self, messages: &[Message]) {
        self.reader.conversation(messages);
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut DecodeOutput) {
        let read = self.delta(frame, out).unwrap_or_else(|| self.event(frame, out));
        if let Err(error) = read {
            out.errors.push(error.at(frame.index, frame.offset));
        }
    }

    fn end(&mut self, _out: &mut DecodeOutput) {}
}
