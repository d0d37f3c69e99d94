//! Decodes Anthropic's stream events. A message without streaming is decoded as a sequence of its blocks.

use std::collections::BTreeMap;

use headwater_protocol::{FinishReason, Usage};
use serde_json::{Map, Value, json};

use super::execution::{self, KindMarker};
use crate::{
    ModelError, ModelEvent,
    wire::{
        failure,
        json_access::{given, items, metadata, number, owned, text},
        sink::{AnswerEnd, EventSink, OpenToolCall},
    },
};

/// Decoder state of one answer.
#[derive(Debug, Default)]
pub(in crate::wire) struct AnthropicAnswer {
    message: Option<String>,
    blocks: BTreeMap<u64, AnthropicBlock>,
    /// Part numbers of the calls that the provider runs itself, by call id.
    executed: BTreeMap<String, u32>,
    usage: Map<String, Value>,
    stop: StopFacts,
    /// Whether the stop reason has arrived.
    has_stopped: bool,
}

#[derive(Debug)]
enum AnthropicBlock {
    Text {
        part: u32,
        citations: Vec<Value>,
        kind: &'static str,
    },
    Thinking {
        part: u32,
        signature: String,
    },
    Call {
        call: OpenToolCall,
        input: Option<Value>,
        /// Adds the kind of execution to the input as it arrives.
        mark: Option<KindMarker>,
        facts: Box<CallFacts>,
    },
    /// Complete at its start, or unknown.
    Done,
}

/// CallFacts about a call to send back with the next turn, in addition to id, name and input.
#[derive(Debug)]
struct CallFacts {
    kind: Option<String>,
    /// Anthropic's name of the tool, if it differs from ours.
    name: Option<String>,
    server: Option<Value>,
    caller: Option<Value>,
}

#[derive(Debug, Default)]
struct StopFacts {
    reason: Option<String>,
    sequence: Option<Value>,
    details: Option<Value>,
    container: Option<Value>,
    context: Option<Value>,
}

impl AnthropicAnswer {
    pub(in crate::wire) fn event(&mut self, event: &Value, sink: &mut EventSink) -> Result<(), ModelError> {
        let index = number(event, "/index").unwrap_or_default();
        match text(event, "type") {
            Some("message_start") => {
                let message = event.get("message").unwrap_or(&Value::Null);
                self.start(message, sink)?;
                // Calls made by code that Anthropic executes come complete in `message_start`.
                self.content(message, sink)?;
            }
            // Nothing is expected after the stop reason.
            Some("content_block_start" | "content_block_delta") if self.has_stopped => {
                sink.unknown("after-end", event.clone());
            }
            Some("content_block_start") => {
                let block = event.get("content_block").unwrap_or(&Value::Null);
                let block = self.block(block, sink)?;
                if let Some(open) = self.blocks.insert(index, block) {
                    self.end_block(open, sink);
                }
            }
            Some("content_block_delta") => {
                let delta = event.get("delta").unwrap_or(&Value::Null);
                match self.blocks.get_mut(&index) {
                    Some(block) => block.delta(delta, sink),
                    // A citation needs no open text block.
                    None if text(delta, "type") == Some("citations_delta") => {
                        cite(delta.get("citation").unwrap_or(&Value::Null), sink);
                    }
                    None => {
                        let message = format!("the answer continues part {index}, which never began");
                        return Err(sink.malformed(message));
                    }
                }
            }
            Some("content_block_stop") => {
                if let Some(block) = self.blocks.remove(&index) {
                    self.end_block(block, sink);
                }
            }
            Some("message_delta") => {
                let delta = event.get("delta").unwrap_or(&Value::Null);
                self.has_stopped |= text(delta, "stop_reason").is_some();
                self.note(delta);
                self.count(event.get("usage"));
                if let Some(context) = given(event, "context_management") {
                    self.stop.context = Some(context.clone());
                }
            }
            Some("message_stop") => self.finish(sink),
            Some("ping") => {}
            Some("error") => {
                return Err(failure::in_body(sink.provider(), event)
                    .unwrap_or_else(|| sink.malformed("the provider reports an error without details")));
            }
            Some(other) => sink.unknown(other, event.clone()),
            None => sink.unknown("event", event.clone()),
        }
        Ok(())
    }

    /// Begins another message after a finished one. Calls that the provider runs may continue in it.
    pub(in crate::wire) fn begin_anew(&mut self, event: &Value) -> bool {
        let begins = text(event, "type") == Some("message_start");
        if begins {
            let executed = std::mem::take(&mut self.executed);
            *self = Self { executed, ..Self::default() };
        }
        begins
    }

    /// Decodes a message without streaming.
    pub(in crate::wire) fn whole(&mut self, message: &Value, sink: &mut EventSink) -> Result<(), ModelError> {
        if text(message, "type") != Some("message") {
            return Err(sink.malformed("the answer is not a message"));
        }
        self.start(message, sink)?;
        self.content(message, sink)?;
        self.note(message);
        self.count(message.get("usage"));
        if self.stop.reason.is_some() {
            self.finish(sink);
        }
        Ok(())
    }

    fn start(&mut self, message: &Value, sink: &mut EventSink) -> Result<(), ModelError> {
        let id = owned(message, "id");
        if let Some(open) = &self.message {
            let second = id.as_deref().unwrap_or("without an id");
            return Err(sink.malformed(format!("message {second} begins while message {open} is still open")));
        }
        self.message = Some(id.clone().unwrap_or_default());
        sink.started(id, owned(message, "model"));
        self.count(message.get("usage"));
        self.note(message);
        Ok(())
    }

    /// Decodes the blocks contained in the message itself.
    fn content(&mut self, message: &Value, sink: &mut EventSink) -> Result<(), ModelError> {
        for block in items(message, "content") {
            let block = self.block(block, sink)?;
            self.end_block(block, sink);
        }
        Ok(())
    }

    fn block(&mut self, block: &Value, sink: &mut EventSink) -> Result<AnthropicBlock, ModelError> {
        Ok(match text(block, "type").unwrap_or_default() {
            "text" => {
                let part = sink.text_start(None);
                sink.text(part, text(block, "text").unwrap_or_default());
                let citations = items(block, "citations").to_vec();
                AnthropicBlock::Text { part, citations, kind: "text" }
            }
            // A summary of the earlier conversation. It is sent back like the text that it replaces.
            "compaction" => {
                let part = sink.text_start(metadata(sink.provider(), [("type", Some("compaction".into()))]));
                sink.text(part, text(block, "content").unwrap_or_default());
                AnthropicBlock::Text { part, citations: Vec::new(), kind: "compaction" }
            }
            "thinking" => {
                let part = sink.reasoning_start(None);
                sink.reasoning(part, text(block, "thinking").unwrap_or_default());
                AnthropicBlock::Thinking { part, signature: owned(block, "signature").unwrap_or_default() }
            }
            "redacted_thinking" => {
                let redacted = metadata(sink.provider(), [("redactedData", block.get("data").cloned())]);
                let part = sink.reasoning_start(redacted.clone());
                sink.reasoning_end(part, redacted);
                AnthropicBlock::Done
            }
            kind @ ("tool_use" | "server_tool_use" | "mcp_tool_use") => {
                let (Some(id), Some(name)) = (text(block, "id"), text(block, "name")) else {
                    return Err(sink.malformed("a tool call has no id or name"));
                };
                let is_executed = kind != "tool_use";
                let kind_of_code = is_executed.then(|| execution::kind(name)).flatten();
                let called = if kind_of_code.is_some() { execution::NAME } else { name };
                let call = sink.call_start(Some(id), called, is_executed);
                if is_executed {
                    self.executed.insert(id.to_owned(), call.part);
                }
                let input = given(block, "input")
                    .filter(|input| input.as_object().is_none_or(|fields| !fields.is_empty()));
                let facts = Box::new(CallFacts {
                    kind: is_executed.then(|| kind.to_owned()),
                    name: kind_of_code.map(|_| name.to_owned()),
                    server: given(block, "server_name").cloned(),
                    caller: given(block, "caller").cloned(),
                });
                AnthropicBlock::Call {
                    call,
                    input: input.cloned(),
                    mark: kind_of_code.map(KindMarker::new),
                    facts,
                }
            }
            kind if kind.ends_with("_tool_result") => {
                self.result(kind, block, sink);
                AnthropicBlock::Done
            }
            other => {
                sink.unknown(format!("content.{other}"), block.clone());
                AnthropicBlock::Done
            }
        })
    }

    /// The result of a tool that the provider ran.
    fn result(&mut self, kind: &str, block: &Value, sink: &mut EventSink) {
        let id = text(block, "tool_use_id").unwrap_or_default();
        let content = block.get("content").cloned().unwrap_or_default();
        let is_error = block.get("is_error").and_then(Value::as_bool).unwrap_or(false)
            || text(&content, "type").is_some_and(|kind| kind.ends_with("_error"));
        if kind == "web_search_tool_result" {
            for page in content.as_array().into_iter().flatten() {
                if let Some(url) = owned(page, "url") {
                    let age = given(page, "page_age").cloned();
                    let metadata = metadata(sink.provider(), [("pageAge", age)]);
                    sink.push(ModelEvent::SourceUrl { url, title: owned(page, "title"), metadata });
                }
            }
        }
        match self.executed.get(id) {
            Some(part) => sink.push(ModelEvent::ToolResult { part: *part, output: content, is_error }),
            // The call was made in an earlier turn, so it has no part in this answer.
            None => sink.unknown(format!("content.{kind}"), block.clone()),
        }
    }

    fn end_block(&mut self, block: AnthropicBlock, sink: &mut EventSink) {
        match block {
            AnthropicBlock::Text { part, citations, kind } => {
                for citation in &citations {
                    cite(citation, sink);
                }
                let kind = (kind != "text").then(|| Value::from(kind));
                let citations = (!citations.is_empty()).then_some(Value::Array(citations));
                let metadata = metadata(sink.provider(), [("type", kind), ("citations", citations)]);
                sink.text_end(part, metadata);
            }
            AnthropicBlock::Thinking { part, signature } => {
                let signature = (!signature.is_empty()).then_some(Value::String(signature));
                sink.reasoning_end(part, metadata(sink.provider(), [("signature", signature)]));
            }
            AnthropicBlock::Call { mut call, input, mut mark, facts } => {
                // The input comes at the start or in deltas; deltas take precedence.
                if !call.has_input() && (input.is_some() || mark.is_some()) {
                    let input = input.map_or_else(|| "{}".to_owned(), |input| input.to_string());
                    let input = mark.as_mut().map_or_else(|| input.clone(), |mark| mark.insert(&input));
                    sink.call_input(&mut call, &input);
                }
                let fields = [
                    ("type", facts.kind.map(Value::String)),
                    ("toolName", facts.name.map(Value::String)),
                    ("serverName", facts.server),
                    ("caller", facts.caller),
                ];
                sink.call_end(call, metadata(sink.provider(), fields));
            }
            AnthropicBlock::Done => {}
        }
    }

    fn note(&mut self, facts: &Value) {
        if let Some(reason) = text(facts, "stop_reason") {
            self.stop.reason = Some(reason.to_owned());
        }
        for (slot, key) in [
            (&mut self.stop.sequence, "stop_sequence"),
            (&mut self.stop.details, "stop_details"),
            (&mut self.stop.container, "container"),
            (&mut self.stop.context, "context_management"),
        ] {
            if let Some(value) = given(facts, key) {
                *slot = Some(value.clone());
            }
        }
    }

    /// Later counts complete the earlier ones.
    fn count(&mut self, usage: Option<&Value>) {
        for (key, value) in usage.and_then(Value::as_object).into_iter().flatten() {
            if !value.is_null() || !self.usage.contains_key(key) {
                self.usage.insert(key.clone(), value.clone());
            }
        }
    }

    fn finish(&mut self, sink: &mut EventSink) {
        for (_, block) in std::mem::take(&mut self.blocks) {
            self.end_block(block, sink);
        }
        let raw = self.stop.reason.take();
        let reason = match raw.as_deref() {
            Some("end_turn" | "stop_sequence" | "pause_turn") => FinishReason::Stop,
            Some("tool_use") => FinishReason::ToolCalls,
            Some("max_tokens" | "model_context_window_exceeded") => FinishReason::Length,
            Some("refusal") => FinishReason::ContentFilter,
            Some(other) => FinishReason::Other(other.to_owned()),
            None => FinishReason::Other("unknown".to_owned()),
        };
        let raw_usage = Value::Object(std::mem::take(&mut self.usage));
        let fields = [
            ("stopSequence", self.stop.sequence.take()),
            ("stopDetails", self.stop.details.take()),
            ("container", self.stop.container.take()),
            ("contextManagement", self.stop.context.take()),
        ];
        let ending = AnswerEnd {
            raw_reason: raw,
            usage: usage_of(&raw_usage),
            metadata: metadata(sink.provider(), fields),
            raw_usage: raw_usage.as_object().is_some_and(|usage| !usage.is_empty()).then_some(raw_usage),
        };
        sink.finished(reason, ending);
    }
}

impl AnthropicBlock {
    fn delta(&mut self, delta: &Value, sink: &mut EventSink) {
        match (text(delta, "type").unwrap_or_default(), self) {
            ("text_delta", Self::Text { part, .. }) => {
                sink.text(*part, text(delta, "text").unwrap_or_default());
            }
            ("compaction_delta", Self::Text { part, .. }) => {
                sink.text(*part, text(delta, "content").unwrap_or_default());
            }
            ("citations_delta", Self::Text { citations, .. }) => {
                citations.extend(given(delta, "citation").cloned());
            }
            ("thinking_delta", Self::Thinking { part, .. }) => {
                sink.reasoning(*part, text(delta, "thinking").unwrap_or_default());
            }
            ("signature_delta", Self::Thinking { signature, .. }) => {
                signature.push_str(text(delta, "signature").unwrap_or_default());
            }
            ("input_json_delta", Self::Call { call, mark, .. }) => {
                let piece = text(delta, "partial_json").unwrap_or_default();
                match mark {
                    Some(mark) => sink.call_input(call, &mark.insert(piece)),
                    None => sink.call_input(call, piece),
                }
            }
            // The signature of a text is not needed.
            ("signature_delta", _) => {}
            (other, _) => sink.unknown(format!("delta.{other}"), delta.clone()),
        }
    }
}

/// Cites a passage of a document. Web pages were already reported with the search result.
fn cite(citation: &Value, sink: &mut EventSink) {
    if text(citation, "type") == Some("web_search_result_location") {
        return;
    }
    let place: Map<String, Value> = citation
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, value)| !value.is_null() && !matches!(key.as_str(), "cited_text" | "document_title"))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    sink.push(ModelEvent::SourceDocument {
        title: owned(citation, "document_title").or_else(|| owned(citation, "title")),
        media_type: None,
        filename: None,
        text: owned(citation, "cited_text"),
        metadata: metadata(sink.provider(), [("citation", Some(json!(place)))]),
    });
}

/// Anthropic counts cached and compacted tokens separately; we count all of them as input.
fn usage_of(usage: &Value) -> Usage {
    let compactions: Vec<_> =
        items(usage, "iterations").iter().filter(|step| text(step, "type") == Some("compaction")).collect();
    let count = |place: &str| {
        let more: u64 = compactions.iter().filter_map(|step| number(step, place)).sum();
        number(usage, place).map(|count| count + more)
    };
    let (read, written) = (count("/cache_read_input_tokens"), count("/cache_creation_input_tokens"));
    let input = count("/input_tokens").map(|fresh| fresh + read.unwrap_or(0) + written.unwrap_or(0));
    let output = count("/output_tokens");
    Usage {
        input_tokens: input,
        output_tokens: output,
        total_tokens: input.zip(output).map(|(input, output)| input + output),
        reasoning_tokens: number(usage, "/output_tokens_details/thinking_tokens"),
        cached_input_tokens: read,
        cache_write_tokens: written,
    }
}
