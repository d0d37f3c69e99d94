//! Tool calls, and questions, which are client tool calls on the page.

use std::borrow::Cow;

use headwater_protocol::{
    ASK_USER, AttemptId, Event, Executor, Interrupt, InterruptAnswered, ToolCall, ToolCallId, ToolDenied,
    ToolInputAvailable, ToolInputDelta, ToolInputError, ToolOutput, ToolOutputError,
};
use serde_json::{Value, json};

use super::{ChunkSink, TanstackEncoder};
use crate::tanstack::chunk::{Call, Chunk, Done, Function, ToolCall as Piece, ToolResult};

impl TanstackEncoder {
    pub(super) fn tool(&mut self, sink: &mut ChunkSink<'_>) {
        let record = sink.record;
        let attempt = record.origin.attempt.as_ref();
        match &record.event {
            Event::ToolInputStart(tool) => {
                let at = self.calls.begin(&tool.call, &tool.name, attempt);
                self.piece(sink, at, "");
            }
            Event::ToolInputDelta(ToolInputDelta { call, delta, .. }) => self.input_delta(sink, call, delta),
            Event::ToolInputAvailable(ToolInputAvailable { tool, input, .. }) => {
                self.input(sink, tool, input.as_ref());
            }
            Event::ToolInputError(ToolInputError { tool, input, .. }) => {
                self.show(sink, tool, input.as_ref());
                self.result(sink, &tool.call);
            }
            Event::ApprovalRequested(request) if !request.automatic => self.request_approval(sink, request),
            Event::InterruptRequested(question) => self.ask(sink, question),
            Event::InterruptAnswered(InterruptAnswered { request, .. })
            | Event::InterruptExpired { request } => {
                self.answer(sink, request.as_str());
            }
            event => {
                if let Some(call) = event.settled_call() {
                    self.result(sink, call);
                }
            }
        }
    }

    /// Sends a chunk of a call.
    pub(super) fn piece(&mut self, sink: &mut ChunkSink<'_>, at: usize, arguments: &str) {
        let Some(call) = self.calls.get(at) else { return };
        if !call.is_shown {
            call.is_shown = true;
            self.page.add_part();
        }
        self.page.call();
        let function = Function {
            name: Some(Cow::Borrowed(call.name.as_str())),
            arguments: Some(Cow::Borrowed(arguments)),
        };
        let (to, base) = sink.next();
        to(&Chunk::ToolCall(Piece {
            tool_call: Some(Call {
                id: Some(Cow::Borrowed(call.wire.as_str())),
                kind: Some(Cow::Borrowed("function")),
                function: Some(function),
            }),
            index: Some(call.index),
            ..Piece::at(base)
        }));
    }

    fn input_delta(&mut self, sink: &mut ChunkSink<'_>, call: &ToolCallId, delta: &str) {
        let at = match self.calls.find(call) {
            Some(at) => at,
            None => self.calls.begin(call, "", sink.record.origin.attempt.as_ref()),
        };
        match self.calls.get(at) {
            Some(known) if !known.is_complete && !known.is_settled && !known.is_asked => {
                known.text.push_str(delta);
            }
            // The page would append it to a complete input.
            _ => return,
        }
        self.piece(sink, at, delta);
    }

    fn input(&mut self, sink: &mut ChunkSink<'_>, tool: &ToolCall, input: Option<&Value>) {
        let known = self.calls.find(&tool.call).and_then(|at| self.calls.get(at));
        if known.is_some_and(|call| !call.is_settled && (call.is_complete || call.is_asked)) {
            return;
        }
        let at = self.begin_or_continue(sink, tool);
        let Some(call) = self.calls.get(at) else { return };
        call.is_complete = true;
        let streamed = std::mem::take(&mut call.text);
        let is_shown = call.is_shown;
        // The page shows the streamed input, even if the final one differs.
        let arguments = input.filter(|_| streamed.is_empty()).map(Value::to_string).unwrap_or_default();
        if !is_shown || !arguments.is_empty() {
            self.piece(sink, at, &arguments);
        }
        if tool.executor == Executor::Client {
            self.calls.wait(at, input.cloned());
        }
    }

    fn begin_or_continue(&mut self, sink: &ChunkSink<'_>, tool: &ToolCall) -> usize {
        let open = self.calls.find(&tool.call);
        let open = open.filter(|&at| {
            self.calls.get(at).is_some_and(|call| call.is_shown && !call.is_complete && !call.is_settled)
        });
        open.unwrap_or_else(|| self.calls.begin(&tool.call, &tool.name, sink.record.origin.attempt.as_ref()))
    }

    /// Ensures that the page shows the call and its whole input.
    pub(super) fn show(&mut self, sink: &mut ChunkSink<'_>, tool: &ToolCall, input: Option<&Value>) -> usize {
        let known = self.calls.find(&tool.call);
        let shown = known.filter(|&at| {
            self.calls.get(at).is_some_and(|call| {
                call.is_shown && !call.is_settled && (call.is_complete || !call.text.is_empty())
            })
        });
        if let Some(at) = shown {
            return at;
        }
        let at = self.begin_or_continue(sink, tool);
        let arguments = input.map(Value::to_string).unwrap_or_default();
        self.piece(sink, at, &arguments);
        at
    }

    fn result(&mut self, sink: &mut ChunkSink<'_>, id: &ToolCallId) {
        let at = self.calls.find(id);
        let is_shown = at.and_then(|at| self.calls.get(at)).is_some_and(|call| call.is_shown);
        // A call of an earlier response: nothing could keep the text from being repeated.
        if !is_shown && self.page.would_repeat() {
            return;
        }
        let at = at.unwrap_or_else(|| self.calls.begin(id, "", None));
        // A page that reads it again must not execute it again.
        self.calls.no_longer_waits(at);
        self.settle(sink);
        let preliminary =
            matches!(sink.record.event, Event::ToolOutput(ToolOutput { preliminary: true, .. }));
        let content = output_text(&sink.record.event).unwrap_or_default();
        self.output(sink, at, content);
        if let Some(call) = self.calls.get(at) {
            call.is_settled = !preliminary;
        }
    }

    pub(super) fn output(&mut self, sink: &mut ChunkSink<'_>, at: usize, content: String) {
        let is_first = self.calls.get(at).is_some_and(|call| !std::mem::replace(&mut call.has_output, true));
        if is_first {
            if self.page.would_repeat() {
                let turn_is_open = self.page.turn_is_open;
                self.piece(sink, at, "");
                self.page.turn_is_open = turn_is_open;
            }
            self.page.add_part();
        }
        self.page.turn_is_over = false;
        let Some(call) = self.calls.get(at) else { return };
        let (to, base) = sink.next();
        to(&Chunk::ToolResult(ToolResult {
            tool_call_id: Some(Cow::Borrowed(call.wire.as_str())),
            content: Some(Value::String(content)),
            ..ToolResult::at(base)
        }));
    }

    /// Ends the model's turn.
    pub(super) fn settle(&mut self, sink: &mut ChunkSink<'_>) {
        if std::mem::take(&mut self.page.turn_is_open) {
            self.page.turn_is_over = true;
            let (to, base) = sink.next();
            let finish_reason = Some(Cow::Borrowed("tool_calls"));
            to(&Chunk::Done(Done { finish_reason, ..Done::at(base) }));
        }
    }

    /// The page cannot remove a call, so it shows its end.
    pub(super) fn retract(&mut self, sink: &mut ChunkSink<'_>, attempt: &AttemptId) {
        let dead = self.calls.retract(attempt);
        if !dead.is_empty() {
            self.settle(sink);
        }
        for at in dead {
            if self.calls.get(at).is_some_and(|call| call.is_shown) {
                self.output(sink, at, failure("the call was retracted"));
            }
        }
    }

    /// Asks a question: a client tool call with the id of the request.
    pub(super) fn ask(&mut self, sink: &mut ChunkSink<'_>, question: &Interrupt) {
        let input = question.to_tool_input();
        let at = self.calls.begin(&question.request.as_str().into(), ASK_USER, None);
        self.piece(sink, at, &input.to_string());
        if let Some(call) = self.calls.get(at) {
            call.is_complete = true;
        }
        self.calls.wait(at, Some(input));
    }

    fn answer(&mut self, sink: &mut ChunkSink<'_>, request: &str) {
        let call = ToolCallId::from(request);
        let asked = self.calls.find(&call).and_then(|at| self.calls.get(at));
        // One asked in an earlier response has its answer there.
        if asked.is_some_and(|call| call.name == ASK_USER && !call.is_settled) {
            self.result(sink, &call);
        }
    }
}

/// The text for the end of a call or the answer to a question.
pub(super) fn output_text(event: &Event) -> Option<String> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Some(match event {
        Event::ToolOutput(ToolOutput { output, .. }) => text(output),
        Event::ToolOutputError(ToolOutputError { error, .. })
        | Event::ToolInputError(ToolInputError { error, .. }) => failure(error),
        Event::ToolDenied(ToolDenied { reason, .. }) => {
            failure(reason.as_deref().unwrap_or("the call was denied"))
        }
        Event::InterruptAnswered(InterruptAnswered { answer, .. }) => {
            text(answer.as_ref().unwrap_or(&Value::Null))
        }
        Event::InterruptExpired { .. } => failure("the question expired"),
        _ => return None,
    })
}

/// How the reference server reports a failed tool.
fn failure(error: &str) -> String {
    json!({ "error": error }).to_string()
}
