//! How a run begins, ends and waits.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{Encoder, Phase, Sink, at, implied, passing};
use crate::{
    dialects::ag_ui::{
        chunk::{
            Chunk, Custom, Outcome, Payload, RunError, RunFinished, RunStarted as Started, Step,
            SubagentFinished, TokenUsage,
        },
        notes::{Metadata, Notes},
        wire::Interrupt,
    },
    event::{self, ErrorInfo, Event, FinishReason, InterruptKind, Record, RunStarted, Usage},
    id::{RunId, SessionId, ToolCallId},
};

impl Encoder {
    pub(super) fn begin(&mut self, record: &Record, started: &RunStarted, sink: Sink<'_>) {
        match self.phase {
            Phase::Running => return self.carry(record, sink),
            // Clients before 0.0.59 take nothing after an error.
            Phase::Failed if self.legacy => return,
            _ => {}
        }
        self.reduce(record);
        self.subagents.clear();
        self.questions.clear();
        let text = |id: Option<&str>| id.unwrap_or_default().to_owned();
        let session = started.session.as_ref().map(SessionId::as_str);
        self.thread = text(started.conversation.as_deref().or(session));
        self.run = text(started.run.as_ref().map(RunId::as_str));
        let told = RunStarted {
            run: Some(self.run.as_str().into()),
            session: Some(self.thread.as_str().into()),
            parent: started.parent.clone(),
            ..RunStarted::default()
        };
        let notes =
            Notes { started: (*started != told).then_some(Cow::Borrowed(started)), ..Notes::default() };
        self.start(record, notes, started.parent.as_ref().map(RunId::as_str), sink);
        if std::mem::take(&mut self.history_due) && !self.history.is_empty() {
            self.snapshot(at(record), sink);
        }
    }

    /// Says that the run begins, as it must before anything else.
    pub(super) fn start(&mut self, record: &Record, notes: Notes<'_>, parent: Option<&str>, sink: Sink<'_>) {
        let base = if notes == Notes::default() { at(record) } else { passing(record, notes) };
        sink(&Chunk::RunStarted(Started {
            thread_id: Cow::Borrowed(&self.thread),
            run_id: Cow::Borrowed(&self.run),
            parent_run_id: parent.map(Cow::Borrowed),
            protocol_version: (!self.legacy).then_some(Cow::Borrowed("1.0")),
            input: None,
            base,
        }));
        self.phase = Phase::Running;
    }

    pub(super) fn end(&mut self, record: &Record, sink: Sink<'_>) {
        match &record.event {
            Event::RunFinished { reason, usage, data } => {
                self.close_all(record, sink);
                let result = data.as_ref().filter(|data| !data.is_null());
                let mut notes = Notes::default();
                if data.is_some() && result.is_none() {
                    // The client takes a null for a broken event.
                    notes.event = Some(Cow::Borrowed(&record.event));
                }
                let word = match reason {
                    Some(reason @ (FinishReason::Stop | FinishReason::Length)) => Some(reason.as_str()),
                    Some(FinishReason::ContentFilter) => Some("content_filter"),
                    // To TanStack's client `tool_calls` says that the run goes on.
                    Some(_) => {
                        notes.event = Some(Cow::Borrowed(&record.event));
                        Some("stop")
                    }
                    None => None,
                };
                self.finished(record, result, None, usage.as_ref(), word, notes, sink);
                self.phase = Phase::Finished;
            }
            Event::RunCancelled { reason } if self.legacy => {
                let message = reason.as_deref().unwrap_or("The run was cancelled.");
                self.failed(record, message, Some("cancelled"), true, sink);
            }
            Event::RunCancelled { .. } => {
                self.close_all(record, sink);
                let notes = Notes { event: Some(Cow::Borrowed(&record.event)), ..Notes::default() };
                self.finished(record, None, Some(Outcome::Cancelled {}), None, None, notes, sink);
                self.phase = Phase::Finished;
            }
            Event::RunWaiting { tool_calls, usage } => self.wait(record, tool_calls, usage.as_ref(), sink),
            Event::RunFailed(ErrorInfo { message, code, retryable, request }) => {
                let more = retryable.is_some() || request.is_some();
                self.failed(record, message, code.as_deref(), more, sink);
            }
            Event::Error { error, .. } => {
                self.failed(record, &error.message, error.code.as_deref(), true, sink);
            }
            _ => return,
        }
        self.reduce(record);
    }

    fn failed(&mut self, record: &Record, message: &str, code: Option<&str>, more: bool, sink: Sink<'_>) {
        let notes = Notes { event: Some(Cow::Borrowed(&record.event)), ..Notes::default() };
        let base = if more { passing(record, notes) } else { at(record) };
        let (message, code) = (Cow::Borrowed(message), code.map(Cow::Borrowed));
        sink(&Chunk::RunError(RunError { message, code, usage: None, base }));
        self.phase = Phase::Failed;
        self.forget_open();
    }

    fn forget_open(&mut self) {
        self.texts.clear();
        self.calls.clear();
        self.steps.clear();
        self.subagents.clear();
        self.preliminary.clear();
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one event")]
    fn finished(
        &mut self,
        record: &Record,
        result: Option<&Value>,
        outcome: Option<Outcome<'_>>,
        usage: Option<&Usage>,
        reason: Option<&str>,
        notes: Notes<'_>,
        sink: Sink<'_>,
    ) {
        let mut base = if notes == Notes::default() { at(record) } else { passing(record, notes) };
        if let Some(reason) = reason {
            let finish_reason = Some(Cow::Borrowed(reason));
            base.metadata = Some(Metadata { finish_reason, ..Metadata::default() });
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

    /// The client refuses the end while anything is open.
    fn close_all(&mut self, record: &Record, sink: Sink<'_>) {
        while !self.texts.is_empty() {
            self.close_text(record, 0, implied(), sink);
        }
        while !self.calls.is_empty() {
            self.close_call(record, 0, implied(), sink);
        }
        for call in std::mem::take(&mut self.preliminary) {
            self.say_last_output(record, &call, sink);
        }
        for (_, step) in std::mem::take(&mut self.steps) {
            let base = passing(record, implied());
            sink(&Chunk::StepFinished(Step { step_name: Cow::Borrowed(&step), base }));
        }
        for subagent in std::mem::take(&mut self.subagents) {
            let mut base = passing(record, implied());
            base.subagent_run_id = Some(Cow::Borrowed(&subagent));
            sink(&Chunk::SubagentFinished(SubagentFinished { result: None, outcome: None, base }));
        }
    }

    fn wait(&mut self, record: &Record, calls: &[ToolCallId], usage: Option<&Usage>, sink: Sink<'_>) {
        self.close_all(record, sink);
        if self.legacy {
            for call in calls {
                let tool = self.tool(call);
                let value = json!({
                    "toolCallId": call,
                    "toolName": tool.map_or("", |tool| tool.name.as_str()),
                    "input": tool.and_then(|tool| tool.input.as_ref()).unwrap_or(&Value::Null),
                });
                sink(&Chunk::Custom(Custom {
                    name: Cow::Borrowed("tool-input-available"),
                    value: Payload::Json(Cow::Owned(value)),
                    base: passing(record, implied()),
                }));
            }
        }
        let questions = std::mem::take(&mut self.questions);
        let outcome = if questions.is_empty() {
            let ids = calls.iter().map(|call| Cow::Borrowed(call.as_str())).collect();
            let pending = (!self.legacy && !calls.is_empty()).then_some(ids);
            pending.map(|ids| Outcome::Success { pending_tool_call_ids: Some(ids) })
        } else {
            Some(Outcome::Interrupt { interrupts: questions.iter().filter_map(interrupt).collect() })
        };
        let notes = Notes { waiting: Some(Cow::Borrowed(calls)), ..Notes::default() };
        let reason = (!calls.is_empty()).then_some("tool_calls");
        self.finished(record, None, outcome, usage, reason, notes, sink);
        self.questions = questions;
        self.phase = Phase::Waiting;
    }

    /// The stream ends here. If the run did not, the client must not take it for complete.
    pub(super) fn cut(&mut self, sink: Sink<'_>) {
        if self.phase == Phase::Running {
            let record = Record::new(0, Event::Warning { message: String::new(), code: None });
            sink(&Chunk::RunError(RunError {
                message: Cow::Borrowed("The stream ended before the run did."),
                code: Some(Cow::Borrowed("cut")),
                usage: None,
                base: passing(&record, implied()),
            }));
            self.phase = Phase::Failed;
        }
    }
}

/// A question as the end of a run asks it.
fn interrupt(question: &Event) -> Option<Interrupt<'_>> {
    Some(match question {
        Event::InterruptRequested(asked) => {
            let mut metadata = asked.meta.clone().unwrap_or_default();
            metadata.insert("kind".to_owned(), json!(asked.kind));
            if !asked.options.is_empty() {
                metadata.insert("options".to_owned(), json!(asked.options));
            }
            Interrupt {
                id: Cow::Borrowed(asked.request.as_str()),
                reason: Cow::Borrowed(asked.reason.as_deref().unwrap_or("input_required")),
                message: asked.question.as_deref().map(Cow::Borrowed),
                tool_call_id: asked.call.as_ref().map(|call| Cow::Borrowed(call.as_str())),
                response_schema: Some(response_schema(asked)),
                expires_at: asked.expires_at.as_deref().map(Cow::Borrowed),
                metadata: Some(Cow::Owned(Value::Object(metadata))),
                subagent_run_id: None,
            }
        }
        Event::ApprovalRequested { approval, tool, input, .. } => Interrupt {
            id: Cow::Borrowed(approval.as_str()),
            reason: Cow::Borrowed("tool_call"),
            message: Some(Cow::Owned(format!("Approve the call of {}?", tool.name))),
            tool_call_id: Some(Cow::Borrowed(tool.call.as_str())),
            response_schema: Some(Cow::Owned(json!({
                "type": "object",
                "properties": { "approved": { "type": "boolean" }, "reason": { "type": "string" } },
                "required": ["approved"],
            }))),
            metadata: Some(Cow::Owned(json!({ "kind": "approval", "toolName": tool.name, "input": input }))),
            ..Interrupt::default()
        },
        _ => return None,
    })
}

/// The schema of an answer: the question's own, or what its choices allow.
fn response_schema(asked: &event::Interrupt) -> Cow<'_, Value> {
    if let Some(schema) = asked.response_schema.as_ref().filter(|schema| schema.is_object()) {
        return Cow::Borrowed(schema);
    }
    let ids: Vec<_> = asked.options.iter().map(|option| option.id.as_str()).collect();
    let one =
        if ids.is_empty() { json!({ "type": "string" }) } else { json!({ "type": "string", "enum": ids }) };
    Cow::Owned(match asked.kind {
        InterruptKind::MultiChoice => json!({ "type": "array", "items": one }),
        _ if asked.multiple => json!({ "type": "array", "items": one }),
        _ => one,
    })
}
