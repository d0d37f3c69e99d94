//! Work that the node's code drops.

use headwater_protocol::Event;

use super::Relay;
use crate::{Error, Result, error::ErrorKind, journal::HookOutcome};

/// Records that the work was given up, if the node's code drops it: otherwise half an answer would stay, and the other
/// server would be asked again when the run is resumed.
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
        // What cannot be written ends the run, and the next hook finds that out.
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
