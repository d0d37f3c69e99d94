//! Builds the message like the published client's `StreamProcessor`, as events.
//!
//! The client has text in segments, a single reasoning part, and calls that are complete as soon as a text or
//! `done` arrives. The last part of the message decides where text goes: a text part grows; otherwise a new
//! part gets the *whole* segment, including text shown before.

use std::borrow::Cow;
use std::collections::HashMap;

use headwater_protocol::{
    self, ApprovalId, AttemptId, AttemptRetracted, BlockDelta, BlockEnded, BlockKind, BlockStarted, Error,
    ErrorInfo, ErrorKind, Event, Executor, FinishReason, MessageId, MessageStarted, Origin, PartId, Role,
    RunFinished, RunStarted, RunWaiting, ToolCall, ToolCallId, ToolInputDelta, ToolOutput, UnknownEvent,
    Usage,
};
use serde_json::Value;

use super::{
    super::chunk::{
        ApprovalRequested, Base, Chunk, Content, Done, Failure, Thinking, TokenUsage, ToolCall as Piece,
        ToolInputAvailable, ToolResult,
    },
    RecordSink,
};

#[derive(Debug, Default)]
pub(super) struct PageState {
    message: Option<MessageId>,
    time: u64,
    segment: String,
    call_since_text: bool,
    /// The text that is the last part of the message.
    text: Option<PageText>,
    /// It belongs to an earlier segment: the client overwrites it with the next one.
    is_stale: bool,
    texts: u32,
    thoughts: String,
    thinks: Option<PartId>,
    calls: Vec<PageCall>,
    by_id: HashMap<ToolCallId, usize>,
    /// The calls that are not complete.
    open: Vec<usize>,
    end: Option<PageEnd>,
    has_failed: bool,
    /// The usage of the turns before the last one.
    used: Usage,
}

#[derive(Debug)]
struct PageText {
    id: PartId,
    /// If the client may still overwrite it, it is an attempt that can be retracted.
    attempt: Option<AttemptId>,
}

#[derive(Debug, Default)]
struct PageCall {
    tool: ToolCall,
    arguments: String,
    is_called: bool,
    is_complete: bool,
    is_asked: bool,
    /// The output, to be emitted again if the input is.
    output: Option<Value>,
}

#[derive(Debug)]
struct PageEnd {
    reason: Option<FinishReason>,
    usage: Option<Usage>,
}

impl PageState {
    pub(super) fn time(&self) -> u64 {
        self.time
    }

    pub(super) fn origin(&self) -> Origin {
        Origin { message: self.message.clone(), ..Origin::default() }
    }

    pub(super) fn take(&mut self, sink: &mut RecordSink<'_>, chunk: Chunk<'_>) {
        // An error ends the stream: the rest is not read.
        if self.has_failed {
            return;
        }
        self.time = sink.time;
        self.begin(sink, &chunk);
        sink.origin = self.origin();
        // A model turn that ended with calls is not the end of the run if the server continues.
        let goes_on = matches!(
            chunk,
            Chunk::Content(_) | Chunk::Thinking(_) | Chunk::ToolCall(_) | Chunk::ToolResult(_)
        );
        self.end.take_if(|end| goes_on && end.reason == Some(FinishReason::ToolCalls));
        match chunk {
            Chunk::Content(chunk) => self.content(sink, &chunk),
            Chunk::Thinking(chunk) => self.thinking(sink, &chunk),
            Chunk::ToolCall(chunk) => self.tool_call(sink, chunk),
            Chunk::ToolResult(chunk) => self.tool_result(sink, chunk),
            Chunk::Done(chunk) => self.done(sink, &chunk),
            Chunk::Failure(chunk) => self.failed(sink, chunk),
            Chunk::ApprovalRequested(chunk) => self.approval(sink, chunk),
            Chunk::ToolInputAvailable(chunk) => self.client_call(sink, chunk),
            Chunk::Other(_) => {}
        }
    }

    /// The client creates a message for each response, with an id from the first chunk.
    fn begin(&mut self, sink: &mut RecordSink<'_>, chunk: &Chunk<'_>) {
        if self.message.is_some() {
            return;
        }
        let Base { id, model, .. } = chunk.base();
        let message = MessageId::from(format!("msg-{}", id.as_deref().unwrap_or("1")));
        self.message = Some(message.clone());
        let model = model.map(Cow::into_owned);
        sink.emit(RunStarted { model, ..RunStarted::default() });
        sink.emit(MessageStarted { message, role: Role::Assistant, ..Default::default() });
    }

    fn content(&mut self, sink: &mut RecordSink<'_>, chunk: &Content<'_>) {
        self.complete(sink);
        let content = chunk.content.as_deref();
        // The client would append the word `undefined`; the documentation says that `content` counts.
        let delta = chunk.delta.as_deref().or(content.map(|_| ""));
        let Some(delta) = delta else {
            return dies(sink, "a content chunk needs `delta`");
        };
        let begins = self.call_since_text
            && !self.segment.is_empty()
            && content.is_some_and(|content| !content.starts_with(&self.segment));
        if begins {
            self.segment.clear();
            self.call_since_text = false;
            self.is_stale = true;
        }
        let known = self.segment.len();
        if delta.is_empty() {
            match content {
                Some(content) => extend(&mut self.segment, content),
                None => return dies(sink, "a content chunk with an empty `delta` needs `content`"),
            }
        } else {
            self.segment.push_str(delta);
        }
        if self.segment.len() > known {
            self.show_text(sink, known);
        }
    }

    fn show_text(&mut self, sink: &mut RecordSink<'_>, known: usize) {
        if std::mem::take(&mut self.is_stale)
            && let Some(attempt) = self.text.take().and_then(|text| text.attempt)
        {
            sink.emit(AttemptRetracted { attempt, ..Default::default() });
        }
        let from = if self.text.is_some() { known } else { 0 };
        let text = match &mut self.text {
            Some(text) => text,
            held => {
                self.texts += 1;
                let id = format!("text-{}", self.texts);
                // Only a known call can be streamed again without a new part.
                let attempt = (!self.calls.is_empty()).then(|| AttemptId::from(id.as_str()));
                let id = PartId::from(id);
                sink.origin.attempt.clone_from(&attempt);
                sink.emit(BlockStarted::new(BlockKind::Text, id.clone()));
                held.insert(PageText { id, attempt })
            }
        };
        let delta = self.segment.get(from..).unwrap_or_default().to_owned();
        sink.origin.attempt.clone_from(&text.attempt);
        sink.emit(BlockDelta::new(BlockKind::Text, text.id.clone(), delta));
        sink.origin.attempt = None;
    }

    /// Closes the text: another part follows.
    fn close_text(&mut self, sink: &mut RecordSink<'_>) {
        self.is_stale = false;
        if let Some(PageText { id, attempt }) = self.text.take() {
            sink.origin.attempt = attempt;
            sink.emit(BlockEnded::new(BlockKind::Text, id));
            sink.origin.attempt = None;
        }
    }

    fn thinking(&mut self, sink: &mut RecordSink<'_>, chunk: &Thinking<'_>) {
        let known = self.thoughts.len();
        match (chunk.delta.as_deref().filter(|delta| !delta.is_empty()), chunk.content.as_deref()) {
            (Some(delta), _) => self.thoughts.push_str(delta),
            (None, Some(content)) => extend(&mut self.thoughts, content),
            (None, None) => return dies(sink, "a thinking chunk needs `delta` or `content`"),
        }
        let id = match &self.thinks {
            Some(id) => id.clone(),
            None => {
                self.close_text(sink);
                let id = PartId::from("thinking");
                sink.emit(BlockStarted::new(BlockKind::Reasoning, id.clone()));
                self.thinks = Some(id.clone());
                id
            }
        };
        let delta = self.thoughts.get(known..).unwrap_or_default();
        if !delta.is_empty() {
            sink.emit(BlockDelta::new(BlockKind::Reasoning, id, delta.to_owned()));
        }
    }

    fn tool_call(&mut self, sink: &mut RecordSink<'_>, chunk: Piece<'_>) {
        self.call_since_text = true;
        let Some(piece) = chunk.tool_call else {
            return dies(sink, "a tool_call chunk needs `toolCall`");
        };
        let Some(function) = piece.function else {
            return dies(sink, "a tool_call chunk needs `toolCall.function`");
        };
        let at = self.call(&piece.id.unwrap_or_default());
        if self.calls.get(at).is_some_and(|call| !call.is_called) {
            self.close_text(sink);
            self.open.push(at);
        }
        let Some(call) = self.calls.get_mut(at) else { return };
        let delta = function.arguments.unwrap_or_default();
        if !call.is_called {
            call.is_called = true;
            call.tool.name = function.name.unwrap_or_default().into_owned();
            sink.emit(Event::ToolInputStart(call.tool.clone()));
            call.emit_output(sink);
        }
        if delta.is_empty() && !call.is_asked {
            return;
        }
        call.arguments.push_str(&delta);
        if call.is_complete {
            // It stays complete with a longer input, and its approval request is forgotten.
            call.is_asked = false;
            call.emit(sink, true);
        } else {
            sink.emit(ToolInputDelta::new(call.tool.call.clone(), delta.into_owned()));
            call.emit_output(sink);
        }
    }

    /// The call with this id, added if unknown.
    fn call(&mut self, id: &str) -> usize {
        let id = ToolCallId::from(id);
        *self.by_id.entry(id).or_insert_with_key(|id| {
            self.calls.push(PageCall { tool: ToolCall::new(id.clone(), ""), ..PageCall::default() });
            self.calls.len() - 1
        })
    }

    /// The call with this id, if it was streamed.
    fn called(&mut self, id: Option<Cow<'_, str>>) -> Option<&mut PageCall> {
        let at = *self.by_id.get(&ToolCallId::from(id.unwrap_or_default().into_owned()))?;
        self.calls.get_mut(at).filter(|call| call.is_called)
    }

    /// Completes all calls.
    fn complete(&mut self, sink: &mut RecordSink<'_>) {
        for at in self.open.drain(..) {
            if let Some(call) = self.calls.get_mut(at) {
                call.is_complete = true;
                call.emit(sink, false);
            }
        }
    }

    fn tool_result(&mut self, sink: &mut RecordSink<'_>, chunk: ToolResult<'_>) {
        let at = self.call(&chunk.tool_call_id.unwrap_or_default());
        if self.calls.get(at).is_some_and(|call| call.output.is_none()) {
            self.close_text(sink);
        }
        let Some(call) = self.calls.get_mut(at) else { return };
        call.output = Some(chunk.content.unwrap_or(Value::Null));
        call.emit_output(sink);
    }

    fn approval(&mut self, sink: &mut RecordSink<'_>, chunk: ApprovalRequested<'_>) {
        let Some(approval) = chunk.approval else {
            return dies(sink, "an approval-requested chunk needs `approval`");
        };
        let Some(call) = self.called(chunk.tool_call_id) else {
            return passed_over(sink, "approval-requested");
        };
        if !call.is_complete {
            let message = "an approval before the end of the turn is forgotten by the client";
            sink.fail(Error::new(ErrorKind::Order, message));
            return;
        }
        call.is_asked = true;
        sink.emit(headwater_protocol::ApprovalRequested {
            approval: ApprovalId::from(approval.id.unwrap_or_default()),
            tool: call.tool.clone(),
            input: chunk.input.map(Cow::into_owned),
            ..Default::default()
        });
        call.emit_output(sink);
    }

    fn client_call(&mut self, sink: &mut RecordSink<'_>, chunk: ToolInputAvailable<'_>) {
        let Some(call) = self.called(chunk.tool_call_id) else {
            return passed_over(sink, "tool-input-available");
        };
        call.tool.executor = Executor::Client;
        // Incomplete calls are emitted when they are complete.
        if call.is_complete && !call.is_asked {
            call.emit(sink, false);
        }
    }

    fn done(&mut self, sink: &mut RecordSink<'_>, chunk: &Done<'_>) {
        self.complete(sink);
        let reason = chunk.finish_reason.as_deref().map(FinishReason::parse);
        let usage = chunk.usage.map(|usage| add(&self.used, usage));
        if reason == Some(FinishReason::ToolCalls)
            && let Some(usage) = &usage
        {
            self.used = usage.clone();
            sink.emit(Event::Usage(usage.clone()));
        }
        self.end = Some(PageEnd { reason, usage });
    }

    fn failed(&mut self, sink: &mut RecordSink<'_>, chunk: Failure<'_>) {
        let Some(error) = chunk.error else {
            return dies(sink, "an error chunk needs `error`");
        };
        let error = ErrorInfo {
            message: error.message.unwrap_or_default().into_owned(),
            code: error.code.map(Cow::into_owned),
            ..ErrorInfo::default()
        };
        self.has_failed = true;
        sink.emit(Event::RunFailed(error));
    }

    /// Only the end of the stream ends the run: the client reads on after `done`.
    pub(super) fn end(&mut self, sink: &mut RecordSink<'_>) {
        self.complete(sink);
        self.close_text(sink);
        if let Some(id) = self.thinks.take() {
            sink.emit(BlockEnded::new(BlockKind::Reasoning, id));
        }
        if self.has_failed {
            return;
        }
        let pending = || self.calls.iter().filter(|call| call.output.is_none());
        let tool_calls: Vec<_> = pending()
            .filter(|call| call.tool.executor == Executor::Client)
            .map(|call| call.tool.call.clone())
            .collect();
        let usage = self.end.as_mut().and_then(|end| end.usage.take());
        if !tool_calls.is_empty() || pending().any(|call| call.is_asked) {
            sink.emit(RunWaiting { tool_calls, usage, ..Default::default() });
        } else if let Some(PageEnd { reason, .. }) = self.end.take() {
            sink.emit(RunFinished { reason, usage, ..Default::default() });
        }
    }
}

impl PageCall {
    fn emit(&self, sink: &mut RecordSink<'_>, again: bool) {
        let input = serde_json::from_str(&self.arguments).ok();
        if input.is_none() && again {
            // The streamed text was removed when the input was parsed.
            sink.emit(Event::ToolInputStart(self.tool.clone()));
            if !self.arguments.is_empty() {
                let (call, delta) = (self.tool.call.clone(), self.arguments.clone());
                sink.emit(ToolInputDelta::new(call, delta));
            }
        }
        sink.emit(headwater_protocol::ToolInputAvailable::new(self.tool.clone(), input));
        self.emit_output(sink);
    }

    /// Emits the output, which the client shows in any state of the call.
    fn emit_output(&self, sink: &mut RecordSink<'_>) {
        let Some(output) = self.output.clone() else { return };
        sink.emit(ToolOutput::new(self.tool.call.clone(), output));
    }
}

/// Extends a text as the client does: a longer version replaces the held text, a shorter version is ignored,
/// anything else is appended.
fn extend(held: &mut String, whole: &str) {
    match whole.strip_prefix(held.as_str()) {
        Some(more) => held.push_str(more),
        None if held.starts_with(whole) => {}
        None => held.push_str(whole),
    }
}

fn dies(sink: &mut RecordSink<'_>, message: &str) {
    sink.fail(Error::fatal(ErrorKind::Field, message));
}

/// Reports a chunk for an unknown call: the client runs its callbacks and shows nothing.
fn passed_over(sink: &mut RecordSink<'_>, name: &str) {
    let data = serde_json::from_str(sink.frame.data).unwrap_or(Value::Null);
    sink.emit(UnknownEvent::new(name.to_owned(), data));
}

fn add(used: &Usage, turn: TokenUsage) -> Usage {
    let sum = |before: Option<u64>, more: u64| Some(before.unwrap_or_default().saturating_add(more));
    Usage {
        input_tokens: sum(used.input_tokens, turn.prompt_tokens),
        output_tokens: sum(used.output_tokens, turn.completion_tokens),
        total_tokens: sum(used.total_tokens, turn.total_tokens),
        ..Usage::default()
    }
}
