//! Decodes events of the Responses API. A response without streaming is decoded as a sequence of its items.

use std::collections::BTreeMap;

use headwater_protocol::FinishReason;
use serde_json::{Value, json};

use super::{
    detail::{annotate, failed, is_progress, usage_of},
    hosted::{self, HostedItem},
};
use crate::{
    ModelError, ModelEvent,
    wire::{
        AnswerPosition,
        json_access::{given, items, metadata, number, owned, text},
        sink::{AnswerEnd, EventSink, OpenToolCall},
    },
};

/// Decoder state of one answer.
#[derive(Debug, Default)]
pub(in crate::wire) struct ResponsesAnswer {
    items: Vec<OpenItem>,
    /// Part numbers of the calls that OpenAI runs itself, by call id.
    executed: BTreeMap<String, u32>,
    /// Whether the caller must run a tool before the model can continue.
    wants_tools: bool,
    is_refusal: bool,
    logprobs: Vec<Value>,
    id: Option<String>,
    /// The number of the newest event.
    sequence: Option<u64>,
    /// Whether the stream is another one than that in which the answer began.
    is_continued: bool,
}

#[derive(Debug)]
struct OpenItem {
    /// Position in the output. Ids cannot be used: some gateways change them in every event.
    index: Option<u64>,
    id: Option<String>,
    kind: ItemKind,
}

#[derive(Debug)]
enum ItemKind {
    Message {
        part: u32,
        has_text: bool,
        annotations: usize,
    },
    Reasoning {
        part: u32,
        summary: u64,
        has_text: bool,
    },
    Function {
        call: OpenToolCall,
    },
    /// Emitted when it is done.
    Later,
}

impl ResponsesAnswer {
    pub(in crate::wire) fn event(&mut self, event: &Value, sink: &mut EventSink) -> Result<(), ModelError> {
        let kind = text(event, "type").unwrap_or_default();
        let sequence = number(event, "/sequence_number");
        // A server that ignores `starting_after` begins again.
        if self.is_continued && sequence.is_some() && sequence <= self.sequence {
            return Ok(());
        }
        self.sequence = sequence.or(self.sequence);
        match kind {
            "response.created" => {
                let response = event.get("response").unwrap_or(&Value::Null);
                self.id = owned(response, "id");
                sink.started(owned(response, "id"), owned(response, "model"));
            }
            "response.output_item.added" => self.added(event, sink)?,
            "response.output_item.done" => self.done(event, sink)?,
            "response.output_text.delta" | "response.refusal.delta" => {
                self.is_refusal |= kind == "response.refusal.delta";
                let delta = text(event, "delta").unwrap_or_default();
                if let Some(ItemKind::Message { part, has_text, .. }) = self.message(event, sink) {
                    *has_text |= !delta.is_empty();
                    sink.text(*part, delta);
                }
                self.logprobs.extend(items(event, "logprobs").iter().cloned());
            }
            "response.output_text.annotation.added" => {
                if let Some(ItemKind::Message { annotations, .. }) = self.message(event, sink) {
                    *annotations += 1;
                }
                annotate(event.get("annotation").unwrap_or(&Value::Null), sink);
            }
            "response.reasoning_summary_part.added" => self.summary(event, sink),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let delta = text(event, "delta").unwrap_or_default();
                if let Some(OpenItem { kind: ItemKind::Reasoning { part, has_text, .. }, .. }) =
                    self.find(event)
                {
                    *has_text = true;
                    sink.reasoning(*part, delta);
                }
            }
            "response.function_call_arguments.delta" => {
                let delta = text(event, "delta").unwrap_or_default();
                if let Some(OpenItem { kind: ItemKind::Function { call }, .. }) = self.find(event) {
                    sink.call_input(call, delta);
                }
            }
            "response.completed" | "response.incomplete" => {
                self.finish(event.get("response").unwrap_or(&Value::Null), sink);
            }
            "response.failed" | "error" => {
                let body = event.get("response").unwrap_or(event);
                return Err(failed(body, sink));
            }
            // Progress events; `output_item.done` repeats their content in full.
            _ if is_progress(kind) => {}
            "" => sink.unknown("event", event.clone()),
            other => sink.unknown(other, event.clone()),
        }
        Ok(())
    }

    /// The position after the newest event.
    pub(in crate::wire) fn answer_position(&self) -> Option<AnswerPosition> {
        Some(AnswerPosition { answer: self.id.clone()?, sequence: Some(self.sequence?) })
    }

    /// Continues with another stream of the same answer.
    pub(in crate::wire) fn continued(&mut self) {
        self.is_continued = true;
    }

    /// Begins another response after a finished one. Calls that OpenAI runs may continue in it.
    pub(in crate::wire) fn begin_anew(&mut self, event: &Value) -> bool {
        let begins = text(event, "type") == Some("response.created");
        if begins {
            let executed = std::mem::take(&mut self.executed);
            *self = Self { executed, ..Self::default() };
        }
        begins
    }

    /// Decodes a response without streaming.
    pub(in crate::wire) fn whole(
        &mut self,
        response: &Value,
        sink: &mut EventSink,
    ) -> Result<(), ModelError> {
        if response.get("output").is_none() {
            return Err(sink.malformed("missing `output` in the answer"));
        }
        sink.started(owned(response, "id"), owned(response, "model"));
        if text(response, "status") == Some("failed") {
            return Err(failed(response, sink));
        }
        for item in items(response, "output") {
            self.done(&json!({ "item": item }), sink)?;
        }
        if text(response, "status").is_none_or(|status| status != "in_progress") {
            self.finish(response, sink);
        }
        Ok(())
    }

    fn position(&self, event: &Value) -> Option<usize> {
        let index = number(event, "/output_index");
        let id = text(event, "item_id").or_else(|| text(event.get("item")?, "id"));
        self.items.iter().rposition(|item| match index {
            Some(_) => item.index == index,
            None => id.is_some() && item.id.as_deref() == id,
        })
    }

    fn find(&mut self, event: &Value) -> Option<&mut OpenItem> {
        let at = self.position(event)?;
        self.items.get_mut(at)
    }

    /// The message of an event. Opens it if its start event is missing.
    fn message(&mut self, event: &Value, sink: &mut EventSink) -> Option<&mut ItemKind> {
        let is_message =
            |at: &usize| matches!(self.items.get(*at), Some(OpenItem { kind: ItemKind::Message { .. }, .. }));
        let at = self.position(event).filter(is_message).unwrap_or_else(|| {
            let kind = ItemKind::Message { part: sink.text_start(None), has_text: false, annotations: 0 };
            let id = owned(event, "item_id");
            self.items.push(OpenItem { index: number(event, "/output_index"), id, kind });
            self.items.len() - 1
        });
        Some(&mut self.items.get_mut(at)?.kind)
    }

    fn added(&mut self, event: &Value, sink: &mut EventSink) -> Result<(), ModelError> {
        let item = event.get("item").unwrap_or(&Value::Null);
        let kind = match text(item, "type").unwrap_or_default() {
            "message" => ItemKind::Message { part: sink.text_start(None), has_text: false, annotations: 0 },
            "reasoning" => {
                ItemKind::Reasoning { part: sink.reasoning_start(None), summary: 0, has_text: false }
            }
            "function_call" => {
                let Some(name) = text(item, "name") else {
                    return Err(sink.malformed("a tool call has no tool name"));
                };
                ItemKind::Function { call: sink.call_start(text(item, "call_id"), name, false) }
            }
            _ => ItemKind::Later,
        };
        self.items.push(OpenItem { index: number(event, "/output_index"), id: owned(item, "id"), kind });
        Ok(())
    }

    fn summary(&mut self, event: &Value, sink: &mut EventSink) {
        let number = number(event, "/summary_index").unwrap_or_default();
        if let Some(OpenItem { kind: ItemKind::Reasoning { part, summary, .. }, id, .. }) = self.find(event)
            && number > *summary
        {
            let id = id.clone().map(Value::String);
            sink.reasoning_end(*part, metadata(sink.provider(), [("itemId", id)]));
            *part = sink.reasoning_start(None);
            *summary = number;
        }
    }

    fn done(&mut self, event: &Value, sink: &mut EventSink) -> Result<(), ModelError> {
        if self.find(event).is_none() {
            self.added(event, sink)?;
        }
        let item = event.get("item").unwrap_or(&Value::Null);
        // An item without position and id must be the one added last.
        let at = self.position(event).unwrap_or(self.items.len().saturating_sub(1));
        if at >= self.items.len() {
            return Ok(());
        }
        let open = self.items.remove(at);
        let id = given(item, "id").cloned();
        match open.kind {
            ItemKind::Message { part, has_text, annotations } => {
                self.end_message(part, has_text, annotations, item, sink);
                let fields = [("itemId", id), ("phase", given(item, "phase").cloned())];
                sink.text_end(part, metadata(sink.provider(), fields));
            }
            ItemKind::Reasoning { mut part, has_text, .. } => {
                if !has_text {
                    let summaries = items(item, "summary").iter().chain(items(item, "content"));
                    for (number, summary) in summaries.enumerate() {
                        if number > 0 {
                            sink.reasoning_end(part, metadata(sink.provider(), [("itemId", id.clone())]));
                            part = sink.reasoning_start(None);
                        }
                        sink.reasoning(part, text(summary, "text").unwrap_or_default());
                    }
                }
                let secret = given(item, "encrypted_content").cloned();
                let fields = [("itemId", id), ("reasoningEncryptedContent", secret)];
                sink.reasoning_end(part, metadata(sink.provider(), fields));
            }
            ItemKind::Function { mut call } => {
                self.wants_tools = true;
                if !call.has_input() {
                    sink.call_input(&mut call, text(item, "arguments").unwrap_or_default());
                }
                let fields = [
                    ("itemId", id),
                    ("namespace", given(item, "namespace").cloned()),
                    ("caller", given(item, "caller").cloned()),
                ];
                sink.call_end(call, metadata(sink.provider(), fields));
            }
            ItemKind::Later => self.later(item, sink),
        }
        Ok(())
    }

    /// Emits the content of a message that was not streamed.
    fn end_message(
        &mut self,
        part: u32,
        has_text: bool,
        annotations: usize,
        item: &Value,
        sink: &mut EventSink,
    ) {
        for content in items(item, "content") {
            if !has_text {
                self.is_refusal |= text(content, "type") == Some("refusal");
                let said = text(content, "text").or_else(|| text(content, "refusal"));
                sink.text(part, said.unwrap_or_default());
                self.logprobs.extend(items(content, "logprobs").iter().cloned());
            }
            if annotations == 0 {
                for annotation in items(content, "annotations") {
                    annotate(annotation, sink);
                }
            }
        }
    }

    /// Handles an item of one of OpenAI's own tools.
    fn later(&mut self, item: &Value, sink: &mut EventSink) {
        match hosted::read(item) {
            HostedItem::Call(call) => {
                let facts = if call.is_executed {
                    [("item", hosted::echo(item))]
                } else {
                    [("itemId", given(item, "id").cloned())]
                };
                let facts = metadata(sink.provider(), facts);
                let part = sink.whole_call(call.id, &call.name, &call.input, call.is_executed, facts);
                // Other clients of this API report `stop` for these tools; all readers of a stream must see the same finish
                // reason.
                let is_told_apart = matches!(call.name.as_str(), "tool_search" | "local_shell" | "shell");
                self.wants_tools |= !call.is_executed && !is_told_apart;
                if let Some(id) = call.id {
                    self.executed.insert(id.to_owned(), part);
                }
                for (url, title) in call.sources {
                    sink.push(ModelEvent::SourceUrl { url, title, metadata: None });
                }
                if let Some((output, is_error)) = call.output {
                    sink.push(ModelEvent::ToolResult { part, output, is_error });
                }
                if let Some((media_type, url)) = call.file {
                    sink.push(ModelEvent::File { media_type, url });
                }
            }
            HostedItem::Result { id, output } => {
                // OpenAI's tool search has no id; its result follows it directly.
                let part = match id {
                    Some(id) => self.executed.get(id).copied(),
                    None => self.executed.values().max().copied(),
                };
                match part {
                    Some(part) => sink.push(ModelEvent::ToolResult { part, output, is_error: false }),
                    None => sink.unknown(text(item, "type").unwrap_or("item"), item.clone()),
                }
            }
            HostedItem::Unknown => sink.unknown(text(item, "type").unwrap_or("item"), item.clone()),
        }
    }

    fn finish(&mut self, response: &Value, sink: &mut EventSink) {
        sink.started(owned(response, "id"), owned(response, "model"));
        for item in std::mem::take(&mut self.items) {
            match item.kind {
                ItemKind::Message { part, .. } => sink.text_end(part, None),
                ItemKind::Reasoning { part, .. } => sink.reasoning_end(part, None),
                ItemKind::Function { call } => sink.call_end(call, None),
                ItemKind::Later => {}
            }
        }
        let raw = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        let reason = match raw {
            Some("max_output_tokens") => FinishReason::Length,
            Some("content_filter") => FinishReason::ContentFilter,
            Some(other) => FinishReason::Other(other.to_owned()),
            None if self.is_refusal => FinishReason::ContentFilter,
            None if self.wants_tools => FinishReason::ToolCalls,
            None => FinishReason::Stop,
        };
        let logprobs = std::mem::take(&mut self.logprobs);
        let fields = [
            ("responseId", given(response, "id").cloned()),
            ("serviceTier", given(response, "service_tier").cloned()),
            ("logprobs", (!logprobs.is_empty()).then_some(Value::Array(logprobs))),
        ];
        let usage = given(response, "usage");
        let ending = AnswerEnd {
            raw_reason: raw.map(str::to_owned),
            usage: usage.map(usage_of).unwrap_or_default(),
            raw_usage: usage.cloned(),
            metadata: metadata(sink.provider(), fields),
        };
        sink.finished(reason, ending);
    }
}
