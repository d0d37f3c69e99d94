//! Decodes Gemini's chunks. An answer without streaming is a single chunk.

use std::mem;

use headwater_protocol::{FinishReason, Usage};
use serde_json::{Map, Value};

use super::arguments;
use crate::{
    ModelError, ModelEvent,
    wire::{
        failure,
        json_access::{given, items, metadata, number, owned, text},
        sink::{AnswerEnd, EventSink},
    },
};

/// Decoder state of one answer.
#[derive(Debug, Default)]
pub(in crate::wire) struct GoogleAnswer {
    open: GoogleOpenPart,
    /// Signature of the open part.
    signature: Option<Value>,
    call: Option<PartialCall>,
    /// Ids and part numbers of code and server tools that Google ran.
    executed: Vec<(Option<String>, u32)>,
    has_calls: bool,
    reason: Option<String>,
    usage: Option<Value>,
    extra: Map<String, Value>,
    sources: Vec<String>,
}

#[derive(Debug, Default, Clone, Copy)]
enum GoogleOpenPart {
    #[default]
    Nothing,
    Text(u32),
    Reasoning(u32),
}

/// A call whose arguments are still arriving.
#[derive(Debug)]
struct PartialCall {
    id: Option<String>,
    name: String,
    arguments: Value,
    signature: Option<Value>,
}

impl GoogleAnswer {
    pub(in crate::wire) fn event(&mut self, chunk: &Value, sink: &mut EventSink) -> Result<(), ModelError> {
        if let Some(error) = failure::in_body(sink.provider(), chunk) {
            return Err(error);
        }
        let is_known =
            ["candidates", "usageMetadata", "promptFeedback"].iter().any(|key| chunk.get(key).is_some());
        if !is_known {
            sink.unknown("chunk", chunk.clone());
            return Ok(());
        }
        sink.started(owned(chunk, "responseId"), owned(chunk, "modelVersion"));
        if let Some(usage) = given(chunk, "usageMetadata") {
            self.usage = Some(usage.clone());
        }
        if let Some(feedback) = given(chunk, "promptFeedback") {
            self.extra.insert("promptFeedback".to_owned(), feedback.clone());
            // A blocked prompt has no candidate that could have a finish reason.
            if let Some(reason) = text(feedback, "blockReason") {
                self.reason.get_or_insert(reason.to_owned());
            }
        }
        let is_refused = chunk.pointer("/promptFeedback/blockReason").is_some();
        // Nothing is expected after the finish reason of an earlier chunk.
        let has_stopped = self.reason.is_some() && !is_refused;
        for candidate in items(chunk, "candidates") {
            for part in candidate.get("content").map_or(&[][..], |content| items(content, "parts")) {
                // Candidates beside a blocked prompt are not an answer to it.
                if is_refused {
                    sink.unknown("refused", part.clone());
                } else if has_stopped {
                    sink.unknown("after-end", part.clone());
                } else {
                    self.part(part, sink)?;
                }
            }
            for key in [
                "groundingMetadata",
                "urlContextMetadata",
                "safetyRatings",
                "finishMessage",
                "citationMetadata",
            ] {
                if let Some(value) = given(candidate, key) {
                    self.extra.insert(key.to_owned(), value.clone());
                }
            }
            if let Some(grounding) = given(candidate, "groundingMetadata") {
                self.ground(grounding, sink);
            }
            if let Some(reason) = text(candidate, "finishReason") {
                self.reason = Some(reason.to_owned());
            }
        }
        Ok(())
    }

    /// Ends the stream. Gemini has no end marker; the finish reason must have come.
    pub(in crate::wire) fn end(&mut self, sink: &mut EventSink) -> Result<(), ModelError> {
        let Some(raw) = self.reason.take() else {
            return Err(sink.cut());
        };
        self.close(sink);
        self.end_call(sink);
        let reason = match raw.as_str() {
            "STOP" if self.has_calls => FinishReason::ToolCalls,
            "STOP" => FinishReason::Stop,
            "MAX_TOKENS" => FinishReason::Length,
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY"
            | "LANGUAGE" => FinishReason::ContentFilter,
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" => FinishReason::Error,
            other => FinishReason::Other(other.to_owned()),
        };
        let extra = mem::take(&mut self.extra);
        let metadata = (!extra.is_empty())
            .then(|| Value::Object(Map::from_iter([(sink.provider().to_owned(), Value::Object(extra))])));
        let ending = AnswerEnd {
            raw_reason: Some(raw),
            usage: self.usage.as_ref().map(usage_of).unwrap_or_default(),
            raw_usage: self.usage.take(),
            metadata,
        };
        sink.finished(reason, ending);
        Ok(())
    }

    fn part(&mut self, part: &Value, sink: &mut EventSink) -> Result<(), ModelError> {
        let signature = given(part, "thoughtSignature").cloned();
        if let Some(call) = given(part, "functionCall") {
            return self.call(call, signature, sink);
        }
        if let Some(content) = part.get("text").and_then(Value::as_str) {
            if content.is_empty() && signature.is_none() {
                return Ok(());
            }
            self.end_call(sink);
            let is_thought = part.get("thought").and_then(Value::as_bool).unwrap_or(false);
            self.push_text(content, is_thought, signature, sink);
        } else if let Some(code) = given(part, "executableCode") {
            self.close(sink);
            let facts = signed(sink, signature);
            let at = sink.whole_call(None, "code_execution", &code.to_string(), true, facts);
            self.executed.push((None, at));
        } else if let Some(result) = given(part, "codeExecutionResult") {
            let is_error = text(result, "outcome").is_some_and(|outcome| outcome != "OUTCOME_OK");
            self.result(None, result, is_error, part, sink);
        } else if let Some(call) = given(part, "toolCall") {
            self.close(sink);
            let id = owned(call, "id");
            let name = format!("server:{}", text(call, "toolType").unwrap_or("tool"));
            let input = call.get("args").map(ToString::to_string).unwrap_or_default();
            let facts = signed(sink, signature);
            let at = sink.whole_call(id.as_deref(), &name, &input, true, facts);
            self.executed.push((id, at));
        } else if let Some(response) = given(part, "toolResponse") {
            let output = response.get("response").unwrap_or(response);
            self.result(text(response, "id"), output, false, part, sink);
        } else if let Some(file) = given(part, "inlineData") {
            self.close(sink);
            let media_type = owned(file, "mimeType").unwrap_or_else(|| "application/octet-stream".to_owned());
            let url = format!("data:{media_type};base64,{}", text(file, "data").unwrap_or_default());
            sink.push(ModelEvent::File { media_type, url });
        } else if let Some(file) = given(part, "fileData") {
            self.close(sink);
            let media_type = owned(file, "mimeType").unwrap_or_else(|| "application/octet-stream".to_owned());
            sink.push(ModelEvent::File { media_type, url: owned(file, "fileUri").unwrap_or_default() });
        } else if signature.is_some() {
            // A signature alone belongs to the preceding part.
            self.signature = signature;
        } else {
            sink.unknown("part", part.clone());
        }
        Ok(())
    }

    fn push_text(&mut self, content: &str, is_thought: bool, signature: Option<Value>, sink: &mut EventSink) {
        let at = match self.open {
            GoogleOpenPart::Text(at) if !is_thought => at,
            GoogleOpenPart::Reasoning(at) if is_thought => at,
            // An empty text only carries the signature of the preceding part.
            GoogleOpenPart::Text(_) | GoogleOpenPart::Reasoning(_) if content.is_empty() => {
                self.signature = signature;
                return;
            }
            _ => {
                self.close(sink);
                if is_thought { sink.reasoning_start(None) } else { sink.text_start(None) }
            }
        };
        if let Some(signature) = signature {
            self.signature = Some(signature);
        }
        if is_thought {
            self.open = GoogleOpenPart::Reasoning(at);
            sink.reasoning(at, content);
        } else {
            self.open = GoogleOpenPart::Text(at);
            sink.text(at, content);
        }
    }

    fn close(&mut self, sink: &mut EventSink) {
        let metadata = signed(sink, self.signature.take());
        match mem::take(&mut self.open) {
            GoogleOpenPart::Nothing => {}
            GoogleOpenPart::Text(part) => sink.text_end(part, metadata),
            GoogleOpenPart::Reasoning(part) => sink.reasoning_end(part, metadata),
        }
    }

    /// Handles a call, complete or partial.
    fn call(
        &mut self,
        call: &Value,
        signature: Option<Value>,
        sink: &mut EventSink,
    ) -> Result<(), ModelError> {
        self.close(sink);
        let will_continue = call.get("willContinue").and_then(Value::as_bool).unwrap_or(false);
        if let Some(name) = owned(call, "name") {
            self.end_call(sink);
            let arguments = given(call, "args").cloned().unwrap_or_default();
            self.call = Some(PartialCall { id: owned(call, "id"), name, arguments, signature });
        }
        let Some(open) = &mut self.call else {
            let is_empty = call.as_object().is_some_and(Map::is_empty);
            return if is_empty { Ok(()) } else { Err(sink.malformed("a tool call has no tool name")) };
        };
        arguments::merge(&mut open.arguments, items(call, "partialArgs"))
            .map_err(|error| sink.malformed(error))?;
        if !will_continue {
            self.end_call(sink);
        }
        Ok(())
    }

    /// Arguments come by path in any order, so the call is emitted only when all have arrived.
    fn end_call(&mut self, sink: &mut EventSink) {
        if let Some(call) = self.call.take() {
            self.has_calls = true;
            let input = if call.arguments.is_null() { String::new() } else { call.arguments.to_string() };
            let facts = signed(sink, call.signature);
            sink.whole_call(call.id.as_deref(), &call.name, &input, false, facts);
        }
    }

    fn result(
        &mut self,
        id: Option<&str>,
        output: &Value,
        is_error: bool,
        part: &Value,
        sink: &mut EventSink,
    ) {
        let call = self.executed.iter().rfind(|(call, _)| call.as_deref() == id);
        match call {
            Some((_, at)) => {
                sink.push(ModelEvent::ToolResult { part: *at, output: output.clone(), is_error });
            }
            None => sink.unknown("part", part.clone()),
        }
    }

    fn ground(&mut self, grounding: &Value, sink: &mut EventSink) {
        for chunk in items(grounding, "groundingChunks") {
            let page = ["web", "maps", "image", "retrievedContext"].iter().find_map(|key| given(chunk, key));
            let Some(page) = page else { continue };
            let title = owned(page, "title");
            let address = text(page, "uri").or_else(|| text(page, "sourceUri"));
            let key = address.or_else(|| text(page, "fileSearchStore")).unwrap_or_default().to_owned();
            // Each chunk repeats all sources found so far.
            if self.sources.contains(&key) {
                continue;
            }
            self.sources.push(key);
            sink.push(match address {
                Some(url) if url.starts_with("http") => {
                    ModelEvent::SourceUrl { url: url.to_owned(), title, metadata: None }
                }
                _ => ModelEvent::SourceDocument {
                    filename: address.and_then(|path| path.rsplit('/').next()).map(str::to_owned),
                    title,
                    media_type: None,
                    text: owned(page, "text"),
                    metadata: None,
                },
            });
        }
    }
}

fn signed(sink: &EventSink, signature: Option<Value>) -> Option<Value> {
    metadata(sink.provider(), [("thoughtSignature", signature)])
}

/// Gemini counts reasoning separately; we include it in the output tokens.
fn usage_of(usage: &Value) -> Usage {
    let count = |key: &str| number(usage, key);
    let thoughts = count("/thoughtsTokenCount");
    let output = match (count("/candidatesTokenCount"), thoughts) {
        (None, None) => None,
        (said, thought) => Some(said.unwrap_or(0) + thought.unwrap_or(0)),
    };
    Usage {
        input_tokens: count("/promptTokenCount"),
        output_tokens: output,
        total_tokens: count("/totalTokenCount"),
        reasoning_tokens: thoughts,
        cached_input_tokens: count("/cachedContentTokenCount"),
        cache_write_tokens: None,
    }
}
