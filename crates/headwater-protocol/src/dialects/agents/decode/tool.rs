//! The life of a tool call.

use std::borrow::Cow;

use serde_json::Value;

use super::{Decoder, Place, content::named, report, reuse};
use crate::{
    decode::Decoded,
    dialects::agents::{
        chunk::{ToolApproval, ToolApprovalResponse, ToolCall, ToolDelta, ToolResult},
        ledger::Call,
    },
    error::{Error, ErrorKind},
    event::{self, Event},
    framing::Frame,
    id::{AttemptId, MessageId, ToolCallId},
    json,
};

impl Decoder {
    pub(super) fn tool_delta(&mut self, frame: &Frame<'_>, out: &mut Decoded) -> Result<(), Error> {
        let chunk: ToolDelta<'_> = json::read(frame)?;
        let call = reuse(&mut self.last.call, &chunk.tool_call_id);
        let known = self.ledger.call(&call).map(|known| known.called);
        if known == Some(true) {
            let message = format!("`tool.delta` for call {call:?} after its `tool.call` is ignored");
            report(out, frame, ErrorKind::Order, message);
            return Ok(());
        }
        let (message, attempt) = (chunk.message_id.as_deref(), chunk.attempt.as_deref());
        let place = self.place_call(&call, message, attempt, chunk.tool_name.as_deref(), frame, out);
        if chunk.implied {
            return Ok(());
        }
        let delta = chunk.delta.0.into_owned();
        if known.is_none()
            && let Some(name) = chunk.tool_name
        {
            let start = event::ToolCall {
                call: call.clone(),
                name: name.0.into_owned(),
                dynamic: chunk.dynamic,
                executor: chunk.executor,
                title: chunk.title.map(Cow::into_owned),
                metadata: chunk.metadata.map(Cow::into_owned),
            };
            self.push(out, place.clone(), Event::ToolInputStart(start));
            if delta.is_empty() {
                return Ok(());
            }
        }
        self.push(out, place, Event::ToolInputDelta { call, delta });
        Ok(())
    }

    pub(super) fn tool_call(&mut self, frame: &Frame<'_>, out: &mut Decoded) -> Result<(), Error> {
        let chunk: ToolCall<'_> = json::read(frame)?;
        let call = ToolCallId::from(chunk.tool_call_id);
        if self.ledger.call(&call).is_some_and(|known| known.called) {
            return Ok(());
        }
        let (message, attempt) = (chunk.message_id.as_deref(), chunk.attempt.as_deref());
        let place = self.place_call(&call, message, attempt, Some(&chunk.tool_name), frame, out);
        if let Some(known) = self.ledger.call_mut(&call) {
            known.called = true;
        }
        if !chunk.implied {
            let tool = event::ToolCall {
                call,
                name: chunk.tool_name.into_owned(),
                dynamic: chunk.dynamic,
                executor: chunk.executor,
                title: chunk.title.map(Cow::into_owned),
                metadata: chunk.metadata.map(Cow::into_owned),
            };
            let input = chunk.input.map(Cow::into_owned);
            self.push(out, place, Event::ToolInputAvailable { tool, input });
        }
        Ok(())
    }

    pub(super) fn tool_result(&mut self, frame: &Frame<'_>, out: &mut Decoded) -> Result<(), Error> {
        let chunk: ToolResult<'_> = json::read(frame)?;
        let call = ToolCallId::from(chunk.tool_call_id);
        let (message, attempt) = (chunk.message_id.as_deref(), chunk.attempt.as_deref());
        let place = self.place_call(&call, message, attempt, chunk.tool_name.as_deref(), frame, out);
        if let Some(known) = self.ledger.call_mut(&call) {
            (known.called, known.settled) = (true, true);
        }
        let name = chunk.tool_name.filter(|_| !chunk.name_implied).map(Cow::into_owned);
        let event = match (chunk.state.as_deref(), chunk.error_text) {
            (_, error) if chunk.input_error => Event::ToolInputError {
                tool: event::ToolCall {
                    call,
                    name: name.unwrap_or_default(),
                    dynamic: chunk.dynamic,
                    executor: chunk.executor,
                    title: chunk.title.map(Cow::into_owned),
                    metadata: chunk.metadata.map(Cow::into_owned),
                },
                input: chunk.input.map(Cow::into_owned),
                error: error.unwrap_or_default().into_owned(),
            },
            (Some("output-denied"), _) => {
                Event::ToolDenied { call, name, reason: chunk.reason.map(Cow::into_owned) }
            }
            (Some("output-error"), error) => {
                Event::ToolOutputError { call, name, error: error.unwrap_or_default().into_owned() }
            }
            (None, Some(error)) => Event::ToolOutputError { call, name, error: error.into_owned() },
            (state, _) => {
                if let Some(state) = state.filter(|state| *state != "output-available") {
                    let message = format!("state {state:?} is no state of a `tool.result`");
                    report(out, frame, ErrorKind::Field, message);
                }
                Event::ToolOutput {
                    call,
                    name,
                    output: chunk.output.map_or(Value::Null, Cow::into_owned),
                    structured: chunk.structured.map(Cow::into_owned),
                    is_error: chunk.is_error,
                    preliminary: chunk.preliminary,
                    metadata: chunk.metadata.map(Cow::into_owned),
                }
            }
        };
        self.push(out, place, event);
        Ok(())
    }

    pub(super) fn tool_approval(&mut self, frame: &Frame<'_>, out: &mut Decoded) -> Result<(), Error> {
        let chunk: ToolApproval<'_> = json::read(frame)?;
        let call = ToolCallId::from(chunk.tool_call_id);
        let (message, attempt) = (chunk.message_id.as_deref(), chunk.attempt.as_deref());
        let place = self.place_call(&call, message, attempt, Some(&chunk.tool_name), frame, out);
        let event = Event::ApprovalRequested {
            approval: chunk.approval_id.into(),
            tool: event::ToolCall {
                call,
                name: chunk.tool_name.into_owned(),
                dynamic: chunk.dynamic,
                executor: chunk.executor,
                title: chunk.title.map(Cow::into_owned),
                metadata: chunk.metadata.map(Cow::into_owned),
            },
            input: chunk.input.map(Cow::into_owned),
            signature: chunk.signature.map(Cow::into_owned),
            automatic: chunk.automatic,
        };
        self.push(out, place, event);
        Ok(())
    }

    pub(super) fn tool_approval_response(
        &mut self,
        frame: &Frame<'_>,
        out: &mut Decoded,
    ) -> Result<(), Error> {
        let chunk: ToolApprovalResponse<'_> = json::read(frame)?;
        let place = Place { message: chunk.message_id.map(Into::into), attempt: None };
        let event = Event::ApprovalAnswered {
            approval: chunk.approval_id.into(),
            call: chunk.tool_call_id.map(Into::into),
            approved: chunk.approved,
            reason: chunk.reason.map(Cow::into_owned),
        };
        self.push(out, place, event);
        Ok(())
    }

    /// The message that holds the call, whatever the event says; a call that is not known yet gets
    /// its place in the message that the event names.
    fn place_call(
        &mut self,
        call: &ToolCallId,
        message: Option<&str>,
        attempt: Option<&str>,
        name: Option<&str>,
        frame: &Frame<'_>,
        out: &mut Decoded,
    ) -> Place {
        if let Some(known) = self.ledger.call_mut(call) {
            if let Some(name) = name.filter(|name| !name.is_empty() && known.name != *name) {
                name.clone_into(&mut known.name);
            }
            let message = named(&known.message);
            let attempt: Option<AttemptId> = attempt.map(|attempt| reuse(&mut self.last.attempt, attempt));
            return Place { message, attempt };
        }
        let (at, place) = self.place(message, attempt, frame, out);
        self.close_block(at, out);
        let known = Call {
            message: place.message.clone().unwrap_or_else(|| MessageId::from("")),
            name: name.unwrap_or_default().to_owned(),
            attempt: place.attempt.clone(),
            called: false,
            settled: false,
        };
        self.ledger.add_call(call.clone(), known);
        place
    }
}
