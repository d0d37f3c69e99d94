//! Tool calls on the wire, and questions, which are calls of a client tool.
//!
//! The client rejects an output or approval whose call it does not know, so an unannounced call is announced
//! first. Only at the very beginning of a stream may an output stand alone: it belongs to a call of the
//! continued message.

use std::borrow::Cow;

use headwater_protocol::{
    self, ASK_USER, ApprovalAnswered, ApprovalRequested, Event, Executor, FrameWriter, Interrupt,
    InterruptAnswered, Record, RequestId, ToolCall, ToolCallId, ToolDenied, ToolInputAvailable,
};
use serde_json::{Value, json};

use super::{AiSdkEncoder, Audience, Holds, ShownCall, provider_metadata, text};
use crate::ai_sdk::chunk::{
    Chunk, Data, ToolApprovalRequest, ToolApprovalResponse, ToolInput, ToolInputDelta, ToolInputError,
    ToolInputStart, ToolOutput, ToolOutputDenied, ToolOutputError,
};

impl AiSdkEncoder {
    pub(super) fn tool_event(&mut self, record: &Record, out: &mut FrameWriter) {
        let ai_7 = self.audience == Audience::Ai7;
        match &record.event {
            Event::ToolInputStart(tool) => {
                self.announce(record, tool, true);
                self.put(&input_start(tool, ai_7), out);
            }
            Event::ToolInputDelta(headwater_protocol::ToolInputDelta { call, delta, .. }) => {
                let name = self.calls.get(call).map(|known| known.name.clone()).unwrap_or_default();
                self.announce(record, &ToolCall::new(call.clone(), name.clone()), true);
                let (tool_call_id, tool_name) = (text(call), Cow::Owned(name));
                let start = ToolInputStart { tool_call_id, tool_name, ..ToolInputStart::default() };
                self.put(&Chunk::ToolInputStart(start), out);
                let (tool_call_id, input_text_delta) = (text(call), text(delta));
                self.put(&Chunk::ToolInputDelta(ToolInputDelta { tool_call_id, input_text_delta }), out);
            }
            Event::ToolInputAvailable(ToolInputAvailable { tool, input, .. }) => {
                self.announce(record, tool, false);
                self.put_input(tool, input.as_ref(), out);
            }
            Event::ToolInputError(headwater_protocol::ToolInputError { tool, input, error, .. }) => {
                self.announce(record, tool, false);
                self.settle(&tool.call);
                let chunk = ToolInputError {
                    tool_call_id: text(&tool.call),
                    tool_name: text(&tool.name),
                    input: input.as_ref().map_or(Cow::Owned(Value::Null), Cow::Borrowed),
                    error_text: text(error),
                    provider_executed: provider_executed(tool),
                    provider_metadata: provider_metadata(tool.metadata.as_ref()),
                    tool_metadata: None,
                    dynamic: tool.dynamic,
                    title: tool.title.as_ref().filter(|_| ai_7).map(text),
                };
                self.put(&Chunk::ToolInputError(chunk), out);
            }
            Event::ApprovalRequested(asked) => {
                let ApprovalRequested { approval, tool, input, signature, automatic, .. } = asked;
                if !self.calls.contains_key(&tool.call) {
                    self.announce(record, tool, false);
                    self.put_input(tool, input.as_ref(), out);
                }
                if let Some(known) = self.calls.get_mut(&tool.call) {
                    known.asked = true;
                    known.settled = false;
                }
                self.approvals.retain(|_, call| *call != tool.call);
                self.approvals.insert(approval.clone(), tool.call.clone());
                if self.audience == Audience::Ai50 {
                    let data =
                        json!({ "approvalId": approval, "toolCallId": tool.call, "toolName": tool.name });
                    let (kind, id) = (text("data-approval"), Some(text(approval)));
                    return self.data(Data { kind, id, data: Cow::Owned(data), transient: None }, out);
                }
                let chunk = ToolApprovalRequest {
                    approval_id: text(approval),
                    tool_call_id: text(&tool.call),
                    signature: signature.as_ref().filter(|_| ai_7).map(text),
                    is_automatic: (ai_7 && *automatic).then_some(true),
                    ..ToolApprovalRequest::default()
                };
                self.put(&Chunk::ToolApprovalRequest(chunk), out);
            }
            Event::ApprovalAnswered(ApprovalAnswered { approval, approved, reason, .. })
                if ai_7 && self.approvals.contains_key(approval) =>
            {
                let chunk = ToolApprovalResponse {
                    approval_id: text(approval),
                    approved: *approved,
                    reason: reason.as_ref().map(text),
                    ..ToolApprovalResponse::default()
                };
                self.put(&Chunk::ToolApprovalResponse(chunk), out);
            }
            Event::ToolOutput(gave) => {
                self.introduce(record, &gave.call, gave.name.as_deref(), out);
                let chunk = ToolOutput {
                    tool_call_id: text(&gave.call),
                    output: Cow::Borrowed(&gave.output),
                    preliminary: gave.preliminary.then_some(true),
                    provider_metadata: provider_metadata(gave.metadata.as_ref()).filter(|_| ai_7),
                    ..ToolOutput::default()
                };
                self.put(&Chunk::ToolOutputAvailable(chunk), out);
            }
            Event::ToolOutputError(headwater_protocol::ToolOutputError { call, name, error, .. }) => {
                self.introduce(record, call, name.as_deref(), out);
                self.put(&output_error(call.as_str(), error), out);
            }
            Event::ToolDenied(ToolDenied { call, name, reason, .. }) => {
                self.introduce(record, call, name.as_deref(), out);
                // Version 5 has no denials, but `strict` streams of version 5 have no approvals either.
                let asked = self.calls.get(call).is_none_or(|known| known.asked);
                if ai_7 || (asked && self.audience != Audience::Ai50) {
                    self.put(&Chunk::ToolOutputDenied(ToolOutputDenied { tool_call_id: text(call) }), out);
                } else {
                    let reason = reason.as_deref().unwrap_or("Tool execution denied.");
                    self.put(&output_error(call.as_str(), reason), out);
                }
            }
            Event::InterruptRequested(interrupt) => self.ask(interrupt, out),
            Event::InterruptAnswered(InterruptAnswered { request, answer, .. }) => {
                let chunk = ToolOutput {
                    tool_call_id: text(request),
                    output: answer.as_ref().map_or(Cow::Owned(Value::Null), Cow::Borrowed),
                    ..ToolOutput::default()
                };
                self.close_question(request, &Chunk::ToolOutputAvailable(chunk), out);
            }
            Event::InterruptExpired { request } => {
                self.close_question(request, &output_error(request.as_str(), "The question expired."), out);
            }
            _ => {}
        }
    }

    /// The whole input of a call. The client hands it to the page's own tools, so if the output follows
    /// immediately, the input is sent as if still growing: a reloaded page must not execute the call again.
    fn put_input(&mut self, tool: &ToolCall, input: Option<&Value>, out: &mut FrameWriter) {
        let ai_7 = self.audience == Audience::Ai7;
        if !self.done_before.contains(&tool.call) || tool.executor == Executor::Provider {
            return self.put(&input_available(tool, input, ai_7), out);
        }
        self.put(&input_start(tool, ai_7), out);
        let input = input.unwrap_or(&Value::Null).to_string();
        let (tool_call_id, input_text_delta) = (text(&tool.call), Cow::Owned(input));
        self.put(&Chunk::ToolInputDelta(ToolInputDelta { tool_call_id, input_text_delta }), out);
    }

    /// A repeated question stays where it is.
    fn ask(&mut self, interrupt: &Interrupt, out: &mut FrameWriter) {
        let call = ToolCallId::from(interrupt.request.as_str());
        if self.calls.contains_key(&call) {
            return;
        }
        self.holds(None);
        let tool = ToolCall::new(call.clone(), ASK_USER);
        self.put_input(&tool, Some(&interrupt.to_tool_input()), out);
        self.calls.insert(call, ShownCall { name: tool.name, ready: true, ..ShownCall::default() });
    }

    /// Sends the outcome of a question. A page that sends answers automatically repeats them while the last
    /// step has only finished calls, so another step follows the last answer.
    fn close_question(&mut self, request: &RequestId, chunk: &Chunk<'_>, out: &mut FrameWriter) {
        let call = ToolCallId::from(request.as_str());
        if !self.calls.contains_key(&call) && !self.continues() {
            return;
        }
        self.settle(&call);
        self.put(chunk, out);
        if self.blocks.is_empty() && self.calls.values().all(|call| call.settled) {
            self.step.holds = Holds::Several;
            self.boundary(out);
        }
    }

    /// Registers a call with the client, or registers it again.
    fn announce(&mut self, record: &Record, tool: &ToolCall, partial: bool) {
        let known = self.calls.get(&tool.call);
        let attempt = known.map_or(&record.origin.attempt, |known| &known.attempt).clone();
        self.holds(attempt.as_ref());
        let known = self
            .calls
            .entry(tool.call.clone())
            .or_insert_with(|| ShownCall { attempt, ..ShownCall::default() });
        known.ready = !partial;
        known.name.clone_from(&tool.name);
        known.partial |= partial;
        known.settled = false;
    }

    /// Ensures that the client knows the call of an output.
    fn introduce(&mut self, record: &Record, call: &ToolCallId, name: Option<&str>, out: &mut FrameWriter) {
        if !self.calls.contains_key(call) && !self.continues() {
            let tool = ToolCall::new(call.clone(), name.unwrap_or_default());
            self.announce(record, &tool, false);
            self.put_input(&tool, None, out);
        }
        self.settle(call);
    }

    /// Whether nothing was sent yet: the client may be continuing a message.
    fn continues(&self) -> bool {
        self.calls.is_empty() && !self.step.seen && !self.has_content()
    }

    /// Executed calls are never retracted, and neither is the step that holds them.
    fn settle(&mut self, call: &ToolCallId) {
        if let Some(known) = self.calls.get_mut(call) {
            known.ready = true;
            known.settled = true;
            self.holds(None);
        }
    }
}

fn input_start(tool: &ToolCall, ai_7: bool) -> Chunk<'_> {
    Chunk::ToolInputStart(ToolInputStart {
        tool_call_id: text(&tool.call),
        tool_name: text(&tool.name),
        provider_executed: provider_executed(tool),
        provider_metadata: provider_metadata(tool.metadata.as_ref()).filter(|_| ai_7),
        dynamic: tool.dynamic,
        title: tool.title.as_ref().filter(|_| ai_7).map(text),
        ..ToolInputStart::default()
    })
}

fn input_available<'a>(tool: &'a ToolCall, input: Option<&'a Value>, ai_7: bool) -> Chunk<'a> {
    Chunk::ToolInputAvailable(ToolInput {
        tool_call_id: text(&tool.call),
        tool_name: text(&tool.name),
        input: input.map_or(Cow::Owned(Value::Null), Cow::Borrowed),
        provider_executed: provider_executed(tool),
        provider_metadata: provider_metadata(tool.metadata.as_ref()),
        tool_metadata: None,
        dynamic: tool.dynamic,
        title: tool.title.as_ref().filter(|_| ai_7).map(text),
    })
}

pub(super) fn output_error<'a>(call: &'a str, error: &'a str) -> Chunk<'a> {
    let (tool_call_id, error_text) = (text(call), text(error));
    Chunk::ToolOutputError(ToolOutputError { tool_call_id, error_text, ..ToolOutputError::default() })
}

fn provider_executed(tool: &ToolCall) -> Option<bool> {
    (tool.executor == Executor::Provider).then_some(true)
}
