//! Workflows as Mermaid flowcharts.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use headwater_runtime::{AgentFile, FileNode, FileWorkflow};

pub(super) fn draw(file: &AgentFile, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "flowchart TD")?;
    let several = file.workflows().count() > 1;
    for (number, workflow) in file.workflows().enumerate() {
        let indent = if several { "    " } else { "  " };
        if several {
            writeln!(out, "  subgraph w{number}[\"{}\"]", label(workflow.id()))?;
        }
        draw_workflow(number, workflow, indent, out)?;
        if several {
            writeln!(out, "  end")?;
        }
    }
    let number = |id: &str| file.workflows().position(|workflow| workflow.id() == id);
    for (from, workflow) in file.workflows().enumerate() {
        for (at, node) in workflow.nodes().enumerate() {
            if let ("transition", Some(to)) = (node.kind, node.about.and_then(number)) {
                writeln!(out, "  w{from}n{at} -.-> w{to}start")?;
            }
        }
    }
    Ok(())
}

fn draw_workflow(
    number: usize,
    workflow: FileWorkflow<'_>,
    indent: &str,
    out: &mut impl Write,
) -> io::Result<()> {
    // Nodes get numbers as ids, because names may contain characters that Mermaid rejects.
    let ids: HashMap<&str, usize> = workflow.nodes().enumerate().map(|(at, node)| (node.name, at)).collect();
    let id = |name: &str| ids.get(name).map_or_else(String::new, |at| format!("w{number}n{at}"));
    writeln!(out, "{indent}w{number}start([start]) --> {}", id(workflow.start()))?;
    for node in workflow.nodes() {
        writeln!(out, "{indent}{}{}", id(node.name), shape(&node))?;
    }
    for edge in workflow.edges() {
        let to = edge.to.map_or_else(|| format!("w{number}end([end])"), id);
        match edge.when {
            Some(when) => writeln!(out, "{indent}{} -- \"{}\" --> {to}", id(edge.from), label(when))?,
            None if edge.on_error => writeln!(out, "{indent}{} -. on error .-> {to}", id(edge.from))?,
            None => writeln!(out, "{indent}{} --> {to}", id(edge.from))?,
        }
    }
    Ok(())
}

/// Questions are hexagons, branches are rhombuses, everything else is a box.
fn shape(node: &FileNode<'_>) -> String {
    let about = node.about.map(|about| format!(" {}", label(about))).unwrap_or_default();
    let text = format!("{}<br/><small>{}{about}</small>", label(node.name), node.kind);
    match node.kind {
        "interrupt" => format!("{{{{\"{text}\"}}}}"),
        "route" => format!("{{\"{text}\"}}"),
        _ => format!("[\"{text}\"]"),
    }
}

fn label(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('\n', " ")
}
