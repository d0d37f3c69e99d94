//! The named-event SSE contract: `event: message.delta` and a JSON object in `data:`.
//!
//! It was written for applications that leave the AI SDK and keep its UI. Home-made readers of a few dozen
//! lines use it; no published client does. The contract leaves eleven points open; our decisions are in
//! `docs/dialects.md`, and `tests/dialects/agents.rs` has a test for each.
//!
//! Besides the contract's eleven events there are three of ours, `reasoning.delta`, `file` and `data`, and a
//! few extra fields. A reader of the contract ignores them.

mod decode;
mod encode;
mod frames;
mod lint;
mod request;

use headwater_protocol::{Error, EventKind, Frame, Rules, Tail};
use serde_json::{Value, json};

use crate::{
    client_request::ClientRequest,
    decode::Decode,
    dialect::{Dialect, Operations, Route, RouteBase, Support},
    encode::{Encode, EncodeOptions},
    lint::{Lint, LintRule},
    names::{ReaderNames, ServerNames},
    profile::{CursorSupport, KeepAlive, Profile},
    reader::Reader,
    request::{ChatRequest, RawRequest},
};

/// The event names: the contract's own, then ours.
const NAMES: [&str; 14] = [
    "meta",
    "message.start",
    "message.delta",
    "message.end",
    "tool.delta",
    "tool.call",
    "tool.result",
    "source",
    "status",
    "error",
    "done",
    "reasoning.delta",
    "file",
    "data",
];

/// The named-event SSE contract.
///
/// ```
/// use headwater_dialects::{EncodeOptions, Encoder};
/// use headwater_protocol::{Event, Record};
///
/// let mut encoder = Encoder::new(&headwater_dialects::agents::AgentsDialect, &EncodeOptions::default());
/// encoder.record(&Record::new(0, Event::RunCancelled { reason: None }));
/// assert!(encoder.bytes().starts_with(b"event: meta\ndata: {"));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct AgentsDialect;

static PROFILES: [Profile; 1] = [Profile {
    name: "default",
    clients: "readers of the contract",
    cursor: CursorSupport::LastEventId,
    keep_alive: KeepAlive::Comment,
    ..Profile::PLAIN
}];

const ONBOARDING: Route = Route {
    path: "onboarding",
    base: RouteBase::Dialect,
    operations: Operations::new("readOnboarding", "onboard"),
};

impl Dialect for AgentsDialect {
    fn name(&self) -> &'static str {
        "agents"
    }

    fn about(&self) -> &'static str {
        "The named-event SSE contract (`event: message.delta`), for hand-written readers"
    }

    fn profiles(&self) -> &'static [Profile] {
        &PROFILES
    }

    fn support(&self, kind: EventKind, _profile: &Profile) -> Support {
        use EventKind as Kind;
        Support::Shown(match kind {
            Kind::RunStarted => "`meta`",
            Kind::RunFinished => "`done`",
            Kind::RunFailed => "`error`, terminal",
            Kind::RunCancelled => "`done`, reason `cancelled`",
            Kind::RunWaiting => "`status`, state `waiting`; then `done`, reason `waiting`",
            Kind::AttemptRetracted => "`status`, state `retrying`; what follows begins in a new part",
            Kind::MessageStarted => "`message.start`",
            Kind::MessageFinished => "`message.end`",
            Kind::Message => "`message.delta`",
            Kind::BlockStarted | Kind::BlockDelta => "`message.delta`, `reasoning.delta`",
            Kind::ToolInputStart | Kind::ToolInputDelta => "`tool.delta`",
            Kind::ToolInputAvailable => "`tool.call`",
            Kind::ToolInputError => "`tool.call`, `tool.result` of state `output-error`",
            Kind::ApprovalRequested => "`tool.call` of state `approval-requested`",
            Kind::ApprovalAnswered => "`tool.call` of state `approval-responded`",
            Kind::ToolOutput => "`tool.result`",
            Kind::ToolOutputError => "`tool.result` of state `output-error`",
            Kind::ToolDenied => "`tool.result` of state `output-denied`",
            Kind::SourceUrl => "`source`",
            Kind::File => "`file`",
            Kind::Data => "`data`",
            Kind::Structured => "`data`, the object so far",
            Kind::StructuredInvalidated => "`data`, `null`",
            Kind::MessagesSnapshot => "messages that are new",
            Kind::InterruptRequested => "`tool.call` of `ask_user`",
            Kind::InterruptAnswered => "`tool.result` of `ask_user`",
            Kind::InterruptExpired => "`tool.result` of `ask_user`, state `output-error`",
            Kind::Usage => "`done`",
            Kind::Status => "`status`",
            Kind::Error => "`error`, not terminal",
            _ => return Support::Hidden,
        })
    }

    fn encoder(&self, options: &EncodeOptions) -> Box<dyn Encode> {
        Box::new(encode::AgentsEncoder::new(options))
    }

    fn routes(&self) -> &'static [Route] {
        const { &[Route::CHAT, Route::BELOW_CHAT, ONBOARDING] }
    }

    fn reader_names(&self, _request: &ChatRequest, server: ServerNames<'_>) -> ReaderNames {
        ReaderNames {
            request: Some(server.request.to_owned()),
            endpoint: Some(server.path.to_owned()),
            ..ReaderNames::default()
        }
    }

    fn parse_request(&self, request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
        request::parse(request)
    }
}

impl Reader for AgentsDialect {
    fn recognise(&self, frame: &Frame<'_>) -> u8 {
        match frame.event {
            // Names that other dialects use as well.
            Some("error" | "done" | "status" | "data" | "file" | "source") => 60,
            Some(name) if NAMES.contains(&name) => 95,
            Some(_) => 10,
            None => 0,
        }
    }

    fn tail(&self) -> Tail {
        Tail::Deliver
    }

    fn decoder(&self) -> Box<dyn Decode> {
        Box::<decode::AgentsDecoder>::default()
    }

    fn rules(&self) -> Rules {
        Rules::default()
    }

    fn linter(&self) -> Box<dyn Lint> {
        Box::<lint::AgentsLinter>::default()
    }

    fn lint_rules(&self) -> &'static [LintRule] {
        lint::RULES
    }

    fn client_request(&self, request: &ClientRequest<'_>) -> Result<Value, Error> {
        let messages: Vec<_> = request.messages.iter().map(|message| self.page_message(message)).collect();
        let mut body = json!({ "sessionId": request.session, "messages": messages });
        if let (false, Value::Object(fields)) = (request.answers.is_empty(), &mut body) {
            fields.insert("answers".to_owned(), json!(request.answers));
        }
        Ok(body)
    }
}
