//! Our messages as AG-UI's, and back.

use std::{borrow::Cow, collections::HashMap};

use serde_json::{Map, Value, json};

use super::{
    chunk::Content,
    ids::Ids,
    notes::{KEY, Metadata, Notes},
    wire::{Function, WireCall, WireMessage},
};
use crate::{
    event::Role,
    json::EmbeddedJson,
    state::{DataPart, FilePart, Message, MessageStatus, Part, PartState, TextPart, ToolPart, ToolState},
};

/// Where a provider's opaque value is kept in the metadata of a part.
const ENCRYPTED: &str = "encryptedValue";

/// The messages of a conversation as the client holds them.
pub(super) fn write<'a>(messages: impl Iterator<Item = &'a Message>, ids: &'a Ids) -> Vec<WireMessage<'a>> {
    let mut out = Vec::new();
    for message in messages {
        match message.role {
            Role::User | Role::System | Role::Developer => out.push(write_said(message)),
            Role::Activity => out.push(write_activity(message)),
            _ => write_turns(message, ids, &mut out),
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

/// An activity's content must be an object.
pub(super) fn object(value: &Value) -> Cow<'_, Value> {
    if value.is_object() { Cow::Borrowed(value) } else { Cow::Owned(json!({ "value": value })) }
}

fn write_turns<'a>(message: &'a Message, ids: &'a Ids, out: &mut Vec<WireMessage<'a>>) {
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
                note_part(&mut wire, message, text);
                wire.content = Some(Content::Text(Cow::Borrowed(&text.text)));
                wire.encrypted_value = encrypted(text.metadata.as_ref());
                list.push(wire);
            }
            Part::Tool(tool) => {
                let Some(known) = ids.of_call(&tool.call) else { continue };
                if let Some(result) = &known.result
                    && tool.state.is_settled()
                {
                    results.entry(&known.parent).or_default().push(write_result(message, tool, result));
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
                    held.tool_calls.push(write_call(tool));
                }
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
            first.metadata.get_or_insert_default().other = other;
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
    // Results that stand alone.
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
    if wire.id != message.id.as_str() {
        let notes = Notes { message: Some(Cow::Borrowed(message.id.as_str())), ..Notes::default() };
        wire.metadata = Some(Metadata::notes(notes));
    } else if !matches!(message.role, Role::Assistant | Role::Reasoning | Role::Tool)
        && let Some(Value::Object(metadata)) = &message.metadata
    {
        wire.metadata = Some(Metadata { other: metadata.clone(), ..Metadata::default() });
    }
    wire
}

fn note_part<'a>(wire: &mut WireMessage<'a>, message: &'a Message, text: &'a TextPart) {
    let part = (wire.id != text.id.as_str()).then_some(Cow::Borrowed(text.id.as_str()));
    let attempt = text.attempt.as_ref().map(|attempt| Cow::Borrowed(attempt.as_str()));
    if part.is_some() || attempt.is_some() {
        let message = (wire.id != message.id.as_str()).then_some(Cow::Borrowed(message.id.as_str()));
        let notes = Notes { message, part, attempt, ..Notes::default() };
        wire.metadata.get_or_insert_default().headwater = Some(Box::new(notes));
    }
}

fn write_call(tool: &ToolPart) -> WireCall<'_> {
    let arguments = match &tool.input {
        Some(input) => Cow::Owned(input.to_string()),
        None => Cow::Borrowed(tool.input_text.as_str()),
    };
    WireCall {
        id: Cow::Borrowed(tool.call.as_str()),
        kind: Cow::Borrowed("function"),
        function: Function { name: Cow::Borrowed(&tool.name), arguments },
        encrypted_value: encrypted(tool.metadata.as_ref()),
        metadata: None,
    }
}

fn write_result<'a>(message: &'a Message, tool: &'a ToolPart, id: &'a str) -> WireMessage<'a> {
    let from_client = tool.output_metadata.as_ref().is_some_and(|metadata| metadata.get(KEY).is_some());
    let mut wire = WireMessage::new(id, Role::Tool);
    wire.tool_call_id = Some(Cow::Borrowed(tool.call.as_str()));
    let (content, json) = if from_client && tool.state == ToolState::OutputError {
        wire.error = tool.error.as_deref().map(Cow::Borrowed);
        tool.output.as_ref().map_or((Cow::Borrowed(""), false), output_text)
    } else {
        result_text(tool)
    };
    if from_client && let Some(parts @ Value::Array(_)) = &tool.output {
        wire.content = Some(Content::Json(Cow::Borrowed(parts)));
        return wire;
    }
    wire.content = Some(Content::Text(content));
    let message = (id != message.id.as_str()).then_some(Cow::Borrowed(message.id.as_str()));
    if message.is_some() || json {
        wire.metadata = Some(Metadata::notes(Notes { message, json, ..Notes::default() }));
    }
    wire
}

/// What a call's result says, and whether that is JSON text.
fn result_text(tool: &ToolPart) -> (Cow<'_, str>, bool) {
    match tool.state {
        ToolState::OutputError => (Cow::Borrowed(tool.error.as_deref().unwrap_or_default()), false),
        ToolState::OutputDenied => (Cow::Borrowed(denial(tool)), false),
        _ => tool.output.as_ref().map_or((Cow::Borrowed(""), false), output_text),
    }
}

/// What is said of a call that a person refused.
pub(in crate::dialects) fn denial(tool: &ToolPart) -> &str {
    let reason = tool.approval.as_ref().and_then(|approval| approval.reason.as_deref());
    reason.unwrap_or(DENIED)
}

/// What is said of a call that a person refused without a reason.
pub(super) const DENIED: &str = "The call was denied.";

/// An output as the text of a result, and whether that is JSON text.
pub(super) fn output_text(output: &Value) -> (Cow<'_, str>, bool) {
    match output {
        Value::String(text) => (Cow::Borrowed(text), false),
        other => (Cow::Owned(other.to_string()), true),
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

/// Messages that the client holds, or that another server sent, as ours: one for each, except that a result is put
/// into the call that it answers.
pub(super) fn read(messages: &[WireMessage<'_>], json: &mut EmbeddedJson) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
    let mut calls: HashMap<String, (usize, usize)> = HashMap::new();
    for wire in messages {
        let notes = wire.metadata.as_ref().and_then(|metadata| metadata.headwater.as_deref());
        let mut message = Message::new(&*wire.id, wire.role, MessageStatus::Sent);
        message.author = wire.name.as_ref().map(|name| Value::String(name.to_string()));
        let mut metadata = wire.metadata.as_ref().map_or_else(Map::new, |metadata| metadata.other.clone());
        if let Some(tag) = &wire.subagent_run_id {
            metadata.insert("subagentRunId".to_owned(), Value::String(tag.to_string()));
        }
        message.metadata = (!metadata.is_empty()).then_some(Value::Object(metadata));
        match wire.role {
            Role::Tool => {
                let call = wire.tool_call_id.as_deref().unwrap_or_default();
                let held = calls.get(call).and_then(|&(at, part)| out.get_mut(at)?.parts.get_mut(part));
                if let Some(Part::Tool(tool)) = held {
                    answer(tool, wire, notes, json);
                    continue;
                }
                let mut tool = ToolPart::new(call, "");
                answer(&mut tool, wire, notes, json);
                tool.output_metadata = None;
                message.parts.push(Part::Tool(Box::new(tool)));
            }
            Role::Activity => {
                let data = match &wire.content {
                    Some(Content::Json(content)) => content.clone().into_owned(),
                    _ => json!({}),
                };
                message.parts.push(Part::Data(DataPart {
                    name: wire.activity_type.as_deref().unwrap_or_default().to_owned(),
                    id: Some(wire.id.to_string()),
                    data,
                    transient: false,
                }));
            }
            role => {
                let part = |text: &str| {
                    let id = notes.and_then(|notes| notes.part.as_deref()).unwrap_or(&wire.id);
                    let attempt = notes.and_then(|notes| notes.attempt.as_deref());
                    let metadata = wire.encrypted_value.as_ref().map(|value| json!({ ENCRYPTED: value }));
                    let text = TextPart { text: text.to_owned(), metadata, ..TextPart::done(id) };
                    TextPart { attempt: attempt.map(Into::into), ..text }
                };
                match &wire.content {
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
                for call in &wire.tool_calls {
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
    if let Some(notes) = call.metadata.as_ref().and_then(|metadata| metadata.headwater.as_deref()) {
        if let Some(known) = &notes.tool {
            tool.executor = known.executor;
            tool.dynamic = known.dynamic;
            tool.title.clone_from(&known.title);
            tool.metadata.clone_from(&known.metadata);
        }
        tool.attempt = notes.attempt.as_deref().map(Into::into);
    }
    if let Some(value) = &call.encrypted_value {
        tool.metadata = Some(json!({ ENCRYPTED: value }));
    }
    tool
}

fn answer(tool: &mut ToolPart, wire: &WireMessage<'_>, notes: Option<&Notes<'_>>, json: &mut EmbeddedJson) {
    tool.state = ToolState::OutputAvailable;
    tool.output = wire.content.as_ref().map(|content| result_value(content, notes, json));
    tool.error = None;
    if let Some(error) = &wire.error {
        tool.state = ToolState::OutputError;
        tool.error = Some(error.to_string());
    }
    // The client's own id for the result, so that it is not doubled when it is said again.
    tool.output_metadata = Some(json!({ KEY: { "message": wire.id } }));
}

/// The output that a result says.
pub(super) fn result_value(
    content: &Content<'_>,
    notes: Option<&Notes<'_>>,
    json: &mut EmbeddedJson,
) -> Value {
    match content {
        Content::Text(text) => {
            let parsed = notes.filter(|notes| notes.json).and_then(|_| json.read(text));
            parsed.unwrap_or_else(|| Value::String(text.to_string()))
        }
        Content::Json(parts) => parts.clone().into_owned(),
    }
}

fn read_part(index: usize, part: &Value) -> Option<Part> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let kind = part.get("type").and_then(Value::as_str)?;
    if kind == "text" {
        let text = TextPart { text: text(part, "text")?, ..TextPart::done(format!("text-{index}")) };
        return Some(Part::Text(text));
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

/// The conversation without the texts that [`write`] says, for those readers who know our messages.
pub(super) fn without_texts(messages: &mut [Message]) {
    for text in messages.iter_mut().flat_map(texts_of) {
        text.text.clear();
    }
}

/// Puts the texts back.
pub(super) fn with_texts(mut messages: Vec<Message>, wires: &[WireMessage<'_>]) -> Vec<Message> {
    let mut texts: HashMap<&str, Vec<&str>> = HashMap::new();
    for wire in wires {
        if let (Role::Assistant | Role::Reasoning, Some(Content::Text(text))) = (wire.role, &wire.content) {
            let notes = wire.metadata.as_ref().and_then(|metadata| metadata.headwater.as_deref());
            let message = notes.and_then(|notes| notes.message.as_deref()).unwrap_or(&wire.id);
            texts.entry(message).or_default().push(text);
        }
    }
    for message in &mut messages {
        let id = message.id.clone();
        let said = texts.remove(id.as_str()).unwrap_or_default();
        for (part, text) in texts_of(message).zip(said) {
            text.clone_into(&mut part.text);
        }
    }
    messages
}

fn texts_of(message: &mut Message) -> impl Iterator<Item = &mut TextPart> {
    let spoken = matches!(message.role, Role::Assistant | Role::Reasoning);
    message.parts.iter_mut().filter(move |_| spoken).filter_map(|part| match part {
        Part::Text(text) | Part::Reasoning(text) => Some(text),
        _ => None,
    })
}

/// Whether the client's messages say all that ours do.
pub(super) fn are_plain<'a>(messages: impl Iterator<Item = &'a Message>, wires: &[WireMessage<'_>]) -> bool {
    let read = read(wires, &mut EmbeddedJson::of_stream());
    let mut read = read.iter();
    let same = messages.into_iter().all(|message| {
        let settled = message.parts.iter().all(|part| match part {
            Part::Text(text) | Part::Reasoning(text) => text.state == PartState::Done,
            _ => true,
        });
        settled && read.next() == Some(message)
    });
    same && read.next().is_none()
}
