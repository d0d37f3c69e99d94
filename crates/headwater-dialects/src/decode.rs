//! What a dialect implements to decode its streams.

use headwater_protocol::{Error, Frame, Message, Record};

/// A dialect's own decoder, which gets whole frames.
pub trait Decode: std::fmt::Debug + Send {
    /// Decodes one frame.
    fn frame(&mut self, frame: &Frame<'_>, out: &mut DecodeOutput);

    /// Registers messages that the page already holds: the stream may continue the last of them.
    fn conversation(&mut self, _messages: &[Message]) {}

    /// Handles the end of the stream.
    fn end(&mut self, out: &mut DecodeOutput);
}

/// The output of a decoder.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DecodeOutput {
    /// The records, in order.
    pub records: Vec<Record>,
    /// The errors, each with its position.
    pub errors: Vec<Error>,
}

impl DecodeOutput {
    /// The error at which the dialect's own client would have stopped reading.
    #[must_use]
    pub fn fatal(&self) -> Option<&Error> {
        self.errors.iter().find(|error| error.is_fatal())
    }

    /// Clears the output and keeps the allocations.
    pub fn clear(&mut self) {
        self.records.clear();
        self.errors.clear();
    }
}
