//! The AI SDK UI message stream, protocol v1, read by `useChat` of the npm package `ai`.
//!
//! SSE with one JSON chunk per `data:` line and `[DONE]` at the end. One stream builds one message. The
//! client validates every chunk and rejects the stream at the first invalid one: an unknown type always, an
//! unknown key before 5.0.217, 6.0.231 and 7.0.32, a `null` always. Requests do not name a version, so the
//! default profile only sends what the oldest clients know.
//!
//! Decisions. Approvals are chunks of version 6, which version 5 rejects: its own profile gets them as data,
//! and no `finishReason`, which it knows since 5.0.92. A signature is a key of 6.0.202, so the default
//! profile does not send it. Further messages of a run are steps of the one message. A structured object is a
//! data part that is replaced while it grows. A question is a call of the client tool `ask_user`. A run that
//! waits ends its stream with `finish{tool-calls}`, because only then does the client send answers. A stream
//! that ends before its run ends with `error`, since the client takes a silent end as success.

mod chunk;
mod decode;
mod encode;
mod lint;
mod request;

use std::borrow::Cow;

use chunk::Chunk;
use headwater_protocol::{Error, EventKind, Frame, Rules, ToolScope};
use serde_json::{Value, json};

use crate::{
    client_request::ClientRequest,
    decode::Decode,
    dialect::{Dialect, Support},
    encode::{Encode, EncodeOptions},
    lint::{Lint, LintRule},
    profile::{CursorSupport, KeepAlive, Profile, Retraction},
    reader::Reader,
    request::{ChatRequest, RawRequest},
};

/// The AI SDK UI message stream.
///
/// ```
/// use headwater_dialects::{Dialect, ai_sdk::AiSdk};
///
/// assert_eq!(AiSdk.default_profile().name, "strict");
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct AiSdk;

const STRICT: Profile = Profile {
    name: "strict",
    clients: "ai 5 (from 5.0.92), 6 and 7, the ones that reject unknown keys too",
    cursor: CursorSupport::Ignored,
    keep_alive: KeepAlive::Comment,
    end_marker: Some(decode::DONE),
    ..Profile::PLAIN
};

static PROFILES: [Profile; 3] = [
    STRICT,
    Profile { name: "ai-7", clients: "ai 7.0.70 and later", retraction: Retraction::Exact, ..STRICT },
    Profile {
        name: "ai-5.0",
        clients: "ai 5.0.30 to 5.0.91, and all of ai 5 where tools ask for approval",
        ..STRICT
    },
];

static AI_7: &Profile = &PROFILES[1];
static AI_5_0: &Profile = &PROFILES[2];

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
        let ai_7 = profile == AI_7;
        let ai_5_0 = profile == AI_5_0;
        Support::Shown(match kind {
            EventKind::RunWaiting if ai_5_0 => "`finish`",
            EventKind::ApprovalRequested if ai_5_0 => "`data-approval`",
            EventKind::ToolDenied if ai_5_0 => "`tool-output-error`",
            EventKind::RunFinished => "`finish`",
            EventKind::RunFailed => "`error`, `finish`",
            EventKind::RunCancelled => "`abort`",
            EventKind::RunWaiting => "`finish` with `tool-calls`",
            EventKind::AttemptRetracted if ai_7 => "`reset-step`",
            EventKind::AttemptRetracted => "closed parts, calls that failed",
            EventKind::MessageStarted => "`start`; a new step for every other message",
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
            EventKind::ApprovalAnswered if ai_7 => "`tool-approval-response`",
            EventKind::ToolOutput => "`tool-output-available`",
            EventKind::ToolOutputError => "`tool-output-error`",
            EventKind::ToolDenied => "`tool-output-denied`",
            EventKind::SourceUrl => "`source-url`",
            EventKind::SourceDocument => "`source-document`",
            EventKind::File => "`file`",
            EventKind::Data => "`data-<name>`",
            EventKind::Structured => "`data-<dataType>` with the stream as `id`",
            EventKind::StructuredInvalidated => "the same part, empty",
            EventKind::InterruptRequested => "a call of the tool `ask_user`",
            EventKind::InterruptAnswered => "the output of that call",
            EventKind::InterruptExpired => "`tool-output-error` of that call",
            EventKind::Status => "transient `data-status`",
            EventKind::Unknown if ai_7 => "`custom`, `steering-message`",
            _ => return Support::Hidden,
        })
    }

    fn encoder(&self, options: &EncodeOptions) -> Box<dyn Encode> {
        Box::new(encode::AiSdkEncoder::new(options))
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("x-vercel-ai-ui-message-stream", "v1")]
    }

    fn resumes_ended_runs(&self) -> bool {
        // The page has stored its messages itself.
        false
    }

    fn target<'a>(&self, request: &RawRequest<'a>) -> Cow<'a, str> {
        request::target(request)
    }

    fn parse_request(&self, request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
        request::parse(request)
    }
}

impl Reader for AiSdk {
    // The decoder takes any end, as the client does.
    fn needs_end_event(&self) -> bool {
        true
    }

    fn resumes_by_replay(&self) -> bool {
        true
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

    fn decoder(&self) -> Box<dyn Decode> {
        Box::new(decode::AiSdkDecoder::default())
    }

    fn rules(&self) -> Rules {
        Rules {
            tool_scope: ToolScope::Step,
            ui_message_parts: true,
            goes_on_after_end: true,
            ..Rules::default()
        }
    }

    fn linter(&self) -> Box<dyn Lint> {
        Box::new(lint::AiSdkLinter::default())
    }

    fn lint_rules(&self) -> &'static [LintRule] {
        lint::RULES
    }

    fn client_request(&self, request: &ClientRequest<'_>) -> Result<Value, Error> {
        request.without_answers(self.name())?;
        let messages: Vec<_> = request.messages.iter().map(|message| self.page_message(message)).collect();
        Ok(json!({ "id": request.session, "messages": messages, "trigger": "submit-message" }))
    }
}
