//! Encodes a request for generateContent.

use headwater_protocol::ToolSpec;
use serde_json::{Map, Value, json};

use crate::{
    ContentPart, ModelError, ModelMessage, ModelRequest, ReasoningEffort, ReasoningOptions, ResponseFormat,
    ToolChoice,
    wire::{
        EncodedRequest, Settings,
        prompt::{Draft, Media, MediaSource, is, list_mut, output_text, output_value, put},
    },
};

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
    let (mut system, mut turns) = (Vec::new(), Vec::new());
    for message in messages {
        let (role, parts) = match message {
            ModelMessage::System { content, .. } => {
                system.push(json!({ "text": content }));
                continue;
            }
            ModelMessage::User { content } => {
                let parts =
                    content.iter().map(|part| write_part(part, &draft)).collect::<Result<Vec<_>, _>>()?;
                ("user", parts)
            }
            ModelMessage::Assistant { content } => ("model", write_answer(content, &mut draft)),
            ModelMessage::Tool { content } => ("user", content.iter().filter_map(write_result).collect()),
        };
        add_turn(&mut turns, role, parts);
    }
    draft.set("contents", turns);
    if !system.is_empty() {
        draft.set("systemInstruction", json!({ "parts": system }));
    }
    const CONFIG: &str = "generationConfig";
    if let Some(temperature) = temperature {
        draft.set_in(CONFIG, "temperature", *temperature);
    }
    if let Some(limit) = max_output_tokens {
        draft.set_in(CONFIG, "maxOutputTokens", *limit);
    }
    if !stop_sequences.is_empty() {
        draft.set_in(CONFIG, "stopSequences", stop_sequences.as_slice());
    }
    if let Some(reasoning) = reasoning {
        let config = write_reasoning(reasoning, &mut draft);
        draft.set_in(CONFIG, "thinkingConfig", config);
    }
    if let Some(ResponseFormat::Json { schema, name: _ }) = response_format {
        draft.set_in(CONFIG, "responseMimeType", "application/json");
        if let Some(schema) = schema {
            draft.set_in(CONFIG, "responseJsonSchema", schema.clone());
        }
    }
    if !tools.is_empty() {
        write_tools(tools, &mut draft);
        if let Some(choice) = tool_choice {
            let config = match choice {
                ToolChoice::Auto => json!({ "mode": "AUTO" }),
                ToolChoice::None => json!({ "mode": "NONE" }),
                ToolChoice::Required => json!({ "mode": "ANY" }),
                ToolChoice::Tool(name) => json!({ "mode": "ANY", "allowedFunctionNames": [name] }),
            };
            draft.set("toolConfig", json!({ "functionCallingConfig": config }));
        }
    }
    let model = settings.model.as_str();
    let model = if model.contains('/') { model.to_owned() } else { format!("models/{model}") };
    let path = if *whole {
        format!("/{model}:generateContent")
    } else {
        format!("/{model}:streamGenerateContent?alt=sse")
    };
    Ok(draft.finish(path, request))
}

/// Adjacent turns of one role are merged.
fn add_turn(turns: &mut Vec<Value>, role: &str, parts: Vec<Value>) {
    if parts.is_empty() {
        return;
    }
    if let Some(last) = turns.last_mut()
        && is(last, "role", role)
        && let Some(so_far) = list_mut(last, "parts")
    {
        so_far.extend(parts);
    } else {
        turns.push(json!({ "role": role, "parts": parts }));
    }
}

fn write_part(part: &ContentPart, draft: &Draft<'_>) -> Result<Value, ModelError> {
    match part {
        ContentPart::Text { text, .. } => Ok(json!({ "text": text })),
        ContentPart::File { media_type, data, .. } => {
            let media = Media::read(media_type, data, draft)?;
            Ok(match media.source {
                MediaSource::Data(data) => {
                    json!({ "inlineData": { "mimeType": media.media_type, "data": data } })
                }
                MediaSource::Url(url) | MediaSource::Id(url) => {
                    json!({ "fileData": { "mimeType": media.media_type, "fileUri": url } })
                }
            })
        }
        _ => Err(draft.refuse("a user message has a part that is neither text nor a file")),
    }
}

/// Encodes an earlier answer. Signatures are sent back with their parts.
fn write_answer(content: &[ContentPart], draft: &mut Draft<'_>) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut has_calls = false;
    for part in content {
        let (mut written, options) = match part {
            ContentPart::Text { text, provider_options } => {
                let is_signed = draft.option(provider_options.as_ref(), "thoughtSignature").is_some();
                if text.is_empty() && !is_signed {
                    continue;
                }
                (json!({ "text": text }), provider_options)
            }
            ContentPart::Reasoning { text, provider_options } => {
                (json!({ "text": text, "thought": true }), provider_options)
            }
            ContentPart::ToolCall { tool_call_id, tool_name, input, provider_executed, provider_options } => {
                let input = input.clone().unwrap_or_else(|| json!({}));
                let call = match (provider_executed, tool_name.strip_prefix("server:")) {
                    (Some(true), Some(kind)) => {
                        json!({ "toolCall": { "toolType": kind, "args": input, "id": tool_call_id } })
                    }
                    (Some(true), None) => json!({ "executableCode": input }),
                    _ => json!({ "functionCall": { "name": tool_name, "args": input } }),
                };
                (call, provider_options)
            }
            ContentPart::ToolResult { tool_call_id, tool_name, output, provider_options } => {
                let output = output_value(output);
                let result = match tool_name.strip_prefix("server:") {
                    Some(kind) => {
                        json!({ "toolResponse": { "toolType": kind, "response": output, "id": tool_call_id } })
                    }
                    None => json!({ "codeExecutionResult": output }),
                };
                (result, provider_options)
            }
            ContentPart::File { media_type, data, provider_options, .. } => {
                match Media::read(media_type, data, draft) {
                    Ok(Media { media_type, source: MediaSource::Data(data) }) => {
                        (json!({ "inlineData": { "mimeType": media_type, "data": data } }), provider_options)
                    }
                    _ => {
                        draft.warn(
                            "messages",
                            "a file of an earlier answer is dropped: it cannot be sent back",
                        );
                        continue;
                    }
                }
            }
            _ => continue,
        };
        let is_first_call = written.get("functionCall").is_some() && !std::mem::replace(&mut has_calls, true);
        if let Some(signature) = draft.option(options.as_ref(), "thoughtSignature") {
            put(&mut written, "thoughtSignature", signature);
        } else if is_first_call && draft.settings.model.contains("gemini-3") {
            // The first call of a turn must be signed. For a call of another model, this value skips the
            // check.
            put(&mut written, "thoughtSignature", "skip_thought_signature_validator");
        }
        parts.push(written);
    }
    parts
}

fn write_result(part: &ContentPart) -> Option<Value> {
    let ContentPart::ToolResult { tool_name, output, .. } = part else { return None };
    let (_, is_error) = output_text(output);
    let key = if is_error { "error" } else { "output" };
    let response = match output_value(output) {
        Value::Object(fields) if !is_error => Value::Object(fields),
        other => json!({ key: other }),
    };
    Some(json!({ "functionResponse": { "name": tool_name, "response": response } }))
}

/// Functions go into one list; Google's own tools are separate entries, taken from their options.
fn write_tools(tools: &[ToolSpec], draft: &mut Draft<'_>) {
    let (mut functions, mut written) = (Vec::new(), Vec::new());
    for tool in tools {
        if let Some(own) = draft.options(tool.provider_options.as_ref()) {
            written.push(Value::Object(own.clone()));
            continue;
        }
        let mut function = json!({ "name": tool.name });
        if let Some(description) = &tool.description {
            put(&mut function, "description", description.as_str());
        }
        // The API rejects an object without properties, so empty parameters are omitted.
        let has_fields = tool
            .input_schema
            .get("properties")
            .and_then(Value::as_object)
            .is_some_and(|p: &Map<_, _>| !p.is_empty());
        if has_fields || tool.input_schema.get("$ref").is_some() {
            put(&mut function, "parametersJsonSchema", tool.input_schema.clone());
        }
        functions.push(function);
    }
    if !functions.is_empty() {
        written.insert(0, json!({ "functionDeclarations": functions }));
    }
    draft.set("tools", written);
}

fn write_reasoning(reasoning: &ReasoningOptions, draft: &mut Draft<'_>) -> Value {
    let ReasoningOptions { effort, max_tokens } = reasoning;
    let thinks = max_tokens.is_some() || *effort != Some(ReasoningEffort::None);
    let mut config = json!({ "includeThoughts": thinks });
    let has_levels = draft.settings.model.contains("gemini-3");
    match (max_tokens, effort) {
        (Some(budget), effort) => {
            if effort.is_some() {
                draft.warn("reasoning.effort", "ignored: `reasoning.max_tokens` takes precedence");
            }
            put(&mut config, "thinkingBudget", *budget);
        }
        (None, Some(ReasoningEffort::None)) if has_levels => {
            draft.warn("reasoning.effort", "sent as `minimal`: this model always reasons");
            put(&mut config, "thinkingLevel", "minimal");
        }
        (None, Some(effort)) if has_levels => put(&mut config, "thinkingLevel", effort.as_str()),
        (None, Some(effort)) => {
            let budget = match effort {
                ReasoningEffort::None => 0,
                ReasoningEffort::Minimal => 512,
                ReasoningEffort::Low => 2048,
                ReasoningEffort::Medium => 8192,
                ReasoningEffort::High => 24_576,
            };
            if *effort != ReasoningEffort::None {
                let message = format!("sent as {budget} tokens: this model expects a token budget");
                draft.warn("reasoning.effort", message);
            }
            put(&mut config, "thinkingBudget", budget);
        }
        (None, None) => {}
    }
    config
}
