//! The chunks of the UI message stream, protocol v1, as of client version 7.
//!
//! Optional fields are absent or have their type, never `null`: the client's schema rejects it. Other
//! constraints of the schema are tested with the real client.

mod read;
mod schema;

use std::borrow::Cow;

use headwater_json::present;
use headwater_protocol::Error;
use serde_json::Value;

use crate::chunk::chunks;
use read::fields;

pub(super) use schema::is_provider_metadata;

type Json<'a> = Cow<'a, Value>;

chunks! {
    /// One chunk of the stream. A version in brackets is the first one that supports it.
    enum Chunk by fields(&'a str) -> Error {
        "start" => Start(Start<'a>),
        "finish" => Finish(Finish<'a>),
        "abort" => Abort(Abort<'a>),
        /// The chat client stops reading here.
        "error" => Error(ErrorText<'a>),
        "message-metadata" => MessageMetadata(MessageMetadata<'a>),
        "start-step" => StartStep(Empty),
        "finish-step" => FinishStep(Empty),
        /// Drops the parts of the current step (7.0.70).
        "reset-step" => ResetStep(Empty),
        "text-start" => TextStart(Block<'a>),
        "text-delta" => TextDelta(BlockDelta<'a>),
        "text-end" => TextEnd(TextEnd<'a>),
        "reasoning-start" => ReasoningStart(Block<'a>),
        "reasoning-delta" => ReasoningDelta(BlockDelta<'a>),
        "reasoning-end" => ReasoningEnd(Block<'a>),
        /// (7.0)
        "reasoning-file" => ReasoningFile(File<'a>),
        /// Provider-specific content (7.0).
        "custom" => Custom(Custom<'a>),
        "source-url" => SourceUrl(SourceUrl<'a>),
        "source-document" => SourceDocument(SourceDocument<'a>),
        "file" => File(File<'a>),
        "tool-input-start" => ToolInputStart(ToolInputStart<'a>),
        "tool-input-delta" => ToolInputDelta(ToolInputDelta<'a>),
        "tool-input-available" => ToolInputAvailable(ToolInput<'a>),
        "tool-input-error" => ToolInputError(ToolInputError<'a>),
        /// (6.0)
        "tool-approval-request" => ToolApprovalRequest(ToolApprovalRequest<'a>),
        /// (7.0)
        "tool-approval-response" => ToolApprovalResponse(ToolApprovalResponse<'a>),
        "tool-output-available" => ToolOutputAvailable(ToolOutput<'a>),
        "tool-output-error" => ToolOutputError(ToolOutputError<'a>),
        /// (6.0)
        "tool-output-denied" => ToolOutputDenied(ToolOutputDenied<'a>),
        /// A user message in the middle of a run (7.0.163).
        "steering-message" => SteeringMessage(SteeringMessage<'a>),
    } else {
        /// Application data, `data-<name>`.
        Data(Data<'a>),
        /// A chunk that is passed through.
        Raw(Json<'a>),
    }

    struct Start<'a> { message_id?: text = "present", message_metadata?: Json<'a> = "present", }
    struct Finish<'a> { finish_reason?: text = "present", message_metadata?: Json<'a> = "present", }
    struct Abort<'a> { reason?: text = "present", }
    struct ErrorText<'a> { error_text: text, }
    struct MessageMetadata<'a> { message_metadata: Json<'a>, }
    struct Block<'a> { id: text, provider_metadata?: Json<'a> = "schema::provider_metadata", }
    struct BlockDelta<'a> {
        id: text,
        delta: text,
        provider_metadata?: Json<'a> = "schema::provider_metadata",
    }
    struct TextEnd<'a> {
        id: text,
        provider_metadata?: Json<'a> = "schema::provider_metadata",
        citations?: Json<'a> = "present",
    }
    struct Custom<'a> { kind: text, provider_metadata?: Json<'a> = "schema::provider_metadata", }
    struct SourceUrl<'a> {
        source_id: text,
        url: text,
        title?: text = "present",
        provider_metadata?: Json<'a> = "schema::provider_metadata",
    }
    struct SourceDocument<'a> {
        source_id: text,
        media_type: text,
        title: text,
        filename?: text = "present",
        provider_metadata?: Json<'a> = "schema::provider_metadata",
    }
    struct File<'a> {
        url: text,
        media_type: text,
        provider_metadata?: Json<'a> = "schema::provider_metadata",
    }
    struct ToolInputStart<'a> {
        tool_call_id: text,
        tool_name: text,
        provider_executed?: bool = "present",
        provider_metadata?: Json<'a> = "schema::provider_metadata",
        tool_metadata?: Json<'a> = "schema::tool_metadata",
        dynamic?: bool = "present",
        title?: text = "present",
        input_encoding?: text = "present",
    }
    struct ToolInputDelta<'a> { tool_call_id: text, input_text_delta: text, }
    struct ToolInput<'a> {
        tool_call_id: text,
        tool_name: text,
        input: Json<'a>,
        provider_executed?: bool = "present",
        provider_metadata?: Json<'a> = "schema::provider_metadata",
        tool_metadata?: Json<'a> = "schema::tool_metadata",
        dynamic?: bool = "present",
        title?: text = "present",
    }
    struct ToolInputError<'a> {
        tool_call_id: text,
        tool_name: text,
        input: Json<'a>,
        error_text: text,
        provider_executed?: bool = "present",
        provider_metadata?: Json<'a> = "schema::provider_metadata",
        tool_metadata?: Json<'a> = "schema::tool_metadata",
        dynamic?: bool = "present",
        title?: text = "present",
    }
    struct ToolApprovalRequest<'a> {
        approval_id: text,
        tool_call_id: text,
        signature?: text = "present",
        approval_descriptor?: Json<'a> = "present",
        input_schema_input?: Json<'a> = "present",
        is_automatic?: bool = "present",
        reason?: text = "present",
    }
    struct ToolApprovalResponse<'a> {
        approval_id: text,
        approved: bool,
        reason?: text = "present",
        provider_executed?: bool = "present",
        provider_metadata?: Json<'a> = "schema::provider_metadata",
    }
    struct ToolOutput<'a> {
        tool_call_id: text,
        output: Json<'a>,
        preliminary?: bool = "present",
        provider_executed?: bool = "present",
        provider_metadata?: Json<'a> = "schema::provider_metadata",
        tool_metadata?: Json<'a> = "schema::tool_metadata",
        dynamic?: bool = "present",
    }
    struct ToolOutputError<'a> {
        tool_call_id: text,
        error_text: text,
        provider_executed?: bool = "present",
        provider_metadata?: Json<'a> = "schema::provider_metadata",
        tool_metadata?: Json<'a> = "schema::tool_metadata",
        dynamic?: bool = "present",
    }
    struct ToolOutputDenied<'a> { tool_call_id: text, }
    struct SteeringMessage<'a> { id: text, parts?: Json<'a> = "schema::steering_parts", }
    /// Data of the same type and id replaces earlier data.
    struct Data<'a> {
        /// `data-` and the name.
        #[serde(rename = "type")]
        kind: text,
        id?: text = "present",
        data: Json<'a>,
        transient?: bool = "present",
    }
    struct Empty {}
}
