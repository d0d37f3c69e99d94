//! The life of a tool call. Whatever is said about a call, it was started before.

use std::borrow::Cow;

use serde_json::Value;

use super::{Encoder, Sink, question, text};
use crate::{
    dialects::kortyx::chunk::{Chunk, ToolCallError, ToolCallResult, ToolCallStart},
    event::{Event, Executor, Origin, Record, ToolCall},
    id::ToolCallId,
};

/// What the model is told in Kortyx when a person refused a call.
const DENIED: &str = "Tool call denied by user.";

impl Encoder {
    pub(super) fn tool(&mut self, record: &Record, sink: Sink<'_>) {
        let Record { origin, event, .. } = record;
        match event {
            Event::ToolInputAvailable { tool, input } => {
                let message_id = self.message_key(origin);
                sink(&Chunk::ToolCallStart(ToolCallStart {
                    message_id,
                    input: input.as_ref().map(Cow::Borrowed),
                    ..start(tool, origin)
                }));
                self.calls.insert(tool.call.clone(), tool.name.clone());
            }
            Event::ToolInputError { tool, input, error } => {
                self.start_call(tool, input.as_ref(), origin, sink);
                self.error(&tool.call, Some(&tool.name), error, true, record, sink);
            }
            Event::ApprovalRequested { automatic: true, .. } => self.carry(record, sink),
            Event::ApprovalRequested { approval, tool, input, signature, .. } => {
                self.start_call(tool, input.as_ref(), origin, sink);
                let asked = question::approval(approval, tool, input.as_ref(), signature.as_deref(), record);
                sink(&Chunk::Interrupt(Box::new(asked)));
            }
            Event::ToolOutput { call, name, output, structured, is_error, preliminary, metadata } => {
                self.start_named(call, name.as_deref(), origin, sink);
                let message_id = self.message_key(origin);
                sink(&Chunk::ToolCallResult(ToolCallResult {
                    structured_content: structured.as_ref().map(Cow::Borrowed),
                    is_error: is_error.then_some(true),
                    preliminary: *preliminary,
                    metadata: metadata.as_ref().map(Cow::Borrowed),
                    message_id,
                    unnamed: name.is_none(),
                    ..result(call, self.name_of(call, name.as_deref()), Cow::Borrowed(output), origin)
                }));
            }
            Event::ToolOutputError { call, name, error } => {
                self.start_named(call, name.as_deref(), origin, sink);
                self.error(call, name.as_deref(), error, false, record, sink);
            }
            Event::ToolDenied { call, name, reason } => {
                self.start_named(call, name.as_deref(), origin, sink);
                let message_id = self.message_key(origin);
                let content = Value::from(reason.as_deref().unwrap_or(DENIED));
                sink(&Chunk::ToolCallResult(ToolCallResult {
                    is_error: Some(true),
                    message_id,
                    stands_for: Some(Cow::Borrowed(event)),
                    ..result(call, self.name_of(call, name.as_deref()), Cow::Owned(content), origin)
                }));
            }
            _ => {}
        }
    }

    fn error(
        &mut self,
        call: &ToolCallId,
        name: Option<&str>,
        message: &str,
        of_input: bool,
        record: &Record,
        sink: Sink<'_>,
    ) {
        let origin = &record.origin;
        let message_id = self.message_key(origin);
        sink(&Chunk::ToolCallError(ToolCallError {
            node: text(&origin.node),
            id: None,
            op_id: text(&origin.operation),
            tool: Cow::Borrowed(self.name_of(call, name)),
            tool_call_id: Cow::Borrowed(call.as_str()),
            message: Cow::Borrowed(message),
            unnamed: name.is_none(),
            attempt: origin.attempt.as_ref().map(|attempt| Cow::Borrowed(attempt.as_str())),
            message_id,
            stands_for: of_input.then_some(Cow::Borrowed(&record.event)),
        }));
    }

    fn name_of<'r>(&'r self, call: &ToolCallId, name: Option<&'r str>) -> &'r str {
        name.or_else(|| self.calls.get(call).map(String::as_str)).unwrap_or_default()
    }

    fn start_named(&mut self, call: &ToolCallId, name: Option<&str>, origin: &Origin, sink: Sink<'_>) {
        if !self.calls.contains_key(call) {
            let tool = ToolCall::new(call.clone(), name.unwrap_or_default());
            self.start_call(&tool, None, origin, sink);
        }
    }

    fn start_call(&mut self, tool: &ToolCall, input: Option<&Value>, origin: &Origin, sink: Sink<'_>) {
        if !self.calls.contains_key(&tool.call) {
            let input = input.map(Cow::Borrowed);
            sink(&Chunk::ToolCallStart(ToolCallStart { input, filler: true, ..start(tool, origin) }));
            self.calls.insert(tool.call.clone(), tool.name.clone());
        }
    }
}

fn start<'r>(tool: &'r ToolCall, origin: &'r Origin) -> ToolCallStart<'r> {
    ToolCallStart {
        node: text(&origin.node),
        id: None,
        op_id: text(&origin.operation),
        tool: Cow::Borrowed(&tool.name),
        tool_call_id: Cow::Borrowed(tool.call.as_str()),
        input: None,
        dynamic: tool.dynamic,
        executor: Some(tool.executor).filter(|executor| *executor != Executor::Server),
        title: text(&tool.title),
        metadata: tool.metadata.as_ref().map(Cow::Borrowed),
        attempt: origin.attempt.as_ref().map(|attempt| Cow::Borrowed(attempt.as_str())),
        message_id: None,
        filler: false,
    }
}

fn result<'r>(
    call: &'r ToolCallId,
    name: &'r str,
    content: Cow<'r, Value>,
    origin: &'r Origin,
) -> ToolCallResult<'r> {
    ToolCallResult {
        node: text(&origin.node),
        op_id: text(&origin.operation),
        tool: Cow::Borrowed(name),
        tool_call_id: Cow::Borrowed(call.as_str()),
        content: Some(content),
        attempt: origin.attempt.as_ref().map(|attempt| Cow::Borrowed(attempt.as_str())),
        ..ToolCallResult::default()
    }
}
