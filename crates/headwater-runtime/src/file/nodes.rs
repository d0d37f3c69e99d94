//! What the nodes of a file do in a run.

mod ask;
mod reason;
mod route;
mod show;

use std::sync::Arc;

use headwater_tools::McpTools;
use serde_json::{Map, Value};

use super::{
    format::node::{NodeText, SaveText},
    load::Parts,
    place::{Placed, Source},
    servers::Servers,
    template::Scope,
};
use crate::{Cx, Error, ErrorKind, Next, NodeResult, workflow::Handler};

/// A node of a file, by its place there.
#[derive(Debug, Clone)]
pub(super) struct NodeOfFile {
    parts: Arc<Parts>,
    servers: Arc<Servers>,
    workflow: usize,
    node: usize,
}

/// What a node gave: something to keep, and where to go.
#[derive(Debug, Default)]
struct Gave {
    output: Option<Value>,
    next: Next,
}

impl Gave {
    fn output(output: Value) -> Self {
        Self { output: Some(output), next: Next::go() }
    }

    fn next(next: Next) -> Self {
        Self { output: None, next }
    }
}

impl NodeOfFile {
    pub(super) fn new(parts: Arc<Parts>, servers: Arc<Servers>, workflow: &str, node: usize) -> Self {
        let workflow =
            parts.workflows.iter().position(|part| part.name.value == workflow).unwrap_or(usize::MAX);
        Self { parts, servers, workflow, node }
    }

    fn found(&self) -> Result<(&Source, &Placed<String>, &NodeText), Error> {
        let part = self.parts.workflows.get(self.workflow);
        part.and_then(|part| {
            let (name, node) = part.value.text.nodes.0.get(self.node)?;
            Some((&*part.source, name, node))
        })
        .ok_or_else(|| Error::new(ErrorKind::Build, "the node is not in its file"))
    }

    /// The tools of a server.
    fn server(&self, name: &str) -> Option<McpTools> {
        self.servers.tools(&self.parts, name)
    }

    /// Runs a node of a built-in kind.
    pub(super) async fn run(&self, cx: Cx) -> NodeResult {
        let (source, name, node) = self.found()?;
        let scope = Scope::of(&cx);
        let of = Of { file: self, cx: &cx, source, scope: &scope, name: &name.value };
        let gave = if let Some(reason) = &node.reason {
            reason::run(&of, reason).await?
        } else if let Some(interrupt) = &node.interrupt {
            ask::run(&of, &interrupt.value).await?
        } else if let Some(structured) = &node.structured {
            show::structured(&of, structured)?
        } else if let Some(message) = &node.message {
            Gave::next(Next::message(message.render(source, &scope)?))
        } else if let Some(route) = &node.route {
            route::run(&of, &route.value).await?
        } else if let Some(transition) = &node.transition {
            show::transition(&of, transition)?
        } else if let Some(wait) = node.wait {
            show::wait(&of, wait.0).await?;
            Gave::default()
        } else {
            Gave::default()
        };
        keep(&of, node, gave)
    }

    /// Runs a node that is a function of the program.
    pub(super) async fn call(&self, cx: Cx, function: &Handler) -> NodeResult {
        let (source, name, node) = self.found()?;
        let scope = Scope::of(&cx);
        let next = function(cx.clone(), cx.node.input.clone())?.await?;
        let of = Of { file: self, cx: &cx, source, scope: &scope, name: &name.value };
        // What a function gives is its data; it is moved under a name where the file wants one.
        let mut gave = Gave { output: Some(Value::Object(next.data.clone())), next };
        if node.save.is_some() {
            gave.next.data = Map::new();
        }
        keep(&of, node, gave)
    }
}

/// What a kind of node has in its hands.
struct Of<'a> {
    file: &'a NodeOfFile,
    cx: &'a Cx,
    source: &'a Source,
    scope: &'a Scope,
    name: &'a str,
}

/// Keeps what a node gave where its file wants it.
fn keep(of: &Of<'_>, node: &NodeText, gave: Gave) -> NodeResult {
    let Gave { output, mut next } = gave;
    let output = output.unwrap_or_default();
    if let Some(result) = &node.result {
        next = next.with_result(&result.fill(of.source, &of.scope.with_output(&output))?)?;
    }
    Ok(match (&node.save, output) {
        (Some(SaveText::State(name)), output) => {
            of.cx.workflow_state(name, Value::Null)?.set(output)?;
            next
        }
        (Some(SaveText::Shared(name)), output) => {
            let shared = of.cx.shared_state(Map::new())?;
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
