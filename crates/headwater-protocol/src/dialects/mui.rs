//! MUI X Chat, `@mui/x-chat` and `@mui/x-chat-headless` 9.
//!
//! The product has no wire format: its adapter gives the client a stream of parsed chunks. Ours come as
//! JSON envelopes `{eventId, sequence, chunk}`, one per SSE block, in a dense sequence, so that the adapter
//! can resume after the last one it has; an unmodified client takes them, because it ignores the chunk types
//! and the fields that it does not know.
//!
//! What matters:
//! - A stream is one message for the client. `start` comes first, `finish` or `abort` last, and nothing
//!   after it. What the run says before its message begins travels inside `start`.
//! - There is no error chunk. A run that failed ends without a terminal chunk, which the client shows as an
//!   error and never as a complete answer; the error itself is in the `hw-event` before the end, and our
//!   adapter makes it the stream's error. A stop is `abort`. A run that waits keeps
//!   its stream open; if the stream is closed all the same, `finish` completes the message for now.
//! - What must be taken back or replaced (a failed attempt, data of the same id) is said with
//!   `message-updated`: all parts of the message. Our adapter hands it to the client as the realtime event of
//!   that name. The blocks that it moves are closed before.
//! - Transient data travels as `hw-event`: the client would keep it and show it.
//!
//! What comes back in another form after encoding and decoding: a message that was never started begins
//! with what it says first; an approval request repeats the name and input of its call, and a denial the
//! reason of the answer; a call that was never announced is announced; reasons with underscores have hyphens.

mod chunk;
mod decode;
mod encode;
mod lenient;
mod lint;
mod message;
mod reentry;
mod request;

pub use chunk::*;
pub use decode::Decoder;
pub use encode::Encoder;
pub use message::{Parts, UiMessage};

use serde::{Deserialize, de::IgnoredAny};

use crate::{
    decode::Decode,
    dialect::{CursorSupport, Dialect, Habits, KeepAlive, Profile, Reentry, Retraction, Support},
    encode::{Encode, EncodeOptions},
    error::Error,
    event::EventKind,
    framing::{Frame, Framing},
    lint::{Lint, Rule},
    request::{ChatRequest, RawRequest},
    state::{Rules, ToolScope},
};

/// MUI X Chat.
#[derive(Debug, Clone, Copy)]
pub struct Mui;

const PROFILES: &[Profile] = &[Profile {
    name: "default",
    clients: "@mui/x-chat 9 with our adapter",
    retraction: Retraction::Exact,
    reentry: Reentry::Replay,
    cursor: CursorSupport::Sequence,
    // Comments stall the adapters that MUI's documentation shows; a chunk of a type that nobody knows does not.
    keep_alive: KeepAlive::Chunk(r#"{"type":"ping"}"#),
    end_marker: None,
    framings: &[Framing::Sse, Framing::Ndjson],
    coalesce: false,
    wait_is_end: false,
}];

/// The types of MUI's own chunks, apart from `data-*`.
const TYPES: [&str; 22] = [
    "start",
    "finish",
    "abort",
    "text-start",
    "text-delta",
    "text-end",
    "reasoning-start",
    "reasoning-delta",
    "reasoning-end",
    "tool-input-start",
    "tool-input-delta",
    "tool-input-available",
    "tool-input-error",
    "tool-approval-request",
    "tool-output-available",
    "tool-output-error",
    "tool-output-denied",
    "source-url",
    "source-document",
    "file",
    "start-step",
    "finish-step",
];

/// Whether the client, or our adapter, does something with a chunk of that type.
fn is_known(kind: &str) -> bool {
    TYPES.contains(&kind)
        || kind.starts_with("data-")
        || matches!(kind, "message-metadata" | "message-updated" | crate::carry::NAME)
}

impl Dialect for Mui {
    fn name(&self) -> &'static str {
        "mui"
    }

    fn about(&self) -> &'static str {
        "MUI X Chat: enveloped chunks for the stream of its adapter"
    }

    fn profiles(&self) -> &'static [Profile] {
        PROFILES
    }

    fn support(&self, kind: EventKind, _profile: &Profile) -> Support {
        use EventKind as K;
        match kind {
            K::RunFinished
            | K::RunCancelled
            | K::MessageMetadata
            | K::StepStarted
            | K::StepFinished
            | K::TextStart
            | K::TextDelta
            | K::TextEnd
            | K::ReasoningStart
            | K::ReasoningDelta
            | K::ReasoningEnd
            | K::ToolInputStart
            | K::ToolInputDelta
            | K::ToolInputAvailable
            | K::ToolInputError
            | K::ApprovalRequested
            | K::ToolOutput
            | K::ToolOutputError
            | K::ToolDenied
            | K::SourceUrl
            | K::SourceDocument
            | K::File
            | K::Data => Support::Exact,
            K::RunStarted => Support::Shown("a field of `start`"),
            K::MessageStarted => Support::Shown("`start`; any but the first as `hw-event`"),
            K::Message => Support::Shown("one text block"),
            K::RunFailed => Support::Shown("`hw-event`, then the end without a terminal chunk"),
            K::RunWaiting => Support::Shown("`hw-event`; the stream stays open"),
            K::AttemptRetracted => Support::Shown("`message-updated` with the parts that stay"),
            K::InterruptRequested => Support::Shown("`data-interrupt`"),
            K::Unknown => Support::Shown("the chunk as it came"),
            K::AttemptStarted
            | K::AttemptFinished
            | K::MessageFinished
            | K::ApprovalAnswered
            | K::Structured
            | K::StructuredInvalidated
            | K::StateSnapshot
            | K::StateDelta
            | K::MessagesSnapshot
            | K::InterruptAnswered
            | K::InterruptExpired
            | K::Status
            | K::Transition
            | K::Checkpoint
            | K::Usage
            | K::Warning
            | K::Error
            | K::Trace => Support::Shown("`hw-event`"),
        }
    }

    fn rules(&self) -> Rules {
        Rules {
            tool_scope: ToolScope::Message,
            tool_fields_linger: true,
            data_is_appended: true,
            transient_is_kept: true,
            metadata_is_shallow: true,
            absent_is_erased: true,
            unknown_calls_are_ignored: true,
            end_closes_blocks: true,
            objects_leave_no_part: true,
            goes_on_after_end: true,
            ..Rules::default()
        }
    }

    fn encoder(&self, options: &EncodeOptions) -> Box<dyn Encode> {
        Box::new(Encoder::new(options))
    }

    fn decoder(&self) -> Box<dyn Decode> {
        Box::new(Decoder::new())
    }

    fn linter(&self) -> Box<dyn Lint> {
        Box::new(lint::Linter::default())
    }

    fn lint_rules(&self) -> &'static [Rule] {
        lint::RULES
    }

    fn parse_request(&self, request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
        request::parse(request)
    }

    fn page_message(&self, message: &crate::state::Message) -> serde_json::Value {
        serde_json::to_value(UiMessage(message)).unwrap_or_default()
    }

    fn habits(&self) -> &'static Habits {
        const HABITS: Habits = Habits { answers_apart: true, reads_on_after_wait: true, ..Habits::PLAIN };
        &HABITS
    }

    fn recognise(&self, frame: &Frame<'_>) -> u8 {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Seen<'a> {
            #[serde(rename = "type")]
            kind: Option<&'a str>,
            message_id: Option<IgnoredAny>,
            sequence: Option<IgnoredAny>,
            event_id: Option<IgnoredAny>,
            #[serde(borrow)]
            chunk: Option<Inner<'a>>,
        }
        #[derive(Deserialize)]
        struct Inner<'a> {
            #[serde(rename = "type")]
            kind: Option<&'a str>,
        }
        let Ok(seen) = serde_json::from_str::<Seen<'_>>(frame.data) else {
            return 0;
        };
        match (seen.chunk, seen.kind) {
            (Some(Inner { kind: Some(kind) }), _) if is_known(kind) => 98,
            (Some(Inner { kind: Some(_) }), None) if seen.sequence.or(seen.event_id).is_some() => 90,
            (None, Some("finish" | "abort")) if seen.message_id.is_some() => 80,
            (None, Some(kind)) if is_known(kind) && frame.event.is_none() => 30,
            _ => 0,
        }
    }
}
