//! MUI X Chat, `@mui/x-chat` and `@mui/x-chat-headless` 9.
//!
//! The product has no wire format: its adapter passes parsed chunks to the client. We send JSON envelopes
//! `{eventId, sequence, chunk}`, one per SSE block, with consecutive numbers, so that the adapter can resume
//! after the last one it has. An unmodified client accepts them because it ignores unknown chunk types and
//! fields.
//!
//! Decisions:
//! - A stream is one message for the client, whatever messages the run has. `start` comes first, `finish` or
//!   `abort` last, and nothing after it.
//! - MUI has no chunk for a failure. Ours is `error` with an `errorText`, which our adapter turns into the
//!   stream's error. A client that ignores it reports an end without a terminal chunk, never a complete answer.
//!   A stop is `abort`. A waiting run keeps its stream open; if the stream is closed anyway, `finish` completes
//!   the message for now.
//! - Whatever must be retracted or replaced (a failed attempt, data with the same id, a structured object
//!   that has grown) is sent as `message-updated` with all parts of the message. Our adapter passes it on as
//!   the realtime event of that name. The blocks that it moves are closed first.
//! - A question is a call of the client tool `ask_user`: its output is the answer.

mod chunk;
mod decode;
mod encode;
mod lenient;
mod lint;
mod message;
mod request;

pub use decode::MuiDecoder;
pub use message::UiMessage;

use headwater_protocol::{Error, EventKind, Frame, Framing, Rules, ToolScope};
use serde::{Deserialize, de::IgnoredAny};

use chunk::is_known;

use crate::{
    decode::Decode,
    dialect::{AnswerFlow, Dialect, Support},
    encode::{Encode, EncodeOptions},
    lint::{Lint, LintRule},
    profile::{CursorSupport, KeepAlive, Profile, Retraction},
    reader::Reader,
    request::{ChatRequest, RawRequest},
};

/// The MUI X Chat dialect.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mui;

const PROFILES: &[Profile] = &[Profile {
    name: "default",
    clients: "@mui/x-chat 9 with our adapter",
    retraction: Retraction::Exact,
    cursor: CursorSupport::Sequence,
    // Comments stall the adapters of MUI's documentation; a chunk of an unknown type does not.
    keep_alive: KeepAlive::Chunk(r#"{"type":"ping"}"#),
    framings: &[Framing::Sse, Framing::Ndjson],
    coalesce: false,
    ..Profile::PLAIN
}];

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
        Support::Shown(match kind {
            EventKind::RunFinished => "`finish`",
            EventKind::RunFailed => "`error`, then the end without a terminal chunk",
            EventKind::RunCancelled => "`abort`",
            EventKind::RunWaiting => "nothing; the stream stays open",
            EventKind::AttemptRetracted => "`message-updated` with the parts that stay",
            EventKind::MessageStarted => "`start` of the first message",
            EventKind::MessageMetadata => "`message-metadata`",
            EventKind::Message => "a text part",
            EventKind::StepStarted => "`start-step`",
            EventKind::StepFinished => "`finish-step`",
            EventKind::BlockStarted => "`text-start`, `reasoning-start`",
            EventKind::BlockDelta => "`text-delta`, `reasoning-delta`",
            EventKind::BlockEnded => "`text-end`, `reasoning-end`",
            EventKind::ToolInputStart => "`tool-input-start`",
            EventKind::ToolInputDelta => "`tool-input-delta`",
            EventKind::ToolInputAvailable => "`tool-input-available`",
            EventKind::ToolInputError => "`tool-input-error`",
            EventKind::ApprovalRequested => "`tool-approval-request`",
            EventKind::ToolOutput => "`tool-output-available`",
            EventKind::ToolOutputError => "`tool-output-error`",
            EventKind::ToolDenied => "`tool-output-denied`",
            EventKind::SourceUrl => "`source-url`",
            EventKind::SourceDocument => "`source-document`",
            EventKind::File => "`file`",
            EventKind::Data => "`data-<name>`; `message-updated` for an id again",
            EventKind::Structured => "`data-<dataType>`, then `message-updated`",
            EventKind::StructuredInvalidated => "`message-updated` without the part",
            EventKind::InterruptRequested => "a call of the tool `ask_user`",
            EventKind::InterruptAnswered => "the output of that call",
            EventKind::InterruptExpired => "`tool-output-error` of that call",
            EventKind::Unknown => "the chunk as it came",
            _ => return Support::Hidden,
        })
    }

    fn encoder(&self, options: &EncodeOptions) -> Box<dyn Encode> {
        Box::new(encode::MuiEncoder::new(options))
    }

    /// The adapter sends a stop request.
    fn stops_by_leaving(&self) -> bool {
        false
    }

    fn answers(&self) -> AnswerFlow {
        AnswerFlow::OpenStream
    }

    fn parse_request(&self, request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
        request::parse(request)
    }

    fn page_message(&self, message: &headwater_protocol::Message) -> serde_json::Value {
        serde_json::to_value(UiMessage(message)).unwrap_or_default()
    }
}

impl Reader for Mui {
    fn recognise(&self, frame: &Frame<'_>) -> u8 {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct EnvelopeHead<'a> {
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
        let Ok(seen) = serde_json::from_str::<EnvelopeHead<'_>>(frame.data) else {
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

    fn decoder(&self) -> Box<dyn Decode> {
        Box::new(MuiDecoder::new())
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
            goes_on_after_end: true,
            ..Rules::default()
        }
    }

    fn linter(&self) -> Box<dyn Lint> {
        Box::new(lint::MuiLinter::default())
    }

    fn lint_rules(&self) -> &'static [LintRule] {
        lint::RULES
    }
}
