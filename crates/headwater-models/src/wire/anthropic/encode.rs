//! Encodes a request for Anthropic.

use headwater_protocol::ToolSpec;
use serde_json::{Map, Value, json};

use super::{execution, schema};
use crate::{
    ContentPart, ModelError, ModelMessage, ModelRequest, ReasoningEffort, ReasoningOptions, ResponseFormat,
    ToolChoice, ToolResultOutput,
    wire::{
        EncodedRequest, Settings,
        prompt::{Draft, Media, MediaSource, in_words, is, list_mut, output_text, output_value, put},
    },
};

const VERSION: &str = "2023-06-01";

pub(in crate::wire) fn encode(
    request: &ModelRequest,
    settings: &Settings,
) -> Result<EncodedRequest, ModelError> {
    // No `..`: the compiler must point here when an option is added.
    let ModelRequest {
        messages,
        tools,
        tool_choice,
        response_format,
        temperature,
        max_output_tokens,
        stop_sequences,
        reasoning,
        provider_options: _,
        whole,
        attempt: _,
    } = request;
    let mut draft = Draft::new(settings);
    draft.headers.push(("anthropic-version", VERSION.to_owned()));
    draft.set("model", settings.model.as_str());
    let mut turns = Turns::default();
    for message in messages {
        turns.write(message, &mut draft)?;
    }
    draft.set("max_tokens", max_output_tokens.unwrap_or_else(|| usual_limit(&settings.model)));
    let thinks = reasoning.as_ref().is_some_and(|reasoning| write_reasoning(reasoning, &mut draft));
    match temperature {
        Some(_) if !has_sampling(&settings.model) => {
            draft.warn("temperature", "ignored: this model does not accept it");
        }
        Some(_) if thinks => draft.warn("temperature", "ignored: a reasoning model does not accept it"),
        Some(temperature) if *temperature > 1.0 => {
            draft.warn("temperature", "sent as 1, the maximum of this provider");
            draft.set("temperature", 1.0);
        }
        Some(temperature) => draft.set("temperature", *temperature),
        None => {}
    }
    if !stop_sequences.is_empty() {
        draft.set("stop_sequences", stop_sequences.as_slice());
    }
    if !tools.is_empty() {
        let tools: Vec<_> = tools.iter().map(|tool| write_tool(tool, &draft)).collect();
        draft.set("tools", tools);
        match tool_choice {
            Some(ToolChoice::Auto) => draft.set("tool_choice", json!({ "type": "auto" })),
            Some(ToolChoice::None) => draft.set("tool_choice", json!({ "type": "none" })),
            Some(ToolChoice::Required) => draft.set("tool_choice", json!({ "type": "any" })),
            Some(ToolChoice::Tool(name)) => draft.set("tool_choice", json!({ "type": "tool", "name": name })),
            None => {}
        }
    }
    if let Some(ResponseFormat::Json { schema, name: _ }) = response_format {
        match schema {
            Some(schema) => {
                let (schema, left_out) = schema::accepted(schema);
                if !left_out.is_empty() {
                    let message = format!(
                        "removed from the schema, so validate them yourself: {}",
                        left_out.join(", ")
                    );
                    draft.warn("response_format", message);
                }
                draft.set_in("output_config", "format", json!({ "type": "json_schema", "schema": schema }));
            }
            None => {
                draft.warn(
                    "response_format",
                    "JSON is requested in the prompt: this provider accepts only schemas",
                );
                turns.system.push(json!({ "type": "text", "text": in_words(None) }));
            }
        }
    }
    if !turns.system.is_empty() {
        draft.set("system", turns.system);
    }
    draft.set("messages", turns.turns);
    if !whole {
        draft.set("stream", true);
    }
    let mut encoded = draft.finish("/v1/messages", request);
    // Betas are a header, but are given as an option.
    if let Some(Value::Array(betas)) =
        encoded.body.as_object_mut().and_then(|body| body.shift_remove("betas"))
    {
        let betas: Vec<_> = betas.iter().filter_map(Value::as_str).collect();
        encoded.headers.push(("anthropic-beta", betas.join(",")));
    }
    Ok(encoded)
}

/// The turns so far. Adjacent turns of one role are merged, as the API requires.
#[derive(Default)]
struct Turns {
    system: Vec<Value>,
    turns: Vec<Value>,
}

impl Turns {
    fn write(&mut self, message: &ModelMessage, draft: &mut Draft<'_>) -> Result<(), ModelError> {
        match message {
            ModelMessage::System { content, provider_options } => {
                let block = json!({ "type": "text", "text": content });
                self.system.push(cached(block, provider_options.as_ref(), draft));
            }
            ModelMessage::User { content } => {
                let parts =
                    content.iter().map(|part| write_part(part, draft)).collect::<Result<Vec<_>, _>>()?;
                self.add("user", parts);
            }
            ModelMessage::Assistant { content } => {
                let parts = content.iter().filter_map(|part| write_said(part, content, draft)).collect();
                self.add("assistant", parts);
            }
            ModelMessage::Tool { content } => {
                let results = content.iter().filter_map(|part| match part {
                    ContentPart::ToolResult { tool_call_id, output, provider_options, .. } => {
                        let (content, is_error) = output_text(output);
                        let mut block = json!({
                            "type": "tool_result", "tool_use_id": tool_call_id, "content": content,
                        });
                        if is_error {
                            put(&mut block, "is_error", true);
                        }
                        Some(cached(block, provider_options.as_ref(), draft))
                    }
                    _ => None,
                });
                let results = results.collect();
                self.add("user", results);
            }
        }
        Ok(())
    }

    fn add(&mut self, role: &str, parts: Vec<Value>) {
        if parts.is_empty() {
            return;
        }
        if let Some(last) = self.turns.last_mut()
            && is(last, "role", role)
            && let Some(content) = list_mut(last, "content")
        {
            content.extend(parts);
        } else {
            self.turns.push(json!({ "role": role, "content": parts }));
        }
    }
}

fn write_part(part: &ContentPart, draft: &Draft<'_>) -> Result<Value, ModelError> {
    match part {
        ContentPart::Text { text, provider_options } => {
            Ok(cached(json!({ "type": "text", "text": text }), provider_options.as_ref(), draft))
        }
        ContentPart::File { media_type, filename, data, provider_options } => {
            let media = Media::read(media_type, data, draft)?;
            let source = match media.source {
                MediaSource::Url(url) => json!({ "type": "url", "url": url }),
                MediaSource::Data(data) => {
                    json!({ "type": "base64", "media_type": media.media_type, "data": data })
                }
                MediaSource::Id(id) => json!({ "type": "file", "file_id": id }),
            };
            let mut block = if media.is_image() {
                json!({ "type": "image", "source": source })
            } else if media.is_pdf() || !matches!(media.source, MediaSource::Data(_)) {
                json!({ "type": "document", "source": source })
            } else if let Some(text) = media.text() {
                let source = json!({ "type": "text", "media_type": "text/plain", "data": text });
                json!({ "type": "document", "source": source })
            } else {
                return Err(draft
                    .refuse(format!("a file of type {} cannot be sent to this provider", media.media_type)));
            };
            if is(&block, "type", "document") {
                if let Some(name) = filename {
                    put(&mut block, "title", name.as_str());
                }
                if let Some(citations) =
                    draft.options(provider_options.as_ref()).and_then(|own| own.get("citations"))
                {
                    put(&mut block, "citations", citations.clone());
                }
            }
            Ok(cached(block, provider_options.as_ref(), draft))
        }
        _ => Err(draft.refuse("a user message has a part that is neither text nor a file")),
    }
}

/// Encodes a part of an earlier answer. Signed parts are sent back unchanged.
fn write_said(part: &ContentPart, turn: &[ContentPart], draft: &mut Draft<'_>) -> Option<Value> {
    match part {
        ContentPart::Text { text, provider_options } => {
            if draft.option(provider_options.as_ref(), "type") == Some("compaction") {
                return Some(json!({ "type": "compaction", "content": text }));
            }
            // The API rejects empty text.
            (!text.is_empty())
                .then(|| cached(json!({ "type": "text", "text": text }), provider_options.as_ref(), draft))
        }
        ContentPart::Reasoning { text, provider_options } => {
            let options = provider_options.as_ref();
            if let Some(signature) = draft.option(options, "signature") {
                return Some(json!({ "type": "thinking", "thinking": text, "signature": signature }));
            }
            if let Some(data) = draft.option(options, "redactedData") {
                return Some(json!({ "type": "redacted_thinking", "data": data }));
            }
            draft.warn(
                "messages",
                "reasoning without a signature is dropped: the provider accepts only its own",
            );
            None
        }
        ContentPart::ToolCall { tool_call_id, tool_name, input, provider_executed, provider_options } => {
            let own = draft.options(provider_options.as_ref());
            let mut input = input.clone().unwrap_or_else(|| json!({}));
            let own_name = draft.option(provider_options.as_ref(), "toolName");
            if own_name.is_some() {
                execution::unmark(&mut input);
            }
            let name = own_name.unwrap_or(tool_name);
            let mut block = json!({ "type": "tool_use", "id": tool_call_id, "name": name, "input": input });
            if *provider_executed == Some(true) {
                let kind = draft.option(provider_options.as_ref(), "type").unwrap_or("server_tool_use");
                put(&mut block, "type", kind);
            }
            for (ours, theirs) in [("serverName", "server_name"), ("caller", "caller")] {
                if let Some(value) = own.and_then(|own| own.get(ours)) {
                    put(&mut block, theirs, value.clone());
                }
            }
            Some(cached(block, provider_options.as_ref(), draft))
        }
        ContentPart::ToolResult { tool_call_id, tool_name, output, .. } => {
            let call = turn.iter().find_map(|call| match call {
                ContentPart::ToolCall { tool_call_id: id, provider_options, .. } => {
                    (id == tool_call_id).then_some(provider_options.as_ref())
                }
                _ => None,
            });
            let of_call = |key| call.and_then(|options| draft.option(options, key));
            let is_mcp = of_call("type") == Some("mcp_tool_use");
            let name = of_call("toolName").unwrap_or(tool_name);
            let kind = if is_mcp { "mcp_tool_result".to_owned() } else { result_type(name) };
            let mut block =
                json!({ "type": kind, "tool_use_id": tool_call_id, "content": output_value(output) });
            if is_mcp {
                put(&mut block, "is_error", matches!(output, ToolResultOutput::ErrorJson { .. }));
            }
            Some(block)
        }
        ContentPart::File { .. } | ContentPart::ReasoningFile { .. } => {
            draft.warn("messages", "a file of an earlier answer is dropped: it cannot be sent back");
            None
        }
        _ => None,
    }
}

/// The type name of the result of an Anthropic tool.
fn result_type(tool: &str) -> String {
    let tool = if tool.starts_with("tool_search_tool") { "tool_search" } else { tool };
    format!("{tool}_tool_result")
}

fn write_tool(tool: &ToolSpec, draft: &Draft<'_>) -> Value {
    let own = draft.options(tool.provider_options.as_ref());
    if let Some(own) = own.filter(|own| own.contains_key("type")) {
        return Value::Object(own.clone());
    }
    let mut written = json!({ "name": tool.name, "input_schema": tool.input_schema });
    if let Some(description) = &tool.description {
        put(&mut written, "description", description.as_str());
    }
    for (key, value) in own.into_iter().flatten() {
        let key = if key == "cacheControl" { "cache_control" } else { key };
        put(&mut written, key, value.clone());
    }
    written
}

/// Marks a block as the end of the cached prefix, if its options ask for it.
fn cached(mut block: Value, options: Option<&Value>, draft: &Draft<'_>) -> Value {
    let own = draft.options(options);
    let mark = own.and_then(|own: &Map<_, _>| own.get("cacheControl").or_else(|| own.get("cache_control")));
    if let Some(mark) = mark {
        put(&mut block, "cache_control", mark.clone());
    }
    block
}

/// Sets the reasoning options; returns whether the model reasons.
fn write_reasoning(reasoning: &ReasoningOptions, draft: &mut Draft<'_>) -> bool {
    let ReasoningOptions { effort, max_tokens } = reasoning;
    let budget = match (max_tokens, effort) {
        (_, Some(ReasoningEffort::None)) => {
            draft.set("thinking", json!({ "type": "disabled" }));
            return false;
        }
        (Some(_), _) if !has_sampling(&draft.settings.model) => {
            draft.warn("reasoning.max_tokens", "ignored: this model chooses its own reasoning budget");
            draft.set("thinking", json!({ "type": "adaptive" }));
            if let Some(effort) = effort {
                write_effort(*effort, draft);
            }
            return true;
        }
        (Some(budget), effort) => {
            if effort.is_some() {
                draft.warn("reasoning.effort", "ignored: `reasoning.max_tokens` takes precedence");
            }
            *budget
        }
        (None, Some(effort)) if has_effort(&draft.settings.model) => {
            draft.set("thinking", json!({ "type": "adaptive" }));
            write_effort(*effort, draft);
            return true;
        }
        (None, Some(effort)) => {
            let budget = match effort {
                ReasoningEffort::None | ReasoningEffort::Minimal => 1024,
                ReasoningEffort::Low => 2048,
                ReasoningEffort::Medium => 8192,
                ReasoningEffort::High => 16384,
            };
            draft.warn(
                "reasoning.effort",
                format!("sent as {budget} tokens: this model expects a token budget"),
            );
            budget
        }
        (None, None) => return false,
    };
    if budget < 1024 {
        draft.warn("reasoning.max_tokens", "sent as 1024, the minimum of this provider");
    }
    let budget = budget.max(1024);
    draft.set("thinking", json!({ "type": "enabled", "budget_tokens": budget }));
    // Reasoning counts towards the answer's limit, so the limit must cover both.
    let answer = draft.body.get("max_tokens").and_then(Value::as_u64).unwrap_or_default();
    draft.set("max_tokens", answer.saturating_add(budget));
    true
}

fn write_effort(effort: ReasoningEffort, draft: &mut Draft<'_>) {
    let is_less = matches!(effort, ReasoningEffort::None | ReasoningEffort::Minimal);
    if is_less {
        draft.warn("reasoning.effort", "sent as `low`, the lowest effort of this provider");
    }
    draft.set_in("output_config", "effort", if is_less { "low" } else { effort.as_str() });
}

/// The version in a model name such as `claude-sonnet-4-5-20250929`.
fn version(model: &str) -> Option<(u32, u32)> {
    let mut numbers =
        model.split(['-', '.', '@']).filter_map(|word| word.parse::<u32>().ok()).filter(|n| *n < 100);
    let major = numbers.next()?;
    Some((major, numbers.next().unwrap_or(0)))
}

/// Whether the model accepts an effort level.
fn has_effort(model: &str) -> bool {
    version(model).is_some_and(|version| version >= (4, 6))
}

/// Whether the model accepts a temperature and a reasoning budget. Models from 4.7 on reject both.
fn has_sampling(model: &str) -> bool {
    version(model).is_none_or(|version| version < (4, 7))
}

/// Default token limit, because the API requires one.
fn usual_limit(model: &str) -> u64 {
    match version(model) {
        Some((0..=2, _) | (3, 0)) => 4096,
        Some((3, _)) => 8192,
        Some((4, 0 | 1)) if model.contains("opus") => 32_000,
        Some(_) => 64_000,
        None => 8192,
    }
}
