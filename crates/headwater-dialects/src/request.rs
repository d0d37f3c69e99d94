//! Chat requests, independent of the dialect.

use headwater_protocol::{
    AnswerFormat, ApprovalId, CheckpointId, ClientTool, Message, MessageId, Part, RequestId, RunId,
    SessionId, ToolCallId, ToolPart, ToolState,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::profile::{ContentMode, Profile};

/// An HTTP request.
///
/// ```
/// use headwater_dialects::RawRequest;
///
/// let headers = [("X-Run-Id", "run_1")];
/// let request = RawRequest { method: "GET", target: "/chat?offset=-1", headers: &headers, body: b"" };
/// assert_eq!(request.header("x-run-id"), Some("run_1"));
/// assert_eq!(request.query("offset").as_deref(), Some("-1"));
/// assert_eq!(request.path(), "/chat");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct RawRequest<'a> {
    /// The HTTP method.
    pub method: &'a str,
    /// The path and the query.
    pub target: &'a str,
    /// The header names and values.
    pub headers: &'a [(&'a str, &'a str)],
    /// The bytes as they were received, within the limits of the server. They may not be JSON.
    pub body: &'a [u8],
}

impl<'a> RawRequest<'a> {
    /// A POST with a JSON body.
    #[must_use]
    pub fn post(target: &'a str, body: &'a [u8]) -> Self {
        Self { method: "POST", target, headers: &[], body }
    }

    /// The value of a header; names are case-insensitive.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    /// The path without the query.
    #[must_use]
    pub fn path(&self) -> &'a str {
        self.target.split_once('?').map_or(self.target, |(path, _)| path)
    }

    /// A parameter of the query, decoded.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<String> {
        let (_, query) = self.target.split_once('?')?;
        let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        pairs.into_iter().find(|(key, _)| form_decode(key) == name).map(|(_, value)| form_decode(value))
    }
}

/// Decodes `%41` in a path, where a plus is not a space; invalid escapes stay.
pub(crate) fn percent_decode(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Decodes `%41` and `+` in a query.
fn form_decode(text: &str) -> String {
    percent_decode(&text.replace('+', " "))
}

/// A request of a page.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// The requested action.
    pub action: Action,
    /// The conversation as the page holds it, the newest message last. Messages without an id have an empty
    /// one.
    pub messages: Vec<Message>,
    /// Whether these are all messages of the page; otherwise only the new ones.
    pub complete: bool,
    /// The session of the conversation.
    pub session: Option<SessionId>,
    /// The run, if the page names it.
    pub run: Option<RunId>,
    /// The run that this one continues.
    pub parent_run: Option<RunId>,
    /// The workflow to run.
    pub workflow: Option<String>,
    /// Data about the page and its user, sent by the page: not trustworthy.
    pub context: Map<String, Value>,
    /// The state shared with the page.
    pub state: Option<Value>,
    /// The message that is edited, regenerated or continued.
    pub message: Option<MessageId>,
    /// The tools that the page can execute.
    pub tools: Vec<ClientTool>,
    /// The tool choice, in the page's format.
    pub tool_choice: Option<Value>,
    /// What TanStack chunks carry in `content`.
    pub content: ContentMode,
    /// The requested format of the answer.
    pub answer_format: Option<AnswerFormat>,
    /// The outputs of client tools.
    pub tool_results: Vec<ToolResult>,
    /// Decisions about tool calls.
    pub approvals: Vec<ApprovalAnswer>,
    /// Answers to questions.
    pub answers: Vec<InterruptAnswer>,
    /// The position of the reader.
    pub cursor: Option<RequestCursor>,
    /// Whether to stream the answer; otherwise it is one JSON document.
    pub stream: bool,
    /// The encoder profile for the client, if the request identifies it.
    pub profile: Option<&'static Profile>,
    /// Without streaming: whether to wait until the answer is complete, instead of returning the current
    /// state.
    pub wait: bool,
    /// Requests with the same key are repetitions.
    pub idempotency_key: Option<String>,
    /// The agent, if the dialect has a field for it.
    pub agent: Option<String>,
    /// The answer to read, resume or stop, in a dialect whose answers have ids.
    pub answer: Option<AnswerRef>,
    /// The answer that the conversation continues. If a newer one exists, this is a branch.
    pub previous: Option<AnswerRef>,
}

/// An answer of a run: a run that waits in between has several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerRef {
    /// The run of the answer.
    pub run: RunId,
    /// The last record of the earlier answers; 0 for the first.
    pub since: u64,
}

impl ChatRequest {
    /// Adds the tool outputs and decisions of the message at this index.
    pub(crate) fn add_answers_of(&mut self, message: Option<usize>) {
        let message = message.and_then(|at| self.messages.get(at));
        for tool in message.into_iter().flat_map(|message| &message.parts).filter_map(Part::as_tool) {
            self.tool_results.extend(ToolResult::of(tool));
            self.approvals.extend(ApprovalAnswer::of(tool));
        }
    }
}

impl Default for ChatRequest {
    fn default() -> Self {
        Self {
            action: Action::Chat,
            messages: Vec::new(),
            complete: false,
            session: None,
            run: None,
            parent_run: None,
            workflow: None,
            context: Map::new(),
            state: None,
            message: None,
            tools: Vec::new(),
            tool_choice: None,
            content: ContentMode::default(),
            answer_format: None,
            tool_results: Vec::new(),
            approvals: Vec::new(),
            answers: Vec::new(),
            cursor: None,
            stream: true,
            profile: None,
            wait: true,
            idempotency_key: None,
            agent: None,
            answer: None,
            previous: None,
        }
    }
}

/// The action of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Answer the newest message.
    #[default]
    Chat,
    /// Repeat the last answer.
    Regenerate,
    /// Reconnect to a run.
    Resume,
    /// Load the conversation.
    Hydrate,
    /// Pass answers and decisions to the waiting run.
    Answer,
    /// Stop the run.
    Stop,
    /// List the conversations.
    ListSessions,
    /// Rename, archive or restore the session; absent fields stay.
    ChangeSession {
        /// The new label.
        label: Option<String>,
        /// Whether to archive it.
        archived: Option<bool>,
    },
    /// Delete the session.
    DeleteSession,
    /// List the agents.
    ListAgents,
    /// A checkpoint operation.
    Checkpoint(CheckpointAction),
}

/// An operation on a session's checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointAction {
    /// List them.
    List,
    /// Show one.
    Get(CheckpointId),
    /// Roll back to one.
    Rollback(CheckpointId),
    /// Start a new session from one.
    Fork {
        /// The checkpoint to fork.
        checkpoint: CheckpointId,
        /// The new session, if the page names it.
        session: Option<SessionId>,
    },
}

/// The result of a client tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub call: ToolCallId,
    /// The output, unless the tool failed.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "headwater_json::present")]
    pub output: Option<Value>,
    /// Why the tool failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ToolResult {
    /// The outcome of a call, if it has one.
    pub(crate) fn of(tool: &ToolPart) -> Option<Self> {
        let (output, error) = match tool.state {
            ToolState::OutputAvailable => (Some(tool.output.clone().unwrap_or_default()), None),
            ToolState::OutputError => (None, tool.error.clone()),
            _ => return None,
        };
        Some(Self { call: tool.call.clone(), output, error })
    }
}

/// A decision about a tool call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalAnswer {
    /// The approval request.
    pub approval: ApprovalId,
    /// The call, if the page names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<ToolCallId>,
    /// Whether the call is approved.
    pub approved: bool,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The signature of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The input to use instead, if the person changed it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "headwater_json::present")]
    pub input: Option<Value>,
}

impl ApprovalAnswer {
    /// The decision about a call, if it is made and the call has not continued.
    pub(crate) fn of(tool: &ToolPart) -> Option<Self> {
        let held = tool.approval.as_ref().filter(|_| tool.state == ToolState::ApprovalResponded)?;
        Some(Self {
            approval: held.id.clone()?,
            call: Some(tool.call.clone()),
            approved: held.approved?,
            reason: held.reason.clone(),
            signature: held.signature.clone(),
            input: None,
        })
    }
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterruptAnswer {
    /// The question.
    pub request: RequestId,
    /// The token that authorises the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The answer, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "headwater_json::present")]
    pub answer: Option<Value>,
    /// The person declined to answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
}

/// The position of a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestCursor {
    /// The beginning.
    Start,
    /// The end: only new events.
    Now,
    /// After the event with this id.
    EventId(String),
    /// After the frame with this number.
    Sequence(u64),
}
