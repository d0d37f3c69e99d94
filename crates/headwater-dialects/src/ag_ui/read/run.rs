//! How a run starts, waits and ends.

use headwater_protocol::{
    self, ApprovalRequested, ErrorInfo, Event, FinishReason, RunWaiting, ToolCall, ToolCallId,
};
use serde_json::Value;

use super::{EventPlace, EventReader};
use crate::{
    ag_ui::{
        chunk::{FinishedOutcome, Interrupt, RunError, RunFinished, RunStarted, total},
        messages,
    },
    decode::DecodeOutput,
    json::EmbeddedJson,
};

impl EventReader {
    pub(super) fn run_started(&mut self, started: &RunStarted<'_>, out: &mut DecodeOutput) {
        let place = EventPlace::of(&started.base);
        self.questions.clear();
        self.owed.clear();
        let run = headwater_protocol::RunStarted {
            run: Some((&*started.run_id).into()),
            session: Some((&*started.thread_id).into()),
            parent: started.parent_run_id.as_deref().map(Into::into),
            ..headwater_protocol::RunStarted::default()
        };
        self.emit(&place, Event::RunStarted(run), out);
        let Some(input) = &started.input else { return };
        for message in messages::read(&input.messages.0, &mut EmbeddedJson::of_stream()) {
            if !self.roles.contains_key(message.id.as_str()) {
                self.conversation(std::slice::from_ref(&message));
                self.whole_message(&place, &message, out);
            }
        }
    }

    pub(super) fn run_finished(&mut self, finished: RunFinished<'_>, out: &mut DecodeOutput) {
        let place = EventPlace::of(&finished.base);
        let usage = finished.usage.as_deref().and_then(total);
        let reason = finished.base.tanstack("finishReason");
        let waiting = |tool_calls, usage| RunWaiting { tool_calls, usage, ..Default::default() }.into();
        let event = match finished.outcome {
            Some(FinishedOutcome::Interrupt { interrupts }) => {
                for interrupt in interrupts {
                    if self.questions.insert(interrupt.id.to_string()) {
                        self.emit(&place, question(interrupt), out);
                    }
                }
                waiting(std::mem::take(&mut self.owed), usage)
            }
            None if !self.owed.is_empty() => waiting(std::mem::take(&mut self.owed), usage),
            Some(FinishedOutcome::Cancelled {}) => Event::RunCancelled { reason: None },
            Some(FinishedOutcome::Success { pending_tool_call_ids: Some(calls) }) if !calls.is_empty() => {
                waiting(calls.iter().map(|call| (&**call).into()).collect(), usage)
            }
            _ => Event::RunFinished(headwater_protocol::RunFinished {
                reason: reason.map(FinishReason::parse),
                usage,
                data: finished.result.map(std::borrow::Cow::into_owned),
                ..Default::default()
            }),
        };
        self.emit(&place, event, out);
    }

    pub(super) fn run_failed(&mut self, failed: &RunError<'_>, out: &mut DecodeOutput) {
        let event = match failed.code.as_deref() {
            // Clients before 1.0 get this instead of the outcome that they do not know.
            Some("cancelled") => Event::RunCancelled { reason: Some(failed.message.to_string()) },
            code => Event::RunFailed(ErrorInfo {
                message: failed.message.to_string(),
                code: code.map(str::to_owned),
                ..ErrorInfo::default()
            }),
        };
        self.emit(&EventPlace::of(&failed.base), event, out);
    }
}

/// A question, or the approval of a call.
fn question(asked: Interrupt<'_>) -> Event {
    let metadata = asked.metadata.unwrap_or_default();
    let word = |key: &str| metadata.get(key).and_then(Value::as_str);
    if let (Some("approval"), Some(tool), Some(call)) = (word("kind"), word("toolName"), &asked.tool_call_id)
    {
        return Event::ApprovalRequested(ApprovalRequested {
            approval: (&*asked.id).into(),
            tool: ToolCall::new(&**call, tool),
            input: metadata.get("input").filter(|input| !input.is_null()).cloned(),
            ..Default::default()
        });
    }
    let mut question = headwater_protocol::Interrupt::text(&*asked.id, "");
    question.question = asked.message.map(std::borrow::Cow::into_owned);
    question.reason = Some(asked.reason.into_owned());
    question.call = asked.tool_call_id.as_deref().map(Into::into);
    question.response_schema = asked.response_schema.map(std::borrow::Cow::into_owned);
    question.expires_at = asked.expires_at.map(std::borrow::Cow::into_owned);
    let field = |key: &str| metadata.get(key).cloned().unwrap_or_default();
    question.kind = serde_json::from_value(field("kind")).unwrap_or_default();
    question.options = serde_json::from_value(field("options")).unwrap_or_default();
    question.meta = Some(metadata).filter(|metadata| !metadata.is_empty());
    Event::InterruptRequested(Box::new(question))
}

/// The approval event of TanStack's servers before 1.0.
pub(super) fn approval(value: &Value) -> Option<Event> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let approval = value.get("approval")?;
    let call = ToolCallId::from(text(value, "toolCallId")?);
    Some(Event::ApprovalRequested(ApprovalRequested {
        approval: text(approval, "id")?.into(),
        tool: ToolCall::new(call, text(value, "toolName")?),
        input: value.get("input").filter(|input| !input.is_null()).cloned(),
        ..Default::default()
    }))
}
