//! The events that readers see for the result of a node.

use headwater_protocol::{Event, StructuredOp, StructuredUpdate, TransitionEvent, WarningEvent};

use super::Workflows;
use crate::{Next, Result, node::NodeVisit, question::request_id};

/// Emits the result of a node, unless an earlier execution of this visit did.
pub(crate) fn show(node: &NodeVisit, next: &Next, workflows: &Workflows) -> Result<()> {
    let origin = node.origin();
    if let Some(text) = next.message.as_ref().filter(|text| !text.trim().is_empty()) {
        if node.was_streamed(text) {
            let message = format!(
                "node `{}` gave a message equal to text that was streamed; it is not sent twice",
                node.visit.node
            );
            let code = Some("message.repeated".to_owned());
            node.emit(&origin, Event::Warning(WarningEvent { message, code, ..Default::default() }))?;
        } else {
            node.emit(&origin, Event::Message { content: text.clone() })?;
        }
    }
    if let Some(structured) = &next.structured {
        let stream = request_id(&node.run.id, &format!("{}/structured", node.name));
        let stream = stream.as_str().replacen("req_", "stream_", 1);
        let op = StructuredOp::finish(structured.data.clone());
        let mut update = StructuredUpdate::new(stream, &structured.data_type, op);
        update.node = Some(node.visit.node.clone());
        node.emit(&origin, Event::Structured(update))?;
    }
    if let Some(transition) = &next.transition {
        // An unknown workflow must fail before readers see the transition.
        workflows.newest(&transition.to)?;
        transition.check()?;
        let event = Event::Transition(TransitionEvent {
            to: transition.to.clone(),
            payload: transition.payload.clone(),
            ..Default::default()
        });
        node.emit(&origin, event)?;
    }
    Ok(())
}
