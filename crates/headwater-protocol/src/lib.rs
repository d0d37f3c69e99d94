//! One event model for the runs of AI agents, and the six stream dialects that chat UIs speak.
//!
//! Everything here is pure: bytes and events in, events and bytes out. No I/O, no async, no clock.
//!
//! ```
//! use headwater_protocol::{Decoded, Decoder, EncodeOptions, Encoder, Framing, dialects};
//!
//! // Read a Kortyx stream …
//! let body = b"data: {\"type\":\"message\",\"content\":\"Hello\"}\n\ndata: {\"type\":\"done\"}\n\ndata: [DONE]\n\n";
//! let mut decoder = Decoder::new(dialects::reader("kortyx").unwrap(), Framing::Sse);
//! let mut decoded = Decoded::default();
//! decoder.feed(body, &mut decoded);
//! decoder.finish(&mut decoded);
//!
//! // … and say the same in the words of the AI SDK.
//! let mut encoder = Encoder::new(dialects::find("ai-sdk").unwrap(), &EncodeOptions::default());
//! decoded.records.iter().for_each(|record| encoder.record(record));
//! encoder.finish();
//! assert!(String::from_utf8_lossy(encoder.bytes()).contains("\"delta\":\"Hello\""));
//! ```

mod decode;
mod dialect;
pub mod dialects;
mod documents;
mod encode;
mod error;
mod event;
mod framing;
mod hold;
mod id;
mod json;
mod lint;
mod reader;
mod request;
mod secrets;
mod state;
mod structured;
mod time;
mod tool_spec;
pub mod ui_message;

pub use decode::{Decode, Decoded, Decoder};
pub use dialect::{
    AnswerFlow, ContentMode, CursorSupport, Dialect, HttpNames, KeepAlive, Profile, ReaderNames, Reentry,
    Retraction, Route, Support,
};
pub use documents::{CheckpointEntry, CheckpointReply, HistoryPage, SessionEntry, SessionList};
pub use encode::{Encode, EncodeOptions, Encoder};
pub use error::{Error, ErrorKind, Place};
pub use event::{
    ApprovalAnswered, ApprovalRequested, AttemptRetracted, AttemptStarted, BlockDelta, BlockEnded, BlockKind,
    BlockStarted, CheckpointEvent, Choice, DataEvent, ErrorEvent, ErrorInfo, Event, EventKind, Executor,
    FileEvent, FinishReason, Interrupt, InterruptAnswered, InterruptKind, MessageStarted, Origin, Record,
    Role, RunFinished, RunStarted, RunWaiting, SourceDocument, SourceUrl, StatusEvent, StructuredInvalidated,
    ToolCall, ToolDenied, ToolInputAvailable, ToolInputDelta, ToolInputError, ToolOutput, ToolOutputError,
    TraceEvent, TransitionEvent, UnknownEvent, Usage, WarningEvent,
};
pub use framing::{
    Frame, FrameReader, FrameWriter, Framing, FramingError, FramingErrorKind, Heartbeat, NdjsonReader,
    SseReader, Tail, UnknownFraming,
};
pub use id::{
    ApprovalId, AttemptId, CheckpointId, InvalidId, MAX_ID_BYTES, MessageId, PartId, RequestId, RunId,
    SessionId, ToolCallId, check_id, is_positional_id,
};
pub use lint::{Finding, Findings, Lint, Rule, lint};
pub use reader::Reader;
pub use request::{
    Action, ApprovalAnswer, ChatRequest, CheckpointAction, ClientTool, InterruptAnswer, RawRequest,
    RequestCursor, ToolResult,
};
pub use secrets::Secrets;
pub use state::{
    ASK_USER, Approval, FilePart, Message, MessageStatus, Part, PartState, QuestionPart, QuestionState,
    Rules, RunInfo, RunState, RunStatus, SourcePart, StructuredPart, TextPart, ToolPart, ToolScope,
    ToolState, View,
};
pub use structured::{
    StructuredError, StructuredErrorKind, StructuredLimits, StructuredOp, StructuredState, StructuredStatus,
    StructuredStreams, StructuredUpdate,
};
pub use time::{parse_rfc3339, rfc3339};
pub use tool_spec::ToolSpec;
