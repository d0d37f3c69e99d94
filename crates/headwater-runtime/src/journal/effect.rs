//! Effects: records for replay, hidden from readers.

use std::{collections::BTreeMap, fmt};

use headwater_protocol::{
    AnswerFormat, CheckpointId, ClientTool, FinishReason, Interrupt, Message, MessageId, RequestId, RunId,
    SessionId, ToolCall,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Error, RawJson, keys::SessionKey, next::Next};

/// A record for replay.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(crate) enum Effect {
    /// The run starts.
    Begun(Box<RunSpec>),
    /// The driver hands the run over to another process, because its own is shutting down.
    HandedOver,
    /// A new driver continues from here.
    TakenOver,
    /// A node is entered. It gets the state as of here.
    Entered { visit: Visit },
    /// A try of a node failed; its failed hooks are run again.
    Failed { visit: Visit, error: Error },
    /// A visit that has written node state starts to wait.
    Parked(Box<ParkRecord>),
    /// A node has finished.
    Left(Box<NodeExit>),
    /// A hook has finished.
    Done {
        key: String,
        kind: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fingerprint: Option<String>,
        outcome: HookOutcome,
        /// When its work began, in milliseconds since 1970, if that takes time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started: Option<u64>,
    },
    /// Work with an external effect has started.
    Began { key: String },
    /// The provider keeps the answer to a model call, so that the next process can read it from there instead of
    /// asking again.
    AnswerKept { key: String, model: String, answer: String },
    /// A request to a person or the page.
    Asked { key: String, wait: Box<Wait> },
    /// The answer was accepted.
    Answered { request: RequestId, answer: AnswerValue },
    /// The records up to `before` are those of another run up to a sequence there, and the ones up to `total`
    /// answer the requests of that run. A journal that ends before `total` is an incomplete copy.
    Copied { run: RunId, seq: u64, before: u64, total: u64 },
}

/// Progress of a visit when it started to wait. It is run again from here with the state written so far, so
/// that work guarded by that state is not repeated.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ParkRecord {
    pub(crate) visit: Visit,
    /// The waiting hooks.
    pub(crate) waits: Vec<String>,
    pub(crate) node_state: Map<String, Value>,
    /// The workflow state written by the visit.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) workflow_state: Map<String, Value>,
    /// Number of uses of each hook id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) uses: BTreeMap<String, u32>,
    /// Number of updates of each state.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) updates: BTreeMap<String, u32>,
    #[serde(default)]
    pub(crate) emitted: usize,
    /// Whether hooks ran concurrently: then their order does not show which of them were skipped.
    #[serde(default)]
    pub(crate) concurrent: bool,
}

/// The exit of a node visit.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeExit {
    pub(crate) visit: Visit,
    pub(crate) next: Next,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) node_state: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) workflow_state: Map<String, Value>,
    /// The finish reason of its last model call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) finish: Option<FinishReason>,
    /// The final error, if the run continues in spite of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<Error>,
}

/// The result of a hook.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum HookOutcome {
    Value(Value),
    Error(Error),
}

/// A finished hook, as looked up when its node is run again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct HookRecord {
    pub(crate) kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fingerprint: Option<String>,
    pub(crate) outcome: HookOutcome,
}

/// The parameters that a run was started with.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct RunSpec {
    /// Its agent.
    pub agent: String,
    /// The workflow that it started with.
    pub workflow: String,
    /// Its version.
    pub version: String,
    /// The text of the input.
    pub input: String,
    /// Additional data for the first node.
    #[serde(skip_serializing_if = "RawJson::is_null")]
    pub data: RawJson,
    /// The input message. Parts are omitted if they only repeat the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_message: Option<Message>,
    /// The conversation before it, where no session has it as the run gets it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Message>,
    /// The conversation before it, where its session has it: messages that stay as they are need no copy in each journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<HistoryRange>,
    /// When it began, in milliseconds since 1970.
    pub created: u64,
    /// The owner of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The context that the route approved.
    #[serde(skip_serializing_if = "RawJson::is_null")]
    pub runtime_context: RawJson,
    /// The context that the client sent about itself: untrusted.
    #[serde(skip_serializing_if = "RawJson::is_null")]
    pub client_context: RawJson,
    /// The tools that the page can execute.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client_tools: Vec<ClientTool>,
    /// The tool choice for the model, in the format of the page's protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Value>,
    /// The answer format that the client requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_format: Option<AnswerFormat>,
    /// The message to continue, if this is a copy of a run that had started one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The HTTP request that started it: errors carry its id to readers and the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The retracted streams that readers of the session have seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invalidated: Vec<InvalidatedStream>,
}

impl RunSpec {
    /// The key of its session, if it has one.
    pub(crate) fn session_key(&self) -> Option<SessionKey> {
        self.session.as_ref().map(|session| SessionKey::new(self.owner.as_deref(), session))
    }
}

/// The end of the conversation up to a checkpoint, after the instructions with which it begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HistoryRange {
    /// The checkpoint before the turn.
    pub checkpoint: CheckpointId,
    /// How many messages up to there, the newest.
    pub messages: usize,
}

/// A structured stream that was retracted, because the session went back to before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InvalidatedStream {
    /// The stream.
    pub stream: String,
    /// The checkpoint rolled back to; `None` for the start of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointId>,
}

/// One visit of a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Visit {
    /// The workflow with its version: `email@1`.
    pub(crate) workflow: String,
    pub(crate) node: String,
    /// Counted from 1 for each node and branch.
    pub(crate) visit: u32,
    /// The numbers of the branches taken at each fork, empty outside of one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) branch: String,
}

impl fmt::Display for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}#{}", self.workflow, self.node, self.visit)?;
        if !self.branch.is_empty() {
            write!(f, "~{}", self.branch)?;
        }
        Ok(())
    }
}

/// A request of a run to a person or the page.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wait {
    /// The kind of the requesting hook.
    pub(crate) hook: String,
    pub(crate) request: RequestId,
    pub(crate) kind: WaitKind,
    /// When it expires, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<u64>,
}

/// The recipient and content of a request.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(crate) enum WaitKind {
    /// A question to a person.
    Question { interrupt: Box<Interrupt>, declinable: bool },
    /// A decision of a person about a tool call; the schema is for an input edited by the person.
    Approval {
        tool: Box<ToolCall>,
        input: Value,
        signature: String,
        schema: Value,
        /// Whether the person may edit the input.
        #[serde(default)]
        editable: bool,
    },
    /// The output of a tool, from the page.
    ClientTool { tool: Box<ToolCall>, input: Value },
}

/// The content of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum AnswerValue {
    /// An answer to a question.
    Given(Value),
    /// The person declined.
    Declined,
    /// A decision about a tool call.
    Approval {
        /// Whether the call is approved.
        approved: bool,
        /// The reason for the decision.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The edited input to use instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
    },
    /// The output of a page tool.
    Output(Value),
    /// The error of a page tool.
    OutputError(String),
    /// No answer came in time.
    Expired,
}
