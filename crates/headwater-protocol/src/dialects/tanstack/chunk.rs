//! The chunks of the TanStack stream protocol, and what we write beside its own fields.
//!
//! The client never reads a field that it does not know, nor `id`, `model`, `timestamp`, `role` and
//! `index`; so those are read whatever they hold, and our own fields travel among them.

mod loose;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    carry,
    error::{Error, ErrorKind},
    event::Event,
    framing::Frame,
    json,
};

/// What all chunks begin with, and the two words about their origin that we add.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Base<'a> {
    /// Identifies the chunk.
    pub id: Option<Cow<'a, str>>,
    /// The model that speaks.
    pub model: Option<Cow<'a, str>>,
    /// Milliseconds since 1970.
    pub timestamp: Option<u64>,
    /// Ours: the message that the event belongs to.
    pub message: Option<Cow<'a, str>>,
    /// Ours: the attempt that said it.
    pub attempt: Option<Cow<'a, str>>,
}

/// Declares chunks: each has the fields of [`Base`] around its own, in the order of the documentation.
macro_rules! chunks {
    ($($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name<'a> {
            /// Identifies the chunk.
            #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
            pub id: Option<Cow<'a, str>>,
            /// The model that speaks.
            #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
            pub model: Option<Cow<'a, str>>,
            /// Milliseconds since 1970.
            #[serde(default, deserialize_with = "loose::number", skip_serializing_if = "Option::is_none")]
            pub timestamp: Option<u64>,
            $($(#[$about])* pub $field: $type,)*
            /// Ours: the message that the event belongs to.
            #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
            pub message: Option<Cow<'a, str>>,
            /// Ours: the attempt that said it.
            #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
            pub attempt: Option<Cow<'a, str>>,
            /// Ours: it tells the page what another chunk tells our own readers.
            #[serde(default, deserialize_with = "loose::flag", skip_serializing_if = "std::ops::Not::not")]
            pub derived: bool,
        }

        impl<'a> $name<'a> {
            /// An empty chunk of this kind.
            #[must_use]
            pub fn at(base: Base<'a>) -> Self {
                let Base { id, model, timestamp, message, attempt } = base;
                Self { id, model, timestamp, message, attempt, ..Self::default() }
            }

            fn base(&self) -> Base<'_> {
                Base {
                    id: self.id.as_deref().map(Cow::Borrowed),
                    model: self.model.as_deref().map(Cow::Borrowed),
                    timestamp: self.timestamp,
                    message: self.message.as_deref().map(Cow::Borrowed),
                    attempt: self.attempt.as_deref().map(Cow::Borrowed),
                }
            }
        }
    )*};
}

chunks! {
    /// More text of the answer.
    Content {
        /// The text to append.
        #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
        delta: Option<Cow<'a, str>>,
        /// The text so far. The client reads it only to tell whether a new segment begins.
        #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
        content: Option<Cow<'a, str>>,
        /// Always `assistant`.
        #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
        role: Option<Cow<'a, str>>,
        /// Ours: the block that the text belongs to.
        #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
        part: Option<Cow<'a, str>>,
        /// Ours: the delta is a whole message of a node.
        #[serde(default, deserialize_with = "loose::flag", skip_serializing_if = "std::ops::Not::not")]
        whole: bool,
        /// Ours: what the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Cow<'a, Value>>,
    }

    /// More thoughts.
    Thinking {
        /// The text to append.
        #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
        delta: Option<Cow<'a, str>>,
        /// The thoughts so far; read where there is no delta.
        #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
        content: Option<Cow<'a, str>>,
        /// Ours: the block that the thoughts belong to.
        #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
        part: Option<Cow<'a, str>>,
        /// Ours: what the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Cow<'a, Value>>,
    }

    /// More of a tool call's input.
    ToolCall {
        /// The call; the client dies without it.
        #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
        tool_call: Option<Call<'a>>,
        /// The number of the call in the response.
        #[serde(default, deserialize_with = "loose::number", skip_serializing_if = "Option::is_none")]
        index: Option<u64>,
        /// Ours: the call, whose id the page may know under another name; the arguments are a delta.
        #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
        call: Option<Cow<'a, str>>,
        /// Ours: the event, and where its input stands.
        #[serde(default, deserialize_with = "loose::or_none", skip_serializing_if = "Option::is_none")]
        event: Option<Box<Event>>,
        /// Ours: where the event's payload stands.
        #[serde(default, deserialize_with = "loose::or_none", skip_serializing_if = "Option::is_none")]
        payload: Option<Payload>,
    }

    /// What a tool gave.
    ToolResult {
        /// The call.
        #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<Cow<'a, str>>,
        /// The output as text; mostly JSON.
        #[serde(default, deserialize_with = "loose::present", skip_serializing_if = "Option::is_none")]
        content: Option<Value>,
        /// Ours: the event.
        #[serde(default, deserialize_with = "loose::or_none", skip_serializing_if = "Option::is_none")]
        event: Option<Box<Event>>,
        /// Ours: where the event's payload stands.
        #[serde(default, deserialize_with = "loose::or_none", skip_serializing_if = "Option::is_none")]
        payload: Option<Payload>,
    }

    /// A model call, or the response, came to its end.
    Done {
        /// Why.
        #[serde(borrow, default, deserialize_with = "loose::text")]
        finish_reason: Option<Cow<'a, str>>,
        /// What it used.
        #[serde(default, deserialize_with = "loose::or_none", skip_serializing_if = "Option::is_none")]
        usage: Option<TokenUsage>,
        /// Ours: the event.
        #[serde(default, deserialize_with = "loose::or_none", skip_serializing_if = "Option::is_none")]
        event: Option<Box<Event>>,
    }

    /// The response failed.
    Failure {
        /// What happened; the client dies without it.
        #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorBody<'a>>,
        /// Ours: the event.
        #[serde(default, deserialize_with = "loose::or_none", skip_serializing_if = "Option::is_none")]
        event: Option<Box<Event>>,
    }

    /// A person is asked whether a call may be made.
    ApprovalRequested {
        /// The call.
        #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<Cow<'a, str>>,
        /// The tool.
        #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
        tool_name: Option<Cow<'a, str>>,
        /// The input.
        #[serde(default, deserialize_with = "loose::present_cow", skip_serializing_if = "Option::is_none")]
        input: Option<Cow<'a, Value>>,
        /// The request; the client dies without it.
        #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
        approval: Option<ApprovalBody<'a>>,
        /// Ours: the event.
        #[serde(default, deserialize_with = "loose::or_none", skip_serializing_if = "Option::is_none")]
        event: Option<Box<Event>>,
    }

    /// The page is to execute a call.
    ToolInputAvailable {
        /// The call.
        #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<Cow<'a, str>>,
        /// The tool.
        #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
        tool_name: Option<Cow<'a, str>>,
        /// The input.
        #[serde(default, deserialize_with = "loose::present_cow", skip_serializing_if = "Option::is_none")]
        input: Option<Cow<'a, Value>>,
    }

    /// Ours: an event for which the protocol has no word. The client passes over it.
    Carried {
        /// The event.
        #[serde(default, deserialize_with = "loose::or_none", skip_serializing_if = "Option::is_none")]
        event: Option<Cow<'a, Event>>,
    }
}

/// A call within a [`ToolCall`] chunk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Call<'a> {
    /// The call; what has the same id belongs together.
    #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
    pub id: Option<Cow<'a, str>>,
    /// Always `function`.
    #[serde(
        borrow,
        default,
        rename = "type",
        deserialize_with = "loose::text",
        skip_serializing_if = "Option::is_none"
    )]
    pub kind: Option<Cow<'a, str>>,
    /// What is called; the client dies without it.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub function: Option<Function<'a>>,
}

/// What a [`Call`] calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Function<'a> {
    /// The tool.
    #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
    pub name: Option<Cow<'a, str>>,
    /// A piece of JSON text to append to the arguments.
    #[serde(
        borrow,
        default,
        deserialize_with = "loose::falsy_or_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub arguments: Option<Cow<'a, str>>,
}

/// What a model call used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenUsage {
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Tokens written.
    pub completion_tokens: u64,
    /// Both.
    pub total_tokens: u64,
}

/// What went wrong.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ErrorBody<'a> {
    /// A line for people.
    #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
    pub message: Option<Cow<'a, str>>,
    /// A machine-readable code.
    #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
    pub code: Option<Cow<'a, str>>,
}

/// A request for an approval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalBody<'a> {
    /// The request.
    #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
    pub id: Option<Cow<'a, str>>,
    /// Always true.
    #[serde(default, deserialize_with = "loose::flag")]
    pub needs_approval: bool,
}

/// Ours: where the payload of a chunk's `event` stands, so that nothing is sent twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Payload {
    /// In the chunk's arguments or content, as JSON text.
    Json,
    /// In the chunk's content, as it is.
    Text,
    /// In the arguments that were streamed.
    Streamed,
}

/// One chunk of a stream.
///
/// ```
/// use headwater_protocol::dialects::tanstack::Chunk;
///
/// let chunk = Chunk::read(r#"{"type":"content","id":"c1","model":"m","timestamp":1,"delta":"Hi"}"#).unwrap();
/// let Chunk::Content(content) = &chunk else { panic!() };
/// assert_eq!(content.delta.as_deref(), Some("Hi"));
/// assert!(serde_json::to_string(&chunk).unwrap().starts_with(r#"{"type":"content","id":"c1""#));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum Chunk<'a> {
    /// More text of the answer.
    #[serde(rename = "content")]
    Content(Content<'a>),
    /// More of a tool call's input.
    #[serde(rename = "tool_call")]
    ToolCall(ToolCall<'a>),
    /// What a tool gave.
    #[serde(rename = "tool_result")]
    ToolResult(ToolResult<'a>),
    /// A model call, or the response, came to its end.
    #[serde(rename = "done")]
    Done(Done<'a>),
    /// The response failed.
    #[serde(rename = "error")]
    Failure(Failure<'a>),
    /// A person is asked whether a call may be made.
    #[serde(rename = "approval-requested")]
    ApprovalRequested(ApprovalRequested<'a>),
    /// The page is to execute a call.
    #[serde(rename = "tool-input-available")]
    ToolInputAvailable(ToolInputAvailable<'a>),
    /// More thoughts.
    #[serde(rename = "thinking")]
    Thinking(Thinking<'a>),
    /// Ours: an event for which the protocol has no word.
    #[serde(rename = "hw-event")]
    Carried(Carried<'a>),
    /// Something else, which the client passes over.
    #[serde(untagged)]
    Other(Cow<'a, Value>),
}

impl<'a> Chunk<'a> {
    /// Reads one chunk.
    ///
    /// # Errors
    /// If it is not JSON, or if the client would die of it: of `null`, and of a chunk of a known type
    /// that lacks what the client looks into.
    pub fn read(data: &'a str) -> Result<Self, Error> {
        Self::of_frame(&Frame { event: None, id: None, data, offset: 0, index: 0 })
    }

    /// What it has in common with all chunks, and whether it is there for the page alone.
    pub(super) fn base(&self) -> (Base<'_>, bool) {
        match self {
            Self::Content(chunk) => (chunk.base(), chunk.derived),
            Self::ToolCall(chunk) => (chunk.base(), chunk.derived),
            Self::ToolResult(chunk) => (chunk.base(), chunk.derived),
            Self::Done(chunk) => (chunk.base(), chunk.derived),
            Self::Failure(chunk) => (chunk.base(), chunk.derived),
            Self::ApprovalRequested(chunk) => (chunk.base(), chunk.derived),
            Self::ToolInputAvailable(chunk) => (chunk.base(), chunk.derived),
            Self::Thinking(chunk) => (chunk.base(), chunk.derived),
            Self::Carried(chunk) => (chunk.base(), chunk.derived),
            Self::Other(_) => (Base::default(), false),
        }
    }

    pub(super) fn of_frame(frame: &Frame<'a>) -> Result<Self, Error> {
        match leading_type(frame.data) {
            Some(kind) => Self::of_type(kind, frame),
            None => match json::type_of(frame) {
                Ok(kind) => Self::of_type(&kind, frame),
                Err(error) if error.kind() == ErrorKind::Json => Err(error),
                Err(_) => Self::other(frame),
            },
        }
    }

    fn of_type(kind: &str, frame: &Frame<'a>) -> Result<Self, Error> {
        let chunk = match kind {
            "content" => json::read(frame).map(Self::Content),
            "tool_call" => json::read(frame).map(Self::ToolCall),
            "tool_result" => json::read(frame).map(Self::ToolResult),
            "done" => json::read(frame).map(Self::Done),
            "error" => json::read(frame).map(Self::Failure),
            "approval-requested" => json::read(frame).map(Self::ApprovalRequested),
            "tool-input-available" => json::read(frame).map(Self::ToolInputAvailable),
            "thinking" => json::read(frame).map(Self::Thinking),
            carry::NAME => json::read(frame).map(Self::Carried),
            _ => return Self::other(frame),
        };
        chunk.map_err(|error| match error.kind() {
            ErrorKind::Field => fatal(frame, error.message()),
            _ => error,
        })
    }

    fn other(frame: &Frame<'a>) -> Result<Self, Error> {
        match json::read::<Value>(frame)? {
            Value::Null => Err(fatal(frame, "a chunk must be an object, not null")),
            value => Ok(Self::Other(Cow::Owned(value))),
        }
    }
}

/// The types that the client knows.
pub(super) const TYPES: [&str; 8] = [
    "content",
    "tool_call",
    "tool_result",
    "done",
    "error",
    "approval-requested",
    "tool-input-available",
    "thinking",
];

fn fatal(frame: &Frame<'_>, message: &str) -> Error {
    Error::fatal(ErrorKind::Field, message).at(frame.index, frame.offset)
}

/// The type of a chunk that begins with it, as almost all do: it need not be searched for.
fn leading_type(data: &str) -> Option<&str> {
    let (kind, rest) = data.strip_prefix("{\"type\":\"")?.split_once('"')?;
    (!kind.contains('\\') && rest.starts_with([',', '}'])).then_some(kind)
}
