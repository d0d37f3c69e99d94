//! The requests: `POST …/responses`, `GET …/responses/{id}`, `POST …/responses/{id}/cancel`.

mod input;

use headwater_protocol::{AnswerFormat, ClientTool, Error, ErrorKind, Message, Role};
use serde_json::{Map, Value};

use super::name;
use crate::request::{Action, AnswerRef, ChatRequest, RawRequest, RequestCursor, percent_decode};

/// Paths of OpenAI that are not served.
const NOT_SERVED: [&str; 3] = ["compact", "input_tokens", "input_items"];

/// Parses a request.
pub(super) fn parse(request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
    let mut segments = request.path().trim_end_matches('/').rsplit('/');
    let last = segments.next().unwrap_or_default();
    if last == "cancel" {
        let answer = Some(named(segments.next().unwrap_or_default(), "the path")?);
        let run = answer.as_ref().map(|answer| answer.run.clone());
        let chat = ChatRequest { action: Action::Stop, run, answer, stream: false, ..ChatRequest::default() };
        return if request.method == "POST" {
            Ok(chat)
        } else {
            Err(wrong("send POST to cancel a response"))
        };
    }
    if request.method == "GET" {
        return read(request, last);
    }
    if last.starts_with("resp_") {
        return Err(wrong("send GET to read a response, or POST to its `/cancel`"));
    }
    if NOT_SERVED.contains(&last) || segments.any(|segment| segment == "responses") {
        let message = "unknown path: use `responses`, `responses/{id}` or `responses/{id}/cancel`";
        return Err(Error::new(ErrorKind::Path, message));
    }
    create(request)
}

/// `GET …/responses/{id}`: as a stream after an event, or the current document.
fn read(request: &RawRequest<'_>, id: &str) -> Result<ChatRequest, Error> {
    let answer = named(id, "the path")?;
    let stream = request.query("stream").is_some_and(|stream| stream == "true" || stream == "1");
    let after = match request.query("starting_after") {
        None => None,
        Some(after) => Some(after.parse().map_err(|_| {
            wrong("`starting_after` must be the `sequence_number` of the last event that was read")
        })?),
    };
    let cursor = after.map_or(RequestCursor::Start, RequestCursor::Sequence);
    Ok(ChatRequest {
        action: Action::Resume,
        run: Some(answer.run.clone()),
        answer: Some(answer),
        cursor: Some(cursor),
        stream,
        wait: false,
        ..ChatRequest::default()
    })
}

fn create(request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
    let mut body = match serde_json::from_slice(request.body) {
        Ok(Value::Object(body)) => body,
        Ok(_) => return Err(wrong("the body must be a JSON object with `model` and `input`")),
        Err(error) => return Err(wrong(format!("the body is not JSON: {error}"))),
    };
    if body.get("prompt").is_some_and(|prompt| !prompt.is_null()) {
        return Err(wrong("`prompt` is not supported: an agent has prompts of its own"));
    }
    let background = flag(&mut body, "background")?.unwrap_or(false);
    let mut chat = ChatRequest {
        agent: text(&mut body, "model")?,
        stream: flag(&mut body, "stream")?.unwrap_or(false),
        wait: !background,
        session: conversation(&mut body)?.map(Into::into),
        previous: match text(&mut body, "previous_response_id")? {
            Some(id) => Some(named(&id, "`previous_response_id`")?),
            None => None,
        },
        tools: tools(&mut body)?,
        tool_choice: body.shift_remove("tool_choice").filter(|choice| !choice.is_null()),
        answer_format: answer_format(&mut body)?,
        idempotency_key: request.header("idempotency-key").map(str::to_owned),
        ..ChatRequest::default()
    };
    let goes_on = chat.previous.is_some() || chat.session.is_some();
    if chat.previous.is_some() && chat.session.is_some() {
        return Err(wrong("send `previous_response_id` or `conversation`, not both"));
    }
    if chat.agent.is_none() && chat.previous.is_none() {
        return Err(wrong("`model` is missing: send the name of an agent"));
    }
    let instructions = text(&mut body, "instructions")?.filter(|text| !text.is_empty());
    let input = body.shift_remove("input").filter(|input| !input.is_null());
    let Some(input) = input else {
        return Err(wrong("`input` is missing: send a text, or a list of items"));
    };
    let whole = input.is_array() && !goes_on;
    input::read(input, &mut chat)?;
    if let Some(text) = instructions {
        chat.messages.insert(0, Message::text("", Role::System, text));
    }
    let spoke = chat.messages.last().is_some_and(|message| message.role == Role::User);
    let answered = !chat.tool_results.is_empty() || !chat.approvals.is_empty();
    chat.action = match (spoke, answered) {
        (true, true) if goes_on => {
            return Err(wrong(
                "`input` answers what the response waits for and says something new: send the answers alone, and what is \
                 new after the next response",
            ));
        }
        (false, true) if goes_on => Action::Answer,
        (false, false) => return Err(wrong("`input` must end with a message of the user, or with outputs")),
        _ => Action::Chat,
    };
    chat.complete = whole;
    chat.context = body;
    Ok(chat)
}

/// The requested format of the text: `text.format`.
fn answer_format(body: &mut Map<String, Value>) -> Result<Option<AnswerFormat>, Error> {
    let Some(mut text) = body.shift_remove("text").filter(|text| !text.is_null()) else { return Ok(None) };
    let format = text.get_mut("format").map(Value::take).unwrap_or_default();
    match format.get("type").and_then(Value::as_str) {
        None if format.is_null() => Ok(None),
        Some("text") => Ok(None),
        Some("json_object") => Ok(Some(AnswerFormat::default())),
        Some("json_schema") => {
            let schema = format.get("schema").filter(|schema| schema.is_object()).cloned();
            let schema = schema.ok_or_else(|| wrong("`text.format.schema` must be a JSON Schema"))?;
            let name = format.get("name").and_then(Value::as_str).map(str::to_owned);
            Ok(Some(AnswerFormat { name, schema: Some(schema) }))
        }
        _ => Err(wrong("`text.format.type` must be `text`, `json_object` or `json_schema`")),
    }
}

fn conversation(body: &mut Map<String, Value>) -> Result<Option<String>, Error> {
    match body.shift_remove("conversation") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(id)) => Ok(Some(id)),
        Some(Value::Object(mut conversation)) => match conversation.shift_remove("id") {
            Some(Value::String(id)) => Ok(Some(id)),
            _ => Err(wrong("`conversation.id` must be a string")),
        },
        Some(_) => Err(wrong("`conversation` must be a string, or an object with an `id`")),
    }
}

/// The client's tools. The agent's tools are not configured by requests.
fn tools(body: &mut Map<String, Value>) -> Result<Vec<ClientTool>, Error> {
    let tools = match body.shift_remove("tools") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(tools)) => tools,
        Some(_) => return Err(wrong("`tools` must be an array")),
    };
    let read = |(at, tool): (usize, Value)| {
        let kind = tool.get("type").and_then(Value::as_str).unwrap_or_default();
        if kind != "function" {
            return Err(wrong(format!(
                "`tools[{at}].type` must be `function`, not `{kind}`: tools that run on the server are the agent's own"
            )));
        }
        let name = tool.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
        Ok(ClientTool {
            name: name.ok_or_else(|| wrong(format!("`tools[{at}].name` must be a string")))?.to_owned(),
            description: tool.get("description").and_then(Value::as_str).map(str::to_owned),
            parameters: tool.get("parameters").filter(|schema| !schema.is_null()).cloned(),
        })
    };
    tools.into_iter().enumerate().map(read).collect()
}

/// The response that a request names.
fn named(id: &str, place: &str) -> Result<AnswerRef, Error> {
    let id = percent_decode(id);
    name::parse(&id).ok_or_else(|| {
        wrong(format!("{place} must name a response by an id that this server gave, such as `resp_run_….0`"))
    })
}

fn text(body: &mut Map<String, Value>, key: &str) -> Result<Option<String>, Error> {
    match body.shift_remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong(format!("`{key}` must be a string"))),
    }
}

fn flag(body: &mut Map<String, Value>, key: &str) -> Result<Option<bool>, Error> {
    match body.shift_remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(flag)),
        Some(_) => Err(wrong(format!("`{key}` must be `true` or `false`"))),
    }
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Request, message.into())
}

#[cfg(test)]
mod tests;
