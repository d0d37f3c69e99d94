//! From the events of a message to our events. A whole message is its blocks, one after the other.

use std::collections::BTreeMap;

use headwater_protocol::{FinishReason, Usage};
use serde_json::{Map, Value, json};

use super::execution::{self, Mark};
use crate::{
    ModelError, ModelEvent,
    wire::{
        failure,
        read::{given, items, metadata, number, owned, text},
        sink::{Call, Ending, Sink},
    },
};

/// The state of an answer.
#[derive(Debug, Default)]
pub(in crate::wire) struct Answer {
    message: Option<String>,
    blocks: BTreeMap<u64, Block>,
    /// The parts of the calls whose results the provider gives itself, by the call's id.
    executed: BTreeMap<String, u32>,
    usage: Map<String, Value>,
    stop: Stop,
    /// It said why it stops.
    has_stopped: bool,
}

#[derive(Debug)]
enum Block {
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
        call: Call,
        input: Option<Value>,
        /// What is put into the input, as it arrives.
        mark: Option<Mark>,
        facts: Box<Facts>,
    },
    /// Said in one piece, or not known.
    Done,
}

/// What a call must say again in the next turn, beside its id, name and input.
#[derive(Debug)]
struct Facts {
    kind: Option<String>,
    /// Its own name, where we call it otherwise.
    name: Option<String>,
    server: Option<Value>,
    caller: Option<Value>,
}

#[derive(Debug, Default)]
struct Stop {
    reason: Option<String>,
    sequence: Option<Value>,
    details: Option<Value>,
    container: Option<Value>,
    context: Option<Value>,
}

impl Answer {
    pub(in crate::wire) fn event(&mut self, event: &Value, sink: &mut Sink) -> Result<(), ModelError> {
        let index = number(event, "/index").unwrap_or_default();
        match text(event, "type") {
            Some("message_start") => {
                let message = event.get("message").unwrap_or(&Value::Null);
                self.start(message, sink)?;
                // A call that code asks for, which Anthropic runs, stands whole in the message's beginning.
                self.content(message, sink)?;
            }
            // A message that gave its reason to stop says nothing more.
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
                    // A passage needs no text around it.
                    None if text(delta, "type") == Some("citations_delta") => {
                        cite(delta.get("citation").unwrap_or(&Value::Null), sink);
                    }
                    None => {
                        let message = format!("the answer goes on with part {index}, which never began");
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
                return Err(failure::in_body(sink.provider(), event).unwrap_or_else(|| {
                    sink.malformed("the provider reports an error without saying which")
                }));
            }
            Some(other) => sink.unknown(other, event.clone()),
            None => sink.unknown("event", event.clone()),
        }
        Ok(())
    }

    /// Takes another message after one that is finished. The calls that the provider runs itself may go on in it.
    pub(in crate::wire) fn begin_anew(&mut self, event: &Value) -> bool {
        let begins = text(event, "type") == Some("message_start");
        if begins {
            let executed = std::mem::take(&mut self.executed);
            *self = Self { executed, ..Self::default() };
        }
        begins
    }

    /// A message in one piece.
    pub(in crate::wire) fn whole(&mut self, message: &Value, sink: &mut Sink) -> Result<(), ModelError> {
        if text(message, "type") != Some("message") {
            return Err(sink.malformed("the answer is no message"));
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

    fn start(&mut self, message: &Value, sink: &mut Sink) -> Result<(), ModelError> {
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

    /// Blocks that stand in the message itself.
    fn content(&mut self, message: &Value, sink: &mut Sink) -> Result<(), ModelError> {
        for block in items(message, "content") {
            let block = self.block(block, sink)?;
            self.end_block(block, sink);
        }
        Ok(())
    }

    fn block(&mut self, block: &Value, sink: &mut Sink) -> Result<Block, ModelError> {
        Ok(match text(block, "type").unwrap_or_default() {
            "text" => {
                let part = sink.text_start(None);
                sink.text(part, text(block, "text").unwrap_or_default());
                let citations = items(block, "citations").to_vec();
                Block::Text { part, citations, kind: "text" }
            }
            // What was said before, made short. It goes back like the text that it stands for.
            "compaction" => {
                let part = sink.text_start(metadata(sink.provider(), [("type", Some("compaction".into()))]));
                sink.text(part, text(block, "content").unwrap_or_default());
                Block::Text { part, citations: Vec::new(), kind: "compaction" }
            }
            "thinking" => {
                let part = sink.reasoning_start(None);
                sink.reasoning(part, text(block, "thinking").unwrap_or_default());
                Block::Thinking { part, signature: owned(block, "signature").unwrap_or_default() }
            }
            "redacted_thinking" => {
                let redacted = metadata(sink.provider(), [("redactedData", block.get("data").cloned())]);
                let part = sink.reasoning_start(redacted.clone());
                sink.reasoning_end(part, redacted);
                Block::Done
            }
            kind @ ("tool_use" | "server_tool_use" | "mcp_tool_use") => {
                let (Some(id), Some(name)) = (text(block, "id"), text(block, "name")) else {
                    return Err(sink.malformed("a tool call came without an id or a name"));
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
                let facts = Box::new(Facts {
                    kind: is_executed.then(|| kind.to_owned()),
                    name: kind_of_code.map(|_| name.to_owned()),
                    server: given(block, "server_name").cloned(),
                    caller: given(block, "caller").cloned(),
                });
                Block::Call { call, input: input.cloned(), mark: kind_of_code.map(Mark::new), facts }
            }
            kind if kind.ends_with("_tool_result") => {
                self.result(kind, block, sink);
                Block::Done
            }
            other => {
                sink.unknown(format!("content.{other}"), block.clone());
                Block::Done
            }
        })
    }

    /// What a tool gave that the provider ran.
    fn result(&mut self, kind: &str, block: &Value, sink: &mut Sink) {
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
            // The call was made in an earlier turn, so it has no part here.
            None => sink.unknown(format!("content.{kind}"), block.clone()),
        }
    }

    fn end_block(&mut self, block: Block, sink: &mut Sink) {
        match block {
            Block::Text { part, citations, kind } => {
                for citation in &citations {
                    cite(citation, sink);
                }
                let kind = (kind != "text").then(|| Value::from(kind));
                let citations = (!citations.is_empty()).then_some(Value::Array(citations));
                let metadata = metadata(sink.provider(), [("type", kind), ("citations", citations)]);
                sink.text_end(part, metadata);
            }
            Block::Thinking { part, signature } => {
                let signature = (!signature.is_empty()).then_some(Value::String(signature));
                sink.reasoning_end(part, metadata(sink.provider(), [("signature", signature)]));
            }
            Block::Call { mut call, input, mut mark, facts } => {
                // The input is given at the start or in deltas; where both are, the deltas count.
                if !call.has_input() && (input.is_some() || mark.is_some()) {
                    let input = input.map_or_else(|| "{}".to_owned(), |input| input.to_string());
                    let input = mark.as_mut().map_or_else(|| input.clone(), |mark| mark.put(&input));
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
            Block::Done => {}
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

    fn finish(&mut self, sink: &mut Sink) {
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
        let ending = Ending {
            raw_reason: raw,
            usage: usage_of(&raw_usage),
            metadata: metadata(sink.provider(), fields),
            raw_usage: raw_usage.as_object().is_some_and(|usage| !usage.is_empty()).then_some(raw_usage),
        };
        sink.finished(reason, ending);
    }
}

impl Block {
    fn delta(&mut self, delta: &Value, sink: &mut Sink) {
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
                    Some(mark) => sink.call_input(call, &mark.put(piece)),
                    None => sink.call_input(call, piece),
                }
            }
            // A signature beside a text says nothing that the text needs.
            ("signature_delta", _) => {}
            (other, _) => sink.unknown(format!("delta.{other}"), delta.clone()),
        }
    }
}

/// A passage of a document. Pages of a search were already named with the search's result.
fn cite(citation: &Value, sink: &mut Sink) {
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

/// Anthropic counts what was cached beside the input, and what was made short beside both; we count all of it.
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
