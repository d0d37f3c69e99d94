//! What a page asks for, whatever dialect it asks in.

use headwater_protocol::{
    AnswerFormat, ApprovalId, CheckpointId, ClientTool, Message, MessageId, Part, RequestId, RunId,
    SessionId, ToolCallId, ToolPart, ToolState,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::dialect::{ContentMode, Profile};

/// A request as it came over HTTP.
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
    /// The method.
    pub method: &'a str,
    /// The path and the query.
    pub target: &'a str,
    /// The headers.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body.
    pub body: &'a [u8],
}

impl<'a> RawRequest<'a> {
    /// A POST of a JSON body.
    #[must_use]
    pub fn post(target: &'a str, body: &'a [u8]) -> Self {
        Self { method: "POST", target, headers: &[], body }
    }

    /// The value of a header, its name in any case.
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
        pairs.into_iter().find(|(key, _)| percent_decode(key) == name).map(|(_, value)| percent_decode(value))
    }
}

/// Decodes `%41` and `+`; what is not an escape stays as it is.
pub(crate) fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escape = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = escape.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (first, byte) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = after;
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What a page asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// What is to be done.
    pub action: Action,
    /// The conversation as the page holds it, the newest message last. A message has an empty id where the page gave none.
    pub messages: Vec<Message>,
    /// Whether these are all messages that the page shows; otherwise only what is new.
    pub complete: bool,
    /// The session.
    pub session: Option<SessionId>,
    /// The run, where the page names it.
    pub run: Option<RunId>,
    /// The run that this one goes on from.
    pub parent_run: Option<RunId>,
    /// The workflow to run.
    pub workflow: Option<String>,
    /// What the page says about itself and its user: not to be trusted.
    pub context: Map<String, Value>,
    /// The state that is shared with the page.
    pub state: Option<Value>,
    /// The message that is edited, regenerated or gone on with.
    pub message: Option<MessageId>,
    /// The tools that the page can execute.
    pub tools: Vec<ClientTool>,
    /// Which tool the model shall or may use, in the page's words.
    pub tool_choice: Option<Value>,
    /// How TanStack's `content` is filled.
    pub content: ContentMode,
    /// The form that the answer shall have.
    pub answer_format: Option<AnswerFormat>,
    /// What the page's tools gave.
    pub tool_results: Vec<ToolResult>,
    /// Decisions about tool calls.
    pub approvals: Vec<ApprovalAnswer>,
    /// Answers to questions.
    pub answers: Vec<InterruptAnswer>,
    /// Where the reader was.
    pub cursor: Option<RequestCursor>,
    /// Whether the answer is streamed; otherwise it is one JSON document.
    pub stream: bool,
    /// The encoder profile that the client needs, where the request shows it.
    pub profile: Option<&'static Profile>,
    /// Without a stream: whether the document waits until the answer is complete; otherwise it shows how far the answer is.
    pub wait: bool,
    /// The same key again is the same request again.
    pub idempotency_key: Option<String>,
    /// The agent that is asked, where the dialect has a field for it.
    pub agent: Option<String>,
    /// The answer that is read, resumed or stopped, in a dialect whose answers have names.
    pub answer: Option<AnswerRef>,
    /// The answer that the conversation goes on from. Another one may have come after it: then this is a branch.
    pub previous: Option<AnswerRef>,
}

/// An answer of a run: a run that waits and is answered gives several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerRef {
    /// The run.
    pub run: RunId,
    /// The last record of the answers before this one; 0 for the first.
    pub since: u64,
}

impl ChatRequest {
    /// Adds what the page's tools gave and what was decided about calls, as the message at this place shows it.
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

/// What is to be done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// The newest message is to be answered.
    #[default]
    Chat,
    /// The last answer is to be given again.
    Regenerate,
    /// The page comes back to a run.
    Resume,
    /// The page wants the conversation as it stands.
    Hydrate,
    /// Only answers and decisions are given; they go to the run that waits.
    Answer,
    /// The run is to be stopped.
    Stop,
    /// The page wants a list of its conversations.
    ListSessions,
    /// The session gets another label, or is archived or brought back; what is absent stays as it is.
    ChangeSession {
        /// The label.
        label: Option<String>,
        /// Whether it is archived.
        archived: Option<bool>,
    },
    /// The session is deleted.
    DeleteSession,
    /// The page wants to know which agents there are.
    ListAgents,
    /// Something about the session's checkpoints.
    Checkpoint(CheckpointAction),
}

/// What is to be done with a session's checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointAction {
    /// List them.
    List,
    /// Show one.
    Get(CheckpointId),
    /// Go back to one.
    Rollback(CheckpointId),
    /// Begin a new session from one.
    Fork {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// The new session, where the page names it.
        session: Option<SessionId>,
    },
}

/// What a tool of the page gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call.
    pub call: ToolCallId,
    /// The output.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "headwater_json::present")]
    pub output: Option<Value>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ToolResult {
    /// The outcome that a call shows, if it has one.
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
    /// The request.
    pub approval: ApprovalId,
    /// The call, where the page names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<ToolCallId>,
    /// The decision.
    pub approved: bool,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The signature that the request carried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The input that the call is made with instead, where the person changed it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "headwater_json::present")]
    pub input: Option<Value>,
}

impl ApprovalAnswer {
    /// The decision that a call shows, if it was made and nothing came after it.
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
    /// What allows to answer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The answer; absent where the person gave none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "headwater_json::present")]
    pub answer: Option<Value>,
    /// The person does not want to answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
}

/// Where a reader was.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestCursor {
    /// At the very beginning.
    Start,
    /// At the end: only what is new counts.
    Now,
    /// After the event of this id.
    EventId(String),
    /// After the frame of this number.
    Sequence(u64),
}
