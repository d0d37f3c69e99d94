//! Questions, and tool calls that need approval.
//!
//! Kortyx asks for an approval with an ordinary choice between `approve` and `deny`. So do we, with the tool
//! and its input in `meta`, which Kortyx' own server loses. The request's id marks the answer of an approval.

use std::borrow::Cow;

use headwater_protocol::{ApprovalId, Choice, Interrupt as Question, InterruptKind, Origin, ToolCall};
use serde_json::{Map, Value};

use super::text;
use crate::kortyx::{
    approval,
    chunk::{Input, Interrupt},
};

pub(in crate::kortyx) fn interrupt<'r>(question: &'r Question, origin: &'r Origin) -> Interrupt<'r> {
    let is_text = question.kind == InterruptKind::Text;
    let is_multi = question.kind == InterruptKind::MultiChoice;
    Interrupt {
        request_id: Cow::Borrowed(question.request.as_str()),
        resume_token: Cow::Borrowed(question.token.as_deref().unwrap_or(question.request.as_str())),
        workflow: text(&question.workflow),
        node: text(&origin.node),
        op_id: text(&origin.operation),
        id: text(&question.id),
        schema_id: text(&question.schema_id),
        schema_version: text(&question.schema_version),
        input: Input {
            kind: question.kind,
            multiple: question.multiple || is_multi,
            question: text(&question.question).or_else(|| (!is_text).then(Cow::default)),
            id: text(&question.id),
            schema_id: text(&question.schema_id),
            schema_version: text(&question.schema_version),
            meta: question.meta.as_ref().map(Cow::Borrowed),
            options: Cow::Borrowed(if is_text { &[] } else { &question.options }),
        },
        meta: None,
    }
}

pub(in crate::kortyx) fn approval<'r>(
    approval: &'r ApprovalId,
    tool: &'r ToolCall,
    input: Option<&Value>,
    signature: Option<&'r str>,
    origin: &'r Origin,
) -> Interrupt<'r> {
    let option = |id: &str, label: &str| Choice { id: id.into(), label: label.into(), description: None };
    let mut meta = Map::new();
    meta.insert("tool".to_owned(), Value::from(tool.name.as_str()));
    meta.insert("toolCallId".to_owned(), Value::from(tool.call.as_str()));
    if let Some(input) = input {
        meta.insert("input".to_owned(), input.clone());
    }
    let id: Cow<'_, str> = Cow::Owned(format!("tool:{}", tool.call));
    Interrupt {
        request_id: Cow::Owned(approval::request_id(approval)),
        resume_token: Cow::Borrowed(signature.unwrap_or(approval.as_str())),
        node: text(&origin.node),
        op_id: text(&origin.operation),
        id: Some(id.clone()),
        input: Input {
            kind: InterruptKind::Choice,
            question: Some(Cow::Owned(format!("Approve {}?", tool.name))),
            id: Some(id),
            meta: Some(Cow::Owned(meta)),
            options: Cow::Owned(vec![option(approval::APPROVE, "Approve"), option(approval::DENY, "Deny")]),
            ..Input::default()
        },
        ..Interrupt::default()
    }
}
