//! Items of OpenAI's own tools: the call, who runs it, and its output.

use serde_json::{Map, Value, json};

use crate::wire::json_access::{given, items, owned, text};

/// The content of an item.
pub(super) enum HostedItem<'i> {
    Call(Box<HostedCall<'i>>),
    /// The result of an earlier call.
    Result {
        id: Option<&'i str>,
        output: Value,
    },
    Unknown,
}

/// A call of one of OpenAI's own tools.
pub(super) struct HostedCall<'i> {
    pub(super) id: Option<&'i str>,
    pub(super) name: String,
    /// JSON text.
    pub(super) input: String,
    /// Whether OpenAI runs it.
    pub(super) is_executed: bool,
    /// The output, and whether it is an error.
    pub(super) output: Option<(Value, bool)>,
    pub(super) sources: Vec<(String, Option<String>)>,
    /// Media type and address of the generated file.
    pub(super) file: Option<(String, String)>,
}

pub(super) fn read(item: &Value) -> HostedItem<'_> {
    let field = |key: &str| item.get(key).cloned().unwrap_or_default();
    let by_item = |name: &str, input: Value, output: Value| {
        let mut call = HostedCall::new(text(item, "id"), name, input.to_string());
        call.is_executed = true;
        call.output = Some((output, false));
        call
    };
    let by_client =
        |name: &str, input: Value| HostedCall::new(text(item, "call_id"), name, input.to_string());
    let call = match text(item, "type").unwrap_or_default() {
        "web_search_call" => {
            let action = field("action");
            let mut call = by_item("web_search", json!({}), json!({ "action": action }));
            call.sources = items(&action, "sources")
                .iter()
                .filter_map(|source| Some((owned(source, "url")?, owned(source, "title"))))
                .collect();
            call
        }
        "file_search_call" => by_item(
            "file_search",
            json!({}),
            json!({ "queries": field("queries"), "results": field("results") }),
        ),
        "code_interpreter_call" => {
            let input = json!({ "code": field("code"), "containerId": field("container_id") });
            by_item("code_interpreter", input, json!({ "outputs": field("outputs") }))
        }
        "image_generation_call" => {
            let mut facts = item.as_object().cloned().unwrap_or_default();
            let image = facts.shift_remove("result");
            let media_type = format!("image/{}", text(item, "output_format").unwrap_or("png"));
            let mut call = by_item("image_generation", json!({}), Value::Object(facts));
            call.file = image
                .as_ref()
                .and_then(Value::as_str)
                .map(|image| (media_type.clone(), format!("data:{media_type};base64,{image}")));
            call
        }
        "mcp_call" => {
            let name = format!("mcp.{}", text(item, "name").unwrap_or_default());
            let error = given(item, "error").cloned();
            let mut call =
                HostedCall::new(text(item, "id"), &name, owned(item, "arguments").unwrap_or_default());
            call.is_executed = true;
            let output =
                json!({ "serverLabel": field("server_label"), "output": field("output"), "error": error });
            call.output = Some((output, error.is_some()));
            call
        }
        // Waits for the user's approval; the id of the request is the id of the call.
        "mcp_approval_request" => {
            let name = format!("mcp.{}", text(item, "name").unwrap_or_default());
            let mut call =
                HostedCall::new(text(item, "id"), &name, owned(item, "arguments").unwrap_or_default());
            call.is_executed = true;
            call
        }
        "program" => {
            let input = json!({ "code": field("code"), "fingerprint": field("fingerprint") });
            let mut call = by_client("programmatic_tool_calling", input);
            call.is_executed = true;
            call
        }
        "tool_search_call" => {
            let id = text(item, "call_id").or_else(|| text(item, "id"));
            let input = json!({ "arguments": field("arguments"), "call_id": field("call_id") });
            let mut call = HostedCall::new(id, "tool_search", input.to_string());
            call.is_executed = text(item, "execution") == Some("server");
            call
        }
        "local_shell_call" => by_client("local_shell", json!({ "action": field("action") })),
        "shell_call" => {
            let mut call = by_client("shell", json!({ "action": camel_case(&field("action")) }));
            let place = item.pointer("/environment/type").and_then(Value::as_str);
            call.is_executed = place.is_some_and(|place| place != "local");
            call
        }
        "apply_patch_call" => by_client(
            "apply_patch",
            json!({ "callId": field("call_id"), "operation": sorted_patch(&field("operation")) }),
        ),
        "computer_call" => by_client("computer_use", json!({ "action": field("action") })),
        "custom_tool_call" => by_client(text(item, "name").unwrap_or_default(), field("input")),
        "shell_call_output" => {
            return HostedItem::Result {
                id: text(item, "call_id"),
                output: json!({ "output": field("output") }),
            };
        }
        "tool_search_output" => {
            return HostedItem::Result {
                id: text(item, "call_id"),
                output: json!({ "tools": field("tools") }),
            };
        }
        "program_output" => {
            let output = json!({ "result": field("result"), "status": field("status") });
            return HostedItem::Result { id: Some(text(item, "call_id").unwrap_or_default()), output };
        }
        _ => return HostedItem::Unknown,
    };
    HostedItem::Call(Box::new(call))
}

impl<'i> HostedCall<'i> {
    fn new(id: Option<&'i str>, name: &str, input: String) -> Self {
        let name = name.to_owned();
        Self { id, name, input, is_executed: false, output: None, sources: Vec::new(), file: None }
    }
}

/// The item as it must be repeated in the next turn. An image is dropped: its id is enough.
pub(super) fn echo(item: &Value) -> Option<Value> {
    let mut fields = item.as_object()?.clone();
    if fields.get("type").and_then(Value::as_str) == Some("image_generation_call") {
        fields.shift_remove("result");
    }
    Some(Value::Object(fields))
}

fn camel_case(action: &Value) -> Value {
    let fields = action.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let named = fields.map(|(key, value)| {
        let key = match key.as_str() {
            "max_output_length" => "maxOutputLength",
            "timeout_ms" => "timeoutMs",
            other => other,
        };
        (key.to_owned(), value.clone())
    });
    Value::Object(named.collect())
}

/// Puts the kind and path before the diff, because readers need them first.
fn sorted_patch(operation: &Value) -> Value {
    let mut fields = operation.as_object().cloned().unwrap_or_default();
    let mut sorted = Map::new();
    for key in ["type", "path", "diff"] {
        if let Some(value) = fields.shift_remove(key) {
            sorted.insert(key.to_owned(), value);
        }
    }
    sorted.extend(fields);
    Value::Object(sorted)
}
