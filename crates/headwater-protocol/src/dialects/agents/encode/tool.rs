//! How the life of a tool call is told.

use super::{Encoder, Sink, send_whole, text, value};
use crate::{
    dialects::agents::{
        chunk::{Chunk, ToolApproval, ToolApprovalResponse, ToolCall, ToolDelta, ToolResult},
        ledger::Call,
    },
    event::{self, Event, Origin, Record},
    id::{MessageId, ToolCallId},
    state::ToolState,
};

impl Encoder {
    pub(super) fn tool(&mut self, record: &Record, sink: Sink<'_>) {
        let origin = &record.origin;
        match &record.event {
            Event::ToolInputStart(tool) => {
                if let Some(known) = self.ledger.call(&tool.call) {
                    return send_whole(record, Some(&known.message), sink);
                }
                let message = self.add_call(&tool.call, &tool.name, origin, sink);
                sink(&Chunk::ToolDelta(first(tool, &message, origin)));
            }
            Event::ToolInputDelta { call, delta } => {
                let known = self.ledger.call(call).map(|known| (known.message.clone(), known.called));
                let message = match known {
                    Some((message, true)) => return send_whole(record, Some(&message), sink),
                    Some((message, false)) => self.open(message, sink),
                    None => {
                        let message = self.add_call(call, "", origin, sink);
                        let unnamed = event::ToolCall::new(call.clone(), "");
                        let first = ToolDelta { implied: true, ..first(&unnamed, &message, origin) };
                        sink(&Chunk::ToolDelta(first));
                        message
                    }
                };
                sink(&Chunk::ToolDelta(ToolDelta {
                    tool_name: None,
                    delta: delta.as_str().into(),
                    ..streaming(call, &message, origin)
                }));
            }
            Event::ToolInputAvailable { tool, input } => {
                let known = self.ledger.call(&tool.call).map(|known| (known.message.clone(), known.called));
                let message = match known {
                    Some((message, true)) => return send_whole(record, Some(&message), sink),
                    Some((message, false)) => self.open(message, sink),
                    None => self.add_call(&tool.call, &tool.name, origin, sink),
                };
                if let Some(call) = self.ledger.call_mut(&tool.call) {
                    call.called = true;
                    if !tool.name.is_empty() {
                        call.name.clone_from(&tool.name);
                    }
                }
                sink(&Chunk::ToolCall(ToolCall {
                    tool_call_id: tool.call.as_str().into(),
                    tool_name: tool.name.as_str().into(),
                    input: value(input.as_ref()),
                    state: state(ToolState::InputAvailable),
                    message_id: Some(message.as_str().into()),
                    dynamic: tool.dynamic,
                    executor: tool.executor,
                    title: text(tool.title.as_ref()),
                    metadata: value(tool.metadata.as_ref()),
                    attempt: text(origin.attempt.as_ref()),
                    implied: false,
                }));
            }
            Event::ToolInputError { tool, input, error } => {
                let message = self.ensure_called(&tool.call, Some(&tool.name), origin, sink);
                self.settle(&tool.call);
                sink(&Chunk::ToolResult(ToolResult {
                    tool_call_id: tool.call.as_str().into(),
                    tool_name: Some(tool.name.as_str().into()),
                    error_text: Some(error.into()),
                    state: state(ToolState::OutputError),
                    message_id: Some(message.as_str().into()),
                    input_error: true,
                    input: value(input.as_ref()),
                    dynamic: tool.dynamic,
                    executor: tool.executor,
                    title: text(tool.title.as_ref()),
                    metadata: value(tool.metadata.as_ref()),
                    attempt: text(origin.attempt.as_ref()),
                    ..ToolResult::default()
                }));
            }
            Event::ApprovalRequested { approval, tool, input, signature, automatic } => {
                let message = self.ensure_called(&tool.call, Some(&tool.name), origin, sink);
                sink(&Chunk::ToolApproval(ToolApproval {
                    approval_id: approval.as_str().into(),
                    tool_call_id: tool.call.as_str().into(),
                    tool_name: tool.name.as_str().into(),
                    input: value(input.as_ref()),
                    state: state(ToolState::ApprovalRequested),
                    message_id: Some(message.as_str().into()),
                    signature: text(signature.as_ref()),
                    automatic: *automatic,
                    dynamic: tool.dynamic,
                    executor: tool.executor,
                    title: text(tool.title.as_ref()),
                    metadata: value(tool.metadata.as_ref()),
                    attempt: text(origin.attempt.as_ref()),
                }));
            }
            Event::ApprovalAnswered { approval, call, approved, reason } => {
                let message = call.as_ref().and_then(|call| self.ledger.call(call));
                sink(&Chunk::ToolApprovalResponse(ToolApprovalResponse {
                    approval_id: approval.as_str().into(),
                    tool_call_id: text(call.as_ref()),
                    approved: *approved,
                    reason: text(reason.as_ref()),
                    state: state(ToolState::ApprovalResponded),
                    message_id: message.map(|known| known.message.as_str().into()),
                }));
            }
            Event::ToolOutput { call, name, output, structured, is_error, preliminary, metadata } => {
                let message = self.ensure_called(call, name.as_deref(), origin, sink);
                self.settle(call);
                sink(&Chunk::ToolResult(ToolResult {
                    output: value(Some(output)),
                    structured: value(structured.as_ref()),
                    is_error: *is_error,
                    preliminary: *preliminary,
                    metadata: value(metadata.as_ref()),
                    ..self.result(call, name.as_deref(), &message, ToolState::OutputAvailable, origin)
                }));
            }
            Event::ToolOutputError { call, name, error } => {
                let message = self.ensure_called(call, name.as_deref(), origin, sink);
                self.settle(call);
                sink(&Chunk::ToolResult(ToolResult {
                    error_text: Some(error.into()),
                    ..self.result(call, name.as_deref(), &message, ToolState::OutputError, origin)
                }));
            }
            Event::ToolDenied { call, name, reason } => {
                let message = self.ensure_called(call, name.as_deref(), origin, sink);
                self.settle(call);
                sink(&Chunk::ToolResult(ToolResult {
                    reason: text(reason.as_ref()),
                    ..self.result(call, name.as_deref(), &message, ToolState::OutputDenied, origin)
                }));
            }
            _ => {}
        }
    }

    fn add_call(&mut self, call: &ToolCallId, name: &str, origin: &Origin, sink: Sink<'_>) -> MessageId {
        let message = self.target(origin, sink);
        let known = Call {
            message: message.clone(),
            name: name.to_owned(),
            attempt: origin.attempt.clone(),
            called: false,
            settled: false,
        };
        self.ledger.add_call(call.clone(), known);
        message
    }

    /// The contract's client shows a call from its `tool.call` on: what is said about it must not
    /// come before. Gives the message that holds the call.
    fn ensure_called(
        &mut self,
        call: &ToolCallId,
        name: Option<&str>,
        origin: &Origin,
        sink: Sink<'_>,
    ) -> MessageId {
        let message = match self.ledger.call(call) {
            // What happens to a call that is there may happen after its message has ended.
            Some(known) if known.called => return known.message.clone(),
            Some(known) => {
                let message = known.message.clone();
                self.open(message, sink)
            }
            None => self.add_call(call, name.unwrap_or_default(), origin, sink),
        };
        if let Some(known) = self.ledger.call_mut(call).filter(|known| !known.called) {
            known.called = true;
            sink(&Chunk::ToolCall(ToolCall {
                tool_call_id: call.as_str().into(),
                tool_name: known.name.as_str().into(),
                state: state(ToolState::InputAvailable),
                message_id: Some(message.as_str().into()),
                attempt: text(known.attempt.as_ref()),
                implied: true,
                ..ToolCall::default()
            }));
        }
        message
    }

    fn settle(&mut self, call: &ToolCallId) {
        if let Some(known) = self.ledger.call_mut(call) {
            known.settled = true;
        }
    }

    /// A result names its tool, whether the event did or not.
    fn result<'a>(
        &'a self,
        call: &'a ToolCallId,
        name: Option<&'a str>,
        message: &'a MessageId,
        ended: ToolState,
        origin: &'a Origin,
    ) -> ToolResult<'a> {
        let known = || self.ledger.call(call).map(|known| known.name.as_str());
        ToolResult {
            tool_call_id: call.as_str().into(),
            tool_name: name.or_else(known).map(Into::into),
            name_implied: name.is_none(),
            state: state(ended),
            message_id: Some(message.as_str().into()),
            attempt: text(origin.attempt.as_ref()),
            ..ToolResult::default()
        }
    }
}

fn first<'a>(tool: &'a event::ToolCall, message: &'a MessageId, origin: &'a Origin) -> ToolDelta<'a> {
    ToolDelta {
        tool_name: Some(tool.name.as_str().into()),
        dynamic: tool.dynamic,
        executor: tool.executor,
        title: text(tool.title.as_ref()),
        metadata: value(tool.metadata.as_ref()),
        ..streaming(&tool.call, message, origin)
    }
}

fn streaming<'a>(call: &'a ToolCallId, message: &'a MessageId, origin: &'a Origin) -> ToolDelta<'a> {
    ToolDelta {
        tool_call_id: call.as_str().into(),
        tool_name: None,
        delta: "".into(),
        state: Some(ToolState::InputStreaming.as_str().into()),
        message_id: Some(message.as_str().into()),
        dynamic: None,
        executor: event::Executor::Server,
        title: None,
        metadata: None,
        attempt: origin.attempt.as_ref().map(|attempt| attempt.as_str().into()),
        implied: false,
    }
}

fn state(state: ToolState) -> Option<std::borrow::Cow<'static, str>> {
    Some(state.as_str().into())
}
