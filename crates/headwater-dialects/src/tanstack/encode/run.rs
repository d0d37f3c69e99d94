//! The end of a run.

use std::borrow::Cow;

use headwater_protocol::{ErrorEvent, ErrorInfo, Event, FinishReason, RunFinished, RunWaiting, Usage};

use super::{ChunkSink, End, TanstackEncoder};
use crate::tanstack::chunk::{Chunk, Done, ErrorBody, Failure, TokenUsage};

impl TanstackEncoder {
    pub(super) fn run_end(&mut self, sink: &mut ChunkSink<'_>) {
        self.send_grown_objects(sink);
        match &sink.record.event {
            Event::RunWaiting(RunWaiting { tool_calls, .. }) => self.emit_requests(sink, tool_calls),
            _ => self.emit_deferred(sink),
        }
        match &sink.record.event {
            Event::RunFinished(RunFinished { reason, usage, .. }) => {
                self.done(sink, finish_reason(reason.as_ref()), usage.as_ref());
            }
            Event::RunCancelled { .. } => self.done(sink, None, None),
            Event::RunWaiting(RunWaiting { usage, .. }) => {
                if self.page.turn_is_over {
                    self.end = End::Ended;
                } else {
                    self.done(sink, Some("stop"), usage.as_ref());
                }
            }
            Event::RunFailed(error) | Event::Error(ErrorEvent { error, .. }) => self.failed(sink, error),
            _ => {}
        }
    }

    fn done(&mut self, sink: &mut ChunkSink<'_>, reason: Option<&'static str>, usage: Option<&Usage>) {
        self.end = End::Ended;
        self.page.turn_is_open = false;
        let (to, base) = sink.next();
        let finish_reason = reason.map(Cow::Borrowed);
        to(&Chunk::Done(Done { finish_reason, usage: usage.map(tokens), ..Done::at(base) }));
    }

    fn failed(&mut self, sink: &mut ChunkSink<'_>, error: &ErrorInfo) {
        self.end = End::Failed;
        let (to, base) = sink.next();
        let error = ErrorBody {
            message: Some(Cow::Borrowed(error.message.as_str())),
            code: error.code.as_deref().map(Cow::Borrowed),
        };
        to(&Chunk::Failure(Failure { error: Some(error), ..Failure::at(base) }));
    }
}

/// The finish reason as one of the protocol's words.
fn finish_reason(reason: Option<&FinishReason>) -> Option<&'static str> {
    match reason {
        None | Some(FinishReason::Stop) => Some("stop"),
        Some(FinishReason::Length) => Some("length"),
        Some(FinishReason::ContentFilter) => Some("content_filter"),
        Some(FinishReason::ToolCalls) => Some("tool_calls"),
        Some(_) => None,
    }
}

fn tokens(usage: &Usage) -> TokenUsage {
    let prompt_tokens = usage.input_tokens.unwrap_or_default();
    let completion_tokens = usage.output_tokens.unwrap_or_default();
    TokenUsage {
        prompt_tokens,
        completion_tokens,
        total_tokens: usage.total_tokens.unwrap_or_else(|| prompt_tokens.saturating_add(completion_tokens)),
    }
}
