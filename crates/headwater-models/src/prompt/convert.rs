//! Converts a conversation to a prompt.

use headwater_protocol::{
    Approval, Error, ErrorKind, Executor, FilePart, Message, Part, Role, TextPart, ToolPart, ToolState,
};
use serde_json::{Map, Value};

use super::{ContentPart, FileData, ModelMessage, ToolResultOutput};

/// Options of the conversion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptOptions {
    /// Drop tool calls without a final output or decision: a model must not see a call without an output when
    /// the conversation continues.
    pub ignore_incomplete_tool_calls: bool,
}

impl PromptOptions {
    /// Options that drop incomplete tool calls.
    #[must_use]
    pub fn ignoring_incomplete_tool_calls() -> Self {
        Self { ignore_incomplete_tool_calls: true }
    }
}

/// Converts a conversation to a prompt.
///
/// An approval request that was still unanswered at the user's last message is dropped together with its
/// call.
///
/// # Errors
/// If a message has a role other than system, user and assistant, or the address of a file is not a URL.
pub fn to_model_messages(messages: &[Message], options: &PromptOptions) -> Result<Vec<ModelMessage>, Error> {
    let mut prompt = Vec::new();
    let last_user = messages.iter().rposition(|message| message.role == Role::User);
    for (index, message) in messages.iter().enumerate() {
        match message.role {
            Role::System => prompt.push(system(message)),
            Role::User => prompt.push(ModelMessage::User { content: user(&message.parts)? }),
            Role::Assistant => {
                let wanted = IncompleteCallFilter {
                    incomplete: !options.ignore_incomplete_tool_calls,
                    asked: last_user.is_none_or(|last| index > last),
                };
                assistant(message, wanted, &mut prompt)?;
            }
            role => {
                let message = format!("invalid role `{role}` in a prompt: remove message {}", message.id);
                return Err(Error::new(ErrorKind::Request, message));
            }
        }
    }
    Ok(prompt)
}

fn system(message: &Message) -> ModelMessage {
    let mut options = Map::new();
    for part in &message.parts {
        if let Part::Text(TextPart { metadata: Some(Value::Object(metadata)), .. }) = part {
            options.extend(metadata.clone());
        }
    }
    let provider_options = (!options.is_empty()).then_some(Value::Object(options));
    ModelMessage::System { content: message.plain_text(), provider_options }
}

fn user(parts: &[Part]) -> Result<Vec<ContentPart>, Error> {
    let parts = parts.iter().filter_map(|part| match part {
        Part::Text(part) => Some(Ok(text(part))),
        Part::File(part) if !part.reasoning => Some(file(part)),
        Part::Other { value: part } if kind(part) == Some("file") => Some(raw_part(part)),
        _ => None,
    });
    parts.collect()
}

/// Which calls without an output are kept.
#[derive(Debug, Clone, Copy)]
struct IncompleteCallFilter {
    /// Incomplete calls.
    incomplete: bool,
    /// Calls with an open approval request.
    asked: bool,
}

impl IncompleteCallFilter {
    fn wants(self, part: &ToolPart) -> bool {
        match part.state {
            ToolState::InputStreaming => false,
            ToolState::InputAvailable => self.incomplete,
            ToolState::ApprovalRequested => self.incomplete && self.asked,
            ToolState::OutputAvailable => self.incomplete || !part.preliminary,
            ToolState::ApprovalResponded | ToolState::OutputError | ToolState::OutputDenied => true,
        }
    }
}

/// Splits an answer at the beginning of each step and at each steering message of the user.
fn assistant(
    message: &Message,
    wanted: IncompleteCallFilter,
    prompt: &mut Vec<ModelMessage>,
) -> Result<(), Error> {
    let steered =
        |part: &Part| matches!(part, Part::Other { value: part } if kind(part) == Some("steering-message"));
    let cuts = |part: &Part| matches!(part, Part::StepStart) || steered(part);
    let mut rest = message.parts.as_slice();
    loop {
        let end = rest.iter().position(cuts).unwrap_or(rest.len());
        let (block, after) = rest.split_at(end);
        step(block, wanted, prompt)?;
        let Some((cut, after)) = after.split_first() else {
            return Ok(());
        };
        if let Part::Other { value: part } = cut {
            prompt.push(steering(part)?);
        }
        rest = after;
    }
}

fn step(parts: &[Part], wanted: IncompleteCallFilter, prompt: &mut Vec<ModelMessage>) -> Result<(), Error> {
    let mut said = Vec::new();
    let mut given = Vec::new();
    for part in parts {
        match part {
            Part::Text(part) => said.push(text(part)),
            Part::Reasoning(part) => said.push(ContentPart::Reasoning {
                text: part.text.clone(),
                provider_options: part.metadata.clone(),
            }),
            Part::File(part) => said.push(file(part)?),
            Part::Other { value: part } if kind(part) == Some("file") => said.push(raw_part(part)?),
            Part::Tool(part) if wanted.wants(part) => {
                call(part, &mut said);
                outcome(part, &mut given);
            }
            Part::Other { value: part } if kind(part) == Some("custom") => said.push(ContentPart::Custom {
                kind: part.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned(),
                provider_options: part.get("providerMetadata").cloned(),
            }),
            _ => {}
        }
    }
    if !said.is_empty() {
        prompt.push(ModelMessage::Assistant { content: said });
    }
    if !given.is_empty() {
        prompt.push(ModelMessage::Tool { content: given });
    }
    Ok(())
}

/// Adds the call, its approval request, and its output if the provider ran it.
fn call(part: &ToolPart, said: &mut Vec<ContentPart>) {
    let by_provider = part.executor == Executor::Provider;
    // The metadata of a rejected input is stored with the output.
    let failure = part.output_metadata.as_ref().filter(|_| part.state == ToolState::OutputError);
    said.push(ContentPart::ToolCall {
        tool_call_id: part.call.clone(),
        tool_name: part.name.clone(),
        input: part.input.clone(),
        provider_executed: by_provider.then_some(true),
        provider_options: part.metadata.as_ref().or(failure).cloned(),
    });
    if let Some(Approval { id: Some(id), signature, automatic, extra, .. }) = &part.approval {
        said.push(ContentPart::ToolApprovalRequest {
            approval_id: id.clone(),
            tool_call_id: part.call.clone(),
            signature: signature.clone(),
            is_automatic: automatic.then_some(true),
            reason: extra.get("requestReason").and_then(Value::as_str).map(str::to_owned),
            input_schema_input: extra.get("inputSchemaInput").cloned(),
        });
    }
    if !by_provider {
        return;
    }
    let output = match part.state {
        ToolState::OutputAvailable => output(part),
        ToolState::OutputError => {
            ToolResultOutput::ErrorJson { value: Value::String(part.error.clone().unwrap_or_default()) }
        }
        _ => return,
    };
    let metadata = part.output_metadata.as_ref().or(part.metadata.as_ref());
    said.push(result(part, output, metadata));
}

/// Adds the user's decision, and the output if the agent or the page ran the tool.
fn outcome(part: &ToolPart, given: &mut Vec<ContentPart>) {
    let by_provider = part.executor == Executor::Provider;
    let reason = part.approval.as_ref().and_then(|approval| approval.reason.clone());
    let decision = part.approval.as_ref().and_then(|approval| approval.approved);
    if let Some(Approval { id: Some(id), approved: Some(approved), .. }) = &part.approval {
        given.push(ContentPart::ToolApprovalResponse {
            approval_id: id.clone(),
            approved: *approved,
            reason: reason.clone(),
            provider_executed: by_provider.then_some(true),
        });
    }
    let output = match part.state {
        ToolState::ApprovalResponded if decision == Some(false) => {
            ToolResultOutput::ExecutionDenied { reason }
        }
        _ if by_provider => return,
        ToolState::OutputAvailable => output(part),
        ToolState::OutputError => {
            ToolResultOutput::ErrorText { value: part.error.clone().unwrap_or_default() }
        }
        ToolState::OutputDenied => {
            let value = reason.unwrap_or_else(|| "Tool call execution denied.".to_owned());
            ToolResultOutput::ErrorText { value }
        }
        _ => return,
    };
    given.push(result(part, output, part.metadata.as_ref()));
}

fn output(part: &ToolPart) -> ToolResultOutput {
    match &part.output {
        Some(Value::String(text)) => ToolResultOutput::Text { value: text.clone() },
        output => ToolResultOutput::Json { value: output.clone().unwrap_or_default() },
    }
}

fn result(part: &ToolPart, output: ToolResultOutput, metadata: Option<&Value>) -> ContentPart {
    ContentPart::ToolResult {
        tool_call_id: part.call.clone(),
        tool_name: part.name.clone(),
        output,
        provider_options: metadata.cloned(),
    }
}

fn text(part: &TextPart) -> ContentPart {
    ContentPart::Text { text: part.text.clone(), provider_options: part.metadata.clone() }
}

fn file(part: &FilePart) -> Result<ContentPart, Error> {
    let data = FileData::Url { url: address(&part.url)? };
    let (media_type, provider_options) = (part.media_type.clone(), part.metadata.clone());
    Ok(if part.reasoning {
        ContentPart::ReasoningFile { data, media_type, provider_options }
    } else {
        ContentPart::File { media_type, filename: part.filename.clone(), data, provider_options }
    })
}

/// A URL as providers require it: absolute and with a path.
fn address(url: &str) -> Result<String, Error> {
    let wrong =
        || Error::new(ErrorKind::Request, format!("invalid address {url:?} of a file: use an absolute URL"));
    let (scheme, rest) = url.split_once(':').ok_or_else(wrong)?;
    let mut letters = scheme.chars();
    let starts = letters.next().is_some_and(|first| first.is_ascii_alphabetic());
    if !starts || !letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')) {
        return Err(wrong());
    }
    let scheme = scheme.to_ascii_lowercase();
    if !matches!(scheme.as_str(), "http" | "https") {
        return Ok(format!("{scheme}:{rest}"));
    }
    let rest = rest.trim_start_matches(['/', '\\']);
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if host.is_empty() {
        return Err(wrong());
    }
    let root = if path.starts_with('/') { "" } else { "/" };
    Ok(format!("{scheme}://{}{root}{path}", host.to_ascii_lowercase()))
}

/// A message that the user sent during the run.
fn steering(part: &Value) -> Result<ModelMessage, Error> {
    let parts = part.get("parts").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let content: Result<_, _> = parts.iter().map(raw_part).collect();
    Ok(ModelMessage::User { content: content? })
}

/// A text or file part as the page wrote it.
fn raw_part(part: &Value) -> Result<ContentPart, Error> {
    let field = |key: &str| part.get(key).and_then(Value::as_str).map(str::to_owned);
    let provider_options = part.get("providerMetadata").cloned();
    if kind(part) == Some("text") {
        return Ok(ContentPart::Text { text: field("text").unwrap_or_default(), provider_options });
    }
    let data = match part.get("providerReference") {
        Some(reference) => FileData::Reference { reference: reference.clone() },
        None => FileData::Url { url: address(&field("url").unwrap_or_default())? },
    };
    let media_type = field("mediaType").unwrap_or_default();
    Ok(ContentPart::File { media_type, filename: field("filename"), data, provider_options })
}

fn kind(part: &Value) -> Option<&str> {
    part.get("type").and_then(Value::as_str)
}

#[cfg(test)]
mod tests;
