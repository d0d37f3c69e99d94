//! Decodes frames to records.
//!
//! Chunks go through the rules of the published client's `StreamProcessor` ([`page`]), so that the result is
//! the message that the page would show.

mod page;

use headwater_protocol::{Event, Frame, Origin, Record, UnknownEvent};
use page::PageState;
use serde_json::Value;

use super::{END_MARKER, chunk::Chunk};
use crate::decode::{Decode, DecodeOutput};

/// Decodes the streams of TanStack AI servers.
#[derive(Debug, Default)]
pub(super) struct TanStackDecoder {
    seq: u64,
    page: PageState,
}

/// Receives a chunk's records, and holds their common fields.
struct RecordSink<'s> {
    out: &'s mut DecodeOutput,
    seq: &'s mut u64,
    time: u64,
    origin: Origin,
    frame: Frame<'s>,
}

impl RecordSink<'_> {
    fn emit(&mut self, event: impl Into<Event>) {
        let record =
            Record { seq: *self.seq, time: self.time, origin: self.origin.clone(), event: event.into() };
        *self.seq += 1;
        self.out.records.push(record);
    }

    fn fail(&mut self, error: headwater_protocol::Error) {
        self.out.errors.push(error.at(self.frame.index, self.frame.offset));
    }
}

impl Decode for TanStackDecoder {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut DecodeOutput) {
        // The client reads lines, not events: each line is a chunk.
        if memchr::memchr(b'\n', frame.data.as_bytes()).is_none() {
            return self.line(frame, out);
        }
        for line in frame.data.split('\n').filter(|line| !line.trim().is_empty()) {
            let known = out.errors.len();
            self.line(&Frame { data: line, ..*frame }, out);
            if out.errors.iter().skip(known).any(headwater_protocol::Error::is_fatal) {
                return;
            }
        }
    }

    fn end(&mut self, out: &mut DecodeOutput) {
        let frame = Frame { event: None, id: None, data: "", offset: 0, index: 0 };
        let Self { seq, page } = self;
        let (time, origin) = (page.time(), page.origin());
        page.end(&mut RecordSink { out, seq, time, origin, frame });
    }
}

impl TanStackDecoder {
    fn line(&mut self, frame: &Frame<'_>, out: &mut DecodeOutput) {
        if frame.data == END_MARKER {
            return;
        }
        let chunk = match Chunk::of_frame(frame) {
            Ok(chunk) => chunk,
            Err(error) => return out.errors.push(error),
        };
        let Self { seq, page } = self;
        let (time, origin) = (chunk.base().timestamp.unwrap_or_default(), Origin::default());
        let mut sink = RecordSink { out, seq, time, origin, frame: *frame };
        if let Chunk::Other(data) = chunk {
            let name = data.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
            sink.emit(UnknownEvent::new(name, data.into_owned()));
        } else {
            page.take(&mut sink, chunk);
        }
    }
}

#[cfg(test)]
mod tests;
