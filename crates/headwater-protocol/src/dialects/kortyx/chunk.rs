//! The chunks of a Kortyx stream, with the fields of its own schema and no others.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::{
    error::Error,
    event::{Choice, InterruptKind},
    framing::Frame,
    json,
    structured::StructuredUpdate,
};

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
mod tests {
    use super::*;

    fn read(data: &str) -> Result<Chunk<'_>, Error> {
        Chunk::from_frame(&Frame { event: None, id: None, data, offset: 0, index: 0 })
    }

    /// Every type, with every field of the schema.
    const ALL: &[&str] = &[
        r#"{"type":"session","sessionId":"s1"}"#,
        r#"{"type":"checkpoint","id":"cp-1","sessionId":"s1","turnIndex":3,"label":"before"}"#,
        r#"{"type":"structured-data-invalidated","streamId":"st","checkpointId":"cp-1"}"#,
        r#"{"type":"trace","traceId":"t","spanId":"s","runId":"run-1","rootSpanName":"kortyx.run"}"#,
        r#"{"type":"status","node":"plan","message":"thinking"}"#,
        r#"{"type":"message","node":"plan","content":"Hello"}"#,
        r#"{"type":"text-start","node":"plan","id":"t","opId":"op","segmentId":"seg"}"#,
        r#"{"type":"text-delta","node":"plan","id":"t","opId":"op","segmentId":"seg","delta":"é\n\u0000"}"#,
        r#"{"type":"text-end","node":"plan","id":"t","opId":"op","segmentId":"seg"}"#,
        r#"{"type":"tool-result","node":"plan","tool":"search","content":null}"#,
        r#"{"type":"tool-call-start","node":"plan","id":"c","opId":"op","tool":"search","toolCallId":"call","input":null}"#,
        r#"{"type":"tool-call-result","node":"plan","id":"c","opId":"op","tool":"search","toolCallId":"call","content":"[]","structuredContent":{"results":[]},"isError":true}"#,
        r#"{"type":"tool-call-error","node":"plan","id":"c","opId":"op","tool":"search","toolCallId":"call","message":"timed out"}"#,
        r#"{"type":"interrupt","requestId":"human-1","resumeToken":"tok","workflow":"w","node":"ask","opId":"op","id":"i","schemaId":"sc","schemaVersion":"1","input":{"kind":"multi-choice","multiple":true,"question":"Which?","id":"i","schemaId":"sc","schemaVersion":"1","meta":{"a":1},"options":[{"id":"x","label":"X","description":"the x"}]},"meta":{"b":2}}"#,
        r#"{"type":"structured-data","streamId":"st","dataType":"email","kind":"set","path":"a.0","value":null,"schemaId":"sc","schemaVersion":"1","id":"i","node":"plan"}"#,
        r#"{"type":"structured-data","streamId":"st","dataType":"email","kind":"append","path":"a","items":[1]}"#,
        r#"{"type":"structured-data","streamId":"st","dataType":"email","kind":"text-delta","path":"b","delta":"x"}"#,
        r#"{"type":"structured-data","streamId":"st","dataType":"email","kind":"final","data":{"a":[1]}}"#,
        r#"{"type":"transition","transitionTo":"other","payload":{"a":1}}"#,
        r#"{"type":"done","data":null}"#,
        r#"{"type":"done"}"#,
        r#"{"type":"error","message":"boom"}"#,
        r#"{"type":"weather","of":["tomorrow"]}"#,
    ];

    #[test]
    fn every_chunk_keeps_all_fields_of_the_schema() {
        for json in ALL {
            let chunk = read(json).unwrap_or_else(|error| panic!("{json}: {error}"));
            let value: Value = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_value(&chunk).unwrap(), value);
            assert_eq!(matches!(chunk, Chunk::Other(_)), value["type"] == "weather");
        }
    }

    #[test]
    fn chunk_without_a_required_field_is_refused() {
        for (json, problem) in [
            ("42", "string `type`"),
            ("{}", "missing field `type`"),
            ("{oops", "not JSON"),
            (r#"{"type":"text-delta"}"#, "missing field `delta`"),
            (r#"{"type":"text-delta","delta":null}"#, "null"),
            (r#"{"type":"tool-call-start","tool":"x"}"#, "missing field `toolCallId`"),
            (r#"{"type":"checkpoint","id":"a","sessionId":"b","turnIndex":-1}"#, "-1"),
            (r#"{"type":"interrupt","requestId":"r","resumeToken":"t","input":{"kind":"dance"}}"#, "dance"),
        ] {
            let error = read(json).expect_err(json);
            assert!(error.message().contains(problem), "{json}: {error}");
        }
    }
}
