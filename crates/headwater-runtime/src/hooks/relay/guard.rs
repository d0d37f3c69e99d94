//! Detects that the node's code drops relay work.

use headwater_protocol::Event;

use super::Relay;
use crate::{Error, Result, error::ErrorKind, journal::HookOutcome};

/// Records an abort if the node's code drops the work: otherwise a partial answer would stay, and the other
/// server would be called again when the run is resumed.
pub(super) struct RelayGuard {
    relay: Relay,
    key: String,
    is_over: bool,
}

impl RelayGuard {
    pub(super) fn new(relay: Relay, key: String) -> Self {
        Self { relay, key, is_over: false }
    }

    pub(super) fn disarm(&mut self) {
        self.is_over = true;
    }
}

impl Drop for RelayGuard {
    fn drop(&mut self) {
        let node = &self.relay.0.node;
        if self.is_over || !node.gives_up() {
            return;
        }
        // A failed write ends the run, which the next hook reports.
        let record = || -> Result<()> {
            self.relay.retract("relay.aborted: the answer was aborted")?;
            let error = Error::new(ErrorKind::Node, "the answer was aborted").with_code("relay.aborted");
            let outcome = HookOutcome::Error(error);
            let finished = Event::AttemptFinished { attempt: self.relay.attempt() };
            let told = Some((&self.relay.0.origin, finished));
            node.keep(node.run.done(&self.key, "relay", None, outcome, told)).map(drop)
        };
        let _ = record();
    }
}
