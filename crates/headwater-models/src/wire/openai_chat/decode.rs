//! Decodes chunks of chat completions. A completion without streaming is a single chunk.

use std::mem;

use headwater_protocol::{FinishReason, Usage};
use serde_json::{Value, json};

use super::fast_path;
use crate::{
    ModelError, ModelEvent,
    wire::{
        failure,
        json_access::{self, given, items, metadata, number, owned, text},
        sink::{AnswerEnd, EventSink, OpenToolCall},
    },
};

/// Decoder state of one answer.
#[derive(Debug, Default)]
pub(in crate::wire) struct ChatAnswer {
    open: ChatOpenPart,
    calls: Vec<OpenCall>,
    reason: Option<String>,
    usage: Option<Value>,
    extra: Extra,
}

/// Message fields that are handled, or that repeat other information.
const KNOWN: [&str; 9] = [
    "annotations",
    "content",
    "index",
    "name",
    "reasoning",
    "reasoning_content",
    "refusal",
    "role",
    "tool_calls",
];

/// The open text or reasoning part.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum ChatOpenPart {
    #[default]
    Nothing,
    Text(u32),
    Reasoning(u32),
}

#[derive(Debug)]
struct OpenCall {
    /// The provider's index of the call.
    index: u64,
    id: Option<String>,
    /// Absent until the name is known; earlier input waits in `waiting`.
    call: Option<OpenToolCall>,
    waiting: String,
    metadata: Option<Value>,
}

#[derive(Debug, Default)]
struct Extra {
    service_tier: Option<Value>,
    system_fingerprint: Option<Value>,
    logprobs: Vec<Value>,
    is_refusal: bool,
}

impl ChatAnswer {
    pub(in crate::wire) fn event(&mut self, chunk: &Value, sink: &mut EventSink) -> Result<(), ModelError> {
        if let Some(error) = failure::in_body(sink.provider(), chunk) {
            return Err(error);
        }
        let Some(choices) = chunk.get("choices").and_then(Value::as_array) else {
            if chunk.get("usage").is_none() {
                sink.unknown("chunk", chunk.clone());
            }
            self.note(chunk);
            return Ok(());
        };
        // Azure begins with a chunk about the prompt filter, which has no id.
        if text(chunk, "id").is_some() || !choices.is_empty() {
            sink.started(owned(chunk, "id"), owned(chunk, "model"));
        }
        self.note(chunk);
        for choice in choices {
            let message = given(choice, "delta").or_else(|| given(choice, "message"));
            if let Some(message) = message {
                self.message(message, sink);
            }
            self.extra.logprobs.extend(
                choice
                    .pointer("/logprobs/content")
                    .into_iter()
                    .filter_map(Value::as_array)
                    .flatten()
                    .cloned(),
            );
            if let Some(reason) = text(choice, "finish_reason") {
                self.reason = Some(reason.to_owned());
            }
        }
        Ok(())
    }

    /// Fast path for a chunk with only text or reasoning; returns whether it applied. The first chunk of an
    /// answer takes the full path, because it has metadata.
    pub(in crate::wire) fn quick(&mut self, data: &str, sink: &mut EventSink) -> bool {
        if !sink.is_started() {
            return false;
        }
        let Some(chunk) = fast_path::read(data) else { return false };
        let is_new = (chunk.has_tier && self.extra.service_tier.is_none())
            || (chunk.has_fingerprint && self.extra.system_fingerprint.is_none());
        if is_new {
            return false;
        }
        if let Some((field, thought)) = &chunk.thought {
            sink.raw().piece(field, thought);
            self.reasoning(thought, sink);
        }
        if let Some(text) = &chunk.text {
            sink.raw().piece("content", text);
            self.text(text, sink);
        }
        true
    }

    /// Handles the end marker of the stream.
    pub(in crate::wire) fn done(&mut self, sink: &mut EventSink) -> Result<(), ModelError> {
        if sink.is_started() { self.finish(sink) } else { Err(sink.empty()) }
    }

    /// Ends the stream. Some providers send no end marker, but all send a finish reason.
    pub(in crate::wire) fn end(&mut self, sink: &mut EventSink) -> Result<(), ModelError> {
        if self.reason.is_some() { self.finish(sink) } else { Err(sink.cut()) }
    }

    fn note(&mut self, chunk: &Value) {
        let usage = given(chunk, "usage").or_else(|| given(chunk.get("x_groq")?, "usage"));
        if let Some(usage) = usage {
            self.usage = Some(usage.clone());
        }
        for (slot, key) in [
            (&mut self.extra.service_tier, "service_tier"),
            (&mut self.extra.system_fingerprint, "system_fingerprint"),
        ] {
            if let Some(value) = given(chunk, key)
                && slot.is_none()
            {
                *slot = Some(value.clone());
            }
        }
    }

    fn message(&mut self, message: &Value, sink: &mut EventSink) {
        // Both names are in use, and some providers send both with the same text.
        if let Some(thought) = text(message, "reasoning_content").or_else(|| text(message, "reasoning")) {
            self.reasoning(thought, sink);
        }
        match message.get("content") {
            Some(Value::String(content)) => self.text(content, sink),
            Some(Value::Array(parts)) => parts.iter().for_each(|part| self.part(part, sink)),
            _ => {}
        }
        if let Some(refusal) = text(message, "refusal") {
            self.extra.is_refusal = true;
            self.text(refusal, sink);
        }
        for annotation in items(message, "annotations") {
            annotate(annotation, sink);
        }
        for (position, call) in items(message, "tool_calls").iter().enumerate() {
            self.call(position, call, sink);
        }
        for (key, value) in message.as_object().into_iter().flatten() {
            let is_empty = value.is_null() || value == "" || value.as_array().is_some_and(Vec::is_empty);
            if !is_empty && !KNOWN.contains(&key.as_str()) {
                sink.unknown(format!("delta.{key}"), value.clone());
            }
        }
    }

    /// Handles an element of a content array, as Mistral sends it.
    fn part(&mut self, part: &Value, sink: &mut EventSink) {
        match text(part, "type") {
            Some("text") => self.text(text(part, "text").unwrap_or_default(), sink),
            Some("thinking") => {
                for thought in items(part, "thinking") {
                    self.reasoning(text(thought, "text").unwrap_or_default(), sink);
                }
            }
            Some(other) => sink.unknown(format!("content.{other}"), part.clone()),
            None => sink.unknown("content", part.clone()),
        }
    }

    fn text(&mut self, delta: &str, sink: &mut EventSink) {
        if delta.is_empty() {
            return;
        }
        let part = match self.open {
            ChatOpenPart::Text(part) => part,
            _ => {
                self.close(sink);
                sink.text_start(None)
            }
        };
        self.open = ChatOpenPart::Text(part);
        sink.text(part, delta);
    }

    fn reasoning(&mut self, delta: &str, sink: &mut EventSink) {
        if delta.is_empty() {
            return;
        }
        let part = match self.open {
            ChatOpenPart::Reasoning(part) => part,
            _ => {
                self.close(sink);
                sink.reasoning_start(None)
            }
        };
        self.open = ChatOpenPart::Reasoning(part);
        sink.reasoning(part, delta);
    }

    fn close(&mut self, sink: &mut EventSink) {
        match mem::take(&mut self.open) {
            ChatOpenPart::Nothing => {}
            ChatOpenPart::Text(part) => sink.text_end(part, None),
            ChatOpenPart::Reasoning(part) => sink.reasoning_end(part, None),
        }
    }

    fn call(&mut self, position: usize, delta: &Value, sink: &mut EventSink) {
        self.close(sink);
        let index = number(delta, "/index").unwrap_or(position as u64);
        let id = text(delta, "id");
        // A new id under a used index is a new call: some servers use index 0 for every call.
        let known = self.calls.iter().rposition(|call| {
            call.index == index && (id.is_none() || call.id.is_none() || call.id.as_deref() == id)
        });
        let at = known.unwrap_or_else(|| {
            let (id, metadata) = (id.map(str::to_owned), None);
            self.calls.push(OpenCall { index, id, call: None, waiting: String::new(), metadata });
            self.calls.len() - 1
        });
        let Some(call) = self.calls.get_mut(at) else {
            return;
        };
        if let Some(signature) = delta.pointer("/extra_content/google/thought_signature") {
            let fields = [("thoughtSignature", Some(signature.clone()))];
            call.metadata = json_access::metadata(sink.provider(), fields);
        }
        let function = delta.get("function").unwrap_or(&Value::Null);
        if call.call.is_none()
            && let Some(name) = text(function, "name")
        {
            let mut open = sink.call_start(call.id.as_deref(), name, false);
            sink.call_input(&mut open, &mem::take(&mut call.waiting));
            call.call = Some(open);
        }
        let input = match function.get("arguments") {
            Some(Value::String(input)) => input.clone(),
            // Ollama and others send an object instead of a string.
            Some(object @ Value::Object(_)) => object.to_string(),
            _ => String::new(),
        };
        match &mut call.call {
            Some(open) => sink.call_input(open, &input),
            None => call.waiting.push_str(&input),
        }
    }

    fn finish(&mut self, sink: &mut EventSink) -> Result<(), ModelError> {
        self.close(sink);
        let has_calls = !self.calls.is_empty();
        for call in mem::take(&mut self.calls) {
            let Some(open) = call.call else {
                return Err(sink.malformed("a tool call has no tool name"));
            };
            sink.call_end(open, call.metadata);
        }
        let reason = match self.reason.as_deref() {
            Some("stop" | "eos") if self.extra.is_refusal => FinishReason::ContentFilter,
            // Some providers finish with `stop` although they call tools.
            Some("stop") if has_calls => FinishReason::ToolCalls,
            Some("stop" | "eos") => FinishReason::Stop,
            Some("length" | "max_tokens" | "model_length") => FinishReason::Length,
            Some("content_filter") => FinishReason::ContentFilter,
            Some("tool_calls" | "function_call") => FinishReason::ToolCalls,
            Some("error") => FinishReason::Error,
            Some(other) => FinishReason::Other(other.to_owned()),
            None if has_calls => FinishReason::ToolCalls,
            None => FinishReason::Other("unknown".to_owned()),
        };
        let logprobs = mem::take(&mut self.extra.logprobs);
        let fields = [
            ("serviceTier", self.extra.service_tier.take()),
            ("systemFingerprint", self.extra.system_fingerprint.take()),
            ("logprobs", (!logprobs.is_empty()).then_some(Value::Array(logprobs))),
        ];
        let ending = AnswerEnd {
            raw_reason: self.reason.take(),
            usage: self.usage.as_ref().map(usage_of).unwrap_or_default(),
            raw_usage: self.usage.take(),
            metadata: metadata(sink.provider(), fields),
        };
        sink.finished(reason, ending);
        Ok(())
    }
}

fn usage_of(usage: &Value) -> Usage {
    Usage {
        input_tokens: number(usage, "/prompt_tokens"),
        output_tokens: number(usage, "/completion_tokens"),
        total_tokens: number(usage, "/total_tokens"),
        reasoning_tokens: number(usage, "/completion_tokens_details/reasoning_tokens"),
        cached_input_tokens: number(usage, "/prompt_tokens_details/cached_tokens")
            .or_else(|| number(usage, "/prompt_cache_hit_tokens")),
        cache_write_tokens: number(usage, "/prompt_tokens_details/cache_write_tokens"),
    }
}

fn annotate(annotation: &Value, sink: &mut EventSink) {
    match annotation.get("url_citation") {
        Some(citation) if text(citation, "url").is_some() => {
            let place =
                json!({ "startIndex": citation.get("start_index"), "endIndex": citation.get("end_index") });
            sink.push(ModelEvent::SourceUrl {
                url: owned(citation, "url").unwrap_or_default(),
                title: owned(citation, "title"),
                metadata: metadata(sink.provider(), [("citation", Some(place))]),
            });
        }
        _ => sink.unknown("annotation", annotation.clone()),
    }
}
