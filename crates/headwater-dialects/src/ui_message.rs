//! Converts `UIMessage` of the AI SDK to and from [`Message`].
//!
//! Requests of the `ai-sdk` and `agents` dialects carry the conversation in this form. Unknown parts are kept
//! unchanged. Not kept: `rawInput` of a call with a known input (for a call that failed without one it *is*
//! the input), `toolMetadata`, `inputEncoding`, `citations`, and a `false` in `providerExecuted` or
//! `isAutomatic`.

use headwater_protocol::{
    Approval, DataEvent, Error, ErrorKind, Executor, FilePart, Message, MessageStatus, Part, PartState, Role,
    SourcePart, TextPart, ToolPart, ToolState,
};
use serde_json::{Map, Value, json};

use crate::json::with;

/// Parses a message of the page.
///
/// ```
/// use headwater_dialects::ui_message;
/// use serde_json::json;
///
/// let message = json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "Hi" }] });
/// assert_eq!(ui_message::read(&message, "messages[0]")?.plain_text(), "Hi");
/// # Ok::<(), headwater_protocol::Error>(())
/// ```
///
/// # Errors
/// Names the field, below `path`, that is missing or of the wrong type.
pub fn read(message: &Value, path: &str) -> Result<Message, Error> {
    let fields = object(message, path)?;
    let role: Role = match fields.get("role") {
        Some(role) => serde_json::from_value(role.clone()).ok(),
        None => None,
    }
    .ok_or_else(|| wrong(&format!("{path}.role"), "one of `system`, `user` and `assistant`"))?;
    let id = match fields.get("id") {
        Some(Value::String(id)) => id.as_str(),
        None => "",
        Some(_) => return Err(wrong(&format!("{path}.id"), "a string")),
    };
    let Some(Value::Array(parts)) = fields.get("parts") else {
        return Err(wrong(&format!("{path}.parts"), "an array"));
    };
    let mut message = Message::new(id, role, MessageStatus::Sent);
    message.metadata = fields.get("metadata").filter(|metadata| !metadata.is_null()).cloned();
    for (index, part) in parts.iter().enumerate() {
        message.parts.push(read_part(part, index, &format!("{path}.parts[{index}]"))?);
    }
    Ok(message)
}

fn read_part(part: &Value, index: usize, path: &str) -> Result<Part, Error> {
    let fields = MessageFields { map: object(part, path)?, path };
    let kind = fields.text("type")?;
    Ok(match kind {
        "text" => Part::Text(text_part(&fields, index)?),
        "reasoning" => Part::Reasoning(text_part(&fields, index)?),
        "step-start" => Part::StepStart,
        "source-url" => Part::SourceUrl(SourcePart {
            source: fields.text("sourceId")?.to_owned(),
            url: Some(fields.text("url")?.to_owned()),
            title: fields.optional("title")?,
            call: fields.optional("toolCallId")?.map(Into::into),
            metadata: fields.value("providerMetadata"),
            ..SourcePart::default()
        }),
        "source-document" => Part::SourceDocument(SourcePart {
            source: fields.text("sourceId")?.to_owned(),
            title: fields.optional("title")?,
            media_type: fields.optional("mediaType")?,
            filename: fields.optional("filename")?,
            text: fields.optional("text")?,
            metadata: fields.value("providerMetadata"),
            ..SourcePart::default()
        }),
        // We do not model files by provider reference.
        "file" if fields.map.contains_key("providerReference") => Part::Other { value: part.clone() },
        "file" | "reasoning-file" => Part::File(FilePart {
            url: fields.text("url")?.to_owned(),
            media_type: fields.text("mediaType")?.to_owned(),
            filename: fields.optional("filename")?,
            reasoning: kind == "reasoning-file",
            metadata: fields.value("providerMetadata"),
            ..FilePart::default()
        }),
        "dynamic-tool" => Part::Tool(Box::new(tool_part(&fields, fields.text("toolName")?, Some(true))?)),
        _ => match (kind.strip_prefix("tool-"), kind.strip_prefix("data-")) {
            (Some(name), _) => Part::Tool(Box::new(tool_part(&fields, name, None)?)),
            (_, Some(name)) => Part::Data(DataEvent {
                name: name.to_owned(),
                id: fields.optional("id")?,
                data: fields.map.get("data").cloned().unwrap_or(Value::Null),
                transient: false,
            }),
            _ => Part::Other { value: part.clone() },
        },
    })
}

fn text_part(fields: &MessageFields<'_>, index: usize) -> Result<TextPart, Error> {
    let id = fields.optional("id")?.unwrap_or_else(|| format!("part-{index}"));
    let mut part = TextPart::done(id);
    fields.text("text")?.clone_into(&mut part.text);
    if fields.optional("state")?.as_deref() == Some("streaming") {
        part.state = PartState::Streaming;
    }
    part.metadata = fields.value("providerMetadata");
    Ok(part)
}

fn tool_part(fields: &MessageFields<'_>, name: &str, dynamic: Option<bool>) -> Result<ToolPart, Error> {
    let state = fields.map.get("state").cloned().unwrap_or_default();
    let state: ToolState =
        serde_json::from_value(state).map_err(|_| fields.wrong("state", "a tool's state"))?;
    let raw = fields.map.get("rawInput");
    let mut input = fields.map.get("input").cloned();
    if state == ToolState::OutputError && input.as_ref().is_none_or(Value::is_null) {
        input = raw.cloned().or(input);
    }
    let executor = match fields.map.get("providerExecuted") {
        Some(Value::Bool(true)) => Executor::Provider,
        None | Some(Value::Bool(false)) => Executor::Server,
        Some(_) => return Err(fields.wrong("providerExecuted", "a boolean")),
    };
    let streaming = state == ToolState::InputStreaming;
    Ok(ToolPart {
        call: fields.text("toolCallId")?.into(),
        name: name.to_owned(),
        state,
        dynamic,
        executor,
        title: fields.optional("title")?,
        input_text: raw.and_then(Value::as_str).filter(|_| streaming).unwrap_or_default().to_owned(),
        input,
        output: fields.map.get("output").cloned(),
        preliminary: fields.map.get("preliminary") == Some(&Value::Bool(true)),
        error: fields.optional("errorText")?,
        approval: fields.value("approval").map(|approval| read_approval(&approval, fields)).transpose()?,
        metadata: fields.value("callProviderMetadata"),
        output_metadata: fields.value("resultProviderMetadata"),
        ..ToolPart::new("", "")
    })
}

fn read_approval(approval: &Value, part: &MessageFields<'_>) -> Result<Approval, Error> {
    const KEYS: [&str; 5] = ["id", "approved", "reason", "signature", "isAutomatic"];
    let own = |(key, value): (&String, &Value)| (key.clone(), value.clone());
    let path = format!("{}.approval", part.path);
    let fields = MessageFields { map: object(approval, &path)?, path: &path };
    let approved = match fields.map.get("approved") {
        None => None,
        Some(Value::Bool(approved)) => Some(*approved),
        Some(_) => return Err(fields.wrong("approved", "a boolean")),
    };
    Ok(Approval {
        id: Some(fields.text("id")?.into()),
        approved,
        reason: fields.optional("reason")?,
        signature: fields.optional("signature")?,
        automatic: fields.map.get("isAutomatic") == Some(&Value::Bool(true)),
        extra: fields.map.iter().filter(|(key, _)| !KEYS.contains(&key.as_str())).map(own).collect(),
    })
}

/// An object and its path.
struct MessageFields<'a> {
    map: &'a Map<String, Value>,
    path: &'a str,
}

impl<'a> MessageFields<'a> {
    fn wrong(&self, key: &str, expected: &str) -> Error {
        wrong(&format!("{}.{key}", self.path), expected)
    }

    fn text(&self, key: &str) -> Result<&'a str, Error> {
        self.map.get(key).and_then(Value::as_str).ok_or_else(|| self.wrong(key, "a string"))
    }

    fn optional(&self, key: &str) -> Result<Option<String>, Error> {
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.wrong(key, "a string")),
        }
    }

    fn value(&self, key: &str) -> Option<Value> {
        self.map.get(key).filter(|value| !value.is_null()).cloned()
    }
}

fn object<'a>(value: &'a Value, path: &str) -> Result<&'a Map<String, Value>, Error> {
    value.as_object().ok_or_else(|| wrong(path, "an object"))
}

fn wrong(path: &str, expected: &str) -> Error {
    Error::new(ErrorKind::Request, format!("`{path}` must be {expected}, as in a UIMessage of the AI SDK"))
}

/// Writes a message in the page's form.
///
/// ```
/// use headwater_dialects::ui_message;
/// use headwater_protocol::{Message, Role};
///
/// let message = ui_message::write(&Message::text("m1", Role::Assistant, "Hello"));
/// assert_eq!(message["parts"][0]["text"], "Hello");
/// ```
#[must_use]
pub fn write(message: &Message) -> Value {
    let parts: Vec<_> = message.parts.iter().map(write_part).collect();
    with(
        json!({ "id": message.id }),
        [
            ("metadata", message.metadata.clone()),
            ("role", Some(json!(message.role))),
            ("parts", Some(Value::Array(parts))),
        ],
    )
}

fn write_part(part: &Part) -> Value {
    match part {
        Part::Text(text) => write_text("text", text),
        Part::Reasoning(text) => with(write_text("reasoning", text), [("id", Some(json!(text.id)))]),
        Part::Tool(tool) => write_tool(tool),
        Part::SourceUrl(source) => write_source("source-url", source),
        Part::SourceDocument(source) => write_source("source-document", source),
        Part::File(file) => with(
            json!({
                "type": if file.reasoning { "reasoning-file" } else { "file" },
                "mediaType": file.media_type,
            }),
            [
                ("filename", file.filename.clone().map(Value::String)),
                ("url", Some(json!(file.url))),
                ("providerMetadata", file.metadata.clone()),
            ],
        ),
        Part::Data(data) => with(
            json!({ "type": format!("data-{}", data.name) }),
            [("id", data.id.clone().map(Value::String)), ("data", Some(data.data.clone()))],
        ),
        Part::Structured(part) => {
            json!({ "type": format!("data-{}", part.data_type), "id": part.stream, "data": part.data })
        }
        Part::Question(question) => write_tool(&question.to_tool()),
        Part::StepStart => json!({ "type": "step-start" }),
        Part::Other { value: part } => part.clone(),
        // A part without a counterpart is sent in our own form.
        part => json!(part),
    }
}

fn write_text(kind: &str, part: &TextPart) -> Value {
    let text = json!({ "type": kind, "text": part.text, "state": part.state });
    with(text, [("providerMetadata", part.metadata.clone())])
}

fn write_source(kind: &str, part: &SourcePart) -> Value {
    let (mut media_type, mut title) = (part.media_type.as_deref(), part.title.as_deref());
    if kind == "source-document" {
        // `validateUIMessages` requires both.
        media_type = media_type.or(Some("text/plain"));
        title = title.or(part.filename.as_deref()).or(Some(&part.source));
    }
    with(
        json!({ "type": kind, "sourceId": part.source }),
        [
            ("url", part.url.clone().map(Value::String)),
            ("mediaType", media_type.map(Value::from)),
            ("title", title.map(Value::from)),
            ("filename", part.filename.clone().map(Value::String)),
            ("providerMetadata", part.metadata.clone()),
        ],
    )
}

fn write_tool(part: &ToolPart) -> Value {
    let kind = match part.dynamic {
        Some(true) => json!({ "type": "dynamic-tool", "toolName": part.name }),
        _ => json!({ "type": format!("tool-{}", part.name) }),
    };
    // `validateUIMessages` requires an input, output and error in the states that have them.
    let has_input = !matches!(part.state, ToolState::InputStreaming | ToolState::OutputError);
    let has_output = part.state == ToolState::OutputAvailable;
    let has_error = part.state == ToolState::OutputError;
    let streamed = part.state == ToolState::InputStreaming && !part.input_text.is_empty();
    let approval = part.approval.as_ref().and_then(|approval| {
        let Approval { id, approved, reason, signature, automatic, extra } = approval;
        let mut written = with(
            json!({ "id": id.as_ref()? }),
            [
                ("approved", approved.map(Value::Bool)),
                ("reason", reason.clone().map(Value::String)),
                ("signature", signature.clone().map(Value::String)),
                ("isAutomatic", automatic.then_some(Value::Bool(true))),
            ],
        );
        written.as_object_mut()?.extend(extra.clone());
        Some(written)
    });
    with(
        kind,
        [
            ("toolCallId", Some(json!(part.call))),
            ("state", Some(json!(part.state))),
            ("title", part.title.clone().map(Value::String)),
            ("input", part.input.clone().or_else(|| has_input.then_some(Value::Null))),
            ("rawInput", streamed.then(|| json!(part.input_text))),
            ("output", part.output.clone().or_else(|| has_output.then_some(Value::Null))),
            ("preliminary", part.preliminary.then_some(Value::Bool(true))),
            ("errorText", part.error.clone().or_else(|| has_error.then(String::new)).map(Value::String)),
            ("providerExecuted", (part.executor == Executor::Provider).then_some(Value::Bool(true))),
            ("approval", approval),
            ("callProviderMetadata", part.metadata.clone()),
            ("resultProviderMetadata", part.output_metadata.clone()),
        ],
    )
}
