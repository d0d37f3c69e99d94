//! What a run waits for, in words.

use std::io::Write;

use headwater_client::{OpenInterrupt, OpenInterruptKind};
use headwater_protocol::InterruptKind;

use super::age;
use crate::{
    failure::CommandFailure,
    style::{BOLD, DIM, YELLOW, printable, terminal_width, wrap},
};

/// A request in one line, without its kind.
pub(in super::super) fn summary_of(open: &OpenInterrupt) -> String {
    let question = open.interrupt.as_ref().and_then(|interrupt| interrupt.question.clone());
    let call = open.tool.as_ref().map(|tool| match &open.input {
        Some(input) => format!("{}({input})", tool.name),
        None => tool.name.clone(),
    });
    question.or(call).unwrap_or_default()
}

pub(in super::super) fn kind_of(open: &OpenInterrupt) -> &'static str {
    match open.kind {
        OpenInterruptKind::Question => "question",
        OpenInterruptKind::Approval => "approval",
        OpenInterruptKind::ClientTool => "client-tool",
    }
}

/// Writes a request with its options, and the command that answers it.
pub(in super::super) fn write_waiting(
    open: &OpenInterrupt,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let (request, asked) = (printable(&open.request), age(&open.asked_at));
    writeln!(out, "{YELLOW}? {}{YELLOW:#}  {request}  {DIM}{asked} ago{DIM:#}", kind_of(open))?;
    let room = terminal_width().saturating_sub(2);
    for line in wrap(&summary_of(open), room) {
        writeln!(out, "  {BOLD}{line}{BOLD:#}")?;
    }
    for option in open.interrupt.iter().flat_map(|interrupt| &interrupt.options) {
        let about = option.description.as_ref().map(|about| format!(": {about}")).unwrap_or_default();
        writeln!(out, "  {}  {}", printable(&option.id), printable(&format!("{}{about}", option.label)))?;
    }
    let answer = match (open.kind, &open.interrupt) {
        (OpenInterruptKind::Approval, _) => "--approve, or --deny --reason TEXT",
        (OpenInterruptKind::ClientTool, _) => "--output JSON, or --error TEXT",
        (_, Some(interrupt)) if interrupt.response_schema.is_some() => "--value JSON",
        (_, Some(interrupt)) if interrupt.kind == InterruptKind::MultiChoice => r#"--value '["ID",…]'"#,
        _ => "ANSWER",
    };
    writeln!(out, "  {DIM}headwater interrupts answer {request} {answer}{DIM:#}")?;
    Ok(())
}
