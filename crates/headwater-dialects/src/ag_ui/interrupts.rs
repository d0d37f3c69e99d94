//! Questions and approvals as interrupts.

use std::borrow::Cow;

use headwater_protocol::{
    self, ApprovalRequested, Event, InterruptKind, Part, RunState, ToolPart, ToolState,
};
use serde_json::{Map, Value, json};

use super::chunk::Interrupt;

/// The open questions and approvals of a run, for a TanStack page that is loaded again.
pub(super) fn pending(state: &RunState, run: &str) -> Vec<Value> {
    let asked = state.interrupts().iter().cloned().map(|asked| Event::InterruptRequested(Box::new(asked)));
    let tools = state.messages().iter().flat_map(|message| &message.parts).filter_map(Part::as_tool);
    let tools = tools.filter(|tool| tool.state == ToolState::ApprovalRequested);
    let approvals = tools.filter_map(|tool| {
        let (approval, input) = (tool.approval.as_ref()?.id.clone()?, tool.input.clone());
        let tool = tool.tool_call();
        Some(Event::from(ApprovalRequested { approval, tool, input, ..Default::default() }))
    });
    asked.chain(approvals).filter_map(|event| serde_json::to_value(write(&event, Some(run))?).ok()).collect()
}

/// A question or approval. TanStack's client only answers interrupts bound to the run `bound`, without a
/// schema or with the schema's hash.
pub(super) fn write<'a>(question: &'a Event, bound: Option<&str>) -> Option<Interrupt<'a>> {
    let mut interrupt = match question {
        Event::InterruptRequested(asked) => write_question(asked),
        Event::ApprovalRequested(ApprovalRequested { approval, tool, input, .. }) => Interrupt {
            id: Cow::Borrowed(approval.as_str()),
            reason: Cow::Borrowed("tool_call"),
            message: Some(Cow::Owned(format!("Approve the call of {}?", tool.name))),
            tool_call_id: Some(Cow::Borrowed(tool.call.as_str())),
            response_schema: Some(Cow::Owned(json!({
                "type": "object",
                "properties": { "approved": { "type": "boolean" }, "reason": { "type": "string" } },
                "required": ["approved"],
            }))),
            expires_at: None,
            metadata: Some(Map::from_iter([
                ("kind".to_owned(), json!("approval")),
                ("toolName".to_owned(), json!(tool.name)),
                ("input".to_owned(), json!(input)),
            ])),
        },
        _ => return None,
    };
    if let Some(run) = bound {
        if matches!(question, Event::ApprovalRequested(_)) {
            // The only reason for which `addToolApprovalResponse` sends the decision.
            interrupt.reason = Cow::Borrowed("approval_required");
        }
        interrupt.response_schema = None;
        interrupt.metadata.get_or_insert_default().insert(
            "tanstack:interruptBinding".to_owned(),
            json!({ "v": 1, "kind": "generic", "interruptId": interrupt.id, "interruptedRunId": run, "generation": 0 }),
        );
    }
    Some(interrupt)
}

/// The hash that TanStack's client computes for a missing schema.
const NO_SCHEMA: &str = "sha256:eb045d78d273107348b0300c01d29b7552d622abbc6faf81b3ec55359aa9950c";

/// A call that the page executes. The client compares its tool's output schema with ours, which we do not
/// know; if it has one, it only uses the metadata.
pub(super) fn write_call<'a>(tool: &ToolPart, run: &str) -> Interrupt<'a> {
    let id = format!("client_tool_{}", tool.call);
    let binding = json!({
        "v": 1, "kind": "client-tool-execution", "interruptId": id, "interruptedRunId": run, "generation": 0,
        "toolName": tool.name, "toolCallId": tool.call, "outputSchemaHash": NO_SCHEMA, "responseSchemaHash": NO_SCHEMA,
    });
    Interrupt {
        id: Cow::Owned(id),
        reason: Cow::Borrowed("tanstack:client_tool_execution"),
        message: None,
        tool_call_id: Some(Cow::Owned(tool.call.to_string())),
        response_schema: None,
        expires_at: None,
        metadata: Some(Map::from_iter([
            ("kind".to_owned(), json!("client_tool")),
            ("toolName".to_owned(), json!(tool.name)),
            ("input".to_owned(), json!(tool.input)),
            ("tanstack:interruptBinding".to_owned(), binding),
        ])),
    }
}

fn write_question(asked: &headwater_protocol::Interrupt) -> Interrupt<'_> {
    let mut metadata = asked.meta.clone().unwrap_or_default();
    metadata.insert("kind".to_owned(), json!(asked.kind));
    if !asked.options.is_empty() {
        metadata.insert("options".to_owned(), json!(asked.options));
    }
    Interrupt {
        id: Cow::Borrowed(asked.request.as_str()),
        reason: Cow::Borrowed(asked.reason.as_deref().unwrap_or("input_required")),
        message: asked.question.as_deref().map(Cow::Borrowed),
        tool_call_id: asked.call.as_ref().map(|call| Cow::Borrowed(call.as_str())),
        response_schema: Some(response_schema(asked)),
        expires_at: asked.expires_at.as_deref().map(Cow::Borrowed),
        metadata: Some(metadata),
    }
}

/// The schema of an answer: the question's own, or one derived from its options.
fn response_schema(asked: &headwater_protocol::Interrupt) -> Cow<'_, Value> {
    if let Some(schema) = asked.response_schema.as_ref().filter(|schema| schema.is_object()) {
        return Cow::Borrowed(schema);
    }
    let ids: Vec<_> = asked.options.iter().map(|option| option.id.as_str()).collect();
    let one =
        if ids.is_empty() { json!({ "type": "string" }) } else { json!({ "type": "string", "enum": ids }) };
    Cow::Owned(match asked.kind {
        InterruptKind::MultiChoice => json!({ "type": "array", "items": one }),
        _ if asked.multiple => json!({ "type": "array", "items": one }),
        _ => one,
    })
}
