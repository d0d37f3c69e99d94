//! Messages in the form of TanStack's pages.

use headwater_protocol::{Message, Part, StructuredPart, ToolPart, ToolState};
use serde_json::{Value, json};

use crate::{denial::denial, json::with};

/// A message in the form of a TanStack AI page, for its history.
///
/// ```
/// use headwater_dialects::tanstack;
/// use headwater_protocol::{Message, Role};
///
/// let message = tanstack::page_message(&Message::text("m1", Role::User, "Hi"));
/// assert_eq!(message["parts"][0], serde_json::json!({ "type": "text", "content": "Hi" }));
/// ```
#[must_use]
pub fn page_message(message: &Message) -> Value {
    let mut parts = Vec::new();
    for part in &message.parts {
        match part {
            Part::Text(text) => parts.push(json!({ "type": "text", "content": text.text })),
            Part::Reasoning(text) => parts.push(json!({ "type": "thinking", "content": text.text })),
            Part::Tool(tool) => write_call(tool, &mut parts),
            Part::Question(question) => write_call(&question.to_tool(), &mut parts),
            Part::Structured(object) => write_call(&object_call(object), &mut parts),
            _ => {}
        }
    }
    json!({ "id": message.id, "role": message.role, "parts": parts })
}

/// An object in the form of the stream: a call of a tool named after its type.
fn object_call(object: &StructuredPart) -> ToolPart {
    ToolPart {
        state: ToolState::OutputAvailable,
        input: Some(json!({})),
        output: Some(object.data.clone().unwrap_or(Value::Null)),
        ..ToolPart::new(object.stream.as_str(), object.data_type.as_str())
    }
}

fn write_call(tool: &ToolPart, parts: &mut Vec<Value>) {
    let arguments = match &tool.input {
        Some(input) => input.to_string(),
        None => tool.input_text.clone(),
    };
    let state = match tool.state {
        ToolState::InputStreaming => "input-streaming",
        ToolState::ApprovalRequested => "approval-requested",
        ToolState::ApprovalResponded => "approval-responded",
        _ => "input-complete",
    };
    let approval = tool.approval.as_ref().map(|approval| {
        let asked = json!({ "id": approval.id, "needsApproval": true });
        with(asked, [("approved", approval.approved.map(Value::Bool))])
    });
    let call = json!({
        "type": "tool-call", "id": tool.call, "name": tool.name, "arguments": arguments, "state": state,
    });
    parts.push(with(call, [("approval", approval), ("output", tool.output.clone())]));
    let content = match (&tool.output, &tool.error) {
        _ if tool.state == ToolState::OutputDenied => denial(tool).to_owned(),
        (Some(Value::String(text)), _) => text.clone(),
        (Some(output), _) => output.to_string(),
        (None, Some(error)) => json!({ "error": error }).to_string(),
        (None, None) => return,
    };
    let state = if tool.error.is_some() { "error" } else { "complete" };
    let result =
        json!({ "type": "tool-result", "toolCallId": tool.call, "content": content, "state": state });
    parts.push(with(result, [("error", tool.error.clone().map(Value::String))]));
}

#[cfg(test)]
mod tests;
