//! Requests of the contract's pages: `POST {messages, sessionId, toolChoice, …}`.
//!
//! Messages are UI messages of the AI SDK, since the contract keeps that UI. A `Last-Event-ID` header resumes
//! a run after an event, `…/stop` stops one, and the extensions `answers` and `approvals` answer its
//! questions.

use headwater_protocol::{Error, ErrorKind, Message, Role, RunId, SessionId};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{
    json::{kind_of, take_text},
    request::{Action, ChatRequest, RawRequest, RequestCursor},
    ui_message,
};

/// Parses a request.
pub(super) fn parse(request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
    let mut body = match request.body.trim_ascii() {
        b"" if request.method != "POST" => Map::new(),
        body => object(body)?,
    };
    let (run, stops) = from_path(request.path());
    let run = take_text(&mut body, "runId")?.or_else(|| request.query("runId")).or(run);
    let session = take_text(&mut body, "sessionId")?.or_else(|| request.query("sessionId"));
    let idempotency_key = request.header("idempotency-key");
    let mut chat = ChatRequest {
        run: run.map(RunId::from),
        session: session.map(SessionId::from),
        idempotency_key: idempotency_key.map(str::to_owned),
        cursor: cursor(request),
        tool_choice: tool_choice(&mut body)?,
        answers: list(&mut body, "answers")?,
        approvals: list(&mut body, "approvals")?,
        ..ChatRequest::default()
    };
    chat.messages = match body.remove("messages") {
        Some(Value::Array(messages)) => {
            let read = messages.iter().enumerate().map(|(at, message)| read_message(at, message));
            read.collect::<Result<_, _>>()?
        }
        Some(other) => return Err(wrong("messages", "an array of UI messages", &other)),
        None => Vec::new(),
    };
    chat.complete = !chat.messages.is_empty();
    chat.add_answers_of(chat.messages.len().checked_sub(1));
    chat.action = action(request, stops, &chat)?;
    chat.context = body;
    Ok(chat)
}

/// Parses the message at an index: an AI SDK message, or one with a single text, as in older UIs.
fn read_message(at: usize, message: &Value) -> Result<Message, Error> {
    let path = format!("messages[{at}]");
    let (None, Some(Value::String(text))) = (message.get("parts"), message.get("content")) else {
        return ui_message::read(message, &path);
    };
    let role = message.get("role").cloned().unwrap_or_default();
    let role: Role = serde_json::from_value(role.clone())
        .map_err(|_| wrong(&format!("{path}.role"), "\"user\", \"assistant\" or \"system\"", &role))?;
    let id = message.get("id").and_then(Value::as_str).unwrap_or_default();
    let mut read = Message::text(id, role, text);
    read.metadata = message.get("metadata").cloned();
    Ok(read)
}

fn action(request: &RawRequest<'_>, stops: bool, chat: &ChatRequest) -> Result<Action, Error> {
    if stops {
        return Ok(Action::Stop);
    }
    if chat.cursor.is_some() || request.method == "GET" {
        return Ok(Action::Resume);
    }
    if !chat.messages.is_empty() {
        return Ok(Action::Chat);
    }
    if !chat.answers.is_empty() || !chat.approvals.is_empty() {
        return Ok(Action::Answer);
    }
    let message = "`messages` is missing or empty: send the conversation, the newest message last";
    Err(Error::new(ErrorKind::Request, message))
}

/// The run in `…/{run}/stream` and `…/{run}/stop`, and whether to stop it.
fn from_path(path: &str) -> (Option<String>, bool) {
    let mut segments = path.trim_end_matches('/').rsplit('/');
    match (segments.next(), segments.next()) {
        (Some(last @ ("stream" | "stop")), run) => {
            let run = run.filter(|run| !matches!(*run, "" | "chat" | "onboarding"));
            (run.map(crate::request::percent_decode), last == "stop")
        }
        _ => (None, false),
    }
}

fn cursor(request: &RawRequest<'_>) -> Option<RequestCursor> {
    let id = request.header("last-event-id").filter(|id| !id.is_empty()).map(str::to_owned);
    id.or_else(|| request.query("lastEventId")).map(RequestCursor::EventId)
}

fn tool_choice(body: &mut Map<String, Value>) -> Result<Option<Value>, Error> {
    match body.remove("toolChoice") {
        None | Some(Value::Null) => Ok(None),
        Some(choice @ (Value::String(_) | Value::Object(_))) => Ok(Some(choice)),
        Some(other) => Err(wrong("toolChoice", "a string or an object", &other)),
    }
}

fn list<T: DeserializeOwned>(body: &mut Map<String, Value>, field: &str) -> Result<Vec<T>, Error> {
    let Some(value) = body.remove(field) else {
        return Ok(Vec::new());
    };
    serde_json::from_value(value)
        .map_err(|error| Error::new(ErrorKind::Request, format!("`{field}` cannot be read: {error}")))
}

fn object(body: &[u8]) -> Result<Map<String, Value>, Error> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(body)) => Ok(body),
        Ok(other) => Err(wrong("body", "a JSON object", &other)),
        Err(error) => {
            let message = format!("the body is not JSON: {error}; send {{\"messages\": […]}}");
            Err(Error::new(ErrorKind::Request, message))
        }
    }
}

fn wrong(path: &str, expected: &str, seen: &Value) -> Error {
    let seen = kind_of(seen);
    Error::new(ErrorKind::Request, format!("`{path}` must be {expected}, not {seen}"))
}
