//! What the page is asked for: to execute a call, to decide about one, to answer a question.
//!
//! A page that sends something and is still asked for something else has not seen that: its client would have waited.
//! So when the run waits, what is open and not shown in this response is asked in it.

use std::borrow::Cow;

use headwater_protocol::{
    self, ASK_USER, ApprovalAnswered, Event, Executor, InterruptAnswered, ToolCallId, ToolDenied, ToolOutput,
    ToolOutputError,
};

use super::{Encoder, Sink};
use crate::tanstack::chunk::{ApprovalBody, ApprovalRequested, Chunk, ToolInputAvailable};

impl Encoder {
    /// Remembers what is asked and what is answered.
    pub(super) fn note_asked(&mut self, event: &Event) {
        match event {
            Event::RunStarted(_) => self.asked.clear(),
            Event::ToolInputAvailable(headwater_protocol::ToolInputAvailable { tool, .. }) if tool.executor == Executor::Client => {
                self.forget_asked(|asked| asked_call(asked) == Some(&tool.call));
                self.asked.push(event.clone());
            }
            Event::ApprovalRequested(headwater_protocol::ApprovalRequested { automatic: false, .. }) | Event::InterruptRequested(_) => {
                self.asked.push(event.clone());
            }
            Event::ApprovalAnswered(ApprovalAnswered { approval: answered, .. }) => self.forget_asked(
                |asked| matches!(asked, Event::ApprovalRequested(headwater_protocol::ApprovalRequested { approval, .. }) if approval == answered),
            ),
            Event::InterruptAnswered(InterruptAnswered { request, .. }) | Event::InterruptExpired { request } => self
                .forget_asked(
                    |asked| matches!(asked, Event::InterruptRequested(question) if question.request == *request),
                ),
            Event::ToolOutput(ToolOutput { call, preliminary: false, .. })
            | Event::ToolOutputError(ToolOutputError { call, .. })
            | Event::ToolDenied(ToolDenied { call, .. }) => self.forget_asked(|asked| asked_call(asked) == Some(call)),
            _ => {}
        }
    }

    fn forget_asked(&mut self, is_over: impl Fn(&Event) -> bool) {
        self.asked.retain(|asked| !is_over(asked));
    }

    /// The run waits: the page is told what for.
    pub(super) fn tell_asked(&mut self, sink: &mut Sink<'_>, calls: &[ToolCallId]) {
        let asked = std::mem::take(&mut self.asked);
        for event in &asked {
            match event {
                Event::ToolInputAvailable(headwater_protocol::ToolInputAvailable { tool, input, .. })
                    if calls.contains(&tool.call) && !self.shows(&tool.call) =>
                {
                    let at = self.show(sink, tool, input.as_ref());
                    self.calls.wait(at, input.clone());
                }
                Event::ApprovalRequested(headwater_protocol::ApprovalRequested {
                    approval,
                    tool,
                    input,
                    ..
                }) if !self.shows(&tool.call) => {
                    let at = self.show(sink, tool, input.as_ref());
                    self.settle(sink);
                    self.request_approval(sink, at, approval.as_str(), event);
                }
                Event::InterruptRequested(question) if !self.shows(&question.request.as_str().into()) => {
                    self.ask(sink, question);
                }
                _ => {}
            }
        }
        self.asked = asked;
        self.settle(sink);
        self.tell_waiting(sink, calls);
    }

    /// Whether the page shows the call in this response.
    fn shows(&mut self, call: &ToolCallId) -> bool {
        self.calls.find(call).and_then(|at| self.calls.get(at)).is_some_and(|call| call.is_shown)
    }

    /// Tells the page to execute those of its calls that the run waits for, and to answer what is asked.
    fn tell_waiting(&mut self, sink: &mut Sink<'_>, calls: &[ToolCallId]) {
        for (at, input) in self.calls.take_waiting(calls, ASK_USER) {
            let Some(call) = self.calls.get(at) else { continue };
            let (to, base) = sink.next();
            to(&Chunk::ToolInputAvailable(ToolInputAvailable {
                tool_call_id: Some(Cow::Borrowed(call.wire.as_str())),
                tool_name: Some(Cow::Borrowed(call.name.as_str())),
                input: input.map(Cow::Owned),
                ..ToolInputAvailable::at(base)
            }));
        }
    }

    /// Asks a person about a call that the page shows.
    pub(super) fn request_approval(&mut self, sink: &mut Sink<'_>, at: usize, approval: &str, event: &Event) {
        let Event::ApprovalRequested(headwater_protocol::ApprovalRequested { tool, input, .. }) = event
        else {
            return;
        };
        let Some(call) = self.calls.get(at) else { return };
        call.is_asked = true;
        let (to, base) = sink.next();
        to(&Chunk::ApprovalRequested(ApprovalRequested {
            tool_call_id: Some(Cow::Borrowed(call.wire.as_str())),
            tool_name: Some(Cow::Borrowed(tool.name.as_str())),
            input: input.as_ref().map(Cow::Borrowed),
            approval: Some(ApprovalBody { id: Some(Cow::Borrowed(approval)), needs_approval: true }),
            ..ApprovalRequested::at(base)
        }));
    }
}

/// The call that the page is asked to execute or to decide about.
fn asked_call(asked: &Event) -> Option<&ToolCallId> {
    match asked {
        Event::ToolInputAvailable(headwater_protocol::ToolInputAvailable { tool, .. })
        | Event::ApprovalRequested(headwater_protocol::ApprovalRequested { tool, .. }) => Some(&tool.call),
        _ => None,
    }
}
