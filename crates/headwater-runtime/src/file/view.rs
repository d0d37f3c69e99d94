//! The workflows of a file as a graph, for programs that draw them.

use super::{
    AgentFile,
    check::END_WORD,
    format::node::{NodeText, OnErrorText},
    load::{SourceDefinition, WorkflowPart},
};

/// A workflow of a file.
#[derive(Debug, Clone, Copy)]
pub struct FileWorkflow<'a>(pub(super) &'a SourceDefinition<WorkflowPart>);

/// A node of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileNode<'a> {
    /// The key of the node in the file, unique within its workflow.
    pub name: &'a str,
    /// Its kind: `reason`, `interrupt`, `structured`, `message`, `route`, `transition`, `wait` or `function`.
    pub kind: &'static str,
    /// The model, the function, or the workflow of a transition.
    pub about: Option<&'a str>,
    /// A description for people.
    pub description: Option<&'a str>,
}

/// An edge of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileEdge<'a> {
    /// The node it starts at.
    pub from: &'a str,
    /// The node it leads to; `None` is the end.
    pub to: Option<&'a str>,
    /// The condition.
    pub when: Option<&'a str>,
    /// Whether it is followed when the last try of the node has failed.
    pub on_error: bool,
}

impl AgentFile {
    /// The workflows, in the order of the file.
    pub fn workflows(&self) -> impl Iterator<Item = FileWorkflow<'_>> {
        self.0.workflows.iter().map(FileWorkflow)
    }
}

impl<'a> FileWorkflow<'a> {
    /// The key of the workflow in the file.
    #[must_use]
    pub fn id(self) -> &'a str {
        &self.0.name.value
    }

    /// A description for people.
    #[must_use]
    pub fn description(self) -> Option<&'a str> {
        self.0.value.text.description.as_deref()
    }

    /// The version: the one in the file, otherwise a hash of the content.
    #[must_use]
    pub fn version(self) -> &'a str {
        self.0.value.text.version.as_ref().map_or(&self.0.value.hash, |version| &version.value)
    }

    /// A hash of the content, independent of layout.
    #[must_use]
    pub fn hash(self) -> &'a str {
        &self.0.value.hash
    }

    /// The node that gets the input of a run.
    #[must_use]
    pub fn start(self) -> &'a str {
        &self.0.value.text.start.value
    }

    /// The nodes, in the order of the file.
    pub fn nodes(self) -> impl Iterator<Item = FileNode<'a>> {
        self.0.value.text.nodes.0.iter().map(|(name, node)| {
            let (kind, about) = kind(node);
            FileNode { name: &name.value, kind, about, description: node.description.as_deref() }
        })
    }

    /// The edges, in the order of the file. A node without an edge has one to the end; error edges come last.
    pub fn edges(self) -> impl Iterator<Item = FileEdge<'a>> {
        let text = &self.0.value.text;
        let written = text.edges.iter().map(|edge| FileEdge {
            from: &edge.value.from.value,
            to: (edge.value.to.value != END_WORD).then_some(edge.value.to.value.as_str()),
            when: edge.value.when.as_ref().map(|when| when.value.as_str()),
            on_error: false,
        });
        let failures = text.nodes.0.iter().filter_map(|(name, node)| match &node.on_error {
            Some(OnErrorText::GoTo(to)) => {
                Some(FileEdge { from: &name.value, to: Some(&to.value), when: None, on_error: true })
            }
            _ => None,
        });
        let last =
            text.nodes.names().filter(|name| !text.edges.iter().any(|edge| edge.value.from.value == *name));
        written
            .chain(last.map(|from| FileEdge { from, to: None, when: None, on_error: false }))
            .chain(failures)
    }
}

pub(super) fn kind(node: &NodeText) -> (&'static str, Option<&str>) {
    if let Some(reason) = &node.reason {
        return ("reason", Some(&reason.model.value));
    }
    if let Some(route) = &node.route {
        let model = route.value.model.as_ref().map(|model| model.value.as_str());
        return ("route", model.or_else(|| route.value.by.as_ref().map(super::template::Expression::as_str)));
    }
    if let Some(transition) = &node.transition {
        return ("transition", Some(&transition.to.value));
    }
    if let Some(function) = &node.function {
        return ("function", Some(&function.value));
    }
    (super::check::kinds(node).first().copied().unwrap_or("message"), None)
}
