//! The messages of the page: `UIMessage` of the AI SDK, to and from [`Message`].
//!
//! The requests of the `ai-sdk` and `agents` dialects carry the whole conversation in this form. Parts that we have no word for are kept as they
//! came. What is not kept: `rawInput` of a call whose input is known (of a call that failed without one it
//! *is* the input), `toolMetadata`, `inputEncoding`, `citations`, and that `providerExecuted` or `isAutomatic` is `false`.

use headwater_protocol::{
    Approval, DataEvent, Error, ErrorKind, Executor, FilePart, Message, MessageStatus, Part, PartState, Role,
    SourcePart, TextPart, ToolPart, ToolState,
};
use serde_json::{Map, Value, json};

/// Reads a message as the page holds it.
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
    let fields = Fields { map: object(part, path)?, path };
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
        // Where a provider keeps it we have no word for.
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

fn text_part(fields: &Fields<'_>, index: usize) -> Result<TextPart, Error> {
    let id = fields.optional("id")?.unwrap_or_else(|| format!("part-{index}"));
    let mut part = TextPart::done(id);
    fields.text("text")?.clone_into(&mut part.text);
    if fields.optional("state")?.as_deref() == Some("streaming") {
        part.state = PartState::Streaming;
    }
    part.metadata = fields.value("providerMetadata");
    Ok(part)
}

fn tool_part(fields: &Fields<'_>, name: &str, dynamic: Option<bool>) -> Result<ToolPart, Error> {
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

fn read_approval(approval: &Value, part: &Fields<'_>) -> Result<Approval, Error> {
    const KEYS: [&str; 5] = ["id", "approved", "reason", "signature", "isAutomatic"];
    let own = |(key, value): (&String, &Value)| (key.clone(), value.clone());
    let path = format!("{}.approval", part.path);
    let fields = Fields { map: object(approval, &path)?, path: &path };
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

/// An object and where it is.
struct Fields<'a> {
    map: &'a Map<String, Value>,
    path: &'a str,
}

impl<'a> Fields<'a> {
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

/// Writes a message as the page holds it.
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
    let mut out = Map::new();
    out.insert("id".to_owned(), json!(message.id));
    put(&mut out, "metadata", message.metadata.clone());
    out.insert("role".to_owned(), json!(message.role));
    out.insert("parts".to_owned(), message.parts.iter().map(write_part).collect());
    Value::Object(out)
}

fn write_part(part: &Part) -> Value {
    let mut out = Map::new();
    match part {
        Part::Text(text) => write_text(&mut out, "text", text),
        Part::Reasoning(text) => {
            write_text(&mut out, "reasoning", text);
            out.insert("id".to_owned(), json!(text.id));
        }
        Part::Tool(tool) => write_tool(&mut out, tool),
        Part::SourceUrl(source) => write_source(&mut out, "source-url", source),
        Part::SourceDocument(source) => write_source(&mut out, "source-document", source),
        Part::File(file) => {
            let kind = if file.reasoning { "reasoning-file" } else { "file" };
            out.insert("type".to_owned(), json!(kind));
            out.insert("mediaType".to_owned(), json!(file.media_type));
            put(&mut out, "filename", file.filename.clone().map(Value::String));
            out.insert("url".to_owned(), json!(file.url));
            put(&mut out, "providerMetadata", file.metadata.clone());
        }
        Part::Data(data) => {
            out.insert("type".to_owned(), json!(format!("data-{}", data.name)));
            put(&mut out, "id", data.id.clone().map(Value::String));
            out.insert("data".to_owned(), data.data.clone());
        }
        Part::Structured(part) => {
            out.insert("type".to_owned(), json!(format!("data-{}", part.data_type)));
            out.insert("id".to_owned(), json!(part.stream));
            out.insert("data".to_owned(), part.data.clone().unwrap_or(Value::Null));
        }
        Part::Question(question) => write_tool(&mut out, &question.to_tool()),
        Part::StepStart => {
            out.insert("type".to_owned(), json!("step-start"));
        }
        Part::Other { value: part } => return part.clone(),
        // A part that has no counterpart is given in our own form.
        part => return json!(part),
    }
    Value::Object(out)
}

fn write_text(out: &mut Map<String, Value>, kind: &str, part: &TextPart) {
    out.insert("type".to_owned(), json!(kind));
    out.insert("text".to_owned(), json!(part.text));
    out.insert("state".to_owned(), json!(part.state));
    put(out, "providerMetadata", part.metadata.clone());
}

fn write_source(out: &mut Map<String, Value>, kind: &str, part: &SourcePart) {
    out.insert("type".to_owned(), json!(kind));
    out.insert("sourceId".to_owned(), json!(part.source));
    put(out, "url", part.url.clone().map(Value::String));
    let (mut media_type, mut title) = (part.media_type.as_deref(), part.title.as_deref());
    if kind == "source-document" {
        // `validateUIMessages` wants both.
        media_type = media_type.or(Some("text/plain"));
        title = title.or(part.filename.as_deref()).or(Some(&part.source));
    }
    put(out, "mediaType", media_type.map(Value::from));
    put(out, "title", title.map(Value::from));
    put(out, "filename", part.filename.clone().map(Value::String));
    put(out, "providerMetadata", part.metadata.clone());
}

fn write_tool(out: &mut Map<String, Value>, part: &ToolPart) {
    if part.dynamic == Some(true) {
        out.insert("type".to_owned(), json!("dynamic-tool"));
        out.insert("toolName".to_owned(), json!(part.name));
    } else {
        out.insert("type".to_owned(), json!(format!("tool-{}", part.name)));
    }
    out.insert("toolCallId".to_owned(), json!(part.call));
    out.insert("state".to_owned(), json!(part.state));
    put(out, "title", part.title.clone().map(Value::String));
    // `validateUIMessages` wants an input, an output and an error where the state has them.
    let has_input = !matches!(part.state, ToolState::InputStreaming | ToolState::OutputError);
    put(out, "input", part.input.clone().or_else(|| has_input.then_some(Value::Null)));
    if part.state == ToolState::InputStreaming && !part.input_text.is_empty() {
        out.insert("rawInput".to_owned(), json!(part.input_text));
    }
    let has_output = part.state == ToolState::OutputAvailable;
    put(out, "output", part.output.clone().or_else(|| has_output.then_some(Value::Null)));
    put(out, "preliminary", part.preliminary.then_some(Value::Bool(true)));
    let has_error = part.state == ToolState::OutputError;
    let error = part.error.clone().or_else(|| has_error.then(String::new));
    put(out, "errorText", error.map(Value::String));
    put(out, "providerExecuted", (part.executor == Executor::Provider).then_some(Value::Bool(true)));
    if let Some(Approval { id: Some(id), approved, reason, signature, automatic, extra }) = &part.approval {
        let mut approval = Map::new();
        approval.insert("id".to_owned(), json!(id));
        put(&mut approval, "approved", approved.map(Value::Bool));
        put(&mut approval, "reason", reason.clone().map(Value::String));
        put(&mut approval, "signature", signature.clone().map(Value::String));
        put(&mut approval, "isAutomatic", automatic.then_some(Value::Bool(true)));
        approval.extend(extra.clone());
        out.insert("approval".to_owned(), Value::Object(approval));
    }
    put(out, "callProviderMetadata", part.metadata.clone());
    put(out, "resultProviderMetadata", part.output_metadata.clone());
}

fn put(out: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        out.insert(key.to_owned(), value);
    }
}
