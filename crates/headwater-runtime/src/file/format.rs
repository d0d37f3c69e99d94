//! The file format as serde types. References are resolved later, by the check.

pub(super) mod duration;
pub(super) mod http;
pub(super) mod mcp;
pub(super) mod model;
pub(super) mod node;
mod script;

use schemars::JsonSchema;
use serde::Deserialize;

use self::{duration::Length, http::HttpToolText, mcp::McpText, model::ModelText, node::NodeText};
use super::span::{NameMap, WithSpan};
use crate::WhenBusy;

/// An agent: its models, tools and workflows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Headwater agent")]
pub(super) struct AgentText {
    /// The agent's name, unique in a store. Optional in included files.
    pub(super) name: Option<WithSpan<String>>,
    /// A description for people.
    pub(super) description: Option<String>,
    /// Suggested first messages, for pages that show them.
    #[serde(default)]
    pub(super) suggestions: Vec<String>,
    /// Files to include, relative to this one. Their definitions become part of the agent.
    #[serde(default)]
    pub(super) include: Vec<WithSpan<String>>,
    /// The models that nodes use, by local name.
    #[serde(default)]
    pub(super) models: NameMap<WithSpan<ModelText>>,
    /// The tools that nodes use. The program supplies them.
    #[serde(default)]
    pub(super) tools: Vec<WithSpan<String>>,
    /// Tools that call an HTTP API, by name. Nodes use them like the others.
    #[serde(default)]
    pub(super) http: NameMap<HttpToolText>,
    /// The MCP servers whose tools nodes use, by local name.
    #[serde(default)]
    pub(super) mcp: NameMap<McpText>,
    /// The node functions that workflows use. The program supplies them.
    #[serde(default)]
    pub(super) functions: Vec<WithSpan<String>>,
    /// Limits of the agent's runs.
    pub(super) limits: Option<LimitsText>,
    /// The parts of a run that readers see beside its text.
    #[serde(default)]
    pub(super) visibility: FileVisibility,
    /// The settings that clients may choose.
    #[serde(default)]
    pub(super) client: FileClient,
    /// What to do with a message sent while the session's previous one is being answered: `stop` the answer,
    /// `queue` the message, or `refuse` it. Default: the server's setting.
    pub(super) when_busy: Option<WhenBusy>,
    /// The workflow of runs that do not name one. Default: the first one.
    pub(super) default_workflow: Option<WithSpan<String>>,
    /// The workflows, by name.
    #[serde(default)]
    pub(super) workflows: NameMap<WorkflowText>,
}

/// The parts of a run that readers see beside its text. Hidden parts stay in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct FileVisibility {
    /// The model's reasoning.
    pub reasoning: bool,
    /// The inputs of tool calls.
    pub tool_inputs: bool,
    /// The outputs of tool calls.
    pub tool_outputs: bool,
    /// Error messages. If hidden, readers get a code, a fixed sentence and the request id; the log has the
    /// message.
    pub errors: bool,
    /// The beginning of the input, in lists of runs, where it can be searched for.
    pub input_previews: bool,
    /// The state of workflows, in checkpoints and exports.
    pub state: bool,
}

impl Default for FileVisibility {
    fn default() -> Self {
        Self {
            reasoning: true,
            tool_inputs: true,
            tool_outputs: true,
            errors: false,
            input_previews: true,
            state: false,
        }
    }
}

/// The settings that the clients of an agent may choose. Treat everything a client sends as untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct FileClient {
    /// Whether `system` and `developer` messages of clients reach the model. Default: no.
    pub system: bool,
    /// Whether a conversation unknown to the server starts with the messages that the page sends. Default:
    /// yes.
    pub seed: bool,
    /// The workflows that a client may select beside the default one; `*` allows any.
    pub workflows: Vec<String>,
    /// Whether a client may pass `data` to the first node. Default: no.
    pub data: bool,
}

impl Default for FileClient {
    fn default() -> Self {
        Self { system: false, seed: true, workflows: Vec::new(), data: false }
    }
}

/// Limits of an agent's runs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitsText {
    /// How long a run may wait for an answer. Default: 7d.
    pub(super) max_wait: Option<Length>,
    /// How long an ended run is kept. Default: 7d.
    pub(super) keep: Option<Length>,
    /// Maximum bytes of a run's data and state. Default: 262144.
    pub(super) max_state_bytes: Option<usize>,
    /// Maximum number of transitions between workflows in a run. Default: 32.
    pub(super) max_transitions: Option<u32>,
    /// Maximum number of nodes that one workflow enters in a run. Default: 1000.
    pub(super) max_steps: Option<u32>,
    /// Maximum bytes of a run's journal. Default: 134217728.
    pub(super) max_run_bytes: Option<u64>,
    /// Maximum bytes of one model reply. Default: 4194304.
    pub(super) max_answer_bytes: Option<usize>,
    /// Maximum bytes of one tool call's output. Default: 4194304.
    pub(super) max_tool_output_bytes: Option<usize>,
    /// Maximum number of takeovers in a row without progress. Default: 10.
    pub(super) max_takeovers: Option<u32>,
}

/// A workflow: nodes and the edges between them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkflowText {
    /// The version. Default: derived from the content. A run ends on the version that it began with.
    pub(super) version: Option<WithSpan<String>>,
    /// A description for people.
    pub(super) description: Option<String>,
    pub(super) start: WithSpan<String>,
    /// The nodes, by name.
    pub(super) nodes: NameMap<NodeText>,
    /// The edges. A node without an edge ends the workflow.
    #[serde(default)]
    pub(super) edges: Vec<WithSpan<EdgeText>>,
}

/// An edge from one node to another. Several edges without `when` from one node start parallel branches.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EdgeText {
    /// The node it starts at.
    pub(super) from: WithSpan<String>,
    /// The node it leads to, or `end`.
    pub(super) to: WithSpan<String>,
    /// The condition under which it is followed. Without one, it is followed when no other edge matches.
    pub(super) when: Option<WithSpan<String>>,
}
