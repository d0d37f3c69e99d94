//! The calls that the page knows, and their ids on the page.

use std::collections::{HashMap, HashSet};

use headwater_protocol::{AttemptId, ToolCallId};
use serde_json::Value;

/// The calls of one response.
#[derive(Debug, Default)]
pub(super) struct Calls {
    list: Vec<EncodedCall>,
    /// The newest call of each id.
    newest: HashMap<ToolCallId, usize>,
    /// The ids used on the page.
    names: HashSet<String>,
    /// The calls that the page must execute but was not asked for yet, with their inputs.
    waiting: Vec<(usize, Option<Value>)>,
}

/// One call.
#[derive(Debug, Default)]
pub(super) struct EncodedCall {
    /// Its id on the page. A reused id gets another one, since the page would append the new input to the
    /// old.
    pub(super) wire: String,
    pub(super) name: String,
    /// Its number in the response.
    pub(super) index: u64,
    /// The page shows it.
    pub(super) is_shown: bool,
    /// Its input as far as it was streamed, until it is complete.
    pub(super) text: String,
    /// Its input is complete.
    pub(super) is_complete: bool,
    /// An approval was requested.
    pub(super) is_asked: bool,
    /// The page shows an output of it.
    pub(super) has_output: bool,
    /// There will be no other output.
    pub(super) is_settled: bool,
    pub(super) attempt: Option<AttemptId>,
}

impl Calls {
    /// The newest call with this id.
    pub(super) fn find(&self, id: &ToolCallId) -> Option<usize> {
        self.newest.get(id).copied()
    }

    pub(super) fn get(&mut self, at: usize) -> Option<&mut EncodedCall> {
        self.list.get_mut(at)
    }

    /// Starts a call. A call of which the page only knows the id is the same call.
    pub(super) fn begin(&mut self, id: &ToolCallId, name: &str, attempt: Option<&AttemptId>) -> usize {
        if let Some(at) = self.find(id)
            && let Some(call) = self.list.get_mut(at)
            && call.text.is_empty()
            && !call.is_complete
            && !call.is_settled
        {
            if !call.is_shown {
                name.clone_into(&mut call.name);
            }
            return at;
        }
        let at = self.list.len();
        let wire = self.name(id);
        let (name, attempt) = (name.to_owned(), attempt.cloned());
        self.list.push(EncodedCall { wire, name, index: at as u64, attempt, ..EncodedCall::default() });
        self.newest.insert(id.clone(), at);
        at
    }

    fn name(&mut self, id: &ToolCallId) -> String {
        let mut name = id.as_str().to_owned();
        let mut count = 1;
        while !self.names.insert(name.clone()) {
            count += 1;
            name = format!("{id}-{count}");
        }
        name
    }

    /// Registers a call that the page must execute.
    pub(super) fn wait(&mut self, at: usize, input: Option<Value>) {
        self.waiting.push((at, input));
    }

    /// The call got its output before the page was asked for it.
    pub(super) fn no_longer_waits(&mut self, call: usize) {
        self.waiting.retain(|(at, _)| *at != call);
    }

    /// Takes the registered calls that the page must execute now: those with these ids, and all of one tool.
    pub(super) fn take_waiting(&mut self, ids: &[ToolCallId], tool: &str) -> Vec<(usize, Option<Value>)> {
        let due: Vec<_> = ids.iter().filter_map(|id| self.find(id)).collect();
        let is_due = |at: usize| due.contains(&at) || self.list.get(at).is_some_and(|call| call.name == tool);
        let (now, later) = std::mem::take(&mut self.waiting).into_iter().partition(|(at, _)| is_due(*at));
        self.waiting = later;
        now
    }

    /// Ends the unfinished calls of a retracted attempt and returns them.
    pub(super) fn retract(&mut self, attempt: &AttemptId) -> Vec<usize> {
        let mut dead = Vec::new();
        for (at, call) in self.list.iter_mut().enumerate() {
            if call.attempt.as_ref() == Some(attempt) && !call.is_settled {
                call.is_settled = true;
                dead.push(at);
            }
        }
        self.waiting.retain(|(at, _)| !dead.contains(at));
        dead
    }
}
