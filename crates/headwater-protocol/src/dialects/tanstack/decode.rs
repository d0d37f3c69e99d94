//! Frames in, records out.
//!
//! A chunk that our own encoder wrote says which event it stands for, and gives that event back. Any
//! other chunk goes through the rules of the published client's `StreamProcessor` ([`page`]), so that the
//! message that comes out is the one that the page would show.

mod page;

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;

use super::{
    END_MARKER,
    chunk::{
        ApprovalRequested, Carried, Chunk, Content, Done, Failure, Payload, Thinking, ToolCall as Piece,
        ToolResult,
    },
};
use crate::{
    decode::{Decode, Decoded},
    event::{Event, Origin, Record},
    framing::Frame,
    id::{AttemptId, MessageId, PartId, ToolCallId},
};

use page::Page;

/// Decodes what a TanStack AI server sends.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    seq: u64,
    page: Page,
    ids: Ids,
    /// The inputs that are being streamed by our own encoder.
    inputs: Inputs,
}

type Inputs = HashMap<ToolCallId, String>;

/// The ids of the last chunk: most chunks have the same.
#[derive(Debug, Default)]
struct Ids {
    part: Option<PartId>,
    call: Option<ToolCallId>,
    message: Option<MessageId>,
    attempt: Option<AttemptId>,
}

/// The id as it was, if the text is the same.
fn same<T: Clone + AsRef<str> + for<'a> From<&'a str>>(held: &mut Option<T>, text: &str) -> T {
    match held {
        Some(id) if id.as_ref() == text => id.clone(),
        _ => held.insert(T::from(text)).clone(),
    }
}

/// Where a chunk's records go, and what they have in common.
struct Sink<'s> {
    out: &'s mut Decoded,
    seq: &'s mut u64,
    time: u64,
    origin: Origin,
    frame: Frame<'s>,
}

impl Sink<'_> {
    fn say(&mut self, event: Event) {
        let record = Record { seq: *self.seq, time: self.time, origin: self.origin.clone(), event };
        *self.seq += 1;
        self.out.records.push(record);
    }

    fn fail(&mut self, error: crate::error::Error) {
        self.out.errors.push(error.at(self.frame.index, self.frame.offset));
    }
}

impl Decode for Decoder {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut Decoded) {
        // The client reads lines, not events: each is a chunk of its own.
        if memchr::memchr(b'\n', frame.data.as_bytes()).is_none() {
            return self.line(frame, out);
        }
        for line in frame.data.split('\n').filter(|line| !line.trim().is_empty()) {
            let known = out.errors.len();
            self.line(&Frame { data: line, ..*frame }, out);
            if out.errors.iter().skip(known).any(crate::error::Error::is_fatal) {
                return;
            }
        }
    }

    fn end(&mut self, out: &mut Decoded) {
        let frame = Frame { event: None, id: None, data: "", offset: 0, index: 0 };
        let Self { seq, page, .. } = self;
        let (time, origin) = (page.time(), page.origin());
        page.end(&mut Sink { out, seq, time, origin, frame });
    }
}

impl Decoder {
    fn line(&mut self, frame: &Frame<'_>, out: &mut Decoded) {
        if frame.data == END_MARKER {
            return;
        }
        match Chunk::of_frame(frame) {
            Ok(chunk) => self.chunk(frame, chunk, out),
            Err(error) => out.errors.push(error),
        }
    }

    fn chunk(&mut self, frame: &Frame<'_>, chunk: Chunk<'_>, out: &mut Decoded) {
        let (base, derived) = chunk.base();
        if derived {
            return;
        }
        let Self { seq, page, ids, inputs } = self;
        let origin = Origin {
            message: base.message.as_deref().map(|text| same(&mut ids.message, text)),
            attempt: base.attempt.as_deref().map(|text| same(&mut ids.attempt, text)),
            ..Origin::default()
        };
        let mut sink = Sink { out, seq, time: base.timestamp.unwrap_or_default(), origin, frame: *frame };
        match chunk {
            Chunk::Content(Content { delta: Some(delta), whole: true, .. }) => {
                sink.say(Event::Message { content: delta.into_owned() });
            }
            Chunk::Content(Content { delta: Some(delta), part: Some(part), metadata, .. }) => {
                let (id, delta) = (same(&mut ids.part, &part), delta.into_owned());
                sink.say(Event::TextDelta { id, delta, metadata: metadata.map(Cow::into_owned) });
            }
            Chunk::Thinking(Thinking { delta: Some(delta), part: Some(part), metadata, .. }) => {
                let (id, delta) = (same(&mut ids.part, &part), delta.into_owned());
                sink.say(Event::ReasoningDelta { id, delta, metadata: metadata.map(Cow::into_owned) });
            }
            Chunk::ToolCall(Piece { call: Some(call), tool_call: Some(piece), .. }) => {
                let call = same(&mut ids.call, &call);
                let delta = piece.function.and_then(|function| function.arguments).unwrap_or_default();
                inputs.entry(call.clone()).or_default().push_str(&delta);
                sink.say(Event::ToolInputDelta { call, delta: delta.into_owned() });
            }
            Chunk::ToolCall(Piece { event: Some(event), tool_call, payload, .. }) => {
                let arguments = tool_call.and_then(|call| call.function?.arguments);
                sink.say(with_input(inputs, *event, arguments.as_deref(), payload));
            }
            Chunk::ToolResult(ToolResult { event: Some(event), content, payload, .. }) => {
                sink.say(with_output(*event, content, payload));
            }
            Chunk::ApprovalRequested(ApprovalRequested { event: Some(mut event), input: said, .. }) => {
                if let Event::ApprovalRequested { input, .. } = &mut *event {
                    *input = said.map(Cow::into_owned);
                }
                sink.say(*event);
            }
            Chunk::Done(Done { event: Some(event), .. })
            | Chunk::Failure(Failure { event: Some(event), .. }) => sink.say(*event),
            Chunk::Carried(Carried { event: Some(event), .. }) => sink.say(event.into_owned()),
            Chunk::Carried(_) => {
                let data = serde_json::from_str(frame.data).unwrap_or(Value::Null);
                sink.say(Event::Unknown { name: crate::carry::NAME.to_owned(), data });
            }
            Chunk::Other(data) => {
                let name = data.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
                sink.say(Event::Unknown { name, data: data.into_owned() });
            }
            chunk => page.take(&mut sink, chunk),
        }
    }
}

fn with_input(
    inputs: &mut Inputs,
    mut event: Event,
    arguments: Option<&str>,
    payload: Option<Payload>,
) -> Event {
    match &mut event {
        Event::ToolInputStart(tool) => {
            inputs.remove(&tool.call);
        }
        Event::ToolInputAvailable { tool, input } => {
            let streamed = inputs.remove(&tool.call);
            match payload {
                Some(Payload::Json) => *input = arguments.and_then(|text| serde_json::from_str(text).ok()),
                Some(Payload::Streamed) => {
                    *input = streamed.and_then(|text| serde_json::from_str(&text).ok())
                }
                Some(Payload::Text) | None => {}
            }
        }
        _ => {}
    }
    event
}

fn with_output(mut event: Event, content: Option<Value>, payload: Option<Payload>) -> Event {
    if let Event::ToolOutput { output, .. } = &mut event {
        let content = content.unwrap_or(Value::Null);
        *output = match (payload, &content) {
            (Some(Payload::Json), Value::String(text)) => serde_json::from_str(text).unwrap_or(Value::Null),
            _ => content,
        };
    }
    event
}
