//! Tool calls, from the first byte of their input to their output.

use std::borrow::Cow;

use headwater_protocol::{
    ApprovalRequested, AttemptId, Event, Executor, Part, Record, Role, ToolCall, ToolCallId, ToolDenied,
    ToolOutput, ToolOutputError,
};
use serde_json::Value;

use super::{AgUiEncoder, Sink, StreamedCall, at};
use crate::{
    ag_ui::{
        chunk::{Base, Chunk, Content, ToolCallArgs, ToolCallEnd, ToolCallResult, ToolCallStart},
        messages::output_text,
    },
    denial::DENIED,
};

/// The result of a call whose attempt was retracted.
const RETRACTED: &str = "The attempt that made this call was retracted.";

impl AgUiEncoder {
    pub(super) fn start_call(&mut self, record: &Record, tool: &ToolCall, sink: Sink<'_>) {
        if self.ids.of_call(&tool.call).is_some() {
            return self.reduce(record);
        }
        self.reduce(record);
        self.open_call(record, tool, sink);
    }

    pub(super) fn grow_call(&mut self, record: &Record, call: &ToolCallId, delta: &str, sink: Sink<'_>) {
        self.reduce(record);
        if self.open_call_at(call).is_none() {
            let name = self.state.tool(call).map_or("", |tool| tool.name.as_str());
            let tool = ToolCall::new(call.clone(), name);
            self.open_call(record, &tool, sink);
        }
        emit_args(call, delta, at(record), sink);
    }

    fn open_call_at(&self, call: &ToolCallId) -> Option<usize> {
        self.calls.iter().rposition(|open| open.tool.call == *call)
    }

    pub(super) fn end_call(
        &mut self,
        record: &Record,
        tool: &ToolCall,
        input: Option<&Value>,
        sink: Sink<'_>,
    ) {
        let known = self.ids.of_call(&tool.call).is_some();
        let open = self.open_call_at(&tool.call);
        if known && open.is_none() {
            self.reduce(record);
            return self.resync(record, None, sink);
        }
        let streamed = self.streamed(&tool.call);
        self.reduce(record);
        if open.is_none() {
            self.open_call(record, tool, sink);
        }
        let differs = self.emit_input(record, &tool.call, &streamed, input, sink);
        let Some(open) = self.open_call_at(&tool.call) else { return };
        self.close_call(record, open, sink);
        if differs {
            // The client shows the streamed input, which differs from the one the tool gets.
            self.resync(record, None, sink);
        }
    }

    pub(super) fn refuse_call(
        &mut self,
        record: &Record,
        tool: &ToolCall,
        input: Option<&Value>,
        error: &str,
        sink: Sink<'_>,
    ) {
        let streamed = self.streamed(&tool.call);
        self.reduce(record);
        let known = self.ids.of_call(&tool.call).is_some();
        if !known {
            self.open_call(record, tool, sink);
        }
        let mut differs = false;
        if let Some(open) = self.open_call_at(&tool.call) {
            differs = input.is_some() && self.emit_input(record, &tool.call, &streamed, input, sink);
            self.close_call(record, open, sink);
        }
        self.emit_result(record, &tool.call, Cow::Borrowed(error), true, sink);
        if differs {
            self.resync(record, None, sink);
        }
    }

    pub(super) fn ask(&mut self, record: &Record, tool: &ToolCall, input: Option<&Value>, sink: Sink<'_>) {
        self.reduce(record);
        if self.ids.of_call(&tool.call).is_none() {
            self.open_call(record, tool, sink);
            self.emit_input(record, &tool.call, "", input, sink);
            if let Some(open) = self.open_call_at(&tool.call) {
                self.close_call(record, open, sink);
            }
        }
        self.keep_approval(record);
    }

    /// Keeps the question until the end of the run: the client accepts no answer before it.
    pub(super) fn keep_approval(&mut self, record: &Record) {
        if let Event::ApprovalRequested(ApprovalRequested { approval, automatic: false, .. }) = &record.event
        {
            self.answered(approval.as_str());
            self.questions.push(record.event.clone());
        }
    }

    pub(super) fn answer_call(&mut self, record: &Record, sink: Sink<'_>) {
        match &record.event {
            Event::ToolOutput(ToolOutput { call, preliminary: true, .. }) => {
                if !self.preliminary.contains(call) {
                    self.preliminary.push(call.clone());
                }
                self.reduce(record);
            }
            // The client produced this output and has a message for it already.
            Event::ToolOutput(ToolOutput { call, .. })
            | Event::ToolOutputError(ToolOutputError { call, .. })
                if self.is_clients_own(call) =>
            {
                self.reduce(record);
            }
            Event::ToolOutput(ToolOutput { call, output, is_error, .. }) => {
                self.reduce(record);
                self.emit_result(record, call, output_text(output), *is_error, sink);
            }
            Event::ToolOutputError(ToolOutputError { call, error, .. }) => {
                self.reduce(record);
                self.emit_result(record, call, Cow::Borrowed(error), true, sink);
            }
            Event::ToolDenied(ToolDenied { call, reason, .. }) => {
                self.reduce(record);
                let content = Cow::Borrowed(reason.as_deref().unwrap_or(DENIED));
                self.emit_result(record, call, content, true, sink);
            }
            _ => {}
        }
    }

    /// Sends a result that was still preliminary when the run ended.
    pub(super) fn emit_last_output(&mut self, record: &Record, call: &ToolCallId, sink: Sink<'_>) {
        let Some(known) = self.ids.of_call(call).map(|ids| ids.message.clone()) else { return };
        let Some(output) = self.state.tool(call).and_then(|tool| tool.output.clone()) else { return };
        let Some(wire) = self.ids.result(&known, Role::Assistant, call) else { return };
        sink(&result(&wire, call, output_text(&output), at(record)));
    }

    fn emit_result(
        &mut self,
        record: &Record,
        call: &ToolCallId,
        content: Cow<'_, str>,
        failed: bool,
        sink: Sink<'_>,
    ) {
        self.preliminary.retain(|open| open != call);
        let message = self.target(record);
        let Some(wire) = self.ids.result(&message, self.role_of(&message), call) else {
            // The client appends a second result to the first, so send the whole conversation instead.
            return self.resync(record, None, sink);
        };
        let mut base = at(record);
        if failed {
            base.set_tanstack("state", "output-error");
        }
        sink(&result(&wire, call, content, base));
    }

    /// Ends the calls of a retracted attempt with an error, for clients that cannot remove them.
    pub(super) fn end_calls_of(&mut self, record: &Record, attempt: &AttemptId, sink: Sink<'_>) {
        let parts = self.state.messages().iter().flat_map(|message| &message.parts).filter_map(Part::as_tool);
        let open = parts.filter(|tool| tool.attempt.as_ref() == Some(attempt) && tool.output.is_none());
        let open: Vec<_> = open.map(|tool| tool.call.clone()).collect();
        for call in &open {
            self.emit_result(record, call, Cow::Borrowed(RETRACTED), true, sink);
        }
        self.reduce(record);
    }

    /// Sends an input that was not streamed; returns whether a different one was streamed.
    fn emit_input(
        &mut self,
        record: &Record,
        call: &ToolCallId,
        streamed: &str,
        input: Option<&Value>,
        sink: Sink<'_>,
    ) -> bool {
        match input {
            Some(input) if streamed.is_empty() => {
                emit_args(call, &input.to_string(), at(record), sink);
                false
            }
            input => serde_json::from_str::<Value>(streamed).ok().as_ref() != input,
        }
    }

    /// Starts a call, or continues one.
    pub(super) fn open_call(&mut self, record: &Record, tool: &ToolCall, sink: Sink<'_>) {
        let message = self.target(record);
        let role = self.role_of(&message);
        let parent = self.ids.call(&message, role, &tool.call);
        sink(&Chunk::ToolCallStart(ToolCallStart {
            tool_call_id: Cow::Borrowed(tool.call.as_str()),
            tool_call_name: Cow::Borrowed(&tool.name),
            parent_message_id: Some(Cow::Borrowed(&*parent)),
            base: at(record),
        }));
        self.calls.push(StreamedCall { tool: tool.clone(), attempt: record.origin.attempt.clone() });
    }

    pub(super) fn close_call(&mut self, record: &Record, open: usize, sink: Sink<'_>) {
        let call = self.calls.remove(open).tool.call;
        let tool_call_id = Cow::Borrowed(call.as_str());
        sink(&Chunk::ToolCallEnd(ToolCallEnd { tool_call_id, base: at(record) }));
    }

    fn streamed(&self, call: &ToolCallId) -> String {
        self.state.tool(call).map(|tool| tool.input_text.clone()).unwrap_or_default()
    }

    /// Whether the client that reads this stream executed the call.
    fn is_clients_own(&self, call: &ToolCallId) -> bool {
        self.goes_on && self.state.tool(call).is_some_and(|tool| tool.executor == Executor::Client)
    }
}

fn result<'a>(wire: &'a str, call: &'a ToolCallId, content: Cow<'a, str>, base: Base<'a>) -> Chunk<'a> {
    Chunk::ToolCallResult(ToolCallResult {
        message_id: Cow::Borrowed(wire),
        tool_call_id: Cow::Borrowed(call.as_str()),
        content: Content::Text(content),
        role: Some(Cow::Borrowed("tool")),
        base,
    })
}

pub(super) fn emit_args(call: &ToolCallId, delta: &str, base: Base<'_>, sink: Sink<'_>) {
    let tool_call_id = Cow::Borrowed(call.as_str());
    sink(&Chunk::ToolCallArgs(ToolCallArgs { tool_call_id, delta: Cow::Borrowed(delta), base }));
}
