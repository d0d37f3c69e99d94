//! Checks the order of events.

use std::collections::HashSet;

use super::chunk::{Chunk, SubagentError, SubagentFinished};

/// The open elements of a run.
#[derive(Debug, Default)]
pub(super) struct Order {
    begun: bool,
    running: bool,
    /// Each with its kind, subagent and id.
    open: HashSet<(&'static str, Option<String>, String)>,
}

impl Order {
    pub(super) fn is_running(&self) -> bool {
        self.running
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Checks the next event; the error describes the violation.
    pub(super) fn event(&mut self, name: &str, chunk: &Chunk<'_>) -> Result<(), String> {
        let begun = std::mem::replace(&mut self.begun, true);
        match chunk {
            Chunk::RunStarted(_) if self.running => {
                return Err("a run that starts while another is active".to_owned());
            }
            Chunk::RunStarted(_) => {
                self.running = true;
                self.open.clear();
                return Ok(());
            }
            Chunk::RunError(_) => {
                self.running = false;
                return Ok(());
            }
            _ if !begun => return Err(format!("{name} before RUN_STARTED")),
            _ if !self.running => return Err(format!("{name} after the end of the run")),
            _ => {}
        }
        match chunk {
            Chunk::RunFinished(_) => {
                self.running = false;
                match self.open.iter().min() {
                    Some((kind, _, id)) => Err(format!("the end of a run with an open {kind} '{id}'")),
                    None => Ok(()),
                }
            }
            Chunk::TextMessageStart(start) => self.begin("text", None, &start.message_id),
            Chunk::TextMessageContent(delta) => self.is_open("text", &delta.message_id),
            Chunk::TextMessageEnd(end) => self.end("text", None, &end.message_id),
            Chunk::ReasoningStart(start) => self.begin("span of reasoning", None, &start.message_id),
            Chunk::ReasoningEnd(end) => self.end("span of reasoning", None, &end.message_id),
            Chunk::ReasoningMessageStart(start) => self.begin("reasoning", None, &start.message_id),
            Chunk::ReasoningMessageContent(delta) => self.is_open("reasoning", &delta.message_id),
            Chunk::ReasoningMessageEnd(end) => self.end("reasoning", None, &end.message_id),
            Chunk::ToolCallStart(start) => self.begin("call", None, &start.tool_call_id),
            Chunk::ToolCallArgs(args) => self.is_open("call", &args.tool_call_id),
            Chunk::ToolCallEnd(end) => self.end("call", None, &end.tool_call_id),
            Chunk::StepStarted(step) => {
                self.begin("step", step.base.subagent_run_id.as_deref(), &step.step_name)
            }
            Chunk::StepFinished(step) => {
                self.end("step", step.base.subagent_run_id.as_deref(), &step.step_name)
            }
            Chunk::SubagentStarted(start) => {
                self.begin("subagent", None, start.base.subagent_run_id.as_deref().unwrap_or_default())
            }
            Chunk::SubagentFinished(SubagentFinished { base, .. })
            | Chunk::SubagentError(SubagentError { base, .. }) => {
                self.end("subagent", None, base.subagent_run_id.as_deref().unwrap_or_default())
            }
            _ => Ok(()),
        }
    }

    fn begin(&mut self, kind: &'static str, owner: Option<&str>, id: &str) -> Result<(), String> {
        let new = self.open.insert((kind, owner.map(str::to_owned), id.to_owned()));
        if new { Ok(()) } else { Err(format!("a second start of the open {kind} '{id}'")) }
    }

    fn is_open(&self, kind: &'static str, id: &str) -> Result<(), String> {
        let open = self.open.contains(&(kind, None, id.to_owned()));
        if open { Ok(()) } else { Err(format!("more of the {kind} '{id}', which is not open")) }
    }

    fn end(&mut self, kind: &'static str, owner: Option<&str>, id: &str) -> Result<(), String> {
        let open = self.open.remove(&(kind, owner.map(str::to_owned), id.to_owned()));
        if open { Ok(()) } else { Err(format!("the end of the {kind} '{id}', which is not open")) }
    }
}
