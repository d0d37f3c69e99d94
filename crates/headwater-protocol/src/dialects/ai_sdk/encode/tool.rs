//! The life of a tool call on the wire.
//!
//! The client gives up at an output or a question whose call it does not know, so a call that was never
//! announced is announced first. Only at the very beginning of a stream may an output stand alone: it
//! belongs to a call of the message that is gone on with.

use std::borrow::Cow;

use serde_json::Value;

use super::{Audience, Call, Encoder, Plan, plan::metadata, text};
use crate::{
    dialects::ai_sdk::chunk::{
        Chunk, ToolApprovalRequest, ToolApprovalResponse, ToolInput, ToolInputDelta, ToolInputError,
        ToolInputStart, ToolOutput, ToolOutputDenied, ToolOutputError,
    },
    event::{Event, Executor, Record, ToolCall},
    id::ToolCallId,
};

impl Encoder {
    pub(super) fn plan_tool<'a>(&mut self, record: &'a Record) -> Plan<'a> {
        let mut plan = Plan::default();
        let ai_7 = self.audience == Audience::Ai7;
        match &record.event {
            Event::ToolInputStart(tool) => {
                self.announce(record, tool, true);
                let (provider_metadata, rest) = metadata(tool.metadata.as_ref());
                plan.marked = rest || is_lossy(tool, ai_7) || !ai_7 && provider_metadata.is_some();
                plan.push(Chunk::ToolInputStart(ToolInputStart {
                    tool_call_id: text(&tool.call),
                    tool_name: text(&tool.name),
                    provider_executed: provider_executed(tool),
                    provider_metadata: provider_metadata.filter(|_| ai_7),
                    tool_metadata: None,
                    dynamic: tool.dynamic,
                    title: tool.title.as_ref().filter(|_| ai_7).map(text),
                    input_encoding: None,
                }));
            }
            Event::ToolInputDelta { call, delta } => {
                let name = self.calls.get(call).map(|known| known.name.clone()).unwrap_or_default();
                if !self.calls.get(call).is_some_and(|known| known.partial) {
                    plan.marked = true;
                    self.announce(record, &ToolCall::new(call.clone(), name.clone()), true);
                    plan.push(Chunk::ToolInputStart(ToolInputStart {
                        tool_call_id: text(call),
                        tool_name: Cow::Owned(name),
                        ..ToolInputStart::default()
                    }));
                }
                let (tool_call_id, input_text_delta) = (text(call), text(delta));
                plan.push(Chunk::ToolInputDelta(ToolInputDelta { tool_call_id, input_text_delta }));
            }
            Event::ToolInputAvailable { tool, input } => {
                self.announce(record, tool, false);
                plan.marked = is_lossy(tool, ai_7) || input.is_none();
                plan.marked |= metadata(tool.metadata.as_ref()).1;
                plan.push(input_available(tool, input.as_ref(), ai_7));
            }
            Event::ToolInputError { tool, input, error } => {
                self.announce(record, tool, false);
                self.settle(&tool.call);
                let (provider_metadata, rest) = metadata(tool.metadata.as_ref());
                plan.marked = rest || is_lossy(tool, ai_7) || input.is_none();
                plan.push(Chunk::ToolInputError(ToolInputError {
                    tool_call_id: text(&tool.call),
                    tool_name: text(&tool.name),
                    input: input.as_ref().map_or(Cow::Owned(Value::Null), Cow::Borrowed),
                    provider_executed: provider_executed(tool),
                    provider_metadata,
                    tool_metadata: None,
                    dynamic: tool.dynamic,
                    error_text: text(error),
                    title: tool.title.as_ref().filter(|_| ai_7).map(text),
                }));
            }
            Event::ApprovalRequested { approval, tool, input, signature, automatic } => {
                plan.marked = true;
                if !self.calls.contains_key(&tool.call) {
                    self.announce(record, tool, false);
                    plan.push(input_available(tool, input.as_ref(), ai_7));
                }
                if let Some(known) = self.calls.get_mut(&tool.call) {
                    known.asked = true;
                    known.settled = false;
                }
                self.approvals.retain(|_, call| *call != tool.call);
                self.approvals.insert(approval.clone(), tool.call.clone());
                plan.push(Chunk::ToolApprovalRequest(ToolApprovalRequest {
                    approval_id: text(approval),
                    tool_call_id: text(&tool.call),
                    signature: signature.as_ref().filter(|_| ai_7).map(text),
                    is_automatic: (ai_7 && *automatic).then_some(true),
                    ..ToolApprovalRequest::default()
                }));
            }
            Event::ApprovalAnswered { approval, call, approved, reason } => {
                let known = self.approvals.get(approval).filter(|_| ai_7);
                plan.marked = known.is_none() || known != call.as_ref();
                if known.is_some() {
                    plan.push(Chunk::ToolApprovalResponse(ToolApprovalResponse {
                        approval_id: text(approval),
                        approved: *approved,
                        reason: reason.as_ref().map(text),
                        ..ToolApprovalResponse::default()
                    }));
                }
            }
            Event::ToolOutput { call, name, output, structured, is_error, preliminary, metadata: said } => {
                let known = self.introduce(record, call, name.as_deref(), &mut plan);
                let (provider_metadata, rest) = metadata(said.as_ref());
                plan.marked = !known || rest || structured.is_some() || *is_error;
                plan.marked |= !ai_7 && provider_metadata.is_some();
                plan.push(Chunk::ToolOutputAvailable(ToolOutput {
                    tool_call_id: text(call),
                    output: Cow::Borrowed(output),
                    preliminary: preliminary.then_some(true),
                    provider_executed: None,
                    provider_metadata: provider_metadata.filter(|_| ai_7),
                    tool_metadata: None,
                    dynamic: None,
                }));
            }
            Event::ToolOutputError { call, name, error } => {
                plan.marked = !self.introduce(record, call, name.as_deref(), &mut plan);
                plan.push(output_error(call, text(error)));
            }
            Event::ToolDenied { call, name, reason } => {
                let known = self.introduce(record, call, name.as_deref(), &mut plan);
                let asked = self.calls.get(call).is_none_or(|known| known.asked);
                plan.marked = !known || reason.is_some();
                // Version 5 has no refusals, but it can have asked for none either.
                if ai_7 || asked {
                    plan.push(Chunk::ToolOutputDenied(ToolOutputDenied { tool_call_id: text(call) }));
                } else {
                    plan.marked = true;
                    let refused = Cow::Borrowed("Tool execution denied.");
                    plan.push(output_error(call, reason.as_ref().map_or(refused, text)));
                }
            }
            _ => {}
        }
        plan
    }

    /// The client gets to know a call, or gets to know it anew.
    fn announce(&mut self, record: &Record, tool: &ToolCall, partial: bool) {
        let attempt = record.origin.attempt.clone();
        self.holds(attempt.as_ref());
        let known =
            self.calls.entry(tool.call.clone()).or_insert_with(|| Call { attempt, ..Call::default() });
        known.name.clone_from(&tool.name);
        known.partial |= partial;
        known.settled = false;
    }

    /// Makes sure that the client knows the call of an output; whether it did.
    fn introduce(
        &mut self,
        record: &Record,
        call: &ToolCallId,
        name: Option<&str>,
        plan: &mut Plan<'_>,
    ) -> bool {
        let known = self.calls.contains_key(call);
        let continued =
            self.calls.is_empty() && !self.step.seen && matches!(self.step.holds, super::Holds::Nothing);
        if !known && !continued {
            let tool = ToolCall::new(call.clone(), name.unwrap_or_default());
            self.announce(record, &tool, false);
            plan.push(Chunk::ToolInputAvailable(ToolInput {
                tool_call_id: Cow::Owned(call.as_str().to_owned()),
                tool_name: Cow::Owned(tool.name),
                input: Cow::Owned(Value::Null),
                provider_executed: None,
                provider_metadata: None,
                tool_metadata: None,
                dynamic: None,
                title: None,
            }));
        }
        self.settle(call);
        known
    }

    /// The call had an effect, which is never taken back: neither is the step that holds it.
    fn settle(&mut self, call: &ToolCallId) {
        if let Some(known) = self.calls.get_mut(call) {
            known.settled = true;
            self.holds(None);
        }
    }
}

fn input_available<'a>(tool: &'a ToolCall, input: Option<&'a Value>, ai_7: bool) -> Chunk<'a> {
    Chunk::ToolInputAvailable(ToolInput {
        tool_call_id: text(&tool.call),
        tool_name: text(&tool.name),
        input: input.map_or(Cow::Owned(Value::Null), Cow::Borrowed),
        provider_executed: provider_executed(tool),
        provider_metadata: metadata(tool.metadata.as_ref()).0,
        tool_metadata: None,
        dynamic: tool.dynamic,
        title: tool.title.as_ref().filter(|_| ai_7).map(text),
    })
}

fn output_error<'a>(call: &'a ToolCallId, error: Cow<'a, str>) -> Chunk<'a> {
    let chunk = ToolOutputError { tool_call_id: text(call), error_text: error, ..ToolOutputError::default() };
    Chunk::ToolOutputError(chunk)
}

fn provider_executed(tool: &ToolCall) -> Option<bool> {
    (tool.executor == Executor::Provider).then_some(true)
}

/// Whether something about the call cannot be said.
fn is_lossy(tool: &ToolCall, ai_7: bool) -> bool {
    tool.executor == Executor::Client || tool.title.is_some() && !ai_7
}
