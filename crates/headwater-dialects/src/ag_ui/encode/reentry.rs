//! Sends the state of a run to a client that reconnects.
//!
//! The conversation is sent as a snapshot, which is right for a client that holds nothing, only the question,
//! or half of the answer. Open parts are then started again and continue.

use std::borrow::Cow;

use headwater_protocol::{
    self, Event, Part, PartState, Record, RunStarted, RunState, RunStatus, ToolState, WarningEvent,
};

use super::{AgUiEncoder, Sink, at};
use crate::ag_ui::chunk::{Chunk, StateSnapshot, Step};

impl AgUiEncoder {
    /// Sends a state to a client that may hold nothing, the beginning, or all of it.
    pub(in super::super) fn rebuild(&mut self, state: &RunState, sink: Sink<'_>) {
        if *state == RunState::with_rules(state.rules()) {
            self.history_due = true;
            return;
        }
        let replay = state.replay_open();
        for record in &replay {
            if let Event::RunStarted(started) = &record.event {
                if *started == RunStarted::default() {
                    self.start(record, None, sink);
                } else {
                    self.begin(record, started, sink);
                }
            }
        }
        // TanStack's client resets a text, reasoning or call at its start event, AG-UI's client appends to
        // it. Leaving open parts empty in the snapshot and sending them whole after their start works for
        // both.
        let goes_on = state.run().status == RunStatus::Running;
        let mut messages = state.messages().to_vec();
        for part in messages.iter_mut().flat_map(|message| &mut message.parts).filter(|_| goes_on) {
            match part {
                Part::Text(text) | Part::Reasoning(text) if text.state == PartState::Streaming => {
                    text.text.clear();
                }
                Part::Tool(tool) if tool.state == ToolState::InputStreaming => tool.input_text.clear(),
                // The client accepts one result per call, which must be the final one.
                Part::Tool(tool) if tool.preliminary => {
                    (tool.state, tool.output) = (ToolState::InputAvailable, None);
                }
                _ => {}
            }
        }
        let messages = messages.iter().map(|message| state.with_objects(message)).collect();
        self.state = RunState::with_rules(state.rules()).with_messages(messages);
        let now = Record::new(0, WarningEvent::default());
        if let Some(shared) = state.shared_state() {
            sink(&Chunk::StateSnapshot(StateSnapshot { snapshot: Cow::Borrowed(shared), base: at(&now) }));
        }
        // TanStack's page drops its last message at the first text, call or snapshot, but not at reasoning:
        // without a snapshot first it would drop the message that the reasoning has begun.
        if !state.messages().is_empty() || !self.history.is_empty() {
            self.snapshot(&now, sink);
        }
        self.state = state.clone();
        if goes_on {
            self.reopen(state, &now, sink);
        }
        for update in state.structured().iter().flat_map(headwater_protocol::StructuredState::updates) {
            self.objects.growing.apply(&update, 0);
        }
        for record in &replay {
            match &record.event {
                Event::ApprovalRequested(_) if pending(state, record) => self.keep_approval(record),
                Event::InterruptRequested(_)
                | Event::Error(_)
                | Event::RunFinished(_)
                | Event::RunFailed(_)
                | Event::RunCancelled { .. }
                | Event::RunWaiting(_) => self.chunks(record, sink),
                _ => {}
            }
        }
    }

    /// Starts the parts again that may still grow.
    fn reopen(&mut self, state: &RunState, now: &Record, sink: Sink<'_>) {
        for step in &state.run().open_steps {
            self.step_count += 1;
            let mut wire = step.clone().unwrap_or_else(|| format!("step {}", self.step_count));
            while self.steps.iter().any(|(_, open)| *open == wire) {
                self.step_count += 1;
                wire = format!("{} {}", step.as_deref().unwrap_or("step"), self.step_count);
            }
            sink(&Chunk::StepStarted(Step { step_name: Cow::Borrowed(&wire), base: at(now) }));
            self.steps.push((step.clone(), wire));
        }
        for message in state.messages() {
            let wires: Vec<_> = self.ids.of_texts(&message.id).cloned().collect();
            let mut wires = wires.into_iter();
            for part in &message.parts {
                let mut from = now.clone();
                from.origin.message = Some(message.id.clone());
                from.origin.attempt = part.attempt().cloned();
                if let Some((kind, text)) = part.as_block() {
                    let Some(wire) = wires.next() else { continue };
                    if text.state == PartState::Streaming {
                        let open = super::OpenText {
                            kind,
                            message: message.id.clone(),
                            part: text.id.clone(),
                            attempt: text.attempt.clone(),
                            wire,
                        };
                        self.emit_start(&from, &open, sink);
                        if !text.text.is_empty() {
                            super::text::emit_delta(&open, &text.text, at(&from), sink);
                        }
                        self.texts.push(open);
                    }
                }
                match part {
                    Part::Tool(tool) if tool.state == ToolState::InputStreaming => {
                        self.open_call(&from, &tool.tool_call(), sink);
                        if !tool.input_text.is_empty() {
                            super::tool::emit_args(&tool.call, &tool.input_text, at(&from), sink);
                        }
                    }
                    Part::Tool(tool) if tool.preliminary => self.preliminary.push(tool.call.clone()),
                    _ => {}
                }
            }
        }
    }
}

/// Whether the approval is still open.
fn pending(state: &RunState, record: &Record) -> bool {
    let part = record.event.tool_call().and_then(|call| state.tool(call));
    part.is_some_and(|part| part.state == ToolState::ApprovalRequested)
}
