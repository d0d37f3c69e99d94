//! Client requests: `RunAgentInput`, and the GETs of TanStack's client.

mod page_parts;
mod snake_case;
#[cfg(test)]
mod tests;

use headwater_protocol::{
    Approval, ApprovalId, ClientTool, Error, ErrorKind, Message, Part, Role, ToolCallId, ToolState,
};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::{
    TANSTACK, TANSTACK_1, V1,
    chunk::{WireMessage, WireMessages},
    messages,
};
use crate::{
    json::{EmbeddedJson, take_text},
    request::{Action, ApprovalAnswer, ChatRequest, InterruptAnswer, RawRequest, RequestCursor, ToolResult},
};

pub(super) fn parse(request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
    if request.method.eq_ignore_ascii_case("GET") {
        return parse_get(request);
    }
    let body: Value = serde_json::from_slice(request.body)
        .map_err(|error| wrong(format!("the body is not JSON: {error}; send a RunAgentInput")))?;
    let Value::Object(body) = body else {
        return Err(wrong("the body must be a JSON object: a RunAgentInput".to_owned()));
    };
    read_input(request, body)
}

/// Parses a `RunAgentInput`.
pub(super) fn read_input(
    request: &RawRequest<'_>,
    mut body: Map<String, Value>,
) -> Result<ChatRequest, Error> {
    snake_case::rename_request(&mut body);
    let mut chat =
        ChatRequest { session: take_text(&mut body, "threadId")?.map(Into::into), ..ChatRequest::default() };
    chat.run = take_text(&mut body, "runId")?
        .or_else(|| request.header("x-run-id").map(str::to_owned))
        .map(Into::into);
    chat.parent_run = take_text(&mut body, "parentRunId")?.map(Into::into);
    // TanStack's client also names the run in a header, and before 1.0 sends its own fields twice.
    let is_old = body.contains_key("data") || !body.contains_key("forwardedProps");
    let tanstack = || request.header("x-run-id").map(|_| if is_old { TANSTACK } else { TANSTACK_1 });
    chat.profile = take_text(&mut body, "protocolVersion")?.map(|_| V1).or_else(tanstack);
    if chat.session.is_none() {
        chat.session = page_parts::take_conversation(&mut body).map(Into::into);
    }
    chat.state = body.shift_remove("state").filter(|state| !state.is_null());
    chat.tools = tools(&mut body)?;
    read_messages(&mut body, &mut chat)?;
    chat.complete = !chat.messages.is_empty();
    read_answers(&mut body, &mut chat)?;
    chat.context = context(body);
    chat.cursor = request.header("last-event-id").map(|id| RequestCursor::EventId(id.to_owned()));
    let only_answers =
        !chat.answers.is_empty() || !chat.tool_results.is_empty() || !chat.approvals.is_empty();
    let spoke = chat.messages.last().is_some_and(|message| message.role == Role::User);
    chat.action = match &chat.cursor {
        Some(_) => Action::Resume,
        None if only_answers && !spoke => Action::Answer,
        None => Action::Chat,
    };
    Ok(chat)
}

/// TanStack's client joins an active run, or loads the conversation.
fn parse_get(request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
    let run = request.query("runId").or_else(|| request.header("x-run-id").map(str::to_owned));
    let mut chat = ChatRequest {
        run: run.map(Into::into),
        session: request.query("threadId").map(Into::into),
        profile: Some(TANSTACK),
        ..ChatRequest::default()
    };
    if let Some(offset) = request.query("offset") {
        if chat.run.is_none() {
            return Err(wrong("`offset` is given without `runId`: name the run to join".to_owned()));
        }
        chat.action = Action::Resume;
        chat.cursor = Some(match offset.as_str() {
            "-1" => RequestCursor::Start,
            "now" => RequestCursor::Now,
            _ => RequestCursor::EventId(offset),
        });
    } else if let Some(id) = request.header("last-event-id").filter(|_| chat.run.is_some()) {
        chat.action = Action::Resume;
        chat.cursor = Some(RequestCursor::EventId(id.to_owned()));
    } else if chat.session.is_some() {
        chat.action = Action::Hydrate;
        chat.stream = false;
        for key in ["limit", "before"] {
            if let Some(value) = request.query(key) {
                chat.context.insert(key.to_owned(), Value::String(value));
            }
        }
    } else {
        let message =
            "a GET must have `offset` and `runId`, to join a run, or `threadId`, to read the conversation";
        return Err(wrong(message.to_owned()));
    }
    Ok(chat)
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Request, message)
}

fn list(body: &mut Map<String, Value>, key: &str) -> Result<Vec<Value>, Error> {
    match body.shift_remove(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) => Ok(list),
        Some(other) => Err(wrong(format!("`{key}` must be a list, not {other}"))),
    }
}

fn tools(body: &mut Map<String, Value>) -> Result<Vec<ClientTool>, Error> {
    let tools = list(body, "tools")?.into_iter().enumerate().map(|(index, tool)| {
        let name = tool.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| wrong(format!("`tools/{index}/name` must be a string")))?;
        Ok(ClientTool {
            name: name.to_owned(),
            description: tool.get("description").and_then(Value::as_str).map(str::to_owned),
            parameters: tool.get("parameters").filter(|parameters| !parameters.is_null()).cloned(),
        })
    });
    tools.collect()
}

fn read_messages(body: &mut Map<String, Value>, chat: &mut ChatRequest) -> Result<(), Error> {
    let Some(mut raw) = body.shift_remove("messages") else {
        return Err(wrong("`messages` is missing: send the whole conversation, or an empty list".to_owned()));
    };
    let decisions = page_parts::decisions(&raw);
    page_parts::expand(&mut raw);
    for (index, message) in raw.as_array_mut().into_iter().flatten().enumerate() {
        tidy(message);
        let content = message.get("content");
        if content.is_some_and(|content| content.is_number() || content.is_boolean()) {
            return Err(wrong(format!("`messages/{index}/content` must be a string or a list of parts")));
        }
    }
    let WireMessages(wires) =
        WireMessages::deserialize(raw).map_err(|error| wrong(format!("cannot read `messages`: {error}")))?;
    chat.messages = messages::read(&wires, &mut EmbeddedJson::of_request());
    // A separate budget: a long conversation must not use up the one for the answers after it.
    let mut json = EmbeddedJson::of_request();
    let after = wires.iter().rposition(|wire| wire.role == Role::Assistant).map_or(0, |at| at + 1);
    for wire in wires.get(after..).unwrap_or_default().iter().filter(|wire| wire.role == Role::Tool) {
        answer(wire, chat, &mut json);
    }
    for decision in decisions {
        let known = |known: &ApprovalAnswer| known.call == decision.call;
        if !chat.approvals.iter().any(known)
            && let Some(call) = &decision.call
        {
            decide(&mut chat.messages, call, &decision.approval, decision.approved);
            chat.tool_results.retain(|result| result.call != *call);
            chat.approvals.push(decision);
        }
    }
    Ok(())
}

/// Old clients are sloppy: drop nulls, and give messages without an id an empty one.
fn tidy(message: &mut Value) {
    let Value::Object(message) = message else { return };
    message.retain(|_, value| !value.is_null());
    message.entry("id").or_insert_with(|| Value::String(String::new()));
}

/// Reads an answer of the page: the output of one of its tools, or a decision.
fn answer(wire: &WireMessage<'_>, chat: &mut ChatRequest, json: &mut EmbeddedJson) {
    let call = ToolCallId::from(wire.tool_call_id.as_deref().unwrap_or_default());
    let content = wire.content.as_ref().map(|content| messages::result_value(content));
    let output = content.map(|content| match &content {
        Value::String(text) => json.read(text).unwrap_or(content),
        _ => content,
    });
    if let Some((approved, reason)) = output.as_ref().and_then(decision) {
        let approval = ApprovalId::from(format!("approval_{call}"));
        decide(&mut chat.messages, &call, &approval, approved);
        let call = Some(call);
        return chat.approvals.push(ApprovalAnswer {
            approval,
            call,
            approved,
            reason,
            ..Default::default()
        });
    }
    let error = wire.error.as_ref().map(ToString::to_string);
    let output = output.filter(|_| error.is_none());
    chat.tool_results.push(ToolResult { call, output, error });
}

/// The texts that TanStack's client sends as output of a call that waited for approval.
fn decision(output: &Value) -> Option<(bool, Option<String>)> {
    let object = output.as_object()?;
    let approved = object.get("approved")?.as_bool()?;
    let known = object.keys().all(|key| matches!(key.as_str(), "approved" | "pendingExecution" | "message"));
    let message = object.get("message").and_then(Value::as_str);
    let said = matches!(message, Some("User approved this action" | "User denied this action"));
    let pending = object.get("pendingExecution") == Some(&Value::Bool(true));
    let reason = message.filter(|_| !said).map(str::to_owned);
    (known && (said || pending)).then_some((approved, reason))
}

/// A decision is not an output: the call is still pending.
fn decide(messages: &mut [Message], call: &ToolCallId, approval: &ApprovalId, approved: bool) {
    let parts = messages.iter_mut().rev().flat_map(|message| &mut message.parts);
    for part in parts {
        if let Part::Tool(tool) = part
            && tool.call == *call
        {
            tool.state = ToolState::ApprovalResponded;
            tool.output = None;
            tool.approval = Some(Approval {
                id: Some(approval.clone()),
                approved: Some(approved),
                ..Approval::default()
            });
            return;
        }
    }
}

/// Parses the answers to interrupts. One that approves or refuses is also a decision, in case the question
/// was an approval.
fn read_answers(body: &mut Map<String, Value>, chat: &mut ChatRequest) -> Result<(), Error> {
    for (index, entry) in list(body, "resume")?.into_iter().enumerate() {
        let Some(id) = entry.get("interruptId").and_then(Value::as_str) else {
            return Err(wrong(format!("`resume/{index}/interruptId` must be a string")));
        };
        let cancelled = match entry.get("status").and_then(Value::as_str) {
            Some("resolved") => false,
            Some("cancelled") => true,
            _ => return Err(wrong(format!("`resume/{index}/status` must be `resolved` or `cancelled`"))),
        };
        let answer = entry.get("payload").filter(|payload| !payload.is_null() && !cancelled).cloned();
        let approved = answer.as_ref().and_then(|answer| match answer {
            Value::Bool(approved) => Some(*approved),
            other => other.get("approved").and_then(Value::as_bool),
        });
        if let Some(approved) = approved {
            let reason = answer.as_ref().and_then(|answer| answer.get("reason")?.as_str()).map(str::to_owned);
            let call = id.strip_prefix("approval_").map(Into::into);
            let input = answer.as_ref().and_then(|answer| answer.get("editedArgs")).cloned();
            chat.approvals.push(ApprovalAnswer {
                approval: id.into(),
                call,
                approved,
                reason,
                input,
                ..Default::default()
            });
        }
        chat.answers.push(InterruptAnswer { request: id.into(), token: None, answer, cancelled });
    }
    Ok(())
}

/// All remaining fields, under their own names. TanStack's `data` repeats `forwardedProps`.
fn context(mut body: Map<String, Value>) -> Map<String, Value> {
    if body.get("data").is_some() && body.get("data") == body.get("forwardedProps") {
        body.shift_remove("data");
    }
    body.retain(|key, value| {
        let usual = matches!(key.as_str(), "forwardedProps" | "context" | "data");
        let empty = match value {
            Value::Null => true,
            Value::Array(list) => list.is_empty(),
            Value::Object(map) => map.is_empty(),
            _ => false,
        };
        !(usual && empty)
    });
    body
}
