//! Events: everything that a reader of a run can see.
//!
//! One enum that all dialects are encoded from and decoded into. The names are ours; a dialect maps them to
//! its own. A variant with more than one field holds a struct with [`Default`]. Build it with
//! `..Default::default()` or its `new`, and match it with `..`: a new field then changes only the code that
//! uses it.

mod block;
mod content;
mod interrupt;
mod kind;
mod message;
mod origin;
mod payload;
mod tool;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    id::{AttemptId, MessageId, RequestId},
    structured::StructuredUpdate,
};

pub use block::{BlockDelta, BlockEnded, BlockKind, BlockStarted};
pub use content::{DataEvent, FileEvent, SourceDocument, SourceUrl};
pub use interrupt::{Choice, Interrupt, InterruptAnswered, InterruptKind};
pub use kind::EventKind;
pub use message::{
    ASK_USER, Approval, FilePart, Message, MessageStatus, Part, PartState, QuestionPart, QuestionState,
    SourcePart, StructuredPart, TextPart, ToolPart, ToolState,
};
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

/// One event of a run.
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
    /// The run finished.
    RunFinished(RunFinished),
    /// The run failed.
    RunFailed(ErrorInfo),
    /// The run was cancelled.
    RunCancelled {
        /// Who or what cancelled it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The run waits for an answer of the user, or for the result of a tool that the page runs.
    RunWaiting(RunWaiting),

    /// An attempt of a model call begins. Its output belongs to this attempt.
    AttemptStarted(AttemptStarted),
    /// The attempt succeeded; its output will not be retracted.
    AttemptFinished {
        /// Id of the attempt.
        attempt: AttemptId,
    },
    /// The attempt failed; its output is retracted.
    AttemptRetracted(AttemptRetracted),

    /// A message begins or continues.
    MessageStarted(MessageStarted),
    /// The message is complete.
    MessageFinished {
        /// Id of the message.
        message: MessageId,
    },
    /// Metadata to merge into the message.
    MessageMetadata {
        /// A JSON object.
        metadata: Value,
    },
    /// A complete message of a node.
    Message {
        /// The text.
        content: String,
    },

    /// A step of the run begins: one model call and its tool calls.
    StepStarted {
        /// Name of the step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// The step ended.
    StepFinished {
        /// Name of the step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },

    /// A text or reasoning block begins.
    BlockStarted(BlockStarted),
    /// Text to append to a block.
    BlockDelta(BlockDelta),
    /// The block is complete.
    BlockEnded(BlockEnded),

    /// The model begins the input of a tool call.
    ToolInputStart(ToolCall),
    /// Input of a tool call to append, as JSON text.
    ToolInputDelta(ToolInputDelta),
    /// The input is complete.
    ToolInputAvailable(ToolInputAvailable),
    /// The input is invalid for the tool.
    ToolInputError(ToolInputError),
    /// The user is asked to approve a call.
    ApprovalRequested(ApprovalRequested),
    /// The approval was granted or denied.
    ApprovalAnswered(ApprovalAnswered),
    /// The output of a tool.
    ToolOutput(ToolOutput),
    /// The tool could not run, or failed.
    ToolOutputError(ToolOutputError),
    /// The user denied the call, so it was not made.
    ToolDenied(ToolDenied),

    /// A web page that the answer cites.
    SourceUrl(SourceUrl),
    /// A document that the answer cites.
    SourceDocument(SourceDocument),
    /// A file at a URL, which may be a `data:` URL.
    File(FileEvent),
    /// Application data.
    Data(DataEvent),

    /// An update of an object that is streamed.
    Structured(StructuredUpdate),
    /// A structured stream is no longer valid.
    StructuredInvalidated(StructuredInvalidated),
    /// The state shared with the page is replaced.
    StateSnapshot {
        /// The complete state.
        state: Value,
    },
    /// The state shared with the page changes.
    StateDelta {
        /// JSON Patch operations.
        patch: Vec<Value>,
    },
    /// The complete conversation: messages are replaced by id, unknown ones added, missing ones removed.
    MessagesSnapshot {
        /// The complete conversation.
        messages: Vec<Message>,
    },

    /// The user is asked a question.
    InterruptRequested(Box<Interrupt>),
    /// The user answered a question.
    InterruptAnswered(InterruptAnswered),
    /// A question expired without an answer.
    InterruptExpired {
        /// Id of the question.
        request: RequestId,
    },

    /// The current activity of the run, for a status line.
    Status(StatusEvent),
    /// The run continues in another workflow.
    Transition(TransitionEvent),
    /// The session's state after this turn was saved.
    Checkpoint(CheckpointEvent),
    /// Token usage so far.
    Usage(Usage),
    /// A request was not fully honoured.
    Warning(WarningEvent),
    /// An error occurred.
    Error(ErrorEvent),
    /// The run's trace in a tracing system.
    Trace(TraceEvent),
    /// A chunk of a dialect that has no equivalent here, kept unchanged.
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
