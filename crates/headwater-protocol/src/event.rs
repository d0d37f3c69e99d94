//! The events: every single thing that a reader of a run may see.
//!
//! One enum that all dialects are projected from and read back into. The names are ours; a dialect
//! maps them to its own. A variant with more than one field carries a struct with [`Default`]. Build it with
//! `..Default::default()` or its `new`, and match it with `..`: a new field then changes only the code that uses it.

mod block;
mod content;
mod interrupt;
mod kind;
mod origin;
mod payload;
mod tool;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    id::{AttemptId, MessageId, RequestId},
    state::Message,
    structured::StructuredUpdate,
};

pub use block::{BlockDelta, BlockEnded, BlockKind, BlockStarted};
pub use content::{DataEvent, FileEvent, SourceDocument, SourceUrl};
pub use interrupt::{Choice, Interrupt, InterruptAnswered, InterruptKind};
pub use kind::EventKind;
pub use origin::{Origin, Record};
pub use payload::{
    AttemptRetracted, AttemptStarted, CheckpointEvent, ErrorEvent, ErrorInfo, FinishReason, MessageStarted,
    Role, RunFinished, RunStarted, RunWaiting, StatusEvent, StructuredInvalidated, TraceEvent,
    TransitionEvent, UnknownEvent, Usage, WarningEvent,
};
pub use tool::{
    ApprovalAnswered, ApprovalRequested, Executor, ToolCall, ToolDenied, ToolInputAvailable, ToolInputDelta,
    ToolInputError, ToolOutput, ToolOutputError,
};

/// One thing that a reader may see.
///
/// ```
/// use headwater_protocol::{BlockDelta, BlockKind, Event, EventKind};
///
/// let event = Event::BlockDelta(BlockDelta::new(BlockKind::Text, "t1", "Hello"));
/// assert_eq!(event.kind(), EventKind::BlockDelta);
/// assert_eq!(
///     serde_json::to_string(&event).unwrap(),
///     r#"{"type":"block-delta","kind":"text","id":"t1","delta":"Hello"}"#,
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Event {
    /// The run began.
    RunStarted(RunStarted),
    /// The run came to its end.
    RunFinished(RunFinished),
    /// The run ended with an error.
    RunFailed(ErrorInfo),
    /// The run was stopped on request.
    RunCancelled {
        /// Who or what asked for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The run goes on when someone answers: a person, or the page that executes a tool.
    RunWaiting(RunWaiting),

    /// A model call is tried; its output belongs to this attempt.
    AttemptStarted(AttemptStarted),
    /// The attempt was completed; nothing of it will be taken back.
    AttemptFinished {
        /// The attempt.
        attempt: AttemptId,
    },
    /// The attempt failed: its output is retracted.
    AttemptRetracted(AttemptRetracted),

    /// A message begins, or continues.
    MessageStarted(MessageStarted),
    /// The message is complete.
    MessageFinished {
        /// The message.
        message: MessageId,
    },
    /// Metadata to be merged into the message.
    MessageMetadata {
        /// A JSON object.
        metadata: Value,
    },
    /// A whole message from a node, said at once.
    Message {
        /// Its text.
        content: String,
    },

    /// A step of the run begins: one model call and the tools that follow it.
    StepStarted {
        /// Its name, where it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// The step ended.
    StepFinished {
        /// Its name, where it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },

    /// A block of text or of reasoning begins.
    BlockStarted(BlockStarted),
    /// More text of a block.
    BlockDelta(BlockDelta),
    /// The block is complete.
    BlockEnded(BlockEnded),

    /// The model begins to write the input of a tool call.
    ToolInputStart(ToolCall),
    /// More of the input's JSON text.
    ToolInputDelta(ToolInputDelta),
    /// The input is complete.
    ToolInputAvailable(ToolInputAvailable),
    /// The input is not what the tool takes.
    ToolInputError(ToolInputError),
    /// A person is asked whether the call may be made.
    ApprovalRequested(ApprovalRequested),
    /// The approval was given or refused.
    ApprovalAnswered(ApprovalAnswered),
    /// What the tool gave.
    ToolOutput(ToolOutput),
    /// The tool could not be run, or failed.
    ToolOutputError(ToolOutputError),
    /// The call was refused by a person and not made.
    ToolDenied(ToolDenied),

    /// A web page that the answer rests on.
    SourceUrl(SourceUrl),
    /// A document that the answer rests on.
    SourceDocument(SourceDocument),
    /// A file, by its address or as a `data:` URL.
    File(FileEvent),
    /// Data of the application's own.
    Data(DataEvent),

    /// An object that is built while it is streamed.
    Structured(StructuredUpdate),
    /// A structured stream no longer counts.
    StructuredInvalidated(StructuredInvalidated),
    /// The state shared with the page is replaced.
    StateSnapshot {
        /// The whole state.
        state: Value,
    },
    /// The state shared with the page changes.
    StateDelta {
        /// A JSON Patch.
        patch: Vec<Value>,
    },
    /// The conversation as it stands: messages are replaced by id, unknown ones added, missing ones removed.
    MessagesSnapshot {
        /// The whole conversation.
        messages: Vec<Message>,
    },

    /// A person is asked.
    InterruptRequested(Box<Interrupt>),
    /// The person answered.
    InterruptAnswered(InterruptAnswered),
    /// Nobody answered in time.
    InterruptExpired {
        /// The question.
        request: RequestId,
    },

    /// What the run is doing, for an overlay.
    Status(StatusEvent),
    /// The run goes on in another workflow.
    Transition(TransitionEvent),
    /// The session's state after this turn was kept.
    Checkpoint(CheckpointEvent),
    /// What was used so far.
    Usage(Usage),
    /// Something was not done as asked.
    Warning(WarningEvent),
    /// Something went wrong.
    Error(ErrorEvent),
    /// Where the run is found in a tracing system.
    Trace(TraceEvent),
    /// Something that a dialect says and we have no word for, kept as it came.
    Unknown(UnknownEvent),
}

macro_rules! into_event {
    ($($variant:ident($payload:ident),)*) => {$(
        impl From<$payload> for Event {
            fn from(payload: $payload) -> Self {
                Self::$variant(payload)
            }
        }
    )*};
}

into_event! {
    RunStarted(RunStarted), RunFinished(RunFinished), RunFailed(ErrorInfo), RunWaiting(RunWaiting),
    AttemptStarted(AttemptStarted), AttemptRetracted(AttemptRetracted), MessageStarted(MessageStarted), BlockStarted(BlockStarted),
    BlockDelta(BlockDelta), BlockEnded(BlockEnded), ToolInputStart(ToolCall), ToolInputDelta(ToolInputDelta),
    ToolInputAvailable(ToolInputAvailable), ToolInputError(ToolInputError), ApprovalRequested(ApprovalRequested), ApprovalAnswered(ApprovalAnswered),
    ToolOutput(ToolOutput), ToolOutputError(ToolOutputError), ToolDenied(ToolDenied), SourceUrl(SourceUrl),
    SourceDocument(SourceDocument), File(FileEvent), Data(DataEvent), Structured(StructuredUpdate),
    StructuredInvalidated(StructuredInvalidated), InterruptAnswered(InterruptAnswered), Status(StatusEvent), Transition(TransitionEvent),
    Checkpoint(CheckpointEvent), Usage(Usage), Warning(WarningEvent), Error(ErrorEvent),
    Trace(TraceEvent), Unknown(UnknownEvent),
}
