//! The chunks of a Kortyx stream, with exactly the fields of its schema.

use std::borrow::Cow;

use headwater_json::present;
use headwater_protocol::{Choice, Error, Frame, InterruptKind, StructuredUpdate};
use serde_json::{Map, Value};

use crate::{
    chunk::chunks,
    json::{read, type_of},
};

type Json<'a> = Cow<'a, Value>;

/// The only allowed name of the root span in a `trace`.
pub(super) const ROOT_SPAN: &str = "kortyx.run";

chunks! {
    enum Chunk by read(&Frame<'a>) -> Error {
        "session" => Session(Session<'a>),
        "checkpoint" => Checkpoint(Checkpoint<'a>),
        "trace" => Trace(Trace<'a>),
        "status" => Status(Status<'a>),
        /// The page only shows it in a run that streams no text.
        "message" => Message(Message<'a>),
        "text-start" => TextStart(Text<'a>),
        "text-delta" => TextDelta(TextDelta<'a>),
        "text-end" => TextEnd(Text<'a>),
        /// The old form of a tool's output, which names no call and is no longer sent by any server.
        "tool-result" => ToolResult(ToolResult<'a>),
        "tool-call-start" => ToolCallStart(ToolCallStart<'a>),
        "tool-call-result" => ToolCallResult(ToolCallResult<'a>),
        "tool-call-error" => ToolCallError(ToolCallError<'a>),
        "interrupt" => Interrupt(Box<Interrupt<'a>>),
        "structured-data" => StructuredData(Cow<'a, StructuredUpdate>),
        "structured-data-invalidated" => StructuredDataInvalidated(StructuredDataInvalidated<'a>),
        "transition" => Transition(Transition<'a>),
        "done" => Done(Done<'a>),
        "error" => Error(Failure<'a>),
    } else {
        /// A chunk of an unknown type. It is read but never written.
        Other(Cow<'a, Value>),
    }

    struct Session<'a> { session_id: text, }
    struct Checkpoint<'a> { label?: text, id: text, session_id: text, turn_index: u64, }
    struct Trace<'a> { trace_id: text, span_id: text, run_id: text, root_span_name: text, }
    struct Status<'a> { node?: text, message: text, }
    struct Message<'a> { node?: text, content: text, }
    struct Text<'a> { node?: text, id?: text, op_id?: text, segment_id?: text, }
    struct TextDelta<'a> { node?: text, id?: text, op_id?: text, segment_id?: text, delta: text, }
    struct ToolResult<'a> { node?: text, tool?: text, content?: Json<'a> = "present", }
    struct ToolCallStart<'a> {
        node?: text, id?: text, op_id?: text, tool: text, tool_call_id: text, input?: Json<'a> = "present",
    }
    struct ToolCallResult<'a> {
        node?: text, id?: text, op_id?: text, tool: text, tool_call_id: text,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        content?: Json<'a> = "present",
        structured_content?: Json<'a> = "present",
    }
    struct ToolCallError<'a> {
        node?: text, id?: text, op_id?: text, tool: text, tool_call_id: text, message: text,
    }
    struct Interrupt<'a> {
        workflow?: text, node?: text, id?: text, op_id?: text, schema_id?: text, schema_version?: text,
        request_id: text,
        resume_token: text,
        input: Input<'a>,
        meta?: Cow<'a, Map<String, Value>>,
    }
    struct Input<'a> {
        question?: text, id?: text, schema_id?: text, schema_version?: text,
        kind: InterruptKind,
        #[serde(default)]
        multiple: bool,
        // Always sent; empty if the answer is free text.
        #[serde(default)]
        options: Cow<'a, [Choice]>,
        meta?: Cow<'a, Map<String, Value>>,
    }
    struct StructuredDataInvalidated<'a> { stream_id: text, checkpoint_id: text, }
    struct Transition<'a> { transition_to: text, payload?: Json<'a> = "present", }
    struct Done<'a> { data?: Json<'a> = "present", }
    struct Failure<'a> { message: text, }
}

impl<'a> Chunk<'a> {
    /// Parses the chunk of a frame. An unknown type is not an error.
    pub(super) fn from_frame(frame: &Frame<'a>) -> Result<Self, Error> {
        match Self::read_as(&type_of(frame)?, frame)? {
            Some(chunk) => Ok(chunk),
            None => Ok(Self::Other(Cow::Owned(read(frame)?))),
        }
    }
}

#[cfg(test)]
mod tests;
