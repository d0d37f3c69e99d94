//! Checks one workflow: edges are valid, every node is reachable, every condition has an edge.

use std::collections::{HashMap, HashSet};

use super::{KnownNames, node, refer};
use crate::file::{
    error::{FileError, FileErrorKind, unknown},
    format::{WorkflowText, node::OnErrorText},
    load::{SourceDefinition, WorkflowPart},
    span::{SourceText, WithSpan},
};

/// The target of edges that end the workflow.
pub(in crate::file) const END_WORD: &str = "end";

pub(super) fn check(
    workflow: &SourceDefinition<WorkflowPart>,
    known: &KnownNames<'_>,
    errors: &mut Vec<FileError>,
) {
    let (text, source) = (&workflow.value.text, &*workflow.source);
    let nodes: Vec<&str> = text.nodes.names().collect();
    let mut wrong = |span, message: String| {
        errors.push(FileError::new(FileErrorKind::Workflow, source, span, message));
    };
    if let Some(version) = &text.version
        && (version.value.is_empty() || version.value.contains(['/', '@', '~', ' ']))
    {
        wrong(version.span, "invalid version: use a word without `/`, `@`, `~` and spaces".to_owned());
    }
    for (name, _) in &text.nodes.0 {
        if name.value == END_WORD || name.value.trim().is_empty() || name.value.contains('/') {
            wrong(
                name.span,
                format!("invalid node name `{}`: it must not be empty, `end`, or contain `/`", name.value),
            );
        }
    }
    let before = errors.len();
    refer(&nodes, "node", source, &text.start, errors);
    for edge in &text.edges {
        refer(&nodes, "node", source, &edge.value.from, errors);
        if edge.value.to.value != END_WORD {
            refer(&nodes, "node", source, &edge.value.to, errors);
        }
    }
    for (_, node) in &text.nodes.0 {
        if let Some(OnErrorText::GoTo(to)) = &node.on_error {
            refer(&nodes, "node", source, to, errors);
        }
    }
    // After an unknown name, the checks below would only report consequences of it.
    if errors.len() == before {
        reached(text, source, errors);
        edges(text, source, errors);
    }
    for (_, text) in &text.nodes.0 {
        node::check(text, source, known, errors);
    }
    for (name, text) in &text.nodes.0 {
        node::one_kind(name, text, source, errors);
    }
}

/// Reports nodes that no path from the start reaches.
fn reached(text: &WorkflowText, source: &SourceText, errors: &mut Vec<FileError>) {
    let mut next: HashMap<&str, Vec<&str>> = HashMap::new();
    for edge in &text.edges {
        next.entry(&edge.value.from.value).or_default().push(&edge.value.to.value);
    }
    for (name, node) in &text.nodes.0 {
        if let Some(OnErrorText::GoTo(to)) = &node.on_error {
            next.entry(&name.value).or_default().push(&to.value);
        }
    }
    let mut reached = HashSet::from([text.start.value.as_str()]);
    let mut queue = vec![text.start.value.as_str()];
    while let Some(name) = queue.pop() {
        for to in next.get(name).into_iter().flatten() {
            if reached.insert(to) {
                queue.push(to);
            }
        }
    }
    for (name, _) in &text.nodes.0 {
        if !reached.contains(name.value.as_str()) {
            let message =
                format!("node `{}` is never reached: no edge leads to it from the start", name.value);
            errors.push(FileError::new(FileErrorKind::Workflow, source, name.span, message));
        }
    }
}

/// Reports duplicate edges, conditions that no node returns, and conditions without an edge.
fn edges(text: &WorkflowText, source: &SourceText, errors: &mut Vec<FileError>) {
    let mut seen = HashSet::new();
    for edge in &text.edges {
        let (from, to) = (edge.value.from.value.as_str(), edge.value.to.value.as_str());
        let when = edge.value.when.as_ref().map(|when| when.value.as_str());
        // With two edges for one condition, it is not clear which one to follow.
        if !seen.insert((from, when, when.is_none().then_some(to))) {
            let said = match when {
                Some(when) => format!("duplicate edge from `{from}` when `{when}`"),
                None => format!("duplicate edge from `{from}` to `{to}`"),
            };
            errors.push(FileError::new(FileErrorKind::Workflow, source, edge.value.from.span, said));
        }
        let given = text.nodes.get(from).and_then(node::conditions);
        if let (Some(given), Some(when)) = (given, &edge.value.when)
            && !given.iter().any(|given| given.value == when.value)
        {
            let known = given.iter().map(|given| given.value.as_str());
            let mut message = unknown("condition", &when.value, known);
            if given.is_empty() {
                message = format!(
                    "node `{from}` has no conditions: only a `route` or an `interrupt` with options has"
                );
            }
            errors.push(FileError::new(FileErrorKind::Reference, source, when.span, message));
        }
    }
    for (name, node) in &text.nodes.0 {
        let mut outgoing = text.edges.iter().filter(|edge| edge.value.from.value == name.value).peekable();
        let always = outgoing.clone().any(|edge| edge.value.when.is_none());
        if outgoing.peek().is_none() || always {
            continue;
        }
        let taken: HashSet<&str> =
            outgoing.filter_map(|edge| Some(edge.value.when.as_ref()?.value.as_str())).collect();
        let lost = |given: &&WithSpan<String>| !taken.contains(given.value.as_str());
        for given in node::conditions(node).unwrap_or_default().iter().copied().filter(lost) {
            let message = format!(
                "no edge leads from `{}` when `{}`: add one, or one without `when`",
                name.value, given.value
            );
            errors.push(FileError::new(FileErrorKind::Workflow, source, given.span, message));
        }
    }
}
