//! Encodes records as numbered envelopes.

mod message_encoder;
mod tool;

use std::fmt::Write as _;

use headwater_protocol::{FrameWriter, Piece, Record, RunState};
use message_encoder::MessageEncoder;
use serde::Serialize;

use super::chunk::{BlockDelta, Chunk, ToolInputDelta};
use crate::encode::{Encode, EncodeOptions, WriteChunk as _};

/// Receives chunks.
type Sink<'s> = &'s mut dyn FnMut(&Chunk<'_>);

/// Encodes a run for MUI X Chat.
#[derive(Debug)]
pub(super) struct MuiEncoder {
    messages: MessageEncoder,
    numbers: Numbers,
}

impl MuiEncoder {
    pub(super) fn new(options: &EncodeOptions) -> Self {
        let numbers = Numbers { next: options.sequence, ..Numbers::default() };
        Self { messages: MessageEncoder::default(), numbers }
    }
}

impl Encode for MuiEncoder {
    fn record(&mut self, record: &Record, out: &mut FrameWriter) {
        let Self { messages, numbers } = self;
        messages.emit_message(record, &mut |chunk| numbers.write(chunk, out));
    }

    /// Sends the state from `start` on, merged, for a client with an empty message, such as a reloaded page.
    /// The chunks are numbered from the beginning, so a client that kept its message must resume by its last
    /// sequence number instead.
    fn reentry(&mut self, state: &RunState, out: &mut FrameWriter) {
        for record in state.replay() {
            self.record(&record, out);
        }
        self.messages.send_objects(&mut |chunk| self.numbers.write(chunk, out));
    }

    fn restate(&mut self, next: Option<u64>, out: &mut FrameWriter) {
        let Self { messages, numbers } = self;
        numbers.next = next.unwrap_or(numbers.next);
        messages.restate(&mut |chunk| numbers.write(chunk, out));
    }

    /// A run without an end looks truncated, because it is; a waiting run completes its message.
    fn finish(&mut self, out: &mut FrameWriter) {
        let Self { messages, numbers } = self;
        messages.flush(&mut |chunk| numbers.write(chunk, out));
    }

    /// A response stays open while its run waits, so there is no other.
    fn next_response(&mut self, _: &mut FrameWriter) {}
}

/// Numbers the chunks of a stream consecutively, each with an id that also names its message.
#[derive(Debug, Default)]
struct Numbers {
    next: u64,
    /// The id of the last chunk.
    id: String,
    /// The length of the constant prefix of the id.
    prefix: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SequencedChunk<'a> {
    event_id: &'a str,
    sequence: u64,
    chunk: &'a Chunk<'a>,
}

impl Numbers {
    /// Writes a chunk in its envelope; deltas are serialised by hand.
    fn send(&self, chunk: &Chunk<'_>, out: &mut FrameWriter) {
        let (kind, id, between, delta) = match chunk {
            Chunk::TextDelta(BlockDelta { id, delta }) => {
                (r#","chunk":{"type":"text-delta","id":"#, id, r#","delta":"#, delta)
            }
            Chunk::ReasoningDelta(BlockDelta { id, delta }) => {
                (r#","chunk":{"type":"reasoning-delta","id":"#, id, r#","delta":"#, delta)
            }
            Chunk::ToolInputDelta(ToolInputDelta { tool_call_id, input_text_delta }) => {
                let kind = r#","chunk":{"type":"tool-input-delta","toolCallId":"#;
                (kind, tool_call_id, r#","inputTextDelta":"#, input_text_delta)
            }
            chunk => {
                return out.chunk(None, &SequencedChunk { event_id: &self.id, sequence: self.next, chunk });
            }
        };
        let pieces = [
            Piece::Json(r#"{"eventId":"#),
            Piece::Text(&self.id),
            Piece::Json(r#","sequence":"#),
            Piece::Number(self.next),
            Piece::Json(kind),
            Piece::Text(id),
            Piece::Json(between),
            Piece::Text(delta),
            Piece::Json("}}"),
        ];
        out.pieces(None, &pieces);
    }

    fn write(&mut self, chunk: &Chunk<'_>, out: &mut FrameWriter) {
        if let (0, Chunk::Start(start)) = (self.prefix, chunk) {
            self.id.push_str(start.message_id.as_deref().unwrap_or_default());
            self.id.push(':');
            self.prefix = self.id.len();
        }
        self.id.truncate(self.prefix);
        // Writing to a string never fails.
        let _ = write!(self.id, "{}", self.next);
        self.send(chunk, out);
        self.next += 1;
    }
}

#[cfg(test)]
mod tests;
