//! What a model says.

use headwater_protocol::{FinishReason, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One thing that a model says. Parts are numbered by their provider's order: text, thoughts and tool calls of one answer
/// have different numbers, and several may be open at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum ModelEvent {
    /// The provider answers.
    Started {
        /// The provider's id of the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The exact model that answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// A text begins.
    TextStart {
        /// The part.
        part: u32,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// A text grows.
    TextDelta {
        /// The part.
        part: u32,
        /// The text to append.
        delta: String,
    },
    /// A text is complete.
    TextEnd {
        /// The part.
        part: u32,
        /// What the provider said about it, and wants back with the next turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// A thought begins.
    ReasoningStart {
        /// The part.
        part: u32,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// A thought grows.
    ReasoningDelta {
        /// The part.
        part: u32,
        /// The text to append.
        delta: String,
    },
    /// A thought is complete.
    ReasoningEnd {
        /// The part.
        part: u32,
        /// What the provider said about it, and wants back with the next turn: a signature, encrypted content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// A tool call begins.
    ToolCallStart {
        /// The part.
        part: u32,
        /// The provider's id of the call, where it gives one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// The tool's name.
        name: String,
        /// The provider runs the tool itself.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        provider_executed: bool,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// A tool call's input grows.
    ToolCallDelta {
        /// The part.
        part: u32,
        /// A piece of JSON text.
        delta: String,
    },
    /// A tool call's input is complete.
    ToolCallEnd {
        /// The part.
        part: u32,
        /// What the provider said about it, and wants back with the next turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// A tool that the provider ran gave something.
    ToolResult {
        /// The part of the call.
        part: u32,
        /// What it gave.
        output: Value,
        /// It failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    /// The answer rests on a page.
    SourceUrl {
        /// Its address.
        url: String,
        /// Its title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// The answer rests on a document.
    SourceDocument {
        /// Its title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Its media type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        media_type: Option<String>,
        /// Its file name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        /// The passage.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// The model made a file.
    File {
        /// Its media type.
        media_type: String,
        /// Its address, or the whole of it as a data URL.
        url: String,
    },
    /// An option was not or not wholly honoured.
    Warning(Warning),
    /// The answer is complete.
    Finished {
        /// Why it ended.
        reason: FinishReason,
        /// The same in the provider's word.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw_reason: Option<String>,
        /// What it used.
        #[serde(default)]
        usage: Usage,
        /// The same in the provider's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw_usage: Option<Value>,
        /// What else the provider said about the answer, by the provider's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
        /// The whole answer in the provider's own form, as it is sent without streaming; absent above 256 KiB.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<Value>,
    },
    /// Something that we do not know.
    Unknown {
        /// The provider's own name for it.
        name: String,
        /// The whole of it.
        data: Value,
    },
}

/// An option that was not or not wholly honoured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Warning {
    /// The option, in our words: `temperature`, `reasoning.effort`.
    pub feature: String,
    /// What became of it, for people.
    pub message: String,
}

impl Warning {
    /// Says what became of an option.
    #[must_use]
    pub fn new(feature: impl Into<String>, message: impl Into<String>) -> Self {
        Self { feature: feature.into(), message: message.into() }
    }
}
