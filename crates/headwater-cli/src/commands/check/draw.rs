//! Draws workflows as text: each node with its outgoing edges, in walk order.

use std::{
    collections::{HashMap, VecDeque},
    io::{self, Write},
};

use headwater_runtime::{AgentFile, FileEdge, FileNode, FileWorkflow};

use crate::style::{self, BOLD, CYAN, DIM, GREEN, YELLOW};

pub(super) fn draw(file: &AgentFile, out: &mut impl Write) -> io::Result<()> {
    let name = style::printable(file.name());
    let about = file.description().map(|about| format!("  {}", style::printable(about))).unwrap_or_default();
    writeln!(out, "{GREEN}✓{GREEN:#} {BOLD}{name}{BOLD:#}{}", about.trim_end())?;
    for workflow in file.workflows() {
        draw_workflow(workflow, out)?;
    }
    writeln!(out)
}

fn draw_workflow(workflow: FileWorkflow<'_>, out: &mut impl Write) -> io::Result<()> {
    let (id, version) = (style::printable(workflow.id()), style::printable(workflow.version()));
    writeln!(out, "\n  {BOLD}{id}{BOLD:#} {DIM}version {version}{DIM:#}")?;
    if let Some(about) = workflow.description() {
        writeln!(out, "  {DIM}{}{DIM:#}", style::printable(about))?;
    }
    let nodes: HashMap<&str, FileNode<'_>> = workflow.nodes().map(|node| (node.name, node)).collect();
    let edges: Vec<FileEdge<'_>> = workflow.edges().collect();
    let order = walk(workflow, &edges);
    let place: HashMap<&str, usize> = order.iter().enumerate().map(|(at, name)| (*name, at)).collect();
    let widest = order.iter().map(|name| style::width(name)).max().unwrap_or(0);
    writeln!(out, "  ○ start")?;
    for (at, name) in order.iter().enumerate() {
        let Some(node) = nodes.get(name) else { continue };
        let about = node.about.map(|about| format!(" {}", style::printable(about))).unwrap_or_default();
        let gap = " ".repeat(widest - style::width(name));
        let shown = style::printable(name);
        writeln!(out, "  │")?;
        writeln!(out, "  ● {BOLD}{shown}{BOLD:#}{gap}  {CYAN}{}{CYAN:#}{DIM}{about}{DIM:#}", node.kind)?;
        let leaving: Vec<_> = edges.iter().filter(|edge| edge.from == *name).collect();
        for (number, edge) in leaving.iter().enumerate() {
            let corner = if number + 1 == leaving.len() { "└" } else { "├" };
            let when = edge
                .when
                .or(edge.on_error.then_some("on error"))
                .map(|when| format!(" {YELLOW}{}{YELLOW:#} ─", style::printable(when)))
                .unwrap_or_default();
            // Mark edges that lead back up: they may close a loop.
            let back = edge.to.and_then(|to| place.get(to)).is_some_and(|to| *to <= at);
            let mark = if back { " ↑" } else { "" };
            let to = edge.to.map_or_else(|| "end".to_owned(), style::printable);
            writeln!(out, "  │   {corner}─{when}▶ {to}{DIM}{mark}{DIM:#}")?;
        }
    }
    writeln!(out, "  ○ end")
}

/// The nodes, nearest to the start first.
fn walk<'a>(workflow: FileWorkflow<'a>, edges: &[FileEdge<'a>]) -> Vec<&'a str> {
    let mut order = vec![workflow.start()];
    let mut queue = VecDeque::from([workflow.start()]);
    while let Some(name) = queue.pop_front() {
        for to in edges.iter().filter(|edge| edge.from == name).filter_map(|edge| edge.to) {
            if !order.contains(&to) {
                order.push(to);
                queue.push_back(to);
            }
        }
    }
    // Nodes that are reached only through error edges.
    let others: Vec<_> =
        workflow.nodes().map(|node| node.name).filter(|name| !order.contains(name)).collect();
    order.extend(others);
    order
}
