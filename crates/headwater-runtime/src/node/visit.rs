//! One execution of one visit of a node: the state shared by its hooks, and its parking.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use headwater_protocol::{FinishReason, Origin, RequestId};
use serde_json::{Map, Value};

use super::{ActiveRun, DivergenceKind, NodeInput};
use crate::{
    Error, Next, Result,
    error::ErrorKind,
    journal::{NodeExit, Park, Visit},
};

/// The state of a node's entry.
#[derive(Debug, Clone)]
pub(crate) struct EntryState {
    pub(crate) visit: Visit,
    pub(crate) input: NodeInput,
    pub(crate) node_state: Map<String, Value>,
    pub(crate) workflow_state: Map<String, Value>,
}

/// The state shared by the hooks of one visit.
#[derive(Debug)]
pub(crate) struct NodeVisit {
    pub(crate) run: Arc<ActiveRun>,
    pub(crate) visit: Visit,
    /// The visit as text: the prefix of its hooks' keys.
    pub(crate) name: String,
    pub(crate) input: NodeInput,
    /// Whether an earlier try has failed: work of that try that this one does not repeat is not a divergence.
    pub(super) retried: bool,
    /// State to resume from, if the visit was parked.
    pub(super) park: Option<Arc<Park>>,
    /// Whether the node's own code is running: a hook dropped then is dropped by that code, and not with the
    /// whole run.
    pub(crate) is_polled: AtomicBool,
    state: Mutex<VisitState>,
}

#[derive(Debug, Default)]
pub(super) struct VisitState {
    /// Number of uses of each id.
    pub(super) uses: HashMap<String, u32>,
    /// Active hooks without an id.
    unnamed: HashSet<&'static str>,
    /// Number of active hooks.
    pub(super) alive: usize,
    /// Whether hooks were active concurrently.
    pub(super) concurrent: bool,
    pub(super) asked_for: HashSet<String>,
    /// The number of the next emit.
    pub(super) emitted: usize,
    /// The number of the next emit from before the wait.
    pub(super) reemitted: usize,
    running: usize,
    waiting: Vec<RequestId>,
    /// The finish reason of the last model call.
    finish: Option<FinishReason>,
    pub(super) node_state: Map<String, Value>,
    pub(super) node_state_changed: bool,
    /// Whether this execution changed the node state.
    pub(super) node_state_written: bool,
    /// Number of updates of each state.
    pub(super) updates: HashMap<String, u32>,
    /// Whether the visit's wait was answered in this execution.
    pub(super) wait_over: bool,
    pub(super) workflow_state: Map<String, Value>,
    pub(super) workflow_writes: Map<String, Value>,
    /// The texts already emitted to readers.
    streamed: Vec<String>,
}

/// Identifies one use of one hook.
#[derive(Debug)]
pub(crate) struct HookKey {
    pub(crate) text: String,
    pub(crate) kind: &'static str,
    node: Arc<NodeVisit>,
    named: bool,
}

impl Drop for HookKey {
    fn drop(&mut self) {
        let mut state = self.node.state();
        state.alive -= 1;
        if !self.named {
            state.unnamed.remove(self.kind);
        }
    }
}

/// Counts a hook as running or waiting until dropped.
#[derive(Debug)]
pub(crate) struct HookGuard<'a> {
    node: &'a NodeVisit,
    waiting: Option<RequestId>,
}

impl Drop for HookGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.node.state();
        match &self.waiting {
            Some(request) => state.waiting.retain(|waiting| waiting != request),
            None => state.running -= 1,
        }
    }
}

impl NodeVisit {
    pub(crate) fn new(run: Arc<ActiveRun>, entry: EntryState, retried: bool) -> Self {
        let name = entry.visit.to_string();
        let park = run.fold().parks.get(&name).cloned();
        let mut state = VisitState {
            node_state: entry.node_state,
            workflow_state: entry.workflow_state,
            ..VisitState::default()
        };
        if let Some(Park { parked, .. }) = park.as_deref() {
            state.node_state.clone_from(&parked.node_state);
            state.node_state_changed = true;
            state.concurrent = parked.concurrent;
            state.emitted = parked.emitted;
        }
        Self {
            run,
            name,
            visit: entry.visit,
            input: entry.input,
            retried,
            park,
            is_polled: AtomicBool::new(false),
            state: Mutex::new(state),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, VisitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The origin of its events.
    pub(crate) fn origin(&self) -> Origin {
        Origin {
            node: Some(self.visit.node.clone()),
            visit: Some(self.visit.visit),
            branch: (!self.visit.branch.is_empty()).then(|| self.visit.branch.clone()),
            message: Some(self.run.message.clone()),
            ..Origin::default()
        }
    }

    /// Its workflow, without the version.
    pub(crate) fn workflow_id(&self) -> &str {
        self.visit.workflow.split('@').next().unwrap_or_default()
    }

    /// The key of a hook, fixed when the hook is built.
    pub(crate) fn key(self: &Arc<Self>, kind: &'static str, id: Option<&str>) -> Result<HookKey> {
        let mut state = self.state();
        if id.is_none() && !state.unnamed.insert(kind) {
            let message = format!(
                "node `{}`: two `{kind}` hooks without an id at the same time cannot be told apart when the run is \
                 resumed: give them ids",
                self.visit.node
            );
            let error = Error::new(ErrorKind::Hook, message);
            self.run.fail(&error);
            return Err(error);
        }
        let named = id.is_some();
        let id = id.unwrap_or(kind);
        state.concurrent |= state.alive > 0;
        if !named && self.is_ambiguous(&state, kind) {
            let message = format!(
                "node `{}` changed its node state before it waited, and has several `{kind}` hooks without an id \
                 there: which of them are skipped now cannot be told: give them ids",
                self.visit.node
            );
            let error = Error::new(ErrorKind::Hook, message);
            self.run.fail(&error);
            return Err(error);
        }
        let uses = state.uses.entry(id.to_owned()).or_insert(0);
        let text = format!("{}/{id}#{uses}", self.name);
        *uses += 1;
        state.alive += 1;
        drop(state);
        let key = HookKey { text, kind, node: self.clone(), named };
        match self.recorded_kind(&key.text) {
            // Detected before any work is done under the key of another hook.
            Some(before) if before != kind => Err(self.other_kind(&key.text, &before, kind)),
            _ => Ok(key),
        }
    }

    /// The recorded kind of hook for a key.
    pub(crate) fn recorded_kind(&self, key: &str) -> Option<String> {
        let fold = self.run.fold();
        let done = fold.hooks.get(key).map(|hook| hook.kind.clone());
        let asked = || fold.asked.get(key).map(|wait| wait.hook.clone());
        // A model call has the records of its passes below its key.
        let passed = || fold.hooks.contains_key(&format!("{key}/pass.0")).then(|| "reason".to_owned());
        done.or_else(asked).or_else(passed)
    }

    pub(super) fn other_kind(&self, key: &str, before: &str, now: &str) -> Error {
        let what = format!("`{key}` is a `{before}` in the journal and a `{now}` in the code");
        self.differs(DivergenceKind::Hook, key, Some(before.into()), Some(now.into()), &what)
    }

    /// Whether dropping a hook now aborts it on behalf of the node's code. Hooks are also dropped when a
    /// driver releases a run or a node panics; those are repeated later.
    pub(crate) fn gives_up(&self) -> bool {
        self.is_polled.load(Ordering::Relaxed) && !std::thread::panicking() && self.run.rehearsal.is_none()
    }

    /// Counts a hook as running.
    pub(crate) fn running(&self) -> HookGuard<'_> {
        self.state().running += 1;
        HookGuard { node: self, waiting: None }
    }

    /// Counts a hook as waiting for an answer.
    pub(crate) fn waiting(&self, request: &RequestId) -> HookGuard<'_> {
        self.state().waiting.push(request.clone());
        HookGuard { node: self, waiting: Some(request.clone()) }
    }

    /// The requests that it waits for, if no hook is running.
    pub(crate) fn parked(&self) -> Option<Vec<RequestId>> {
        let state = self.state();
        (!state.waiting.is_empty() && state.running == 0).then(|| state.waiting.clone())
    }

    /// Records the finish reason of a model call.
    pub(crate) fn finished(&self, reason: &FinishReason) {
        self.state().finish = Some(reason.clone());
    }

    pub(crate) fn streamed(&self, text: &str) {
        if !text.trim().is_empty() {
            self.state().streamed.push(text.trim().to_owned());
        }
    }

    pub(crate) fn was_streamed(&self, text: &str) -> bool {
        self.state().streamed.iter().any(|streamed| streamed == text.trim())
    }

    /// The exit record of the visit.
    pub(crate) fn leave(&self, next: Next, error: Option<Error>) -> NodeExit {
        let mut state = self.state();
        NodeExit {
            visit: self.visit.clone(),
            next,
            node_state: state.node_state_changed.then(|| std::mem::take(&mut state.node_state)),
            workflow_state: std::mem::take(&mut state.workflow_writes),
            finish: state.finish.take(),
            error,
        }
    }

    /// A recorded key of this visit that no hook has looked up.
    pub(crate) fn unasked(&self) -> Option<String> {
        let prefix = format!("{}/", self.name);
        let fold = self.run.fold();
        let state = self.state();
        if self.retried {
            return None;
        }
        let asked = |key: &&String| {
            let skipped = self.park.as_ref().is_some_and(|park| park.may_skip(key));
            key.starts_with(&prefix) && !skipped && !state.asked_for.contains(*key)
        };
        let mut lost: Vec<_> = fold.hooks.keys().chain(fold.asked.keys()).filter(asked).collect();
        lost.sort_unstable();
        lost.first().map(|key| (*key).clone())
    }

    /// Marks a key as looked up, if its record is read elsewhere.
    pub(crate) fn asked_for(&self, key: &str) {
        self.state().asked_for.insert(key.to_owned());
    }
}
