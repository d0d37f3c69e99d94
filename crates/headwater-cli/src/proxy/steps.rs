//! The steps of an answer, where the server behind does not mark them.
//!
//! Clients of the AI SDK send a message again when all calls of its last step have outputs. So the text after an output must
//! be in a step of its own.

use headwater_protocol::Event;

/// Marks the steps of an answer.
#[derive(Debug, Default)]
pub(super) struct StepMarks {
    /// The server behind marks them itself.
    has_marks: bool,
    is_open: bool,
    /// A call of the step has an output.
    has_output: bool,
}

impl StepMarks {
    /// The marks that an event needs before it.
    pub(super) fn before(&mut self, event: &Event) -> Vec<Event> {
        match event {
            Event::StepStarted { .. } | Event::StepFinished { .. } => {
                self.has_marks |= !self.is_open;
                Vec::new()
            }
            _ if self.has_marks => Vec::new(),
            Event::ToolOutput(_) | Event::ToolOutputError(_) | Event::ToolDenied(_) => {
                self.has_output = true;
                Vec::new()
            }
            Event::BlockStarted(_)
            | Event::BlockDelta(_)
            | Event::ToolInputStart(_)
            | Event::ToolInputAvailable(_) => {
                let mut marks = Vec::new();
                if std::mem::take(&mut self.has_output) && self.is_open {
                    marks.push(Event::StepFinished { name: None });
                    self.is_open = false;
                }
                if !self.is_open {
                    marks.push(Event::StepStarted { name: None });
                    self.is_open = true;
                }
                marks
            }
            _ => Vec::new(),
        }
    }

    /// The mark at the end of the answer.
    pub(super) fn end(&mut self) -> Option<Event> {
        let open = std::mem::take(&mut self.is_open);
        open.then_some(Event::StepFinished { name: None })
    }
}
