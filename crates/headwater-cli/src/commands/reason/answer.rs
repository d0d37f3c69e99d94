//! Assembles a model's output: one turn, and the answer over all turns.

use std::collections::BTreeMap;

use headwater_models::{ContentPart, ModelError, ModelErrorKind, ModelEvent, ToolResultOutput, Warning};
use headwater_protocol::{FinishReason, Usage};
use headwater_tools::{Mismatch, Schema};
use serde_json::{Map, Value, json};

/// A tool call requested by the model, or already executed by its provider.
#[derive(Debug, Clone)]
pub(super) struct ToolUse {
    pub(super) id: String,
    pub(super) name: String,
    /// The input, or the raw text if it is not JSON.
    pub(super) input: Result<Value, String>,
    pub(super) provider_executed: bool,
    metadata: Option<Value>,
    output: Option<(Value, bool)>,
}

/// One reply of the model.
#[derive(Debug, Default)]
pub(super) struct ModelTurn {
    parts: BTreeMap<u32, TurnPart>,
    sources: Vec<Value>,
    warnings: Vec<Warning>,
    finish: Option<(FinishReason, Option<String>)>,
    usage: Usage,
}

#[derive(Debug)]
enum TurnPart {
    Text {
        text: String,
        metadata: Option<Value>,
    },
    Reasoning {
        text: String,
        metadata: Option<Value>,
    },
    /// A call whose input is still arriving: id, name, executor, and the input so far.
    Growing {
        id: String,
        name: String,
        provider_executed: bool,
        input: String,
    },
    Call(ToolUse),
}

impl ModelTurn {
    pub(super) fn on_event(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::TextStart { part, metadata } => {
                self.parts.insert(part, TurnPart::Text { text: String::new(), metadata });
            }
            ModelEvent::ReasoningStart { part, metadata } => {
                self.parts.insert(part, TurnPart::Reasoning { text: String::new(), metadata });
            }
            ModelEvent::TextDelta { part, delta } | ModelEvent::ReasoningDelta { part, delta } => {
                if let Some(TurnPart::Text { text, .. } | TurnPart::Reasoning { text, .. }) =
                    self.parts.get_mut(&part)
                {
                    text.push_str(&delta);
                }
            }
            ModelEvent::TextEnd { part, metadata: ended }
            | ModelEvent::ReasoningEnd { part, metadata: ended } => {
                if let Some(TurnPart::Text { metadata, .. } | TurnPart::Reasoning { metadata, .. }) =
                    self.parts.get_mut(&part)
                {
                    *metadata = ended.or(metadata.take());
                }
            }
            ModelEvent::ToolCallStart { part, call, name, provider_executed, .. } => {
                // Some providers give calls no ids; a result needs one to refer to its call.
                let id = call.unwrap_or_else(|| format!("call_{part}"));
                self.parts
                    .insert(part, TurnPart::Growing { id, name, provider_executed, input: String::new() });
            }
            ModelEvent::ToolCallDelta { part, delta } => {
                if let Some(TurnPart::Growing { input, .. }) = self.parts.get_mut(&part) {
                    input.push_str(&delta);
                }
            }
            ModelEvent::ToolCallEnd { part, metadata } => self.end_call(part, metadata),
            ModelEvent::ToolResult { part, output, is_error } => {
                if let Some(TurnPart::Call(call)) = self.parts.get_mut(&part) {
                    call.output = Some((output, is_error));
                }
            }
            ModelEvent::SourceUrl { url, title, .. } => {
                self.sources.push(named([
                    ("sourceType", Some("url".into())),
                    ("url", Some(url)),
                    ("title", title),
                ]));
            }
            ModelEvent::SourceDocument { title, media_type, filename, .. } => {
                self.sources.push(named([
                    ("sourceType", Some("document".into())),
                    ("title", title),
                    ("mediaType", media_type),
                    ("filename", filename),
                ]));
            }
            ModelEvent::Warning(warning) => self.warnings.push(warning),
            ModelEvent::Finished { reason, raw_reason, usage, .. } => {
                self.finish = Some((reason, raw_reason));
                self.usage = usage;
            }
            _ => {}
        }
    }

    fn end_call(&mut self, part: u32, metadata: Option<Value>) {
        if let Some(TurnPart::Growing { id, name, provider_executed, input }) = self.parts.remove(&part) {
            let input = serde_json::from_str(&input).map_err(|_| input);
            self.parts.insert(
                part,
                TurnPart::Call(ToolUse { id, name, input, provider_executed, metadata, output: None }),
            );
        }
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &ToolUse> {
        self.parts.values().filter_map(|part| match part {
            TurnPart::Call(call) => Some(call),
            _ => None,
        })
    }

    /// The parts of this turn that the next request repeats.
    pub(super) fn content(&self) -> Vec<ContentPart> {
        let mut content = Vec::new();
        for part in self.parts.values() {
            match part {
                TurnPart::Text { text, metadata } => {
                    let (text, provider_options) = (text.clone(), metadata.clone());
                    content.push(ContentPart::Text { text, provider_options });
                }
                TurnPart::Reasoning { text, metadata } => {
                    let (text, provider_options) = (text.clone(), metadata.clone());
                    content.push(ContentPart::Reasoning { text, provider_options });
                }
                TurnPart::Growing { .. } => {}
                TurnPart::Call(call) => {
                    content.push(ContentPart::ToolCall {
                        tool_call_id: call.id.as_str().into(),
                        tool_name: call.name.clone(),
                        input: Some(call.input.clone().unwrap_or_else(|_| json!({}))),
                        provider_executed: call.provider_executed.then_some(true),
                        provider_options: call.metadata.clone(),
                    });
                    if let Some((value, is_error)) = call.output.clone() {
                        let output = if is_error {
                            ToolResultOutput::ErrorJson { value }
                        } else {
                            ToolResultOutput::Json { value }
                        };
                        content.push(ContentPart::ToolResult {
                            tool_call_id: call.id.as_str().into(),
                            tool_name: call.name.clone(),
                            output,
                            provider_options: None,
                        });
                    }
                }
            }
        }
        content
    }
}

/// The result of all turns. Texts and finish reason come from the last one.
#[derive(Debug, Default)]
pub(super) struct ReasonAnswer {
    pub(super) text: String,
    reasoning: String,
    calls: Vec<ToolUse>,
    output: Option<Value>,
    finish: Option<(FinishReason, Option<String>)>,
    pub(super) usage: Usage,
    pub(super) warnings: Vec<Warning>,
    pub(super) sources: Vec<Value>,
    pub(super) error: Option<Value>,
}

impl ReasonAnswer {
    /// Adds a turn. Returns whether it has a call that no earlier turn had.
    pub(super) fn add(&mut self, turn: ModelTurn) -> bool {
        let ModelTurn { parts, sources, warnings, finish, usage } = turn;
        self.text.clear();
        self.reasoning.clear();
        let before = self.calls.len();
        for part in parts.into_values() {
            match part {
                TurnPart::Text { text, .. } => self.text.push_str(&text),
                TurnPart::Reasoning { text, .. } => self.reasoning.push_str(&text),
                TurnPart::Growing { .. } => {}
                TurnPart::Call(call) => {
                    let known = self.calls.iter().take(before).any(|known| known.id == call.id);
                    if !known {
                        self.calls.push(call);
                    }
                }
            }
        }
        self.finish = finish;
        self.sources.extend(sources);
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        add_usage(&mut self.usage, &usage);
        self.calls.len() > before
    }

    /// Records an error that left the answer missing or incomplete.
    pub(super) fn failed(&mut self, error: &ModelError) {
        let word = if error.kind() == ModelErrorKind::Cut { "interrupted" } else { "error" };
        self.finish = Some((FinishReason::parse(word), None));
        let mut told = json!({
            "message": error.message(),
            "code": error.kind().code(),
            "retryable": error.is_retryable(),
        });
        if let Some(fields) = told.as_object_mut() {
            let wait = error.wait().map(|wait| json!(wait.as_millis() as u64));
            for (key, value) in [
                ("status", error.http_status().map(Value::from)),
                ("retryAfterMs", wait),
                ("requestId", error.request_id().map(Value::from)),
            ] {
                fields.extend(value.map(|value| (key.to_owned(), value)));
            }
        }
        self.error = Some(told);
    }

    /// Parses the output and checks it against the schema.
    pub(super) fn read_output(&mut self, schema: &Schema) {
        let told = |message: String| {
            Some(json!({ "message": message, "code": "output.invalid", "retryable": true }))
        };
        match serde_json::from_str::<Value>(self.text.trim()) {
            Err(error) => self.error = told(format!("the answer is not JSON: {error}")),
            Ok(value) => {
                if let Err(mismatches) = schema.check(&value) {
                    let list = Mismatch::in_one_line(&mismatches);
                    self.error = told(format!("the answer does not fit the schema: {list}"));
                }
                self.output = Some(value);
            }
        }
    }

    /// The finish reason as one of our six words, whatever the provider calls it.
    fn finish_word(&self) -> Option<&str> {
        self.finish.as_ref().map(|(reason, _)| match reason {
            FinishReason::Other(word) if word == "interrupted" => word,
            FinishReason::Other(_) => "other",
            known => known.as_str(),
        })
    }

    pub(super) fn to_json(&self) -> Value {
        let calls = self.calls.iter().map(|call| {
            let input = call.input.clone().unwrap_or_else(Value::String);
            let mut told = json!({ "toolCallId": call.id, "toolName": call.name, "input": input });
            if let (true, Some(fields)) = (call.provider_executed, told.as_object_mut()) {
                fields.insert("providerExecuted".to_owned(), true.into());
            }
            told
        });
        json!({
            "text": self.text,
            "reasoning": self.reasoning,
            "toolCalls": calls.collect::<Value>(),
            "output": self.output,
            "finishReason": self.finish_word(),
            "rawFinishReason": self.finish.as_ref().and_then(|(_, raw)| raw.as_deref()),
            "usage": self.usage,
            "warnings": self.warnings,
            "sources": self.sources,
            "error": self.error,
        })
    }
}

fn named<const N: usize>(fields: [(&str, Option<String>); N]) -> Value {
    let fields = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.into())));
    Value::Object(fields.collect::<Map<_, _>>())
}

fn add_usage(sum: &mut Usage, more: &Usage) {
    let add = |sum: &mut Option<u64>, more: Option<u64>| {
        if let Some(more) = more {
            *sum = Some(sum.unwrap_or_default().saturating_add(more));
        }
    };
    add(&mut sum.input_tokens, more.input_tokens);
    add(&mut sum.output_tokens, more.output_tokens);
    add(&mut sum.total_tokens, more.total_tokens);
    add(&mut sum.reasoning_tokens, more.reasoning_tokens);
    add(&mut sum.cached_input_tokens, more.cached_input_tokens);
    add(&mut sum.cache_write_tokens, more.cache_write_tokens);
}
