//! The events: every single thing that a reader of a run may see.
//!
//! One enum that all dialects are projected from and read back into. The names are ours; a dialect
//! maps them to its own.

mod interrupt;
mod kind;
mod origin;
mod payload;
mod tool;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    id::{ApprovalId, AttemptId, CheckpointId, MessageId, PartId, RequestId, RunId, SessionId, ToolCallId},
    state::Message,
    structured::StructuredUpdate,
};

pub use interrupt::{Choice, Interrupt, InterruptKind};
pub use kind::EventKind;
pub use origin::{Origin, Record};
pub use payload::{ErrorInfo, FinishReason, Role, RunStarted, Usage};
pub use tool::{Executor, ToolCall};

/// One thing that a reader may see.
///
/// ```
/// use headwater_protocol::{Event, EventKind};
///
/// let event = Event::TextDelta { id: "t1".into(), delta: "Hello".into(), metadata: None };
/// assert_eq!(event.kind(), EventKind::TextDelta);
/// assert_eq!(
///     serde_json::to_string(&event).unwrap(),
///     r#"{"type":"text-delta","id":"t1","delta":"Hello"}"#,
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Event {
    /// The run began.
    RunStarted(RunStarted),
    /// The run came to its end.
    RunFinished {
        /// Why it ended, where a model said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<FinishReason>,
        /// What the whole run used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// The run's result.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::json::present")]
        data: Option<Value>,
    },
    /// The run ended with an error.
    RunFailed(ErrorInfo),
    /// The run was stopped on request.
    RunCancelled {
        /// Who or what asked for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The run goes on when someone answers: a person, or the page that executes a tool.
    RunWaiting {
        /// The calls whose outputs the page owes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCallId>,
        /// What the run used so far.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },

    /// A model call is tried; what it says belongs to this attempt.
    AttemptStarted {
        /// The attempt; its records name it in their origin.
        attempt: AttemptId,
        /// The model that is asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The attempt was completed; nothing of it will be taken back.
    AttemptFinished {
        /// The attempt.
        attempt: AttemptId,
    },
    /// The attempt died: what it said is taken back.
    AttemptRetracted {
        /// The attempt.
        attempt: AttemptId,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },

    /// A message begins, or is gone on with.
    MessageStarted {
        /// The message.
        message: MessageId,
        /// Who speaks.
        role: Role,
        /// The speaker as the wire described it: a name, or an object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        author: Option<Value>,
    },
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

    /// A block of text begins.
    TextStart {
        /// The block.
        id: PartId,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// More text of a block.
    TextDelta {
        /// The block.
        id: PartId,
        /// The text to append.
        delta: String,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// The block of text is complete.
    TextEnd {
        /// The block.
        id: PartId,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// A block of reasoning begins.
    ReasoningStart {
        /// The block.
        id: PartId,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// More reasoning of a block.
    ReasoningDelta {
        /// The block.
        id: PartId,
        /// The text to append.
        delta: String,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// The block of reasoning is complete.
    ReasoningEnd {
        /// The block.
        id: PartId,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },

    /// The model begins to write the input of a tool call.
    ToolInputStart(ToolCall),
    /// More of the input's JSON text.
    ToolInputDelta {
        /// The call.
        call: ToolCallId,
        /// A piece of JSON text.
        delta: String,
    },
    /// The input is complete.
    ToolInputAvailable {
        /// The call.
        #[serde(flatten)]
        tool: ToolCall,
        /// The input; absent where its text is not JSON.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::json::present")]
        input: Option<Value>,
    },
    /// The input is not what the tool takes.
    ToolInputError {
        /// The call.
        #[serde(flatten)]
        tool: ToolCall,
        /// The input as it came.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::json::present")]
        input: Option<Value>,
        /// What is wrong with it.
        error: String,
    },
    /// A person is asked whether the call may be made.
    ApprovalRequested {
        /// The request.
        approval: ApprovalId,
        /// The call.
        #[serde(flatten)]
        tool: ToolCall,
        /// The exact input that is approved.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::json::present")]
        input: Option<Value>,
        /// Binds the request to the run, the call and its input.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// A policy answers, not a person.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        automatic: bool,
    },
    /// The approval was given or refused.
    ApprovalAnswered {
        /// The request.
        approval: ApprovalId,
        /// The call, where the wire says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<ToolCallId>,
        /// The decision.
        approved: bool,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// What the tool gave.
    ToolOutput {
        /// The call.
        call: ToolCallId,
        /// The tool's name, where the wire says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The output.
        output: Value,
        /// The same as structured content, where the tool gave both.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::json::present")]
        structured: Option<Value>,
        /// The tool ran and reports a failure of its own.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        /// More will come for this call.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        preliminary: bool,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// The tool could not be run, or failed.
    ToolOutputError {
        /// The call.
        call: ToolCallId,
        /// The tool's name, where the wire says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// What happened.
        error: String,
    },
    /// The call was refused by a person and not made.
    ToolDenied {
        /// The call.
        call: ToolCallId,
        /// The tool's name, where the wire says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },

    /// A web page that the answer rests on.
    SourceUrl {
        /// The source.
        source: String,
        /// Its address.
        url: String,
        /// Its title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// The tool call that found it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<ToolCallId>,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// A document that the answer rests on.
    SourceDocument {
        /// The source.
        source: String,
        /// Its title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Its media type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        media_type: Option<String>,
        /// Its file name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        /// The passage.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The tool call that found it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<ToolCallId>,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// A file, by its address or as a `data:` URL.
    File {
        /// Its address.
        url: String,
        /// Its media type.
        media_type: String,
        /// Its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        /// Its id, where it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// It belongs to the reasoning, not to the answer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reasoning: bool,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// Data of the application's own.
    Data {
        /// What kind of data it is.
        name: String,
        /// Data of the same name and id replaces what was there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The data.
        data: Value,
        /// To be seen once and not kept.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        transient: bool,
    },

    /// An object that is built while it is streamed.
    Structured(StructuredUpdate),
    /// A structured stream no longer counts.
    StructuredInvalidated {
        /// The stream.
        stream: String,
        /// The checkpoint that was rolled back to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkpoint: Option<CheckpointId>,
    },
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
    InterruptAnswered {
        /// The question.
        request: RequestId,
        /// The answer.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::json::present")]
        answer: Option<Value>,
    },
    /// Nobody answered in time.
    InterruptExpired {
        /// The question.
        request: RequestId,
    },

    /// What the run is doing, for an overlay.
    Status {
        /// A machine-readable state.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<String>,
        /// A line for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// The run goes on in another workflow.
    Transition {
        /// That workflow.
        to: String,
        /// What is handed over.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::json::present")]
        payload: Option<Value>,
    },
    /// The session's state after this turn was kept.
    Checkpoint {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// Its session.
        session: SessionId,
        /// The number of the turn.
        turn: u64,
        /// A label for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// What was used so far.
    Usage(Usage),
    /// Something was not done as asked.
    Warning {
        /// A line for people.
        message: String,
        /// A machine-readable code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
    },
    /// Something went wrong.
    Error {
        /// What.
        #[serde(flatten)]
        error: ErrorInfo,
        /// The run ends with it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        terminal: bool,
    },
    /// Where the run is found in a tracing system.
    Trace {
        /// The trace.
        trace: String,
        /// The run's span.
        span: String,
        /// The run.
        run: RunId,
    },
    /// Something that a dialect says and we have no word for, kept as it came.
    Unknown {
        /// The wire's own name for it.
        name: String,
        /// The whole of it.
        data: Value,
    },
}
