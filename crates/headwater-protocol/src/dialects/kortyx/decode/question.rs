//! Questions to a person.

use std::borrow::Cow;

use super::{origin, owned};
use crate::{
    dialects::kortyx::chunk::Interrupt,
    event::{Event, Interrupt as Question, Origin},
};

pub(super) fn read(chunk: Interrupt<'_>) -> (Event, Origin) {
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
        stands_for,
    } = chunk;
    let origin = origin(node, op_id, None, None);
    if let Some(event) = stands_for {
        return (event.into_owned(), origin);
    }
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
    (Event::InterruptRequested(Box::new(question)), origin)
}
