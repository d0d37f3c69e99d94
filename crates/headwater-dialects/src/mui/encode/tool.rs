//! Tool calls in MUI's chunks: always announced, and approvals always carry the name and input.

use std::borrow::Cow;

use headwater_protocol::{
    self, ApprovalRequested, Event, Origin, Record, ToolCall, ToolCallId, ToolDenied, ToolOutput,
};
use serde_json::Value;

use super::{
    super::chunk::{
        Chunk, ToolApprovalRequest, ToolError, ToolInputAvailable, ToolInputDelta, ToolInputStart,
        ToolOutputAvailable, ToolOutputDenied,
    },
    Sink,
    message_encoder::MessageEncoder,
};

impl MessageEncoder {
    pub(super) fn tool(&mut self, record: &Record, sink: Sink<'_>) {
        let event = &record.event;
        match event {
            Event::ToolInputDelta(headwater_protocol::ToolInputDelta { call, delta, .. }) => {
                if self.last_call.as_ref() != Some(call) {
                    self.announce(record, call, None, sink);
                    self.last_call = Some(call.clone());
                }
                // The client shows nothing of a partial input, so none of it is kept.
                sink(&Chunk::ToolInputDelta(ToolInputDelta {
                    tool_call_id: call.as_str().into(),
                    input_text_delta: delta.into(),
                }));
            }
            Event::ToolInputStart(tool) => {
                self.known(record, &tool.call);
                sink(&Chunk::ToolInputStart(ToolInputStart {
                    tool_call_id: tool.call.as_str().into(),
                    tool_name: (&tool.name).into(),
                    dynamic: tool.dynamic,
                }));
            }
            Event::ToolInputAvailable(headwater_protocol::ToolInputAvailable { tool, input, .. }) => {
                self.known(record, &tool.call);
                sink(&Chunk::ToolInputAvailable(ToolInputAvailable {
                    tool_call_id: tool.call.as_str().into(),
                    tool_name: (&tool.name).into(),
                    input: Some(input.as_ref().map_or(Cow::Owned(Value::Null), Cow::Borrowed)),
                    dynamic: tool.dynamic,
                }));
            }
            Event::ToolInputError(headwater_protocol::ToolInputError { tool, input, error, .. }) => {
                self.announce(record, &tool.call, Some(tool), sink);
                if let Some(input) = input
                    && self.seen.tool(&tool.call).is_some_and(|part| part.input.as_ref() != Some(input))
                {
                    // The error chunk has no field for the refused input.
                    sink(&Chunk::ToolInputAvailable(ToolInputAvailable {
                        tool_call_id: tool.call.as_str().into(),
                        tool_name: (&tool.name).into(),
                        input: Some(Cow::Borrowed(input)),
                        dynamic: tool.dynamic,
                    }));
                }
                self.show(record);
                sink(&Chunk::ToolInputError(ToolError {
                    tool_call_id: tool.call.as_str().into(),
                    error_text: error.into(),
                }));
            }
            Event::ApprovalRequested(ApprovalRequested { approval, tool, input, .. }) => {
                let before = self.seen.tool(&tool.call).cloned();
                self.known(record, &tool.call);
                let name = match &before {
                    Some(before) if tool.name.is_empty() => &before.name,
                    _ => &tool.name,
                };
                let input = input.as_ref().or(before.as_ref().and_then(|before| before.input.as_ref()));
                sink(&Chunk::ToolApprovalRequest(ToolApprovalRequest {
                    tool_call_id: tool.call.as_str().into(),
                    tool_name: name.into(),
                    input: input.map(Cow::Borrowed),
                    approval_id: Some(approval.as_str().into()),
                    dynamic: tool.dynamic,
                }));
            }
            Event::ToolOutput(ToolOutput { call, name, output, preliminary, .. }) => {
                self.announce_named(record, call, name.as_deref(), sink);
                self.show(record);
                sink(&Chunk::ToolOutputAvailable(ToolOutputAvailable {
                    tool_call_id: call.as_str().into(),
                    output: Cow::Borrowed(output),
                    preliminary: preliminary.then_some(true),
                }));
            }
            Event::ToolOutputError(headwater_protocol::ToolOutputError { call, name, error, .. }) => {
                self.announce_named(record, call, name.as_deref(), sink);
                self.show(record);
                sink(&Chunk::ToolOutputError(ToolError {
                    tool_call_id: call.as_str().into(),
                    error_text: error.into(),
                }));
            }
            Event::ToolDenied(ToolDenied { call, name, reason, .. }) => {
                self.announce_named(record, call, name.as_deref(), sink);
                self.show(record);
                let given = self.seen.tool(call).and_then(|part| part.approval.as_ref()?.reason.as_deref());
                sink(&Chunk::ToolOutputDenied(ToolOutputDenied {
                    tool_call_id: call.as_str().into(),
                    reason: reason.as_deref().or(given).map(Cow::Borrowed),
                }));
            }
            _ => {}
        }
    }

    fn known(&mut self, record: &Record, call: &ToolCallId) {
        self.calls.insert(call.clone());
        self.show(record);
    }

    fn announce_named(&mut self, record: &Record, call: &ToolCallId, name: Option<&str>, sink: Sink<'_>) {
        if !self.calls.contains(call) {
            let tool = ToolCall::new(call.clone(), name.unwrap_or_default());
            self.announce(record, call, Some(&tool), sink);
        }
    }

    /// Announces a call: the client ignores chunks of unknown calls.
    fn announce(&mut self, record: &Record, call: &ToolCallId, tool: Option<&ToolCall>, sink: Sink<'_>) {
        if self.calls.contains(call) {
            return;
        }
        let tool = tool.cloned().unwrap_or_else(|| ToolCall::new(call.clone(), ""));
        let Origin { attempt, message, .. } = &record.origin;
        let origin = Origin { attempt: attempt.clone(), message: message.clone(), ..Origin::default() };
        self.tool(&Record::new(record.seq, Event::ToolInputStart(tool)).from(origin), sink);
    }
}
