//! OpenAI's Responses API, and Open Responses, the same protocol without OpenAI.
//!
//! A response is a list of *items*: messages, reasoning, tool calls. Its stream adds items, fills them with
//! deltas and completes them. Each event has a number, and `GET …/{id}?stream=true&starting_after=N`
//! continues after it. The document of a response is the same list, complete.
//!
//! Decisions:
//! - A response is the part of a run up to its first wait. Open questions are its last items: a
//!   `function_call` for a client tool or a question (`ask_user`), an `mcp_approval_request` for an approval.
//!   The next request answers them and has its own response. So a response is named by the run and the record
//!   after which it begins.
//! - A client executes each `function_call` it receives. So a call is sent when the run waits for it, not
//!   while the model writes it: a failed attempt must not leave one behind. Calls that the agent executes are
//!   `mcp_call`s.
//! - The clients reject unknown types of events and skip unknown items. So objects, data and files are items
//!   of our own types, and there are no events of our own.
//! - The stream cannot remove an item. Items of a failed attempt are closed as `incomplete`, and
//!   `response.completed`, which repeats the output, leaves them out.
//! - Reasoning is sent as summaries, the only form whose events all clients know.

mod decode;
mod document;
mod encode;
mod item;
mod lint;
mod name;
mod request;
mod whole_answer;

use headwater_protocol::{Error, EventKind, Frame};
use serde_json::Value;

use crate::{
    decode::Decode,
    dialect::{AnswerFlow, Dialect, Operations, Route, RouteBase, Support},
    documents::{ErrorReply, WholeAnswer},
    encode::{Encode, EncodeOptions},
    lint::{Lint, LintRule},
    names::{ReaderNames, ServerNames},
    profile::{CursorSupport, KeepAlive, Profile},
    reader::Reader,
    request::{ChatRequest, RawRequest},
};

/// The frame after the last event.
const END: &str = "[DONE]";

/// The dialect of OpenAI's Responses API.
///
/// ```
/// use headwater_dialects::{EncodeOptions, Encoder};
/// use headwater_protocol::{Event, Record};
///
/// let mut encoder = Encoder::new(&headwater_dialects::responses::Responses, &EncodeOptions::default());
/// encoder.record(&Record::new(0, Event::Message { content: "Hi".into() }));
/// assert!(encoder.bytes().starts_with(b"event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,"));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Responses;

const PROFILES: &[Profile] = &[Profile {
    name: "default",
    clients: "openai for JavaScript and Python, @ai-sdk/open-responses",
    cursor: CursorSupport::Number,
    keep_alive: KeepAlive::Comment,
    end_marker: Some(END),
    // The number of an event must be the same for every reader.
    coalesce: false,
    wait_is_end: true,
    ..Profile::PLAIN
}];

const RESPONSES: Route =
    Route { path: "responses", base: RouteBase::Version, operations: Operations::write("createResponse") };

const BELOW_RESPONSES: Route = Route {
    path: "responses/{*rest}",
    base: RouteBase::Version,
    operations: Operations::new("getResponse", "cancelResponse"),
};

impl Dialect for Responses {
    fn name(&self) -> &'static str {
        "responses"
    }

    fn about(&self) -> &'static str {
        "OpenAI's Responses API and Open Responses"
    }

    fn profiles(&self) -> &'static [Profile] {
        PROFILES
    }

    fn support(&self, kind: EventKind, _profile: &Profile) -> Support {
        use EventKind as Kind;
        Support::Shown(match kind {
            Kind::RunStarted => "`response.created`, `response.in_progress`",
            Kind::RunFinished => "`response.completed`, `response.incomplete`",
            Kind::RunFailed => "`response.failed`",
            Kind::RunCancelled => "`response.incomplete`, status `cancelled`",
            Kind::RunWaiting => "items for what it waits for, `response.completed`",
            Kind::AttemptRetracted => "items of status `incomplete`, absent from the output",
            Kind::Message | Kind::BlockStarted | Kind::BlockDelta | Kind::BlockEnded => {
                "a `message` or `reasoning` item"
            }
            Kind::ToolInputStart | Kind::ToolInputDelta | Kind::ToolInputAvailable => {
                "an `mcp_call`; of a client's tool a `function_call` when the run waits"
            }
            Kind::ToolInputError | Kind::ToolOutputError | Kind::ToolDenied => "a failed `mcp_call`",
            Kind::ToolOutput => "the output of an `mcp_call`",
            Kind::ApprovalRequested => "`mcp_approval_request` when the run waits",
            Kind::SourceUrl => "an annotation of the text",
            Kind::File => "`image_generation_call`, `headwater:file`",
            Kind::Data => "`headwater:data`",
            Kind::Structured => "`headwater:data`, once it is complete",
            Kind::StructuredInvalidated => "absent from the output",
            Kind::InterruptRequested => "a `function_call` of `ask_user` when the run waits",
            Kind::Usage => "`usage` of the response",
            _ => return Support::Hidden,
        })
    }

    fn request_headers(&self) -> &'static [&'static str] {
        // The identification headers of npm `openai`.
        &[
            "openai-organization",
            "openai-project",
            "x-stainless-arch",
            "x-stainless-helper-method",
            "x-stainless-lang",
            "x-stainless-os",
            "x-stainless-package-version",
            "x-stainless-poll-helper",
            "x-stainless-retry-count",
            "x-stainless-runtime",
            "x-stainless-runtime-version",
            "x-stainless-timeout",
        ]
    }

    fn routes(&self) -> &'static [Route] {
        const { &[RESPONSES, BELOW_RESPONSES] }
    }

    fn parse_request(&self, request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
        request::parse(request)
    }

    fn answers(&self) -> AnswerFlow {
        AnswerFlow::NewResponse
    }

    /// `POST …/cancel` stops a response, and others may read it later.
    fn stops_by_leaving(&self) -> bool {
        false
    }

    fn stop_gives_answer(&self) -> bool {
        true
    }

    fn reader_names(&self, _request: &ChatRequest, server: ServerNames<'_>) -> ReaderNames {
        ReaderNames {
            run: Some(name::response(server.run, server.since)),
            model: Some(server.agent.to_owned()),
            ..ReaderNames::default()
        }
    }

    fn encoder(&self, options: &EncodeOptions) -> Box<dyn Encode> {
        Box::new(encode::ResponsesEncoder::new(options))
    }

    fn whole_answer(&self, answer: &WholeAnswer<'_>) -> Value {
        whole_answer::whole_answer(answer)
    }

    fn error_document(&self, error: &ErrorReply<'_>) -> Option<Value> {
        Some(document::error(error))
    }
}

impl Reader for Responses {
    fn recognise(&self, frame: &Frame<'_>) -> u8 {
        let begins = crate::json::leading_type(frame.data).or(frame.event);
        if begins.is_some_and(|kind| kind.starts_with("response.")) { 97 } else { 0 }
    }

    fn decoder(&self) -> Box<dyn Decode> {
        Box::<decode::ResponsesDecoder>::default()
    }

    fn linter(&self) -> Box<dyn Lint> {
        Box::<lint::ResponsesLinter>::default()
    }

    fn lint_rules(&self) -> &'static [LintRule] {
        lint::RULES
    }
}
