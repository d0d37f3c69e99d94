//! What a file's workflows look like, for whoever draws them.

use super::{
    AgentFile,
    check::END_WORD,
    format::node::{NodeText, OnErrorText},
    load::{Defined, WorkflowPart},
};

/// A workflow of a file.
#[derive(Debug, Clone, Copy)]
pub struct FileWorkflow<'a>(pub(super) &'a Defined<WorkflowPart>);

/// A node of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileNode<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its kind: `reason`, `interrupt`, `structured`, `message`, `route`, `transition`, `wait` or `function`.
    pub kind: &'static str,
    /// What it names: the model, the function, the workflow of a transition.
    pub about: Option<&'a str>,
    /// What it does, for people.
    pub description: Option<&'a str>,
}

/// An edge of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileEdge<'a> {
    /// The node that it leads from.
    pub from: &'a str,
    /// The node that it leads to; nothing is the end.
    pub to: Option<&'a str>,
    /// Its condition.
    pub when: Option<&'a str>,
    /// Whether it is followed when the node has failed for good.
    pub on_error: bool,
}

impl AgentFile {
    /// Its workflows, in the order of the file.
    pub fn workflows(&self) -> impl Iterator<Item = FileWorkflow<'_>> {
        self.0.workflows.iter().map(FileWorkflow)
    }
}

impl<'a> FileWorkflow<'a> {
    /// Its name.
    #[must_use]
    pub fn id(self) -> &'a str {
        &self.0.name.value
    }

    /// What it does, for people.
    #[must_use]
    pub fn description(self) -> Option<&'a str> {
        self.0.value.text.description.as_deref()
    }

    /// Its version: as the file says, otherwise a hash of its content.
    #[must_use]
    pub fn version(self) -> &'a str {
        self.0.value.text.version.as_ref().map_or(&self.0.value.hash, |version| &version.value)
    }

    /// A hash of its content: the same for the same content, however it is laid out.
    #[must_use]
    pub fn hash(self) -> &'a str {
        &self.0.value.hash
    }

    /// The node that it begins with.
    #[must_use]
    pub fn start(self) -> &'a str {
        &self.0.value.text.start.value
    }

    /// Its nodes, in the order of the file.
    pub fn nodes(self) -> impl Iterator<Item = FileNode<'a>> {
        self.0.value.text.nodes.0.iter().map(|(name, node)| {
            let (kind, about) = kind(node);
            FileNode { name: &name.value, kind, about, description: node.description.as_deref() }
        })
    }

    /// Its edges, in the order of the file. A node without one has an edge to the end; what is done on
    /// errors comes last.
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
