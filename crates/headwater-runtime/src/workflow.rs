//! Workflows: nodes and the edges between them.

mod build;
mod node;

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

pub use build::WorkflowBuilder;
pub use node::NodeFunction;
pub(crate) use node::{Handler, erase};

use crate::ModelRef;

/// The pseudo-node at which every workflow begins.
pub const START: &str = "__start__";
/// The pseudo-node at which every workflow ends.
pub const END: &str = "__end__";

/// A graph of nodes. Cheap to clone.
///
/// ```
/// use headwater_runtime::{Cx, END, Next, NodeResult, START, Workflow};
///
/// async fn greet(_cx: Cx, name: String) -> NodeResult {
///     Ok(Next::message(format!("Hello {name}!")))
/// }
///
/// let workflow = Workflow::new("hello").node("greet", greet).edge(START, "greet").edge("greet", END).build()?;
/// assert_eq!(workflow.id(), "hello");
/// # Ok::<(), headwater_runtime::Error>(())
/// ```
#[derive(Clone)]
pub struct Workflow(Arc<Graph>);

pub(crate) struct Graph {
    pub(crate) id: String,
    pub(crate) version: String,
    pub(crate) description: Option<String>,
    /// The model reported to readers, if the workflow names one.
    pub(crate) model: Option<ModelRef>,
    pub(crate) nodes: HashMap<String, WorkflowNode>,
    /// The edges of each node, in the order they were added.
    pub(crate) edges: HashMap<String, Vec<Edge>>,
    /// The node at which the branches that start at a node meet again.
    pub(crate) joins: HashMap<String, String>,
    pub(crate) max_steps: u32,
}

pub(crate) struct WorkflowNode {
    pub(crate) run: Handler,
    pub(crate) options: NodeOptions,
    /// The kind of node; only set for nodes of files.
    pub(crate) kind: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) to: String,
    pub(crate) when: Option<String>,
}

/// Retries, timeout and error handling of a node.
///
/// ```
/// use std::time::Duration;
/// use headwater_runtime::{NodeOptions, OnError, Retry};
///
/// let options = NodeOptions::default()
///     .retry(Retry::times(3).delay(Duration::from_millis(200)))
///     .timeout(Duration::from_secs(60))
///     .on_error(OnError::Continue);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct NodeOptions {
    /// How often it is tried.
    pub retry: Retry,
    /// Time limit. Time spent waiting for a person does not count.
    pub timeout: Option<Duration>,
    /// What to do when the last attempt has failed.
    pub on_error: OnError,
}

impl NodeOptions {
    /// Sets how often the node is tried.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Sets the time limit.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets what to do when the last attempt has failed.
    #[must_use]
    pub fn on_error(mut self, on_error: OnError) -> Self {
        self.on_error = on_error;
        self
    }
}

/// How often a node is tried. Only the hook that failed runs again; the others return their recorded results.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Retry {
    /// Number of attempts in all, at least 1.
    pub attempts: u32,
    /// The pause before the second attempt.
    pub delay: Duration,
    /// The factor by which the pause grows with each attempt.
    pub backoff: f64,
}

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 1, delay: Duration::ZERO, backoff: 1.0 }
    }
}

impl Retry {
    /// Tries the node this many times in all; 0 counts as 1.
    #[must_use]
    pub fn times(attempts: u32) -> Self {
        Self { attempts: attempts.max(1), ..Self::default() }
    }

    /// Sets the pause before the second attempt.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Sets the factor by which the pause grows with each attempt.
    #[must_use]
    pub fn backoff(mut self, factor: f64) -> Self {
        self.backoff = factor.max(1.0);
        self
    }

    /// The pause after `failed` attempts.
    pub(crate) fn pause(&self, failed: u32) -> Duration {
        let factor = self.backoff.powi(i32::try_from(failed.saturating_sub(1)).unwrap_or(i32::MAX));
        Duration::try_from_secs_f64(self.delay.as_secs_f64() * factor).unwrap_or(self.delay)
    }
}

/// What to do when the last attempt of a node has failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnError {
    /// The run fails.
    #[default]
    Stop,
    /// Report the error to readers and follow the unconditional edges.
    Continue,
    /// Report the error to readers and continue at this node, whose data has the error as `error`.
    GoTo(String),
}

impl Workflow {
    /// Starts building a workflow.
    #[allow(clippy::new_ret_no_self)]
    pub fn new(id: impl Into<String>) -> WorkflowBuilder {
        WorkflowBuilder::new(id.into())
    }

    /// The id in the journals of its runs: a renamed workflow cannot resume its earlier runs.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The version. A run ends on the version that it began with.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// A description for people.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.0.description.as_deref()
    }

    /// The names of the nodes, unordered.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.0.nodes.keys().map(String::as_str)
    }

    /// The kind of a node: `reason`, `interrupt`, `message` and so on. Only set for nodes of files.
    #[must_use]
    pub fn node_kind(&self, node: &str) -> Option<&'static str> {
        self.0.nodes.get(node)?.kind
    }

    /// The edges as (from, to, condition).
    pub fn edges(&self) -> impl Iterator<Item = (&str, &str, Option<&str>)> {
        self.0.edges.iter().flat_map(|(from, edges)| {
            edges.iter().map(|edge| (from.as_str(), edge.to.as_str(), edge.when.as_deref()))
        })
    }

    /// The same workflow under another version, to replay runs of that version.
    pub(crate) fn as_version(&self, version: &str) -> Self {
        let Graph { id, version: _, description, model, nodes, edges, joins, max_steps } = &*self.0;
        let copy = |node: &WorkflowNode| WorkflowNode {
            run: node.run.clone(),
            options: node.options.clone(),
            kind: node.kind,
        };
        Self(Arc::new(Graph {
            id: id.clone(),
            version: version.to_owned(),
            description: description.clone(),
            model: model.clone(),
            nodes: nodes.iter().map(|(name, node)| (name.clone(), copy(node))).collect(),
            edges: edges.clone(),
            joins: joins.clone(),
            max_steps: *max_steps,
        }))
    }

    pub(crate) fn graph(&self) -> &Graph {
        &self.0
    }
}

impl fmt::Debug for Workflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workflow")
            .field("id", &self.0.id)
            .field("version", &self.0.version)
            .field("edges", &self.0.edges)
            .finish_non_exhaustive()
    }
}

/// Whether a version was derived from the content of a workflow, so that it is gone once the content has
/// changed. Versions chosen by people never have this form.
pub(crate) fn is_content_version(version: &str) -> bool {
    version.contains('~')
}
