//! The calls that the page knows, and the names under which it knows them.

use std::collections::{HashMap, HashSet};

use headwater_protocol::{AttemptId, ToolCallId};
use serde_json::Value;

/// The calls of one response.
#[derive(Debug, Default)]
pub(super) struct Calls {
    list: Vec<Call>,
    /// The newest call of each id.
    newest: HashMap<ToolCallId, usize>,
    /// The names that the page knows.
    names: HashSet<String>,
    /// The calls that the page is to execute and was not told yet, with their inputs.
    waiting: Vec<(usize, Option<Value>)>,
}

/// One call.
#[derive(Debug, Default)]
pub(super) struct Call {
    /// Its id on the page: another than its own if that was used before, since the page would append
    /// the new input to the old.
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
    /// A person was asked.
    pub(super) is_asked: bool,
    /// The page shows an output of it.
    pub(super) has_output: bool,
    /// There will be no other output.
    pub(super) is_settled: bool,
    pub(super) attempt: Option<AttemptId>,
}

impl Calls {
    /// The newest call of that id.
    pub(super) fn find(&self, id: &ToolCallId) -> Option<usize> {
        self.newest.get(id).copied()
    }

    pub(super) fn get(&mut self, at: usize) -> Option<&mut Call> {
        self.list.get_mut(at)
    }

    /// A call begins. One that the page was only told the id of is the same call.
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
        self.list.push(Call { wire, name, index: at as u64, attempt, ..Call::default() });
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

    /// The page is to be told to execute the call.
    pub(super) fn wait(&mut self, at: usize, input: Option<Value>) {
        self.waiting.push((at, input));
    }

    /// The call's output is there before the page was asked for it.
    pub(super) fn no_longer_waits(&mut self, call: usize) {
        self.waiting.retain(|(at, _)| *at != call);
    }

    /// Of the calls that the page was not told yet, those that it is to execute now: some by their ids, and all of one tool.
    pub(super) fn take_waiting(&mut self, ids: &[ToolCallId], tool: &str) -> Vec<(usize, Option<Value>)> {
        let due: Vec<_> = ids.iter().filter_map(|id| self.find(id)).collect();
        let is_due = |at: usize| due.contains(&at) || self.list.get(at).is_some_and(|call| call.name == tool);
        let (now, later) = std::mem::take(&mut self.waiting).into_iter().partition(|(at, _)| is_due(*at));
        self.waiting = later;
        now
    }

    /// The calls of an attempt that is taken back which have no end yet; they have one now.
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
