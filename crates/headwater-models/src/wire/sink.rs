//! Collects a decoder's events and numbers the parts.

use headwater_protocol::{FinishReason, Usage};
use serde_json::Value;

use super::raw_answer::RawAnswer;
use crate::{ModelError, ModelErrorKind, ModelEvent};

/// The events of one answer.
#[derive(Debug)]
pub(super) struct EventSink {
    provider: String,
    events: Vec<ModelEvent>,
    parts: u32,
    is_started: bool,
    /// The final event, held back until nothing can follow it.
    ending: Option<ModelEvent>,
    raw: RawAnswer,
}

/// How an answer ended.
#[derive(Debug, Default)]
pub(super) struct AnswerEnd {
    pub(super) raw_reason: Option<String>,
    pub(super) usage: Usage,
    pub(super) raw_usage: Option<Value>,
    pub(super) metadata: Option<Value>,
}

impl EventSink {
    pub(super) fn new(provider: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            events: Vec::new(),
            parts: 0,
            is_started: false,
            ending: None,
            raw: RawAnswer::default(),
        }
    }

    /// The provider's name, which is the key of its metadata.
    pub(super) fn provider(&self) -> &str {
        &self.provider
    }

    pub(super) fn is_started(&self) -> bool {
        self.is_started
    }

    pub(super) fn is_finished(&self) -> bool {
        self.ending.is_some()
    }

    /// Continues after a finished answer that was not the last of the body.
    pub(super) fn reopen(&mut self) {
        self.ending = None;
        self.is_started = false;
    }

    /// The final event, with the raw answer.
    pub(super) fn take_ending(&mut self) -> Option<ModelEvent> {
        let mut ending = self.ending.take();
        if let Some(ModelEvent::Finished { raw, .. }) = &mut ending {
            *raw = self.raw.take();
        }
        ending
    }

    /// The answer in the provider's own format.
    pub(super) fn raw(&mut self) -> &mut RawAnswer {
        &mut self.raw
    }

    pub(super) fn take(&mut self) -> std::vec::Drain<'_, ModelEvent> {
        self.events.drain(..)
    }

    pub(super) fn push(&mut self, event: ModelEvent) {
        self.events.push(event);
    }

    /// Emits `Started` unless it was emitted before.
    pub(super) fn started(&mut self, id: Option<String>, model: Option<String>) {
        if !self.is_started {
            self.is_started = true;
            self.push(ModelEvent::Started { id, model });
        }
    }

    pub(super) fn text_start(&mut self, metadata: Option<Value>) -> u32 {
        let part = self.part();
        self.push(ModelEvent::TextStart { part, metadata });
        part
    }

    pub(super) fn text(&mut self, part: u32, delta: &str) {
        if !delta.is_empty() {
            self.push(ModelEvent::TextDelta { part, delta: delta.to_owned() });
        }
    }

    pub(super) fn text_end(&mut self, part: u32, metadata: Option<Value>) {
        self.push(ModelEvent::TextEnd { part, metadata });
    }

    pub(super) fn reasoning_start(&mut self, metadata: Option<Value>) -> u32 {
        let part = self.part();
        self.push(ModelEvent::ReasoningStart { part, metadata });
        part
    }

    pub(super) fn reasoning(&mut self, part: u32, delta: &str) {
        if !delta.is_empty() {
            self.push(ModelEvent::ReasoningDelta { part, delta: delta.to_owned() });
        }
    }

    pub(super) fn reasoning_end(&mut self, part: u32, metadata: Option<Value>) {
        self.push(ModelEvent::ReasoningEnd { part, metadata });
    }

    pub(super) fn call_start(
        &mut self,
        call: Option<&str>,
        name: &str,
        provider_executed: bool,
    ) -> OpenToolCall {
        let part = self.part();
        let (call, name) = (call.map(str::to_owned), name.to_owned());
        self.push(ModelEvent::ToolCallStart { part, call, name, provider_executed, metadata: None });
        OpenToolCall { part, has_input: false }
    }

    pub(super) fn call_input(&mut self, call: &mut OpenToolCall, delta: &str) {
        if !delta.is_empty() {
            call.has_input = true;
            self.push(ModelEvent::ToolCallDelta { part: call.part, delta: delta.to_owned() });
        }
    }

    /// Ends a call. Without any input it gets an empty object, which a tool without parameters expects.
    pub(super) fn call_end(&mut self, mut call: OpenToolCall, metadata: Option<Value>) {
        if !call.has_input {
            self.call_input(&mut call, "{}");
        }
        self.push(ModelEvent::ToolCallEnd { part: call.part, metadata });
    }

    /// Emits a call whose input is complete.
    pub(super) fn whole_call(
        &mut self,
        call: Option<&str>,
        name: &str,
        input: &str,
        provider_executed: bool,
        metadata: Option<Value>,
    ) -> u32 {
        let mut open = self.call_start(call, name, provider_executed);
        self.call_input(&mut open, input);
        let part = open.part;
        self.call_end(open, metadata);
        part
    }

    pub(super) fn finished(&mut self, reason: FinishReason, ending: AnswerEnd) {
        if self.is_finished() {
            return;
        }
        self.started(None, None);
        let AnswerEnd { raw_reason, usage, raw_usage, metadata } = ending;
        let raw = None;
        self.ending = Some(ModelEvent::Finished { reason, raw_reason, usage, raw_usage, metadata, raw });
    }

    pub(super) fn unknown(&mut self, name: impl Into<String>, data: Value) {
        self.push(ModelEvent::Unknown { name: name.into(), data });
    }

    /// The stream ended without any event.
    pub(super) fn empty(&self) -> ModelError {
        let message = "the answer is empty: the stream ended without an event, so retry";
        ModelError::new(ModelErrorKind::Cut, message).provider(self.provider.clone())
    }

    /// The answer violates the provider's documented format.
    pub(super) fn malformed(&self, message: impl Into<String>) -> ModelError {
        ModelError::new(ModelErrorKind::Malformed, message).provider(self.provider.clone())
    }

    /// The answer ended before it was complete.
    pub(super) fn cut(&self) -> ModelError {
        let message = "the answer ended before it was complete: the connection was cut, so retry";
        ModelError::new(ModelErrorKind::Cut, message).provider(self.provider.clone())
    }

    fn part(&mut self) -> u32 {
        let part = self.parts;
        self.parts += 1;
        part
    }
}

/// A tool call whose input is still arriving.
#[derive(Debug)]
pub(super) struct OpenToolCall {
    pub(super) part: u32,
    has_input: bool,
}

impl OpenToolCall {
    pub(super) fn has_input(&self) -> bool {
        self.has_input
    }
}
