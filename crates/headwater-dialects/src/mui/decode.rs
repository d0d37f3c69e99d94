//! Decodes frames to records: puts envelopes in order and applies chunks like the real client.

mod apply;
mod sequence;
mod wire;

use std::{borrow::Cow, collections::HashMap};

use headwater_protocol::{BlockKind, Error, ErrorKind, Frame, MessageId, PartId, ToolCallId};
use sequence::Sequencer;
use serde_json::{Value, value::RawValue};
use wire::FrameHead;

use super::lenient;
use crate::decode::{Decode, DecodeOutput};

/// Decodes a stream for MUI X Chat.
///
/// ```
/// use headwater_dialects::{Decode as _, DecodeOutput, mui};
/// use headwater_protocol::Frame;
///
/// let data = r#"{"eventId":"m1:0","sequence":0,"chunk":{"type":"start","messageId":"m1"}}"#;
/// let mut decoder = mui::MuiDecoder::new();
/// let mut out = DecodeOutput::default();
/// decoder.frame(&Frame { event: None, id: None, data, offset: 0, index: 0 }, &mut out);
/// assert_eq!(out.records[0].event.kind().name(), "message-started");
/// assert_eq!(decoder.next_sequence(), Some(1));
/// ```
#[derive(Debug, Default)]
pub struct MuiDecoder {
    sequencer: Sequencer,
    /// A sequence number arrived that no other can follow.
    stalled: bool,
    records: u64,
    /// The message of the chunks, and whether its start was emitted.
    message: Option<MessageId>,
    begun: bool,
    /// The open blocks of text and of reasoning, by id.
    open: [HashMap<Box<str>, BlockState>; 2],
    /// The block of the last delta: most deltas go to the same one.
    last: Option<BlockState>,
    call: Option<ToolCallId>,
    ended: bool,
}

/// An open block.
#[derive(Debug, Clone)]
struct BlockState {
    kind: BlockKind,
    id: PartId,
    /// Blocks are numbered in the order of their start.
    number: u64,
}

impl MuiDecoder {
    /// A decoder at the beginning of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same decoder for a reply whose id the reader has chosen; a `start` with an id overrides it.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<MessageId>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// The same decoder after a reconnect: chunks that were seen before are skipped.
    #[must_use]
    pub fn resume(
        mut self,
        next_sequence: Option<i64>,
        seen_event_ids: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Self {
        self.sequencer = Sequencer::resume(next_sequence, seen_event_ids);
        self
    }

    /// The sequence number to continue from after a reconnect.
    #[must_use]
    pub fn next_sequence(&self) -> Option<i64> {
        self.sequencer.next
    }

    /// The event ids seen so far, for a decoder after a reconnect.
    pub fn seen_event_ids(&self) -> impl Iterator<Item = String> {
        self.sequencer.seen.iter()
    }

    /// A fast path for deltas in order, as our encoder writes them; most chunks are. `false` if this is not
    /// one of them.
    fn delta(&mut self, frame: &Frame<'_>, out: &mut DecodeOutput) -> bool {
        let Some((event_id, sequence, delta)) = wire::as_written(frame.data) else { return false };
        let in_order = !self.stalled && self.sequencer.advance(Some(event_id), sequence);
        if in_order {
            self.apply_delta(delta, out);
        }
        in_order
    }

    /// Unwraps an envelope, or takes a bare chunk.
    fn line(&mut self, frame: &Frame<'_>, out: &mut DecodeOutput) -> Result<(), Error> {
        let head: FrameHead<'_> = match lenient::object(frame.data) {
            Ok(head) => head,
            Err(_) => return self.mended(frame, out),
        };
        let Some(chunk) = head.chunk.map(RawValue::get) else {
            return self.apply(frame.data, out);
        };
        let event_id = head.event_id.and_then(wire::event_id);
        let sequence = match head.sequence {
            None | Some(Value::Null) => None,
            Some(number) => match wire::integer(&number) {
                Some(integer) => Some(integer),
                None => return self.odd_sequence(&number, chunk, frame, out),
            },
        };
        if sequence.is_some() && self.stalled {
            return Ok(());
        }
        if let Some(sequence) = sequence
            && self.sequencer.advance(event_id.as_deref(), sequence)
        {
            return self.apply(chunk, out);
        }
        let ready = self.sequencer.push(event_id.as_deref(), sequence, chunk)?;
        for chunk in ready {
            // Chunks that waited behind the terminal one are dropped.
            if self.ended {
                break;
            }
            self.apply(&chunk, out)?;
        }
        Ok(())
    }

    /// The client accepts any first sequence; after a non-integer none can follow.
    fn odd_sequence(
        &mut self,
        sequence: &Value,
        chunk: &str,
        frame: &Frame<'_>,
        out: &mut DecodeOutput,
    ) -> Result<(), Error> {
        let message =
            format!("the envelope's sequence is {sequence}: it must be an integer, one more each time");
        out.errors.push(Error::new(ErrorKind::Field, message).at(frame.index, frame.offset));
        if self.stalled || self.sequencer.next.is_some() {
            return Ok(());
        }
        self.stalled = true;
        self.apply(chunk, out)
    }

    /// JavaScript takes the last of two fields with one name; such JSON is parsed again that way.
    fn mended(&mut self, frame: &Frame<'_>, out: &mut DecodeOutput) -> Result<(), Error> {
        let text = wire::single_fields(frame.data)?;
        let Ok(head) = lenient::object::<FrameHead<'_>>(&text) else {
            return Err(wire::no_chunk());
        };
        if head.chunk.is_none() {
            self.apply(&text, out)
        } else {
            self.line(&Frame { data: &text, ..*frame }, out)
        }
    }
}

impl Decode for MuiDecoder {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut DecodeOutput) {
        // Ignore everything after the terminal chunk, and the end marker of other dialects.
        if self.ended || frame.data.trim() == "[DONE]" || self.delta(frame, out) {
            return;
        }
        if let Err(error) = self.line(frame, out) {
            out.errors.push(error.at(frame.index, frame.offset));
        }
    }

    fn end(&mut self, out: &mut DecodeOutput) {
        if let Some((awaited, waiting)) = self.sequencer.gap().filter(|_| !self.ended) {
            let message = format!(
                "sequence {awaited} never came, and {waiting} chunks that waited for it are lost: reconnect from it"
            );
            out.errors.push(Error::new(ErrorKind::Cut, message));
        }
    }
}

/// A field of a chunk as an id that is cheap to clone.
fn id<T: From<String>>(text: Cow<'_, str>) -> T {
    T::from(text.into_owned())
}

#[cfg(test)]
mod tests;
