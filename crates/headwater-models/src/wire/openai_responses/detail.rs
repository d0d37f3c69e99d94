//! Details of a response: progress events, errors, annotations, usage.

use headwater_protocol::Usage;
use serde_json::{Value, json};

use crate::{
    ModelError, ModelErrorKind, ModelEvent,
    wire::{
        failure,
        json_access::{metadata, number, owned, text},
        sink::EventSink,
    },
};

/// Whether an event only reports the progress of an item.
pub(super) fn is_progress(kind: &str) -> bool {
    let Some(kind) = kind.strip_prefix("response.") else {
        return kind == "keepalive";
    };
    let steps = [
        "in_progress",
        "queued",
        "completed",
        "searching",
        "generating",
        "interpreting",
        "failed",
        "done",
        "added",
        "delta",
    ];
    let step = kind.rsplit('.').next().unwrap_or_default();
    let is_of_item =
        ["content_part", "output_text", "refusal", "reasoning_summary_part", "reasoning_summary_text"]
            .iter()
            .chain(&[
                "reasoning_text",
                "function_call_arguments",
                "custom_tool_call_input",
                "image_generation_call",
            ])
            .chain(&[
                "web_search_call",
                "file_search_call",
                "code_interpreter_call",
                "mcp_call",
                "mcp_list_tools",
            ])
            .chain(&["shell_call", "apply_patch_call", "tool_search_call", "computer_call"])
            .any(|item| kind.starts_with(item));
    matches!(kind, "in_progress" | "queued" | "image_generation_call.partial_image")
        || is_of_item && steps.contains(&step)
}

pub(super) fn failed(body: &Value, sink: &EventSink) -> ModelError {
    failure::in_body(sink.provider(), body).unwrap_or_else(|| {
        // The documented form has code and message beside the type.
        let wrapped = json!({ "error": { "code": body.get("code"), "message": body.get("message") } });
        failure::in_body(sink.provider(), &wrapped).unwrap_or_else(|| {
            ModelError::new(ModelErrorKind::Provider, "the response failed without a reason")
                .provider(sink.provider())
        })
    })
}

pub(super) fn annotate(annotation: &Value, sink: &mut EventSink) {
    let facts = metadata(sink.provider(), [("annotation", Some(annotation.clone()))]);
    match text(annotation, "type").unwrap_or_default() {
        "url_citation" => sink.push(ModelEvent::SourceUrl {
            url: owned(annotation, "url").unwrap_or_default(),
            title: owned(annotation, "title"),
            metadata: facts,
        }),
        "file_citation" | "container_file_citation" | "file_path" => {
            let name = owned(annotation, "filename").or_else(|| owned(annotation, "file_id"));
            sink.push(ModelEvent::SourceDocument {
                title: name.clone(),
                media_type: None,
                filename: name,
                text: owned(annotation, "quote"),
                metadata: facts,
            });
        }
        _ => sink.unknown("annotation", annotation.clone()),
    }
}

pub(super) fn usage_of(usage: &Value) -> Usage {
    Usage {
        input_tokens: number(usage, "/input_tokens"),
        output_tokens: number(usage, "/output_tokens"),
        total_tokens: number(usage, "/total_tokens"),
        reasoning_tokens: number(usage, "/output_tokens_details/reasoning_tokens"),
        cached_input_tokens: number(usage, "/input_tokens_details/cached_tokens"),
        cache_write_tokens: number(usage, "/input_tokens_details/cache_write_tokens"),
    }
}
