//! Checks a parsed file: every reference resolves, every workflow is complete.

mod http;
mod mcp;
mod model;
mod node;
mod workflow;

use std::collections::HashSet;

pub(super) use http::fixed_host;
pub(super) use node::{DECLINED, kinds};
pub(super) use workflow::END_WORD;

use super::{
    error::{FileError, FileErrorKind, unknown},
    load::{AgentParts, SourceDefinition},
    span::{SourceText, TextSpan, WithSpan},
};

/// Returns every problem in the parsed files.
pub(super) fn check(parts: &AgentParts) -> Vec<FileError> {
    let mut errors = Vec::new();
    if parts.name.is_none() {
        let message = "the agent has no name: add `name: …`";
        errors.push(FileError::new(FileErrorKind::Value, &parts.root, FIRST, message));
    }
    for model in &parts.models {
        model::check(model, &mut errors);
    }
    for tool in &parts.http {
        http::check(tool, &mut errors);
    }
    if parts.workflows.is_empty() {
        let message = "the agent has no workflow: add one under `workflows`";
        errors.push(FileError::new(FileErrorKind::Workflow, &parts.root, FIRST, message));
    }
    let known = KnownNames::of(parts);
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

const FIRST: TextSpan = TextSpan { line: 1, column: 1, start: 0, length: 1 };

/// The names that nodes may refer to.
struct KnownNames<'a> {
    models: Vec<&'a str>,
    tools: Vec<&'a str>,
    servers: Vec<&'a str>,
    functions: Vec<&'a str>,
    workflows: Vec<&'a str>,
}

fn names<T>(all: &[SourceDefinition<T>]) -> Vec<&str> {
    all.iter().map(|defined| defined.name.value.as_str()).collect()
}

impl<'a> KnownNames<'a> {
    fn of(parts: &'a AgentParts) -> Self {
        Self {
            models: names(&parts.models),
            tools: names(&parts.tools)
                .into_iter()
                .chain(parts.http.iter().map(|tool| tool.name.value.as_str()))
                .collect(),
            servers: names(&parts.mcp),
            functions: names(&parts.functions),
            workflows: names(&parts.workflows),
        }
    }

    fn model(&self, source: &SourceText, name: &WithSpan<String>, errors: &mut Vec<FileError>) {
        refer(&self.models, "model", source, name, errors);
    }

    fn tool(&self, source: &SourceText, name: &WithSpan<String>, errors: &mut Vec<FileError>) {
        refer(&self.tools, "tool", source, name, errors);
    }

    fn server(&self, source: &SourceText, name: &WithSpan<String>, errors: &mut Vec<FileError>) {
        refer(&self.servers, "MCP server", source, name, errors);
    }

    fn function(&self, source: &SourceText, name: &WithSpan<String>, errors: &mut Vec<FileError>) {
        refer(&self.functions, "function", source, name, errors);
    }

    fn workflow(&self, source: &SourceText, name: &WithSpan<String>, errors: &mut Vec<FileError>) {
        refer(&self.workflows, "workflow", source, name, errors);
    }
}

/// Reports a name that is not defined.
fn refer(
    known: &[&str],
    what: &str,
    source: &SourceText,
    name: &WithSpan<String>,
    errors: &mut Vec<FileError>,
) {
    if !known.contains(&name.value.as_str()) {
        let mut message = unknown(what, &name.value, known.iter().copied());
        if known.is_empty() && matches!(what, "model" | "tool" | "function") {
            message = format!("there is no {what} `{}`: add it under `{what}s`", name.value);
        }
        if known.is_empty() && what == "MCP server" {
            message = format!("there is no MCP server `{}`: define it under `mcp`", name.value);
        }
        errors.push(FileError::new(FileErrorKind::Reference, source, name.span, message));
    }
}

/// The names that occur in a list a second time.
fn twice<'a>(
    names: impl Iterator<Item = &'a WithSpan<String>>,
) -> impl Iterator<Item = &'a WithSpan<String>> {
    let mut seen = HashSet::new();
    names.filter(move |name| !seen.insert(name.value.as_str()))
}
