//! Showing objects, handing over to another workflow, and waiting.

use std::time::Duration;

use serde_json::Value;

use super::{Gave, Of};
use crate::{
    Error, ErrorKind, Next, Result,
    file::format::node::{StructuredText, TransitionText},
};

pub(super) fn structured(of: &Of<'_>, text: &StructuredText) -> Result<Gave> {
    let mut object = of.cx.structured(&text.data_type);
    if let Some(stream) = &text.stream {
        object = object.stream(stream.render(of.source, of.scope)?);
    }
    if let Some(schema) = &text.schema {
        object = object.schema(&schema.id, &schema.version);
    }
    for (path, value) in &text.set.0 {
        object.set(&path.value, value.fill(of.source, of.scope)?)?;
    }
    for (path, delta) in &text.text.0 {
        object.text(&path.value, delta.render(of.source, of.scope)?)?;
    }
    for (path, items) in &text.append.0 {
        match items.fill(of.source, of.scope)? {
            Value::Array(items) => object.append(&path.value, items)?,
            other => {
                let kind = crate::next::json_kind(&other);
                let message = format!("`append` of `{}` needs a list, not {kind}", path.value);
                return Err(Error::new(ErrorKind::Structured, message));
            }
        }
    }
    let Some(finish) = &text.finish else { return Ok(Gave::default()) };
    object.finish(&finish.fill(of.source, of.scope)?)?;
    Ok(Gave::default())
}

pub(super) fn transition(of: &Of<'_>, text: &TransitionText) -> Result<Gave> {
    let mut next = Next::transition(&text.to.value);
    if let Some(payload) = &text.payload {
        next = next.with_payload(payload.fill(of.source, of.scope)?);
    }
    Ok(Gave::next(next))
}

/// Waits until a time that is in the journal: a run that is taken over waits for the rest only.
pub(super) async fn wait(of: &Of<'_>, wait: Duration) -> Result<()> {
    let began = of.cx.now()?;
    let passed = of.cx.node.run.agent.now().saturating_sub(began);
    tokio::time::sleep(wait.saturating_sub(Duration::from_millis(passed))).await;
    Ok(())
}
