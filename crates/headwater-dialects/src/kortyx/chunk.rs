//! The chunks of a Kortyx stream, with the fields of its own schema and no others.

use std::borrow::Cow;

use headwater_protocol::{Choice, Error, Frame, InterruptKind, StructuredUpdate};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::json;

/// One struct for each chunk: its optional strings, then its other fields, then its optional values, for which `null` is
/// a value, and only a missing key is absent.
macro_rules! chunks {
    ($($name:ident { $($text:ident),*; $($(#[$attribute:meta])* $field:ident: $type:ty),*; $($value:ident),* })*) => {$(
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub(super) struct $name<'a> {
            $(
                #[serde(borrow, default, deserialize_with = "borrowed", skip_serializing_if = "Option::is_none")]
                pub(super) $text: Option<Cow<'a, str>>,
            )*
            $($(#[$attribute])* pub(super) $field: $type,)*
            $(
                #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
                pub(super) $value: Option<Cow<'a, Value>>,
            )*
        }
    )*};
}

chunks! {
    Session { ; session_id: Cow<'a, str>; }
    Checkpoint { label; id: Cow<'a, str>, session_id: Cow<'a, str>, turn_index: u64; }
    Trace { ; trace_id: Cow<'a, str>, span_id: Cow<'a, str>, run_id: Cow<'a, str>, root_span_name: Cow<'a, str>; }
    Status { node; message: Cow<'a, str>; }
    Message { node; content: Cow<'a, str>; }
    Text { node, id, op_id, segment_id; ; }
    TextDelta { node, id, op_id, segment_id; delta: Cow<'a, str>; }
    ToolResult { node, tool; ; content }
    ToolCallStart { node, id, op_id; tool: Cow<'a, str>, tool_call_id: Cow<'a, str>; input }
    ToolCallResult {
        node, id, op_id;
        tool: Cow<'a, str>,
        tool_call_id: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "is_false")]
        is_error: bool;
        content, structured_content
    }
    ToolCallError { node, id, op_id; tool: Cow<'a, str>, tool_call_id: Cow<'a, str>, message: Cow<'a, str>; }
    Interrupt {
        workflow, node, id, op_id, schema_id, schema_version;
        request_id: Cow<'a, str>,
        resume_token: Cow<'a, str>,
        input: Input<'a>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        meta: Option<Cow<'a, Map<String, Value>>>;
    }
    Input {
        question, id, schema_id, schema_version;
        kind: InterruptKind,
        #[serde(default)]
        multiple: bool,
        // Always sent, and empty where the answer is free text.
        #[serde(default)]
        options: Cow<'a, [Choice]>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        meta: Option<Cow<'a, Map<String, Value>>>;
    }
    StructuredDataInvalidated { ; stream_id: Cow<'a, str>, checkpoint_id: Cow<'a, str>; }
    Transition { ; transition_to: Cow<'a, str>; payload }
    Done { ; ; data }
    Failure { ; message: Cow<'a, str>; }
}

/// The only name that the root span of a `trace` may have.
pub(super) const ROOT_SPAN: &str = "kortyx.run";

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(super) enum Chunk<'a> {
    Session(Session<'a>),
    Checkpoint(Checkpoint<'a>),
    Trace(Trace<'a>),
    Status(Status<'a>),
    /// The page shows it only in a run that streams no text.
    Message(Message<'a>),
    TextStart(Text<'a>),
    TextDelta(TextDelta<'a>),
    TextEnd(Text<'a>),
    /// The old form of a tool's output, which names no call and which no server sends any more.
    ToolResult(ToolResult<'a>),
    ToolCallStart(ToolCallStart<'a>),
    ToolCallResult(ToolCallResult<'a>),
    ToolCallError(ToolCallError<'a>),
    Interrupt(Box<Interrupt<'a>>),
    StructuredData(Cow<'a, StructuredUpdate>),
    StructuredDataInvalidated(StructuredDataInvalidated<'a>),
    Transition(Transition<'a>),
    Done(Done<'a>),
    Error(Failure<'a>),
    /// A chunk of an unknown type. It is read and never written.
    #[serde(untagged)]
    Other(Cow<'a, Value>),
}

impl<'a> Chunk<'a> {
    /// Reads the chunk of a frame. An unknown type is not an error.
    pub(super) fn from_frame(frame: &Frame<'a>) -> Result<Self, Error> {
        let name = json::type_of(frame)?;
        Ok(match &*name {
            "text-delta" => Self::TextDelta(json::read(frame)?),
            "structured-data" => Self::StructuredData(Cow::Owned(json::read(frame)?)),
            "session" => Self::Session(json::read(frame)?),
            "checkpoint" => Self::Checkpoint(json::read(frame)?),
            "trace" => Self::Trace(json::read(frame)?),
            "status" => Self::Status(json::read(frame)?),
            "message" => Self::Message(json::read(frame)?),
            "text-start" => Self::TextStart(json::read(frame)?),
            "text-end" => Self::TextEnd(json::read(frame)?),
            "tool-result" => Self::ToolResult(json::read(frame)?),
            "tool-call-start" => Self::ToolCallStart(json::read(frame)?),
            "tool-call-result" => Self::ToolCallResult(json::read(frame)?),
            "tool-call-error" => Self::ToolCallError(json::read(frame)?),
            "interrupt" => Self::Interrupt(json::read(frame)?),
            "structured-data-invalidated" => Self::StructuredDataInvalidated(json::read(frame)?),
            "transition" => Self::Transition(json::read(frame)?),
            "done" => Self::Done(json::read(frame)?),
            "error" => Self::Error(json::read(frame)?),
            _ => Self::Other(Cow::Owned(json::read(frame)?)),
        })
    }
}

/// Keeps `null` apart from an absent field, which serde takes for the same.
fn present<'de, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'a, Value>>, D::Error> {
    Value::deserialize(deserializer).map(|value| Some(Cow::Owned(value)))
}

/// A string without escapes is read where it stands.
fn borrowed<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'a, str>>, D::Error> {
    #[derive(Deserialize)]
    struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);
    Ok(Option::<Borrowed<'a>>::deserialize(deserializer)?.map(|Borrowed(text)| text))
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests;
