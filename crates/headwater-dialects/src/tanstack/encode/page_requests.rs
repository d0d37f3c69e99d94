//! Requests to the page: to execute a call, to decide about one, to answer a question.
//!
//! A page that sends something while a request is open has not seen that request, or its client would have
//! waited. So when the run waits, open requests that this response does not show yet are sent in it.

use std::borrow::Cow;

use headwater_protocol::{self, ASK_USER, Event, Executor, InterruptAnswered, ToolCallId, ToolOutput};

use super::{ChunkSink, TanstackEncoder};
use crate::tanstack::chunk::{ApprovalBody, ApprovalRequested, Chunk, ToolInputAvailable};

impl TanstackEncoder {
    /// Records requests and answers.
    pub(super) fn record_request(&mut self, event: &Event) {
        match event {
            Event::RunStarted(_) => self.asked.clear(),
            Event::ToolInputAvailable(available) if available.tool.executor == Executor::Client => {
                self.remove_request(|asked| asked.tool_call() == event.tool_call());
                self.asked.push(event.clone());
            }
            Event::ApprovalRequested(request) if !request.automatic => self.asked.push(event.clone()),
            Event::InterruptRequested(_) => self.asked.push(event.clone()),
            Event::ApprovalAnswered(answered) => self.remove_request(|asked| match asked {
                Event::ApprovalRequested(request) => request.approval == answered.approval,
                _ => false,
            }),
            Event::InterruptAnswered(InterruptAnswered { request, .. })
            | Event::InterruptExpired { request } => self.remove_request(|asked| match asked {
                Event::InterruptRequested(question) => question.request == *request,
                _ => false,
            }),
            Event::ToolOutput(ToolOutput { preliminary: true, .. }) => {}
            event if event.settled_call().is_some() => {
                self.remove_request(|asked| asked.tool_call() == event.tool_call());
            }
            _ => {}
        }
    }

    fn remove_request(&mut self, is_over: impl Fn(&Event) -> bool) {
        self.asked.retain(|asked| !is_over(asked));
    }

    /// The run waits: sends the page its requests.
    pub(super) fn emit_requests(&mut self, sink: &mut ChunkSink<'_>, calls: &[ToolCallId]) {
        let asked = std::mem::take(&mut self.asked);
        for event in &asked {
            match event {
                Event::ToolInputAvailable(headwater_protocol::ToolInputAvailable { tool, input, .. })
                    if calls.contains(&tool.call) && !self.shows(&tool.call) =>
                {
                    let at = self.show(sink, tool, input.as_ref());
                    self.calls.wait(at, input.clone());
                }
                Event::ApprovalRequested(request) if !self.shows(&request.tool.call) => {
                    self.request_approval(sink, request);
                }
                Event::InterruptRequested(question) if !self.shows(&question.request.as_str().into()) => {
                    self.ask(sink, question);
                }
                _ => {}
            }
        }
        self.asked = asked;
        self.settle(sink);
        self.emit_waiting_calls(sink, calls);
    }

    /// Whether the page shows the call in this response.
    fn shows(&mut self, call: &ToolCallId) -> bool {
        self.calls.find(call).and_then(|at| self.calls.get(at)).is_some_and(|call| call.is_shown)
    }

    /// Asks the page to execute the calls that the run waits for, and to answer open questions.
    fn emit_waiting_calls(&mut self, sink: &mut ChunkSink<'_>, calls: &[ToolCallId]) {
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

    /// Requests an approval. The client forgets requests made before the end of the turn.
    pub(super) fn request_approval(
        &mut self,
        sink: &mut ChunkSink<'_>,
        request: &headwater_protocol::ApprovalRequested,
    ) {
        let headwater_protocol::ApprovalRequested { approval, tool, input, .. } = request;
        let at = self.show(sink, tool, input.as_ref());
        self.settle(sink);
        let Some(call) = self.calls.get(at) else { return };
        call.is_asked = true;
        let (to, base) = sink.next();
        to(&Chunk::ApprovalRequested(ApprovalRequested {
            tool_call_id: Some(Cow::Borrowed(call.wire.as_str())),
            tool_name: Some(Cow::Borrowed(tool.name.as_str())),
            input: input.as_ref().map(Cow::Borrowed),
            approval: Some(ApprovalBody { id: Some(Cow::Borrowed(approval.as_str())), needs_approval: true }),
            ..ApprovalRequested::at(base)
        }));
    }
}
