//! Converts our messages to AG-UI messages and back.

use std::{borrow::Cow, collections::HashMap};

use headwater_protocol::{
    DataEvent, FilePart, Message, MessageStatus, Part, Role, RunState, StructuredPart, TextPart, ToolPart,
    ToolState,
};
use serde_json::{Value, json};

use super::{
    chunk::{Content, Function, WireCall, WireMessage},
    ids::{Ids, KEY},
};
use crate::{denial::denial, json::EmbeddedJson};

/// The metadata key of a provider's opaque value.
const ENCRYPTED: &str = "encryptedValue";

/// The messages of a conversation as the client holds them, with or without the objects of `state` as
/// activities.
pub(super) fn write<'a>(
    messages: impl Iterator<Item = &'a Message>,
    ids: &'a Ids,
    state: &'a RunState,
    with_objects: bool,
) -> Vec<WireMessage<'a>> {
    let objects = with_objects.then_some(state);
    let mut out = Vec::new();
    for message in messages {
        match message.role {
            Role::User | Role::System | Role::Developer => out.push(write_said(message)),
            Role::Activity => out.push(write_activity(message)),
            _ => write_turns(message, ids, objects, &mut out),
        }
    }
    out
}

fn write_said(message: &Message) -> WireMessage<'_> {
    let only_text = message.parts.iter().all(|part| matches!(part, Part::Text(_)));
    let content = if message.role == Role::User && (!only_text || message.parts.len() > 1) {
        Content::Json(Cow::Owned(message.parts.iter().filter_map(write_part).collect()))
    } else {
        match message.parts.as_slice() {
            [Part::Text(text)] => Content::Text(Cow::Borrowed(&text.text)),
            _ => Content::Text(Cow::Owned(message.plain_text())),
        }
    };
    WireMessage { content: Some(content), ..head(message, Cow::Borrowed(message.id.as_str()), message.role) }
}

fn write_activity(message: &Message) -> WireMessage<'_> {
    let data = message.parts.iter().rev().find_map(|part| match part {
        Part::Data(data) => Some(data),
        _ => None,
    });
    let content = data.map_or(Cow::Owned(json!({})), |data| object(&data.data));
    WireMessage {
        content: Some(Content::Json(content)),
        activity_type: Some(Cow::Borrowed(data.map_or("", |data| data.name.as_str()))),
        ..head(message, Cow::Borrowed(message.id.as_str()), Role::Activity)
    }
}

/// The content of an activity must be an object.
pub(super) fn object(value: &Value) -> Cow<'_, Value> {
    if value.is_object() { Cow::Borrowed(value) } else { Cow::Owned(json!({ "value": value })) }
}

/// The id of the activity message that shows an object; unique over all runs.
pub(super) fn object_id(message: &Message, part: &StructuredPart) -> String {
    format!("{}-object-{}", message.id, part.stream)
}

/// The object built so far.
pub(super) fn object_content<'a>(part: &'a StructuredPart, state: &'a RunState) -> Option<Cow<'a, Value>> {
    let built = state.structured().get(&part.stream).and_then(|state| state.data());
    built.or(part.data.as_ref()).map(object)
}

fn write_turns<'a>(
    message: &'a Message,
    ids: &'a Ids,
    objects: Option<&'a RunState>,
    out: &mut Vec<WireMessage<'a>>,
) {
    let mut list: Vec<WireMessage<'a>> = Vec::new();
    let mut results: HashMap<&'a str, Vec<WireMessage<'a>>> = HashMap::new();
    let mut wires = ids.of_texts(&message.id);
    for part in &message.parts {
        match part {
            Part::Text(text) | Part::Reasoning(text) => {
                let Some(wire) = wires.next() else { continue };
                let thought = matches!(part, Part::Reasoning(_));
                let role = if thought { Role::Reasoning } else { Role::Assistant };
                let mut wire = head(message, Cow::Borrowed(&**wire), role);
                wire.content = Some(Content::Text(Cow::Borrowed(&text.text)));
                wire.encrypted_value = encrypted(text.metadata.as_ref());
                list.push(wire);
            }
            Part::Tool(tool) => {
                let Some(known) = ids.of_call(&tool.call) else { continue };
                if let Some(result) = &known.result
                    && tool.state.is_settled()
                {
                    results.entry(&known.parent).or_default().push(write_result(tool, result));
                }
                if message.role == Role::Tool {
                    continue;
                }
                let at = list.iter().rposition(|held| *held.id == *known.parent);
                let at = at.unwrap_or_else(|| {
                    list.push(head(message, Cow::Borrowed(&*known.parent), Role::Assistant));
                    list.len() - 1
                });
                if let Some(held) = list.get_mut(at) {
                    held.tool_calls.get_or_insert_default().push(write_call(tool));
                }
            }
            Part::Structured(part) => {
                let Some(content) = objects.and_then(|state| object_content(part, state)) else { continue };
                let mut activity = WireMessage::new(object_id(message, part), Role::Activity);
                activity.activity_type = Some(Cow::Borrowed(&part.data_type));
                activity.content = Some(Content::Json(content));
                list.push(activity);
            }
            _ => {}
        }
    }
    if let (Some(first), Some(Value::Object(metadata))) = (list.first_mut(), &message.metadata) {
        let mut other = metadata.clone();
        if let Some(Value::String(tag)) = other.shift_remove("subagentRunId") {
            first.subagent_run_id = Some(Cow::Owned(tag));
        }
        if !other.is_empty() {
            first.metadata = Some(other);
        }
    }
    for wire in list {
        let answers = match &wire.id {
            Cow::Borrowed(id) => results.remove(id),
            Cow::Owned(id) => results.remove(id.as_str()),
        };
        out.push(wire);
        out.extend(answers.into_iter().flatten());
    }
    // Results without a call in this conversation.
    let mut alone: Vec<_> = results.into_values().flatten().collect();
    alone.sort_by(|a, b| a.id.cmp(&b.id));
    out.extend(alone);
}

fn head<'a>(message: &'a Message, id: Cow<'a, str>, role: Role) -> WireMessage<'a> {
    let mut wire = WireMessage::new(id, role);
    if let Some(Value::String(name)) = &message.author
        && !matches!(role, Role::Reasoning | Role::Tool | Role::Activity)
    {
        wire.name = Some(Cow::Borrowed(name));
    }
    if wire.id == message.id.as_str()
        && !matches!(message.role, Role::Assistant | Role::Reasoning | Role::Tool)
        && let Some(Value::Object(metadata)) = &message.metadata
    {
        wire.metadata = Some(metadata.clone());
    }
    wire
}

fn write_call(tool: &ToolPart) -> WireCall<'_> {
    let arguments = match &tool.input {
        Some(input) => Cow::Owned(input.to_string()),
        None => Cow::Borrowed(tool.input_text.as_str()),
    };
    WireCall {
        id: Cow::Borrowed(tool.call.as_str()),
        r#type: Cow::Borrowed("function"),
        function: Function { name: Cow::Borrowed(&tool.name), arguments },
        encrypted_value: encrypted(tool.metadata.as_ref()),
        metadata: None,
    }
}

fn write_result<'a>(tool: &'a ToolPart, id: &'a str) -> WireMessage<'a> {
    let from_client = tool.output_metadata.as_ref().is_some_and(|metadata| metadata.get(KEY).is_some());
    let mut wire = WireMessage::new(id, Role::Tool);
    wire.tool_call_id = Some(Cow::Borrowed(tool.call.as_str()));
    let output = || tool.output.as_ref().map_or(Cow::Borrowed(""), output_text);
    wire.content = Some(match &tool.output {
        Some(parts @ Value::Array(_)) if from_client => Content::Json(Cow::Borrowed(parts)),
        _ if from_client && tool.state == ToolState::OutputError => {
            wire.error = tool.error.as_deref().map(Cow::Borrowed);
            Content::Text(output())
        }
        _ => Content::Text(match tool.state {
            ToolState::OutputError => Cow::Borrowed(tool.error.as_deref().unwrap_or_default()),
            ToolState::OutputDenied => Cow::Borrowed(denial(tool)),
            _ => output(),
        }),
    });
    wire
}

/// An output as the text of a result.
pub(super) fn output_text(output: &Value) -> Cow<'_, str> {
    match output {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

fn encrypted(metadata: Option<&Value>) -> Option<Cow<'_, str>> {
    metadata?.get(ENCRYPTED)?.as_str().map(Cow::Borrowed)
}

fn write_part(part: &Part) -> Option<Value> {
    let mut value = match part {
        Part::Text(text) => json!({ "type": "text", "text": text.text }),
        Part::File(file) => {
            let source = file.metadata.as_ref().and_then(|metadata| metadata.get("source"));
            let kind = file.media_type.split('/').next();
            let kind = kind.filter(|kind| matches!(*kind, "image" | "audio" | "video")).unwrap_or("document");
            json!({ "type": kind, "source": source.cloned().unwrap_or_else(|| write_source(file)) })
        }
        _ => return None,
    };
    let (id, metadata) = match part {
        Part::File(file) => (file.id.clone(), file.metadata.clone()),
        _ => (None, None),
    };
    if let Some(object) = value.as_object_mut() {
        if let Some(id) = id {
            object.insert("id".to_owned(), Value::String(id));
        }
        if let Some(Value::Object(mut metadata)) = metadata {
            metadata.shift_remove("source");
            if !metadata.is_empty() {
                object.insert("metadata".to_owned(), Value::Object(metadata));
            }
        }
    }
    Some(value)
}

fn write_source(file: &FilePart) -> Value {
    let data = file.url.strip_prefix("data:").and_then(|data| data.split_once(";base64,"));
    match data {
        Some((media_type, data)) => json!({ "type": "data", "value": data, "mimeType": media_type }),
        None if file.media_type.ends_with("/*") => json!({ "type": "url", "value": file.url }),
        None => json!({ "type": "url", "value": file.url, "mimeType": file.media_type }),
    }
}

/// Converts messages of a client or another server to ours: one for each, except that a result is put into
/// the call that it answers.
pub(super) fn read(messages: &[WireMessage<'_>], json: &mut EmbeddedJson) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
    let mut calls: HashMap<String, (usize, usize)> = HashMap::new();
    for wire in messages {
        let mut message = Message::new(&*wire.id, wire.role, MessageStatus::Sent);
        message.author = wire.name.as_ref().map(|name| Value::String(name.to_string()));
        let mut metadata = wire.metadata.clone().unwrap_or_default();
        if let Some(tag) = &wire.subagent_run_id {
            metadata.insert("subagentRunId".to_owned(), Value::String(tag.to_string()));
        }
        message.metadata = (!metadata.is_empty()).then_some(Value::Object(metadata));
        match wire.role {
            Role::Tool => {
                let call = wire.tool_call_id.as_deref().unwrap_or_default();
                let held = calls.get(call).and_then(|&(at, part)| out.get_mut(at)?.parts.get_mut(part));
                if let Some(Part::Tool(tool)) = held {
                    answer(tool, wire);
                    continue;
                }
                let mut tool = ToolPart::new(call, "");
                answer(&mut tool, wire);
                tool.output_metadata = None;
                message.parts.push(Part::Tool(Box::new(tool)));
            }
            Role::Activity => {
                let data = match &wire.content {
                    Some(Content::Json(content)) => content.clone().into_owned(),
                    _ => json!({}),
                };
                message.parts.push(Part::Data(DataEvent {
                    name: wire.activity_type.as_deref().unwrap_or_default().to_owned(),
                    id: Some(wire.id.to_string()),
                    data,
                    transient: false,
                }));
            }
            role => {
                let part = |text: &str| {
                    let metadata = wire.encrypted_value.as_ref().map(|value| json!({ ENCRYPTED: value }));
                    TextPart { text: text.to_owned(), metadata, ..TextPart::done(&*wire.id) }
                };
                match &wire.content {
                    // It may be empty: an open text is started again with an empty message.
                    Some(Content::Text(text)) if text.is_empty() && role != Role::User => {}
                    Some(Content::Text(text)) if role == Role::Reasoning => {
                        message.parts.push(Part::Reasoning(part(text)));
                    }
                    Some(Content::Text(text)) => message.parts.push(Part::Text(part(text))),
                    Some(Content::Json(parts)) => {
                        let parts = parts.as_array().into_iter().flatten().enumerate();
                        message.parts.extend(parts.filter_map(|(index, part)| read_part(index, part)));
                    }
                    None => {}
                }
                for call in wire.tool_calls.iter().flatten() {
                    calls.entry(call.id.to_string()).or_insert((out.len(), message.parts.len()));
                    message.parts.push(Part::Tool(Box::new(read_call(call, json))));
                }
            }
        }
        out.push(message);
    }
    out
}

fn read_call(call: &WireCall<'_>, json: &mut EmbeddedJson) -> ToolPart {
    let mut tool = ToolPart::new(&*call.id, &*call.function.name);
    match json.read(&call.function.arguments) {
        Some(input) => {
            tool.input = Some(input);
            tool.state = ToolState::InputAvailable;
        }
        None => tool.input_text = call.function.arguments.to_string(),
    }
    if let Some(value) = &call.encrypted_value {
        tool.metadata = Some(json!({ ENCRYPTED: value }));
    }
    tool
}

fn answer(tool: &mut ToolPart, wire: &WireMessage<'_>) {
    tool.state = ToolState::OutputAvailable;
    tool.output = wire.content.as_ref().map(|content| result_value(content));
    tool.error = None;
    if let Some(error) = &wire.error {
        tool.state = ToolState::OutputError;
        tool.error = Some(error.to_string());
    }
    // Keep the client's id of the result, so that it is not duplicated when sent again.
    tool.output_metadata = Some(json!({ KEY: { "message": wire.id } }));
}

/// The output of a result: AG-UI does not say whether a text is JSON.
pub(super) fn result_value(content: &Content<'_>) -> Value {
    match content {
        Content::Text(text) => Value::String(text.to_string()),
        Content::Json(parts) => {
            let mut parts = parts.clone().into_owned();
            // The client skips unknown parts.
            let known = ["text", "image", "audio", "video", "document", "binary"];
            if let Value::Array(list) = &mut parts {
                list.retain(|part| part["type"].as_str().is_some_and(|kind| known.contains(&kind)));
            }
            parts
        }
    }
}

fn read_part(index: usize, part: &Value) -> Option<Part> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let kind = part.get("type").and_then(Value::as_str)?;
    if kind == "text" {
        let text = TextPart { text: text(part, "text")?, ..TextPart::done(format!("text-{index}")) };
        return Some(Part::Text(text));
    }
    if kind == "binary" {
        return read_binary(part);
    }
    let source = part.get("source")?;
    let value = text(source, "value")?;
    let media_type = text(source, "mimeType").unwrap_or_else(|| match kind {
        "image" | "audio" | "video" => format!("{kind}/*"),
        _ => "application/octet-stream".to_owned(),
    });
    let mut metadata = part.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let url = match text(source, "type").as_deref() {
        Some("data") => format!("data:{media_type};base64,{value}"),
        Some("url") => value,
        _ => {
            metadata.insert("source".to_owned(), source.clone());
            value
        }
    };
    let filename = metadata.get("filename").and_then(Value::as_str).map(str::to_owned);
    Some(Part::File(FilePart {
        url,
        media_type,
        filename,
        id: text(part, "id"),
        reasoning: false,
        metadata: (!metadata.is_empty()).then_some(Value::Object(metadata)),
        attempt: None,
    }))
}

/// A file in the form of clients before 1.0.
fn read_binary(part: &Value) -> Option<Part> {
    let text = |key: &str| part.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let media_type = text("mimeType")?.to_owned();
    let url = match text("data") {
        Some(data) => format!("data:{media_type};base64,{data}"),
        None => text("url")?.to_owned(),
    };
    Some(Part::File(FilePart {
        url,
        media_type,
        filename: text("filename").map(str::to_owned),
        id: None,
        reasoning: false,
        metadata: text("filename").map(|name| json!({ "filename": name })),
        attempt: None,
    }))
}
