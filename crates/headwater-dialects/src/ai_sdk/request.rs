//! The requests of `useChat`: a POST with the conversation, and a GET to reconnect to a run.

use std::borrow::Cow;

use headwater_protocol::{Error, ErrorKind, Executor, Message, Part, Role};
use serde_json::{Map, Value};

use crate::{
    json::take_text,
    request::{Action, ApprovalAnswer, ChatRequest, RawRequest, ToolResult, percent_decode},
    ui_message,
};

/// Parses a request.
pub(super) fn parse(request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
    if request.method.eq_ignore_ascii_case("GET") {
        return resume(request);
    }
    if !request.method.eq_ignore_ascii_case("POST") {
        return Err(wrong(format!("the client sends POST and GET, not {}", request.method)));
    }
    let body: Value = serde_json::from_slice(request.body)
        .map_err(|error| wrong(format!("the body is not JSON: {error}; send what useChat sends")))?;
    let Value::Object(mut body) = body else {
        return Err(wrong("the body must be a JSON object with `id` and `messages`".to_owned()));
    };
    let complete = body.contains_key("messages");
    let mut chat = ChatRequest {
        complete,
        action: action(body.shift_remove("trigger"))?,
        messages: messages(&mut body)?,
        session: take_text(&mut body, "id")?.map(Into::into),
        message: take_text(&mut body, "messageId")?.map(Into::into),
        ..ChatRequest::default()
    };
    let last = chat.messages.iter().rposition(|message| message.role == Role::Assistant);
    if let Some(message) = last.and_then(|at| chat.messages.get(at)) {
        // Answers that the server has not acted on yet.
        let tools = message.parts.iter().filter_map(Part::as_tool);
        chat.approvals = tools.filter_map(ApprovalAnswer::of).collect();
        // Those in an older message were given before.
        if last == chat.messages.len().checked_sub(1) {
            chat.tool_results = tool_results(message);
        }
    }
    chat.context = body;
    Ok(chat)
}

/// Clients before 5.0.270, 6.0.297 and 7.0.107 append the chat's id to the query of their URL:
/// `chat?agent=x/<id>/stream` stands for `chat/<id>/stream?agent=x`.
pub(super) fn target<'a>(request: &RawRequest<'a>) -> Cow<'a, str> {
    let misplaced = || {
        let (path, query) = request.target.split_once('?')?;
        let (query, id) = query.strip_suffix("/stream")?.rsplit_once('/')?;
        let whole = path.ends_with("/stream");
        (!whole && !id.is_empty()).then(|| format!("{path}/{id}/stream?{query}"))
    };
    let is_get = request.method.eq_ignore_ascii_case("GET");
    is_get.then(misplaced).flatten().map_or(Cow::Borrowed(request.target), Cow::Owned)
}

/// `GET <api>/<id>/stream`.
fn resume(request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
    let target = target(request);
    let path = target.split_once('?').map_or(&*target, |(path, _)| path);
    let id = path.strip_suffix("/stream").and_then(|path| path.rsplit_once('/')).map(|(_, id)| id);
    let Some(id) = id.filter(|id| !id.is_empty()) else {
        return Err(wrong(format!("`{path}` must end with `/<chat id>/stream`, as the client asks for it")));
    };
    let id = percent_decode(id);
    Ok(ChatRequest { action: Action::Resume, session: Some(id.into()), ..ChatRequest::default() })
}

fn action(trigger: Option<Value>) -> Result<Action, Error> {
    match trigger.as_ref().map(Value::as_str) {
        None | Some(Some("submit-message")) => Ok(Action::Chat),
        Some(Some("regenerate-message")) => Ok(Action::Regenerate),
        Some(_) => Err(wrong("`trigger` must be `submit-message` or `regenerate-message`".to_owned())),
    }
}

/// The conversation, or only its last message if the page is configured to send only that.
fn messages(body: &mut Map<String, Value>) -> Result<Vec<Message>, Error> {
    if let Some(messages) = body.shift_remove("messages") {
        let Value::Array(messages) = messages else {
            return Err(wrong("`messages` must be an array of UIMessages".to_owned()));
        };
        let read = |(index, message)| read_message(message, &format!("messages[{index}]"));
        return messages.iter().enumerate().map(read).collect();
    }
    match body.shift_remove("message") {
        Some(message) => Ok(vec![read_message(&message, "message")?]),
        None => {
            Err(wrong("`messages` is missing: send the conversation as an array of UIMessages".to_owned()))
        }
    }
}

fn read_message(message: &Value, path: &str) -> Result<Message, Error> {
    let read = ui_message::read(message, path)?;
    if !matches!(read.role, Role::System | Role::User | Role::Assistant) {
        return Err(wrong(format!("`{path}.role` must be one of `system`, `user` and `assistant`")));
    }
    Ok(read)
}

/// The outputs of the last step's tools; the server knows which of them were executed by the page.
fn tool_results(message: &Message) -> Vec<ToolResult> {
    let step = message.parts.iter().rposition(|part| matches!(part, Part::StepStart));
    let tools = message.parts.iter().skip(step.unwrap_or_default()).filter_map(Part::as_tool);
    let given = tools.filter(|tool| tool.executor != Executor::Provider && !tool.preliminary);
    given.filter_map(ToolResult::of).collect()
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Request, message)
}

#[cfg(test)]
mod tests;
