//! What readers see of an agent's runs.

use headwater_protocol::{Event, Executor, Message, Part, Record, ToolCall, ToolPart};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What readers see of an agent's runs beside its text, whatever they ask for: streams, conversations, checkpoints,
/// exports. Whatever is not shown stays in the store. Sources are part of the answer, whoever found them.
///
/// ```
/// use headwater_server::Shows;
///
/// let shows = Shows { reasoning: false, ..Shows::default() };
/// assert!(shows.tool_inputs);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shows {
    /// What the model thought.
    pub reasoning: bool,
    /// What tools were called with. What a person is asked to approve, and what the page is to execute, is always shown.
    pub tool_inputs: bool,
    /// What tools gave.
    pub tool_outputs: bool,
}

impl Default for Shows {
    fn default() -> Self {
        Self { reasoning: true, tool_inputs: true, tool_outputs: true }
    }
}

impl Shows {
    /// The record as its readers see it, if they see it.
    pub(crate) fn filter(self, mut record: Record) -> Option<Record> {
        match &mut record.event {
            Event::ReasoningStart { .. } | Event::ReasoningDelta { .. } | Event::ReasoningEnd { .. } => {
                return self.reasoning.then_some(record);
            }
            Event::File { reasoning: true, .. } if !self.reasoning => return None,
            Event::ToolInputDelta { .. } if !self.tool_inputs => return None,
            Event::ToolInputStart(tool) => self.call(tool),
            Event::ToolInputAvailable { tool, input } => {
                self.call(tool);
                self.input(tool.executor, input);
            }
            Event::ToolInputError { tool, input, error } => {
                self.call(tool);
                self.input(tool.executor, input);
                self.failure(error);
            }
            // Nobody is asked: it is decided by a rule.
            Event::ApprovalRequested { tool, input, automatic: true, .. } => {
                self.call(tool);
                self.input(tool.executor, input);
            }
            Event::ToolOutput { output, structured, metadata, .. } if !self.tool_outputs => {
                *output = Value::Null;
                (*structured, *metadata) = (None, None);
            }
            Event::ToolOutputError { error, .. } => self.failure(error),
            Event::MessagesSnapshot { messages } => {
                *messages = self.messages(std::mem::take(messages));
            }
            _ => {}
        }
        Some(record)
    }

    /// Messages as their readers see them.
    pub(crate) fn messages(self, mut messages: Vec<Message>) -> Vec<Message> {
        for message in &mut messages {
            message.parts.retain_mut(|part| self.part(part));
        }
        messages
    }

    /// Takes out of a part what its readers do not see, and says whether they see anything of it.
    pub(crate) fn part(self, part: &mut Part) -> bool {
        match part {
            Part::Reasoning(_) => return self.reasoning,
            Part::File(file) if file.reasoning => return self.reasoning,
            Part::Tool(tool) => self.tool(tool),
            _ => {}
        }
        true
    }

    fn tool(self, tool: &mut ToolPart) {
        let decided = tool.approval.as_ref().is_some_and(|approval| !approval.automatic);
        if !self.tool_inputs && tool.executor != Executor::Client {
            tool.metadata = None;
            if !decided {
                tool.input_text.clear();
                self.input(tool.executor, &mut tool.input);
            }
        }
        if !self.tool_outputs {
            tool.output = tool.output.is_some().then_some(Value::Null);
            (tool.structured, tool.output_metadata) = (None, None);
        }
        if let Some(error) = &mut tool.error {
            self.failure(error);
        }
    }

    /// What a provider says about a call may repeat its input.
    fn call(self, tool: &mut ToolCall) {
        if !self.tool_inputs && tool.executor != Executor::Client {
            tool.metadata = None;
        }
    }

    fn input(self, executor: Executor, input: &mut Option<Value>) {
        if !self.tool_inputs && executor != Executor::Client {
            *input = input.is_some().then(|| Value::Object(serde_json::Map::new()));
        }
    }

    /// What went wrong may repeat the input as well as the output.
    fn failure(self, error: &mut String) {
        if !(self.tool_inputs && self.tool_outputs) {
            "the tool failed".clone_into(error);
        }
    }
}
