//! How a run begins and ends.

use super::{Apply, Place};
use crate::{
    decode::Decoded,
    dialects::ag_ui::{
        chunk::{Outcome, RunError, RunFinished, RunStarted, total},
        messages,
        wire::Interrupt,
    },
    event::{self, ErrorInfo, Event, FinishReason},
    json::EmbeddedJson,
};

impl Apply {
    pub(super) fn run_started(&mut self, started: &RunStarted<'_>, out: &mut Decoded) {
        let place = Place::of(&started.base);
        let notes = started.base.passing();
        if notes.is_some_and(|notes| notes.implied || notes.resumed) {
            return;
        }
        let said = notes.and_then(|notes| notes.started.clone()).map(std::borrow::Cow::into_owned);
        let said = said.unwrap_or_else(|| event::RunStarted {
            run: Some((&*started.run_id).into()),
            session: Some((&*started.thread_id).into()),
            parent: started.parent_run_id.as_deref().map(Into::into),
            ..event::RunStarted::default()
        });
        self.questions.clear();
        self.emit(&place, Event::RunStarted(said), out);
        let Some(input) = &started.input else { return };
        for message in messages::read(&input.messages, &mut EmbeddedJson::of_stream()) {
            if !self.roles.contains_key(message.id.as_str()) {
                self.conversation(std::slice::from_ref(&message));
                self.whole_message(&place, message, out);
            }
        }
    }

    pub(super) fn run_finished(&mut self, finished: &RunFinished<'_>, out: &mut Decoded) {
        let place = Place::of(&finished.base);
        let notes = finished.base.passing();
        if let Some(Outcome::Interrupt { interrupts }) = &finished.outcome {
            for interrupt in interrupts {
                if self.questions.insert(interrupt.id.to_string()) {
                    self.emit(&place, Event::InterruptRequested(Box::new(question(interrupt))), out);
                }
            }
        }
        let usage = finished.usage.as_deref().and_then(total);
        let event = match (notes, &finished.outcome) {
            (Some(notes), _) if notes.event.is_some() => match notes.event.clone() {
                Some(event) => event.into_owned(),
                None => return,
            },
            (Some(notes), _) if notes.waiting.is_some() => {
                let tool_calls = notes.waiting.clone().unwrap_or_default().into_owned();
                Event::RunWaiting { tool_calls, usage }
            }
            (_, Some(Outcome::Interrupt { .. })) => Event::RunWaiting { tool_calls: Vec::new(), usage },
            (_, Some(Outcome::Cancelled {})) => Event::RunCancelled { reason: None },
            (_, Some(Outcome::Success { pending_tool_call_ids: Some(calls) })) if !calls.is_empty() => {
                Event::RunWaiting { tool_calls: calls.iter().map(|call| (&**call).into()).collect(), usage }
            }
            _ => {
                let reason =
                    finished.base.metadata.as_ref().and_then(|metadata| metadata.finish_reason.as_deref());
                let data = finished.result.clone().map(std::borrow::Cow::into_owned);
                Event::RunFinished { reason: reason.map(FinishReason::parse), usage, data }
            }
        };
        self.emit(&place, event, out);
    }

    pub(super) fn run_failed(&mut self, failed: &RunError<'_>, out: &mut Decoded) {
        let place = Place::of(&failed.base);
        let event = match failed.base.passing() {
            Some(notes) if notes.implied => return,
            Some(notes) => notes.event.clone().map(std::borrow::Cow::into_owned),
            None => None,
        };
        let event = event.unwrap_or_else(|| {
            Event::RunFailed(ErrorInfo {
                message: failed.message.to_string(),
                code: failed.code.as_ref().map(ToString::to_string),
                retryable: None,
                request: None,
            })
        });
        self.emit(&place, event, out);
    }
}

fn question(asked: &Interrupt<'_>) -> event::Interrupt {
    let mut question = event::Interrupt::text(&*asked.id, "");
    question.question = asked.message.as_ref().map(ToString::to_string);
    question.reason = Some(asked.reason.to_string());
    question.call = asked.tool_call_id.as_deref().map(Into::into);
    question.response_schema = asked.response_schema.clone().map(std::borrow::Cow::into_owned);
    question.expires_at = asked.expires_at.as_ref().map(ToString::to_string);
    question.meta = asked.metadata.as_ref().and_then(|metadata| metadata.as_object()).cloned();
    question
}
