//! Where a decoder puts its events, and who numbers the parts.

use headwater_protocol::{FinishReason, Usage};
use serde_json::Value;

use super::raw::Raw;
use crate::{ModelError, ModelErrorKind, ModelEvent};

/// The events of one answer on their way out.
#[derive(Debug)]
pub(super) struct Sink {
    provider: String,
    events: Vec<ModelEvent>,
    parts: u32,
    is_started: bool,
    /// The end of the answer, which is told when nothing more can follow it.
    ending: Option<ModelEvent>,
    raw: Raw,
}

/// How an answer ended.
#[derive(Debug, Default)]
pub(super) struct Ending {
    pub(super) raw_reason: Option<String>,
    pub(super) usage: Usage,
    pub(super) raw_usage: Option<Value>,
    pub(super) metadata: Option<Value>,
}

impl Sink {
    pub(super) fn new(provider: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            events: Vec::new(),
            parts: 0,
            is_started: false,
            ending: None,
            raw: Raw::default(),
        }
    }

    /// The provider's name, under which its metadata is kept.
    pub(super) fn provider(&self) -> &str {
        &self.provider
    }

    pub(super) fn is_started(&self) -> bool {
        self.is_started
    }

    pub(super) fn is_finished(&self) -> bool {
        self.ending.is_some()
    }

    /// The answer was not the last one of the body.
    pub(super) fn reopen(&mut self) {
        self.ending = None;
        self.is_started = false;
    }

    /// The end of the answer.
    pub(super) fn take_ending(&mut self) -> Option<ModelEvent> {
        let mut ending = self.ending.take();
        if let Some(ModelEvent::Finished { raw, .. }) = &mut ending {
            *raw = self.raw.take();
        }
        ending
    }

    /// The answer in the provider's own form.
    pub(super) fn raw(&mut self) -> &mut Raw {
        &mut self.raw
    }

    pub(super) fn take(&mut self) -> std::vec::Drain<'_, ModelEvent> {
        self.events.drain(..)
    }

    pub(super) fn push(&mut self, event: ModelEvent) {
        self.events.push(event);
    }

    /// Says that the provider answers, if that was not said.
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

    pub(super) fn call_start(&mut self, call: Option<&str>, name: &str, provider_executed: bool) -> Call {
        let part = self.part();
        let (call, name) = (call.map(str::to_owned), name.to_owned());
        self.push(ModelEvent::ToolCallStart { part, call, name, provider_executed, metadata: None });
        Call { part, has_input: false }
    }

    pub(super) fn call_input(&mut self, call: &mut Call, delta: &str) {
        if !delta.is_empty() {
            call.has_input = true;
            self.push(ModelEvent::ToolCallDelta { part: call.part, delta: delta.to_owned() });
        }
    }

    /// Ends a call. One that came without any input has the empty object: that is what a tool without parameters takes.
    pub(super) fn call_end(&mut self, mut call: Call, metadata: Option<Value>) {
        if !call.has_input {
            self.call_input(&mut call, "{}");
        }
        self.push(ModelEvent::ToolCallEnd { part: call.part, metadata });
    }

    /// A call whose input comes in one piece.
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

    pub(super) fn finished(&mut self, reason: FinishReason, ending: Ending) {
        if self.is_finished() {
            return;
        }
        self.started(None, None);
        let Ending { raw_reason, usage, raw_usage, metadata } = ending;
        let raw = None;
        self.ending = Some(ModelEvent::Finished { reason, raw_reason, usage, raw_usage, metadata, raw });
    }

    pub(super) fn unknown(&mut self, name: impl Into<String>, data: Value) {
        self.push(ModelEvent::Unknown { name: name.into(), data });
    }

    /// The stream ended and nothing was said.
    pub(super) fn empty(&self) -> ModelError {
        let message = "the answer is empty: the stream ended without a single event, so ask again";
        ModelError::new(ModelErrorKind::Cut, message).provider(self.provider.clone())
    }

    /// The answer is not what the provider's documents say.
    pub(super) fn malformed(&self, message: impl Into<String>) -> ModelError {
        ModelError::new(ModelErrorKind::Malformed, message).provider(self.provider.clone())
    }

    /// The answer ended before it was complete.
    pub(super) fn cut(&self) -> ModelError {
        let message = "the answer ended before it was complete: the connection was cut, so ask again";
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
pub(super) struct Call {
    pub(super) part: u32,
    has_input: bool,
}

impl Call {
    pub(super) fn has_input(&self) -> bool {
        self.has_input
    }
}
