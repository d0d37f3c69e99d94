//! How a conversation becomes a prompt.

use serde_json::{Map, Value};

use super::{ContentPart, FileData, ModelMessage, ToolResultOutput};
use crate::{
    error::{Error, ErrorKind},
    event::{Executor, Role},
    state::{Approval, FilePart, Message, Part, TextPart, ToolPart, ToolState},
};

/// How a prompt is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptOptions {
    /// Leave out calls that have neither an output nor a question: a model must not see a call without
    /// an output when the conversation goes on.
    pub ignore_incomplete_tool_calls: bool,
}

impl PromptOptions {
    /// The options that leave incomplete calls out.
    #[must_use]
    pub fn ignoring_incomplete_tool_calls() -> Self {
        Self { ignore_incomplete_tool_calls: true }
    }
}

/// What a model is asked for this conversation.
///
/// # Errors
/// A message's role is none of system, user and assistant, or a refused call does not say which question
/// was refused.
pub fn to_model_messages(messages: &[Message], options: &PromptOptions) -> Result<Vec<ModelMessage>, Error> {
    let mut prompt = Vec::new();
    for message in messages {
        match message.role {
            Role::System => prompt.push(system(message)),
            Role::User => prompt.push(ModelMessage::User { content: user(&message.parts) }),
            Role::Assistant => assistant(message, options, &mut prompt)?,
            role => {
                let message =
                    format!("a prompt has no messages of role `{role}`; leave message {} out", message.id);
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

fn user(parts: &[Part]) -> Vec<ContentPart> {
    let parts = parts.iter().filter_map(|part| match part {
        Part::Text(part) => Some(text(part)),
        Part::File(part) if !part.reasoning => Some(file(part)),
        _ => None,
    });
    parts.collect()
}

/// An answer is cut where its steps begin, and where a person steered it.
fn assistant(
    message: &Message,
    options: &PromptOptions,
    prompt: &mut Vec<ModelMessage>,
) -> Result<(), Error> {
    let steered = |part: &Part| matches!(part, Part::Other(part) if kind(part) == Some("steering-message"));
    let cuts = |part: &Part| matches!(part, Part::StepStart) || steered(part);
    let mut rest = message.parts.as_slice();
    loop {
        let end = rest.iter().position(cuts).unwrap_or(rest.len());
        let (block, after) = rest.split_at(end);
        step(block, options, prompt)?;
        let Some((cut, after)) = after.split_first() else {
            return Ok(());
        };
        if let Part::Other(part) = cut {
            prompt.push(steering(part));
        }
        rest = after;
    }
}

fn step(parts: &[Part], options: &PromptOptions, prompt: &mut Vec<ModelMessage>) -> Result<(), Error> {
    let mut said = Vec::new();
    let mut given = Vec::new();
    for part in parts {
        match part {
            Part::Text(part) => said.push(text(part)),
            Part::Reasoning(part) => said.push(ContentPart::Reasoning {
                text: part.text.clone(),
                provider_options: part.metadata.clone(),
            }),
            Part::File(part) => said.push(file(part)),
            Part::Tool(part) if is_wanted(part, options) => {
                call(part, &mut said);
                outcome(part, &mut given)?;
            }
            Part::Other(part) if kind(part) == Some("custom") => said.push(ContentPart::Custom {
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

fn is_wanted(part: &ToolPart, options: &PromptOptions) -> bool {
    match part.state {
        ToolState::InputStreaming => false,
        ToolState::InputAvailable => !options.ignore_incomplete_tool_calls,
        _ => true,
    }
}

/// The call, its question, and its output if the provider ran it.
fn call(part: &ToolPart, said: &mut Vec<ContentPart>) {
    let by_provider = part.executor == Executor::Provider;
    said.push(ContentPart::ToolCall {
        tool_call_id: part.call.clone(),
        tool_name: part.name.clone(),
        input: part.input.clone(),
        provider_executed: by_provider.then_some(true),
        provider_options: part.metadata.clone(),
    });
    if let Some(Approval { id: Some(id), signature, automatic, .. }) = &part.approval {
        said.push(ContentPart::ToolApprovalRequest {
            approval_id: id.clone(),
            tool_call_id: part.call.clone(),
            signature: signature.clone(),
            is_automatic: automatic.then_some(true),
        });
    }
    if !by_provider {
        return;
    }
    let output = match part.state {
        ToolState::OutputAvailable => output(part),
        ToolState::OutputError => {
            ToolResultOutput::ErrorJson(Value::String(part.error.clone().unwrap_or_default()))
        }
        _ => return,
    };
    let metadata = part.output_metadata.as_ref().or(part.metadata.as_ref());
    said.push(result(part, output, metadata));
}

/// The person's decision, and the output if the agent or the page ran the tool.
fn outcome(part: &ToolPart, given: &mut Vec<ContentPart>) -> Result<(), Error> {
    let by_provider = part.executor == Executor::Provider;
    if let Some(Approval { id: Some(id), approved: Some(approved), reason, .. }) = &part.approval {
        given.push(ContentPart::ToolApprovalResponse {
            approval_id: id.clone(),
            approved: *approved,
            reason: reason.clone(),
            provider_executed: by_provider.then_some(true),
        });
    }
    if by_provider {
        return Ok(());
    }
    let output = match part.state {
        ToolState::OutputAvailable => output(part),
        ToolState::OutputError => ToolResultOutput::ErrorText(part.error.clone().unwrap_or_default()),
        ToolState::OutputDenied => {
            let Some(approval) = &part.approval else {
                let message = format!("call {:?} was denied, but does not say in which approval", part.call);
                return Err(Error::new(ErrorKind::Request, message));
            };
            let reason = approval.reason.clone();
            ToolResultOutput::ErrorText(reason.unwrap_or_else(|| "Tool execution denied.".to_owned()))
        }
        _ => return Ok(()),
    };
    given.push(result(part, output, part.metadata.as_ref()));
    Ok(())
}

fn output(part: &ToolPart) -> ToolResultOutput {
    match &part.output {
        Some(Value::String(text)) => ToolResultOutput::Text(text.clone()),
        output => ToolResultOutput::Json(output.clone().unwrap_or_default()),
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

fn file(part: &FilePart) -> ContentPart {
    let data = FileData::Url { url: part.url.clone() };
    let (media_type, provider_options) = (part.media_type.clone(), part.metadata.clone());
    if part.reasoning {
        ContentPart::ReasoningFile { data, media_type, provider_options }
    } else {
        ContentPart::File { media_type, filename: part.filename.clone(), data, provider_options }
    }
}

/// What a person said in the middle of the run.
fn steering(part: &Value) -> ModelMessage {
    let parts = part.get("parts").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let field = |part: &Value, key: &str| part.get(key).and_then(Value::as_str).map(str::to_owned);
    let content = parts.iter().filter_map(|part| match kind(part) {
        Some("text") => Some(ContentPart::Text {
            text: field(part, "text")?,
            provider_options: part.get("providerMetadata").cloned(),
        }),
        Some("file") => Some(ContentPart::File {
            media_type: field(part, "mediaType")?,
            filename: field(part, "filename"),
            data: FileData::Url { url: field(part, "url")? },
            provider_options: part.get("providerMetadata").cloned(),
        }),
        _ => None,
    });
    ModelMessage::User { content: content.collect() }
}

fn kind(part: &Value) -> Option<&str> {
    part.get("type").and_then(Value::as_str)
}
