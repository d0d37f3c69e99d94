//! The chunks of the UI message stream, protocol v1, as version 7 of the client knows them.
//!
//! Optional fields are absent or of their type, never `null`: the client's schema refuses it.
//! [`Chunk::read`] refuses what the client refuses.

mod fields;
mod own;
mod read;
mod types;

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

pub(super) use fields::is_provider_metadata;
pub use own::{Data, Mark, MarkOrigin};
pub(super) use read::{known_keys, value};
pub use types::{
    Abort, Block, BlockDelta, Citation, Custom, ErrorText, File, Finish, MessageMetadata, SourceDocument,
    SourceUrl, Start, SteeringMessage, TextEnd, ToolApprovalRequest, ToolApprovalResponse, ToolInput,
    ToolInputDelta, ToolInputError, ToolInputStart, ToolOutput, ToolOutputDenied, ToolOutputError,
};

/// One chunk of the stream.
///
/// ```
/// use headwater_protocol::dialects::ai_sdk::Chunk;
///
/// let chunk = Chunk::read(r#"{"type":"text-delta","id":"t1","delta":"Hi"}"#)?;
/// assert!(matches!(&chunk, Chunk::TextDelta(delta) if delta.delta == "Hi"));
/// assert!(Chunk::read(r#"{"type":"pong"}"#).is_err());
/// # Ok::<(), headwater_protocol::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Chunk<'a> {
    /// The message begins, or is gone on with.
    Start(Start<'a>),
    /// The message is complete.
    Finish(Finish<'a>),
    /// The run was stopped.
    Abort(Abort<'a>),
    /// The run failed; the chat client reads no further.
    Error(ErrorText<'a>),
    /// Metadata to be merged into the message.
    MessageMetadata(MessageMetadata<'a>),
    /// A step begins.
    StartStep,
    /// The step ended.
    FinishStep,
    /// The parts of the current step are dropped (7.0.70).
    ResetStep,
    /// A block of text begins.
    TextStart(Block<'a>),
    /// More text.
    TextDelta(BlockDelta<'a>),
    /// The block of text is complete.
    TextEnd(TextEnd<'a>),
    /// A block of reasoning begins.
    ReasoningStart(Block<'a>),
    /// More reasoning.
    ReasoningDelta(BlockDelta<'a>),
    /// The block of reasoning is complete.
    ReasoningEnd(Block<'a>),
    /// A file that belongs to the reasoning (7.0).
    ReasoningFile(File<'a>),
    /// Something of a provider's own (7.0).
    Custom(Custom<'a>),
    /// A web page that the answer rests on.
    SourceUrl(SourceUrl<'a>),
    /// A document that the answer rests on.
    SourceDocument(SourceDocument<'a>),
    /// A file.
    File(File<'a>),
    /// The model begins to write a tool's input.
    ToolInputStart(ToolInputStart<'a>),
    /// More of that input's text.
    ToolInputDelta(ToolInputDelta<'a>),
    /// The input is complete.
    ToolInputAvailable(ToolInput<'a>),
    /// The input is not what the tool takes.
    ToolInputError(ToolInputError<'a>),
    /// A person is asked (6.0).
    ToolApprovalRequest(ToolApprovalRequest<'a>),
    /// The person answered (7.0).
    ToolApprovalResponse(ToolApprovalResponse<'a>),
    /// What the tool gave.
    ToolOutputAvailable(ToolOutput<'a>),
    /// The tool failed.
    ToolOutputError(ToolOutputError<'a>),
    /// The call was refused (6.0).
    ToolOutputDenied(ToolOutputDenied<'a>),
    /// A person's words in the middle of a run (7.0.163).
    SteeringMessage(SteeringMessage<'a>),
    /// Data of the application's own, `data-<name>`.
    #[serde(untagged)]
    Data(Data<'a>),
    /// An event in our own form, and what the next chunks stand for: transient data to every client.
    #[serde(untagged)]
    Mark(Mark<'a>),
    /// A chunk as it came.
    #[serde(untagged)]
    Raw(Cow<'a, Value>),
}
