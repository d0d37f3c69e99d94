//! Encodes records as the bytes of a stream.

use headwater_protocol::{Error, FrameWriter, Framing, Record, RunState};

use crate::{
    attempt_buffer::AttemptBuffer,
    dialect::Dialect,
    encode::{Encode, EncodeOptions},
    profile::{CursorSupport, Profile},
};

/// Encodes a run as a stream of a dialect.
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
    hold: Option<AttemptBuffer>,
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
            hold: options.hold.then(AttemptBuffer::default),
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

    /// Encodes the smallest valid stream that rebuilds a state, and continues from there.
    ///
    /// Call it on a fresh encoder only.
    pub fn reentry(&mut self, state: &RunState) {
        self.inner.reentry(state, &mut self.out);
    }

    /// Sends the client's expected state again, for a client that got deltas from a crashed process that were
    /// never stored. `next` is the number of its next frame, if the dialect counts them.
    ///
    /// Call it on an encoder that has seen all records before the lost ones.
    pub fn restate(&mut self, next: Option<u64>) {
        self.inner.restate(next, &mut self.out);
    }

    /// Encodes the end of the stream.
    pub fn finish(&mut self) {
        self.inner.finish(&mut self.out);
    }

    /// Encodes one record and gives each of its frames an id, if the client returns ids. `id` gets the number
    /// of the frame within its record, from 1, and whether it is the record's last.
    ///
    /// # Errors
    /// If an id cannot be part of an `id:` line.
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

    /// Begins another response for the client that read the first one, which ended because the run waited.
    ///
    /// Call it on an encoder that has seen all records so far; the bytes it wrote for them are dropped.
    pub fn next_response(&mut self) {
        self.finish();
        self.clear();
        self.inner.next_response(&mut self.out);
    }

    /// The profile in use.
    #[must_use]
    pub fn profile(&self) -> &'static Profile {
        self.profile
    }

    /// The framing in use.
    #[must_use]
    pub fn framing(&self) -> Framing {
        self.out.framing()
    }

    /// The bytes encoded since they were last taken or cleared.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.out.bytes()
    }

    /// Takes the encoded bytes.
    #[must_use]
    pub fn take(&mut self) -> Vec<u8> {
        self.out.take()
    }

    /// Clears the encoded bytes and keeps the allocation.
    pub fn clear(&mut self) {
        self.out.clear();
    }
}
