//! The chunks of the TanStack stream protocol.
//!
//! The client ignores `id`, `model`, `timestamp`, `role` and `index`, so any values are accepted for them.

mod lenient;

use std::borrow::Cow;

use headwater_json::present;
use headwater_protocol::{Error, ErrorKind, Frame};
use serde_json::Value;

use crate::{
    chunk::chunks,
    json::{leading_type, read, type_of},
};

/// The fields of all chunks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Base<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) model: Option<Cow<'a, str>>,
    /// Milliseconds since 1970.
    pub(super) timestamp: Option<u64>,
}

chunks! {
    enum Chunk by read(&Frame<'a>) -> Error {
        "content" => Content(Content<'a>),
        "tool_call" => ToolCall(ToolCall<'a>),
        "tool_result" => ToolResult(ToolResult<'a>),
        "done" => Done(Done<'a>),
        "error" => Failure(Failure<'a>),
        "approval-requested" => ApprovalRequested(ApprovalRequested<'a>),
        "tool-input-available" => ToolInputAvailable(ToolInputAvailable<'a>),
        "thinking" => Thinking(Thinking<'a>),
    } else {
        /// A chunk of an unknown type, which the client ignores. It is read but never written.
        Other(Cow<'a, Value>),
    }

    /// A text delta. The client uses `content`, the text so far, only to detect a new segment.
    struct Content<'a> {
        id?: text = "lenient::text", model?: text = "lenient::text", timestamp?: u64 = "lenient::number",
        delta?: text = "lenient::text", content?: text = "lenient::text", role?: text = "lenient::text",
    }
    struct Thinking<'a> {
        id?: text = "lenient::text", model?: text = "lenient::text", timestamp?: u64 = "lenient::number",
        delta?: text = "lenient::text", content?: text = "lenient::text",
    }
    /// A delta of a tool call's input. The client fails without `toolCall`.
    struct ToolCall<'a> {
        id?: text = "lenient::text", model?: text = "lenient::text", timestamp?: u64 = "lenient::number",
        #[serde(borrow)]
        tool_call?: Call<'a>,
        index?: u64 = "lenient::number",
    }
    /// The output is text, usually JSON.
    struct ToolResult<'a> {
        id?: text = "lenient::text", model?: text = "lenient::text", timestamp?: u64 = "lenient::number",
        tool_call_id?: text = "lenient::text", content?: Value = "present",
    }
    /// The end of a model call or of the response. A missing reason is sent as `null`.
    struct Done<'a> {
        id?: text = "lenient::text", model?: text = "lenient::text", timestamp?: u64 = "lenient::number",
        #[serde(borrow, default)]
        finish_reason: Option<Cow<'a, str>> = "lenient::text",
        usage?: TokenUsage = "lenient::or_none",
    }
    /// The client fails without `error`.
    struct Failure<'a> {
        id?: text = "lenient::text", model?: text = "lenient::text", timestamp?: u64 = "lenient::number",
        #[serde(borrow)]
        error?: ErrorBody<'a>,
    }
    /// The client fails without `approval`.
    struct ApprovalRequested<'a> {
        id?: text = "lenient::text", model?: text = "lenient::text", timestamp?: u64 = "lenient::number",
        tool_call_id?: text = "lenient::text", tool_name?: text = "lenient::text",
        input?: Cow<'a, Value> = "present",
        #[serde(borrow)]
        approval?: ApprovalBody<'a>,
    }
    /// Asks the page to execute a call.
    struct ToolInputAvailable<'a> {
        id?: text = "lenient::text", model?: text = "lenient::text", timestamp?: u64 = "lenient::number",
        tool_call_id?: text = "lenient::text", tool_name?: text = "lenient::text",
        input?: Cow<'a, Value> = "present",
    }

    /// A call within a [`ToolCall`] chunk.
    struct Call<'a> {
        id?: text = "lenient::text",
        #[serde(rename = "type")]
        kind?: text = "lenient::text",
        #[serde(borrow)]
        function?: Function<'a>,
    }
    /// The function of a [`Call`].
    struct Function<'a> { name?: text = "lenient::text", arguments?: text = "lenient::falsy_or_text", }
    /// The usage of a model call.
    #[derive(Copy)]
    struct TokenUsage {
        #[serde(default)] prompt_tokens: u64,
        #[serde(default)] completion_tokens: u64,
        #[serde(default)] total_tokens: u64,
    }
    /// An error.
    struct ErrorBody<'a> { message?: text = "lenient::text", code?: text = "lenient::text", }
    /// An approval request.
    struct ApprovalBody<'a> {
        id?: text = "lenient::text",
        #[serde(default)]
        needs_approval: bool = "lenient::flag",
    }
}

/// Implements access to the base fields for each chunk.
macro_rules! with_base {
    ($($name:ident)*) => {
        $(impl<'a> $name<'a> {
            pub(super) fn at(base: Base<'a>) -> Self {
                let Base { id, model, timestamp } = base;
                Self { id, model, timestamp, ..Self::default() }
            }
        })*

        impl Chunk<'_> {
            pub(super) fn base(&self) -> Base<'_> {
                match self {
                    $(Self::$name(chunk) => Base {
                        id: chunk.id.as_deref().map(Cow::Borrowed),
                        model: chunk.model.as_deref().map(Cow::Borrowed),
                        timestamp: chunk.timestamp,
                    },)*
                    Self::Other(_) => Base::default(),
                }
            }
        }
    };
}

with_base! { Content Thinking ToolCall ToolResult Done Failure ApprovalRequested ToolInputAvailable }

impl<'a> Chunk<'a> {
    /// Parses the chunk of a frame.
    ///
    /// # Errors
    /// If it is not JSON, or if the client would fail: on `null`, and on a chunk of a known type without a
    /// field that the client reads.
    pub(super) fn of_frame(frame: &Frame<'a>) -> Result<Self, Error> {
        match leading_type(frame.data) {
            Some(kind) => Self::of_type(kind, frame),
            None => match type_of(frame) {
                Ok(kind) => Self::of_type(&kind, frame),
                Err(error) if error.kind() == ErrorKind::Json => Err(error),
                Err(_) => Self::other(frame),
            },
        }
    }

    fn of_type(kind: &str, frame: &Frame<'a>) -> Result<Self, Error> {
        match Self::read_as(kind, frame) {
            Ok(Some(chunk)) => Ok(chunk),
            Ok(None) => Self::other(frame),
            Err(error) if error.kind() == ErrorKind::Field => Err(fatal(frame, error.message())),
            Err(error) => Err(error),
        }
    }

    fn other(frame: &Frame<'a>) -> Result<Self, Error> {
        match read::<Value>(frame)? {
            Value::Null => Err(fatal(frame, "a chunk must be an object, not null")),
            value => Ok(Self::Other(Cow::Owned(value))),
        }
    }
}

fn fatal(frame: &Frame<'_>, message: &str) -> Error {
    Error::fatal(ErrorKind::Field, message).at(frame.index, frame.offset)
}
