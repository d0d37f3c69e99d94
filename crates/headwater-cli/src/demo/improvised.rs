//! A scripted model whose script is a function of the request: more flexible than conditions, still
//! deterministic.

use std::time::Duration;

use headwater_models::{
    ContentPart, Model, ModelMessage, ModelRequest, ModelStream, ToolResultOutput,
    scripted::{Rule, Script, ScriptedModel},
};
use headwater_protocol::ToolCallId;
use serde::Serialize;
use serde_json::Value;

/// A model whose answer is computed by a function of the request alone, so equal requests get equal answers.
#[derive(Debug)]
pub(super) struct ImprovisedModel {
    name: &'static str,
    pace: Duration,
    answer: fn(&DemoRequest<'_>) -> Rule,
}

impl ImprovisedModel {
    pub(super) fn new(name: &'static str, pace: Duration, answer: fn(&DemoRequest<'_>) -> Rule) -> Self {
        Self { name, pace, answer }
    }
}

impl Model for ImprovisedModel {
    fn name(&self) -> &str {
        self.name
    }

    fn ask(&self, request: ModelRequest) -> ModelStream {
        let rule = (self.answer)(&DemoRequest(&request));
        let name = self.name.strip_prefix("demo:").unwrap_or(self.name);
        ScriptedModel::new(Script::new(name).pace(self.pace).rule(rule)).ask(request)
    }
}

/// A model request, with the accessors that the demo scripts need.
#[derive(Debug, Clone, Copy)]
pub(super) struct DemoRequest<'r>(&'r ModelRequest);

/// A tool call of the current turn and its result.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolOutcome<'r> {
    pub(super) tool: &'r str,
    pub(super) input: Option<&'r Value>,
    pub(super) output: &'r ToolResultOutput,
}

impl<'r> DemoRequest<'r> {
    /// The user's last message.
    pub(super) fn input(self) -> String {
        self.said().next_back().unwrap_or_default()
    }

    /// The user's message before the last.
    pub(super) fn previous(self) -> Option<String> {
        self.said().nth_back(1)
    }

    pub(super) fn system(self) -> String {
        let texts = self.0.messages.iter().filter_map(|message| match message {
            ModelMessage::System { content, .. } => Some(content.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// All messages of the user, in order.
    pub(super) fn said(self) -> impl DoubleEndedIterator<Item = String> {
        self.0.messages.iter().filter_map(|message| match message {
            ModelMessage::User { content } => {
                let texts: Vec<_> = content.iter().filter_map(text).collect();
                Some(texts.join("\n"))
            }
            _ => None,
        })
    }

    /// The calls since the user's last message that have a result, in call order; results may arrive in any
    /// order.
    pub(super) fn called(self) -> Vec<ToolOutcome<'r>> {
        let messages = &self.0.messages;
        let last = messages.iter().rposition(|message| matches!(message, ModelMessage::User { .. }));
        let parts = messages.iter().skip(last.map_or(0, |at| at + 1)).flat_map(|message| match message {
            ModelMessage::Assistant { content } | ModelMessage::Tool { content } => content.as_slice(),
            _ => &[],
        });
        let outputs = parts.clone();
        let output = |wanted: &ToolCallId| {
            outputs.clone().find_map(|part| match part {
                ContentPart::ToolResult { tool_call_id, output, .. } if tool_call_id == wanted => {
                    Some(output)
                }
                _ => None,
            })
        };
        parts
            .filter_map(|part| match part {
                ContentPart::ToolCall { tool_call_id, tool_name, input, .. } => {
                    let output = output(tool_call_id)?;
                    Some(ToolOutcome { tool: tool_name, input: input.as_ref(), output })
                }
                _ => None,
            })
            .collect()
    }
}

fn text(part: &ContentPart) -> Option<&str> {
    match part {
        ContentPart::Text { text, .. } => Some(text),
        _ => None,
    }
}

/// A value whose strings are escaped, so that the script does not expand them.
pub(super) fn literal_json(mut value: Value) -> Value {
    match &mut value {
        Value::String(text) => *text = literal(text),
        Value::Array(items) => items.iter_mut().for_each(|item| *item = literal_json(item.take())),
        Value::Object(fields) => fields.values_mut().for_each(|field| *field = literal_json(field.take())),
        _ => {}
    }
    value
}

/// Serialises a value. The demo's types only have string keys, so this cannot fail.
pub(super) fn as_json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// A text in lower case, to search for words.
#[derive(Debug)]
pub(super) struct Words(String);

impl Words {
    pub(super) fn of(input: &str) -> Self {
        let words = input.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty());
        let mut all = String::from(" ");
        for word in words {
            all.push_str(&word.to_lowercase());
            all.push(' ');
        }
        Self(all)
    }

    pub(super) fn phrase(&self, phrase: &str) -> bool {
        self.0.contains(&format!(" {phrase} "))
    }

    pub(super) fn any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.phrase(word))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.split_whitespace()
    }
}

/// Escapes a text so that the script does not expand placeholders in it.
pub(super) fn literal(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let name = from.get(1..).and_then(|inner| inner.split_once('}')).map(|(name, _)| name);
        match name {
            Some(name) if matches!(name, "input" | "turn" | "attempt") || name.starts_with("tool.") => {
                out.push_str(&format!("{{{{{name}}}}}"));
                rest = from.get(name.len() + 2..).unwrap_or_default();
            }
            _ => {
                out.push('{');
                rest = from.get(1..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    out
}
