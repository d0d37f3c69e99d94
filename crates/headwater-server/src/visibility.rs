//! Visible parts of an agent's runs. Every route that sends run data filters it here.

use headwater_protocol::{
    ApprovalRequested, AttemptRetracted, BlockKind, ErrorEvent, ErrorInfo, Event, Executor, FileEvent,
    Message, Part, Record, ToolCall, ToolInputAvailable, ToolInputError, ToolOutput, ToolOutputError,
    ToolPart, WarningEvent,
};
use headwater_runtime::{READER_ERRORS, RunSummary, code_of, error_for_reader, reader_text};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The parts of an agent's runs that readers receive beside the text, on every route: streams, conversations,
/// checkpoints, exports. Hidden parts stay in the store. Sources are part of the answer.
///
/// ```
/// use headwater_server::Visibility;
///
/// let visibility = Visibility { reasoning: false, ..Visibility::default() };
/// assert!(visibility.tool_inputs && !visibility.errors);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Visibility {
    /// The model's reasoning.
    pub reasoning: bool,
    /// The inputs of tool calls. Inputs that a person must approve or the page must execute are always
    /// visible.
    pub tool_inputs: bool,
    /// The outputs of tools.
    pub tool_outputs: bool,
    /// The texts of errors. They name files, commands and addresses and may repeat a prompt, so by default readers get the
    /// code, a fixed sentence and the request id, and the log has the text.
    pub errors: bool,
    /// The beginning of the input, in lists of runs, where it can be searched for.
    pub input_previews: bool,
    /// The state of workflows, in checkpoints and exports. It may contain data that was never sent to
    /// readers.
    pub state: bool,
}

impl Default for Visibility {
    fn default() -> Self {
        Self {
            reasoning: true,
            tool_inputs: true,
            tool_outputs: true,
            errors: false,
            input_previews: true,
            state: false,
        }
    }
}

impl Visibility {
    /// The record without hidden parts; `None` if all of it is hidden.
    pub(crate) fn filter(self, mut record: Record) -> Option<Record> {
        if record.event.block_kind() == Some(BlockKind::Reasoning) {
            return self.reasoning.then_some(record);
        }
        match &mut record.event {
            Event::File(FileEvent { reasoning: true, .. }) if !self.reasoning => return None,
            Event::ToolInputDelta(_) if !self.tool_inputs => return None,
            Event::ToolInputStart(tool) => self.call(tool),
            Event::ToolInputAvailable(ToolInputAvailable { tool, input, .. }) => {
                self.call(tool);
                self.input(tool.executor, input);
            }
            Event::ToolInputError(ToolInputError { tool, input, error, .. }) => {
                self.call(tool);
                self.input(tool.executor, input);
                self.failure(error);
            }
            // A rule decides, so there is no question.
            Event::ApprovalRequested(ApprovalRequested { tool, input, automatic: true, .. }) => {
                self.call(tool);
                self.input(tool.executor, input);
            }
            Event::ToolOutput(ToolOutput { output, structured, metadata, .. }) if !self.tool_outputs => {
                *output = Value::Null;
                (*structured, *metadata) = (None, None);
            }
            Event::ToolOutputError(ToolOutputError { error, .. }) => self.failure(error),
            Event::MessagesSnapshot { messages } => {
                *messages = self.messages(std::mem::take(messages));
            }
            Event::RunFailed(error) | Event::Error(ErrorEvent { error, .. }) => self.error(error),
            Event::AttemptRetracted(AttemptRetracted { reason: Some(reason), .. }) => self.reason(reason),
            Event::Warning(WarningEvent { message, code: Some(code), .. }) => self.warning(message, code),
            _ => {}
        }
        Some(record)
    }

    /// Messages with the visible parts only.
    pub(crate) fn messages(self, mut messages: Vec<Message>) -> Vec<Message> {
        for message in &mut messages {
            message.parts.retain_mut(|part| self.part(part));
        }
        messages
    }

    /// Removes hidden data from a part, and returns whether anything is left.
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

    /// A provider's metadata of a call may repeat its input.
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

    /// An error may repeat the input as well as the output. A text without a code is the tool's own, written
    /// for the model and the person.
    fn failure(self, error: &mut String) {
        if let (false, Some(code)) = (self.errors, code_of(error)) {
            *error = masked(code);
        } else if !(self.tool_inputs && self.tool_outputs) {
            *error = masked("tool.failed");
        }
    }

    fn error(self, error: &mut ErrorInfo) {
        if !self.errors {
            *error = error_for_reader(error);
        }
    }

    /// Why an attempt was retracted. A reason without a code may be anything.
    fn reason(self, reason: &mut String) {
        if !self.errors {
            *reason = masked(code_of(reason).unwrap_or("model.provider"));
        }
    }

    /// A warning repeats the error that it is about, if it has an error's code.
    fn warning(self, message: &mut String, code: &str) {
        if !self.errors && READER_ERRORS.iter().any(|(known, _)| *known == code) {
            *message = masked(code);
        }
    }

    /// The summary of a run without hidden fields.
    pub(crate) fn summary(self, mut summary: RunSummary) -> RunSummary {
        if let (false, Some(stuck)) = (self.errors, &mut summary.stuck) {
            *stuck = masked("run.stuck");
        }
        if !self.input_previews {
            summary.input.clear();
        }
        summary
    }
}

/// The fixed sentence of a code.
fn masked(code: &str) -> String {
    format!("{} ({code})", reader_text(code))
}
