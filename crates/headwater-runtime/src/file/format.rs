//! The format of an agent's file, as it is written. Nothing is looked up here; that is for the check.

pub(super) mod duration;
pub(super) mod mcp;
pub(super) mod node;
mod script;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use self::{duration::Length, mcp::McpText, node::NodeText, script::ScriptText};
use super::place::{Named, Placed, text_or_map};
use crate::WhenBusy;

/// An agent: its models, its tools, and the workflows that it runs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Headwater agent")]
pub(super) struct AgentText {
    /// Its name among the agents that share a store. An included file needs none.
    pub(super) name: Option<Placed<String>>,
    /// What it does, for people.
    pub(super) description: Option<String>,
    /// Messages to begin a conversation with, for pages that offer some.
    #[serde(default)]
    pub(super) suggestions: Vec<String>,
    /// Other files, named from the folder of this one. What they define is part of the agent.
    #[serde(default)]
    pub(super) include: Vec<Placed<String>>,
    /// The models that its nodes ask, by names of its own.
    #[serde(default)]
    pub(super) models: Named<Placed<ModelText>>,
    /// The tools that its nodes use. The program brings them along.
    #[serde(default)]
    pub(super) tools: Vec<Placed<String>>,
    /// The MCP servers whose tools its nodes use, by names of its own.
    #[serde(default)]
    pub(super) mcp: Named<McpText>,
    /// The node functions that its workflows use. The program brings them along.
    #[serde(default)]
    pub(super) functions: Vec<Placed<String>>,
    /// How it treats its runs.
    pub(super) limits: Option<LimitsText>,
    /// What readers see of its runs beside their text.
    #[serde(default)]
    pub(super) visibility: FileVisibility,
    /// What its clients may decide.
    #[serde(default)]
    pub(super) client: FileClient,
    /// What happens to a message that comes while the session's last one is being answered: `stop` the answer, `queue` the
    /// message, or `refuse` it. Otherwise the server's setting counts.
    pub(super) when_busy: Option<WhenBusy>,
    /// The workflow of runs that name none; otherwise the first one.
    pub(super) default_workflow: Option<Placed<String>>,
    /// The workflows, by their names.
    #[serde(default)]
    pub(super) workflows: Named<WorkflowText>,
}

/// A model: `provider:model`, or a script that stands for one.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub(super) enum ModelText {
    /// A model of a provider, as `provider:model`.
    Name(String),
    /// A model that follows a script and needs no key.
    Script {
        /// The script.
        script: ScriptText,
    },
}

impl<'de> Deserialize<'de> for ModelText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Fields {
            script: ScriptText,
        }
        impl From<Fields> for ModelText {
            fn from(fields: Fields) -> Self {
                Self::Script { script: fields.script }
            }
        }
        let expecting = "`provider:model`, or a mapping with `script`";
        text_or_map::<_, _, Fields>(deserializer, expecting, |name| Ok(Self::Name(name.to_owned())))
    }
}

/// What readers see of an agent's runs beside their text. What is not visible stays in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct FileVisibility {
    /// What the model thought.
    pub reasoning: bool,
    /// What tools were called with.
    pub tool_inputs: bool,
    /// What tools gave.
    pub tool_outputs: bool,
    /// The texts of errors; without it readers get a code, a fixed sentence and the request id, and the log has the text.
    pub errors: bool,
    /// The state of workflows, in checkpoints and exports.
    pub state: bool,
}

impl Default for FileVisibility {
    fn default() -> Self {
        Self { reasoning: true, tool_inputs: true, tool_outputs: true, errors: false, state: false }
    }
}

/// What the clients of an agent may decide. Everything that a client sends is its word only.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct FileClient {
    /// Whether `system` and `developer` messages of clients reach the model: no.
    pub system: bool,
    /// Whether a conversation that the server does not know is begun with the text that the page has of it: yes.
    pub seed: bool,
    /// The workflows that a client may name beside the default one; `*` is any.
    pub workflows: Vec<String>,
    /// Whether a client may give `data` to the first node: no.
    pub data: bool,
}

impl Default for FileClient {
    fn default() -> Self {
        Self { system: false, seed: true, workflows: Vec::new(), data: false }
    }
}

/// How an agent treats its runs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitsText {
    /// How long a run may wait for somebody: 7d.
    pub(super) max_wait: Option<Length>,
    /// How long a run that has ended is kept: 7d.
    pub(super) keep: Option<Length>,
    /// How many bytes of data and state a run may have: 262144.
    pub(super) max_state_bytes: Option<usize>,
    /// How often one workflow may hand over to another in a run: 32.
    pub(super) max_transitions: Option<u32>,
    /// How many nodes one run of a workflow enters: 1000.
    pub(super) max_steps: Option<u32>,
    /// How many bytes a run may have in its journal: 134217728.
    pub(super) max_run_bytes: Option<u64>,
    /// How many bytes one answer of a model may have: 4194304.
    pub(super) max_answer_bytes: Option<usize>,
    /// How many bytes one tool call may give: 4194304.
    pub(super) max_tool_output_bytes: Option<usize>,
    /// How often a run may be taken over in a row without progress: 10.
    pub(super) max_takeovers: Option<u32>,
}

/// A workflow: nodes, and the edges that lead from one to the next.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkflowText {
    /// Its version; otherwise one is made from its content. A run ends on the version that it began with.
    pub(super) version: Option<Placed<String>>,
    /// What it does, for people.
    pub(super) description: Option<String>,
    /// The node that it begins with.
    pub(super) start: Placed<String>,
    /// Its nodes, by their names.
    pub(super) nodes: Named<NodeText>,
    /// Its edges. A node without one ends the workflow.
    #[serde(default)]
    pub(super) edges: Vec<Placed<EdgeText>>,
}

/// An edge from one node to another. Several without `when` from one node begin parallel branches.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EdgeText {
    /// The node that it leads from.
    pub(super) from: Placed<String>,
    /// The node that it leads to, or `end`.
    pub(super) to: Placed<String>,
    /// The condition that its node must give; without it the edge is followed when no other is.
    pub(super) when: Option<Placed<String>>,
}
