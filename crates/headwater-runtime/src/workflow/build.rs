//! Builds and checks a workflow.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::{END, Edge, Graph, NodeFunction, NodeOptions, OnError, START, Workflow, WorkflowNode, erase};
use crate::{Error, ModelRef, Result, error::ErrorKind};

/// Default limit for the nodes that one run enters.
const MAX_STEPS: u32 = 1_000;

/// A builder for a [`Workflow`]. See [`Workflow::new`].
#[must_use]
pub struct WorkflowBuilder {
    id: String,
    version: String,
    description: Option<String>,
    model: Option<ModelRef>,
    nodes: Vec<(String, WorkflowNode)>,
    edges: Vec<(String, Edge)>,
    joins: Vec<(String, String)>,
    max_steps: u32,
}

impl std::fmt::Debug for WorkflowBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkflowBuilder").field("id", &self.id).finish_non_exhaustive()
    }
}

impl WorkflowBuilder {
    pub(super) fn new(id: String) -> Self {
        Self {
            id,
            version: "1".into(),
            description: None,
            model: None,
            nodes: Vec::new(),
            edges: Vec::new(),
            joins: Vec::new(),
            max_steps: MAX_STEPS,
        }
    }

    /// Sets the version. Default: `1`. A run ends on the version that it began with.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Sets a description for people.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the model that is reported to readers when a run begins. Default: the agent's only model, if it
    /// has exactly one; in a file, the model of the first `reason` node.
    pub fn model(mut self, model: impl Into<ModelRef>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Adds a node: an async function that takes a [`Cx`](crate::Cx) and its input.
    pub fn node<T: DeserializeOwned + 'static>(
        self,
        name: impl Into<String>,
        run: impl NodeFunction<T>,
    ) -> Self {
        self.node_with(name, NodeOptions::default(), run)
    }

    /// Adds a node with options.
    pub fn node_with<T: DeserializeOwned + 'static>(
        mut self,
        name: impl Into<String>,
        options: NodeOptions,
        run: impl NodeFunction<T>,
    ) -> Self {
        self.nodes.push((name.into(), WorkflowNode { run: erase(run), options, kind: None }));
        self
    }

    /// Sets the kind of the node that was added last.
    #[cfg(feature = "yaml")]
    pub(crate) fn kind(mut self, kind: &'static str) -> Self {
        if let Some((_, node)) = self.nodes.last_mut() {
            node.kind = Some(kind);
        }
        self
    }

    /// Adds an unconditional edge. Several from one node start parallel branches.
    pub fn edge(mut self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.edges.push((from.into(), Edge { to: to.into(), when: None }));
        self
    }

    /// Adds an edge that is followed if the node returns this condition, or this intent and no condition.
    pub fn edge_when(
        mut self,
        from: impl Into<String>,
        when: impl Into<String>,
        to: impl Into<String>,
    ) -> Self {
        self.edges.push((from.into(), Edge { to: to.into(), when: Some(when.into()) }));
        self
    }

    /// Sets the node at which the branches that start at a node meet. Default: the first node that all of
    /// them reach.
    pub fn join(mut self, from: impl Into<String>, at: impl Into<String>) -> Self {
        self.joins.push((from.into(), at.into()));
        self
    }

    /// Limits the nodes that one run of the workflow enters. Default: 1,000.
    pub fn max_steps(mut self, steps: u32) -> Self {
        self.max_steps = steps;
        self
    }

    /// Checks the definition and builds the workflow.
    ///
    /// # Errors
    /// If the definition is incomplete or contradictory; the message names the fault.
    pub fn build(self) -> Result<Workflow> {
        let fail = |what: String| {
            Err(Error::new(ErrorKind::Build, format!("workflow {}: {what}", self.id))
                .with_code("workflow.invalid"))
        };
        if self.id.trim().is_empty() {
            return fail("the id is empty".into());
        }
        // Visits are named `workflow@version/node`.
        if self.id.contains('@') {
            return fail("the id must not contain `@`: use `version` instead".into());
        }
        let mut names = HashSet::new();
        for (name, _) in &self.nodes {
            if name == START || name == END || name.trim().is_empty() {
                return fail(format!("invalid node name `{name}`"));
            }
            if !names.insert(name.as_str()) {
                return fail(format!("duplicate node `{name}`"));
            }
        }
        let known = |name: &str| names.contains(name);
        let mut seen = HashSet::new();
        for (from, edge) in &self.edges {
            let edge_text = match &edge.when {
                Some(when) => format!("the edge from `{from}` to `{}` when `{when}`", edge.to),
                None => format!("the edge from `{from}` to `{}`", edge.to),
            };
            if from == END || edge.to == START {
                return fail(format!("{edge_text} must not leave END or lead to START"));
            }
            for name in [from, &edge.to] {
                if name != START && name != END && !known(name) {
                    return fail(format!(
                        "{edge_text} refers to the unknown node `{name}`{}",
                        nearest(name, &names)
                    ));
                }
            }
            if from == START && edge.when.is_some() {
                return fail(format!("{edge_text} must not have a condition: no node has run before it"));
            }
            // With two edges for one condition, it is not clear which one to follow.
            let same = edge
                .when
                .as_deref()
                .map_or_else(|| (Some(edge.to.as_str()), None), |when| (None, Some(when)));
            if !seen.insert((from.as_str(), same)) {
                return fail(format!("{edge_text} is defined twice"));
            }
        }
        if !self.edges.iter().any(|(from, _)| from == START) {
            return fail("no edge leads from START: add one to the first node".into());
        }
        let mut edges: HashMap<String, Vec<Edge>> = HashMap::new();
        for (from, edge) in &self.edges {
            edges.entry(from.clone()).or_default().push(edge.clone());
        }
        for (name, node) in &self.nodes {
            if let OnError::GoTo(to) = &node.options.on_error {
                if !known(to) {
                    let near = nearest(to, &names);
                    return fail(format!(
                        "node `{name}` continues on errors at the unknown node `{to}`{near}"
                    ));
                }
                edges.entry(name.clone()).or_default();
            }
        }
        let failures: HashMap<&str, &str> = self
            .nodes
            .iter()
            .filter_map(|(name, node)| match &node.options.on_error {
                OnError::GoTo(to) => Some((name.as_str(), to.as_str())),
                _ => None,
            })
            .collect();
        let reached = distances(START, &edges, &failures);
        let mut lost: Vec<_> = names.iter().filter(|name| !reached.contains_key(**name)).copied().collect();
        lost.sort_unstable();
        if let Some(first) = lost.first() {
            return fail(format!("node `{first}` is never reached: no edge leads to it from START"));
        }
        let mut joins = HashMap::new();
        for (from, at) in &self.joins {
            if !(from == START || known(from)) || !(known(at) || at == END) {
                return fail(format!("the join of `{from}` at `{at}` refers to an unknown node"));
            }
            joins.insert(from.clone(), at.clone());
        }
        for (from, outgoing) in &edges {
            let branches: Vec<_> = outgoing.iter().filter(|edge| edge.when.is_none()).collect();
            if branches.len() > 1 && !joins.contains_key(from) {
                let from_each: Vec<_> =
                    branches.iter().map(|edge| distances(&edge.to, &edges, &failures)).collect();
                if let Some(at) = first_common(&from_each) {
                    joins.insert(from.clone(), at);
                }
            }
        }
        Ok(Workflow(Arc::new(Graph {
            id: self.id,
            version: self.version,
            description: self.description,
            model: self.model,
            nodes: self.nodes.into_iter().collect(),
            edges,
            joins,
            max_steps: self.max_steps,
        })))
    }
}

/// The distance in edges from a node to every node it reaches, itself included.
fn distances<'a>(
    from: &'a str,
    edges: &'a HashMap<String, Vec<Edge>>,
    failures: &HashMap<&'a str, &'a str>,
) -> HashMap<&'a str, usize> {
    let mut reached = HashMap::from([(from, 0)]);
    let mut queue = VecDeque::from([(from, 0)]);
    while let Some((name, distance)) = queue.pop_front() {
        let next = edges.get(name).into_iter().flatten().map(|edge| edge.to.as_str());
        for to in next.chain(failures.get(name).copied()) {
            if to != END && !reached.contains_key(to) {
                reached.insert(to, distance + 1);
                queue.push_back((to, distance + 1));
            }
        }
    }
    reached
}

/// The node that all branches reach, nearest to the farthest of them.
fn first_common(branches: &[HashMap<&str, usize>]) -> Option<String> {
    let (first, others) = branches.split_first()?;
    first
        .iter()
        .filter_map(|(&name, &distance)| {
            let farthest = others
                .iter()
                .map(|branch| branch.get(name).copied())
                .try_fold(distance, |farthest, distance| Some(farthest.max(distance?)))?;
            Some((farthest, name))
        })
        .min()
        .map(|(_, name)| name.to_owned())
}

/// ` (did you mean …?)`, if there is a similar name.
fn nearest(name: &str, names: &HashSet<&str>) -> String {
    let lower = name.to_lowercase();
    let near = names.iter().filter(|known| {
        let known = known.to_lowercase();
        known.starts_with(&lower) || lower.starts_with(&known) || known == lower.replace(['-', ' '], "_")
    });
    // The longest similar name; ties are broken by order so that the message is stable.
    near.max_by_key(|known| (known.len(), std::cmp::Reverse(**known)))
        .map_or_else(String::new, |known| format!(" (did you mean `{known}`?)"))
}
