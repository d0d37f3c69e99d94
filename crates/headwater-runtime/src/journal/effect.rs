//! What replay needs and no reader sees.

use std::{collections::BTreeMap, fmt};

use headwater_protocol::{
    AnswerFormat, CheckpointId, ClientTool, FinishReason, Interrupt, Message, MessageId, RequestId, RunId,
    SessionId, ToolCall,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Error, RawJson, keys::SessionKey, next::Next};

/// One thing that replay needs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(crate) enum Effect {
    /// The run begins.
    Begun(Box<RunSpec>),
    /// The driver leaves the run to another process, because its own is being stopped.
    HandedOver,
    /// A new driver goes on from here.
    TakenOver,
    /// A node is entered: it sees the state as it is here.
    Entered { visit: Visit },
    /// A try of a node failed; the hooks that failed in it are done again.
    Failed { visit: Visit, error: Error },
    /// A visit that has written node state begins to wait.
    Parked(Box<ParkRecord>),
    /// A node is done.
    Left(Box<NodeExit>),
    /// A hook is done.
    Done {
        key: String,
        kind: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fingerprint: Option<String>,
        outcome: HookOutcome,
    },
    /// Something with an effect outside is begun.
    Began { key: String },
    /// A person or the page is asked.
    Asked { key: String, wait: Box<Wait> },
    /// The answer was taken.
    Answered { request: RequestId, answer: AnswerValue },
    /// The records up to `before` are those of another run up to a sequence there, and the ones up to `total` answer
    /// what that run waited for. A journal that ends before `total` is half of a copy.
    Copied { run: RunId, seq: u64, before: u64, total: u64 },
}

/// How far a visit had come when it began to wait. It is run again from here: with the state that it had written, so that
/// what the state guards is not done again.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ParkRecord {
    pub(crate) visit: Visit,
    /// The hooks that wait.
    pub(crate) waits: Vec<String>,
    pub(crate) node_state: Map<String, Value>,
    /// The workflow state that the visit has written.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) workflow_state: Map<String, Value>,
    /// How often each hook id was used.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) uses: BTreeMap<String, u32>,
    /// How often each state was updated.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) updates: BTreeMap<String, u32>,
    #[serde(default)]
    pub(crate) emitted: usize,
    /// Whether hooks ran at the same time: then their order says nothing about which of them were skipped.
    #[serde(default)]
    pub(crate) concurrent: bool,
}

/// What a visit of a node leaves behind.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeExit {
    pub(crate) visit: Visit,
    pub(crate) next: Next,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) node_state: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) workflow_state: Map<String, Value>,
    /// Why the last model that it asked stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) finish: Option<FinishReason>,
    /// Why it failed for good, where the run goes on nevertheless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<Error>,
}

/// What a hook gave.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum HookOutcome {
    Value(Value),
    Error(Error),
}

/// A hook that is done, as it is looked up when its node is run again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct HookRecord {
    pub(crate) kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fingerprint: Option<String>,
    pub(crate) outcome: HookOutcome,
}

/// What a run was started with.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct RunSpec {
    /// The agent that it is of.
    pub agent: String,
    /// The workflow that it began with.
    pub workflow: String,
    /// Its version.
    pub version: String,
    /// What the person wrote.
    pub input: String,
    /// What the first node finds beside it.
    #[serde(skip_serializing_if = "RawJson::is_null")]
    pub data: RawJson,
    /// The message of the person. The parts are left out where they are only the input.
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
    /// Whose run it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// What the route approved.
    #[serde(skip_serializing_if = "RawJson::is_null")]
    pub runtime_context: RawJson,
    /// What the client says about itself: not to be trusted.
    #[serde(skip_serializing_if = "RawJson::is_null")]
    pub client_context: RawJson,
    /// The tools that the page can execute.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client_tools: Vec<ClientTool>,
    /// Which tool the model shall use, in the page's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Value>,
    /// The form that the client wants the answer in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_format: Option<AnswerFormat>,
    /// The message that it goes on with, where it is a copy of a run that had begun one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The HTTP request that began it: errors name it to readers and in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The parts that readers have seen in the session and that are retracted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invalidated: Vec<InvalidatedStream>,
}

impl RunSpec {
    /// Its session, where it is kept.
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
    /// The checkpoint that the session went back to; none is its beginning.
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

/// What a run asks of a person or the page.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wait {
    /// The kind of hook that asks.
    pub(crate) hook: String,
    pub(crate) request: RequestId,
    pub(crate) kind: WaitKind,
    /// When it is given up, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<u64>,
}

/// Who is asked for what.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(crate) enum WaitKind {
    /// A person, for an answer.
    Question { interrupt: Box<Interrupt>, declinable: bool },
    /// A person, for a decision about a tool call; the schema is for an input that the person changes.
    Approval {
        tool: Box<ToolCall>,
        input: Value,
        signature: String,
        schema: Value,
        /// Whether the person may change the input.
        #[serde(default)]
        editable: bool,
    },
    /// The page, for the output of a tool.
    ClientTool { tool: Box<ToolCall>, input: Value },
}

/// What was given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum AnswerValue {
    /// An answer to a question.
    Given(Value),
    /// The person did not want to answer.
    Declined,
    /// A decision about a tool call.
    Approval {
        /// Whether it may be made.
        approved: bool,
        /// Why, or why not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The input with which it is to be made instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
    },
    /// What a tool of the page gave.
    Output(Value),
    /// Why a tool of the page gave nothing.
    OutputError(String),
    /// No answer came in time.
    Expired,
}
