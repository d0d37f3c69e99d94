//! Client requests: `POST {messages, data: {conversationId, …}, …}`.
//!
//! The whole conversation is sent each time, without ids. Outputs of client tools are in the tool messages at
//! its end. Decisions about calls are not sent at all: approving and denying send the same bytes, so a
//! decision goes to the answer endpoint as `{approvalId, approved}`, or into `approvals` in the extra body of
//! the page.

mod messages;

use headwater_protocol::{Error, ErrorKind, SessionId};
use serde_json::{Map, Value};

use crate::{
    json::kind_of,
    profile::ContentMode,
    request::{Action, ApprovalAnswer, ChatRequest, InterruptAnswer, RawRequest, RequestCursor},
};

pub(super) fn parse(request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
    let content = content(request)?;
    if request.method.eq_ignore_ascii_case("GET") {
        // These clients never reconnect on their own; a custom page may.
        return Ok(ChatRequest {
            content,
            action: Action::Resume,
            session: request.query("conversationId").map(SessionId::from),
            cursor: Some(RequestCursor::Start),
            ..ChatRequest::default()
        });
    }
    let body: Value = serde_json::from_slice(request.body)
        .map_err(|error| wrong(format!("the body must be JSON: {error}")))?;
    let Value::Object(mut body) = body else {
        return Err(wrong(format!("the body must be an object, not {}", kind_of(&body))));
    };
    if body.contains_key("forwardedProps") && body.contains_key("threadId") {
        return Err(wrong(
            "this is the request of @tanstack/ai-client 0.3 or later, which reads AG-UI: use the ag-ui dialect",
        ));
    }
    if let Some(answer) = answer(&body)? {
        return Ok(answer);
    }

    let mut chat = ChatRequest { complete: true, content, ..ChatRequest::default() };
    let Some(messages) = body.remove("messages") else {
        return Err(wrong("`messages` is missing: send the conversation"));
    };
    messages::read(&messages, &mut chat)?;
    let mut context = match body.remove("data") {
        Some(Value::Object(mut data)) => {
            chat.session =
                data.remove("conversationId").as_ref().and_then(Value::as_str).map(SessionId::from);
            data
        }
        Some(other) => Map::from_iter([("data".to_owned(), other)]),
        None => Map::new(),
    };
    // Fields of the connection are at the top level and override those of the client.
    let mut overridden = Map::new();
    for (key, value) in body {
        if let Some(before) = context.insert(key.clone(), value) {
            overridden.insert(key, before);
        }
    }
    if !overridden.is_empty() {
        context.entry("data").or_insert(Value::Object(overridden));
    }
    if let Some(approvals) = context.remove("approvals") {
        let Value::Array(approvals) = approvals else {
            return Err(wrong(format!("`approvals` must be a list, not {}", kind_of(&approvals))));
        };
        for (at, one) in approvals.iter().enumerate() {
            chat.approvals.push(approval(&format!("approvals[{at}]."), one)?);
        }
    }
    chat.context = context;
    Ok(chat)
}

/// The mode of `content` that the page wants: `?content=`.
fn content(request: &RawRequest<'_>) -> Result<ContentMode, Error> {
    match request.query("content").as_deref() {
        None | Some("compact") => Ok(ContentMode::Compact),
        Some("hybrid") => Ok(ContentMode::Hybrid),
        Some("full") => Ok(ContentMode::Full),
        Some(other) => Err(wrong(format!("`content` is `compact`, `hybrid` or `full`, not `{other}`"))),
    }
}

/// A request that only answers: a decision about a call, or an answer to a question.
fn answer(body: &Map<String, Value>) -> Result<Option<ChatRequest>, Error> {
    if body.contains_key("messages") {
        return Ok(None);
    }
    let mut chat = ChatRequest { action: Action::Answer, ..ChatRequest::default() };
    if let Some(Value::Array(approvals)) = body.get("approvals") {
        for (at, one) in approvals.iter().enumerate() {
            chat.approvals.push(approval(&format!("approvals[{at}]."), one)?);
        }
    } else if body.contains_key("approved") {
        chat.approvals.push(approval("", &Value::Object(body.clone()))?);
    } else if let Some(request) = text(body, "requestId") {
        chat.answers.push(InterruptAnswer {
            request: request.into(),
            token: text(body, "token").map(str::to_owned),
            answer: body.get("answer").cloned(),
            cancelled: body.get("cancelled") == Some(&Value::Bool(true)),
        });
    } else {
        return Ok(None);
    }
    chat.session = text(body, "conversationId").map(SessionId::from);
    chat.run = text(body, "runId").map(Into::into);
    Ok(Some(chat))
}

fn approval(path: &str, value: &Value) -> Result<ApprovalAnswer, Error> {
    let Value::Object(value) = value else {
        return Err(wrong(format!("`{path}` must be an object, not {}", kind_of(value))));
    };
    let Some(id) = text(value, "approvalId").or_else(|| text(value, "id")) else {
        return Err(wrong(format!("`{path}approvalId` must be the `approval.id` of the request")));
    };
    let Some(Value::Bool(approved)) = value.get("approved") else {
        return Err(wrong(format!("`{path}approved` must be true or false")));
    };
    Ok(ApprovalAnswer {
        approval: id.into(),
        call: text(value, "toolCallId").map(Into::into),
        approved: *approved,
        reason: text(value, "reason").map(str::to_owned),
        signature: text(value, "signature").map(str::to_owned),
        input: value.get("input").cloned(),
    })
}

fn text<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Value::as_str)
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Request, message)
}

#[cfg(test)]
mod tests;
