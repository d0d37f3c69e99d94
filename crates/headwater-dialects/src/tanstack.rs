//! TanStack AI 0.0.1 to 0.2.2: eight chunk types over SSE or NDJSON.
//!
//! Since 0.3.0 its clients use AG-UI. Neither understands the other or reports the mismatch: use the `ag-ui`
//! dialect for those.
//!
//! These clients read lines, not SSE events: `data: ` has exactly one space, a chunk is one line, and only
//! blank lines are skipped silently. `[DONE]` and `done` end nothing, the end of the body does. A response is
//! one assistant message. The encoder documents how it handles the rest.
//!
//! # On the page
//!
//! - Two blocks of text without a call between them are one part, and so is all reasoning.
//! - Reasoning after text of the same turn is not sent if it would be the message's first.
//! - A reused call id gets a suffix; a call of a failed attempt ends with an error.
//! - A question is a call of the client tool `ask_user`: its output is the answer.
//! - A structured object is a call of a tool named after its type, with the object as output.
//! - A client tool call and a server tool call in one response block each other: the client only continues
//!   when *all* calls have outputs that it set itself. So in the profile `client-tools` a response only shows
//!   what the page is asked for, and the server's calls are sent in the last one, when the run ends.
//! - The page is asked to execute a call only when the run waits for it: an output may already be on its way.

mod chunk;
mod decode;
mod encode;
mod lint;
mod message;
mod request;

use headwater_protocol::{Error, EventKind, Frame, Framing, Rules, Tail};

pub use message::page_message;

use chunk::Chunk;

use crate::{
    client_request::ClientRequest,
    decode::Decode,
    dialect::{AnswerFlow, Dialect, Support},
    encode::{Encode, EncodeOptions},
    lint::{Lint, LintRule},
    profile::{KeepAlive, Profile},
    reader::{Reader, unsupported},
    request::{ChatRequest, RawRequest},
};

/// The end marker of an SSE stream.
const END_MARKER: &str = "[DONE]";

const DEFAULT: Profile = Profile {
    name: "default",
    clients: "@tanstack/ai-client 0.0.1 to 0.2.2",
    keep_alive: KeepAlive::Blank,
    end_marker: Some(END_MARKER),
    framings: &[Framing::Sse, Framing::Ndjson],
    wait_is_end: true,
    ..Profile::PLAIN
};

static PROFILES: [Profile; 2] = [
    DEFAULT,
    Profile {
        name: "client-tools",
        clients: "the same; what the server speaks to a page that names no profile",
        ..DEFAULT
    },
];

/// The profile for pages that execute tools.
static CLIENT_TOOLS: &Profile = &PROFILES[1];

/// The dialect of TanStack AI 0.0.1 to 0.2.2.
#[derive(Debug, Clone, Copy, Default)]
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
        Support::Shown(match kind {
            EventKind::BlockDelta => "`content`; `thinking`, unless it would repeat a text",
            EventKind::Message => "one `content` chunk",
            EventKind::ToolInputStart | EventKind::ToolInputDelta | EventKind::ToolInputAvailable => {
                "`tool_call`"
            }
            EventKind::ToolInputError => "`tool_call`, and `tool_result` with an error",
            EventKind::ApprovalRequested => "`approval-requested`",
            EventKind::ToolOutput => "`tool_result`",
            EventKind::ToolOutputError | EventKind::ToolDenied => "`tool_result` with an error",
            EventKind::Structured => "a call named after the data type, with its result",
            EventKind::StructuredInvalidated => "`tool_result` of that call with an error",
            EventKind::InterruptRequested => "a call of `ask_user` that the page executes",
            EventKind::InterruptAnswered | EventKind::InterruptExpired => "`tool_result` of that call",
            EventKind::AttemptRetracted => "its calls end with an error",
            EventKind::RunStarted => "the model's name in every chunk",
            EventKind::RunFinished | EventKind::RunCancelled | EventKind::RunWaiting => "`done`",
            EventKind::RunFailed => "`error`",
            EventKind::Error => "`error`, if it ends the run",
            _ => return Support::Hidden,
        })
    }

    fn encoder(&self, options: &EncodeOptions) -> Box<dyn Encode> {
        Box::new(encode::TanstackEncoder::new(options))
    }

    fn chat_profile(&self, asks: bool) -> &'static Profile {
        // A page that is asked for something would wait forever next to a server call that is shown too
        // early.
        if asks { CLIENT_TOOLS } else { self.default_profile() }
    }

    fn decision_hint(&self) -> Option<&'static str> {
        Some(
            "The decision about the call is missing: these clients do not send it. Send {conversationId, approvalId, approved} \
             to this URL before addToolApprovalResponse, or use `decide` of @headwater/client/tanstack.",
        )
    }

    fn answers(&self) -> AnswerFlow {
        AnswerFlow::OtherResponse
    }

    fn parse_request(&self, request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
        request::parse(request)
    }

    fn page_message(&self, message: &headwater_protocol::Message) -> serde_json::Value {
        message::page_message(message)
    }
}

impl Reader for TanStack {
    fn client_request(&self, _request: &ClientRequest<'_>) -> Result<serde_json::Value, Error> {
        Err(unsupported(self.name(), "`ag-ui`, which servers of TanStack AI read"))
    }

    fn recognise(&self, frame: &Frame<'_>) -> u8 {
        match Chunk::of_frame(frame) {
            Ok(Chunk::ToolCall(_) | Chunk::ToolResult(_)) => 95,
            // Other dialects have an `error` and a `done` too, but no base fields.
            Ok(chunk) => match chunk.base() {
                chunk::Base { id: Some(_), model: Some(_), timestamp: Some(_), .. } => 90,
                _ if matches!(chunk, Chunk::Content(_) | Chunk::Thinking(_)) => 60,
                _ => 0,
            },
            Err(_) => 0,
        }
    }

    fn tail(&self) -> Tail {
        Tail::Deliver
    }

    fn decoder(&self) -> Box<dyn Decode> {
        Box::<decode::TanStackDecoder>::default()
    }

    fn rules(&self) -> Rules {
        // Its client does not treat an `error` chunk as the end.
        Rules { goes_on_after_end: true, ..Rules::default() }
    }

    fn linter(&self) -> Box<dyn Lint> {
        Box::<lint::TanStackLinter>::default()
    }

    fn lint_rules(&self) -> &'static [LintRule] {
        lint::RULES
    }
}
