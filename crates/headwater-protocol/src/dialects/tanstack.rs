//! TanStack AI, as its clients spoke from 0.0.1 to 0.2.2: eight chunk types over SSE or NDJSON.
//!
//! From 0.3.0 on its clients speak AG-UI; neither understands the other, and neither says so: use the
//! `ag-ui` dialect for those.
//!
//! What matters most about these clients: they read lines and not SSE events, so `data: ` has exactly
//! one space, a chunk is one line, and a blank line is the only thing that they pass over in silence; `[DONE]`
//! and `done` end nothing, the end of the body does; a response is one assistant message. What the encoder
//! does about the rest stands in its source.
//!
//! # What travels beside the protocol
//!
//! Fields and types that the client does not know are ignored, so every event comes back from what we
//! encode: `part`, `call`, `event` and `payload` say what a chunk stands for, `message` and `attempt` where
//! it comes from, `derived` that it is for the page alone, and the type `hw-event` carries what has no word
//! at all. Of a record's origin only the message and the attempt travel; sequence numbers are counted anew.
//!
//! # What the page shows
//!
//! - Two blocks of text without a call between them are one part, and so are all thoughts.
//! - Thoughts that come after text of the same turn, and are the message's first, are carried unseen.
//! - A call id that is used again gets a suffix; a call of a failed attempt ends with an error.
//! - A question is a call of the tool `interrupt`, which the page may register: its answer comes back as
//!   the tool's output.
//! - A call of the page's and one of the server's in one response block each other: the client goes on only when
//!   *all* calls have outputs that it set itself. In the profile `client-tools` a response therefore shows what the
//!   page is asked for, and the server's calls are told in the last one, when the run ends.
//! - The page is asked to execute a call when the run waits for it, and not before: an output may be on its way.

mod chunk;
mod decode;
mod encode;
mod lint;
mod message;
mod request;

use crate::{
    decode::Decode,
    dialect::{CursorSupport, Dialect, Habits, KeepAlive, Profile, Reentry, Retraction, Support},
    encode::{Encode, EncodeOptions},
    error::Error,
    event::EventKind,
    framing::{Frame, Framing, Tail},
    lint::{Lint, Rule},
    request::{ChatRequest, RawRequest},
    state::Rules,
};

pub use chunk::{
    ApprovalBody, ApprovalRequested, Base, Call, Carried, Chunk, Content, Done, ErrorBody, Failure, Function,
    Payload, Thinking, TokenUsage, ToolCall, ToolInputAvailable, ToolResult,
};
pub use encode::Encoder;
pub use message::page_message;

/// What ends an SSE stream.
const END_MARKER: &str = "[DONE]";

/// The tool that a question is a call of.
const ASK: &str = "interrupt";

/// The profile for pages that execute tools.
const CLIENT_TOOLS: &str = "client-tools";

const DEFAULT: Profile = Profile {
    name: "default",
    clients: "@tanstack/ai-client 0.0.1 to 0.2.2",
    retraction: Retraction::Seam,
    reentry: Reentry::Replay,
    cursor: CursorSupport::None,
    keep_alive: KeepAlive::Blank,
    end_marker: Some(END_MARKER),
    framings: &[Framing::Sse, Framing::Ndjson],
    coalesce: true,
    wait_is_end: true,
};

static PROFILES: [Profile; 2] = [
    DEFAULT,
    Profile {
        name: CLIENT_TOOLS,
        clients: "the same; what the server speaks to a page that names no profile",
        ..DEFAULT
    },
];

/// TanStack AI 0.0.1 to 0.2.2.
#[derive(Debug, Clone, Copy)]
pub struct TanStack;

impl Dialect for TanStack {
    fn name(&self) -> &'static str {
        "tanstack"
    }

    fn about(&self) -> &'static str {
        "TanStack AI 0.0.1 to 0.2.2: eight chunk types over SSE or NDJSON"
    }

    fn profiles(&self) -> &'static [Profile] {
        &PROFILES
    }

    fn support(&self, kind: EventKind, _profile: &Profile) -> Support {
        const HW: Support = Support::Shown("`hw-event`");
        match kind {
            EventKind::TextDelta
            | EventKind::ReasoningDelta
            | EventKind::ToolInputStart
            | EventKind::ToolInputDelta
            | EventKind::ToolInputAvailable
            | EventKind::ToolOutput
            | EventKind::ApprovalRequested
            | EventKind::RunFinished
            | EventKind::RunFailed => Support::Exact,

            EventKind::Message => Support::Shown("one `content` chunk"),
            EventKind::ToolInputError => Support::Shown("`tool_call`, and `tool_result` with an error"),
            EventKind::ToolOutputError | EventKind::ToolDenied => {
                Support::Shown("`tool_result` with an error")
            }
            EventKind::InterruptRequested => {
                Support::Shown("a call of the tool `interrupt` that the page executes")
            }
            EventKind::InterruptAnswered | EventKind::InterruptExpired => {
                Support::Shown("`tool_result` of that call")
            }
            EventKind::RunCancelled | EventKind::RunWaiting => Support::Shown("`done`"),
            EventKind::Error => Support::Shown("`error` if it ends the run, `hw-event` otherwise"),
            EventKind::Unknown => Support::Shown("itself, if the client passes over it"),

            EventKind::RunStarted
            | EventKind::AttemptStarted
            | EventKind::AttemptFinished
            | EventKind::AttemptRetracted
            | EventKind::MessageStarted
            | EventKind::MessageFinished
            | EventKind::MessageMetadata
            | EventKind::StepStarted
            | EventKind::StepFinished
            | EventKind::TextStart
            | EventKind::TextEnd
            | EventKind::ReasoningStart
            | EventKind::ReasoningEnd
            | EventKind::ApprovalAnswered
            | EventKind::SourceUrl
            | EventKind::SourceDocument
            | EventKind::File
            | EventKind::Data
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
            | EventKind::Trace => HW,
        }
    }

    fn rules(&self) -> Rules {
        // Its client treats an `error` chunk as one of many.
        Rules { goes_on_after_end: true, objects_leave_no_part: true, ..Rules::default() }
    }

    fn encoder(&self, options: &EncodeOptions) -> Box<dyn Encode> {
        Box::new(Encoder::new(options))
    }

    fn tail(&self) -> Tail {
        Tail::Deliver
    }

    fn decoder(&self) -> Box<dyn Decode> {
        Box::<decode::Decoder>::default()
    }

    fn linter(&self) -> Box<dyn Lint> {
        Box::<lint::Linter>::default()
    }

    fn lint_rules(&self) -> &'static [Rule] {
        &lint::RULES
    }

    fn parse_request(&self, request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
        request::parse(request)
    }

    fn page_message(&self, message: &crate::state::Message) -> serde_json::Value {
        message::page_message(message)
    }

    fn habits(&self) -> &'static Habits {
        // A page does not say whether it has tools of its own, and one that has would wait for ever beside a call of the
        // server's that it is shown too early.
        const HABITS: Habits =
            Habits { safe_profile: Some("client-tools"), answers_apart: true, ..Habits::PLAIN };
        &HABITS
    }

    fn recognise(&self, frame: &Frame<'_>) -> u8 {
        match Chunk::of_frame(frame) {
            Ok(Chunk::ToolCall(_) | Chunk::ToolResult(_)) => 95,
            // Other dialects have an `error` and a `done` too, but no base fields.
            Ok(chunk) => match chunk.base().0 {
                chunk::Base { id: Some(_), model: Some(_), timestamp: Some(_), .. } => 90,
                _ if matches!(chunk, Chunk::Content(_) | Chunk::Thinking(_)) => 60,
                _ => 0,
            },
            Err(_) => 0,
        }
    }
}
