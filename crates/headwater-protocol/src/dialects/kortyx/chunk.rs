//! The chunks of a Kortyx stream.
//!
//! Its reader checks nothing and its schema passes over keys that it does not know. So a chunk of ours may
//! have a few more keys than the documentation says; they are marked as *ours* below and are left out
//! wherever there is nothing to say.

mod interrupt;
mod text;
mod tool;

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{
    carry,
    error::Error,
    event::{Event, FinishReason, Origin, Usage},
    framing::Frame,
    json,
    structured::StructuredUpdate,
};

pub use interrupt::{Input, Interrupt};
pub use text::{Message, Text, TextDelta};
pub use tool::{ToolCallError, ToolCallResult, ToolCallStart, ToolResult};

/// One chunk of a Kortyx stream.
///
/// ```
/// use headwater_protocol::dialects::kortyx::Chunk;
///
/// let json = r#"{"type":"text-delta","node":"writer","opId":"op_1","delta":"Hello"}"#;
/// let chunk = Chunk::from_json(json).unwrap();
/// assert!(matches!(&chunk, Chunk::TextDelta(text) if text.delta == "Hello"));
/// assert_eq!(serde_json::to_string(&chunk).unwrap(), json);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Chunk<'a> {
    /// The conversation that the run belongs to.
    Session(Session<'a>),
    /// The session's state after this turn was kept.
    Checkpoint(Checkpoint<'a>),
    /// Where the run is found in a tracing system.
    Trace(Trace<'a>),
    /// What the run is doing.
    Status(Status<'a>),
    /// A whole message of a node. Kortyx' own page shows it only in a run that streams no text.
    Message(Message<'a>),
    /// A block of text begins. Nothing depends on it.
    TextStart(Text<'a>),
    /// More text.
    TextDelta(TextDelta<'a>),
    /// The block of text is complete. Nothing depends on it.
    TextEnd(Text<'a>),
    /// A tool's output in the old form, which no server sends any more.
    ToolResult(ToolResult<'a>),
    /// A tool is called.
    ToolCallStart(ToolCallStart<'a>),
    /// What the tool gave.
    ToolCallResult(ToolCallResult<'a>),
    /// The tool failed.
    ToolCallError(ToolCallError<'a>),
    /// A person is asked.
    Interrupt(Box<Interrupt<'a>>),
    /// An update of an object that is built while it is streamed.
    StructuredData(Cow<'a, StructuredUpdate>),
    /// A structured stream no longer counts.
    StructuredDataInvalidated(StructuredDataInvalidated<'a>),
    /// The run goes on in another workflow.
    Transition(Transition<'a>),
    /// Nothing comes after it.
    Done(Done<'a>),
    /// Something went wrong.
    Error(Failure<'a>),
    /// *Ours*: an event for which the protocol has no word. Kortyx' own page passes over it.
    #[serde(rename = "hw-event")]
    Carried(Carried<'a>),
    /// A chunk of a type that is not known, as it came.
    #[serde(untagged)]
    Other(Cow<'a, Value>),
}

impl<'a> Chunk<'a> {
    /// Reads a chunk.
    ///
    /// # Errors
    /// If the text is not a JSON object with a string `type`, or a field that this type needs is missing or
    /// wrong. A type that is not known is no error.
    pub fn from_json(json: &'a str) -> Result<Self, Error> {
        Self::from_frame(&Frame { event: None, id: None, data: json, offset: 0, index: 0 })
    }

    /// Reads the chunk of a frame.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json), with the frame's place.
    pub fn from_frame(frame: &Frame<'a>) -> Result<Self, Error> {
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
            // An event of a later version than ours is still a chunk that may be passed on.
            carry::NAME => match json::read(frame) {
                Ok(carried) => Self::Carried(carried),
                Err(_) => Self::Other(Cow::Owned(json::read(frame)?)),
            },
            _ => Self::Other(Cow::Owned(json::read(frame)?)),
        })
    }

    /// Whether a type is one of the protocol's own, or ours.
    pub(super) fn knows(name: &str) -> bool {
        matches!(
            name,
            "text-delta"
                | "structured-data"
                | "session"
                | "checkpoint"
                | "trace"
                | "status"
                | "message"
                | "text-start"
                | "text-end"
                | "tool-result"
                | "tool-call-start"
                | "tool-call-result"
                | "tool-call-error"
                | "interrupt"
                | "structured-data-invalidated"
                | "transition"
                | "done"
                | "error"
                | carry::NAME
        )
    }
}

/// `session`: the conversation that the run belongs to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session<'a> {
    /// The session.
    pub session_id: Cow<'a, str>,
    /// *Ours*: the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Cow<'a, str>>,
    /// *Ours*: the page's own name for the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<Cow<'a, str>>,
    /// *Ours*: the run that this one goes on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_run_id: Option<Cow<'a, str>>,
    /// *Ours*: the workflow that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_id: Option<Cow<'a, str>>,
    /// *Ours*: the model that answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Cow<'a, str>>,
    /// *Ours*: the HTTP request that asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_request_id: Option<Cow<'a, str>>,
    /// *Ours*: the path that was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Cow<'a, str>>,
}

/// `checkpoint`: the session's state after this turn was kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint<'a> {
    /// The checkpoint.
    pub id: Cow<'a, str>,
    /// Its session.
    pub session_id: Cow<'a, str>,
    /// The number of the turn.
    pub turn_index: u64,
    /// A label for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Cow<'a, str>>,
}

/// `trace`: where the run is found in a tracing system.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trace<'a> {
    /// The trace.
    pub trace_id: Cow<'a, str>,
    /// The run's span.
    pub span_id: Cow<'a, str>,
    /// The run.
    pub run_id: Cow<'a, str>,
    /// Always [`Trace::ROOT_SPAN`].
    pub root_span_name: Cow<'a, str>,
}

impl Trace<'_> {
    /// The only name that a root span may have.
    pub const ROOT_SPAN: &'static str = "kortyx.run";
}

/// `status`: what the run is doing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Status<'a> {
    /// The workflow node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Cow<'a, str>>,
    /// A line for people.
    pub message: Cow<'a, str>,
    /// *Ours*: a machine-readable state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Cow<'a, str>>,
    /// *Ours*: what it stands for, where the chunk does not say it all.
    #[serde(
        rename = "hw-event",
        default,
        deserialize_with = "event",
        skip_serializing_if = "Option::is_none"
    )]
    pub stands_for: Option<Cow<'a, Event>>,
}

/// `structured-data-invalidated`: a structured stream no longer counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StructuredDataInvalidated<'a> {
    /// The stream.
    pub stream_id: Cow<'a, str>,
    /// The checkpoint that was rolled back to; empty if there was none.
    pub checkpoint_id: Cow<'a, str>,
}

/// `transition`: the run goes on in another workflow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transition<'a> {
    /// That workflow.
    pub transition_to: Cow<'a, str>,
    /// What is handed over.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub payload: Option<Cow<'a, Value>>,
}

/// `done`: nothing comes after it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Done<'a> {
    /// The run's result.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub data: Option<Cow<'a, Value>>,
    /// *Ours*: why the model stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'a, FinishReason>>,
    /// *Ours*: what the run used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Cow<'a, Usage>>,
    /// *Ours*: how the run ended, where the chunks before do not say it.
    #[serde(
        rename = "hw-event",
        default,
        deserialize_with = "event",
        skip_serializing_if = "Option::is_none"
    )]
    pub stands_for: Option<Cow<'a, Event>>,
}

/// `error`: something went wrong.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Failure<'a> {
    /// A line for people.
    pub message: Cow<'a, str>,
    /// *Ours*: a machine-readable code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Cow<'a, str>>,
    /// *Ours*: whether the same request may go well the next time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// *Ours*: whether the run ends with it. Without it, a `done` right after it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal: Option<bool>,
}

/// `hw-event`: an event for which the protocol has no word, in our own JSON form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Carried<'a> {
    /// The event.
    pub event: Cow<'a, Event>,
    /// Where it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Cow<'a, Origin>>,
}

/// Keeps `null` apart from an absent field, which serde takes for the same.
fn present<'de, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'a, Value>>, D::Error> {
    Value::deserialize(deserializer).map(|value| Some(Cow::Owned(value)))
}

/// An event that cannot be read leaves the chunk what it is for Kortyx' own page.
fn event<'de, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'a, Event>>, D::Error> {
    Value::deserialize(deserializer).map(|value| carry::read(value).map(Cow::Owned))
}

/// A string without escapes is read where it stands.
fn borrowed<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'a, str>>, D::Error> {
    #[derive(Deserialize)]
    struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);
    Ok(Option::<Borrowed<'a>>::deserialize(deserializer)?.map(|Borrowed(text)| text))
}

/// For fields that are left out unless they are set.
fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests;
