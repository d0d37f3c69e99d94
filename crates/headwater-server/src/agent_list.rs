//! The list of agents at `GET /v1/agents`: names, suggestions, workflows, tools.

use std::{
    collections::{HashSet, VecDeque},
    iter,
};

use axum::{Json, extract::State};
use headwater_protocol::Executor;
use headwater_runtime::{Agent, AgentTool, END, START, Workflow};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{ApiError, Server, agents::ServedAgent};

/// The agents of the server, in the order of the list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgentList", deny_unknown_fields)]
pub(crate) struct AgentList {
    agents: Vec<AgentDocument>,
    /// The default agent, used by requests that name no agent.
    default: Option<String>,
}

/// An agent.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Agent", deny_unknown_fields)]
struct AgentDocument {
    name: String,
    /// A description for people.
    description: Option<String>,
    /// Suggested first messages.
    suggestions: Vec<String>,
    /// Whether its runs may ask the page for an answer, an approval or the output of a client tool.
    asks: bool,
    /// The tools that its nodes take by name. Tools of MCP servers and of single nodes are not listed.
    tools: Vec<ToolDocument>,
    /// The default workflow.
    default_workflow: Option<String>,
    /// The newest version of each workflow.
    workflows: Vec<WorkflowDocument>,
}

/// A tool of an agent.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AgentTool", deny_unknown_fields)]
struct ToolDocument {
    name: String,
    /// Its name for people.
    title: Option<String>,
    /// The description that the model gets.
    description: Option<String>,
    /// Whether the page executes it.
    client: bool,
    /// Whether a call may need approval.
    approval: bool,
}

/// A workflow of an agent.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AgentWorkflow", deny_unknown_fields)]
struct WorkflowDocument {
    id: String,
    version: String,
    /// A description for people.
    description: Option<String>,
    /// The model that answers, if it is known before a run.
    model: Option<String>,
    /// The nearest to the start first.
    nodes: Vec<NodeDocument>,
    /// By node, in the same order.
    edges: Vec<EdgeDocument>,
}

/// A node of a workflow.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgentNode", deny_unknown_fields)]
struct NodeDocument {
    name: String,
    /// Its kind: `reason`, `interrupt`, `message` and so on; null for a Rust function.
    kind: Option<String>,
}

/// An edge of a workflow.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgentEdge", deny_unknown_fields)]
struct EdgeDocument {
    /// The node that it leads from; null is the start.
    from: Option<String>,
    /// The node that it leads to; null is the end.
    to: Option<String>,
    /// The condition of the edge.
    when: Option<String>,
}

/// `GET /v1/agents`.
pub(crate) async fn agents(State(server): State<Server>) -> Result<Json<AgentList>, ApiError> {
    let agents = server.agents();
    let listed = agents.named().iter().map(AgentDocument::of).collect();
    Ok(Json(AgentList { agents: listed, default: agents.default_name() }))
}

impl AgentDocument {
    fn of(served: &ServedAgent) -> Self {
        let agent = &served.agent;
        let mut workflows: Vec<_> =
            agent.workflows().map(|workflow| WorkflowDocument::of(agent, workflow)).collect();
        // An agent keeps them in no order.
        workflows.sort_by(|one, other| one.id.cmp(&other.id));
        Self {
            name: served.name.clone(),
            description: agent.description().map(str::to_owned),
            suggestions: agent.suggestions().to_vec(),
            asks: agent.asks(),
            tools: agent.tools().map(ToolDocument::of).collect(),
            default_workflow: agent.default_workflow().map(str::to_owned),
            workflows,
        }
    }
}

impl ToolDocument {
    fn of(AgentTool { spec, executor, may_need_approval, .. }: AgentTool<'_>) -> Self {
        Self {
            name: spec.name.clone(),
            title: spec.title.clone(),
            description: spec.description.clone(),
            client: executor == Executor::Client,
            approval: may_need_approval,
        }
    }
}

/// The node names, ordered by distance from the start. Nodes reached only after a failure come last.
fn walk(workflow: &Workflow) -> Vec<&str> {
    let mut order = Vec::new();
    let mut seen = HashSet::new();
    let mut open = VecDeque::from([START]);
    while let Some(name) = open.pop_front() {
        if name == END || !seen.insert(name) {
            continue;
        }
        if name != START {
            order.push(name);
        }
        open.extend(workflow.edges().filter(|(from, ..)| *from == name).map(|(_, to, _)| to));
    }
    let mut rest: Vec<_> = workflow.nodes().filter(|name| !seen.contains(name)).collect();
    rest.sort_unstable();
    order.extend(rest);
    order
}

impl WorkflowDocument {
    fn of(agent: &Agent, workflow: &Workflow) -> Self {
        let order = walk(workflow);
        let node = |name: &str| NodeDocument {
            name: name.to_owned(),
            kind: workflow.node_kind(name).map(str::to_owned),
        };
        let name = |name: &str| (name != START && name != END).then(|| name.to_owned());
        let edges = iter::once(START).chain(order.iter().copied()).flat_map(|node| {
            let own = workflow.edges().filter(move |(from, ..)| *from == node);
            own.map(|(from, to, when)| EdgeDocument {
                from: name(from),
                to: name(to),
                when: when.map(str::to_owned),
            })
        });
        Self {
            id: workflow.id().to_owned(),
            version: workflow.version().to_owned(),
            description: workflow.description().map(str::to_owned),
            model: agent.model_of(workflow),
            edges: edges.collect(),
            nodes: order.iter().copied().map(node).collect(),
        }
    }
}
