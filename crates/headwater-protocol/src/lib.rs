//! One event model for the runs of AI agents, and the stream dialects that chat UIs speak.
//!
//! Everything here is pure: bytes and values in, values out, no I/O and no clock.

mod coalesce;
mod envelope;
mod framing;
mod structured;

pub use coalesce::{Coalescer, Merge};
pub use envelope::{Envelope, Gap, Outcome, SequenceError, Sequencer};
pub use framing::{
    Frame, FrameReader, FrameWriter, Framing, FramingError, FramingErrorKind, Heartbeat, NdjsonReader, SseReader,
    Tail, UnknownFraming,
};
pub use structured::{
    StructuredError, StructuredErrorKind, StructuredLimits, StructuredOp, StructuredState, StructuredStatus,
    StructuredStreams, StructuredUpdate,
};
