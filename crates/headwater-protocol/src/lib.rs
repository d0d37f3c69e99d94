//! One event model for AI agent runs, and the stream dialects that chat UIs speak.

mod envelope;
mod framing;

pub use envelope::{Envelope, Gap, Outcome, SequenceError, Sequencer};
pub use framing::{
    Frame, FrameReader, FrameWriter, Framing, FramingError, FramingErrorKind, Heartbeat,
    NdjsonReader, SseReader, Tail, UnknownFraming,
};
