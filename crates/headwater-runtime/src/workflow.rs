//! Workflows: nodes, and the edges that lead from one to the next.

mod build;
mod node;

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

pub use build::WorkflowBuilder;
pub(crate) use node::{Handler, erase};
pub use node::{NodeFunction, NodeInput};

use crate::ModelRef;

/// Where every workflow begins.
pub const START: &str = "__start__";
/// Where every workflow ends.
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
    /// The model that answers, where the workflow names it.
    pub(crate) model: Option<ModelRef>,
    pub(crate) nodes: HashMap<String, Node>,
    /// The edges of each node, in the order in which they were given.
    pub(crate) edges: HashMap<String, Vec<Edge>>,
    /// Where the branches that begin at a node come together again.
    pub(crate) joins: HashMap<String, String>,
    pub(crate) max_steps: u32,
}

pub(crate) struct Node {
    pub(crate) run: Handler,
    pub(crate) options: NodeOptions,
    /// What it does, where that is known: nodes of files say it.
    pub(crate) kind: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) to: String,
    pub(crate) when: Option<String>,
}

/// How a node is treated.
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
    /// How long it may run; waiting for a person does not count.
    pub timeout: Option<Duration>,
    /// What happens when it has failed for good.
    pub on_error: OnError,
}

impl NodeOptions {
    /// Says how often the node is tried.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Says how long it may run.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Says what happens when it has failed for good.
    #[must_use]
    pub fn on_error(mut self, on_error: OnError) -> Self {
        self.on_error = on_error;
        self
    }
}

/// How often a node is tried. Only the hook that failed is done again; the others return what the journal holds.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Retry {
    /// How often in all, at least once.
    pub attempts: u32,
    /// The pause before the second try.
    pub delay: Duration,
    /// By how much the pause grows with each try.
    pub backoff: f64,
}

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 1, delay: Duration::ZERO, backoff: 1.0 }
    }
}

impl Retry {
    /// Tried so often in all; 0 counts as once.
    #[must_use]
    pub fn times(attempts: u32) -> Self {
        Self { attempts: attempts.max(1), ..Self::default() }
    }

    /// Pauses before the next try.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Lets the pause grow by a factor with each try.
    #[must_use]
    pub fn backoff(mut self, factor: f64) -> Self {
        self.backoff = factor.max(1.0);
        self
    }

    /// The pause after so many failed tries.
    pub(crate) fn pause(&self, failed: u32) -> Duration {
        let factor = self.backoff.powi(i32::try_from(failed.saturating_sub(1)).unwrap_or(i32::MAX));
        Duration::try_from_secs_f64(self.delay.as_secs_f64() * factor).unwrap_or(self.delay)
    }
}

/// What happens when a node has failed for good.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnError {
    /// The run fails.
    #[default]
    Stop,
    /// The reader is told, and the plain edges are followed.
    Continue,
    /// The reader is told, and the run goes on at this node, whose data has the error as `error`.
    GoTo(String),
}

impl Workflow {
    /// Begins a workflow.
    #[allow(clippy::new_ret_no_self)]
    pub fn new(id: impl Into<String>) -> WorkflowBuilder {
        WorkflowBuilder::new(id.into())
    }

    /// Its name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Its version: a run ends on the version that it began with.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// What it does, for people.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.0.description.as_deref()
    }

    /// The names of its nodes, in no order.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.0.nodes.keys().map(String::as_str)
    }

    /// What a node does: `reason`, `interrupt`, `message` and the like. Only nodes of files say so.
    #[must_use]
    pub fn node_kind(&self, node: &str) -> Option<&'static str> {
        self.0.nodes.get(node)?.kind
    }

    /// Its edges as (from, to, condition).
    pub fn edges(&self) -> impl Iterator<Item = (&str, &str, Option<&str>)> {
        self.0.edges.iter().flat_map(|(from, edges)| {
            edges.iter().map(|edge| (from.as_str(), edge.to.as_str(), edge.when.as_deref()))
        })
    }

    /// The same under another version, to replay what another version began.
    pub(crate) fn as_version(&self, version: &str) -> Self {
        let Graph { id, version: _, description, model, nodes, edges, joins, max_steps } = &*self.0;
        let copy =
            |node: &Node| Node { run: node.run.clone(), options: node.options.clone(), kind: node.kind };
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

/// Whether a version was made from the content of a workflow, which is gone once that has changed. Versions that people
/// give are never of this form.
pub(crate) fn is_content_version(version: &str) -> bool {
    version.contains('~')
}
