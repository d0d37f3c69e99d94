//! How a run starts, ends and waits.

use std::borrow::Cow;

use headwater_protocol::{
    self, ApprovalRequested, ErrorEvent, ErrorInfo, Event, FinishReason, Record, RunId, RunStarted, RunState,
    RunWaiting, SessionId, ToolCallId, Usage, WarningEvent,
};
use serde_json::{Value, json};

use super::{AgUiEncoder, Sink, StreamPhase, at};
use crate::ag_ui::{
    chunk::{Chunk, Custom, FinishedOutcome, RunError, RunFinished, RunStarted as Started, Step, TokenUsage},
    interrupts,
};

impl AgUiEncoder {
    pub(super) fn begin(&mut self, record: &Record, started: &RunStarted, sink: Sink<'_>) {
        match self.phase {
            StreamPhase::Running => return self.reduce(record),
            // Clients before 0.0.59 reject events after an error.
            StreamPhase::Failed if self.legacy => return,
            _ => {}
        }
        self.reduce(record);
        self.questions.clear();
        let text = |id: Option<&str>| id.unwrap_or_default().to_owned();
        let session = started.session.as_ref().map(SessionId::as_str);
        self.thread = text(started.conversation.as_deref().or(session));
        self.run = text(started.run.as_ref().map(RunId::as_str));
        self.start(record, started.parent.as_ref().map(RunId::as_str), sink);
        if std::mem::take(&mut self.history_due) && !self.history.is_empty() {
            self.snapshot(record, sink);
        }
    }

    /// Starts the run, which must come before anything else.
    pub(super) fn start(&mut self, record: &Record, parent: Option<&str>, sink: Sink<'_>) {
        sink(&Chunk::RunStarted(Started {
            thread_id: Cow::Borrowed(&self.thread),
            run_id: Cow::Borrowed(&self.run),
            parent_run_id: parent.map(Cow::Borrowed),
            protocol_version: (!self.legacy).then_some(Cow::Borrowed("1.0")),
            input: None,
            base: at(record),
        }));
        self.phase = StreamPhase::Running;
    }

    pub(super) fn end(&mut self, record: &Record, sink: Sink<'_>) {
        match &record.event {
            Event::RunFinished(headwater_protocol::RunFinished { reason, usage, data, .. }) => {
                self.close_all(record, sink);
                let result = data.as_ref().filter(|data| !data.is_null());
                let word = reason.as_ref().map(|reason| match reason {
                    FinishReason::Length => "length",
                    FinishReason::ContentFilter => "content_filter",
                    // TanStack's client takes `tool_calls` as a sign that the run continues.
                    _ => "stop",
                });
                self.finished(record, result, None, usage.as_ref(), word, sink);
                self.phase = StreamPhase::Finished;
            }
            Event::RunCancelled { .. } if self.stop_is_end => {
                self.close_all(record, sink);
                self.finished(record, None, None, None, None, sink);
                self.phase = StreamPhase::Finished;
            }
            Event::RunCancelled { reason } if self.legacy => {
                let message = reason.as_deref().unwrap_or("The run was cancelled.");
                self.failed(record, message, Some("cancelled"), sink);
            }
            Event::RunCancelled { .. } => {
                self.close_all(record, sink);
                self.finished(record, None, Some(FinishedOutcome::Cancelled {}), None, None, sink);
                self.phase = StreamPhase::Finished;
            }
            Event::RunWaiting(RunWaiting { tool_calls, usage, .. }) => {
                self.wait(record, tool_calls, usage.as_ref(), sink);
            }
            Event::RunFailed(ErrorInfo { message, code, .. }) => {
                self.failed(record, message, code.as_deref(), sink);
            }
            Event::Error(ErrorEvent { error, .. }) => {
                self.failed(record, &error.message, error.code.as_deref(), sink);
            }
            _ => return,
        }
        self.reduce(record);
    }

    fn failed(&mut self, record: &Record, message: &str, code: Option<&str>, sink: Sink<'_>) {
        self.emit_unsent(record, sink);
        let (message, code) = (Cow::Borrowed(message), code.map(Cow::Borrowed));
        sink(&Chunk::RunError(RunError { message, code, base: at(record) }));
        self.phase = StreamPhase::Failed;
        self.texts.clear();
        self.calls.clear();
        self.steps.clear();
        self.preliminary.clear();
    }

    fn finished(
        &mut self,
        record: &Record,
        result: Option<&Value>,
        outcome: Option<FinishedOutcome<'_>>,
        usage: Option<&Usage>,
        reason: Option<&str>,
        sink: Sink<'_>,
    ) {
        let mut base = at(record);
        if let Some(reason) = reason {
            base.set_tanstack("finishReason", reason);
        }
        sink(&Chunk::RunFinished(RunFinished {
            thread_id: Cow::Borrowed(&self.thread),
            run_id: Cow::Borrowed(&self.run),
            result: result.map(Cow::Borrowed),
            outcome,
            usage: usage.map(|usage| vec![TokenUsage::from(usage)]),
            base,
        }));
    }

    pub(super) fn close_texts_and_calls(&mut self, record: &Record, sink: Sink<'_>) {
        while !self.texts.is_empty() {
            self.close_text(record, 0, sink);
        }
        while !self.calls.is_empty() {
            self.close_call(record, 0, sink);
        }
    }

    /// The client rejects the end of a run while anything is open.
    fn close_all(&mut self, record: &Record, sink: Sink<'_>) {
        self.close_texts_and_calls(record, sink);
        for call in std::mem::take(&mut self.preliminary) {
            self.emit_last_output(record, &call, sink);
        }
        for (_, step) in std::mem::take(&mut self.steps) {
            sink(&Chunk::StepFinished(Step { step_name: Cow::Borrowed(&step), base: at(record) }));
        }
        self.emit_unsent(record, sink);
    }

    fn wait(&mut self, record: &Record, calls: &[ToolCallId], usage: Option<&Usage>, sink: Sink<'_>) {
        self.close_all(record, sink);
        let questions = std::mem::take(&mut self.questions);
        if self.marks_calls {
            for (name, value) in marks(&questions, calls, &self.state) {
                let (name, value) = (Cow::Borrowed(name), Cow::Owned(value));
                sink(&Chunk::Custom(Custom { name, value, base: at(record) }));
            }
        }
        let executed = calls.iter().filter(|_| self.tools_are_interrupts).filter_map(|call| {
            let tool = self.state.tool(call)?;
            Some(interrupts::write_call(tool, &self.run))
        });
        let executed: Vec<_> = executed.collect();
        let outcome = if questions.is_empty() && executed.is_empty() {
            let ids = calls.iter().map(|call| Cow::Borrowed(call.as_str())).collect();
            let pending = (!self.legacy && !calls.is_empty()).then_some(ids);
            pending.map(|ids| FinishedOutcome::Success { pending_tool_call_ids: Some(ids) })
        } else {
            let run = self.tanstack.then_some(self.run.as_str());
            let asked = questions.iter().filter_map(|asked| interrupts::write(asked, run));
            Some(FinishedOutcome::Interrupt { interrupts: asked.chain(executed).collect() })
        };
        let reason = (!calls.is_empty()).then_some("tool_calls");
        self.finished(record, None, outcome, usage, reason, sink);
        self.questions = questions;
        self.phase = StreamPhase::Waiting;
    }

    /// The stream ends here. If the run has not ended, the client must not take it as complete.
    pub(super) fn cut(&mut self, sink: Sink<'_>) {
        if self.phase == StreamPhase::Running {
            let record = Record::new(0, WarningEvent::default());
            self.emit_unsent(&record, sink);
            sink(&Chunk::RunError(RunError {
                message: Cow::Borrowed("The stream ended before the run did."),
                code: Some(Cow::Borrowed("cut")),
                base: at(&record),
            }));
            self.phase = StreamPhase::Failed;
        }
    }
}

/// Custom events for TanStack clients before 1.0: the input of each call that waits for a decision or for the
/// page. The client loses a decision made before the end of the run, so they come last.
fn marks(questions: &[Event], calls: &[ToolCallId], state: &RunState) -> Vec<(&'static str, Value)> {
    let approvals = questions.iter().filter_map(|question| {
        let Event::ApprovalRequested(ApprovalRequested { approval, tool, input, .. }) = question else {
            return None;
        };
        let value = json!({
            "toolCallId": tool.call,
            "toolName": tool.name,
            "input": input,
            "approval": { "id": approval, "needsApproval": true },
        });
        Some(("approval-requested", value))
    });
    let executed = calls.iter().map(|call| {
        let tool = state.tool(call);
        let value = json!({
            "toolCallId": call,
            "toolName": tool.map_or("", |tool| tool.name.as_str()),
            "input": tool.and_then(|tool| tool.input.as_ref()),
        });
        ("tool-input-available", value)
    });
    approvals.chain(executed).collect()
}
