//! Server calls that are sent later.
//!
//! The client only continues when every call of its newest message has an output set by the page, or an
//! approval answer. A server call has neither, so a visible one keeps the page from ever continuing. In the
//! profile `client-tools` a response therefore only shows what the page is asked for, and the last one shows
//! the server's calls.

use headwater_protocol::{
    AttemptId, Event, Record, ToolCall, ToolCallId, ToolInputAvailable, ToolInputError,
};
use serde_json::Value;

use super::{ChunkSink, TanstackEncoder, tool::output_text};

/// The calls so far, in order of their start.
#[derive(Debug, Default)]
pub(super) struct DeferredCalls(Vec<DeferredCall>);

#[derive(Debug)]
struct DeferredCall {
    tool: ToolCall,
    input: Option<Value>,
    attempt: Option<AttemptId>,
    output: Option<String>,
}

impl DeferredCalls {
    /// Records what happens to a hidden call.
    pub(super) fn note(&mut self, record: &Record) {
        match &record.event {
            Event::ToolInputAvailable(ToolInputAvailable { tool, input, .. })
            | Event::ToolInputError(ToolInputError { tool, input, .. }) => {
                self.forget(&tool.call);
                self.0.push(DeferredCall {
                    tool: tool.clone(),
                    input: input.clone(),
                    attempt: record.origin.attempt.clone(),
                    output: output_text(&record.event),
                });
            }
            event => {
                let call = event.settled_call();
                if let Some(known) = self.0.iter_mut().rfind(|known| Some(&known.tool.call) == call) {
                    known.output = output_text(event);
                }
            }
        }
    }

    /// Removes a call that is shown after all, because it needs approval.
    pub(super) fn forget(&mut self, call: &ToolCallId) {
        self.0.retain(|known| known.tool.call != *call);
    }

    /// Retracts an attempt with its calls that were not executed.
    pub(super) fn retract(&mut self, attempt: &AttemptId) {
        self.0.retain(|known| known.output.is_some() || known.attempt.as_ref() != Some(attempt));
    }
}

impl TanstackEncoder {
    /// Sends the server's calls: nothing more is asked of the page.
    pub(super) fn emit_deferred(&mut self, sink: &mut ChunkSink<'_>) {
        let mut told = Vec::new();
        for DeferredCall { tool, input, attempt, output } in std::mem::take(&mut self.later.0) {
            let at = self.calls.begin(&tool.call, &tool.name, attempt.as_ref());
            let arguments = input.map(|input| input.to_string()).unwrap_or_default();
            self.piece(sink, at, &arguments);
            told.push((at, output));
        }
        if told.is_empty() {
            return;
        }
        self.settle(sink);
        for (at, output) in told {
            if let Some(output) = output {
                self.output(sink, at, output);
            }
        }
    }
}
