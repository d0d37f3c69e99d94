//! Events emitted by a node: once, also if its visit is executed again.

use headwater_protocol::{Event, Origin};
use serde_json::Value;

use super::{DivergenceKind, NodeVisit};
use crate::{
    Result,
    error::ErrorKind,
    journal::{EmitId, HookOutcome},
    limits,
};

impl NodeVisit {
    /// Emits an event, unless an earlier execution of this visit did.
    pub(crate) fn emit(&self, origin: &Origin, event: Event) -> Result<()> {
        let now = crate::journal::fingerprint(&event);
        if self.was_emitted_before_the_wait(&now) {
            return Ok(());
        }
        let number = {
            let mut state = self.state();
            state.emitted += 1;
            state.emitted - 1
        };
        let refused = format!("{}/!emit.{number}", self.name);
        if let Some(Err(error)) = self.recorded(&refused, "emit", None)? {
            return Err(error);
        }
        limits::check_text(&limits::stored_hook(), "an event", now.as_bytes())?;
        let before = self.run.fold().emits.get(&self.name).and_then(|emits| emits.get(&number).cloned());
        match before {
            Some(before) if before == now => return Ok(()),
            Some(before) if !self.retried => {
                let what = format!("node `{}` emitted {before} before and {now} now", self.visit.node);
                let (before, now) = (as_json(&before), as_json(&now));
                return Err(self.differs(DivergenceKind::Shown, &self.name, before, now, &what));
            }
            _ => {}
        }
        if let Some(rehearsal) = &self.run.rehearsal {
            // Output of a failed try cannot be distinguished from that of this one.
            return match rehearsal.was_left(&self.name) && !self.retried {
                true => Err(self.differs(DivergenceKind::Shown, &self.name, None, as_json(&now), "")),
                false => Ok(()),
            };
        }
        let emitted = EmitId { visit: self.name.clone(), number };
        match self.run.journal.emit(origin, event, &emitted, now) {
            // An update that the state rejects is the node's error to handle, now and when it is run again.
            Err(error) if error.kind() == ErrorKind::Structured => {
                let outcome = HookOutcome::Error(error.clone());
                self.keep(self.run.done(&refused, "emit", None, outcome, None).map(drop))?;
                Err(error)
            }
            receipt => {
                self.keep(receipt.map(drop))?;
                Ok(())
            }
        }
    }

    /// A recorded emit of this visit that did not occur now.
    pub(crate) fn unemitted(&self) -> Option<String> {
        if self.retried {
            return None;
        }
        let emitted = self.state().emitted;
        let fold = self.run.fold();
        let (_, lost) = fold.emits.get(&self.name)?.range(emitted..).next()?;
        Some(format!("{lost} was emitted before, as number {}, and was not emitted now", emitted + 1))
    }
}

/// An event as recorded.
fn as_json(written: &str) -> Option<Value> {
    crate::codec::decode(written.as_bytes()).ok()
}
