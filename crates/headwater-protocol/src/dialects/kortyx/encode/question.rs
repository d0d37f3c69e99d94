//! Questions to a person, and tool calls that a person must approve.
//!
//! Kortyx asks for an approval with an ordinary choice between `approve` and `deny`. So do we, and we add what
//! its own server loses: which tool is called with what input. The request's id tells the answer apart.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::text;
use crate::{
    dialects::kortyx::{
        approval,
        chunk::{Input, Interrupt},
    },
    event::{Choice, Interrupt as Question, InterruptKind, Record, ToolCall},
    id::ApprovalId,
};

pub(super) fn interrupt<'r>(question: &'r Question, record: &'r Record) -> Interrupt<'r> {
    let Question {
        request,
        token,
        kind,
        multiple,
        question,
        options,
        workflow,
        id,
        schema_id,
        schema_version,
        response_schema,
        call,
        reason,
        expires_at,
        meta,
    } = question;
    let is_text = *kind == InterruptKind::Text;
    let is_multi = *kind == InterruptKind::MultiChoice;
    let all_said = token.is_some()
        && (is_text || question.is_some())
        && (*multiple || !is_multi)
        && (options.is_empty() || !is_text)
        && response_schema.is_none()
        && call.is_none()
        && reason.is_none()
        && expires_at.is_none();
    Interrupt {
        request_id: Cow::Borrowed(request.as_str()),
        resume_token: Cow::Borrowed(token.as_deref().unwrap_or(request.as_str())),
        workflow: text(workflow),
        node: text(&record.origin.node),
        op_id: text(&record.origin.operation),
        id: text(id),
        schema_id: text(schema_id),
        schema_version: text(schema_version),
        input: Input {
            kind: *kind,
            multiple: *multiple || is_multi,
            question: text(question).or_else(|| (!is_text).then(Cow::default)),
            id: text(id),
            schema_id: text(schema_id),
            schema_version: text(schema_version),
            meta: meta.as_ref().map(Cow::Borrowed),
            options: Cow::Borrowed(if is_text { &[] } else { options }),
        },
        meta: None,
        stands_for: (!all_said).then_some(Cow::Borrowed(&record.event)),
    }
}

pub(super) fn approval<'r>(
    approval: &'r ApprovalId,
    tool: &'r ToolCall,
    input: Option<&Value>,
    signature: Option<&'r str>,
    record: &'r Record,
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
        node: text(&record.origin.node),
        op_id: text(&record.origin.operation),
        id: Some(id.clone()),
        input: Input {
            kind: InterruptKind::Choice,
            question: Some(Cow::Owned(format!("Approve {}?", tool.name))),
            id: Some(id),
            meta: Some(Cow::Owned(meta)),
            options: Cow::Owned(vec![option(approval::APPROVE, "Approve"), option(approval::DENY, "Deny")]),
            ..Input::default()
        },
        stands_for: Some(Cow::Borrowed(&record.event)),
        ..Interrupt::default()
    }
}
