//! What an AG-UI client sends: `RunAgentInput`.

use headwater_protocol::{Part, RunState, ToolState};
use serde_json::{Value, json};

use super::{ids::Ids, messages};
use crate::client_request::ClientRequest;

/// The body of a request. Decisions about calls and answers to questions are resumed interrupts.
pub(super) fn write(request: &ClientRequest<'_>) -> Value {
    let (ids, state) = (Ids::default(), RunState::default());
    let wires = messages::write(request.messages.iter(), &ids, &state, false);
    let tools = request.tools.iter().map(|tool| {
        let parameters = tool.parameters.clone().unwrap_or_else(|| json!({ "type": "object" }));
        json!({ "name": tool.name, "description": tool.description.as_deref().unwrap_or_default(), "parameters": parameters })
    });
    let mut body = json!({
        "threadId": request.session,
        "runId": request.run,
        "state": request.state.cloned().unwrap_or_else(|| json!({})),
        "messages": wires,
        "tools": tools.collect::<Vec<_>>(),
        "context": [],
        "forwardedProps": {},
    });
    let resume: Vec<_> = decisions(request).chain(answers(request)).collect();
    if let (false, Value::Object(fields)) = (resume.is_empty(), &mut body) {
        fields.insert("resume".to_owned(), Value::Array(resume));
    }
    body
}

fn decisions(request: &ClientRequest<'_>) -> impl Iterator<Item = Value> {
    let parts = request.messages.last().into_iter().flat_map(|message| &message.parts);
    let tools = parts.filter_map(Part::as_tool).filter(|tool| tool.state == ToolState::ApprovalResponded);
    tools.filter_map(|tool| {
        let approval = tool.approval.as_ref()?;
        let mut payload = json!({ "approved": approval.approved? });
        if let (Some(reason), Value::Object(fields)) = (&approval.reason, &mut payload) {
            fields.insert("reason".to_owned(), reason.clone().into());
        }
        Some(json!({ "interruptId": approval.id.as_ref()?, "status": "resolved", "payload": payload }))
    })
}

fn answers(request: &ClientRequest<'_>) -> impl Iterator<Item = Value> {
    request.answers.iter().map(|answer| match answer.cancelled {
        true => json!({ "interruptId": answer.request, "status": "cancelled" }),
        false => json!({ "interruptId": answer.request, "status": "resolved", "payload": answer.answer }),
    })
}
