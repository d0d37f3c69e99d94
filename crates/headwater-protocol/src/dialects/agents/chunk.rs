//! The events of the wire, each with the data that its `data:` line holds.
//!
//! The contract's own are `meta`, `message.start`, `message.delta`, `message.end`, `tool.call`,
//! `tool.delta`, `tool.result`, `source`, `status`, `error` and `done`; the others, and the fields
//! marked as such, are our extensions, which a client of the contract passes over.

mod message;
mod run;
mod tool;

use std::{borrow::Cow, ops::Deref};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::{
    carry,
    event::{Executor, Interrupt, Usage},
    json,
    structured::StructuredUpdate,
};

pub use message::{
    Data, File, MessageEnd, MessageMetadata, MessageStart, PartMark, Source, SourceDocument, Step, TextDelta,
};
pub use run::{
    Attempt, Carried, Checkpoint, Done, ErrorChunk, InterruptAnswer, InterruptExpired, Meta, RunWaiting,
    State, StateDelta, Status, StructuredInvalidated, Transition, Warning,
};
pub use tool::{ToolApproval, ToolApprovalResponse, ToolCall, ToolDelta, ToolResult};

/// One event of the wire.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Chunk<'a> {
    /// `meta`: what is known of the run; once, and first.
    Meta(Meta<'a>),
    /// `message.start`: a message begins.
    MessageStart(MessageStart<'a>),
    /// `message.resume` (extension): a message that was begun is gone on with.
    MessageResume(MessageStart<'a>),
    /// `message.delta`: more text of a message.
    MessageDelta(TextDelta<'a>),
    /// `message.end`: the message is complete.
    MessageEnd(MessageEnd<'a>),
    /// `message.metadata` (extension): metadata to be merged.
    MessageMetadata(MessageMetadata<'a>),
    /// `text.start` (extension): a text part begins.
    TextStart(PartMark<'a>),
    /// `text.end` (extension): the text part is complete.
    TextEnd(PartMark<'a>),
    /// `reasoning.start` (extension): a block of thoughts begins.
    ReasoningStart(PartMark<'a>),
    /// `reasoning.delta` (extension): more of it.
    ReasoningDelta(TextDelta<'a>),
    /// `reasoning.end` (extension): the block is complete.
    ReasoningEnd(PartMark<'a>),
    /// `tool.delta`: more of a tool call's input.
    ToolDelta(ToolDelta<'a>),
    /// `tool.call`: the input is there.
    ToolCall(ToolCall<'a>),
    /// `tool.result`: the call came to its end.
    ToolResult(ToolResult<'a>),
    /// `tool.approval` (extension): a person is asked about the call.
    ToolApproval(ToolApproval<'a>),
    /// `tool.approval.response` (extension): the person decided.
    ToolApprovalResponse(ToolApprovalResponse<'a>),
    /// `source`: a web page that the answer rests on.
    Source(Source<'a>),
    /// `source.document` (extension): a document that the answer rests on.
    SourceDocument(SourceDocument<'a>),
    /// `file` (extension): a file.
    File(File<'a>),
    /// `data` (extension): data of the application's own.
    Data(Data<'a>),
    /// `step.start` (extension): a step begins.
    StepStart(Step<'a>),
    /// `step.end` (extension): the step is over.
    StepEnd(Step<'a>),
    /// `structured` (extension): an object that is built while it is streamed.
    Structured(Cow<'a, StructuredUpdate>),
    /// `structured.invalidated` (extension): it no longer counts.
    StructuredInvalidated(StructuredInvalidated<'a>),
    /// `state` (extension): the state shared with the page.
    State(State<'a>),
    /// `state.delta` (extension): how it changes.
    StateDelta(StateDelta<'a>),
    /// `interrupt` (extension): a person is asked.
    Interrupt(Cow<'a, Interrupt>),
    /// `interrupt.answer` (extension): the person answered.
    InterruptAnswer(InterruptAnswer<'a>),
    /// `interrupt.expired` (extension): nobody answered in time.
    InterruptExpired(InterruptExpired<'a>),
    /// `attempt.start` (extension): a model is asked.
    AttemptStart(Attempt<'a>),
    /// `attempt.end` (extension): what the attempt said counts.
    AttemptEnd(Attempt<'a>),
    /// `attempt.retract` (extension): what the attempt said is taken back.
    AttemptRetract(Attempt<'a>),
    /// `status`: what the run is doing, for an overlay.
    Status(Status<'a>),
    /// `usage` (extension): what was used so far.
    Usage(Cow<'a, Usage>),
    /// `warning` (extension): something was not done as asked.
    Warning(Warning<'a>),
    /// `transition` (extension): the run goes on in another workflow.
    Transition(Transition<'a>),
    /// `checkpoint` (extension): the session's state was kept.
    Checkpoint(Checkpoint<'a>),
    /// `error`: something went wrong.
    Error(ErrorChunk<'a>),
    /// `run.waiting` (extension): the run goes on when someone answers.
    RunWaiting(RunWaiting<'a>),
    /// `done`: the end of the stream.
    Done(Done<'a>),
    /// `hw-event` (extension): an event in our own form.
    Carried(Carried<'a>),
    /// An event that neither the contract nor we know, as it came.
    Unknown(&'a str, &'a Value),
}

/// The names that mean something on this wire.
pub(super) const NAMES: [&str; 41] = [
    "meta",
    "message.start",
    "message.resume",
    "message.delta",
    "message.end",
    "message.metadata",
    "text.start",
    "text.end",
    "reasoning.start",
    "reasoning.delta",
    "reasoning.end",
    "tool.delta",
    "tool.call",
    "tool.result",
    "tool.approval",
    "tool.approval.response",
    "source",
    "source.document",
    "file",
    "data",
    "step.start",
    "step.end",
    "structured",
    "structured.invalidated",
    "state",
    "state.delta",
    "interrupt",
    "interrupt.answer",
    "interrupt.expired",
    "attempt.start",
    "attempt.end",
    "attempt.retract",
    "status",
    "usage",
    "warning",
    "transition",
    "checkpoint",
    "error",
    "run.waiting",
    "done",
    carry::NAME,
];

impl Chunk<'_> {
    /// The name in the `event:` line.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Unknown(name, _) => name,
            known => known.own_name(),
        }
    }

    /// The same, of a chunk whose name we know.
    pub(super) fn own_name(&self) -> &'static str {
        match self {
            Self::Meta(_) => "meta",
            Self::MessageStart(_) => "message.start",
            Self::MessageResume(_) => "message.resume",
            Self::MessageDelta(_) => "message.delta",
            Self::MessageEnd(_) => "message.end",
            Self::MessageMetadata(_) => "message.metadata",
            Self::TextStart(_) => "text.start",
            Self::TextEnd(_) => "text.end",
            Self::ReasoningStart(_) => "reasoning.start",
            Self::ReasoningDelta(_) => "reasoning.delta",
            Self::ReasoningEnd(_) => "reasoning.end",
            Self::ToolDelta(_) => "tool.delta",
            Self::ToolCall(_) => "tool.call",
            Self::ToolResult(_) => "tool.result",
            Self::ToolApproval(_) => "tool.approval",
            Self::ToolApprovalResponse(_) => "tool.approval.response",
            Self::Source(_) => "source",
            Self::SourceDocument(_) => "source.document",
            Self::File(_) => "file",
            Self::Data(_) => "data",
            Self::StepStart(_) => "step.start",
            Self::StepEnd(_) => "step.end",
            Self::Structured(_) => "structured",
            Self::StructuredInvalidated(_) => "structured.invalidated",
            Self::State(_) => "state",
            Self::StateDelta(_) => "state.delta",
            Self::Interrupt(_) => "interrupt",
            Self::InterruptAnswer(_) => "interrupt.answer",
            Self::InterruptExpired(_) => "interrupt.expired",
            Self::AttemptStart(_) => "attempt.start",
            Self::AttemptEnd(_) => "attempt.end",
            Self::AttemptRetract(_) => "attempt.retract",
            Self::Status(_) => "status",
            Self::Usage(_) => "usage",
            Self::Warning(_) => "warning",
            Self::Transition(_) => "transition",
            Self::Checkpoint(_) => "checkpoint",
            Self::Error(_) => "error",
            Self::RunWaiting(_) => "run.waiting",
            Self::Done(_) => "done",
            Self::Carried(_) | Self::Unknown(..) => carry::NAME,
        }
    }
}

/// The data alone: the name stands in the `event:` line.
impl Serialize for Chunk<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Meta(data) => data.serialize(serializer),
            Self::MessageStart(data) | Self::MessageResume(data) => data.serialize(serializer),
            Self::MessageDelta(data) | Self::ReasoningDelta(data) => data.serialize(serializer),
            Self::MessageEnd(data) => data.serialize(serializer),
            Self::MessageMetadata(data) => data.serialize(serializer),
            Self::TextStart(data)
            | Self::TextEnd(data)
            | Self::ReasoningStart(data)
            | Self::ReasoningEnd(data) => data.serialize(serializer),
            Self::ToolDelta(data) => data.serialize(serializer),
            Self::ToolCall(data) => data.serialize(serializer),
            Self::ToolResult(data) => data.serialize(serializer),
            Self::ToolApproval(data) => data.serialize(serializer),
            Self::ToolApprovalResponse(data) => data.serialize(serializer),
            Self::Source(data) => data.serialize(serializer),
            Self::SourceDocument(data) => data.serialize(serializer),
            Self::File(data) => data.serialize(serializer),
            Self::Data(data) => data.serialize(serializer),
            Self::StepStart(data) | Self::StepEnd(data) => data.serialize(serializer),
            Self::Structured(data) => data.serialize(serializer),
            Self::StructuredInvalidated(data) => data.serialize(serializer),
            Self::State(data) => data.serialize(serializer),
            Self::StateDelta(data) => data.serialize(serializer),
            Self::Interrupt(data) => data.serialize(serializer),
            Self::InterruptAnswer(data) => data.serialize(serializer),
            Self::InterruptExpired(data) => data.serialize(serializer),
            Self::AttemptStart(data) | Self::AttemptEnd(data) | Self::AttemptRetract(data) => {
                data.serialize(serializer)
            }
            Self::Status(data) => data.serialize(serializer),
            Self::Usage(data) => data.serialize(serializer),
            Self::Warning(data) => data.serialize(serializer),
            Self::Transition(data) => data.serialize(serializer),
            Self::Checkpoint(data) => data.serialize(serializer),
            Self::Error(data) => data.serialize(serializer),
            Self::RunWaiting(data) => data.serialize(serializer),
            Self::Done(data) => data.serialize(serializer),
            Self::Carried(data) => data.serialize(serializer),
            Self::Unknown(_, data) => data.serialize(serializer),
        }
    }
}

/// Text that is borrowed from the frame where it has no escapes, also inside an `Option`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// `null` is a value; only what is not there is absent.
fn present<'de, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'a, Value>>, D::Error> {
    json::present(deserializer).map(|value| value.map(Cow::Owned))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_server(executor: &Executor) -> bool {
    *executor == Executor::Server
}
