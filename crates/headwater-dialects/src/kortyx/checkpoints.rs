//! Checkpoint documents of Kortyx' pages: roll back and fork, with the open questions of each.

use headwater_protocol::{ApprovalId, Origin};
use serde_json::{Value, json};

use super::encode::{approval, interrupt};
use crate::documents::{CheckpointEntry, CheckpointReply, PendingKind, PendingQuestion};

/// The response to a checkpoint request, if Kortyx has its own format for it.
pub(super) fn reply(reply: &CheckpointReply<'_>) -> Option<Value> {
    match reply {
        CheckpointReply::List(_) | CheckpointReply::Checkpoint { .. } => None,
        CheckpointReply::RolledBack { session, checkpoint, pending, streams, tokens, .. } => Some(json!({
            "sessionId": session,
            "head": with_pending(checkpoint, pending),
            "invalidatedStructuredStreamIds": streams,
            "invalidatedInterruptTokens": tokens,
        })),
        CheckpointReply::Forked { session, parent, checkpoint, pending } => Some(json!({
            "sessionId": session,
            "parentSessionId": parent,
            "forkedFrom": checkpoint.id,
            "checkpoint": with_pending(checkpoint, pending),
        })),
    }
}

/// A checkpoint with its open questions.
fn with_pending(checkpoint: &CheckpointEntry<'_>, pending: &[PendingQuestion<'_>]) -> Value {
    let mut document = json!(checkpoint);
    if let Value::Object(fields) = &mut document {
        let pending = pending.iter().map(|question| record(question, checkpoint)).collect();
        fields.insert("activePendingRequests".to_owned(), pending);
    }
    document
}

/// A question in the form of Kortyx' server, built from the chunk that asks it.
fn record(question: &PendingQuestion<'_>, checkpoint: &CheckpointEntry<'_>) -> Value {
    let origin = Origin { node: Some(question.node.to_owned()), ..Origin::default() };
    let id;
    let chunk = match question.kind {
        PendingKind::Interrupt(asked) => interrupt(asked, &origin),
        PendingKind::Approval { request, tool, input, signature } => {
            id = ApprovalId::from(request.as_str());
            approval(&id, tool, Some(input), Some(signature), &origin)
        }
    };
    let mut schema = json!(chunk.input);
    let options = schema.as_object_mut().and_then(|fields| fields.shift_remove("options"));
    json!({
        "token": chunk.resume_token,
        "requestId": chunk.request_id,
        "sessionId": checkpoint.session_id,
        "runId": question.run,
        "workflow": checkpoint.workflow,
        "node": question.node,
        "schema": schema,
        "options": options.unwrap_or_else(|| json!([])),
        "createdAt": question.asked,
    })
}
