//! The documents of a response, complete or partial, and of an error.

use headwater_protocol::Usage;
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::{Value, json};

use super::item::Item;
use crate::documents::ErrorReply;

/// The status of a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ResponseStatus {
    #[default]
    Queued,
    InProgress,
    Completed,
    Incomplete,
    Failed,
    Cancelled,
}

/// Why a response failed.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ResponseError {
    pub(super) code: String,
    pub(super) message: String,
}

/// Why a response is incomplete.
#[derive(Debug, Clone, Serialize)]
pub(super) struct IncompleteDetails {
    pub(super) reason: &'static str,
}

/// A response. Fields that the agent decides have the protocol's defaults.
#[derive(Debug)]
pub(super) struct ResponseDocument<'a> {
    pub(super) id: &'a str,
    pub(super) status: ResponseStatus,
    pub(super) model: Option<&'a str>,
    pub(super) session: Option<&'a str>,
    /// In milliseconds since 1970.
    pub(super) created: u64,
    pub(super) completed: Option<u64>,
    pub(super) error: Option<&'a ResponseError>,
    pub(super) incomplete: Option<&'a IncompleteDetails>,
    pub(super) output: Vec<&'a Item>,
    pub(super) usage: Option<Usage>,
}

impl Serialize for ResponseDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", self.id)?;
        map.serialize_entry("object", "response")?;
        map.serialize_entry("created_at", &(self.created / 1_000))?;
        map.serialize_entry("completed_at", &self.completed.map(|time| time / 1_000))?;
        map.serialize_entry("status", &self.status)?;
        map.serialize_entry("error", &self.error)?;
        map.serialize_entry("incomplete_details", &self.incomplete)?;
        map.serialize_entry("model", self.model.unwrap_or("default"))?;
        if let Some(session) = self.session {
            map.serialize_entry("conversation", &json!({ "id": session }))?;
        }
        map.serialize_entry("output", &self.output)?;
        map.serialize_entry("usage", &self.usage.as_ref().map(usage))?;
        for key in [
            "instructions",
            "previous_response_id",
            "max_output_tokens",
            "max_tool_calls",
            "prompt_cache_key",
            "safety_identifier",
        ] {
            map.serialize_entry(key, &())?;
        }
        map.serialize_entry("metadata", &json!({}))?;
        map.serialize_entry("tools", &json!([]))?;
        map.serialize_entry("tool_choice", "auto")?;
        map.serialize_entry("parallel_tool_calls", &true)?;
        map.serialize_entry("text", &json!({ "format": { "type": "text" } }))?;
        // Reasoning is always sent as full summaries, whatever the request asks for.
        map.serialize_entry("reasoning", &json!({ "effort": null, "summary": "detailed" }))?;
        map.serialize_entry("truncation", "disabled")?;
        map.serialize_entry("service_tier", "default")?;
        map.serialize_entry("store", &true)?;
        map.serialize_entry("background", &false)?;
        for key in ["temperature", "top_p"] {
            map.serialize_entry(key, &1)?;
        }
        for key in ["presence_penalty", "frequency_penalty", "top_logprobs"] {
            map.serialize_entry(key, &0)?;
        }
        map.end()
    }
}

fn usage(usage: &Usage) -> Value {
    let (input, output) = (usage.input_tokens.unwrap_or(0), usage.output_tokens.unwrap_or(0));
    json!({
        "input_tokens": input,
        "input_tokens_details": { "cached_tokens": usage.cached_input_tokens.unwrap_or(0) },
        "output_tokens": output,
        "output_tokens_details": { "reasoning_tokens": usage.reasoning_tokens.unwrap_or(0) },
        "total_tokens": usage.total_tokens.unwrap_or(input + output),
    })
}

/// The document of an error.
pub(super) fn error(error: &ErrorReply<'_>) -> Value {
    let kind = match error.status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    let param = match error.code {
        "agent.unknown" => "model",
        code if code.starts_with("previous.") => "previous_response_id",
        _ => "",
    };
    // OpenAI sends `null` without a parameter to blame; the AI SDK then ignores the error.
    json!({ "error": { "message": error.message, "type": kind, "param": param, "code": error.code } })
}

#[cfg(test)]
mod tests;
