//! Events of a model's answer.

use headwater_protocol::{FinishReason, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One event of a model's answer. Parts are numbered in the provider's order. All parts of an answer have
/// distinct numbers, and several may be open at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum ModelEvent {
    /// The answer begins.
    Started {
        /// The provider's id of the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The exact model that answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The provider keeps the answer, so that another process can continue it with
    /// [`Model::resume`](crate::Model::resume).
    Resumable {
        /// The provider's id of the answer.
        answer: String,
    },
    /// A text part begins.
    TextStart {
        /// Part number.
        part: u32,
        /// Provider-specific metadata.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// Text to append to a part.
    TextDelta {
        /// Part number.
        part: u32,
        /// The text to append.
        delta: String,
    },
    /// A text part is complete.
    TextEnd {
        /// Part number.
        part: u32,
        /// Provider-specific metadata, to send back with the next turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// A reasoning part begins.
    ReasoningStart {
        /// Part number.
        part: u32,
        /// Provider-specific metadata.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// Reasoning text to append to a part.
    ReasoningDelta {
        /// Part number.
        part: u32,
        /// The text to append.
        delta: String,
    },
    /// A reasoning part is complete.
    ReasoningEnd {
        /// Part number.
        part: u32,
        /// Provider-specific metadata to send back with the next turn, such as a signature or encrypted
        /// content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// A tool call begins.
    ToolCallStart {
        /// Part number.
        part: u32,
        /// The provider's id of the call, if it assigns one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// The tool's name.
        name: String,
        /// The provider runs the tool itself.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        provider_executed: bool,
        /// Provider-specific metadata.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// Input of a tool call to append.
    ToolCallDelta {
        /// Part number.
        part: u32,
        /// A piece of JSON text.
        delta: String,
    },
    /// The input of a tool call is complete.
    ToolCallEnd {
        /// Part number.
        part: u32,
        /// Provider-specific metadata, to send back with the next turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// The result of a tool that the provider ran.
    ToolResult {
        /// Part number of the call.
        part: u32,
        /// The output.
        output: Value,
        /// Whether the tool failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    /// The answer cites a web page.
    SourceUrl {
        /// Address of the page.
        url: String,
        /// Title of the page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Provider-specific metadata.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// The answer cites a document.
    SourceDocument {
        /// Title of the document.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Media type of the document.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        media_type: Option<String>,
        /// File name of the document.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        /// The cited passage.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Provider-specific metadata.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// The model produced a file.
    File {
        /// Media type of the file.
        media_type: String,
        /// Address of the file, or its content as a data URL.
        url: String,
    },
    /// A request option was ignored or changed.
    Warning(Warning),
    /// The answer is complete.
    Finished {
        /// Why the answer ended.
        reason: FinishReason,
        /// The provider's own finish reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw_reason: Option<String>,
        /// Token usage.
        #[serde(default)]
        usage: Usage,
        /// The provider's own usage object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw_usage: Option<Value>,
        /// Other metadata of the answer, keyed by provider name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
        /// The whole answer in the provider's own format, as sent without streaming; absent above 256 KiB.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<Value>,
    },
    /// An event that this version does not know.
    Unknown {
        /// The provider's name of the event.
        name: String,
        /// The whole event.
        data: Value,
    },
}

/// A request option that was ignored or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Warning {
    /// The option by its name in [`ModelRequest`](crate::ModelRequest): `temperature`, `reasoning.effort`.
    pub feature: String,
    /// Human-readable explanation.
    pub message: String,
}

impl Warning {
    /// A warning about an option.
    #[must_use]
    pub fn new(feature: impl Into<String>, message: impl Into<String>) -> Self {
        Self { feature: feature.into(), message: message.into() }
    }
}
