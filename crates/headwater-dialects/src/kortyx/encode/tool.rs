//! Tool calls. A call is started before anything else is sent about it.

use std::borrow::Cow;

use headwater_protocol::{
    ApprovalRequested, Event, Executor, Origin, Record, ToolCall, ToolCallId, ToolDenied, ToolInputAvailable,
    ToolInputError, ToolOutput, ToolOutputError,
};
use serde_json::Value;

use super::{KortyxEncoder, Sink, question, text};
use crate::kortyx::chunk::{Chunk, ToolCallError, ToolCallResult, ToolCallStart};

/// Kortyx' text for the model after a denied call.
const DENIED: &str = "Tool call denied by user.";

impl KortyxEncoder {
    pub(super) fn tool(&mut self, record: &Record, sink: Sink<'_>) {
        let Record { origin, event, .. } = record;
        if let Some(tool) = called(event).filter(|tool| tool.quiet && tool.executor != Executor::Client) {
            self.quiet.insert(tool.call.clone());
        }
        match event {
            Event::ToolInputAvailable(ToolInputAvailable { tool, input, .. }) => {
                self.calls.remove(&tool.call);
                self.start(&tool.call, Some(&tool.name), input.as_ref(), origin, sink);
            }
            Event::ToolInputError(ToolInputError { tool, input, error, .. }) => {
                self.start(&tool.call, Some(&tool.name), input.as_ref(), origin, sink);
                self.error(&tool.call, error, origin, sink);
            }
            Event::ApprovalRequested(asked) => {
                let ApprovalRequested { approval, tool, input, signature, automatic, .. } = asked;
                self.start(&tool.call, Some(&tool.name), input.as_ref(), origin, sink);
                if !automatic {
                    let signature = signature.as_deref();
                    let question = question::approval(approval, tool, input.as_ref(), signature, origin);
                    sink(&Chunk::Interrupt(Box::new(question)));
                }
            }
            // A page takes the first output as the final one.
            Event::ToolOutput(ToolOutput { preliminary: true, .. }) => {}
            Event::ToolOutput(ToolOutput { call, .. })
            | Event::ToolOutputError(ToolOutputError { call, .. })
            | Event::ToolDenied(ToolDenied { call, .. })
                if self.quiet.contains(call) => {}
            Event::ToolOutput(ToolOutput { call, name, output, structured, is_error, .. }) => {
                self.start(call, name.as_deref(), None, origin, sink);
                sink(&Chunk::ToolCallResult(ToolCallResult {
                    content: Some(Cow::Borrowed(output)),
                    structured_content: structured.as_ref().map(Cow::Borrowed),
                    is_error: *is_error,
                    ..self.result(call, origin)
                }));
            }
            Event::ToolOutputError(ToolOutputError { call, name, error, .. }) => {
                self.start(call, name.as_deref(), None, origin, sink);
                self.error(call, error, origin, sink);
            }
            Event::ToolDenied(ToolDenied { call, name, reason, .. }) => {
                self.start(call, name.as_deref(), None, origin, sink);
                let content = Value::from(reason.as_deref().unwrap_or(DENIED));
                sink(&Chunk::ToolCallResult(ToolCallResult {
                    content: Some(Cow::Owned(content)),
                    is_error: true,
                    ..self.result(call, origin)
                }));
            }
            _ => {}
        }
    }

    fn start(
        &mut self,
        call: &ToolCallId,
        name: Option<&str>,
        input: Option<&Value>,
        origin: &Origin,
        sink: Sink<'_>,
    ) {
        if self.calls.contains_key(call) || self.quiet.contains(call) {
            return;
        }
        let name = name.unwrap_or_default();
        sink(&Chunk::ToolCallStart(ToolCallStart {
            node: text(&origin.node),
            id: None,
            op_id: text(&origin.operation),
            tool: Cow::Borrowed(name),
            tool_call_id: Cow::Borrowed(call.as_str()),
            input: input.map(Cow::Borrowed),
        }));
        self.calls.insert(call.clone(), name.to_owned());
    }

    fn error(&self, call: &ToolCallId, message: &str, origin: &Origin, sink: Sink<'_>) {
        if self.quiet.contains(call) {
            return;
        }
        sink(&Chunk::ToolCallError(ToolCallError {
            node: text(&origin.node),
            id: None,
            op_id: text(&origin.operation),
            tool: self.name_of(call),
            tool_call_id: Cow::Borrowed(call.as_str()),
            message: Cow::Borrowed(message),
        }));
    }

    fn result<'r>(&'r self, call: &'r ToolCallId, origin: &'r Origin) -> ToolCallResult<'r> {
        ToolCallResult {
            node: text(&origin.node),
            op_id: text(&origin.operation),
            tool: self.name_of(call),
            tool_call_id: Cow::Borrowed(call.as_str()),
            ..ToolCallResult::default()
        }
    }

    fn name_of(&self, call: &ToolCallId) -> Cow<'_, str> {
        self.calls.get(call).map(String::as_str).unwrap_or_default().into()
    }
}

/// The call that an event introduces.
fn called(event: &Event) -> Option<&ToolCall> {
    match event {
        Event::ToolInputStart(tool) => Some(tool),
        Event::ToolInputAvailable(ToolInputAvailable { tool, .. })
        | Event::ToolInputError(ToolInputError { tool, .. })
        | Event::ApprovalRequested(ApprovalRequested { tool, .. }) => Some(tool),
        _ => None,
    }
}
