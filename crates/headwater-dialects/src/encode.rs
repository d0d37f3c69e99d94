//! What a dialect implements to encode its streams, and helpers for it.

use headwater_protocol::{FrameWriter, Framing, Message, Piece, Record, RunState};

use crate::profile::{ContentMode, Profile};

/// A dialect's own encoder: a state machine without clock, randomness or I/O.
pub trait Encode: std::fmt::Debug + Send {
    /// Writes the frames of one record: none, one or several.
    fn record(&mut self, record: &Record, out: &mut FrameWriter);

    /// Writes the smallest valid stream that rebuilds a state, and continues from there.
    ///
    /// The encoder must be fresh.
    fn reentry(&mut self, state: &RunState, out: &mut FrameWriter);

    /// Sends the client's expected state again, for a client that may hold more: deltas that a crashed
    /// process sent but had not stored. `next` is the number of the next frame, if the dialect counts them.
    ///
    /// Such deltas always belong to an attempt that is retracted soon after, so clients that drop retracted
    /// attempts by id need nothing.
    fn restate(&mut self, next: Option<u64>, out: &mut FrameWriter) {
        let _ = (next, out);
    }

    /// Writes the end of the stream.
    fn finish(&mut self, out: &mut FrameWriter);

    /// Begins another response for the client that read the first one, which ended because the run waited.
    ///
    /// The encoder has seen all records of the run so far and was finished.
    fn next_response(&mut self, out: &mut FrameWriter);

    /// The field that holds the cursor if the framing has no `id:` lines.
    fn cursor_field(&self) -> Option<&'static str> {
        None
    }
}

/// The options of an encoder.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct EncodeOptions {
    /// The profile. Default: that of the dialect.
    pub profile: Option<&'static Profile>,
    /// The framing. Default: that of the profile.
    pub framing: Option<Framing>,
    /// What TanStack chunks carry in `content`.
    pub content: ContentMode,
    /// The text between a failed attempt and the next one, if the failed one cannot be retracted.
    pub seam: String,
    /// Hold back an attempt until it has ended, so that nothing needs to be retracted.
    pub hold: bool,
    /// The number of the first frame, if the dialect counts them.
    pub sequence: u64,
    /// The client's conversation, for dialects that may have to send it again: clients may delete what is
    /// missing in it.
    pub messages: Vec<Message>,
    /// The id of a reasoning message of this run that the client holds, for dialects that may have to send
    /// the conversation again: clients may keep reasoning until they get other reasoning.
    pub thought: Option<String>,
}

impl EncodeOptions {
    /// The default options with a profile.
    #[must_use]
    pub fn profile(profile: &'static Profile) -> Self {
        Self { profile: Some(profile), ..Self::default() }
    }
}

/// Writes chunks of dialects.
pub(crate) trait WriteChunk {
    /// Writes a chunk. Event names are constants of the dialects and fields have string keys, so this cannot
    /// fail.
    fn chunk(&mut self, event: Option<&'static str>, chunk: &impl serde::Serialize);
}

impl WriteChunk for FrameWriter {
    fn chunk(&mut self, event: Option<&'static str>, chunk: &impl serde::Serialize) {
        let written = self.frame(event, chunk);
        debug_assert!(written.is_ok(), "{written:?}");
    }
}

/// The pieces of a delta: at most `MOST`, some of which may be absent.
#[derive(Debug)]
pub(crate) struct Pieces<'a, const MOST: usize> {
    list: [Piece<'a>; MOST],
    count: usize,
}

impl<'a, const MOST: usize> Pieces<'a, MOST> {
    /// Begins with literal JSON.
    pub(crate) fn new(json: &'static str) -> Self {
        Self { list: [Piece::Json(json); MOST], count: 1 }
    }

    fn push(&mut self, piece: Piece<'a>) {
        debug_assert!(self.count < self.list.len(), "no delta has as many fields");
        if let Some(free) = self.list.get_mut(self.count) {
            *free = piece;
            self.count += 1;
        }
    }

    /// Appends literal JSON.
    pub(crate) fn json(mut self, json: &'static str) -> Self {
        self.push(Piece::Json(json));
        self
    }

    /// Appends a key and a string, if there is one. The key is written literally: `,"node":`.
    pub(crate) fn text(mut self, key: &'static str, text: Option<&'a str>) -> Self {
        if let Some(text) = text {
            self.push(Piece::Json(key));
            self.push(Piece::Text(text));
        }
        self
    }

    /// Appends a key and a number, if there is one.
    pub(crate) fn number(mut self, key: &'static str, number: Option<u64>) -> Self {
        if let Some(number) = number {
            self.push(Piece::Json(key));
            self.push(Piece::Number(number));
        }
        self
    }

    pub(crate) fn list(&self) -> &[Piece<'a>] {
        self.list.get(..self.count).unwrap_or_default()
    }
}
