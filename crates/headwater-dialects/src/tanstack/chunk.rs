//! The chunks of the TanStack stream protocol.
//!
//! The client never looks at `id`, `model`, `timestamp`, `role` and `index`, so those are read whatever they hold.

mod loose;

use std::borrow::Cow;

use headwater_protocol::{Error, ErrorKind, Frame};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json;

/// What all chunks begin with.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Base<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) model: Option<Cow<'a, str>>,
    /// Milliseconds since 1970.
    pub(super) timestamp: Option<u64>,
}

/// Declares chunks: the fields of [`Base`], then optional texts, then the others, in the order of the documentation.
macro_rules! chunks {
    ($($(#[$doc:meta])* $name:ident { $($text:ident),*; $($(#[$about:meta])* $field:ident: $type:ty),* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub(super) struct $name<'a> {
            #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
            pub(super) id: Option<Cow<'a, str>>,
            #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
            pub(super) model: Option<Cow<'a, str>>,
            #[serde(default, deserialize_with = "loose::number", skip_serializing_if = "Option::is_none")]
            pub(super) timestamp: Option<u64>,
            $(
                #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
                pub(super) $text: Option<Cow<'a, str>>,
            )*
            $($(#[$about])* pub(super) $field: $type,)*
        }

        impl<'a> $name<'a> {
            pub(super) fn at(base: Base<'a>) -> Self {
                let Base { id, model, timestamp } = base;
                Self { id, model, timestamp, ..Self::default() }
            }

            fn base(&self) -> Base<'_> {
                let text = |text: &'_ Option<Cow<'a, str>>| text.clone();
                Base { id: text(&self.id), model: text(&self.model), timestamp: self.timestamp }
            }
        }
    )*};
}

chunks! {
    /// More text. The client reads `content`, the text so far, only to see whether a new segment begins.
    Content { delta, content, role; }
    Thinking { delta, content; }
    /// More of a tool call's input. The client fails without `toolCall`.
    ToolCall {
        ;
        #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
        tool_call: Option<Call<'a>>,
        #[serde(default, deserialize_with = "loose::number", skip_serializing_if = "Option::is_none")]
        index: Option<u64>
    }
    /// The output is text, mostly JSON.
    ToolResult {
        tool_call_id;
        #[serde(default, deserialize_with = "loose::present", skip_serializing_if = "Option::is_none")]
        content: Option<Value>
    }
    /// A model call, or the response, came to its end. A missing reason is sent as `null`.
    Done {
        ;
        #[serde(borrow, default, deserialize_with = "loose::text")]
        finish_reason: Option<Cow<'a, str>>,
        #[serde(default, deserialize_with = "loose::or_none", skip_serializing_if = "Option::is_none")]
        usage: Option<TokenUsage>
    }
    /// The client fails without `error`.
    Failure {
        ;
        #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorBody<'a>>
    }
    /// The client fails without `approval`.
    ApprovalRequested {
        tool_call_id, tool_name;
        #[serde(default, deserialize_with = "loose::present_cow", skip_serializing_if = "Option::is_none")]
        input: Option<Cow<'a, Value>>,
        #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
        approval: Option<ApprovalBody<'a>>
    }
    /// The page is to execute a call.
    ToolInputAvailable {
        tool_call_id, tool_name;
        #[serde(default, deserialize_with = "loose::present_cow", skip_serializing_if = "Option::is_none")]
        input: Option<Cow<'a, Value>>
    }
}

/// A call within a [`ToolCall`] chunk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Call<'a> {
    #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(
        borrow,
        default,
        rename = "type",
        deserialize_with = "loose::text",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) kind: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(super) function: Option<Function<'a>>,
}

/// What a [`Call`] calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<Cow<'a, str>>,
    #[serde(
        borrow,
        default,
        deserialize_with = "loose::falsy_or_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) arguments: Option<Cow<'a, str>>,
}

/// What a model call used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct TokenUsage {
    pub(super) prompt_tokens: u64,
    pub(super) completion_tokens: u64,
    pub(super) total_tokens: u64,
}

/// What went wrong.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ErrorBody<'a> {
    #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<Cow<'a, str>>,
}

/// A request for an approval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApprovalBody<'a> {
    #[serde(borrow, default, deserialize_with = "loose::text", skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "loose::flag")]
    pub(super) needs_approval: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type")]
pub(super) enum Chunk<'a> {
    #[serde(rename = "content")]
    Content(Content<'a>),
    #[serde(rename = "tool_call")]
    ToolCall(ToolCall<'a>),
    #[serde(rename = "tool_result")]
    ToolResult(ToolResult<'a>),
    #[serde(rename = "done")]
    Done(Done<'a>),
    #[serde(rename = "error")]
    Failure(Failure<'a>),
    #[serde(rename = "approval-requested")]
    ApprovalRequested(ApprovalRequested<'a>),
    #[serde(rename = "tool-input-available")]
    ToolInputAvailable(ToolInputAvailable<'a>),
    #[serde(rename = "thinking")]
    Thinking(Thinking<'a>),
    /// Something else, which the client passes over. It is read and never written.
    #[serde(untagged)]
    Other(Cow<'a, Value>),
}

impl<'a> Chunk<'a> {
    pub(super) fn base(&self) -> Base<'_> {
        match self {
            Self::Content(chunk) => chunk.base(),
            Self::ToolCall(chunk) => chunk.base(),
            Self::ToolResult(chunk) => chunk.base(),
            Self::Done(chunk) => chunk.base(),
            Self::Failure(chunk) => chunk.base(),
            Self::ApprovalRequested(chunk) => chunk.base(),
            Self::ToolInputAvailable(chunk) => chunk.base(),
            Self::Thinking(chunk) => chunk.base(),
            Self::Other(_) => Base::default(),
        }
    }

    /// Reads the chunk of a frame.
    ///
    /// # Errors
    /// If it is not JSON, or if the client would fail: on `null`, and on a chunk of a known type that lacks what the
    /// client looks into.
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

fn fatal(frame: &Frame<'_>, message: &str) -> Error {
    Error::fatal(ErrorKind::Field, message).at(frame.index, frame.offset)
}

/// The type of a chunk that begins with it, as almost all do: it need not be searched for.
fn leading_type(data: &str) -> Option<&str> {
    let (kind, rest) = data.strip_prefix("{\"type\":\"")?.split_once('"')?;
    (!kind.contains('\\') && rest.starts_with([',', '}'])).then_some(kind)
}
