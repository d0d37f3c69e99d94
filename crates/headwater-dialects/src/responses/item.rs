//! The items of a response.

use serde::Serialize;
use serde_json::Value;

/// The server label of the agent's own tools: the protocol only knows tools of MCP servers.
pub(super) const SERVER_LABEL: &str = "headwater";

/// The status of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ItemStatus {
    InProgress,
    Completed,
    Incomplete,
    Failed,
}

/// One item of a response.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item {
    Message {
        id: String,
        status: ItemStatus,
        role: &'static str,
        content: Vec<OutputText>,
    },
    Reasoning {
        id: String,
        summary: Vec<SummaryText>,
    },
    FunctionCall {
        id: String,
        call_id: String,
        name: String,
        arguments: String,
        status: ItemStatus,
    },
    McpCall {
        id: String,
        server_label: &'static str,
        name: String,
        arguments: String,
        output: Option<String>,
        error: Option<String>,
        status: ItemStatus,
        approval_request_id: Option<String>,
    },
    McpApprovalRequest {
        id: String,
        server_label: &'static str,
        name: String,
        arguments: String,
    },
    ImageGenerationCall {
        id: String,
        status: ItemStatus,
        result: Option<String>,
    },
    #[serde(rename = "headwater:file")]
    File {
        id: String,
        status: ItemStatus,
        url: String,
        media_type: String,
        filename: Option<String>,
    },
    #[serde(rename = "headwater:data")]
    Data {
        id: String,
        status: ItemStatus,
        name: String,
        data_id: Option<String>,
        data: Value,
    },
}

/// A text of a message.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename = "output_text")]
pub(super) struct OutputText {
    pub(super) text: String,
    pub(super) annotations: Vec<UrlCitation>,
    pub(super) logprobs: [(); 0],
}

/// A reasoning summary.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename = "summary_text")]
pub(super) struct SummaryText {
    pub(super) text: String,
}

/// A web page cited by a text. Its position is unknown, so it refers to the end of the text at that time.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename = "url_citation")]
pub(super) struct UrlCitation {
    pub(super) url: String,
    pub(super) title: String,
    pub(super) start_index: usize,
    pub(super) end_index: usize,
}

impl Item {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Message { id, .. }
            | Self::Reasoning { id, .. }
            | Self::FunctionCall { id, .. }
            | Self::McpCall { id, .. }
            | Self::McpApprovalRequest { id, .. }
            | Self::ImageGenerationCall { id, .. }
            | Self::File { id, .. }
            | Self::Data { id, .. } => id,
        }
    }

    pub(super) fn set_status(&mut self, new: ItemStatus) {
        match self {
            Self::Message { status, .. }
            | Self::FunctionCall { status, .. }
            | Self::McpCall { status, .. }
            | Self::ImageGenerationCall { status, .. }
            | Self::File { status, .. }
            | Self::Data { status, .. } => *status = new,
            Self::Reasoning { .. } | Self::McpApprovalRequest { .. } => {}
        }
    }

    /// The text of a message or reasoning item.
    pub(super) fn text_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Message { content, .. } => content.first_mut().map(|content| &mut content.text),
            Self::Reasoning { summary, .. } => summary.first_mut().map(|summary| &mut summary.text),
            _ => None,
        }
    }
}
