//! The conversation, as the client flattens it: one message per speaker, tool outputs separate.

use headwater_protocol::{
    Error, FilePart, Message, MessageStatus, Part, Role, TextPart, ToolPart, ToolState,
};
use serde_json::{Map, Value};

use super::{text, wrong};
use crate::{
    json::{EmbeddedJson, kind_of},
    request::{ChatRequest, ToolResult},
};

/// Parses the messages, and the outputs of client tools since the last answer.
pub(super) fn read(messages: &Value, chat: &mut ChatRequest) -> Result<(), Error> {
    let Value::Array(messages) = messages else {
        return Err(wrong(format!("`messages` must be a list, not {}", kind_of(messages))));
    };
    let mut json = EmbeddedJson::of_request();
    let mut answered = messages.len();
    for (at, message) in messages.iter().enumerate() {
        let Value::Object(message) = message else {
            return Err(wrong(format!("`messages[{at}]` must be an object, not {}", kind_of(message))));
        };
        if message.contains_key("parts") && !message.contains_key("content") {
            let problem =
                "has `parts`, as from @tanstack/ai-client 0.4 on, which reads AG-UI: use the ag-ui dialect";
            return Err(wrong(format!("`messages[{at}]` {problem}")));
        }
        let role = match text(message, "role") {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("tool") => Role::Tool,
            Some("system") => Role::System,
            _ => {
                return Err(wrong(format!("`messages[{at}].role` must be `user`, `assistant` or `tool`")));
            }
        };
        if role == Role::Tool {
            answered = answered.min(at);
            tool_message(at, message, chat, &mut json)?;
            continue;
        }
        answered = messages.len();
        let mut read = Message::new("", role, MessageStatus::Sent);
        read.author = message.get("name").cloned();
        content(at, message.get("content"), &mut read)?;
        calls(at, message.get("toolCalls"), &mut read, &mut json)?;
        chat.messages.push(read);
    }
    // A separate budget: a long conversation must not use up the one for the answers after it.
    let mut json = EmbeddedJson::of_request();
    for message in messages.iter().skip(answered).filter_map(Value::as_object) {
        result(message, chat, &mut json);
    }
    Ok(())
}

/// Adds the output to its call, in whichever message that is.
fn tool_message(
    at: usize,
    message: &Map<String, Value>,
    chat: &mut ChatRequest,
    json: &mut EmbeddedJson,
) -> Result<(), Error> {
    let Some(call) = text(message, "toolCallId") else {
        return Err(wrong(format!("`messages[{at}].toolCallId` is missing: a tool message names its call")));
    };
    let output = message.get("content").map(|content| parsed(content, json));
    let parts = chat.messages.iter_mut().rev().flat_map(|message| message.parts.iter_mut().rev());
    let known = parts.filter_map(|part| match part {
        Part::Tool(tool) if tool.call == *call => Some(tool),
        _ => None,
    });
    if let Some(tool) = known.into_iter().next() {
        tool.state = ToolState::OutputAvailable;
        tool.output = output;
        return Ok(());
    }
    let mut tool = called(call, text(message, "name").unwrap_or_default());
    tool.state = ToolState::OutputAvailable;
    tool.output = output;
    let mut alone = Message::new("", Role::Tool, MessageStatus::Sent);
    alone.parts.push(Part::Tool(Box::new(tool)));
    chat.messages.push(alone);
    Ok(())
}

/// A tool message at the end of the conversation. It may also answer a question, whose call id is the
/// request's.
fn result(message: &Map<String, Value>, chat: &mut ChatRequest, json: &mut EmbeddedJson) {
    let Some(call) = text(message, "toolCallId") else { return };
    let output = message.get("content").map(|content| parsed(content, json));
    // A failed tool sends `null`: the client does not send the error.
    chat.tool_results.push(ToolResult { call: call.into(), output, error: None });
}

fn content(at: usize, content: Option<&Value>, message: &mut Message) -> Result<(), Error> {
    match content {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => push_text(message, text),
        Some(Value::Array(parts)) => {
            for (number, part) in parts.iter().enumerate() {
                let path = format!("messages[{at}].content[{number}]");
                content_part(&path, part, message)?;
            }
        }
        Some(other) => {
            let problem = format!("must be a string, null or a list of parts, not {}", kind_of(other));
            return Err(wrong(format!("`messages[{at}].content` {problem}")));
        }
    }
    Ok(())
}

fn content_part(path: &str, part: &Value, message: &mut Message) -> Result<(), Error> {
    let Value::Object(part) = part else {
        return Err(wrong(format!("`{path}` must be an object, not {}", kind_of(part))));
    };
    let media = match text(part, "type") {
        Some("text") => {
            let said = text(part, "content").or_else(|| text(part, "text"));
            let Some(said) = said else {
                return Err(wrong(format!("`{path}.content` must be a string")));
            };
            push_text(message, said);
            return Ok(());
        }
        Some(media @ ("image" | "audio" | "video" | "document")) => media,
        _ => {
            let kinds = "`text`, `image`, `audio`, `video` or `document`";
            return Err(wrong(format!("`{path}.type` must be {kinds}")));
        }
    };
    let source = part.get("source").and_then(Value::as_object);
    let Some((source, value)) = source.and_then(|source| Some((source, text(source, "value")?))) else {
        return Err(wrong(format!("`{path}.source.value` must be a string")));
    };
    let metadata = part.get("metadata");
    let named = |key| metadata.and_then(|metadata| metadata.get(key)).and_then(Value::as_str);
    let media_type = named("media_type").or_else(|| named("mediaType")).or_else(|| named("mimeType"));
    let media_type = media_type.map_or_else(|| any_of(media), str::to_owned);
    let url = match text(source, "type") {
        Some("data") if !value.starts_with("data:") => format!("data:{media_type};base64,{value}"),
        _ => value.to_owned(),
    };
    let file = FilePart { url, media_type, metadata: metadata.cloned(), ..FilePart::default() };
    message.parts.push(Part::File(file));
    Ok(())
}

fn any_of(media: &str) -> String {
    match media {
        "document" => "application/octet-stream".to_owned(),
        media => format!("{media}/*"),
    }
}

fn push_text(message: &mut Message, text: &str) {
    let id = format!("text-{}", message.parts.len() + 1);
    message.parts.push(Part::Text(TextPart { text: text.to_owned(), ..TextPart::done(id) }));
}

fn calls(
    at: usize,
    calls: Option<&Value>,
    message: &mut Message,
    json: &mut EmbeddedJson,
) -> Result<(), Error> {
    let calls = match calls {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(calls)) => calls,
        Some(other) => {
            return Err(wrong(format!("`messages[{at}].toolCalls` must be a list, not {}", kind_of(other))));
        }
    };
    for (number, call) in calls.iter().enumerate() {
        let id = call.get("id").and_then(Value::as_str);
        let function = call.get("function");
        let name = function.and_then(|function| function.get("name")).and_then(Value::as_str);
        let (Some(id), Some(name)) = (id, name) else {
            let path = format!("messages[{at}].toolCalls[{number}]");
            return Err(wrong(format!("`{path}` must have an `id` and a `function.name`")));
        };
        let mut tool = called(id, name);
        let arguments = function.and_then(|function| function.get("arguments")).and_then(Value::as_str);
        let arguments = arguments.unwrap_or_default();
        match json.read(arguments) {
            Some(input) => tool.input = Some(input),
            None => arguments.clone_into(&mut tool.input_text),
        }
        message.parts.push(Part::Tool(Box::new(tool)));
    }
    Ok(())
}

fn called(call: &str, name: &str) -> ToolPart {
    ToolPart { state: ToolState::InputAvailable, ..ToolPart::new(call, name) }
}

/// A tool's output: the client sends strings unchanged and everything else as JSON.
fn parsed(content: &Value, json: &mut EmbeddedJson) -> Value {
    match content {
        Value::String(text) => json.read(text).unwrap_or_else(|| content.clone()),
        other => other.clone(),
    }
}
