//! Questions and approvals, which are questions with a special request id.

use std::borrow::Cow;

use headwater_protocol::{ApprovalRequested, Event, Interrupt as Question, Origin, ToolCall};
use serde_json::Value;

use super::{origin, owned};
use crate::kortyx::{approval, chunk::Interrupt};

pub(super) fn read(chunk: Interrupt<'_>) -> (Event, Origin) {
    if let Some(event) = approval(&chunk) {
        return (event, origin(chunk.node, chunk.op_id));
    }
    let input = chunk.input;
    let question = Question {
        request: chunk.request_id.into(),
        token: Some(chunk.resume_token.into_owned()),
        kind: input.kind,
        multiple: input.multiple,
        question: owned(input.question),
        options: input.options.into_owned(),
        workflow: owned(chunk.workflow),
        id: owned(input.id.or(chunk.id)),
        schema_id: owned(input.schema_id.or(chunk.schema_id)),
        schema_version: owned(input.schema_version.or(chunk.schema_version)),
        meta: input.meta.or(chunk.meta).map(Cow::into_owned),
        ..Question::default()
    };
    (Event::InterruptRequested(Box::new(question)), origin(chunk.node, chunk.op_id))
}

fn approval(chunk: &Interrupt<'_>) -> Option<Event> {
    let approval = approval::of_request(&chunk.request_id)?;
    let meta = chunk.input.meta.as_ref()?;
    let name = |key| meta.get(key).and_then(Value::as_str);
    let signature = (chunk.resume_token != approval.as_str()).then(|| chunk.resume_token.to_string());
    let tool = ToolCall::new(name("toolCallId")?, name("tool")?);
    let input = meta.get("input").cloned();
    Some(ApprovalRequested { approval, tool, input, signature, ..Default::default() }.into())
}
