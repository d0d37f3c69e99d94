//! The chunks of the UI message stream, protocol v1, as version 7 of the client knows them.
//!
//! Optional fields are absent or of their type, never `null`: the client's schema refuses it. What else the schema demands is
//! left to the real client.

mod fields;
mod read;

use std::borrow::Cow;

use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

pub(super) use fields::is_provider_metadata;
pub(super) use read::value;

type Text<'a> = Cow<'a, str>;
type Json<'a> = Cow<'a, Value>;

/// One chunk of the stream. A version in brackets is the first that knows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(super) enum Chunk<'a> {
    Start(Start<'a>),
    Finish(Finish<'a>),
    Abort(Abort<'a>),
    /// The chat client reads no further.
    Error(ErrorText<'a>),
    MessageMetadata(MessageMetadata<'a>),
    StartStep,
    FinishStep,
    /// The parts of the current step are dropped (7.0.70).
    ResetStep,
    TextStart(Block<'a>),
    TextDelta(BlockDelta<'a>),
    TextEnd(TextEnd<'a>),
    ReasoningStart(Block<'a>),
    ReasoningDelta(BlockDelta<'a>),
    ReasoningEnd(Block<'a>),
    /// (7.0)
    ReasoningFile(File<'a>),
    /// Something of a provider's own (7.0).
    Custom(Custom<'a>),
    SourceUrl(SourceUrl<'a>),
    SourceDocument(SourceDocument<'a>),
    File(File<'a>),
    ToolInputStart(ToolInputStart<'a>),
    ToolInputDelta(ToolInputDelta<'a>),
    ToolInputAvailable(ToolInput<'a>),
    ToolInputError(ToolInputError<'a>),
    /// (6.0)
    ToolApprovalRequest(ToolApprovalRequest<'a>),
    /// (7.0)
    ToolApprovalResponse(ToolApprovalResponse<'a>),
    ToolOutputAvailable(ToolOutput<'a>),
    ToolOutputError(ToolOutputError<'a>),
    /// (6.0)
    ToolOutputDenied(ToolOutputDenied<'a>),
    /// A person's words in the middle of a run (7.0.163).
    SteeringMessage(SteeringMessage<'a>),
    /// Data of the application's own, `data-<name>`.
    #[serde(untagged)]
    Data(Data<'a>),
    /// A chunk as it came.
    #[serde(untagged)]
    Raw(Json<'a>),
}

/// The fields of a chunk: those that must be there, and those that may, each with the function that reads it.
macro_rules! fields {
    ($($name:ident { $($field:ident: $type:ty),* } { $($optional:ident: $kind:ty = $read:literal),* })*) => {$(
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub(super) struct $name<'a> {
            $(#[serde(borrow)] pub(super) $field: $type,)*
            $(
                #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = $read)]
                pub(super) $optional: Option<$kind>,
            )*
        }
    )*};
}

fields! {
    Start {} { message_id: Text<'a> = "fields::present", message_metadata: Json<'a> = "fields::anything" }
    Finish {} { finish_reason: Text<'a> = "fields::present", message_metadata: Json<'a> = "fields::anything" }
    Abort {} { reason: Text<'a> = "fields::present" }
    ErrorText { error_text: Text<'a> } {}
    MessageMetadata { message_metadata: Json<'a> } {}
    Block { id: Text<'a> } { provider_metadata: Json<'a> = "fields::provider_metadata" }
    BlockDelta { id: Text<'a>, delta: Text<'a> } { provider_metadata: Json<'a> = "fields::provider_metadata" }
    TextEnd { id: Text<'a> } {
        provider_metadata: Json<'a> = "fields::provider_metadata",
        citations: Json<'a> = "fields::anything"
    }
    Custom { kind: Text<'a> } { provider_metadata: Json<'a> = "fields::provider_metadata" }
    SourceUrl { source_id: Text<'a>, url: Text<'a> } {
        title: Text<'a> = "fields::present",
        provider_metadata: Json<'a> = "fields::provider_metadata"
    }
    SourceDocument { source_id: Text<'a>, media_type: Text<'a>, title: Text<'a> } {
        filename: Text<'a> = "fields::present",
        provider_metadata: Json<'a> = "fields::provider_metadata"
    }
    File { url: Text<'a>, media_type: Text<'a> } { provider_metadata: Json<'a> = "fields::provider_metadata" }
    ToolInputStart { tool_call_id: Text<'a>, tool_name: Text<'a> } {
        provider_executed: bool = "fields::present",
        provider_metadata: Json<'a> = "fields::provider_metadata",
        tool_metadata: Json<'a> = "fields::tool_metadata",
        dynamic: bool = "fields::present",
        title: Text<'a> = "fields::present",
        input_encoding: Text<'a> = "fields::present"
    }
    ToolInputDelta { tool_call_id: Text<'a>, input_text_delta: Text<'a> } {}
    ToolInput { tool_call_id: Text<'a>, tool_name: Text<'a>, input: Json<'a> } {
        provider_executed: bool = "fields::present",
        provider_metadata: Json<'a> = "fields::provider_metadata",
        tool_metadata: Json<'a> = "fields::tool_metadata",
        dynamic: bool = "fields::present",
        title: Text<'a> = "fields::present"
    }
    ToolInputError { tool_call_id: Text<'a>, tool_name: Text<'a>, input: Json<'a>, error_text: Text<'a> } {
        provider_executed: bool = "fields::present",
        provider_metadata: Json<'a> = "fields::provider_metadata",
        tool_metadata: Json<'a> = "fields::tool_metadata",
        dynamic: bool = "fields::present",
        title: Text<'a> = "fields::present"
    }
    ToolApprovalRequest { approval_id: Text<'a>, tool_call_id: Text<'a> } {
        signature: Text<'a> = "fields::present",
        approval_descriptor: Json<'a> = "fields::anything",
        input_schema_input: Json<'a> = "fields::anything",
        is_automatic: bool = "fields::present",
        reason: Text<'a> = "fields::present"
    }
    ToolApprovalResponse { approval_id: Text<'a>, approved: Cow<'a, bool> } {
        reason: Text<'a> = "fields::present",
        provider_executed: bool = "fields::present",
        provider_metadata: Json<'a> = "fields::provider_metadata"
    }
    ToolOutput { tool_call_id: Text<'a>, output: Json<'a> } {
        preliminary: bool = "fields::present",
        provider_executed: bool = "fields::present",
        provider_metadata: Json<'a> = "fields::provider_metadata",
        tool_metadata: Json<'a> = "fields::tool_metadata",
        dynamic: bool = "fields::present"
    }
    ToolOutputError { tool_call_id: Text<'a>, error_text: Text<'a> } {
        provider_executed: bool = "fields::present",
        provider_metadata: Json<'a> = "fields::provider_metadata",
        tool_metadata: Json<'a> = "fields::tool_metadata",
        dynamic: bool = "fields::present"
    }
    ToolOutputDenied { tool_call_id: Text<'a> } {}
    SteeringMessage { id: Text<'a> } { parts: Json<'a> = "fields::steering_parts" }
}

/// Data of the application's own; its name is in its type.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Data<'a> {
    pub(super) name: Text<'a>,
    /// Data of the same name and id replaces what was there.
    pub(super) id: Option<Text<'a>>,
    pub(super) data: Json<'a>,
    pub(super) transient: Option<bool>,
}

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &format_args!("data-{}", self.name))?;
        if let Some(id) = &self.id {
            map.serialize_entry("id", id)?;
        }
        map.serialize_entry("data", &self.data)?;
        if let Some(transient) = self.transient {
            map.serialize_entry("transient", &transient)?;
        }
        map.end()
    }
}
