//! Tool calls, from the first byte of the input to the output.

use serde_json::{Map, Value};

use super::{PartKey, PartLocation, RunState, ToolScope};
use crate::{
    event::{
        Approval, ApprovalAnswered, ApprovalRequested, Event, Executor, Origin, Part, Record, ToolCall,
        ToolDenied, ToolInputAvailable, ToolInputDelta, ToolInputError, ToolOutputError, ToolPart, ToolState,
    },
    id::{ApprovalId, ToolCallId},
};

impl RunState {
    pub(super) fn apply_tool(&mut self, record: &Record) {
        let origin = &record.origin;
        let (linger, erase) = (self.rules.tool_fields_linger, self.rules.absent_is_erased);
        match &record.event {
            Event::ToolInputStart(tool) => {
                self.set_call(origin, tool, ToolState::InputStreaming, |part| {
                    part.input_text.clear();
                    if erase {
                        part.name.clone_from(&tool.name);
                    }
                });
            }
            Event::ToolInputDelta(ToolInputDelta { call, delta, .. }) => {
                let at = self.find_or_make(origin, call, None);
                if let Some(part) = at.and_then(|at| self.tool_mut(at)) {
                    part.state = ToolState::InputStreaming;
                    part.input_text.push_str(delta);
                }
            }
            Event::ToolInputAvailable(ToolInputAvailable { tool, input, .. }) => {
                self.set_call(origin, tool, ToolState::InputAvailable, |part| {
                    set_input(part, input.as_ref());
                    if erase {
                        part.name.clone_from(&tool.name);
                    }
                });
            }
            Event::ToolInputError(ToolInputError { tool, input, error, .. }) => {
                let known = self.index.parts.contains_key(&PartKey::Tool(tool.call.clone()));
                if !known && self.rules.unknown_calls_are_ignored {
                    return;
                }
                self.set_call(origin, tool, ToolState::OutputError, |part| {
                    if input.is_some() || !linger {
                        set_input(part, input.as_ref());
                    }
                    part.error = Some(error.clone());
                });
            }
            Event::ApprovalRequested(asked) => {
                let ApprovalRequested { approval, tool, input, signature, .. } = asked;
                let at = match self.index.parts.get(&PartKey::Tool(tool.call.clone())) {
                    Some(at) => *at,
                    None => self.make(origin, &tool.call, &tool.name, tool.dynamic),
                };
                if let Some(part) = self.tool_mut(at) {
                    keep_streamed_input(part);
                    part.state = ToolState::ApprovalRequested;
                    if erase || !tool.name.is_empty() {
                        part.name.clone_from(&tool.name);
                    }
                    if erase || input.is_some() {
                        set_input(part, input.as_ref());
                    }
                    let held = part.approval.take().filter(|_| linger);
                    let (approved, reason) = held.map_or((None, None), |held| (held.approved, held.reason));
                    part.approval = Some(Approval {
                        id: Some(approval.clone()),
                        approved,
                        reason,
                        signature: signature.clone(),
                        automatic: asked.automatic,
                        extra: Map::new(),
                    });
                }
            }
            Event::ApprovalAnswered(ApprovalAnswered { approval, call, approved, reason, .. }) => {
                let at = match call {
                    Some(call) => self.index.parts.get(&PartKey::Tool(call.clone())).copied(),
                    None => self.find_approval(approval),
                };
                if let Some(part) = at.and_then(|at| self.tool_mut(at)) {
                    part.state = ToolState::ApprovalResponded;
                    let held = part.approval.get_or_insert_with(|| unnamed_approval(Some(approval.clone())));
                    held.approved = Some(*approved);
                    held.reason.clone_from(reason);
                }
            }
            Event::ToolOutput(gave) => {
                let at = self.find_or_make(origin, &gave.call, gave.name.as_deref());
                if let Some(part) = at.and_then(|at| self.tool_mut(at)) {
                    keep_streamed_input(part);
                    part.state = ToolState::OutputAvailable;
                    part.output = Some(gave.output.clone());
                    part.structured.clone_from(&gave.structured);
                    part.is_error = gave.is_error;
                    part.preliminary = gave.preliminary;
                    if gave.metadata.is_some() {
                        part.output_metadata.clone_from(&gave.metadata);
                    }
                    if !linger {
                        part.error = None;
                    }
                }
            }
            Event::ToolOutputError(ToolOutputError { call, name, error, .. }) => {
                let at = self.find_or_make(origin, call, name.as_deref());
                if let Some(part) = at.and_then(|at| self.tool_mut(at)) {
                    keep_streamed_input(part);
                    part.state = ToolState::OutputError;
                    part.error = Some(error.clone());
                    if !linger {
                        forget_output(part);
                    }
                }
            }
            Event::ToolDenied(ToolDenied { call, name, reason, .. }) => {
                let at = self.find_or_make(origin, call, name.as_deref());
                if let Some(part) = at.and_then(|at| self.tool_mut(at)) {
                    keep_streamed_input(part);
                    part.state = ToolState::OutputDenied;
                    let held = part.approval.get_or_insert_with(|| unnamed_approval(None));
                    held.approved = Some(false);
                    if erase || reason.is_some() {
                        held.reason.clone_from(reason);
                    }
                }
            }
            _ => {}
        }
    }

    /// Announces a call: creates its part, or resets it.
    fn set_call(
        &mut self,
        origin: &Origin,
        tool: &ToolCall,
        state: ToolState,
        set: impl FnOnce(&mut ToolPart),
    ) {
        let linger = self.rules.tool_fields_linger;
        let at = match self.find_in_scope(origin, tool) {
            Some(at) => at,
            None => self.make_in_scope(origin, tool),
        };
        let Some(part) = self.tool_mut(at) else {
            return;
        };
        part.state = state;
        if !tool.name.is_empty() {
            part.name.clone_from(&tool.name);
        }
        if !linger {
            part.input = None;
            part.error = None;
            forget_output(part);
        }
        if tool.executor != Executor::Server {
            part.executor = tool.executor;
        }
        if tool.title.is_some() {
            part.title.clone_from(&tool.title);
        }
        if tool.metadata.is_some() {
            part.metadata.clone_from(&tool.metadata);
        }
        part.quiet |= tool.quiet;
        set(part);
    }

    fn find_in_scope(&mut self, origin: &Origin, tool: &ToolCall) -> Option<PartLocation> {
        let at = *self.index.parts.get(&PartKey::Tool(tool.call.clone()))?;
        let scope = self.rules.tool_scope;
        if scope == ToolScope::Run {
            return Some(at);
        }
        let message = self.target(origin);
        if at.message != message {
            return None;
        }
        if scope == ToolScope::Step {
            let parts = &self.messages.get(message)?.parts;
            let later = parts.get(at.part + 1..).unwrap_or_default();
            if later.iter().any(|part| matches!(part, Part::StepStart)) {
                return None;
            }
            let same = |part: &Part| {
                matches!(part, Part::Tool(known) if known.call == tool.call
                    && known.dynamic.unwrap_or(false) == tool.dynamic.unwrap_or(false))
            };
            let part = parts.get(at.part..)?.iter().position(same)?;
            return Some(PartLocation { part: at.part + part, ..at });
        }
        Some(at)
    }

    /// If a step has the call both as a static and as a dynamic tool, the id refers to the first.
    fn make_in_scope(&mut self, origin: &Origin, tool: &ToolCall) -> PartLocation {
        let key = PartKey::Tool(tool.call.clone());
        let first = self.index.parts.get(&key).copied().filter(|at| {
            let parts = self.messages.get(at.message).map(|message| message.parts.as_slice());
            let later = parts.and_then(|parts| parts.get(at.part..)).unwrap_or_default();
            self.rules.tool_scope == ToolScope::Step
                && Some(at.message) == self.current
                && !later.iter().any(|part| matches!(part, Part::StepStart))
        });
        let at = self.make(origin, &tool.call, &tool.name, tool.dynamic);
        if let Some(first) = first {
            self.index.parts.insert(key, first);
        }
        at
    }

    fn find_or_make(
        &mut self,
        origin: &Origin,
        call: &ToolCallId,
        name: Option<&str>,
    ) -> Option<PartLocation> {
        match self.index.parts.get(&PartKey::Tool(call.clone())) {
            Some(at) => Some(*at),
            None if self.rules.unknown_calls_are_ignored => None,
            None => Some(self.make(origin, call, name.unwrap_or_default(), None)),
        }
    }

    fn make(
        &mut self,
        origin: &Origin,
        call: &ToolCallId,
        name: &str,
        dynamic: Option<bool>,
    ) -> PartLocation {
        let attempt = origin.attempt.clone();
        let part = ToolPart { dynamic, attempt, ..ToolPart::new(call.clone(), name) };
        let at = self.push(origin, Part::Tool(Box::new(part)));
        self.index.parts.insert(PartKey::Tool(call.clone()), at);
        at
    }

    fn tool_mut(&mut self, at: PartLocation) -> Option<&mut ToolPart> {
        match self.part_mut(at) {
            Some(Part::Tool(part)) => Some(part),
            _ => None,
        }
    }

    fn find_approval(&self, approval: &ApprovalId) -> Option<PartLocation> {
        let asked = |part: &Part| {
            matches!(part, Part::Tool(tool)
                if tool.approval.as_ref().is_some_and(|held| held.id.as_ref() == Some(approval)))
        };
        self.messages.iter().enumerate().rev().find_map(|(message, known)| {
            let part = known.parts.iter().rposition(asked)?;
            Some(PartLocation { message, part })
        })
    }
}

fn unnamed_approval(id: Option<ApprovalId>) -> Approval {
    Approval { id, ..Approval::default() }
}

fn set_input(part: &mut ToolPart, input: Option<&Value>) {
    part.input = input.cloned();
    if input.is_some() {
        part.input_text.clear();
    }
}

fn forget_output(part: &mut ToolPart) {
    part.output = None;
    part.structured = None;
    part.is_error = false;
    part.preliminary = false;
}

/// If an output or approval comes while the input is still streaming, the call was made with the streamed
/// part.
fn keep_streamed_input(part: &mut ToolPart) {
    if part.state == ToolState::InputStreaming && part.input.is_none() {
        part.input = part.input_so_far();
    }
}
