//! One execution of one visit of a node: what its hooks share, and when it is parked.

use std::{
    collections::{HashMap, HashSet},
    future::Future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use headwater_protocol::{Event, FinishReason, Origin, RequestId, WarningEvent};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{EntryState, RunShared};
use crate::{
    Error, Next, Result,
    error::ErrorKind,
    hooks::SHARED,
    journal::{Emitted, Left, Outcome, Park, Visit},
    limits,
    replay::DivergenceKind,
};

/// What the hooks of one visit share.
#[derive(Debug)]
pub(crate) struct NodeRun {
    pub(crate) run: Arc<RunShared>,
    pub(crate) visit: Visit,
    /// The visit as text: the beginning of the keys of its hooks.
    pub(crate) name: String,
    pub(crate) input: crate::workflow::NodeInput,
    /// A try of it has failed before: what that try did and this one does not is no divergence.
    retried: bool,
    /// State to resume from, if the visit was parked.
    pub(super) park: Option<Arc<Park>>,
    /// Whether the node's own code is running: a hook that is dropped then is dropped by it, and not with the whole run.
    pub(super) is_polled: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
pub(super) struct Inner {
    /// How often each id was used.
    pub(super) uses: HashMap<String, u32>,
    /// Hooks without an id that are under way.
    unnamed: HashSet<&'static str>,
    /// How many hooks are under way.
    pub(super) alive: usize,
    /// Whether hooks were under way at the same time.
    pub(super) concurrent: bool,
    asked_for: HashSet<String>,
    /// The number of the next emit.
    pub(super) emitted: usize,
    /// The number of the next emit from before the wait.
    pub(super) reemitted: usize,
    running: usize,
    waiting: Vec<RequestId>,
    /// Why the last model stopped.
    finish: Option<FinishReason>,
    pub(super) node_state: Map<String, Value>,
    node_state_changed: bool,
    /// Whether this execution changed the node state.
    pub(super) node_state_written: bool,
    /// How often each state was updated.
    pub(super) updates: HashMap<String, u32>,
    /// Whether what the visit waited for was answered, in this execution.
    pub(super) wait_over: bool,
    pub(super) workflow_state: Map<String, Value>,
    pub(super) workflow_writes: Map<String, Value>,
    /// The texts that readers have seen already.
    streamed: Vec<String>,
}

/// Names one use of one hook.
#[derive(Debug)]
pub(crate) struct HookKey {
    pub(crate) text: String,
    pub(crate) kind: &'static str,
    node: Arc<NodeRun>,
    named: bool,
}

impl Drop for HookKey {
    fn drop(&mut self) {
        let mut inner = self.node.inner();
        inner.alive -= 1;
        if !self.named {
            inner.unnamed.remove(self.kind);
        }
    }
}

/// Counts a hook as running or waiting for as long as it lives.
#[derive(Debug)]
pub(crate) struct Busy<'a> {
    node: &'a NodeRun,
    waiting: Option<RequestId>,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut inner = self.node.inner();
        match &self.waiting {
            Some(request) => inner.waiting.retain(|waiting| waiting != request),
            None => inner.running -= 1,
        }
    }
}

impl NodeRun {
    pub(super) fn new(run: Arc<RunShared>, entry: EntryState, retried: bool) -> Self {
        let name = entry.visit.to_string();
        let park = run.fold().parks.get(&name).cloned();
        let mut inner =
            Inner { node_state: entry.node_state, workflow_state: entry.workflow_state, ..Inner::default() };
        if let Some(Park { parked, .. }) = park.as_deref() {
            inner.node_state.clone_from(&parked.node_state);
            inner.node_state_changed = true;
            inner.concurrent = parked.concurrent;
            inner.emitted = parked.emitted;
        }
        Self {
            run,
            name,
            visit: entry.visit,
            input: entry.input,
            retried,
            park,
            is_polled: AtomicBool::new(false),
            inner: Mutex::new(inner),
        }
    }

    pub(super) fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where what it says comes from.
    pub(crate) fn origin(&self) -> Origin {
        Origin {
            node: Some(self.visit.node.clone()),
            visit: Some(self.visit.visit),
            branch: (!self.visit.branch.is_empty()).then(|| self.visit.branch.clone()),
            message: Some(self.run.message.clone()),
            ..Origin::default()
        }
    }

    /// The workflow that it is in, without its version.
    pub(crate) fn workflow_id(&self) -> &str {
        self.visit.workflow.split('@').next().unwrap_or_default()
    }

    /// The key of a hook, fixed when the hook is built.
    pub(crate) fn key(self: &Arc<Self>, kind: &'static str, id: Option<&str>) -> Result<HookKey> {
        let mut inner = self.inner();
        if id.is_none() && !inner.unnamed.insert(kind) {
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
        inner.concurrent |= inner.alive > 0;
        if !named && self.is_ambiguous(&inner, kind) {
            let message = format!(
                "node `{}` changed its node state before it waited, and has several `{kind}` hooks without an id \
                 there: which of them are skipped now cannot be told: give them ids",
                self.visit.node
            );
            let error = Error::new(ErrorKind::Hook, message);
            self.run.fail(&error);
            return Err(error);
        }
        let uses = inner.uses.entry(id.to_owned()).or_insert(0);
        let text = format!("{}/{id}#{uses}", self.name);
        *uses += 1;
        inner.alive += 1;
        drop(inner);
        let key = HookKey { text, kind, node: self.clone(), named };
        match self.recorded_kind(&key.text) {
            // Found out before anything is done under the name of something else.
            Some(before) if before != kind => Err(self.other_kind(&key.text, &before, kind)),
            _ => Ok(key),
        }
    }

    /// The kind of hook that the journal has under a key.
    pub(super) fn recorded_kind(&self, key: &str) -> Option<String> {
        let fold = self.run.fold();
        let done = fold.hooks.get(key).map(|hook| hook.kind.clone());
        let asked = || fold.asked.get(key).map(|wait| wait.hook.clone());
        // A model call has its passes under its key.
        let passed = || fold.hooks.contains_key(&format!("{key}/pass.0")).then(|| "reason".to_owned());
        done.or_else(asked).or_else(passed)
    }

    fn other_kind(&self, key: &str, before: &str, now: &str) -> Error {
        let what = format!("`{key}` is a `{before}` in the journal and a `{now}` in the code");
        self.differs(DivergenceKind::Hook, key, Some(before.into()), Some(now.into()), &what)
    }

    /// Whether a hook that is dropped now is given up by the node's code. When a driver lets go of a run, or a node panics, its
    /// hooks are dropped too, and are done again later.
    pub(crate) fn gives_up(&self) -> bool {
        self.is_polled.load(Ordering::Relaxed) && !std::thread::panicking() && self.run.rehearsal.is_none()
    }

    /// Counts a hook as doing something.
    pub(crate) fn running(&self) -> Busy<'_> {
        self.inner().running += 1;
        Busy { node: self, waiting: None }
    }

    /// Counts a hook as waiting for somebody.
    pub(crate) fn waiting(&self, request: &RequestId) -> Busy<'_> {
        self.inner().waiting.push(request.clone());
        Busy { node: self, waiting: Some(request.clone()) }
    }

    /// The requests that it waits for, when it does nothing else.
    pub(super) fn parked(&self) -> Option<Vec<RequestId>> {
        let inner = self.inner();
        (!inner.waiting.is_empty() && inner.running == 0).then(|| inner.waiting.clone())
    }

    /// Notes why a model stopped.
    pub(crate) fn finished(&self, reason: &FinishReason) {
        self.inner().finish = Some(reason.clone());
    }

    /// What the journal holds for a key.
    pub(crate) fn recorded(
        &self,
        key: &str,
        kind: &str,
        fingerprint: Option<&str>,
    ) -> Result<Option<Result<Value>>> {
        self.inner().asked_for.insert(key.to_owned());
        let Some(hook) = self.run.fold().hooks.get(key).cloned() else {
            return Ok(None);
        };
        if hook.kind != kind {
            return Err(self.other_kind(key, &hook.kind, kind));
        }
        // State that survived a wait may lead around a hook: then the next one of its name finds the wrong record.
        let may_be_another = self.park.as_ref().is_some_and(|park| park.may_skip(key));
        if let (Some(now), Some(then)) = (fingerprint, hook.fingerprint.as_deref())
            && now != then
        {
            let message = format!(
                "`{key}` was called with something else than the journal says; what was recorded is used"
            );
            let strict = self.run.agent.options.strict_replay || self.run.rehearsal.is_some();
            if strict || may_be_another {
                let recorded = match hook.outcome {
                    Outcome::Value(value) => Some(value),
                    Outcome::Error(error) => serde_json::to_value(error.info()).ok(),
                };
                return Err(self.differs(DivergenceKind::Input, key, recorded, None, &message));
            }
            tracing::warn!(run = %self.run.id, key, "a hook was called with something else than the journal says");
            let code = Some("replay.changed".to_owned());
            let warning = Event::Warning(WarningEvent { message, code, ..Default::default() });
            drop(self.run.journal.fact(&self.origin(), warning)?);
        }
        Ok(Some(match hook.outcome {
            Outcome::Value(value) => Ok(value),
            Outcome::Error(error) => Err(error),
        }))
    }

    /// Stops the run because code and journal do not agree.
    pub(crate) fn diverged(&self, what: &str) -> Error {
        self.differs(DivergenceKind::Unreadable, &self.name, Some(what.into()), None, what)
    }

    /// Stops the run because code and journal do not agree at a key.
    pub(crate) fn differs(
        &self,
        kind: DivergenceKind,
        key: &str,
        recorded: Option<Value>,
        asked: Option<Value>,
        what: &str,
    ) -> Error {
        let error = match &self.run.rehearsal {
            Some(rehearsal) => rehearsal.note(kind, key, recorded, asked),
            None => {
                let message = format!("{what}: was the code of node `{}` changed?", self.visit.node);
                Error::new(ErrorKind::Diverged, message)
            }
        };
        self.run.fail(&error);
        error
    }

    /// Nothing is begun in a run that was stopped or cannot go on, and nothing at all in one that is only replayed.
    pub(crate) async fn may_begin(&self, key: &str, kind: &str) -> Result<()> {
        if let Some(rehearsal) = &self.run.rehearsal {
            if rehearsal.was_left(&self.name) {
                return Err(self.differs(DivergenceKind::New, key, None, Some(kind.into()), ""));
            }
            // The journal ends here, and says nothing of what would have come.
            rehearsal.goes_beyond(key);
            let _waiting = self.waiting(&RequestId::from("beyond-the-journal"));
            return std::future::pending().await;
        }
        if self.run.cancel.is_cancelled() {
            self.run.fail(&Error::new(ErrorKind::Stopped, "the run was stopped"));
        }
        self.run.fatal().map_or(Ok(()), Err)
    }

    /// Does something once: what the journal holds is returned, what is done anew is durable before it is returned.
    pub(crate) async fn once<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        kind: &str,
        fingerprint: Option<String>,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let origin = Origin::default();
        self.once_told(key, kind, fingerprint, &origin, async { (work.await, None) }).await
    }

    /// As [`NodeRun::once`], with an event that is told in the same record as what was done.
    pub(crate) async fn once_told<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        kind: &str,
        fingerprint: Option<String>,
        origin: &Origin,
        work: impl Future<Output = (Result<T>, Option<Event>)>,
    ) -> Result<T> {
        if let Some(recorded) = self.recorded(key, kind, fingerprint.as_deref())? {
            if let Err(error) = &recorded
                && error.is_fatal()
            {
                self.run.fail(error);
            }
            return self.revive(key, recorded?);
        }
        self.may_begin(key, kind).await?;
        let _running = self.running();
        let (given, event) = work.await;
        let fatal = given.as_ref().err().filter(|error| error.is_fatal()).cloned();
        // What gave too much is recorded too: it must not be done again by a driver that comes after a crash.
        if let Some(error) = fatal.as_ref().filter(|error| error.kind() != ErrorKind::TooLarge) {
            self.run.fail(error);
            return given;
        }
        let outcome = match &given {
            Ok(value) => Outcome::Value(self.value(key, value)?),
            Err(error) => Outcome::Error(error.clone()),
        };
        let told = event.map(|event| (origin, event));
        let receipt = self.keep(self.run.done(key, kind, fingerprint, outcome, told))?;
        self.keep(receipt.await)?;
        if let Some(error) = &fatal {
            self.run.fail(error);
        }
        given
    }

    /// Does something at once and only once; durable before anything that follows.
    pub(crate) fn once_now<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        kind: &str,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if let Some(recorded) = self.recorded(key, kind, None)? {
            return self.revive(key, recorded?);
        }
        if self.run.rehearsal.as_ref().is_some_and(|rehearsal| rehearsal.was_left(&self.name)) {
            return Err(self.differs(DivergenceKind::New, key, None, Some(kind.into()), ""));
        }
        let given = work()?;
        let outcome = Outcome::Value(self.value(key, &given)?);
        let receipt = self.run.done(key, kind, None, outcome, None);
        self.keep(receipt.map(drop))?;
        Ok(given)
    }

    /// Tells readers something once: an event that is its own record of having been told.
    pub(crate) fn tell_once(&self, key: &str, kind: &str, origin: &Origin, event: Event) -> Result<()> {
        if self.recorded(key, kind, None)?.is_none() && self.run.rehearsal.is_none() {
            let receipt = self.run.done(key, kind, None, Outcome::Value(Value::Null), Some((origin, event)));
            self.keep(receipt.map(drop))?;
        }
        Ok(())
    }

    /// An error of the store ends the run.
    pub(crate) fn keep<T>(&self, result: Result<T, impl Into<Error>>) -> Result<T> {
        result.map_err(|error| {
            let error = error.into();
            self.run.fail(&error);
            error
        })
    }

    fn value(&self, key: &str, given: &impl Serialize) -> Result<Value> {
        let value = serde_json::to_value(given).map_err(|error| {
            Error::new(ErrorKind::State, format!("what `{key}` gave does not serialise: {error}"))
        })?;
        limits::check(&limits::stored_hook(), &format!("what `{key}` gave"), &value)?;
        Ok(value)
    }

    fn revive<T: DeserializeOwned>(&self, key: &str, recorded: Value) -> Result<T> {
        serde_json::from_value(recorded).map_err(|error| {
            self.diverged(&format!("what the journal holds for `{key}` cannot be read any more: {error}"))
        })
    }

    /// Emits an event, unless an earlier execution of this visit did.
    pub(crate) fn emit(&self, origin: &Origin, event: Event) -> Result<()> {
        let now = crate::journal::fingerprint(&event);
        if self.was_emitted_before_the_wait(&now) {
            return Ok(());
        }
        let number = {
            let mut inner = self.inner();
            inner.emitted += 1;
            inner.emitted - 1
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
            // What a try that failed has shown is not told apart from what this one shows.
            return match rehearsal.was_left(&self.name) && !self.retried {
                true => Err(self.differs(DivergenceKind::Shown, &self.name, None, as_json(&now), "")),
                false => Ok(()),
            };
        }
        let emitted = Emitted { visit: self.name.clone(), number };
        match self.run.journal.emit(origin, event, &emitted, now) {
            // What the state cannot take is for the node to handle, now and when it is run again.
            Err(error) if error.kind() == ErrorKind::Structured => {
                let outcome = Outcome::Error(error.clone());
                self.keep(self.run.done(&refused, "emit", None, outcome, None).map(drop))?;
                Err(error)
            }
            receipt => {
                self.keep(receipt.map(drop))?;
                Ok(())
            }
        }
    }

    /// What the journal says that this visit emitted, and that it did not emit now.
    pub(crate) fn unemitted(&self) -> Option<String> {
        if self.retried {
            return None;
        }
        let emitted = self.inner().emitted;
        let fold = self.run.fold();
        let (_, lost) = fold.emits.get(&self.name)?.range(emitted..).next()?;
        Some(format!("{lost} was emitted before, as number {}, and was not emitted now", emitted + 1))
    }

    pub(crate) fn node_state(&self, key: &str) -> Option<Value> {
        self.inner().node_state.get(key).cloned()
    }

    pub(crate) fn set_node_state(&self, key: &str, value: Value) {
        let mut inner = self.inner();
        inner.node_state_changed = true;
        inner.node_state_written |= inner.node_state.get(key) != Some(&value);
        inner.node_state.insert(key.to_owned(), value);
    }

    /// Sets the initial value. Not a write: a re-run sets it again.
    pub(crate) fn begin_node_state(&self, key: &str, value: Value) {
        let mut inner = self.inner();
        inner.node_state_changed = true;
        inner.node_state.insert(key.to_owned(), value);
    }

    pub(crate) fn workflow_state(&self, key: &str) -> Option<Value> {
        self.inner().workflow_state.get(key).cloned()
    }

    /// All of it, for templates.
    #[cfg(feature = "yaml")]
    pub(crate) fn all_workflow_state(&self) -> Map<String, Value> {
        self.inner().workflow_state.clone()
    }

    /// What is shared with the page: what it was set to last, or what the page sent.
    pub(crate) fn shared_state(&self) -> Option<Value> {
        let sent = || {
            let state = self.run.client_context().get("state")?;
            let is_empty = state.is_null() || state.as_object().is_some_and(Map::is_empty);
            (!is_empty).then(|| state.clone())
        };
        self.workflow_state(SHARED).or_else(sent)
    }

    /// Whether the page holds what this node began with: nothing was shown by a try that failed, or by another branch.
    pub(crate) fn knows_what_is_shown(&self) -> bool {
        !self.retried && self.visit.branch.is_empty()
    }

    pub(crate) fn set_workflow_state(&self, key: &str, value: Value) {
        let mut inner = self.inner();
        inner.workflow_state.insert(key.to_owned(), value.clone());
        inner.workflow_writes.insert(key.to_owned(), value);
    }

    pub(crate) fn streamed(&self, text: &str) {
        if !text.trim().is_empty() {
            self.inner().streamed.push(text.trim().to_owned());
        }
    }

    pub(crate) fn was_streamed(&self, text: &str) -> bool {
        self.inner().streamed.iter().any(|streamed| streamed == text.trim())
    }

    /// What it leaves behind.
    pub(crate) fn leave(&self, next: Next, error: Option<Error>) -> Left {
        let mut inner = self.inner();
        Left {
            visit: self.visit.clone(),
            next,
            node_state: inner.node_state_changed.then(|| std::mem::take(&mut inner.node_state)),
            workflow_state: std::mem::take(&mut inner.workflow_writes),
            finish: inner.finish.take(),
            error,
        }
    }

    /// A key that the journal holds for this visit and nobody asked for.
    pub(super) fn unasked(&self) -> Option<String> {
        let prefix = format!("{}/", self.name);
        let fold = self.run.fold();
        let inner = self.inner();
        if self.retried {
            return None;
        }
        let asked = |key: &&String| {
            let skipped = self.park.as_ref().is_some_and(|park| park.may_skip(key));
            key.starts_with(&prefix) && !skipped && !inner.asked_for.contains(*key)
        };
        let mut lost: Vec<_> = fold.hooks.keys().chain(fold.asked.keys()).filter(asked).collect();
        lost.sort_unstable();
        lost.first().map(|key| (*key).clone())
    }

    /// Notes that a key was asked for, where its record is looked up elsewhere.
    pub(crate) fn asked_for(&self, key: &str) {
        self.inner().asked_for.insert(key.to_owned());
    }
}

/// An event as it was written down.
fn as_json(written: &str) -> Option<Value> {
    crate::codec::decode(written.as_bytes()).ok()
}
