//! The event model for runs of AI agents, and the wire format that carries it without loss.
//!
//! Everything is pure: bytes and events in, events and bytes out. No I/O, no async, no clock.
//!
//! - [`Event`] is something that happened in a run; a [`Record`] is an event with its number, time and
//!   [`Origin`].
//! - [`RunState`] reduces records to messages, structured objects and the run's status.
//! - [`SseReader`], [`NdjsonReader`] and [`FrameWriter`] split bytes into frames and write them.
//! - [`native`] is Headwater's own wire format: one record per frame.
//!
//! The crate `headwater-dialects` serves the chat UIs of other projects.
//!
//! ```
//! use headwater_protocol::{Event, FrameWriter, Framing, Record, RunState, SseReader, native};
//!
//! // Write a record …
//! let record = Record::new(0, Event::Message { content: "Hello".into() });
//! let mut out = FrameWriter::new(Framing::Sse);
//! native::write_record(&record, &mut out);
//!
//! // … and read it on the other side.
//! let mut state = RunState::default();
//! SseReader::new().push(out.bytes(), |frame| {
//!     let read = native::read_record(frame.unwrap().data).unwrap();
//!     state.apply(&read.record).unwrap();
//! });
//! assert_eq!(state.messages()[0].plain_text(), "Hello");
//! ```

mod answer_format;
mod error;
mod event;
mod framing;
mod id;
mod json_struct;
pub mod native;
mod secrets;
mod state;
mod structured;
mod time;
mod tool_spec;

pub use answer_format::AnswerFormat;
pub use error::{Error, ErrorKind, Place};
pub use event::{
    ASK_USER, Approval, ApprovalAnswered, ApprovalRequested, AttemptRetracted, AttemptStarted, BlockDelta,
    BlockEnded, BlockKind, BlockStarted, CheckpointEvent, Choice, DataEvent, ErrorEvent, ErrorInfo, Event,
    EventKind, Executor, FileEvent, FilePart, FinishReason, Interrupt, InterruptAnswered, InterruptKind,
    Message, MessageStarted, MessageStatus, Origin, Part, PartState, QuestionPart, QuestionState, Record,
    Role, RunFinished, RunStarted, RunWaiting, SourceDocument, SourcePart, SourceUrl, StatusEvent,
    StructuredInvalidated, StructuredPart, TextPart, ToolCall, ToolDenied, ToolInputAvailable,
    ToolInputDelta, ToolInputError, ToolOutput, ToolOutputError, ToolPart, ToolState, TraceEvent,
    TransitionEvent, UnknownEvent, Usage, WarningEvent,
};
pub use framing::{
    Frame, FrameReader, FrameWriter, Framing, FramingError, FramingErrorKind, Heartbeat, NdjsonReader, Piece,
    SseReader, Tail, UnknownFraming,
};
pub use id::{
    ApprovalId, AttemptId, CheckpointId, InvalidId, MAX_ID_BYTES, MessageId, PartId, RequestId, RunId,
    SessionId, ToolCallId, check_id, is_positional_id,
};
pub use secrets::Secrets;
pub use state::{Rules, RunInfo, RunState, RunStatus, StateView, ToolScope};
pub use structured::{
    StructuredError, StructuredErrorKind, StructuredLimits, StructuredOp, StructuredState, StructuredStatus,
    StructuredStreams, StructuredUpdate,
};
pub use time::{parse_rfc3339, rfc3339};
pub use tool_spec::{ClientTool, ToolSpec};
