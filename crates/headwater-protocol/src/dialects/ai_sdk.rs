//! The AI SDK UI message stream, protocol v1: what `useChat` of the npm package `ai` reads.
//!
//! SSE with one JSON chunk per `data:` line and `[DONE]` at the end. One stream builds one message. The
//! client validates every chunk and gives up at the first one that it does not know: an unknown type
//! always, an unknown key before 5.0.217, 6.0.231 and 7.0.32, a `null` always. A request names no version,
//! so the default profile says only what the oldest clients know.
//!
//! What the protocol has no word for travels in a [`Mark`], transient data that every client passes over.
//! A mark may cover the next chunks: they say the same as its event, as far as the client's words go.
//!
//! What does not come back as it was sent:
//! - a tool's name on its output, error or refusal, which the wire leaves to the call;
//! - `call` of an approval's answer is filled in from its request;
//! - a message that nobody started is started by its first part;
//! - origins, but for the message and the attempt of what makes a part;
//! - what comes after the run's end is not sent.
//!
//! Decisions. Approvals are chunks of version 6; version 5 gives up at them, but has nothing else for
//! them either. A signature is a key of 6.0.202, so the default profile leaves it to the server's own
//! records. A second message of a run is a new step of the one message, and marks carry the ids. A
//! `data-interrupt` part shows a question to a page that wants to render it. A run that waits ends its
//! stream with `finish{tool-calls}`, for only then does the client send answers. A stream that ends before
//! its run does ends with `error`, since the client takes a silent end for success.

mod chunk;
mod decode;
mod encode;
mod lint;
mod reentry;
mod request;

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

pub use chunk::{
    Abort, Block, BlockDelta, Chunk, Citation, Custom, Data, ErrorText, File, Finish, Mark, MarkOrigin,
    MessageMetadata, SourceDocument, SourceUrl, Start, SteeringMessage, TextEnd, ToolApprovalRequest,
    ToolApprovalResponse, ToolInput, ToolInputDelta, ToolInputError, ToolInputStart, ToolOutput,
    ToolOutputDenied, ToolOutputError,
};
pub use encode::Encoder;

/// The AI SDK UI message stream.
///
/// ```
/// use headwater_protocol::{Dialect, dialects::ai_sdk::AiSdk};
///
/// assert_eq!(AiSdk.profile(None).name, "strict");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct AiSdk;

static PROFILES: [Profile; 2] = [
    Profile {
        name: "strict",
        clients: "ai 5 (from 5.0.92), 6 and 7, the ones that reject unknown keys too",
        retraction: Retraction::Seam,
        reentry: Reentry::Replay,
        cursor: CursorSupport::Ignored,
        keep_alive: KeepAlive::Comment,
        end_marker: Some(decode::DONE),
        framings: &[Framing::Sse],
        coalesce: true,
        wait_is_end: false,
    },
    Profile {
        name: "ai-7",
        clients: "ai 7.0.70 and later",
        retraction: Retraction::Exact,
        reentry: Reentry::Replay,
        cursor: CursorSupport::Ignored,
        keep_alive: KeepAlive::Comment,
        end_marker: Some(decode::DONE),
        framings: &[Framing::Sse],
        coalesce: true,
        wait_is_end: false,
    },
];

impl Dialect for AiSdk {
    fn name(&self) -> &'static str {
        "ai-sdk"
    }

    fn about(&self) -> &'static str {
        "The AI SDK UI message stream v1, read by useChat of `ai` 5, 6 and 7"
    }

    fn profiles(&self) -> &'static [Profile] {
        &PROFILES
    }

    fn support(&self, kind: EventKind, profile: &Profile) -> Support {
        let ai_7 = profile.retraction == Retraction::Exact;
        match kind {
            EventKind::RunFinished
            | EventKind::MessageStarted
            | EventKind::MessageMetadata
            | EventKind::StepStarted
            | EventKind::StepFinished
            | EventKind::TextStart
            | EventKind::TextDelta
            | EventKind::TextEnd
            | EventKind::ReasoningStart
            | EventKind::ReasoningDelta
            | EventKind::ReasoningEnd
            | EventKind::ToolInputStart
            | EventKind::ToolInputDelta
            | EventKind::ToolInputAvailable
            | EventKind::ToolInputError
            | EventKind::ToolOutput
            | EventKind::ToolOutputError
            | EventKind::ToolDenied
            | EventKind::SourceUrl
            | EventKind::SourceDocument
            | EventKind::File
            | EventKind::Data => Support::Exact,
            EventKind::RunCancelled => Support::Shown("`abort`, its reason in a mark"),
            EventKind::RunFailed => Support::Shown("`error`, `finish` and a mark"),
            EventKind::RunWaiting => Support::Shown("`finish` with `tool-calls`, and a mark"),
            EventKind::ApprovalRequested => Support::Shown("`tool-approval-request` and a mark"),
            EventKind::ApprovalAnswered if ai_7 => Support::Exact,
            EventKind::AttemptRetracted if ai_7 => Support::Shown("`reset-step` and a mark"),
            EventKind::AttemptRetracted => Support::Shown("a seam and a mark"),
            EventKind::Message => Support::Shown("a text and a mark"),
            EventKind::InterruptRequested | EventKind::InterruptAnswered | EventKind::InterruptExpired => {
                Support::Shown("`data-interrupt` and a mark")
            }
            EventKind::RunStarted
            | EventKind::AttemptStarted
            | EventKind::AttemptFinished
            | EventKind::MessageFinished
            | EventKind::ApprovalAnswered
            | EventKind::Structured
            | EventKind::StructuredInvalidated
            | EventKind::StateSnapshot
            | EventKind::StateDelta
            | EventKind::MessagesSnapshot
            | EventKind::Status
            | EventKind::Transition
            | EventKind::Checkpoint
            | EventKind::Usage
            | EventKind::Warning
            | EventKind::Error
            | EventKind::Trace
            | EventKind::Unknown => Support::Shown("a mark (`data-hw-event`)"),
        }
    }

    fn rules(&self) -> Rules {
        Rules {
            tool_scope: ToolScope::Step,
            ui_message_parts: true,
            objects_leave_no_part: true,
            goes_on_after_end: true,
            ..Rules::default()
        }
    }

    fn encoder(&self, options: &EncodeOptions) -> Box<dyn Encode> {
        Box::new(Encoder::new(options))
    }

    fn decoder(&self) -> Box<dyn Decode> {
        Box::new(decode::Decoder::default())
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

    fn habits(&self) -> &'static Habits {
        const HABITS: Habits = Habits {
            headers: &[("x-vercel-ai-ui-message-stream", "v1")],
            keeps_ended: true,
            ..Habits::PLAIN
        };
        &HABITS
    }

    fn recognise(&self, frame: &Frame<'_>) -> u8 {
        match Chunk::read(frame.data) {
            // Other dialects have these types too, but not these fields.
            Ok(Chunk::Start(_) | Chunk::Error(_) | Chunk::File(_)) => 60,
            Ok(Chunk::Finish(_) | Chunk::Abort(_) | Chunk::Data(_)) => 50,
            Ok(_) => 80,
            Err(_) => 0,
        }
    }
}
