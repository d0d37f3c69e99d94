//! AG-UI 1.0, the protocol of CopilotKit, `@ag-ui/client` and, since 0.3, TanStack AI.
//!
//! SSE with LF only, one event per `data:`, no end marker; NDJSON for TanStack's `fetchHttpStream`. The
//! client checks every event against its schema and the expected order, and rejects the stream at the first
//! violation. The linter reports such events; the decoder reads on.
//!
//! A request with a `protocolVersion` comes from 1.0 or later. One without comes from an older client or from
//! TanStack and only gets what 0.0.58 accepts: no cancelled outcome, no list of pending calls, no unknown
//! types. TanStack's client gets its own parts for objects and its binding on questions.
//!
//! One of our messages becomes several AG-UI messages; `ids.rs` assigns their ids. An attempt is retracted by
//! sending the conversation again without it, so the encoder needs the client's messages: see
//! [`EncodeOptions::messages`](crate::EncodeOptions). A client that reconnects gets the conversation in the
//! same way, followed by the start events of everything that is still open.

mod chunk;
mod client_request;
mod copilotkit;
mod decode;
mod encode;
mod event_order;
mod ids;
mod interrupts;
mod lint;
mod messages;
mod read;
mod request;
#[cfg(test)]
mod tests;

use headwater_protocol::{Error, EventKind, Frame, Framing, Message, Part, Rules, Tail, ToolState};
use serde_json::{Value, json};

use crate::{
    client_request::ClientRequest,
    decode::Decode,
    denial::denial,
    dialect::{Dialect, Route, Support},
    documents::{AgentEntry, ConversationPage, SessionList},
    encode::{Encode, EncodeOptions},
    lint::{Lint, LintRule},
    names::{ReaderNames, ServerNames},
    profile::{CursorSupport, KeepAlive, Profile, Reentry, Retraction},
    reader::Reader,
    request::{ChatRequest, RawRequest},
};

/// The AG-UI dialect.
#[derive(Debug, Clone, Copy, Default)]
pub struct AgUi;

const LEGACY: Profile = Profile {
    name: "legacy",
    clients: "@ag-ui/client 0.0.58 and 0.0.59",
    retraction: Retraction::Exact,
    reentry: Reentry::Snapshot,
    cursor: CursorSupport::LastEventId,
    keep_alive: KeepAlive::Comment,
    framings: &[Framing::Sse, Framing::Ndjson],
    wait_is_end: true,
    ..Profile::PLAIN
};

static PROFILES: [Profile; 6] = [
    LEGACY,
    Profile { name: "1.0", clients: "@ag-ui/client 1.0 and later", ..LEGACY },
    Profile { name: "tanstack", clients: "@tanstack/ai-client 0.3 and later, before 1.0", ..LEGACY },
    Profile { name: "copilotkit", clients: "CopilotKit 1.x, whose `runtimeUrl` this server is", ..LEGACY },
    Profile {
        name: "assistant-ui",
        clients: "@assistant-ui/react-ag-ui, and others that pass over `MESSAGES_SNAPSHOT` in a run",
        retraction: Retraction::Seam,
        ..LEGACY
    },
    Profile { name: "tanstack-1", clients: "TanStack AI 1.0 and later", ..LEGACY },
];

static V1: &Profile = &PROFILES[1];
static TANSTACK: &Profile = &PROFILES[2];
static COPILOTKIT: &Profile = &PROFILES[3];
static ASSISTANT_UI: &Profile = &PROFILES[4];
static TANSTACK_1: &Profile = &PROFILES[5];

fn is_tanstack(profile: &Profile) -> bool {
    profile == TANSTACK || profile == TANSTACK_1
}

/// How the clients build messages.
fn rules() -> Rules {
    Rules { metadata_is_shallow: true, steps_leave_no_part: true, ..Rules::default() }
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
        Support::Shown(match kind {
            EventKind::RunWaiting => "`RUN_FINISHED` with what it waits for",
            EventKind::StateSnapshot | EventKind::StateDelta => return Support::Exact,
            EventKind::RunStarted => "`RUN_STARTED`",
            EventKind::RunFinished => "`RUN_FINISHED`",
            EventKind::RunFailed => "`RUN_ERROR`",
            EventKind::RunCancelled if profile == V1 => "`RUN_FINISHED` with the outcome `cancelled`",
            EventKind::RunCancelled if profile == COPILOTKIT => "`RUN_FINISHED`",
            EventKind::RunCancelled => "`RUN_ERROR` with the code `cancelled`",
            EventKind::Message => "`TEXT_MESSAGE_*`: a message of its own",
            EventKind::BlockStarted | EventKind::BlockDelta | EventKind::BlockEnded => {
                "`TEXT_MESSAGE_*`, `REASONING_*`: a message of its own"
            }
            EventKind::StepStarted => "`STEP_STARTED`",
            EventKind::StepFinished => "`STEP_FINISHED`",
            EventKind::ToolInputStart | EventKind::ToolInputDelta | EventKind::ToolInputAvailable => {
                "`TOOL_CALL_START`, `_ARGS`, `_END`"
            }
            EventKind::ToolOutput => "`TOOL_CALL_RESULT`; the last one alone",
            EventKind::ToolInputError | EventKind::ToolOutputError | EventKind::ToolDenied => {
                "`TOOL_CALL_RESULT` with the error"
            }
            EventKind::AttemptRetracted | EventKind::MessagesSnapshot => "`MESSAGES_SNAPSHOT`",
            EventKind::ApprovalRequested | EventKind::InterruptRequested => "an interrupt when the run waits",
            EventKind::Data => "`CUSTOM` of that name",
            EventKind::Structured if is_tanstack(profile) => {
                "a `structured-output` part in a message of its own"
            }
            EventKind::StructuredInvalidated if is_tanstack(profile) => "the part is emptied",
            EventKind::Structured => "an activity message: `ACTIVITY_SNAPSHOT`, `ACTIVITY_DELTA`",
            EventKind::StructuredInvalidated => "the activity is emptied",
            EventKind::Unknown => "`RAW`, `REASONING_ENCRYPTED_VALUE`: as they came",
            _ => return Support::Hidden,
        })
    }

    fn routes(&self) -> &'static [Route] {
        const {
            let [single, info, run, connect, stop, threads, thread, archive] = copilotkit::ROUTES;
            &[Route::CHAT, Route::BELOW_CHAT, single, info, run, connect, stop, threads, thread, archive]
        }
    }

    /// CopilotKit's client expects a stream even if there is nothing to send.
    fn resumes_with_a_stream(&self) -> bool {
        true
    }

    fn session_list(&self, list: &SessionList<'_>) -> Value {
        copilotkit::threads(list)
    }

    fn agent_list(&self, agents: &[AgentEntry<'_>]) -> Value {
        copilotkit::info(agents)
    }

    fn encoder(&self, options: &EncodeOptions) -> Box<dyn Encode> {
        Box::new(encode::AgUiEncoder::new(options))
    }

    fn parse_request(&self, request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
        match copilotkit::parse(request)? {
            Some(chat) => Ok(chat),
            None => request::parse(request),
        }
    }

    fn page_message(&self, message: &Message) -> Value {
        page_message(message)
    }

    fn reader_names(&self, request: &ChatRequest, _server: ServerNames<'_>) -> ReaderNames {
        let run = request.run.as_ref().map(|run| run.as_str().to_owned());
        ReaderNames { run, ..ReaderNames::default() }
    }

    fn history_names_run(&self) -> bool {
        true
    }

    fn history(&self, page: &ConversationPage<'_>) -> Value {
        history(page)
    }
}

impl Reader for AgUi {
    fn recognise(&self, frame: &Frame<'_>) -> u8 {
        let Ok(name) = crate::json::type_of(frame) else { return 0 };
        match &*name {
            "RUN_STARTED" => 100,
            name if chunk::Chunk::TYPES.contains(&name) => 95,
            name if name.starts_with("THINKING_") => 80,
            _ => 0,
        }
    }

    fn tail(&self) -> Tail {
        Tail::Deliver
    }

    fn decoder(&self) -> Box<dyn Decode> {
        Box::<decode::AgUiDecoder>::default()
    }

    fn rules(&self) -> Rules {
        rules()
    }

    fn linter(&self) -> Box<dyn Lint> {
        Box::<lint::AgUiLinter>::default()
    }

    fn lint_rules(&self) -> &'static [LintRule] {
        lint::RULES
    }

    fn client_request(&self, request: &ClientRequest<'_>) -> Result<Value, Error> {
        Ok(client_request::write(request))
    }
}

/// A conversation as a TanStack page loads it, with the active run and its open questions.
fn history(page: &ConversationPage<'_>) -> Value {
    let messages: Vec<_> = page.messages.iter().map(page_message).collect();
    let active = page.run.map(|run| json!({ "runId": run }));
    let interrupts = page
        .waiting
        .map(|(run, state)| json!({ "runId": run, "pending": interrupts::pending(state, run.as_str()) }));
    let mut document = json!({ "messages": messages, "activeRun": active, "interrupts": interrupts });
    if let (Some(before), Value::Object(fields)) = (page.before, &mut document) {
        fields.insert("page".to_owned(), json!({ "truncated": true, "cursor": before.to_string() }));
    }
    document
}

/// A message in TanStack's form, with structured objects at their positions.
fn page_message(message: &Message) -> Value {
    let mut parts = Vec::new();
    for stretch in message.parts.chunk_by(|a, b| !is_object(a) && !is_object(b)) {
        if let [Part::Structured(part)] = stretch {
            let data = part.data.as_ref().map(messages::object);
            parts.extend(data.map(
                |data| json!({ "type": "structured-output", "status": "complete", "data": data, "raw": "" }),
            ));
            continue;
        }
        // Questions are interrupts in AG-UI, not message parts.
        let shown = stretch.iter().filter(|part| !matches!(part, Part::Question(_)));
        let stretch = Message { parts: shown.cloned().collect(), ..message.clone() };
        if let Some(Value::Array(more)) = super::tanstack::page_message(&stretch).get_mut("parts") {
            parts.append(more);
        }
    }
    settle_calls(message, &mut parts);
    json!({ "id": message.id, "role": message.role, "parts": parts })
}

/// Sets each call's result in the form that the client gives it when it arrives on the stream.
fn settle_calls(message: &Message, parts: &mut [Value]) {
    let tools = message.parts.iter().filter_map(Part::as_tool);
    for tool in tools.filter(|tool| tool.state.is_settled()) {
        let failure = match tool.state {
            ToolState::OutputError => Some(tool.error.as_deref().unwrap_or_default()),
            ToolState::OutputDenied => Some(denial(tool)),
            _ => None,
        };
        let state = if failure.is_some() || tool.is_error { "error" } else { "complete" };
        for part in parts.iter_mut() {
            if part["type"] == "tool-call" && part["id"] == tool.call.as_str() {
                part["state"] = json!(state);
                if let Some(failure) = failure {
                    part["output"] = json!(failure);
                }
            } else if part["type"] == "tool-result" && part["toolCallId"] == tool.call.as_str() {
                part["state"] = json!(state);
                if let Some(failure) = failure {
                    part["content"] = json!(failure);
                    part["error"] = json!(failure);
                }
            }
        }
    }
}

fn is_object(part: &Part) -> bool {
    matches!(part, Part::Structured(_))
}
