//! Checking a description: every name must mean something, every workflow must hold together.

mod mcp;
mod node;
mod workflow;

use std::collections::HashSet;

pub(super) use node::{DECLINED, kinds};
pub(super) use workflow::END_WORD;

use super::{
    error::{FileError, FileErrorKind, unknown},
    format::ModelText,
    load::{Defined, Parts},
    place::{Place, Placed, Source},
};

/// What is wrong with a description.
pub(super) fn check(parts: &Parts) -> Vec<FileError> {
    let mut errors = Vec::new();
    if parts.name.is_none() {
        let message = "the agent has no name: add `name: …`";
        errors.push(FileError::new(FileErrorKind::Value, &parts.root, FIRST, message));
    }
    for model in &parts.models {
        if let ModelText::Name(name) = &model.value.value {
            let whole = name
                .split_once(':')
                .is_some_and(|(provider, model)| !provider.is_empty() && !model.is_empty());
            if !whole {
                let message = format!("`{name}` names no model: write `provider:model`, or give a `script`");
                errors.push(FileError::new(FileErrorKind::Value, &model.source, model.value.place, message));
            }
        }
    }
    if parts.workflows.is_empty() {
        let message = "the agent has no workflow: add one under `workflows`";
        errors.push(FileError::new(FileErrorKind::Workflow, &parts.root, FIRST, message));
    }
    let known = Known::of(parts);
    if let Some(id) = &parts.default_workflow {
        known.workflow(&parts.root, id, &mut errors);
    }
    for server in &parts.mcp {
        mcp::check(server, &mut errors);
    }
    for workflow in &parts.workflows {
        workflow::check(workflow, &known, &mut errors);
    }
    errors
}

const FIRST: Place = Place { line: 1, column: 1, start: 0, length: 1 };

/// The names that the nodes of an agent may use.
struct Known<'a> {
    models: Vec<&'a str>,
    tools: Vec<&'a str>,
    servers: Vec<&'a str>,
    functions: Vec<&'a str>,
    workflows: Vec<&'a str>,
}

fn names<T>(all: &[Defined<T>]) -> Vec<&str> {
    all.iter().map(|defined| defined.name.value.as_str()).collect()
}

impl<'a> Known<'a> {
    fn of(parts: &'a Parts) -> Self {
        Self {
            models: names(&parts.models),
            tools: names(&parts.tools),
            servers: names(&parts.mcp),
            functions: names(&parts.functions),
            workflows: names(&parts.workflows),
        }
    }

    fn model(&self, source: &Source, name: &Placed<String>, errors: &mut Vec<FileError>) {
        refer(&self.models, "model", source, name, errors);
    }

    fn tool(&self, source: &Source, name: &Placed<String>, errors: &mut Vec<FileError>) {
        refer(&self.tools, "tool", source, name, errors);
    }

    fn server(&self, source: &Source, name: &Placed<String>, errors: &mut Vec<FileError>) {
        refer(&self.servers, "MCP server", source, name, errors);
    }

    fn function(&self, source: &Source, name: &Placed<String>, errors: &mut Vec<FileError>) {
        refer(&self.functions, "function", source, name, errors);
    }

    fn workflow(&self, source: &Source, name: &Placed<String>, errors: &mut Vec<FileError>) {
        refer(&self.workflows, "workflow", source, name, errors);
    }
}

/// Looks a name up.
fn refer(known: &[&str], what: &str, source: &Source, name: &Placed<String>, errors: &mut Vec<FileError>) {
    if !known.contains(&name.value.as_str()) {
        let mut message = unknown(what, &name.value, known.iter().copied());
        if known.is_empty() && matches!(what, "model" | "tool" | "function") {
            message = format!("there is no {what} `{}`: name it under `{what}s`", name.value);
        }
        if known.is_empty() && what == "MCP server" {
            message = format!("there is no MCP server `{}`: describe it under `mcp`", name.value);
        }
        errors.push(FileError::new(FileErrorKind::Reference, source, name.place, message));
    }
}

/// The names that stand in a list a second time.
fn twice<'a>(names: impl Iterator<Item = &'a Placed<String>>) -> impl Iterator<Item = &'a Placed<String>> {
    let mut seen = HashSet::new();
    names.filter(move |name| !seen.insert(name.value.as_str()))
}
