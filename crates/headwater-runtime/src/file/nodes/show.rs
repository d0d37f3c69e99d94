//! Nodes that show objects, hand over to another workflow, or wait.

use std::time::Duration;

use serde_json::Value;

use super::{NodeCall, NodeOutput};
use crate::{
    Error, ErrorKind, Next, Result,
    file::format::node::{StructuredText, TransitionText},
};

pub(super) fn structured(call: &NodeCall<'_>, text: &StructuredText) -> Result<NodeOutput> {
    let mut object = call.cx.structured(&text.data_type);
    if let Some(stream) = &text.stream {
        object = object.stream(stream.render(call.source, call.scope)?);
    }
    if let Some(schema) = &text.schema {
        object = object.schema(&schema.id, &schema.version);
    }
    for (path, value) in &text.set.0 {
        object.set(&path.value, value.fill(call.source, call.scope)?)?;
    }
    for (path, delta) in &text.text.0 {
        object.text(&path.value, delta.render(call.source, call.scope)?)?;
    }
    for (path, items) in &text.append.0 {
        match items.fill(call.source, call.scope)? {
            Value::Array(items) => object.append(&path.value, items)?,
            other => {
                let kind = crate::next::json_kind(&other);
                let message = format!("`append` of `{}` needs a list, not {kind}", path.value);
                return Err(Error::new(ErrorKind::Structured, message));
            }
        }
    }
    let Some(finish) = &text.finish else { return Ok(NodeOutput::default()) };
    object.finish(&finish.fill(call.source, call.scope)?)?;
    Ok(NodeOutput::default())
}

pub(super) fn transition(call: &NodeCall<'_>, text: &TransitionText) -> Result<NodeOutput> {
    let mut next = Next::transition(&text.to.value);
    if let Some(payload) = &text.payload {
        next = next.with_payload(payload.fill(call.source, call.scope)?);
    }
    Ok(NodeOutput::next(next))
}

/// Waits until a time that is recorded in the journal, so that a takeover waits only for the rest.
pub(super) async fn wait(call: &NodeCall<'_>, wait: Duration) -> Result<()> {
    let began = call.cx.now()?;
    let passed = call.cx.node.run.services.env.now().saturating_sub(began);
    tokio::time::sleep(wait.saturating_sub(Duration::from_millis(passed))).await;
    Ok(())
}
