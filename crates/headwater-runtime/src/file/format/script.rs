//! The script of a scripted model, and its JSON Schema.

use std::borrow::Cow;

use headwater_models::scripted::Script;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::json;

/// A script in the format of the scripted model.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub(in crate::file) struct FileScript(pub(in crate::file) Script);

impl JsonSchema for FileScript {
    fn schema_name() -> Cow<'static, str> {
        "Script".into()
    }

    /// Written by hand, so that the models crate does not depend on schemars.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let text = json!({ "type": "string" });
        let count = json!({ "type": "integer", "minimum": 0 });
        let words = json!({ "anyOf": [text, {
            "type": "object",
            "properties": { "text": text, "metadata": true },
            "required": ["text"],
            "additionalProperties": false,
        }] });
        let call = json!({
            "type": "object",
            "properties": { "name": text, "input": true, "raw": text, "id": text, "output": true, "metadata": true },
            "required": ["name"],
            "additionalProperties": false,
        });
        let source = json!({
            "type": "object",
            "properties": {
                "url": text, "title": text, "media_type": text, "filename": text, "text": text, "metadata": true,
            },
            "additionalProperties": false,
        });
        let fault = json!({ "anyOf": [{ "enum": ["stall", "cut", "malformed"] }, {
            "type": "object",
            "properties": { "error": text, "message": text, "retry_after": count, "status": count },
            "required": ["error"],
            "additionalProperties": false,
        }] });
        let step = json!({
            "type": "object",
            "properties": {
                "text": words,
                "reasoning": words,
                "json": true,
                "tool": call,
                "tools": { "type": "array", "items": call },
                "source": source,
                "file": {
                    "type": "object",
                    "properties": { "media_type": text, "url": text },
                    "required": ["media_type", "url"],
                    "additionalProperties": false,
                },
                "warning": { "type": "object" },
                "delay": count,
                "fault": fault,
            },
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": false,
        });
        let when = json!({
            "type": "object",
            "properties": {
                "input": text,
                "input_contains": text,
                "input_starts_with": text,
                "system_contains": text,
                "attempt": count,
                "pass": count,
                "turn": count,
                "after_tool": text,
                "result_contains": text,
                "schema": { "type": "boolean" },
                "tool": text,
            },
            "additionalProperties": false,
        });
        let rule = json!({
            "type": "object",
            "properties": {
                "when": when,
                "say": { "type": "array", "items": step },
                "chunk": count,
                "pace": count,
                "finish": text,
                "usage": { "type": "object" },
                "metadata": true,
            },
            "additionalProperties": false,
        });
        json_schema!({
            "description": "The replies of a scripted model. The first rule whose conditions hold is used.",
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "The name. The model is called scripted:NAME." },
                "chunk": { "type": "integer", "minimum": 1, "description": "Characters per delta. Default: one word." },
                "pace": { "type": "integer", "minimum": 0, "description": "Milliseconds before each delta." },
                "rules": { "type": "array", "items": rule },
            },
            "required": ["name"],
            "additionalProperties": false,
        })
    }
}
