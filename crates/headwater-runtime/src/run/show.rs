//! What readers are shown of what a node gave.

use headwater_protocol::{Event, StructuredOp, StructuredUpdate, TransitionEvent, WarningEvent};

use super::{NodeRun, request_id};
use crate::{Next, Result};

impl NodeRun {
    /// Shows what the node gave, unless an earlier execution of this visit did.
    pub(crate) fn show(&self, next: &Next) -> Result<()> {
        let origin = self.origin();
        if let Some(text) = next.message.as_ref().filter(|text| !text.trim().is_empty()) {
            if self.was_streamed(text) {
                let message = format!(
                    "node `{}` gave a message equal to text that was streamed; it is not sent twice",
                    self.visit.node
                );
                let code = Some("message.repeated".to_owned());
                self.emit(&origin, Event::Warning(WarningEvent { message, code, ..Default::default() }))?;
            } else {
                self.emit(&origin, Event::Message { content: text.clone() })?;
            }
        }
        if let Some(structured) = &next.structured {
            let stream = request_id(&self.run.id, &format!("{}/structured", self.name));
            let stream = stream.as_str().replacen("req_", "stream_", 1);
            let op = StructuredOp::finish(structured.data.clone());
            let mut update = StructuredUpdate::new(stream, &structured.data_type, op);
            update.node = Some(self.visit.node.clone());
            self.emit(&origin, Event::Structured(update))?;
        }
        if let Some(transition) = &next.transition {
            // A workflow that is not there is found out before anyone is told to go there.
            self.run.agent.workflow(&transition.to)?;
            transition.check()?;
            let event = Event::Transition(TransitionEvent {
                to: transition.to.clone(),
                payload: transition.payload.clone(),
                ..Default::default()
            });
            self.emit(&origin, event)?;
        }
        Ok(())
    }
}
