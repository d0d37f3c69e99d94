//! The UI messages in a request.

use serde_json::{Map, Value};

use super::wrong;
use crate::{
    error::{Error, ErrorKind},
    event::{Executor, Role},
    id::{MessageId, ToolCallId},
    request::ApprovalAnswer,
    state::{
        Approval, DataPart, FilePart, Message, MessageStatus, Part, PartState, SourcePart, TextPart,
        ToolPart, ToolState,
    },
};

/// Reads the message at a place of the list.
pub(super) fn read(at: usize, message: Value) -> Result<Message, Error> {
    let path = format!("messages[{at}]");
    let mut fields = Fields::new(&path, message)?;
    let role = fields.text("role")?.unwrap_or_default();
    let role = match role.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        "developer" => Role::Developer,
        "tool" => Role::Tool,
        _ => {
            let message =
                format!("`{path}.role` must be \"user\", \"assistant\" or \"system\", not {role:?}");
            return Err(Error::new(ErrorKind::Request, message));
        }
    };
    let id = fields.text("id")?.unwrap_or_else(|| format!("message-{}", at + 1));
    let mut read = Message::new(MessageId::from(id), role, MessageStatus::Sent);
    read.metadata = fields.take("metadata");
    match (fields.take("parts"), fields.take("content")) {
        (Some(Value::Array(parts)), _) => {
            for (at, value) in parts.into_iter().enumerate() {
                read.parts.push(part(&format!("{path}.parts[{at}]"), at, value)?);
            }
        }
        (Some(other), _) => return Err(wrong(&format!("{path}.parts"), "an array", &other)),
        // A message of one text, as older UIs keep it.
        (None, Some(Value::String(text))) => {
            read.parts.push(Part::Text(TextPart { text, ..TextPart::done("text") }));
        }
        (None, _) => {
            let message = format!("`{path}.parts` is missing: a message is a list of parts");
            return Err(Error::new(ErrorKind::Request, message));
        }
    }
    Ok(read)
}

/// The decision that an approval shows, if it was made.
pub(super) fn answer(call: ToolCallId, held: &Approval) -> Option<ApprovalAnswer> {
    Some(ApprovalAnswer {
        approval: held.id.clone()?,
        call: Some(call),
        approved: held.approved?,
        reason: held.reason.clone(),
        signature: held.signature.clone(),
    })
}

fn part(path: &str, at: usize, value: Value) -> Result<Part, Error> {
    let whole = value.clone();
    let mut fields = Fields::new(path, value)?;
    let kind = fields.required("type")?;
    Ok(match kind.as_str() {
        "text" => Part::Text(text_part(at, &mut fields)?),
        "reasoning" => Part::Reasoning(text_part(at, &mut fields)?),
        "step-start" => Part::StepStart,
        "source-url" => Part::SourceUrl(SourcePart {
            source: fields.text("sourceId")?.unwrap_or_default(),
            url: Some(fields.required("url")?),
            title: fields.text("title")?,
            call: fields.text("toolCallId")?.map(Into::into),
            metadata: fields.take("providerMetadata"),
            ..SourcePart::default()
        }),
        "source-document" => Part::SourceDocument(SourcePart {
            source: fields.text("sourceId")?.unwrap_or_default(),
            title: fields.text("title")?,
            media_type: fields.text("mediaType")?,
            filename: fields.text("filename")?,
            text: fields.text("text")?,
            metadata: fields.take("providerMetadata"),
            ..SourcePart::default()
        }),
        "file" => Part::File(FilePart {
            url: fields.required("url")?,
            media_type: fields.required("mediaType")?,
            filename: fields.text("filename")?,
            metadata: fields.take("providerMetadata"),
            ..FilePart::default()
        }),
        "dynamic-tool" => {
            let name = fields.required("toolName")?;
            Part::Tool(Box::new(tool_part(name, Some(true), &mut fields)?))
        }
        other => match (other.strip_prefix("tool-"), other.strip_prefix("data-")) {
            (Some(name), _) => Part::Tool(Box::new(tool_part(name.to_owned(), None, &mut fields)?)),
            (_, Some(name)) => Part::Data(DataPart {
                name: name.to_owned(),
                id: fields.text("id")?,
                data: fields.take("data").unwrap_or_default(),
                transient: false,
            }),
            // A part of the application's own is kept whole.
            _ => Part::Data(DataPart { name: kind, id: None, data: whole, transient: false }),
        },
    })
}

fn text_part(at: usize, fields: &mut Fields<'_>) -> Result<TextPart, Error> {
    let streaming = fields.text("state")?.as_deref() == Some("streaming");
    Ok(TextPart {
        text: fields.required("text")?,
        state: if streaming { PartState::Streaming } else { PartState::Done },
        metadata: fields.take("providerMetadata"),
        ..TextPart::done(format!("part-{}", at + 1))
    })
}

fn tool_part(name: String, dynamic: Option<bool>, fields: &mut Fields<'_>) -> Result<ToolPart, Error> {
    let state = fields.required("state")?;
    let states = [
        ToolState::InputStreaming,
        ToolState::InputAvailable,
        ToolState::ApprovalRequested,
        ToolState::ApprovalResponded,
        ToolState::OutputAvailable,
        ToolState::OutputError,
        ToolState::OutputDenied,
    ];
    let Some(state) = states.into_iter().find(|known| known.as_str() == state) else {
        let message = format!("`{}.state` {state:?} is no state of a tool call", fields.path);
        return Err(Error::new(ErrorKind::Request, message));
    };
    let approval = match fields.take("approval") {
        None => None,
        Some(approval) => Some(serde_json::from_value(approval).map_err(|error| {
            Error::new(ErrorKind::Request, format!("`{}.approval` cannot be read: {error}", fields.path))
        })?),
    };
    let provider = fields.flag("providerExecuted");
    Ok(ToolPart {
        call: fields.required("toolCallId")?.into(),
        name,
        state,
        dynamic,
        executor: if provider { Executor::Provider } else { Executor::Server },
        title: fields.text("title")?,
        input_text: String::new(),
        input: fields.take("input"),
        output: fields.take("output"),
        structured: None,
        is_error: false,
        preliminary: fields.flag("preliminary"),
        error: fields.text("errorText")?,
        approval,
        metadata: fields.take("callProviderMetadata"),
        output_metadata: fields.take("resultProviderMetadata"),
        attempt: None,
    })
}

/// The fields of an object that stands at a place of the body.
struct Fields<'a> {
    path: &'a str,
    map: Map<String, Value>,
}

impl<'a> Fields<'a> {
    fn new(path: &'a str, value: Value) -> Result<Self, Error> {
        match value {
            Value::Object(map) => Ok(Self { path, map }),
            other => Err(wrong(path, "an object", &other)),
        }
    }

    fn take(&mut self, field: &str) -> Option<Value> {
        self.map.remove(field)
    }

    fn flag(&mut self, field: &str) -> bool {
        self.take(field) == Some(Value::Bool(true))
    }

    fn text(&mut self, field: &str) -> Result<Option<String>, Error> {
        match self.take(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(&format!("{}.{field}", self.path), "a string", &other)),
        }
    }

    fn required(&mut self, field: &str) -> Result<String, Error> {
        self.text(field)?.ok_or_else(|| {
            Error::new(ErrorKind::Request, format!("`{}.{field}` is missing: it must be a string", self.path))
        })
    }
}
