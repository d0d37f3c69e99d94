//! What readers see of an agent's runs.

use headwater_protocol::{Event, Record};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What readers see of an agent's runs beside its text. Whatever is not shown stays in the journal.
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
    /// What tools were called with. What a person is asked to approve is always shown to that person.
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
    /// Whether nothing is withheld.
    pub(crate) fn everything(self) -> bool {
        self == Self::default()
    }

    /// The record as its readers see it, if they see it.
    pub(crate) fn filter(self, mut record: Record) -> Option<Record> {
        match &mut record.event {
            Event::ReasoningStart { .. } | Event::ReasoningDelta { .. } | Event::ReasoningEnd { .. } => {
                return self.reasoning.then_some(record);
            }
            Event::File { reasoning: true, .. } if !self.reasoning => return None,
            Event::ToolInputDelta { .. } if !self.tool_inputs => return None,
            Event::ToolInputAvailable { tool, input }
                if !self.tool_inputs && tool.executor != headwater_protocol::Executor::Client =>
            {
                *input = input.is_some().then(withheld);
            }
            Event::ToolInputError { input, .. } if !self.tool_inputs => {
                *input = input.is_some().then(withheld);
            }
            Event::ToolOutput { output, structured, .. } if !self.tool_outputs => {
                *output = Value::Null;
                *structured = None;
            }
            Event::ToolOutputError { error, .. } if !self.tool_outputs => {
                "the tool failed".clone_into(error);
            }
            // What was sent to the model is in it, with everything.
            Event::Trace { .. } if !self.everything() => return None,
            _ => {}
        }
        Some(record)
    }
}

fn withheld() -> Value {
    Value::Object(serde_json::Map::new())
}
