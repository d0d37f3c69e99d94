//! The named-event SSE contract: `event: message.delta` and a JSON object in `data:`.
//!
//! It was written down for people who leave the AI SDK and keep its UI: home-made readers of a few
//! dozen lines speak it, and no published client does. The document leaves eleven points open; how
//! they are decided here is in `docs/dialects.md`, and `tests/protocol/agents.rs` has a test for each.
//!
//! What the contract has no word for travels in events and fields of the same style, which a reader
//! of the contract passes over (`reasoning.delta`, `tool.approval`, `partId`, `attempt`, …), so
//! decoding gives the run's events back. What the encoder must add for the contract's sake is marked
//! `implied` and not decoded. Normalisations: an event names its message, whether the record did or
//! not; the end of a message that is not open is not said; nothing is said after the run's end.

pub mod chunk;
mod decode;
mod encode;
mod ledger;
mod lint;
mod reentry;
mod request;

pub use chunk::Chunk;
pub use decode::Decoder;
pub use encode::Encoder;

use crate::{
    decode::Decode,
    dialect::{CursorSupport, Dialect, Habits, KeepAlive, Profile, Reentry, Retraction, Support},
    encode::{Encode, EncodeOptions},
    error::Error,
    event::EventKind,
    framing::{Frame, Framing},
    lint::{Lint, Rule},
    request::{ChatRequest, RawRequest},
};

/// The named-event SSE contract.
///
/// ```
/// use headwater_protocol::{EncodeOptions, Encoder, Event, Record, dialects};
///
/// let mut encoder = Encoder::new(&dialects::agents::Agents, &EncodeOptions::default());
/// encoder.record(&Record::new(0, Event::RunCancelled { reason: None }));
/// assert!(encoder.bytes().starts_with(b"event: meta\ndata: {"));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Agents;

static PROFILES: [Profile; 1] = [Profile {
    name: "default",
    clients: "readers of the contract; ours know its extensions",
    retraction: Retraction::Seam,
    reentry: Reentry::Replay,
    cursor: CursorSupport::LastEventId,
    keep_alive: KeepAlive::Comment,
    end_marker: None,
    framings: &[Framing::Sse],
    coalesce: true,
    wait_is_end: false,
}];

impl Dialect for Agents {
    fn name(&self) -> &'static str {
        "agents"
    }

    fn about(&self) -> &'static str {
        "The named-event SSE contract (`event: message.delta`), for home-made readers"
    }

    fn profiles(&self) -> &'static [Profile] {
        &PROFILES
    }

    fn support(&self, kind: EventKind, _profile: &Profile) -> Support {
        use EventKind as Kind;
        match kind {
            Kind::RunStarted
            | Kind::RunFinished
            | Kind::RunFailed
            | Kind::MessageStarted
            | Kind::MessageFinished
            | Kind::TextDelta
            | Kind::ToolInputDelta
            | Kind::ToolInputAvailable
            | Kind::ToolOutput
            | Kind::ToolOutputError
            | Kind::SourceUrl
            | Kind::Status
            | Kind::Error
            | Kind::Unknown => Support::Exact,
            Kind::RunCancelled => Support::Shown("`done` with `cancelled`"),
            Kind::RunWaiting => Support::Shown("`status` and `run.waiting`, then `done`"),
            Kind::AttemptStarted => Support::Shown("`attempt.start`"),
            Kind::AttemptFinished => Support::Shown("`attempt.end`"),
            Kind::AttemptRetracted => Support::Shown("`attempt.retract`"),
            Kind::MessageMetadata => Support::Shown("`message.metadata`"),
            Kind::Message => Support::Shown("`message.delta` with `whole`"),
            Kind::StepStarted => Support::Shown("`step.start`"),
            Kind::StepFinished => Support::Shown("`step.end`"),
            Kind::TextStart => Support::Shown("`text.start`"),
            Kind::TextEnd => Support::Shown("`text.end`"),
            Kind::ReasoningStart => Support::Shown("`reasoning.start`"),
            Kind::ReasoningDelta => Support::Shown("`reasoning.delta`"),
            Kind::ReasoningEnd => Support::Shown("`reasoning.end`"),
            Kind::ToolInputStart => Support::Shown("an empty `tool.delta` with `toolName`"),
            Kind::ToolInputError => Support::Shown("`tool.result` with `inputError`"),
            Kind::ApprovalRequested => Support::Shown("`tool.approval`"),
            Kind::ApprovalAnswered => Support::Shown("`tool.approval.response`"),
            Kind::ToolDenied => Support::Shown("`tool.result` of state `output-denied`"),
            Kind::SourceDocument => Support::Shown("`source.document`"),
            Kind::File => Support::Shown("`file`"),
            Kind::Data => Support::Shown("`data`"),
            Kind::Structured => Support::Shown("`structured`"),
            Kind::StructuredInvalidated => Support::Shown("`structured.invalidated`"),
            Kind::StateSnapshot => Support::Shown("`state`"),
            Kind::StateDelta => Support::Shown("`state.delta`"),
            Kind::InterruptRequested => Support::Shown("`status` and `interrupt`"),
            Kind::InterruptAnswered => Support::Shown("`interrupt.answer`"),
            Kind::InterruptExpired => Support::Shown("`interrupt.expired`"),
            Kind::Transition => Support::Shown("`transition`"),
            Kind::Checkpoint => Support::Shown("`checkpoint`"),
            Kind::Usage => Support::Shown("`usage`"),
            Kind::Warning => Support::Shown("`warning`"),
            Kind::MessagesSnapshot | Kind::Trace => Support::Shown("`hw-event`"),
        }
    }

    fn encoder(&self, options: &EncodeOptions) -> Box<dyn Encode> {
        Box::new(Encoder::new(options))
    }

    fn decoder(&self) -> Box<dyn Decode> {
        Box::<Decoder>::default()
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

    fn habits(&self) -> &'static Habits {
        const HABITS: Habits = Habits { wants_request: true, ..Habits::PLAIN };
        &HABITS
    }

    fn recognise(&self, frame: &Frame<'_>) -> u8 {
        match frame.event {
            // Words that others use as well.
            Some("error" | "done" | "status" | "data" | "state" | "file" | "source" | "usage") => 60,
            Some(name) if chunk::NAMES.contains(&name) => 95,
            Some(_) => 10,
            None => 0,
        }
    }
}
