//! `input`: a text, or a list of items.

use headwater_protocol::{
    Error, FilePart, Message, MessageStatus, Part, Role, TextPart, ToolPart, ToolState,
};
use serde_json::Value;

use super::wrong;
use crate::{
    json::EmbeddedJson,
    request::{ApprovalAnswer, ChatRequest, ToolResult},
};

/// Items that a server wrote and a client sends back: the session already has them.
const PASSED_OVER: [&str; 8] = [
    "reasoning",
    "item_reference",
    "mcp_call",
    "mcp_approval_request",
    "mcp_list_tools",
    "image_generation_call",
    "compaction",
    "web_search_call",
];

/// Parses the messages and answers of an input. In a whole conversation only outputs after the last user
/// message are answers: earlier ones were already processed.
pub(super) fn read(input: Value, chat: &mut ChatRequest) -> Result<(), Error> {
    let items = match input {
        Value::String(text) => {
            chat.messages.push(Message::text("", Role::User, text));
            return Ok(());
        }
        Value::Array(items) => items,
        _ => return Err(wrong("`input` must be a text, or a list of items")),
    };
    let mut embedded = EmbeddedJson::of_request();
    for (at, item) in items.iter().enumerate() {
        let place = format!("input[{at}]");
        let kind = match item.get("type") {
            None | Some(Value::Null) => "message",
            Some(Value::String(kind)) => kind,
            Some(_) => return Err(wrong(format!("`{place}.type` must be a string"))),
        };
        match kind {
            "message" => {
                let message = message(item, &place)?;
                if message.role == Role::User && chat.previous.is_none() && chat.session.is_none() {
                    chat.tool_results.clear();
                    chat.approvals.clear();
                }
                chat.messages.push(message);
            }
            "function_call" => {
                let mut call =
                    ToolPart::new(required(item, "call_id", &place)?, required(item, "name", &place)?);
                let arguments = required(item, "arguments", &place)?;
                call.input = embedded.read(arguments);
                arguments.clone_into(&mut call.input_text);
                call.state = ToolState::InputAvailable;
                assistant(chat).parts.push(Part::Tool(Box::new(call)));
            }
            "function_call_output" => {
                let call = required(item, "call_id", &place)?;
                let output = output(item.get("output"), &place, &mut embedded)?;
                let parts = chat.messages.iter_mut().rev().flat_map(|message| message.parts.iter_mut().rev());
                let known = parts.filter_map(|part| match part {
                    Part::Tool(tool) if tool.call == *call => Some(tool),
                    _ => None,
                });
                if let Some(tool) = known.into_iter().next() {
                    tool.output = Some(output.clone());
                    tool.state = ToolState::OutputAvailable;
                }
                chat.tool_results.push(ToolResult { call: call.into(), output: Some(output), error: None });
            }
            "mcp_approval_response" => chat.approvals.push(ApprovalAnswer {
                approval: required(item, "approval_request_id", &place)?.into(),
                approved: item
                    .get("approve")
                    .and_then(Value::as_bool)
                    .ok_or_else(|| wrong(format!("`{place}.approve` must be `true` or `false`")))?,
                reason: item.get("reason").and_then(Value::as_str).map(str::to_owned),
                ..ApprovalAnswer::default()
            }),
            kind if PASSED_OVER.contains(&kind) || kind.contains(':') => {}
            kind => {
                return Err(wrong(format!(
                    "`{place}.type` cannot be `{kind}`: send messages, `function_call`, `function_call_output` or \
                     `mcp_approval_response`"
                )));
            }
        }
    }
    Ok(())
}

/// The newest message, if it is the assistant's; otherwise a new one.
fn assistant(chat: &mut ChatRequest) -> &mut Message {
    let spoke = chat.messages.last().is_some_and(|message| message.role == Role::Assistant);
    if !spoke {
        chat.messages.push(Message::new("", Role::Assistant, MessageStatus::Sent));
    }
    let last = chat.messages.len() - 1;
    #[expect(clippy::indexing_slicing, reason = "it was just checked, or added")]
    &mut chat.messages[last]
}

fn message(item: &Value, place: &str) -> Result<Message, Error> {
    let role = match item.get("role").and_then(Value::as_str) {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        Some("developer") => Role::Developer,
        _ => {
            return Err(wrong(format!(
                "`{place}.role` must be `user`, `assistant`, `system` or `developer`"
            )));
        }
    };
    let parts = match item.get("content") {
        Some(Value::String(text)) => return Ok(Message::text("", role, text)),
        Some(Value::Array(parts)) => parts,
        _ => return Err(wrong(format!("`{place}.content` must be a text, or a list of parts"))),
    };
    let mut message = Message::new("", role, MessageStatus::Sent);
    for (at, part) in parts.iter().enumerate() {
        message.parts.push(content(part, &format!("{place}.content[{at}]"))?);
    }
    Ok(message)
}

fn content(part: &Value, place: &str) -> Result<Part, Error> {
    let field = |key: &str| part.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let written = |text: &str| Part::Text(TextPart { text: text.to_owned(), ..TextPart::done("text") });
    match part.get("type").and_then(Value::as_str).unwrap_or_default() {
        "input_text" | "output_text" | "text" => Ok(written(required(part, "text", place)?)),
        "refusal" => Ok(written(required(part, "refusal", place)?)),
        "input_image" => {
            let url = field("image_url").ok_or_else(|| no_file(place, "image_url"))?;
            Ok(Part::File(FilePart {
                url: url.to_owned(),
                media_type: media_type(url).unwrap_or("image/*").to_owned(),
                ..FilePart::default()
            }))
        }
        "input_file" => {
            let url = field("file_data").or_else(|| field("file_url"));
            let url = url.ok_or_else(|| no_file(place, "file_data` or `file_url"))?;
            Ok(Part::File(FilePart {
                url: url.to_owned(),
                media_type: media_type(url).unwrap_or("application/octet-stream").to_owned(),
                filename: field("filename").map(str::to_owned),
                ..FilePart::default()
            }))
        }
        kind => Err(wrong(format!(
            "`{place}.type` cannot be `{kind}`: send `input_text`, `input_image` or `input_file`"
        ))),
    }
}

fn no_file(place: &str, field: &str) -> Error {
    wrong(format!("`{place}` must have `{field}`: this server keeps no files that could be named by an id"))
}

/// The media type of a `data:` URL.
fn media_type(url: &str) -> Option<&str> {
    let kind = url.strip_prefix("data:")?.split([';', ',']).next()?;
    (!kind.is_empty()).then_some(kind)
}

/// The output of a tool. Lists and objects are sent as JSON in a text.
fn output(output: Option<&Value>, place: &str, embedded: &mut EmbeddedJson) -> Result<Value, Error> {
    match output {
        Some(Value::String(text)) if text.trim_start().starts_with(['{', '[']) => {
            Ok(embedded.read(text).unwrap_or_else(|| Value::String(text.clone())))
        }
        Some(Value::String(text)) => Ok(Value::String(text.clone())),
        Some(Value::Array(parts)) => {
            let texts: Option<String> = parts
                .iter()
                .map(|part| part.get("text").filter(|_| part["type"] == "input_text")?.as_str())
                .collect();
            Ok(texts.map_or_else(|| Value::Array(parts.clone()), Value::String))
        }
        _ => Err(wrong(format!("`{place}.output` must be a text, or a list of parts"))),
    }
}

fn required<'a>(item: &'a Value, key: &str, place: &str) -> Result<&'a str, Error> {
    item.get(key).and_then(Value::as_str).ok_or_else(|| wrong(format!("`{place}.{key}` must be a string")))
}
