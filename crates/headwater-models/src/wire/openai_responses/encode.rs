//! Encodes a request for the Responses API.

use headwater_protocol::ToolSpec;
use serde_json::{Map, Value, json};

use super::resume;
use crate::{
    ContentPart, ModelError, ModelMessage, ModelRequest, ReasoningOptions, ResponseFormat, ToolChoice,
    wire::{
        EncodedRequest, Settings, openai_chat,
        prompt::{Draft, Media, MediaSource, is, is_strict, list_mut, output_text, put},
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
    draft.set("model", settings.model.as_str());
    let mut input = Vec::new();
    for message in messages {
        write_turn(message, &mut input, &mut draft)?;
    }
    draft.set("input", input);
    // OpenAI must not store the conversation; reasoning is returned encrypted instead.
    draft.set("store", false);
    let thinks = openai_chat::thinks(&settings.model, reasoning.as_ref());
    if thinks || reasoning.is_some() {
        draft.set("include", json!(["reasoning.encrypted_content"]));
    }
    match temperature {
        Some(_) if thinks => draft.warn("temperature", "ignored: reasoning models do not accept it"),
        Some(temperature) => draft.set("temperature", *temperature),
        None => {}
    }
    if let Some(limit) = max_output_tokens {
        draft.set("max_output_tokens", *limit);
    }
    if !stop_sequences.is_empty() {
        draft.warn(
            "stop_sequences",
            "ignored: this API does not support them; use openai-chat with a non-reasoning model",
        );
    }
    if let Some(ReasoningOptions { effort, max_tokens }) = reasoning {
        if max_tokens.is_some() {
            draft.warn("reasoning.max_tokens", "ignored: this provider accepts only an effort level");
        }
        if let Some(effort) = effort {
            draft.set_in("reasoning", "effort", effort.as_str());
        }
        draft.set_in("reasoning", "summary", "auto");
    }
    if !tools.is_empty() {
        let tools: Vec<_> = tools.iter().map(|tool| write_tool(tool, &draft)).collect();
        draft.set("tools", tools);
        match tool_choice {
            Some(ToolChoice::Auto) => draft.set("tool_choice", "auto"),
            Some(ToolChoice::None) => draft.set("tool_choice", "none"),
            Some(ToolChoice::Required) => draft.set("tool_choice", "required"),
            Some(ToolChoice::Tool(name)) => {
                draft.set("tool_choice", json!({ "type": "function", "name": name }));
            }
            None => {}
        }
    }
    if let Some(ResponseFormat::Json { schema, name }) = response_format {
        let format = match schema {
            Some(schema) => json!({
                "type": "json_schema",
                "name": name.as_deref().unwrap_or("answer"),
                "schema": schema,
                "strict": is_strict(schema),
            }),
            None => json!({ "type": "json_object" }),
        };
        draft.set_in("text", "format", format);
    }
    if !whole {
        draft.set("stream", true);
    }
    let mut encoded = draft.finish("/responses", request);
    resume::prepare(&mut encoded);
    Ok(encoded)
}

fn write_turn(
    message: &ModelMessage,
    input: &mut Vec<Value>,
    draft: &mut Draft<'_>,
) -> Result<(), ModelError> {
    match message {
        ModelMessage::System { content, .. } => input.push(json!({ "role": "system", "content": content })),
        ModelMessage::User { content } => {
            let parts = content.iter().map(|part| write_part(part, draft)).collect::<Result<Vec<_>, _>>()?;
            input.push(json!({ "role": "user", "content": parts }));
        }
        ModelMessage::Assistant { content } => {
            for part in content {
                write_said(part, input, draft);
            }
        }
        ModelMessage::Tool { content } => {
            for part in content {
                match part {
                    ContentPart::ToolResult { tool_call_id, output, .. } => input.push(json!({
                        "type": "function_call_output",
                        "call_id": tool_call_id,
                        "output": output_text(output).0,
                    })),
                    ContentPart::ToolApprovalResponse {
                        approval_id,
                        approved,
                        provider_executed: Some(true),
                        ..
                    } => {
                        input.push(json!({
                            "type": "mcp_approval_response",
                            "approval_request_id": approval_id,
                            "approve": approved,
                        }));
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(())
}

fn write_part(part: &ContentPart, draft: &Draft<'_>) -> Result<Value, ModelError> {
    match part {
        ContentPart::Text { text, .. } => Ok(json!({ "type": "input_text", "text": text })),
        ContentPart::File { media_type, filename, data, provider_options } => {
            let media = Media::read(media_type, data, draft)?;
            let mut written = match (media.is_image(), &media.source) {
                (true, MediaSource::Id(id)) => json!({ "type": "input_image", "file_id": id }),
                (true, _) => json!({ "type": "input_image", "image_url": media.address() }),
                (false, MediaSource::Id(id)) => json!({ "type": "input_file", "file_id": id }),
                (false, MediaSource::Url(url)) => json!({ "type": "input_file", "file_url": url }),
                (false, MediaSource::Data(_)) => {
                    let name = filename.as_deref().unwrap_or("file.pdf");
                    json!({ "type": "input_file", "filename": name, "file_data": media.address() })
                }
            };
            if let Some(detail) = draft.option(provider_options.as_ref(), "imageDetail") {
                put(&mut written, "detail", detail);
            }
            Ok(written)
        }
        _ => Err(draft.refuse("a user message has a part that is neither text nor a file")),
    }
}

/// Encodes a part of an earlier answer as the item that it came from.
fn write_said(part: &ContentPart, input: &mut Vec<Value>, draft: &mut Draft<'_>) {
    match part {
        ContentPart::Text { text, provider_options } => {
            if text.is_empty() {
                return;
            }
            let mut item = json!({
                "role": "assistant", "content": [{ "type": "output_text", "text": text }],
            });
            for (ours, theirs) in [("itemId", "id"), ("phase", "phase")] {
                if let Some(value) = draft.option(provider_options.as_ref(), ours) {
                    put(&mut item, theirs, value);
                }
            }
            input.push(item);
        }
        ContentPart::Reasoning { text, provider_options } => {
            let options = provider_options.as_ref();
            let Some(id) = draft.option(options, "itemId") else {
                draft.warn(
                    "messages",
                    "reasoning of another provider is dropped: OpenAI accepts only its own",
                );
                return;
            };
            let summary = (!text.is_empty()).then(|| json!({ "type": "summary_text", "text": text }));
            let secret = draft.option(options, "reasoningEncryptedContent");
            // Several reasoning parts of ours can be the summaries of one item.
            if let Some(last) =
                input.last_mut().filter(|last| is(last, "type", "reasoning") && is(last, "id", id))
            {
                if let (Some(summaries), Some(summary)) = (list_mut(last, "summary"), summary) {
                    summaries.push(summary);
                }
                if let Some(secret) = secret {
                    put(last, "encrypted_content", secret);
                }
                return;
            }
            let mut item = json!({ "type": "reasoning", "id": id, "summary": Vec::from_iter(summary) });
            if let Some(secret) = secret {
                put(&mut item, "encrypted_content", secret);
            }
            input.push(item);
        }
        ContentPart::ToolCall {
            tool_call_id,
            tool_name,
            input: arguments,
            provider_executed,
            provider_options,
        } => {
            let own = draft.options(provider_options.as_ref());
            if *provider_executed == Some(true) {
                // Calls that OpenAI ran are sent back unchanged; those of another provider are dropped.
                input.extend(own.and_then(|own| own.get("item")).cloned());
                return;
            }
            let arguments = arguments.as_ref().map_or_else(|| "{}".to_owned(), ToString::to_string);
            let mut item = json!({
                "type": "function_call", "call_id": tool_call_id, "name": tool_name, "arguments": arguments,
            });
            for (ours, theirs) in [("itemId", "id"), ("namespace", "namespace"), ("caller", "caller")] {
                if let Some(value) = own.and_then(|own| own.get(ours)) {
                    put(&mut item, theirs, value.clone());
                }
            }
            input.push(item);
        }
        ContentPart::File { .. } | ContentPart::ReasoningFile { .. } => {
            draft.warn("messages", "a file of an earlier answer is dropped: it cannot be sent back");
        }
        _ => {}
    }
}

fn write_tool(tool: &ToolSpec, draft: &Draft<'_>) -> Value {
    let own = draft.options(tool.provider_options.as_ref());
    if let Some(own) = own.filter(|own: &&Map<_, _>| own.contains_key("type")) {
        return Value::Object(own.clone());
    }
    // The API defaults to strict mode, which rejects most schemas.
    let mut written = json!({
        "type": "function",
        "name": tool.name,
        "parameters": tool.input_schema,
        "strict": is_strict(&tool.input_schema),
    });
    if let Some(description) = &tool.description {
        put(&mut written, "description", description.as_str());
    }
    for (key, value) in own.into_iter().flatten() {
        put(&mut written, key.as_str(), value.clone());
    }
    written
}
