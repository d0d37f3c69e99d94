//! Conversations against the prompts that the AI SDK's server makes of them.
//!
//! Recordings are read from `$HEADWATER_VECTORS`; without it the test prints a note and passes.

use std::path::PathBuf;

use headwater_dialects::ui_message;
use headwater_json::without_halves;
use headwater_models::{PromptOptions, to_model_messages};
use serde_json::{Value, json};

use crate::recorded::register;

#[test]
fn prompts_equal_those_of_the_ai_sdk() {
    let file = "aisdk/convert-to-model-messages.jsonl";
    let Some(root) = std::env::var_os("HEADWATER_VECTORS") else {
        println!("vectors: {file} skipped, HEADWATER_VECTORS is not set");
        return;
    };
    let path = PathBuf::from(root).join("vectors").join(file);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            let problem = format!("vectors: {} cannot be read: {error}", path.display());
            let on_ci = std::env::var("CI").is_ok_and(|value| value == "true");
            assert!(!on_ci, "{problem}");
            println!("{problem}");
            return;
        }
    };
    register(file);
    let rows: Vec<Value> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(&without_halves(line)).unwrap())
        .collect();
    for row in &rows {
        let read = |(index, message)| ui_message::read(message, &format!("messages[{index}]"));
        let messages: Result<Vec<_>, _> =
            row["messages"].as_array().unwrap().iter().enumerate().map(read).collect();
        let ignore = row["options"]["ignoreIncompleteToolCalls"] == true;
        let options =
            if ignore { PromptOptions::ignoring_incomplete_tool_calls() } else { PromptOptions::default() };
        let prompt = messages.and_then(|messages| to_model_messages(&messages, &options));
        match (prompt, row["error"].is_null()) {
            (Ok(prompt), true) => {
                assert_eq!(json!(prompt), false_is_absent(&row["modelMessages"]), "{file} {}", row["id"]);
            }
            (Err(_), false) => {}
            (prompt, _) => panic!("{file} {}: error: {}, ours: {prompt:?}", row["id"], row["error"]),
        }
    }
    register(&format!("{file} {0} {0} 0", rows.len()));
}

/// We omit `false` for tools that the provider did not run.
fn false_is_absent(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(false_is_absent).collect(),
        Value::Object(map) => {
            let said = map.iter().filter(|(key, value)| *key != "providerExecuted" || **value != false);
            said.map(|(key, value)| (key.clone(), false_is_absent(value))).collect()
        }
        other => other.clone(),
    }
}
