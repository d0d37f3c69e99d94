//! Messages with `parts`, the form of TanStack's page.
//!
//! Its clients 0.4 to 0.9 send only parts, and name the conversation in `data`. Those from 0.10 to 0.23 send
//! AG-UI messages with the parts beside them, where decisions about calls are only in the parts.

use serde_json::{Map, Value, json};

use crate::request::ApprovalAnswer;

/// The name of the conversation in requests of clients before 0.10.
pub(super) fn take_conversation(body: &mut Map<String, Value>) -> Option<String> {
    let Some(Value::Object(data)) = body.get_mut("data") else { return None };
    match data.shift_remove("conversationId") {
        Some(Value::String(id)) if !id.is_empty() => Some(id),
        _ => None,
    }
}

/// The decisions about calls of the newest answer, unless a user message follows it.
pub(super) fn decisions(messages: &Value) -> Vec<ApprovalAnswer> {
    let messages = messages.as_array().map(Vec::as_slice).unwrap_or_default();
    let newest = messages.iter().rev().find(|message| message["role"] != "tool");
    let Some(newest) = newest.filter(|message| message["role"] == "assistant") else { return Vec::new() };
    parts(newest).filter_map(decision).collect()
}

fn decision(part: &Value) -> Option<ApprovalAnswer> {
    if part["type"] != "tool-call" || part["state"] != "approval-responded" || part.get("output").is_some() {
        return None;
    }
    let approval = part.get("approval")?;
    Some(ApprovalAnswer {
        approval: approval.get("id")?.as_str()?.into(),
        call: Some(part.get("id")?.as_str()?.into()),
        approved: approval.get("approved")?.as_bool()?,
        ..ApprovalAnswer::default()
    })
}

fn parts(message: &Value) -> impl Iterator<Item = &Value> {
    message.get("parts").and_then(Value::as_array).into_iter().flatten()
}

/// Adds AG-UI's fields to messages that only have parts, and a message for each result.
pub(super) fn expand(messages: &mut Value) {
    let Value::Array(list) = messages else { return };
    let bare = |message: &Value| {
        let has = |key: &str| message.get(key).is_some_and(|value| !value.is_null());
        has("parts") && !has("content") && !has("toolCalls")
    };
    if !list.iter().any(bare) {
        return;
    }
    for mut message in std::mem::take(list) {
        let mut results = Vec::new();
        if bare(&message) {
            results = read_results(&message);
            let content = read_content(&message);
            let calls: Vec<_> = parts(&message).filter_map(read_call).collect();
            if let Value::Object(fields) = &mut message {
                fields.shift_remove("parts");
                fields.insert("content".to_owned(), content);
                if !calls.is_empty() {
                    fields.insert("toolCalls".to_owned(), Value::Array(calls));
                }
            }
        }
        list.push(message);
        list.append(&mut results);
    }
}

/// The text, or a list of parts if there are others.
fn read_content(message: &Value) -> Value {
    let text = |part: &Value| {
        (part["type"] == "text").then(|| part["content"].as_str().unwrap_or_default().to_owned())
    };
    if message["role"] != "user" || parts(message).all(|part| part["type"] == "text") {
        return Value::String(parts(message).filter_map(text).collect());
    }
    let shown = parts(message).map(|part| match text(part) {
        Some(text) => json!({ "type": "text", "text": text }),
        None => part.clone(),
    });
    shown.collect()
}

fn read_call(part: &Value) -> Option<Value> {
    let (id, name) = (part.get("id")?.as_str()?, part.get("name")?.as_str()?);
    let arguments = part.get("arguments").and_then(Value::as_str).unwrap_or_default();
    let function = json!({ "name": name, "arguments": arguments });
    (part["type"] == "tool-call").then(|| json!({ "id": id, "type": "function", "function": function }))
}

/// The results of the message's calls, from their own parts or from calls that the page executed.
fn read_results(message: &Value) -> Vec<Value> {
    let mut results: Vec<Value> = Vec::new();
    for part in parts(message) {
        let (call, content) = match part["type"].as_str() {
            Some("tool-result") => (&part["toolCallId"], part.get("content")),
            Some("tool-call") => (&part["id"], part.get("output")),
            _ => continue,
        };
        let (Some(call), Some(content)) = (call.as_str(), content) else { continue };
        let content = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
        let error = part.get("error").filter(|error| error.is_string());
        let id = format!("tool-{call}");
        let result =
            json!({ "id": id, "role": "tool", "toolCallId": call, "content": content, "error": error });
        match results.iter_mut().find(|known| known["toolCallId"] == *call) {
            Some(known) if part["type"] == "tool-result" => *known = result,
            Some(_) => {}
            None => results.push(result),
        }
    }
    results
}
