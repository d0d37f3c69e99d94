//! Decodes a stream and reports for each record the frame that it came from.

use headwater_dialects::{DecodeOutput, Decoder, Reader};
use headwater_protocol::{Error, ErrorInfo, FrameReader, Framing, Place, Record};

/// A decoded record or an error, in stream order.
#[derive(Debug)]
pub(crate) enum WalkItem {
    Record(Box<Record>),
    /// A frame that cannot be decoded.
    Error(Error),
}

/// A decoder next to a frame reader that tracks the decoder's position.
#[derive(Debug)]
pub(crate) struct StreamWalk {
    decoder: Decoder,
    reader: FrameReader,
    decoded: DecodeOutput,
    /// The frame that was read last.
    place: Option<Place>,
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
}

impl StreamWalk {
    pub(crate) fn new(dialect: &dyn Reader, framing: Framing) -> Self {
        Self {
            decoder: Decoder::new(dialect, framing),
            reader: FrameReader::new(framing).with_tail(dialect.tail()),
            decoded: DecodeOutput::default(),
            place: None,
            frames: 0,
            bytes: 0,
        }
    }

    /// Walks through a whole stream.
    pub(crate) fn through(&mut self, stream: &[u8], mut sink: impl FnMut(Option<Place>, WalkItem)) {
        self.push(stream, &mut sink);
        self.finish(&mut sink);
    }

    /// Walks through the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8], sink: &mut impl FnMut(Option<Place>, WalkItem)) {
        for line in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            self.bytes += line.len() as u64;
            let Self { reader, place, frames, .. } = self;
            reader.push(line, |frame| *place = Some(count(frames, frame)));
            self.decoder.feed(line, &mut self.decoded);
            self.hand_over(self.place, sink);
        }
    }

    /// Handles the end of the stream.
    pub(crate) fn finish(&mut self, sink: &mut impl FnMut(Option<Place>, WalkItem)) {
        let Self { reader, place, frames, .. } = self;
        reader.finish(|frame| *place = Some(count(frames, frame)));
        self.decoder.finish(&mut self.decoded);
        self.hand_over(None, sink);
    }

    fn hand_over(&mut self, place: Option<Place>, sink: &mut impl FnMut(Option<Place>, WalkItem)) {
        for record in self.decoded.records.drain(..) {
            sink(place.or(self.place), WalkItem::Record(Box::new(record)));
        }
        for error in self.decoded.errors.drain(..) {
            sink(error.place().or(place), WalkItem::Error(error));
        }
    }
}

/// The error that a client would show to its page after rejecting the stream.
pub(crate) fn given_up(error: &Error) -> ErrorInfo {
    ErrorInfo { retryable: Some(false), ..ErrorInfo::new(error.to_string()).code(error.kind().as_str()) }
}

fn count(
    frames: &mut u64,
    frame: Result<headwater_protocol::Frame<'_>, headwater_protocol::FramingError>,
) -> Place {
    *frames += 1;
    match frame {
        Ok(frame) => Place { frame: frame.index, offset: frame.offset },
        Err(error) => Place { frame: error.index(), offset: error.offset() },
    }
}
