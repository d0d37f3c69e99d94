//! A model's reply in one pass, as stored in the journal and sent with the next pass.

use headwater_models::{ContentPart, ModelError, ModelErrorKind, Warning};
use headwater_protocol::{FinishReason, ToolCallId, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The reply of one pass.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ModelReply {
    pub(super) model: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<ReplyPart>,
    pub(super) finish: Option<FinishReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) raw_finish: Option<String>,
    pub(super) usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) raw: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<Warning>,
}

/// A part of a reply.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(super) enum ReplyPart {
    Text {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    Reasoning {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    Call(ReplyToolCall),
}

/// A tool call requested by a model.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReplyToolCall {
    pub(super) call: ToolCallId,
    pub(super) name: String,
    /// The input, or the raw text if it is not valid JSON.
    pub(super) input: Result<Value, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<Value>,
    /// The output of a tool that the provider executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) provider_output: Option<Value>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) provider_executed: bool,
}

impl ModelReply {
    pub(super) fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            ReplyPart::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The calls to be made by this process.
    pub(super) fn calls(&self) -> impl Iterator<Item = &ReplyToolCall> {
        self.parts.iter().filter_map(|part| match part {
            ReplyPart::Call(call) if !call.provider_executed => Some(call),
            _ => None,
        })
    }

    /// The content for the next pass, with the metadata that the provider expects back.
    pub(super) fn content(&self) -> Vec<ContentPart> {
        let mut content = Vec::new();
        for part in &self.parts {
            content.push(match part {
                ReplyPart::Text { text, metadata } => {
                    ContentPart::Text { text: text.clone(), provider_options: metadata.clone() }
                }
                ReplyPart::Reasoning { text, metadata } => {
                    ContentPart::Reasoning { text: text.clone(), provider_options: metadata.clone() }
                }
                ReplyPart::Call(call) => ContentPart::ToolCall {
                    tool_call_id: call.call.clone(),
                    tool_name: call.name.clone(),
                    input: Some(call.input.clone().unwrap_or_else(Value::String)),
                    provider_executed: call.provider_executed.then_some(true),
                    provider_options: call.metadata.clone(),
                },
            });
        }
        content
    }
}

/// The error of a call that was aborted.
pub(super) fn aborted() -> ModelError {
    ModelError::new(ModelErrorKind::Aborted, "the call was aborted")
}
