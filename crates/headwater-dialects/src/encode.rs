//! Records in, bytes out.

use headwater_protocol::{Error, FrameWriter, Framing, Message, Piece, Record, RunState};

use crate::{
    dialect::{ContentMode, CursorSupport, Dialect, Profile},
    hold::Hold,
};

/// A dialect's own encoder: a state machine without clock, randomness or I/O.
pub trait Encode: std::fmt::Debug + Send {
    /// Writes the frames of one record: none, one or several.
    fn record(&mut self, record: &Record, out: &mut FrameWriter);

    /// Writes the smallest valid stream that rebuilds a state, and goes on from there.
    ///
    /// The encoder must be fresh.
    fn reentry(&mut self, state: &RunState, out: &mut FrameWriter);

    /// Says again what the client should hold, for one that may hold more: it was told something by a process that died
    /// before it was kept. `next` is the number of the next frame, where the dialect counts them.
    ///
    /// What was told and not kept is always of an attempt that is retracted soon after, so a client that drops what is
    /// retracted by name needs nothing.
    fn restate(&mut self, next: Option<u64>, out: &mut FrameWriter) {
        let _ = (next, out);
    }

    /// Writes what follows the last record.
    fn finish(&mut self, out: &mut FrameWriter);

    /// Begins another response for the client that read the first, which ended because the run waited.
    ///
    /// The encoder has seen all records of the run so far, and was finished.
    fn next_response(&mut self, out: &mut FrameWriter);

    /// The field that holds the cursor where the framing has no `id:` lines.
    fn cursor_field(&self) -> Option<&'static str> {
        None
    }
}

/// How to encode.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct EncodeOptions {
    /// The profile; the dialect's default if it is not given.
    pub profile: Option<&'static Profile>,
    /// The framing; the profile's default if it is not given.
    pub framing: Option<Framing>,
    /// How TanStack's `content` is filled.
    pub content: ContentMode,
    /// The text between a failed attempt and the next one, where the failed one cannot be taken back.
    pub seam: String,
    /// Send what an attempt says only when it has ended, so that nothing must be taken back.
    pub hold: bool,
    /// The number of the first frame, where the dialect counts them.
    pub sequence: u64,
    /// The conversation that the client holds, where the dialect may have to say it again: what a client is not
    /// told again it may delete.
    pub messages: Vec<Message>,
    /// The name of a thought of this run that the client holds, where the dialect may have to say the conversation again: a
    /// client may keep the thoughts that it has until it is told of others.
    pub thought: Option<String>,
}

impl EncodeOptions {
    /// The default options with a profile.
    #[must_use]
    pub fn profile(profile: &'static Profile) -> Self {
        Self { profile: Some(profile), ..Self::default() }
    }
}

/// Writes a run as a stream of a dialect.
///
/// ```
/// use headwater_dialects::{EncodeOptions, Encoder};
/// use headwater_protocol::{Event, Record};
///
/// let dialect = headwater_dialects::find("kortyx").unwrap();
/// let mut encoder = Encoder::new(dialect, &EncodeOptions::default());
/// encoder.record(&Record::new(0, Event::Message { content: "Hi".into() }));
/// encoder.finish();
/// let body = String::from_utf8(encoder.take()).unwrap();
/// assert!(body.ends_with("data: [DONE]\n\n"));
/// ```
#[derive(Debug)]
pub struct Encoder {
    inner: Box<dyn Encode>,
    profile: &'static Profile,
    hold: Option<Hold>,
    out: FrameWriter,
}

impl Encoder {
    /// An encoder at the beginning of a stream.
    #[must_use]
    pub fn new(dialect: &dyn Dialect, options: &EncodeOptions) -> Self {
        let profile = options.profile.unwrap_or_else(|| dialect.default_profile());
        let framing = options.framing.or_else(|| profile.framings.first().copied());
        Self {
            inner: dialect.encoder(options),
            profile,
            hold: options.hold.then(Hold::default),
            out: FrameWriter::new(framing.unwrap_or(Framing::Sse)),
        }
    }

    /// Encodes one record.
    pub fn record(&mut self, record: &Record) {
        let Self { inner, out, hold, .. } = self;
        match hold {
            Some(hold) => hold.push(record, &mut |record| inner.record(record, out)),
            None => inner.record(record, out),
        }
    }

    /// Encodes the smallest valid stream that rebuilds a state, and goes on from there.
    ///
    /// To be called on a fresh encoder.
    pub fn reentry(&mut self, state: &RunState) {
        self.inner.reentry(state, &mut self.out);
    }

    /// Says again what the client should hold, for one that was told more by a process that died before it was kept; its
    /// next frame has the number `next`, where the dialect counts them.
    ///
    /// To be called on an encoder that has seen all records up to the ones that were lost.
    pub fn restate(&mut self, next: Option<u64>) {
        self.inner.restate(next, &mut self.out);
    }

    /// Encodes what follows the last record.
    pub fn finish(&mut self) {
        self.inner.finish(&mut self.out);
    }

    /// Encodes one record, and gives each of its frames an id, if the client sends such an id back. `id` is given the
    /// number of the frame in its record, from 1, and whether it is the record's last.
    ///
    /// # Errors
    /// If an id cannot stand in an `id:` line.
    pub fn record_with_ids(
        &mut self,
        record: &Record,
        id: &mut dyn FnMut(u32, bool) -> String,
    ) -> Result<(), Error> {
        let from = self.out.bytes().len();
        self.record(record);
        if matches!(self.profile.cursor, CursorSupport::LastEventId | CursorSupport::Sequence) {
            self.out.identify(from, self.inner.cursor_field(), id)?;
        }
        Ok(())
    }

    /// Begins another response for the client that read the first, which ended because the run waited.
    ///
    /// To be called on an encoder that has seen all records so far; what it wrote of them is forgotten.
    pub fn next_response(&mut self) {
        self.finish();
        self.clear();
        self.inner.next_response(&mut self.out);
    }

    /// The profile that it follows.
    #[must_use]
    pub fn profile(&self) -> &'static Profile {
        self.profile
    }

    /// The framing that it writes.
    #[must_use]
    pub fn framing(&self) -> Framing {
        self.out.framing()
    }

    /// What was encoded since it was last taken or cleared.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.out.bytes()
    }

    /// Takes what was encoded.
    #[must_use]
    pub fn take(&mut self) -> Vec<u8> {
        self.out.take()
    }

    /// Forgets what was encoded and keeps the room.
    pub fn clear(&mut self) {
        self.out.clear();
    }
}

/// Writes the chunks of dialects.
pub(crate) trait WriteChunk {
    /// Writes a chunk of a dialect. Its event name is the dialect's own and its fields have string
    /// keys, so there is nothing that could not be written.
    fn chunk(&mut self, event: Option<&'static str>, chunk: &impl serde::Serialize);
}

impl WriteChunk for FrameWriter {
    fn chunk(&mut self, event: Option<&'static str>, chunk: &impl serde::Serialize) {
        let written = self.frame(event, chunk);
        debug_assert!(written.is_ok(), "{written:?}");
    }
}

/// The pieces of a delta: at most so many, of which some may be left out.
#[derive(Debug)]
pub(crate) struct Pieces<'a, const MOST: usize> {
    list: [Piece<'a>; MOST],
    count: usize,
}

impl<'a, const MOST: usize> Pieces<'a, MOST> {
    /// Begins with JSON as it is.
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

    /// JSON as it is.
    pub(crate) fn json(mut self, json: &'static str) -> Self {
        self.push(Piece::Json(json));
        self
    }

    /// A string after its key, if there is one. The key is written as it is: `,"node":`.
    pub(crate) fn text(mut self, key: &'static str, text: Option<&'a str>) -> Self {
        if let Some(text) = text {
            self.push(Piece::Json(key));
            self.push(Piece::Text(text));
        }
        self
    }

    /// A number after its key, if there is one.
    pub(crate) fn number(mut self, key: &'static str, number: Option<u64>) -> Self {
        if let Some(number) = number {
            self.push(Piece::Json(key));
            self.push(Piece::Number(number));
        }
        self
    }

    /// All of them.
    pub(crate) fn list(&self) -> &[Piece<'a>] {
        self.list.get(..self.count).unwrap_or_default()
    }
}
