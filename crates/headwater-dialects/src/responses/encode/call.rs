//! Tool calls: those of the agent as they happen, client tools and questions when the run waits.

use headwater_protocol::{
    ASK_USER, ApprovalAnswered, ApprovalRequested, AttemptId, Event, Executor, FrameWriter, Origin, Record,
    ToolCall, ToolCallId, ToolDenied, ToolInputAvailable, ToolInputDelta, ToolInputError, ToolOutput,
    ToolOutputError,
};
use serde_json::Value;

use super::{
    super::item::{Item, ItemStatus, SERVER_LABEL},
    OutputItem, ResponsesEncoder,
    wire::{ArgumentsEvent, CallEvent, send, send_arguments, send_function_arguments},
};

/// A tool call.
#[derive(Debug, Default)]
pub(super) struct CallItem {
    name: String,
    arguments: String,
    executor: Executor,
    /// The index of its item in this response.
    pub(super) at: Option<usize>,
    pub(super) attempt: Option<AttemptId>,
    approval: Option<String>,
    /// Its outcome was sent.
    settled: bool,
}

/// An approval that is still open.
#[derive(Debug)]
pub(super) struct OpenApproval {
    id: String,
    call: ToolCallId,
}

impl ResponsesEncoder {
    pub(super) fn tool_event(&mut self, record: &Record, out: &mut FrameWriter) {
        let origin = &record.origin;
        match &record.event {
            Event::ToolInputStart(tool) => {
                self.record_call(tool, None, origin);
                self.show_call(&tool.call, out);
            }
            Event::ToolInputDelta(ToolInputDelta { call, delta }) => {
                if let Some(known) = self.calls.get_mut(call) {
                    known.arguments.push_str(delta);
                    if let Some(at) = known.at
                        && let Some(OutputItem { item: item @ Item::McpCall { .. }, open: true, .. }) =
                            self.items.get(at)
                        && !delta.is_empty()
                    {
                        send_arguments(&mut self.next, item.id(), at, delta, out);
                    }
                }
            }
            Event::ToolInputAvailable(ToolInputAvailable { tool, input }) => {
                self.record_call(tool, input.as_ref(), origin);
                self.show_call(&tool.call, out);
                self.finish_arguments(&tool.call, out);
            }
            Event::ToolInputError(ToolInputError { tool, input, error }) => {
                self.record_call(tool, input.as_ref(), origin);
                self.settle(&tool.call, None, Err(error), out);
            }
            Event::ApprovalRequested(ApprovalRequested { approval, tool, input, automatic, .. }) => {
                self.record_call(tool, input.as_ref(), origin);
                if let Some(call) = self.calls.get_mut(&tool.call) {
                    call.approval = Some(approval.as_str().to_owned());
                }
                if !automatic {
                    let id = approval.as_str().to_owned();
                    self.approvals.push(OpenApproval { id, call: tool.call.clone() });
                }
            }
            Event::ApprovalAnswered(ApprovalAnswered { approval, .. }) => {
                self.approvals.retain(|open| open.id != approval.as_str());
            }
            Event::ToolOutput(ToolOutput { call, name, output, is_error, preliminary: false, .. }) => {
                let text = text_of(output);
                self.settle(call, name.as_deref(), if *is_error { Err(&text) } else { Ok(&text) }, out);
            }
            Event::ToolOutputError(ToolOutputError { call, name, error }) => {
                self.settle(call, name.as_deref(), Err(error), out);
            }
            Event::ToolDenied(ToolDenied { call, name, reason }) => {
                let error = match reason {
                    Some(reason) => format!("denied: {reason}"),
                    None => "denied".to_owned(),
                };
                self.settle(call, name.as_deref(), Err(&error), out);
            }
            _ => {}
        }
    }

    fn record_call(&mut self, tool: &ToolCall, input: Option<&Value>, origin: &Origin) {
        let call = self.calls.entry(tool.call.clone()).or_default();
        if !tool.name.is_empty() {
            tool.name.clone_into(&mut call.name);
        }
        // An approval does not name the executor of the call.
        if call.executor == Executor::Server {
            call.executor = tool.executor;
        }
        if let Some(input) = input {
            call.arguments = input.to_string();
        }
        call.attempt = call.attempt.take().or_else(|| origin.attempt.clone());
    }

    /// The item of a call that the agent executes, added if none is open.
    fn show_call(&mut self, id: &ToolCallId, out: &mut FrameWriter) -> Option<usize> {
        let call = self.calls.get(id)?;
        if call.executor == Executor::Client {
            // The client would execute it.
            if let Some(at) = call.at {
                self.drop_item(at, out);
            }
            return None;
        }
        if call.settled {
            return None;
        }
        let shown = call.at.filter(|at| self.items.get(*at).is_some_and(|output| output.open));
        if shown.is_some() {
            return shown;
        }
        // It was shown before the run waited.
        let again = if call.at.is_some() { format!("_{}", self.items.len()) } else { String::new() };
        let item = Item::McpCall {
            id: format!("mcp_{id}{again}"),
            server_label: SERVER_LABEL,
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            output: None,
            error: None,
            status: ItemStatus::InProgress,
            approval_request_id: call.approval.clone(),
        };
        let attempt = call.attempt.clone();
        let at = self.add(item, attempt, out);
        self.call_event("response.mcp_call.in_progress", at, out);
        if let Some(call) = self.calls.get_mut(id) {
            call.at = Some(at);
        }
        Some(at)
    }

    fn call_event(&mut self, event: &'static str, at: usize, out: &mut FrameWriter) {
        if let Some(output) = self.items.get(at) {
            let body = CallEvent { item_id: output.item.id(), output_index: at };
            send(&mut self.next, event, &body, out);
        }
    }

    fn finish_arguments(&mut self, id: &ToolCallId, out: &mut FrameWriter) {
        let Some(call) = self.calls.get(id) else { return };
        let Some(at) = call.at else { return };
        if let Some(OutputItem { item: Item::McpCall { id, arguments, .. }, open: true, .. }) =
            self.items.get_mut(at)
        {
            arguments.clone_from(&call.arguments);
            let body = ArgumentsEvent { item_id: id, output_index: at, name: None, arguments };
            send(&mut self.next, "response.mcp_call_arguments.done", &body, out);
        }
    }

    /// Sends the outcome of a call. The client already knows the outputs of its own tools.
    fn settle(
        &mut self,
        id: &ToolCallId,
        named: Option<&str>,
        outcome: Result<&str, &str>,
        out: &mut FrameWriter,
    ) {
        self.approvals.retain(|open| open.call != *id);
        if !self.calls.contains_key(id) {
            self.record_call(&ToolCall::new(id.clone(), named.unwrap_or_default()), None, &Origin::default());
        }
        let Some(at) = self.show_call(id, out) else { return };
        let Some(call) = self.calls.get_mut(id) else { return };
        call.settled = true;
        let Some(OutputItem {
            item: Item::McpCall { name, arguments, output, error, .. }, open: true, ..
        }) = self.items.get_mut(at)
        else {
            return;
        };
        name.clone_from(&call.name);
        arguments.clone_from(&call.arguments);
        let (event, status) = match outcome {
            Ok(text) => {
                *output = Some(text.to_owned());
                ("response.mcp_call.completed", ItemStatus::Completed)
            }
            Err(text) => {
                *error = Some(text.to_owned());
                ("response.mcp_call.failed", ItemStatus::Failed)
            }
        };
        self.call_event(event, at, out);
        self.done(at, status, out);
    }

    /// Sends everything that the run waits for.
    pub(super) fn ask(&mut self, calls: &[ToolCallId], out: &mut FrameWriter) {
        for id in calls {
            let Some(call) = self.calls.get(id) else { continue };
            let (name, arguments) = (call.name.clone(), call.arguments.clone());
            self.function_call(id.as_str(), name, arguments, out);
        }
        for question in self.questions.clone() {
            let arguments = question.to_tool_input().to_string();
            self.function_call(question.request.as_str(), ASK_USER.to_owned(), arguments, out);
        }
        for OpenApproval { id, call } in std::mem::take(&mut self.approvals) {
            let known = self.calls.get(&call);
            let item = Item::McpApprovalRequest {
                id: id.clone(),
                server_label: SERVER_LABEL,
                name: known.map(|known| known.name.clone()).unwrap_or_default(),
                arguments: known.map(|known| known.arguments.clone()).unwrap_or_default(),
            };
            let at = self.add(item, None, out);
            self.done(at, ItemStatus::Completed, out);
            self.approvals.push(OpenApproval { id, call });
        }
    }

    fn function_call(&mut self, call: &str, name: String, arguments: String, out: &mut FrameWriter) {
        let item = Item::FunctionCall {
            id: format!("fc_{call}"),
            call_id: call.to_owned(),
            name,
            arguments: String::new(),
            status: ItemStatus::InProgress,
        };
        let at = self.add(item, None, out);
        let Some(OutputItem { item: Item::FunctionCall { id, name, arguments: written, .. }, .. }) =
            self.items.get_mut(at)
        else {
            return;
        };
        *written = if arguments.is_empty() { "{}".to_owned() } else { arguments };
        send_function_arguments(&mut self.next, id, at, written, out);
        let body = ArgumentsEvent { item_id: id, output_index: at, name: Some(name), arguments: written };
        send(&mut self.next, "response.function_call_arguments.done", &body, out);
        self.done(at, ItemStatus::Completed, out);
    }
}

/// Outputs are text on this wire.
fn text_of(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
