//! The state that a node reads and writes.

use serde_json::{Map, Value};

use super::NodeVisit;

/// The workflow state key of the state shared with the page.
pub(crate) const SHARED: &str = "@shared";

impl NodeVisit {
    pub(crate) fn node_state(&self, key: &str) -> Option<Value> {
        self.state().node_state.get(key).cloned()
    }

    pub(crate) fn set_node_state(&self, key: &str, value: Value) {
        let mut state = self.state();
        state.node_state_changed = true;
        state.node_state_written |= state.node_state.get(key) != Some(&value);
        state.node_state.insert(key.to_owned(), value);
    }

    /// Sets the initial value. Not a write: a re-run sets it again.
    pub(crate) fn begin_node_state(&self, key: &str, value: Value) {
        let mut state = self.state();
        state.node_state_changed = true;
        state.node_state.insert(key.to_owned(), value);
    }

    pub(crate) fn workflow_state(&self, key: &str) -> Option<Value> {
        self.state().workflow_state.get(key).cloned()
    }

    /// The whole state, for templates.
    #[cfg(feature = "yaml")]
    pub(crate) fn all_workflow_state(&self) -> Map<String, Value> {
        self.state().workflow_state.clone()
    }

    /// The state shared with the page: the last value set, or the one that the page sent.
    pub(crate) fn shared_state(&self) -> Option<Value> {
        let sent = || {
            let state = self.run.client_context().get("state")?;
            let is_empty = state.is_null() || state.as_object().is_some_and(Map::is_empty);
            (!is_empty).then(|| state.clone())
        };
        self.workflow_state(SHARED).or_else(sent)
    }

    /// Whether the page still has the state that this node started with: no failed try and no other branch
    /// has sent changes.
    pub(crate) fn knows_what_is_shown(&self) -> bool {
        !self.retried && self.visit.branch.is_empty()
    }

    pub(crate) fn set_workflow_state(&self, key: &str, value: Value) {
        let mut state = self.state();
        state.workflow_state.insert(key.to_owned(), value.clone());
        state.workflow_writes.insert(key.to_owned(), value);
    }
}
