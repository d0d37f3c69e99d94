//! Checking one workflow: its edges, and that every node can be reached and every condition leads somewhere.

use std::collections::{HashMap, HashSet};

use super::{Known, node, refer};
use crate::file::{
    error::{FileError, FileErrorKind, unknown},
    format::{WorkflowText, node::OnErrorText},
    load::{Defined, WorkflowPart},
    place::{Placed, Source},
};

/// Where edges may lead that is no node.
pub(in crate::file) const END_WORD: &str = "end";

pub(super) fn check(workflow: &Defined<WorkflowPart>, known: &Known<'_>, errors: &mut Vec<FileError>) {
    let (text, source) = (&workflow.value.text, &*workflow.source);
    let nodes: Vec<&str> = text.nodes.names().collect();
    let mut wrong = |place, message: String| {
        errors.push(FileError::new(FileErrorKind::Workflow, source, place, message));
    };
    if let Some(version) = &text.version
        && (version.value.is_empty() || version.value.contains(['/', '@', '~', ' ']))
    {
        wrong(version.place, "invalid version: use a word without `/`, `@`, `~` and spaces".to_owned());
    }
    for (name, _) in &text.nodes.0 {
        if name.value == END_WORD || name.value.trim().is_empty() || name.value.contains('/') {
            wrong(name.place, format!("a node cannot be called `{}`", name.value));
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
    // With a name that means nothing, all that follows would be guessing.
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

/// Finds nodes that nothing leads to.
fn reached(text: &WorkflowText, source: &Source, errors: &mut Vec<FileError>) {
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
            errors.push(FileError::new(FileErrorKind::Workflow, source, name.place, message));
        }
    }
}

/// Finds edges that are there twice, conditions that are never given, and conditions that lead nowhere.
fn edges(text: &WorkflowText, source: &Source, errors: &mut Vec<FileError>) {
    let mut seen = HashSet::new();
    for edge in &text.edges {
        let (from, to) = (edge.value.from.value.as_str(), edge.value.to.value.as_str());
        let when = edge.value.when.as_ref().map(|when| when.value.as_str());
        // Two edges for one condition could not both be meant.
        if !seen.insert((from, when, when.is_none().then_some(to))) {
            let said = match when {
                Some(when) => format!("a second edge leads from `{from}` when `{when}`"),
                None => format!("the edge from `{from}` to `{to}` is there twice"),
            };
            errors.push(FileError::new(FileErrorKind::Workflow, source, edge.value.from.place, said));
        }
        let given = text.nodes.get(from).and_then(node::conditions);
        if let (Some(given), Some(when)) = (given, &edge.value.when)
            && !given.iter().any(|given| given.value == when.value)
        {
            let known = given.iter().map(|given| given.value.as_str());
            let mut message = unknown("condition", &when.value, known);
            if given.is_empty() {
                message = format!("node `{from}` gives no conditions: a `route` or a choice does");
            }
            errors.push(FileError::new(FileErrorKind::Reference, source, when.place, message));
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
        let lost = |given: &&Placed<String>| !taken.contains(given.value.as_str());
        for given in node::conditions(node).unwrap_or_default().iter().copied().filter(lost) {
            let message = format!(
                "no edge leads from `{}` when `{}`: add one, or one without `when`",
                name.value, given.value
            );
            errors.push(FileError::new(FileErrorKind::Workflow, source, given.place, message));
        }
    }
}
