//! Requests whose keys are in snake_case, as Microsoft's Python client sends them.

use serde_json::{Map, Value};

const REQUEST: &[(&str, &str)] = &[
    ("thread_id", "threadId"),
    ("run_id", "runId"),
    ("parent_run_id", "parentRunId"),
    ("protocol_version", "protocolVersion"),
    ("forwarded_props", "forwardedProps"),
];

const MESSAGE: &[(&str, &str)] = &[
    ("tool_call_id", "toolCallId"),
    ("tool_calls", "toolCalls"),
    ("encrypted_value", "encryptedValue"),
    ("activity_type", "activityType"),
    ("subagent_run_id", "subagentRunId"),
];

const CALL: &[(&str, &str)] = &[("encrypted_value", "encryptedValue")];
const PART: &[(&str, &str)] = &[("mime_type", "mimeType")];
const ANSWER: &[(&str, &str)] = &[("interrupt_id", "interruptId")];

/// Renames the fields of a request to AG-UI's names. Application data (state, arguments, forwarded
/// properties) is not changed.
pub(super) fn rename_request(body: &mut Map<String, Value>) {
    rename_keys(body, REQUEST);
    for message in objects(body.get_mut("messages")) {
        rename_keys(message, MESSAGE);
        objects(message.get_mut("toolCalls")).for_each(|call| rename_keys(call, CALL));
        for part in objects(message.get_mut("content")) {
            rename_keys(part, PART);
            if let Some(Value::Object(source)) = part.get_mut("source") {
                rename_keys(source, PART);
            }
        }
    }
    objects(body.get_mut("resume")).for_each(|answer| rename_keys(answer, ANSWER));
}

fn objects(list: Option<&mut Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    list.and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

/// A field with the proper name takes precedence.
fn rename_keys(object: &mut Map<String, Value>, names: &[(&str, &str)]) {
    for (snake, camel) in names {
        if !object.contains_key(*camel)
            && let Some(value) = object.shift_remove(*snake)
        {
            object.insert((*camel).to_owned(), value);
        }
    }
}
