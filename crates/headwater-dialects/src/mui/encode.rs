//! Records in, numbered envelopes out.

mod speech;
mod tool;

use std::fmt::Write as _;

use headwater_protocol::{FrameWriter, Piece, Record, RunState};
use serde::Serialize;
use speech::Speech;

use super::chunk::{BlockDelta, Chunk, ToolInputDelta};
use crate::encode::{Encode, EncodeOptions, WriteChunk as _};

/// Where chunks go.
type Sink<'s> = &'s mut dyn FnMut(&Chunk<'_>);

/// Writes a run for MUI X Chat.
#[derive(Debug)]
pub(super) struct Encoder {
    speech: Speech,
    numbers: Numbers,
}

impl Encoder {
    pub(super) fn new(options: &EncodeOptions) -> Self {
        let numbers = Numbers { next: options.sequence, ..Numbers::default() };
        Self { speech: Speech::default(), numbers }
    }
}

impl Encode for Encoder {
    fn record(&mut self, record: &Record, out: &mut FrameWriter) {
        let Self { speech, numbers } = self;
        speech.say(record, &mut |chunk| numbers.write(chunk, out));
    }

    /// Sends the state from `start` on, merged: for a client that begins with an empty message, such as a page that was
    /// loaded again. The chunks are numbered anew, so a client that still holds what it had must resume by its last
    /// sequence instead.
    fn reentry(&mut self, state: &RunState, out: &mut FrameWriter) {
        for record in state.replay() {
            self.record(&record, out);
        }
        self.speech.send_objects(&mut |chunk| self.numbers.write(chunk, out));
    }

    fn restate(&mut self, next: Option<u64>, out: &mut FrameWriter) {
        let Self { speech, numbers } = self;
        numbers.next = next.unwrap_or(numbers.next);
        speech.restate(&mut |chunk| numbers.write(chunk, out));
    }

    /// A run that came to no end looks cut, because it is; only one that waits closes its message.
    fn finish(&mut self, out: &mut FrameWriter) {
        let Self { speech, numbers } = self;
        speech.flush(&mut |chunk| numbers.write(chunk, out));
    }

    /// A response goes on while its run waits, so there is no other.
    fn next_response(&mut self, _: &mut FrameWriter) {}
}

/// Numbers the chunks of a stream: densely, and each with an id that names its message too.
#[derive(Debug, Default)]
struct Numbers {
    next: u64,
    /// The id of the last chunk.
    id: String,
    /// How much of the id is the same for every chunk.
    prefix: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sent<'a> {
    event_id: &'a str,
    sequence: u64,
    chunk: &'a Chunk<'a>,
}

impl Numbers {
    /// Writes a chunk in its envelope; deltas by hand.
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
            chunk => return out.chunk(None, &Sent { event_id: &self.id, sequence: self.next, chunk }),
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
        // A string takes everything.
        let _ = write!(self.id, "{}", self.next);
        self.send(chunk, out);
        self.next += 1;
    }
}

#[cfg(test)]
mod tests;
