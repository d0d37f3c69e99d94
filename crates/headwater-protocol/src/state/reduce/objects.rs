//! Structured objects and questions, and their parts in messages.

use serde_json::Value;

use super::RunState;
use crate::{
    error::{Error, ErrorKind},
    event::{Interrupt, Message, Origin, Part, QuestionPart, QuestionState, StructuredPart},
    id::RequestId,
    structured::StructuredUpdate,
};

impl RunState {
    /// Applies an update. The first update of a stream creates its part in the message.
    pub(super) fn apply_structured(
        &mut self,
        origin: &Origin,
        update: &StructuredUpdate,
    ) -> Result<(), Error> {
        let known = self.structured.get(&update.stream).map(|state| state.data_type() == update.data_type);
        self.structured
            .apply(update)
            .map_err(|error| Error::new(ErrorKind::Structured, error.to_string()))?;
        if self.rules.objects_leave_no_part || known == Some(true) {
            return Ok(());
        }
        if known.is_some()
            && let Some(part) = self.structured_mut(&update.stream)
        {
            part.data_type.clone_from(&update.data_type);
            return Ok(());
        }
        let (stream, data_type) = (update.stream.clone(), update.data_type.clone());
        self.push(origin, Part::Structured(StructuredPart { stream, data_type, data: None }));
        Ok(())
    }

    pub(super) fn invalidate_structured(&mut self, stream: &str) {
        self.structured.invalidate(stream);
        let mut removed = false;
        for message in &mut self.messages {
            let before = message.parts.len();
            message.parts.retain(|part| !matches!(part, Part::Structured(part) if part.stream == stream));
            removed |= message.parts.len() != before;
        }
        if removed {
            self.rebuild_index();
        }
    }

    fn structured_mut(&mut self, stream: &str) -> Option<&mut StructuredPart> {
        let parts = self.messages.iter_mut().rev().flat_map(|message| message.parts.iter_mut().rev());
        parts.into_iter().find_map(|part| match part {
            Part::Structured(part) if part.stream == stream => Some(part),
            _ => None,
        })
    }

    /// Adds a question. A repeated question keeps its position.
    pub(super) fn ask(&mut self, origin: &Origin, interrupt: &Interrupt) {
        self.interrupts.retain(|open| open.request != interrupt.request);
        self.interrupts.push(interrupt.clone());
        if self.rules.objects_leave_no_part {
            return;
        }
        let part = QuestionPart { interrupt: interrupt.clone(), state: QuestionState::Open, answer: None };
        match self.question_mut(&interrupt.request) {
            Some(known) => *known = part,
            None => {
                self.push(origin, Part::Question(Box::new(part)));
            }
        }
    }

    pub(super) fn close_question(
        &mut self,
        request: &RequestId,
        state: QuestionState,
        answer: Option<&Value>,
    ) {
        self.interrupts.retain(|open| open.request != *request);
        if let Some(part) = self.question_mut(request) {
            part.state = state;
            part.answer = answer.cloned();
            // The token is no longer needed.
            part.interrupt.token = None;
        }
    }

    fn question_mut(&mut self, request: &RequestId) -> Option<&mut QuestionPart> {
        let parts = self.messages.iter_mut().rev().flat_map(|message| message.parts.iter_mut().rev());
        parts.into_iter().find_map(|part| match part {
            Part::Question(part) if part.interrupt.request == *request => Some(&mut **part),
            _ => None,
        })
    }

    /// A message with the structured objects built so far, to keep it after the run. It contains no tokens of
    /// questions.
    ///
    /// ```
    /// use headwater_protocol::{Event, Part, Record, RunState, StructuredOp, StructuredUpdate};
    ///
    /// let mut state = RunState::default();
    /// let update = StructuredUpdate::new("s1", "email", StructuredOp::set("subject", "Hi"));
    /// state.apply(&Record::new(0, Event::Structured(update))).unwrap();
    /// let message = state.with_objects(&state.messages()[0]);
    /// assert!(matches!(&message.parts[0], Part::Structured(part) if part.data.is_some()));
    /// ```
    #[must_use]
    pub fn with_objects(&self, message: &Message) -> Message {
        let mut message = message.clone();
        for part in &mut message.parts {
            match part {
                Part::Structured(part) => {
                    if let Some(state) = self.structured.get(&part.stream) {
                        part.data = state.data().cloned();
                    }
                }
                Part::Question(question) => question.interrupt.token = None,
                _ => {}
            }
        }
        message
    }
}
