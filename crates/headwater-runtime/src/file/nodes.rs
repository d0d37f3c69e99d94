//! Runs the nodes of a file.

mod ask;
mod reason;
mod route;
mod show;

use std::sync::Arc;

use headwater_tools::McpTools;
use serde_json::{Map, Value};

use super::{
    format::node::{NodeText, SaveText},
    load::AgentParts,
    servers::Servers,
    span::{SourceText, WithSpan},
    template::TemplateScope,
};
use crate::{Cx, Error, ErrorKind, Next, NodeResult, workflow::Handler};

/// A node of a file, by its position there.
#[derive(Debug, Clone)]
pub(super) struct NodeOfFile {
    parts: Arc<AgentParts>,
    servers: Arc<Servers>,
    workflow: usize,
    node: usize,
}

/// The result of a node: its output and the next step.
#[derive(Debug, Default)]
struct NodeOutput {
    output: Option<Value>,
    next: Next,
}

impl NodeOutput {
    fn output(output: Value) -> Self {
        Self { output: Some(output), next: Next::go() }
    }

    fn next(next: Next) -> Self {
        Self { output: None, next }
    }
}

impl NodeOfFile {
    pub(super) fn new(parts: Arc<AgentParts>, servers: Arc<Servers>, workflow: &str, node: usize) -> Self {
        let workflow =
            parts.workflows.iter().position(|part| part.name.value == workflow).unwrap_or(usize::MAX);
        Self { parts, servers, workflow, node }
    }

    fn found(&self) -> Result<(&SourceText, &WithSpan<String>, &NodeText), Error> {
        let part = self.parts.workflows.get(self.workflow);
        part.and_then(|part| {
            let (name, node) = part.value.text.nodes.0.get(self.node)?;
            Some((&*part.source, name, node))
        })
        .ok_or_else(|| Error::new(ErrorKind::Build, "the node is not in its file"))
    }

    /// The tools of an MCP server.
    fn server(&self, name: &str) -> Option<McpTools> {
        self.servers.tools(&self.parts, name)
    }

    /// Runs a node of a built-in kind.
    pub(super) async fn run(&self, cx: Cx) -> NodeResult {
        let (source, name, node) = self.found()?;
        let scope = TemplateScope::of(&cx);
        let call = NodeCall { file: self, cx: &cx, source, scope: &scope, name: &name.value };
        let result = if let Some(reason) = &node.reason {
            reason::run(&call, reason).await?
        } else if let Some(interrupt) = &node.interrupt {
            ask::run(&call, &interrupt.value).await?
        } else if let Some(structured) = &node.structured {
            show::structured(&call, structured)?
        } else if let Some(message) = &node.message {
            NodeOutput::next(Next::message(message.render(source, &scope)?))
        } else if let Some(route) = &node.route {
            route::run(&call, &route.value).await?
        } else if let Some(transition) = &node.transition {
            show::transition(&call, transition)?
        } else if let Some(wait) = node.wait {
            show::wait(&call, wait.0).await?;
            NodeOutput::default()
        } else {
            NodeOutput::default()
        };
        keep(&call, node, result)
    }

    /// Runs a node that is a function of the program.
    pub(super) async fn call(&self, cx: Cx, function: &Handler) -> NodeResult {
        let (source, name, node) = self.found()?;
        let scope = TemplateScope::of(&cx);
        let next = function(cx.clone(), cx.node.input.clone())?.await?;
        let call = NodeCall { file: self, cx: &cx, source, scope: &scope, name: &name.value };
        // A function's output is its data; with `save` it is moved under that name.
        let mut result = NodeOutput { output: Some(Value::Object(next.data.clone())), next };
        if node.save.is_some() {
            result.next.data = Map::new();
        }
        keep(&call, node, result)
    }
}

/// The context of one node execution.
struct NodeCall<'a> {
    file: &'a NodeOfFile,
    cx: &'a Cx,
    source: &'a SourceText,
    scope: &'a TemplateScope,
    name: &'a str,
}

/// Saves a node's output as the file specifies.
fn keep(call: &NodeCall<'_>, node: &NodeText, result: NodeOutput) -> NodeResult {
    let NodeOutput { output, mut next } = result;
    let output = output.unwrap_or_default();
    if let Some(result) = &node.result {
        next = next.with_result(&result.fill(call.source, &call.scope.with_output(&output))?)?;
    }
    Ok(match (&node.save, output) {
        (Some(SaveText::State(name)), output) => {
            call.cx.workflow_state(name, Value::Null)?.set(output)?;
            next
        }
        (Some(SaveText::Shared(name)), output) => {
            let shared = call.cx.shared_state(Map::new())?;
            let mut fields = shared.get()?;
            fields.insert(name.clone(), output);
            shared.set(fields)?;
            next
        }
        (Some(SaveText::Data(name)), output) => next.with_data(&Map::from_iter([(name.clone(), output)]))?,
        (None, Value::Object(fields)) => next.with_data(&fields)?,
        (None, _) => next,
    })
}
