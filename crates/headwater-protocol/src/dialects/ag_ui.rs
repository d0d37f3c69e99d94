//! AG-UI 1.0: what CopilotKit, `@ag-ui/client` and, since 0.3, TanStack AI speak.
//!
//! SSE with LF only, one event per `data:`, no end marker. The client holds every event to its schema and to an
//! order, and gives up at the first one that is wrong; so does the decoder here, with the client's own words.
//!
//! Two profiles. A request that says `protocolVersion` comes from 1.0 or later. One that does not comes from an older
//! client or from TanStack, for whom everything stays within what 0.0.58 takes: no cancelled outcome, no list of
//! pending calls, no unknown types.
//!
//! One of our messages becomes several of AG-UI's; which is written down in `ids.rs`, and how they find together again
//! in `notes.rs`. What is taken back is taken back by saying the conversation again without it, so the encoder wants
//! to know what the client holds: see [`EncodeOptions::messages`](crate::EncodeOptions). A client that comes back gets
//! the conversation in the same way, and then the beginnings of what is still open.
//!
//! What does not come back as it was: a beginning, an end or an input that AG-UI wants and nobody said is not told to
//! our own readers; a preliminary output is carried, and only the last one is a result; what comes after the end of a
//! run is left out.

mod apply;
mod chunk;
mod decode;
mod encode;
mod expand;
mod ids;
mod lint;
mod messages;
mod notes;
mod request;
mod schema;
#[cfg(test)]
mod tests;
mod verify;
mod wire;

pub use chunk::{
    ActivityDelta, ActivitySnapshot, Base, Chunk, Content, Custom, MessageDelta, MessageRef,
    MessagesSnapshot, Outcome, Payload, Raw, ReasoningEncryptedValue, ReasoningMessageChunk,
    ReasoningMessageStart, RunError, RunFinished, RunInput, RunStarted, StateDelta, StateSnapshot, Step,
    SubagentError, SubagentFinished, SubagentStarted, TextMessageChunk, TextMessageStart, TokenUsage,
    ToolCallArgs, ToolCallChunk, ToolCallEnd, ToolCallResult, ToolCallStart,
};
pub use decode::check_event;
pub use encode::Encoder;
pub(super) use messages::denial;
pub use notes::{Metadata, Notes, RawEvent};
pub use wire::{Function, Interrupt, WireCall, WireMessage};

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

/// AG-UI.
#[derive(Debug, Clone, Copy)]
pub struct AgUi;

const LEGACY: Profile = Profile {
    name: "legacy",
    clients: "@ag-ui/client 0.0.58 and 0.0.59",
    retraction: Retraction::Exact,
    reentry: Reentry::Snapshot,
    cursor: CursorSupport::LastEventId,
    keep_alive: KeepAlive::Comment,
    end_marker: None,
    framings: &[Framing::Sse],
    coalesce: true,
    wait_is_end: true,
};

static PROFILES: [Profile; 3] = [
    LEGACY,
    Profile { name: "1.0", clients: "@ag-ui/client 1.0 and later", ..LEGACY },
    Profile { name: TANSTACK, clients: "@tanstack/ai-client 0.3 and later", ..LEGACY },
];

/// TanStack's client takes a snapshot for all that there is; the others keep their thoughts if it has none.
const TANSTACK: &str = "tanstack";

/// How the clients build messages.
fn rules() -> Rules {
    Rules {
        metadata_is_shallow: true,
        steps_leave_no_part: true,
        objects_leave_no_part: true,
        ..Rules::default()
    }
}

impl Dialect for AgUi {
    fn name(&self) -> &'static str {
        "ag-ui"
    }

    fn about(&self) -> &'static str {
        "AG-UI: CopilotKit, @ag-ui/client, and TanStack AI since 0.3"
    }

    fn profiles(&self) -> &'static [Profile] {
        &PROFILES
    }

    fn support(&self, kind: EventKind, profile: &Profile) -> Support {
        let modern = profile.name == "1.0";
        match kind {
            EventKind::RunStarted
            | EventKind::RunFinished
            | EventKind::RunFailed
            | EventKind::RunWaiting
            | EventKind::Message
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
            | EventKind::ToolOutput
            | EventKind::AttemptRetracted
            | EventKind::StateSnapshot
            | EventKind::StateDelta
            | EventKind::MessagesSnapshot => Support::Exact,
            EventKind::RunCancelled if modern => Support::Exact,
            EventKind::RunCancelled => Support::Shown("`RUN_ERROR` with the code `cancelled`"),
            EventKind::ToolInputError | EventKind::ToolOutputError | EventKind::ToolDenied => {
                Support::Shown("`TOOL_CALL_RESULT` with the error")
            }
            EventKind::ApprovalRequested => {
                Support::Shown("`CUSTOM` `approval-requested`, and an interrupt when the run waits")
            }
            EventKind::InterruptRequested => {
                Support::Shown("`CUSTOM` `hw-event`, and an interrupt when the run waits")
            }
            EventKind::Data => Support::Shown("`CUSTOM` of that name"),
            EventKind::Unknown => Support::Shown("itself if it is `RAW` or alike, else `CUSTOM` `hw-event`"),
            EventKind::AttemptStarted
            | EventKind::AttemptFinished
            | EventKind::MessageStarted
            | EventKind::MessageFinished
            | EventKind::MessageMetadata
            | EventKind::ApprovalAnswered
            | EventKind::SourceUrl
            | EventKind::SourceDocument
            | EventKind::File
            | EventKind::Structured
            | EventKind::StructuredInvalidated
            | EventKind::InterruptAnswered
            | EventKind::InterruptExpired
            | EventKind::Status
            | EventKind::Transition
            | EventKind::Checkpoint
            | EventKind::Usage
            | EventKind::Warning
            | EventKind::Error
            | EventKind::Trace => Support::Shown("`CUSTOM` `hw-event`"),
        }
    }

    fn rules(&self) -> Rules {
        rules()
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
        lint::RULES
    }

    fn parse_request(&self, request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
        request::parse(request)
    }

    fn page_message(&self, message: &crate::state::Message) -> serde_json::Value {
        super::tanstack::page_message(message)
    }

    fn habits(&self) -> &'static Habits {
        const HABITS: Habits =
            Habits { replaces_conversation: true, joins_runs: true, names_runs: true, ..Habits::PLAIN };
        &HABITS
    }

    fn recognise(&self, frame: &Frame<'_>) -> u8 {
        let Ok(name) = crate::json::type_of(frame) else { return 0 };
        match &*name {
            "RUN_STARTED" => 100,
            name if schema::is_event(name) => 95,
            name if name.starts_with("THINKING_") => 80,
            _ => 0,
        }
    }
}
