//! Requests of Kortyx' pages: a chat message, an answer to a question, or a checkpoint operation.

mod fields;

use headwater_protocol::{Error, ErrorKind, Message, RequestId, Role};
use serde_json::{Map, Value};

use self::fields::RequestFields;
use super::approval;
use crate::request::{Action, ApprovalAnswer, ChatRequest, CheckpointAction, InterruptAnswer, RawRequest};

pub(super) fn parse(request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
    if request.method.eq_ignore_ascii_case("GET") && request.body.is_empty() {
        return resume(request);
    }
    let body: Value = serde_json::from_slice(request.body).map_err(|error| {
        bad(format!("the body is not JSON: {error}; send {{\"sessionId\", \"messages\"}} as JSON"))
    })?;
    let Value::Object(body) = body else {
        return Err(bad("the body must be a JSON object with `messages`"));
    };
    if body.contains_key("action") && !body.contains_key("messages") {
        return checkpoint(RequestFields::new("", body));
    }
    chat(RequestFields::new("", body))
}

/// Kortyx has no way to reconnect to a run; custom pages may resume by session or run.
fn resume(request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
    let mut path = request.path().trim_end_matches('/').rsplit('/');
    let named = match path.next() {
        Some("stream") => path.next().map(crate::request::percent_decode),
        _ => None,
    };
    let session = request.query("sessionId").or(named);
    let run = request.query("runId");
    if session.is_none() && run.is_none() {
        return Err(bad("a GET must name a session: add `?sessionId=…`, or POST a chat"));
    }
    Ok(ChatRequest {
        action: Action::Resume,
        session: session.map(Into::into),
        run: run.map(Into::into),
        ..ChatRequest::default()
    })
}

fn chat(mut body: RequestFields) -> Result<ChatRequest, Error> {
    let session = body.name("sessionId")?;
    let workflow = body.name("workflowId")?;
    let stream = body.flag("stream")?.unwrap_or(true);
    let mut context = body.object("context")?.unwrap_or_default();
    let messages = body.required("messages", "an array of messages")?;
    let Value::Array(messages) = messages else {
        return Err(body.wrong("messages", "an array of messages", &messages));
    };

    let mut request =
        ChatRequest { session: session.map(Into::into), workflow, stream, ..ChatRequest::default() };
    let last = messages.len().checked_sub(1);
    for (index, value) in messages.into_iter().enumerate() {
        let message = message(index, value)?;
        if Some(index) == last
            && let Some(answer) = message.metadata.as_ref().and_then(|metadata| metadata.get("resume"))
            && !answer.is_null()
        {
            take_answer(&format!("messages[{index}].metadata.resume"), answer, &mut request)?;
        }
        request.messages.push(message);
    }
    for (key, value) in body.rest() {
        // Keys that the page put into the context itself are not overwritten.
        let key = if context.contains_key(&key) { format!("body.{key}") } else { key };
        context.insert(key, value);
    }
    request.context = context;
    Ok(request)
}

fn message(index: usize, value: Value) -> Result<Message, Error> {
    let place = format!("messages[{index}]");
    let Value::Object(fields) = value else {
        return Err(bad(format!("`{place}` must be an object with `role` and `content`")));
    };
    let mut fields = RequestFields::new(place, fields);
    let role = fields.text("role")?;
    let role = match role.as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        _ => return Err(fields.bad("role", "must be \"user\", \"assistant\" or \"system\"")),
    };
    let Some(content) = fields.text("content")? else {
        return Err(fields.bad("content", "must be a string"));
    };
    let id = fields.text("id")?.unwrap_or_default();
    let mut metadata = fields.object("metadata")?;
    if let Some(timestamp) = fields.take("timestamp") {
        metadata.get_or_insert_default().entry("timestamp").or_insert(timestamp);
    }
    fields.end("role, content, metadata, id, timestamp")?;
    let mut message = Message::text(id, role, content);
    message.metadata = metadata.map(Value::Object);
    Ok(message)
}

/// The answer to a question is in the metadata of the message that shows it to other readers.
fn take_answer(place: &str, resume: &Value, request: &mut ChatRequest) -> Result<(), Error> {
    let Value::Object(fields) = resume else {
        return Err(bad(format!("`{place}` must be an object with `token` and `requestId`")));
    };
    let mut fields = RequestFields::new(place, fields.clone());
    let Some(token) = fields.text("token")? else {
        return Err(fields.bad("token", "must be the `resumeToken` of the interrupt"));
    };
    let Some(question) = fields.text("requestId")? else {
        return Err(fields.bad("requestId", "must be the `requestId` of the interrupt"));
    };
    let cancelled = fields.flag("cancel")?.unwrap_or(false);
    let given = ["selected", "choices", "choice"].into_iter().find_map(|key| fields.take(key));
    let answer = given.and_then(selected);

    request.action = Action::Answer;
    match approval::of_request(&question) {
        Some(approval) => {
            let chosen = answer.as_ref().and_then(first);
            let approved = match chosen {
                Some(approval::APPROVE) if !cancelled => true,
                Some(approval::DENY) | None => false,
                Some(_) if cancelled => false,
                Some(_) => return Err(fields.bad("selected", "must be \"approve\" or \"deny\"")),
            };
            let signature = Some(token).filter(|token| *token != *approval.as_str());
            request.approvals.push(ApprovalAnswer { approval, approved, signature, ..Default::default() });
        }
        None => {
            // A question without a token is sent with its id instead.
            let token = Some(token).filter(|token| *token != question);
            let request_id = RequestId::from(question);
            request.answers.push(InterruptAnswer { request: request_id, token, answer, cancelled });
        }
    }
    Ok(())
}

/// The selected value: a text, an option with an id, or several of these.
fn selected(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::Array(items) => {
            let items: Vec<Value> = items.into_iter().filter_map(selected).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::Object(mut option) => option.remove("id").and_then(selected),
        Value::String(text) => Some(Value::String(text)),
        Value::Bool(_) | Value::Number(_) => Some(Value::String(value.to_string())),
    }
}

fn first(answer: &Value) -> Option<&str> {
    match answer {
        Value::Array(items) => items.first().and_then(first),
        answer => answer.as_str(),
    }
}

fn checkpoint(mut body: RequestFields) -> Result<ChatRequest, Error> {
    let action = body.text("action")?;
    let mut request = ChatRequest::default();
    let action = match action.as_deref() {
        Some("list") => {
            request.session = Some(body.needed("sessionId")?.into());
            CheckpointAction::List
        }
        Some("get") => CheckpointAction::Get(body.needed("checkpointId")?.into()),
        Some("rollback") => CheckpointAction::Rollback(body.needed("checkpointId")?.into()),
        Some("fork") => CheckpointAction::Fork {
            checkpoint: body.needed("checkpointId")?.into(),
            session: body.name("newSessionId")?.map(Into::into),
        },
        _ => return Err(body.bad("action", "must be \"list\", \"get\", \"rollback\" or \"fork\"")),
    };
    body.end("action, sessionId to list, checkpointId otherwise, newSessionId to fork")?;
    request.action = Action::Checkpoint(action);
    request.stream = false;
    Ok(request)
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Request, message)
}

/// A JSON object that is parsed field by field.
type Object = Map<String, Value>;

#[cfg(test)]
mod tests;
