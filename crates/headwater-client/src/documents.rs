//! The documents in responses of the server.
//!
//! Times are UTC in ISO 8601, so they sort as text; [`headwater_protocol::parse_rfc3339`] returns
//! milliseconds. Unknown fields of a later server are ignored.

use headwater_protocol::{Interrupt, Message, RunStatus, ToolCall, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

macro_rules! documents {
    ($($(#[$meta:meta])* pub struct $name:ident { $($(#[$doc:meta])* pub $field:ident: $type:ty,)* })*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        #[non_exhaustive]
        pub struct $name { $($(#[$doc])* pub $field: $type,)* }
    )*};
}

documents! {
    /// A run in a list.
    pub struct RunSummary {
        /// Id of the run.
        pub id: String,
        /// The agent that runs.
        pub agent: String,
        /// The workflow of the agent.
        pub workflow: String,
        /// The version of the workflow.
        pub version: String,
        /// The status of the run.
        pub status: RunStatus,
        /// The code of the error that ended it.
        pub error: Option<String>,
        /// The model that answers, if it is known from the start.
        pub model: Option<String>,
        /// The tokens of its models.
        pub usage: Usage,
        /// Cost of its models, in the currency of the server's price list, if all of them have a price.
        pub cost: Option<f64>,
        /// The beginning of the input, if the agent shows it in lists.
        pub input: Option<String>,
        /// The principal that it belongs to.
        pub owner: Option<String>,
        /// The session that it is a turn of.
        pub session: Option<String>,
        /// Start time.
        pub created_at: String,
        /// When its status changed last.
        pub updated_at: String,
        /// When it ended.
        pub ended_at: Option<String>,
        /// When it stops waiting.
        pub expires_at: Option<String>,
        /// Why it cannot continue at present.
        pub stuck: Option<String>,
    }

    /// A page of runs, newest first. A filtered page may be empty and still have a `next`.
    pub struct RunPage {
        /// The runs.
        pub runs: Vec<RunSummary>,
        /// The cursor of the next page.
        pub next: Option<String>,
        /// Runs in between that cannot be read.
        pub unreadable: Vec<String>,
    }

    /// A run, with its open requests.
    pub struct RunDetails {
        /// The run.
        pub run: RunSummary,
        /// Its open requests.
        pub waits_for: Vec<OpenInterrupt>,
    }

    /// Whether there was something to stop.
    pub struct StopResult {
        /// False if the run had ended already, or ended before the stop took effect.
        pub stopped: bool,
    }

    /// A question, an approval or a call of a client tool that waits for an answer.
    pub struct OpenInterrupt {
        /// The id to use in an answer.
        pub request: String,
        /// The run that waits.
        pub run: String,
        /// The session of the run.
        pub session: Option<String>,
        /// The principal that it belongs to.
        pub owner: Option<String>,
        /// The node that asks.
        pub node: String,
        /// When the question was asked.
        pub asked_at: String,
        /// When it stops waiting.
        pub expires_at: String,
        /// Goes with the answer.
        pub token: Option<String>,
        /// The kind of request.
        pub kind: OpenInterruptKind,
        /// The question, of kind `Question`.
        pub interrupt: Option<Interrupt>,
        /// The call, of the other kinds.
        pub tool: Option<ToolCall>,
        /// The input of the call.
        pub input: Option<Value>,
    }

    /// A page of open requests.
    pub struct InterruptPage {
        /// The open requests.
        pub interrupts: Vec<OpenInterrupt>,
        /// The cursor of the next page.
        pub next: Option<String>,
        /// Interrupts in between that cannot be read.
        pub unreadable: Vec<String>,
    }

    /// A session.
    pub struct SessionSummary {
        /// Id of the session.
        pub id: String,
        /// The label set by its owner, otherwise that of its first turn.
        pub label: Option<String>,
        /// Whether lists leave it out.
        pub archived: bool,
        /// The principal that it belongs to.
        pub owner: Option<String>,
        /// Creation time.
        pub created_at: String,
        /// When it changed last.
        pub updated_at: String,
        /// The number of turns.
        pub turns: u64,
        /// The newest checkpoint.
        pub checkpoint: Option<String>,
        /// The origin of a fork.
        pub forked_from: Option<ForkOrigin>,
        /// The newest run.
        pub last_run: Option<String>,
        /// The run that is active.
        pub active_run: Option<String>,
        /// The run that waits for an answer.
        pub waiting_run: Option<String>,
        /// The number of queued messages.
        pub queued: usize,
    }

    /// The origin of a fork.
    pub struct ForkOrigin {
        /// The session that was forked.
        pub session: String,
        /// The checkpoint that was forked.
        pub checkpoint: String,
    }

    /// A page of sessions, newest first.
    pub struct SessionPage {
        /// The sessions.
        pub sessions: Vec<SessionSummary>,
        /// The cursor of the next page.
        pub next: Option<String>,
        /// Sessions in between that cannot be read. They can be deleted.
        pub unreadable: Vec<String>,
    }

    /// A page of messages, oldest first.
    pub struct MessagePage {
        /// The messages.
        pub messages: Vec<Message>,
        /// The cursor of the page of older messages.
        pub before: Option<u64>,
    }

    /// A session at the end of a turn.
    pub struct Checkpoint {
        /// Id of the checkpoint.
        pub id: String,
        /// The session that created it.
        pub session: String,
        /// The number of the turn, from 1.
        pub turn: u64,
        /// The label of the turn.
        pub label: Option<String>,
        /// When the turn ended.
        pub created_at: String,
        /// The run of the turn.
        pub run: String,
        /// The checkpoint before it.
        pub parent: Option<String>,
        /// How the turn ended.
        pub status: RunStatus,
        /// The workflow of the run, with its version.
        pub workflow: String,
        /// The node visits that were in progress.
        pub position: Vec<String>,
        /// The requests that the run waited for.
        pub requests: Vec<String>,
    }

    /// A page of checkpoints, newest first.
    pub struct CheckpointPage {
        /// The checkpoints.
        pub checkpoints: Vec<Checkpoint>,
        /// The cursor of the page of older checkpoints.
        pub before: Option<u64>,
    }

    /// A checkpoint, and the session in that state.
    pub struct CheckpointDetails {
        /// The checkpoint.
        pub checkpoint: Checkpoint,
        /// The messages so far.
        pub messages: Vec<Message>,
        /// The structured objects, by the id of their stream.
        pub structured: Value,
        /// The state of the workflow, if the agent makes it visible.
        pub workflow_state: Map<String, Value>,
    }

    /// The data invalidated by a rollback or undo.
    pub struct RollbackResult {
        /// The structured streams that are no longer valid.
        pub streams: Vec<String>,
        /// The requests that were withdrawn.
        pub requests: Vec<String>,
    }

    /// One of several turns that were done in place of one another.
    pub struct Variant {
        /// The end of the turn.
        pub checkpoint: Checkpoint,
        /// Whether the session continues from it.
        pub selected: bool,
    }

    /// A message that waits behind the active run. It is named by the run that will answer it.
    pub struct QueuedMessage {
        /// The run that will answer it.
        pub run: String,
        /// The checkpoint that its turn will leave.
        pub checkpoint: String,
        /// The text.
        pub text: String,
        /// The whole message, with its files.
        pub message: Message,
        /// The label of the turn.
        pub label: Option<String>,
        /// When it was queued.
        pub queued_at: String,
    }

    /// The agents of a server.
    pub struct AgentPage {
        /// The agents.
        pub agents: Vec<AgentSummary>,
        /// The agent of requests that name none.
        pub default: Option<String>,
    }

    /// An agent.
    pub struct AgentSummary {
        /// Its name.
        pub name: String,
        /// A description for people.
        pub description: Option<String>,
        /// Suggested first messages.
        pub suggestions: Vec<String>,
        /// Whether its runs may wait for an answer, an approval or a client tool.
        pub asks: bool,
        /// The tools that its nodes take by name.
        pub tools: Vec<AgentToolSummary>,
        /// The workflow of runs that name none.
        pub default_workflow: Option<String>,
    }

    /// The models of all agents.
    pub struct ModelPage {
        /// The models.
        pub models: Vec<ModelSummary>,
    }

    /// A model of an agent, and how its calls went.
    pub struct ModelSummary {
        /// The agent whose model it is.
        pub agent: String,
        /// `provider:model`.
        pub model: String,
        /// The agent's names for it.
        pub aliases: Vec<String>,
        /// Whether the server has the key that it needs.
        pub key: KeyPresence,
        /// How its calls went.
        pub state: ModelHealth,
        /// When it last answered, at this server since it was started.
        pub last_success_at: Option<String>,
        /// When a call last failed.
        pub last_failure_at: Option<String>,
        /// The code of that failure; operators only.
        pub last_error: Option<String>,
        /// Number of failures since the last success.
        pub failures: u32,
    }

    /// A tool of an agent.
    pub struct AgentToolSummary {
        /// Its name.
        pub name: String,
        /// Its name for people.
        pub title: Option<String>,
        /// The description that the model gets.
        pub description: Option<String>,
        /// Whether the client executes it.
        pub client: bool,
        /// Whether a call may need approval.
        pub approval: bool,
    }
}

/// The kind of an open request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpenInterruptKind {
    /// A question to a person.
    Question,
    /// A tool call that a person must approve.
    Approval,
    /// A call of a tool that the client executes.
    ClientTool,
}

/// Whether a server has the key that a model needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyPresence {
    /// It has a key.
    Configured,
    /// It needs a key and has none.
    Missing,
    /// It needs none.
    NotNeeded,
}

/// How the calls of a model went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelHealth {
    /// It was not called since the server was started.
    Unknown,
    /// Its last call was answered, or it failed less than three times since.
    Healthy,
    /// Three or more calls in a row failed.
    Failing,
}

/// A run that was started.
#[derive(Debug, Deserialize)]
pub(crate) struct TurnReply {
    pub(crate) run: String,
    #[serde(default)]
    pub(crate) agent: Option<String>,
    pub(crate) queued: bool,
    pub(crate) repeated: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct SessionStopReply {
    pub(crate) stopped: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct VariantsReply {
    pub(crate) variants: Vec<Variant>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct QueueReply {
    pub(crate) queue: Vec<QueuedMessage>,
}
