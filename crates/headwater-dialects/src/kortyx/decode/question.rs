//! Questions to a person, and approvals, which are questions with a request id of their own kind.

use std::borrow::Cow;

use headwater_protocol::{ApprovalRequested, Event, Interrupt as Question, Origin, ToolCall};
use serde_json::Value;

use super::{origin, owned};
use crate::kortyx::{approval, chunk::Interrupt};

pub(super) fn read(chunk: Interrupt<'_>) -> (Event, Origin) {
    if let Some(event) = approval(&chunk) {
        return (event, origin(chunk.node, chunk.op_id));
    }
    let Interrupt {
        request_id,
        resume_token,
        workflow,
        node,
        op_id,
        id,
        schema_id,
        schema_version,
        input,
        meta,
    } = chunk;
    let question = Question {
        request: request_id.into(),
        token: Some(resume_token.into_owned()),
        kind: input.kind,
        multiple: input.multiple,
        question: owned(input.question),
        options: input.options.into_owned(),
        workflow: owned(workflow),
        id: owned(input.id.or(id)),
        schema_id: owned(input.schema_id.or(schema_id)),
        schema_version: owned(input.schema_version.or(schema_version)),
        response_schema: None,
        call: None,
        reason: None,
        expires_at: None,
        meta: input.meta.or(meta).map(Cow::into_owned),
    };
    (Event::InterruptRequested(Box::new(question)), origin(node, op_id))
}

fn approval(chunk: &Interrupt<'_>) -> Option<Event> {
    let approval = approval::of_request(&chunk.request_id)?;
    let meta = chunk.input.meta.as_ref()?;
    let name = |key| meta.get(key).and_then(Value::as_str);
    let signature = (chunk.resume_token != approval.as_str()).then(|| chunk.resume_token.to_string());
    let tool = ToolCall::new(name("toolCallId")?, name("tool")?);
    let input = meta.get("input").cloned();
    Some(Event::ApprovalRequested(ApprovalRequested {
        approval,
        tool,
        input,
        signature,
        ..Default::default()
    }))
}
