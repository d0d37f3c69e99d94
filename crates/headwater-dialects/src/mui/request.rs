//! The requests of our adapter.
//!
//! MUI leaves the requests to the adapter, so these are ours, named after its methods:
//!
//! | request | method of the adapter | action |
//! |---|---|---|
//! | `POST` `{conversationId?, message, messages, attachments?, metadata?}` | `sendMessage` | chat |
//! | `POST` `{conversationId?, messageId, message, messages}` | `regenerate` | regenerate |
//! | `POST` `{conversationId?, messageId?, after?}`, or `GET` with the same in the query | `reconnectToStream` | resume |
//! | `POST` `{id, approved, reason?}` | `addToolApprovalResponse` | answer |
//! | `POST` `{toolCallId, output}`, or `{requestId, answer?, token?}` | `answer` | answer |
//! | `POST` `…/stop` `{conversationId?, messageId?, runId?}`, or `stop: true` | `stop` | stop |
//! | `GET` with `conversationId` | `listMessages` | hydrate |
//! | `GET` without | `listConversations` | list the sessions |
//!
//! `after` is the last sequence number that the page has, as is `Last-Event-ID`. A conversation is a session.

use headwater_protocol::{ApprovalId, Error, ErrorKind, MessageId, Role, RunId};
use serde_json::{Map, Value};

use super::message::{self, refused};
use crate::{
    json::take_text,
    request::{Action, ApprovalAnswer, ChatRequest, InterruptAnswer, RawRequest, RequestCursor, ToolResult},
};

pub(super) fn parse(request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
    let mut parsed =
        if request.method.eq_ignore_ascii_case("GET") { from_query(request)? } else { from_body(request)? };
    if parsed.cursor.is_none()
        && let Some(id) = request.header("last-event-id").filter(|id| !id.is_empty())
    {
        parsed.cursor = Some(event_cursor(id));
    }
    parsed.idempotency_key = request.header("idempotency-key").map(str::to_owned);
    Ok(parsed)
}

fn from_query(request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
    let mut parsed = ChatRequest {
        session: request.query("conversationId").map(Into::into),
        run: request.query("runId").map(Into::into),
        message: request.query("messageId").map(Into::into),
        ..ChatRequest::default()
    };
    if let Some(after) = request.query("after") {
        parsed.cursor = Some(match after.parse() {
            Ok(after) => RequestCursor::Sequence(after),
            Err(_) => {
                return Err(refused("after", "it must be the last sequence that was read, a whole number"));
            }
        });
    }
    let streams = request.path().ends_with("/stream") || parsed.message.is_some() || parsed.run.is_some();
    parsed.action = match (&parsed.cursor, &parsed.session) {
        _ if streams => Action::Resume,
        (Some(_), _) => Action::Resume,
        (None, Some(_)) => Action::Hydrate,
        (None, None) => Action::ListSessions,
    };
    parsed.stream = parsed.action == Action::Resume;
    for page in ["cursor", "direction", "query"] {
        if let Some(value) = request.query(page) {
            parsed.context.insert(page.to_owned(), Value::String(value));
        }
    }
    Ok(parsed)
}

fn from_body(request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
    let stops = request.path().ends_with("/stop");
    let mut fields = match request.body {
        [] if stops => Map::new(),
        body => match serde_json::from_slice(body) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) => return Err(Error::new(ErrorKind::Request, "the body must be a JSON object")),
            Err(error) => {
                return Err(Error::new(ErrorKind::Request, format!("the body is not JSON: {error}")));
            }
        },
    };
    let mut parsed = ChatRequest {
        session: take_text(&mut fields, "conversationId")?.map(Into::into),
        run: take_text(&mut fields, "runId")?.map(RunId::from),
        message: take_text(&mut fields, "messageId")?.map(MessageId::from),
        workflow: take_text(&mut fields, "workflow")?,
        ..ChatRequest::default()
    };
    parsed.cursor = match fields.shift_remove("after") {
        None | Some(Value::Null) => None,
        Some(after) => Some(RequestCursor::Sequence(
            after.as_u64().ok_or_else(|| refused("after", "it must be the last sequence that was read"))?,
        )),
    };
    let stops = stops || fields.shift_remove("stop") == Some(Value::Bool(true));
    let new = match fields.shift_remove("message") {
        None | Some(Value::Null) => None,
        Some(value) => Some(message::read(&value, "message")?),
    };
    parsed.messages = match fields.shift_remove("messages") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => {
            let read = |(index, value)| message::read(value, &format!("messages[{index}]"));
            list.iter().enumerate().map(read).collect::<Result<_, _>>()?
        }
        Some(_) => return Err(refused("messages", "it must be an array of messages")),
    };
    let said = new.is_some() || !parsed.messages.is_empty();
    let known = new.as_ref().is_some_and(|new| parsed.messages.iter().any(|message| message.id == new.id));
    parsed.messages.extend(new.filter(|_| !known));
    answers(&mut fields, &mut parsed)?;
    parsed.action = if stops {
        Action::Stop
    } else if !parsed.approvals.is_empty() || !parsed.answers.is_empty() || !parsed.tool_results.is_empty() {
        Action::Answer
    } else if said && parsed.message.is_some() {
        Action::Regenerate
    } else if said {
        Action::Chat
    } else if parsed.cursor.is_some() || parsed.message.is_some() || parsed.run.is_some() {
        Action::Resume
    } else {
        let what = "the body asks for nothing: send a `message`, an answer (`id` and `approved`), or the \
                    `messageId` of the reply to resume";
        return Err(Error::new(ErrorKind::Request, what));
    };
    if matches!(parsed.action, Action::Chat | Action::Regenerate) {
        // Decisions and tool outputs of the page are in the newest reply.
        let reply = parsed.messages.iter().rposition(|message| message.role == Role::Assistant);
        parsed.add_answers_of(reply);
    }
    parsed.context = fields;
    Ok(parsed)
}

/// Takes a decision about a tool call or an answer to a question out of the body.
fn answers(fields: &mut Map<String, Value>, parsed: &mut ChatRequest) -> Result<(), Error> {
    if let Some(approved) = fields.shift_remove("approved") {
        let approved =
            approved.as_bool().ok_or_else(|| refused("approved", "it must be `true` or `false`"))?;
        let id = take_text(fields, "id")?
            .ok_or_else(|| refused("id", "a decision must name its approval, or its tool call"))?;
        parsed.approvals.push(ApprovalAnswer {
            approval: ApprovalId::from(id),
            call: take_text(fields, "toolCallId")?.map(Into::into),
            approved,
            reason: take_text(fields, "reason")?,
            signature: take_text(fields, "signature")?,
            input: None,
        });
    }
    if let Some(output) = fields.shift_remove("output") {
        let call = take_text(fields, "toolCallId")?
            .ok_or_else(|| refused("toolCallId", "an output must name its tool call"))?;
        parsed.tool_results.push(ToolResult { call: call.into(), output: Some(output), error: None });
    }
    if let Some(request) = take_text(fields, "requestId")? {
        parsed.answers.push(InterruptAnswer {
            request: request.into(),
            token: take_text(fields, "token")?,
            answer: fields.shift_remove("answer"),
            cancelled: fields.shift_remove("cancelled") == Some(Value::Bool(true)),
        });
    }
    Ok(())
}

/// Our event ids end with their sequence number.
fn event_cursor(id: &str) -> RequestCursor {
    match id.rsplit_once(':').and_then(|(_, sequence)| sequence.parse().ok()) {
        Some(sequence) => RequestCursor::Sequence(sequence),
        None => RequestCursor::EventId(id.to_owned()),
    }
}

#[cfg(test)]
mod tests;
