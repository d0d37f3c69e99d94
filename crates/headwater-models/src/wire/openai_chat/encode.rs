//! Encodes a request for chat completions.

use headwater_protocol::ToolSpec;
use serde_json::{Map, Value, json};

use super::quirks::{ChatQuirks, Effort, Thoughts};
use crate::{
    ContentPart, ModelError, ModelMessage, ModelRequest, ReasoningEffort, ReasoningOptions, ResponseFormat,
    ToolChoice,
    wire::{
        EncodedRequest, Settings,
        prompt::{Draft, Media, MediaSource, in_words, is, is_strict, output_text, put},
    },
};

pub(in crate::wire) fn encode(
    dialect: &ChatQuirks,
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
    let mut turns = Vec::new();
    for message in messages {
        write_turn(dialect, message, &mut turns, &mut draft)?;
    }
    let thinks = dialect.is_openai && crate::wire::openai_chat::thinks(&settings.model, reasoning.as_ref());
    if let Some(temperature) = temperature {
        if thinks {
            draft.warn("temperature", "ignored: reasoning models do not accept it");
        } else {
            draft.set("temperature", *temperature);
        }
    }
    if let Some(limit) = max_output_tokens {
        draft.set(dialect.max_tokens, *limit);
    }
    if !stop_sequences.is_empty() {
        if thinks {
            draft.warn("stop_sequences", "ignored: reasoning models do not accept them");
        } else {
            draft.set("stop", stop_sequences.as_slice());
        }
    }
    if let Some(reasoning) = reasoning {
        write_reasoning(dialect, reasoning, &mut draft);
    }
    if !tools.is_empty() {
        let tools: Vec<_> = tools.iter().map(|tool| write_tool(tool, &draft)).collect();
        draft.set("tools", tools);
        if let Some(choice) = tool_choice {
            write_choice(dialect, choice, &mut draft);
        }
    }
    if let Some(ResponseFormat::Json { schema, name }) = response_format {
        match schema {
            Some(schema) if dialect.has_schemas => {
                let name = name.as_deref().unwrap_or("answer");
                let mut format = json!({ "name": name, "schema": schema });
                if dialect.is_openai || is_strict(schema) {
                    put(&mut format, "strict", is_strict(schema));
                }
                draft.set("response_format", json!({ "type": "json_schema", "json_schema": format }));
            }
            Some(schema) => {
                draft.warn(
                    "response_format",
                    "the schema is part of the prompt: this provider does not accept schemas",
                );
                turns.insert(0, json!({ "role": "system", "content": in_words(Some(schema)) }));
                draft.set("response_format", json!({ "type": "json_object" }));
            }
            None => draft.set("response_format", json!({ "type": "json_object" })),
        }
    }
    draft.set("messages", turns);
    if !whole {
        draft.set("stream", true);
        if dialect.asks_for_usage {
            draft.set("stream_options", json!({ "include_usage": true }));
        }
    }
    Ok(draft.finish("/chat/completions", request))
}

fn write_turn(
    dialect: &ChatQuirks,
    message: &ModelMessage,
    turns: &mut Vec<Value>,
    draft: &mut Draft<'_>,
) -> Result<(), ModelError> {
    match message {
        ModelMessage::System { content, .. } => turns.push(json!({ "role": "system", "content": content })),
        ModelMessage::User { content } => {
            let parts =
                content.iter().map(|part| write_part(dialect, part, draft)).collect::<Result<Vec<_>, _>>()?;
            let content = match parts.as_slice() {
                [only] if is(only, "type", "text") => only.get("text").cloned().unwrap_or_default(),
                _ => Value::Array(parts),
            };
            turns.push(json!({ "role": "user", "content": content }));
        }
        ModelMessage::Assistant { content } => turns.push(write_answer(dialect, content, draft)),
        ModelMessage::Tool { content } => {
            for part in content {
                if let ContentPart::ToolResult { tool_call_id, tool_name, output, .. } = part {
                    let mut turn = json!({
                        "role": "tool",
                        "tool_call_id": call_id(dialect, tool_call_id.as_str()),
                        "content": output_text(output).0,
                    });
                    if dialect.has_short_ids {
                        put(&mut turn, "name", tool_name.as_str());
                    }
                    turns.push(turn);
                }
            }
        }
    }
    Ok(())
}

fn write_part(dialect: &ChatQuirks, part: &ContentPart, draft: &Draft<'_>) -> Result<Value, ModelError> {
    match part {
        ContentPart::Text { text, .. } => Ok(json!({ "type": "text", "text": text })),
        ContentPart::File { media_type, filename, data, provider_options } => {
            let media = Media::read(media_type, data, draft)?;
            if media.is_image()
                && let Some(address) = media.address()
            {
                let mut image = json!({ "url": address });
                if let Some(detail) = draft.option(provider_options.as_ref(), "imageDetail") {
                    put(&mut image, "detail", detail);
                }
                return Ok(json!({ "type": "image_url", "image_url": image }));
            }
            if media.is_audio()
                && let MediaSource::Data(data) = media.source
            {
                let format = if media.media_type.ends_with("wav") { "wav" } else { "mp3" };
                return Ok(
                    json!({ "type": "input_audio", "input_audio": { "data": data, "format": format } }),
                );
            }
            if dialect.has_files {
                let name = filename.as_deref().unwrap_or("file.pdf");
                match media.source {
                    MediaSource::Id(id) => return Ok(json!({ "type": "file", "file": { "file_id": id } })),
                    MediaSource::Data(_) => {
                        let data = media.address();
                        return Ok(
                            json!({ "type": "file", "file": { "filename": name, "file_data": data } }),
                        );
                    }
                    MediaSource::Url(_) => {}
                }
            }
            if let Some(text) = media.text() {
                return Ok(json!({ "type": "text", "text": text }));
            }
            Err(draft.refuse(format!("a file of type {} cannot be sent to this provider", media.media_type)))
        }
        _ => Err(draft.refuse("a user message has a part that is neither text nor a file")),
    }
}

fn write_answer(dialect: &ChatQuirks, content: &[ContentPart], draft: &mut Draft<'_>) -> Value {
    let (mut text, mut thoughts, mut calls) = (String::new(), String::new(), Vec::new());
    for part in content {
        match part {
            ContentPart::Text { text: said, .. } => text.push_str(said),
            ContentPart::Reasoning { text: thought, .. } => thoughts.push_str(thought),
            ContentPart::ToolCall { tool_call_id, tool_name, input, provider_executed, provider_options } => {
                if *provider_executed == Some(true) {
                    continue;
                }
                let input = input.as_ref().map_or_else(|| "{}".to_owned(), ToString::to_string);
                let mut call = json!({
                    "id": call_id(dialect, tool_call_id.as_str()),
                    "type": "function",
                    "function": { "name": tool_name, "arguments": input },
                });
                // Gemini's compatible API wants its signature back.
                if let Some(signature) = draft.option(provider_options.as_ref(), "thoughtSignature") {
                    put(&mut call, "extra_content", json!({ "google": { "thought_signature": signature } }));
                }
                calls.push(call);
            }
            ContentPart::File { .. } | ContentPart::ReasoningFile { .. } => {
                draft.warn("messages", "a file of an earlier answer is dropped: it cannot be sent back");
            }
            _ => {}
        }
    }
    let mut turn = Map::from_iter([("role".to_owned(), Value::from("assistant"))]);
    match dialect.thoughts {
        Thoughts::Part if !thoughts.is_empty() => {
            let thinking = json!({ "type": "thinking", "thinking": [{ "type": "text", "text": thoughts }] });
            let mut parts = vec![thinking];
            if !text.is_empty() {
                parts.push(json!({ "type": "text", "text": text }));
            }
            turn.insert("content".to_owned(), Value::Array(parts));
        }
        _ => {
            let is_silent = text.is_empty() && !calls.is_empty();
            turn.insert("content".to_owned(), if is_silent { Value::Null } else { text.into() });
        }
    }
    if let Thoughts::Field(name) = dialect.thoughts
        && !thoughts.is_empty()
    {
        turn.insert(name.to_owned(), thoughts.into());
    }
    if !calls.is_empty() {
        turn.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    Value::Object(turn)
}

fn write_tool(tool: &ToolSpec, draft: &Draft<'_>) -> Value {
    let own = draft.options(tool.provider_options.as_ref());
    if let Some(own) = own.filter(|own| own.contains_key("type")) {
        return Value::Object(own.clone());
    }
    let mut function = json!({ "name": tool.name, "parameters": tool.input_schema });
    if let Some(description) = &tool.description {
        put(&mut function, "description", description.as_str());
    }
    for (key, value) in own.into_iter().flatten() {
        put(&mut function, key.as_str(), value.clone());
    }
    json!({ "type": "function", "function": function })
}

fn write_choice(dialect: &ChatQuirks, choice: &ToolChoice, draft: &mut Draft<'_>) {
    if !dialect.has_tool_choice {
        if *choice == ToolChoice::None {
            draft.body.shift_remove("tools");
        } else if *choice != ToolChoice::Auto {
            draft.warn("tool_choice", "ignored: this provider has no tool choice");
        }
        return;
    }
    let choice = match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!(dialect.some_tool),
        ToolChoice::Tool(name) => json!({ "type": "function", "function": { "name": name } }),
    };
    draft.set("tool_choice", choice);
}

fn write_reasoning(dialect: &ChatQuirks, reasoning: &ReasoningOptions, draft: &mut Draft<'_>) {
    let ReasoningOptions { effort, max_tokens } = reasoning;
    if max_tokens.is_some() {
        draft.warn("reasoning.max_tokens", "ignored: this provider accepts only an effort level");
    }
    let Some(effort) = effort else { return };
    match (dialect.effort, effort) {
        (Effort::Switch, effort) => {
            let is_on = *effort != ReasoningEffort::None;
            if is_on {
                draft.warn("reasoning.effort", "reasoning is on: this provider has no effort levels");
            }
            draft.set("thinking", json!({ "type": if is_on { "enabled" } else { "disabled" } }));
        }
        (Effort::NoneOrHigh, ReasoningEffort::None | ReasoningEffort::High) | (Effort::Words, _) => {
            draft.set("reasoning_effort", effort.as_str());
        }
        (Effort::NoneOrHigh, _) => {
            draft.warn("reasoning.effort", "sent as `high`: this provider supports only none and high");
            draft.set("reasoning_effort", "high");
        }
        (Effort::NoMinimal, ReasoningEffort::Minimal) => {
            draft.warn("reasoning.effort", "sent as `low`, the lowest effort of this provider");
            draft.set("reasoning_effort", "low");
        }
        (Effort::NoMinimal, effort) => draft.set("reasoning_effort", effort.as_str()),
    }
}

/// A call id that the provider accepts. An id of another provider is replaced by a hash of it.
fn call_id(dialect: &ChatQuirks, id: &str) -> String {
    let is_short = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !dialect.has_short_ids || is_short {
        return id.to_owned();
    }
    const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    std::iter::repeat_with(|| {
        let letter = LETTERS.get((hash % 36) as usize).copied().unwrap_or(b'0');
        hash /= 36;
        char::from(letter)
    })
    .take(9)
    .collect()
}
