//! Decodes the bytes of a stream to records.

use headwater_json::Surrogates;
use headwater_protocol::{Error, ErrorKind, Frame, FrameReader, Framing, Message};

use crate::{
    decode::{Decode, DecodeOutput},
    reader::Reader,
};

/// Decodes a stream of a dialect, in pieces of any size.
///
/// Nothing is decoded after an error at which the dialect's own client rejects the stream.
///
/// ```
/// use headwater_dialects::{DecodeOutput, Decoder};
/// use headwater_protocol::Framing;
///
/// let kortyx = headwater_dialects::reader("kortyx").unwrap();
/// let mut decoder = Decoder::new(kortyx, Framing::Sse);
/// let mut out = DecodeOutput::default();
/// decoder.feed(b"data: {\"type\":\"mess", &mut out);
/// decoder.feed(b"age\",\"content\":\"Hi\"}\n\ndata: [DONE]\n\n", &mut out);
/// decoder.finish(&mut out);
/// assert_eq!(out.records.len(), 1);
/// ```
#[derive(Debug)]
pub struct Decoder {
    reader: FrameReader,
    inner: Box<dyn Decode>,
    surrogates: Surrogates,
    dead: bool,
}

impl Decoder {
    /// A decoder at the beginning of a stream.
    #[must_use]
    pub fn new(dialect: &dyn Reader, framing: Framing) -> Self {
        Self {
            reader: FrameReader::new(framing).with_tail(dialect.tail()),
            inner: dialect.decoder(),
            surrogates: Surrogates::default(),
            dead: false,
        }
    }

    /// The same decoder for a page that already holds these messages.
    ///
    /// Without them the decoder cannot match an output whose call is not in the stream.
    #[must_use]
    pub fn with_messages(mut self, messages: &[Message]) -> Self {
        self.inner.conversation(messages);
        self
    }

    /// Whether the dialect's own client would have rejected the stream.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.dead
    }

    /// Decodes the next piece of the stream.
    pub fn feed(&mut self, bytes: &[u8], out: &mut DecodeOutput) {
        if self.dead {
            return;
        }
        let Self { reader, inner, surrogates, dead } = self;
        reader.push(bytes, |frame| take(inner.as_mut(), surrogates, dead, frame, out));
    }

    /// Handles the end of the stream.
    pub fn finish(&mut self, out: &mut DecodeOutput) {
        if self.dead {
            return;
        }
        let Self { reader, inner, surrogates, dead } = self;
        reader.finish(|frame| take(inner.as_mut(), surrogates, dead, frame, out));
        if !self.dead {
            if self.surrogates.is_waiting() {
                let message = "the stream ended after half of a surrogate pair, which is left out";
                out.errors.push(Error::new(ErrorKind::Text, message));
            }
            self.inner.end(out);
            self.dead = out.errors.iter().any(Error::is_fatal);
        }
    }

    /// Decodes one frame that the caller has already split off.
    pub fn frame(&mut self, frame: &Frame<'_>, out: &mut DecodeOutput) {
        take(self.inner.as_mut(), &mut self.surrogates, &mut self.dead, Ok(*frame), out);
    }
}

fn take(
    inner: &mut dyn Decode,
    surrogates: &mut Surrogates,
    dead: &mut bool,
    frame: Result<Frame<'_>, headwater_protocol::FramingError>,
    out: &mut DecodeOutput,
) {
    if *dead {
        return;
    }
    let known = out.errors.len();
    match frame {
        Ok(frame) => {
            let mended = surrogates.mend(frame.data);
            if mended.lost {
                let message = "half of a surrogate pair stands alone and is read as U+FFFD";
                out.errors.push(Error::new(ErrorKind::Text, message).at(frame.index, frame.offset));
            }
            inner.frame(&Frame { data: &mended.text, ..frame }, out);
        }
        Err(error) => out.errors.push(error.into()),
    }
    *dead = out.errors.get(known..).is_some_and(|new| new.iter().any(Error::is_fatal));
}
