//! Messages in MUI X Chat's form: those its adapter sends, and those it shows.

use headwater_protocol::{
    Approval, DataEvent, Error, ErrorKind, Executor, FilePart, Message, MessageStatus, Part, PartState, Role,
    RunState, SourcePart, TextPart, ToolPart, ToolState,
};
use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeSeq},
};
use serde_json::{Map, Value, json};

use crate::json::with;

/// A message in MUI's form, for its history and realtime events.
///
/// ```
/// use headwater_dialects::mui::UiMessage;
/// use headwater_protocol::{Message, Role};
///
/// let json = serde_json::to_value(UiMessage(&Message::text("m1", Role::User, "Hi"))).unwrap();
/// assert_eq!(json["parts"][0]["text"], "Hi");
/// assert_eq!(json["status"], "sent");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct UiMessage<'a>(pub &'a Message);

impl Serialize for UiMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Message { id, role, status, metadata, author, parts } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", id)?;
        map.serialize_entry("role", role)?;
        map.serialize_entry("status", status)?;
        if let Some(metadata) = metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        if let Some(author) = author {
            map.serialize_entry("author", author)?;
        }
        let parts = parts.iter().map(|shown| match shown {
            // Like the client's own messages: user text never streams.
            Part::Text(text) if *role == Role::User => json!({ "type": "text", "text": text.text }),
            shown => part(shown),
        });
        map.serialize_entry("parts", &parts.collect::<Vec<_>>())?;
        map.end()
    }
}

/// The parts of all messages of a run: a stream is one message for MUI's client.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MuiParts<'a>(pub(super) &'a RunState);

impl Serialize for MuiParts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(None)?;
        for shown in self.0.messages().iter().flat_map(|message| &message.parts) {
            let value = match shown {
                Part::Structured(object) => {
                    let data = self.0.structured().get(&object.stream).and_then(|state| state.data());
                    json!({ "type": format!("data-{}", object.data_type), "id": object.stream, "data": data })
                }
                shown => part(shown),
            };
            seq.serialize_element(&value)?;
        }
        seq.end()
    }
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({ "type": "text", "text": text.text, "state": text.state }),
        Part::Reasoning(text) => json!({ "type": "reasoning", "text": text.text, "state": text.state }),
        Part::Tool(tool) => {
            let kind = if tool.dynamic == Some(true) { "dynamic-tool" } else { "tool" };
            json!({ "type": kind, "toolInvocation": invocation(tool) })
        }
        Part::SourceUrl(source) => {
            let part = json!({ "type": "source-url", "sourceId": source.source, "url": source.url });
            with(part, [("title", source.title.as_ref().map(|title| json!(title)))])
        }
        Part::SourceDocument(source) => with(
            json!({ "type": "source-document", "sourceId": source.source }),
            [
                ("title", source.title.as_ref().map(|title| json!(title))),
                ("text", source.text.as_ref().map(|text| json!(text))),
            ],
        ),
        Part::File(file) => with(
            json!({ "type": "file", "mediaType": file.media_type, "url": file.url }),
            [("filename", file.filename.as_ref().map(|name| json!(name)))],
        ),
        Part::Data(data) => with(
            json!({ "type": format!("data-{}", data.name), "data": data.data }),
            [
                ("id", data.id.as_ref().map(|id| json!(id))),
                ("transient", data.transient.then_some(Value::Bool(true))),
            ],
        ),
        Part::Structured(part) => {
            json!({ "type": format!("data-{}", part.data_type), "data": part.data, "id": part.stream })
        }
        Part::Question(question) => {
            json!({ "type": "tool", "toolInvocation": invocation(&question.to_tool()) })
        }
        Part::StepStart => json!({ "type": "step-start" }),
        Part::Other { value: part } => part.clone(),
        // A part without a counterpart is sent in our own form.
        part => json!(part),
    }
}

/// A call without its title: MUI's chunks have none, so the call would be renamed when the page is reloaded.
fn invocation(tool: &ToolPart) -> Value {
    let decision = tool.approval.as_ref().and_then(|approval| {
        let decision = json!({ "approved": approval.approved? });
        Some(with(decision, [("reason", approval.reason.as_ref().map(|reason| json!(reason)))]))
    });
    let approval = tool.approval.as_ref().and_then(|approval| approval.id.as_ref());
    with(
        json!({ "toolCallId": tool.call, "toolName": tool.name, "state": tool.state }),
        [
            ("input", tool.input.clone()),
            ("output", tool.output.clone()),
            ("errorText", tool.error.as_ref().map(|error| json!(error))),
            ("approval", decision),
            ("approvalId", approval.map(|id| json!(id))),
            ("providerExecuted", (tool.executor == Executor::Provider).then_some(Value::Bool(true))),
            ("callProviderMetadata", tool.metadata.clone()),
            ("preliminary", tool.preliminary.then_some(Value::Bool(true))),
        ],
    )
}

/// Parses a message of MUI; `at` is its path in the request.
pub(super) fn read(value: &Value, at: &str) -> Result<Message, Error> {
    let Value::Object(fields) = value else {
        return Err(refused(at, "a message must be an object"));
    };
    let id = text(fields, "id", at)?;
    let role = match fields.get("role").and_then(Value::as_str) {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        _ => return Err(refused(&format!("{at}.role"), "it must be \"user\", \"assistant\" or \"system\"")),
    };
    // A message that arrived here is no longer `sending`; the page would show that forever.
    let status = match fields.get("status").and_then(Value::as_str) {
        Some("streaming") => MessageStatus::Streaming,
        Some("cancelled") => MessageStatus::Cancelled,
        Some("error") => MessageStatus::Error,
        _ => MessageStatus::Sent,
    };
    let mut message = Message::new(id, role, status);
    message.metadata = fields.get("metadata").filter(|metadata| !metadata.is_null()).cloned();
    message.author = fields.get("author").filter(|author| !author.is_null()).cloned();
    message.parts = read_parts(fields.get("parts"), at)?;
    Ok(message)
}

pub(super) fn read_parts(parts: Option<&Value>, at: &str) -> Result<Vec<Part>, Error> {
    let parts = match parts {
        Some(Value::Array(parts)) => parts.as_slice(),
        None | Some(Value::Null) => &[],
        Some(_) => return Err(refused(&format!("{at}.parts"), "it must be an array of parts")),
    };
    let read = |(index, part)| read_part(part, index, &format!("{at}.parts[{index}]"));
    parts.iter().enumerate().map(read).collect()
}

fn read_part(value: &Value, index: usize, at: &str) -> Result<Part, Error> {
    let Value::Object(fields) = value else {
        return Err(refused(at, "a part must be an object"));
    };
    let kind = text(fields, "type", at)?;
    let block = || -> Result<TextPart, Error> {
        let streaming = fields.get("state").and_then(Value::as_str) == Some("streaming");
        let state = if streaming { PartState::Streaming } else { PartState::Done };
        Ok(TextPart {
            text: text(fields, "text", at)?.to_owned(),
            state,
            ..TextPart::open(format!("part-{index}"))
        })
    };
    Ok(match kind {
        "text" => Part::Text(block()?),
        "reasoning" => Part::Reasoning(block()?),
        "tool" | "dynamic-tool" => {
            let at = format!("{at}.toolInvocation");
            let Some(Value::Object(invocation)) = fields.get("toolInvocation") else {
                return Err(refused(&at, "a tool part must have one, as an object"));
            };
            Part::Tool(Box::new(read_invocation(invocation, kind == "dynamic-tool", &at)?))
        }
        "source-url" => Part::SourceUrl(SourcePart {
            source: text(fields, "sourceId", at)?.to_owned(),
            url: optional(fields, "url"),
            title: optional(fields, "title"),
            ..SourcePart::default()
        }),
        "source-document" => Part::SourceDocument(SourcePart {
            source: text(fields, "sourceId", at)?.to_owned(),
            title: optional(fields, "title"),
            text: optional(fields, "text"),
            ..SourcePart::default()
        }),
        "file" => Part::File(FilePart {
            url: text(fields, "url", at)?.to_owned(),
            media_type: optional(fields, "mediaType").unwrap_or_default(),
            filename: optional(fields, "filename"),
            ..FilePart::default()
        }),
        "step-start" => Part::StepStart,
        other => Part::Data(match other.strip_prefix("data-") {
            Some(name) => DataEvent {
                name: name.to_owned(),
                id: optional(fields, "id"),
                data: fields.get("data").cloned().unwrap_or_default(),
                transient: fields.get("transient") == Some(&Value::Bool(true)),
            },
            // A custom part of the application, kept completely.
            None => DataEvent { name: other.to_owned(), id: None, data: value.clone(), transient: false },
        }),
    })
}

fn read_invocation(fields: &Map<String, Value>, dynamic: bool, at: &str) -> Result<ToolPart, Error> {
    let state = fields.get("state").cloned().unwrap_or_default();
    let state: ToolState = serde_json::from_value(state)
        .map_err(|_| refused(&format!("{at}.state"), "it must be a state such as \"input-available\""))?;
    let call = text(fields, "toolCallId", at)?;
    let decision = fields.get("approval").and_then(Value::as_object);
    let approval_id = optional(fields, "approvalId");
    let approval = (decision.is_some() || approval_id.is_some()).then(|| Approval {
        // Without an approval id the answer names the call.
        id: Some(approval_id.unwrap_or_else(|| call.to_owned()).into()),
        approved: decision.and_then(|decision| decision.get("approved")).and_then(Value::as_bool),
        reason: decision.and_then(|decision| optional(decision, "reason")),
        ..Approval::default()
    });
    let provider = fields.get("providerExecuted") == Some(&Value::Bool(true));
    Ok(ToolPart {
        call: call.into(),
        name: optional(fields, "toolName").unwrap_or_default(),
        state,
        dynamic: dynamic.then_some(true),
        executor: if provider { Executor::Provider } else { Executor::Server },
        title: optional(fields, "title"),
        input: fields.get("input").cloned(),
        output: fields.get("output").cloned(),
        preliminary: fields.get("preliminary") == Some(&Value::Bool(true)),
        error: optional(fields, "errorText"),
        approval,
        metadata: fields.get("callProviderMetadata").cloned(),
        ..ToolPart::new("", "")
    })
}

fn text<'a>(fields: &'a Map<String, Value>, key: &str, at: &str) -> Result<&'a str, Error> {
    let found = fields.get(key).and_then(Value::as_str);
    found.ok_or_else(|| refused(&format!("{at}.{key}"), "it must be a string"))
}

fn optional(fields: &Map<String, Value>, key: &str) -> Option<String> {
    fields.get(key).and_then(Value::as_str).map(str::to_owned)
}

pub(super) fn refused(at: &str, why: &str) -> Error {
    Error::new(ErrorKind::Request, format!("`{at}` cannot be read: {why}"))
}
