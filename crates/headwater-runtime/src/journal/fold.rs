//! The fold of a run's records: its state, the results of its hooks, and whether it waits.
//!
//! A [`Fold`] applies records in order. The driver keeps one beside the journal and writes it as a snapshot
//! from time to time, so that others start there ([`FoldReader`](super::FoldReader)), and the cost of reading
//! a run depends on its state and a few records. Data of completed visits is dropped: they are never run
//! again.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use headwater_protocol::{
    AttemptId, AttemptRetracted, AttemptStarted, Event, Origin, Record, RequestId, RunState, RunStatus,
    ToolInputAvailable, Usage,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    AnswerValue, Effect, Emits, HookOutcome, HookRecord, Park, RecordedWalk, RunSpec, Visit, Wait, WalkStep,
    entry::EmitId,
};
use crate::{Error, Result, error::ErrorKind, usage};

/// The folded records of a run.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Fold {
    pub(crate) spec: Option<Arc<RunSpec>>,
    pub(crate) state: RunState,
    /// The minimum number of records in a complete copy.
    pub(crate) copied: u64,
    /// Number of them that the copied run had when it waited.
    pub(crate) copied_before: u64,
    pub(crate) walk: RecordedWalk,
    /// The workflow entered last, with its version.
    pub(crate) workflow: String,
    /// The open visits, in order of entry.
    pub(crate) position: Vec<Visit>,
    /// The workflow state written by completed visits.
    pub(crate) workflow_state: Map<String, Value>,
    pub(crate) hooks: HashMap<String, HookRecord>,
    /// Keys of work that was started and not finished.
    pub(crate) began: BTreeSet<String>,
    pub(crate) asked: HashMap<String, Wait>,
    pub(crate) answers: HashMap<RequestId, AnswerValue>,
    /// The answered requests, in order.
    pub(crate) answered: Vec<RequestId>,
    pub(crate) emits: Emits,
    /// Saved state of parked visits, by visit.
    pub(crate) parks: HashMap<String, Arc<Park>>,
    /// The open attempts, with the structured streams that they have started.
    pub(crate) open_attempts: Vec<OpenAttempt>,
    pub(crate) tool_calls: BTreeSet<String>,
    /// Number of attempts started.
    pub(crate) attempts: u64,
    pub(crate) usage: Usage,
    /// Token usage by model.
    pub(crate) usage_by_model: BTreeMap<String, Usage>,
    /// Since when the run waits; `None` as soon as it has a driver again.
    pub(crate) waiting_since: Option<u64>,
    /// The record of its last reported wait.
    pub(crate) last_wait: Option<u64>,
    /// Whether the event that completes the message was written.
    pub(crate) message_finished: bool,
    pub(crate) ended: bool,
    /// Number of takeovers from a lost driver since its last progress.
    pub(crate) takeovers: u32,
    /// Whether its last driver handed it over.
    pub(crate) handed_over: bool,
    /// The bytes of all records.
    pub(crate) bytes: u64,
    #[serde(skip)]
    pub(crate) last: u64,
    /// The store's time of the last record, if it was read from there.
    #[serde(skip)]
    pub(crate) last_time: u64,
    /// The newest snapshot, its size, and the bytes of the records after it.
    #[serde(skip)]
    pub(crate) snapshot: u64,
    #[serde(skip)]
    pub(crate) snapshot_bytes: usize,
    #[serde(skip)]
    pub(crate) tail_bytes: usize,
    /// Whether to keep data of completed visits: only to replay a whole run.
    #[serde(skip)]
    pub(super) keeps_all: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct OpenAttempt {
    pub(crate) attempt: AttemptId,
    pub(crate) origin: Origin,
    pub(crate) streams: Vec<String>,
}

impl Fold {
    /// Applies an event. `emit` identifies it as an emit of a node, with its [`fingerprint`].
    ///
    /// # Errors
    /// When the state rejects it: then nothing has changed.
    pub(super) fn event(
        &mut self,
        record: &Record,
        emit: Option<(&EmitId, String)>,
        has_effect: bool,
    ) -> Result<()> {
        self.state.apply(record).map_err(|error| Error::new(ErrorKind::Structured, error.to_string()))?;
        match &record.event {
            Event::BlockDelta(_) | Event::ToolInputDelta(_) => {}
            Event::RunWaiting(_) => {
                (self.waiting_since, self.last_wait) = (Some(record.time), Some(record.seq));
            }
            Event::AttemptStarted(AttemptStarted { attempt, .. }) => {
                self.attempts += 1;
                self.open_attempts.push(OpenAttempt {
                    attempt: attempt.clone(),
                    origin: record.origin.clone(),
                    streams: Vec::new(),
                });
            }
            // The output of an attempt counts once its pass is complete. An attempt that ended before that,
            // to be continued by another, is repeated as part of the whole pass.
            Event::AttemptFinished { .. } if has_effect => {
                self.open_attempts.retain(|open| open.origin.operation != record.origin.operation);
            }
            Event::AttemptRetracted(AttemptRetracted { attempt, .. }) => {
                self.open_attempts.retain(|open| open.attempt != *attempt);
            }
            Event::MessageFinished { .. } => self.message_finished = true,
            Event::Structured(update) => {
                let attempt = record.origin.attempt.as_ref();
                for open in self.open_attempts.iter_mut().filter(|open| Some(&open.attempt) == attempt) {
                    if !open.streams.contains(&update.stream) {
                        open.streams.push(update.stream.clone());
                    }
                }
            }
            Event::ToolInputStart(tool) | Event::ToolInputAvailable(ToolInputAvailable { tool, .. }) => {
                self.tool_calls.insert(tool.call.to_string());
            }
            event => self.ended |= event.kind().ends_run(),
        }
        if let Some((emitted, fingerprint)) = emit {
            emitted.clone().note(&mut self.emits, fingerprint);
        }
        Ok(())
    }

    /// Applies an effect.
    pub(super) fn effect(&mut self, effect: Effect) {
        // Progress means work that the next driver does not repeat.
        match &effect {
            Effect::HandedOver => self.handed_over = true,
            // A run that was handed over has not lost its driver, however often its process restarts.
            Effect::TakenOver => self.takeovers += u32::from(!std::mem::take(&mut self.handed_over)),
            Effect::Done { .. } | Effect::Left(_) | Effect::Failed { .. } | Effect::Answered { .. } => {
                self.takeovers = 0;
            }
            _ => {}
        }
        match effect {
            Effect::Begun(spec) => drop(self.spec.get_or_insert_with(|| Arc::new(*spec))),
            Effect::HandedOver => {}
            Effect::TakenOver => self.waiting_since = None,
            Effect::Entered { visit } => {
                self.workflow.clone_from(&visit.workflow);
                self.position.push(visit.clone());
                self.walk.steps.push(WalkStep::Entered(visit));
            }
            Effect::Failed { visit, .. } => {
                let prefix = format!("{visit}/");
                self.hooks.retain(|key, hook| {
                    matches!(hook.outcome, HookOutcome::Value(_)) || !key.starts_with(&prefix)
                });
                self.walk.steps.push(WalkStep::Failed(visit));
            }
            Effect::Parked(parked) => {
                let park = Park::new(*parked, &self.hooks, &self.asked);
                self.parks.insert(park.visit(), Arc::new(park));
            }
            Effect::Left(left) => {
                self.position.retain(|open| *open != left.visit);
                self.workflow_state.extend(left.workflow_state.clone());
                self.forget(&left.visit);
                self.walk.steps.push(WalkStep::Left(left));
            }
            Effect::Done { key, kind, fingerprint, outcome } => {
                self.began.remove(&key);
                if let ("pass" | "relay", HookOutcome::Value(said)) = (&*kind, &outcome) {
                    self.pass(said);
                }
                self.hooks.insert(key, HookRecord { kind, fingerprint, outcome });
            }
            Effect::Began { key } => drop(self.began.insert(key)),
            Effect::Asked { key, wait } => drop(self.asked.insert(key, *wait)),
            Effect::Answered { request, answer } => {
                if self.answers.insert(request.clone(), answer).is_none() {
                    self.answered.push(request);
                }
            }
            Effect::Copied { before, total, .. } => (self.copied_before, self.copied) = (before, total),
        }
    }

    /// Applies a model's reply in one pass.
    fn pass(&mut self, said: &Value) {
        let used = said.get("usage").and_then(|used| Usage::deserialize(used).ok());
        let used = used.unwrap_or_default();
        usage::add(&mut self.usage, &used);
        let model = said.get("model").and_then(Value::as_str).unwrap_or_default();
        usage::add(self.usage_by_model.entry(model.to_owned()).or_default(), &used);
        // Calls hidden from readers have no event.
        let parts = said.get("parts").and_then(Value::as_array).into_iter().flatten();
        let calls = parts.filter_map(|part| part.get("call")?.as_str());
        self.tool_calls.extend(calls.map(str::to_owned));
    }

    /// Drops the data of a completed visit. Questions stay: they can be queried until the run is deleted.
    fn forget(&mut self, visit: &Visit) {
        if self.keeps_all {
            return;
        }
        let name = visit.to_string();
        let prefix = format!("{name}/");
        self.hooks.retain(|key, _| !key.starts_with(&prefix));
        self.began.retain(|key| !key.starts_with(&prefix));
        self.emits.remove(&name);
        self.parks.remove(&name);
    }

    /// The questions without an answer.
    pub(crate) fn open_waits(&self) -> impl Iterator<Item = &Wait> {
        self.asked.values().filter(|wait| !self.answers.contains_key(&wait.request))
    }

    /// Whether the run waits: it has reported a wait, has no driver, and has an open request.
    ///
    /// The status follows `EventKind::leaves_waiting`, as for readers. The journal has two facts before any
    /// event shows them: that a driver has taken the run over, and that all its questions are answered.
    /// Answers not yet processed by a driver are in the run's inbox.
    pub(crate) fn waits(&self) -> bool {
        self.state.run().status == RunStatus::Waiting
            && self.waiting_since.is_some()
            && self.open_waits().next().is_some()
    }

    /// The workflows needed to continue the run, each with its version.
    pub(crate) fn workflows(&self) -> BTreeSet<&str> {
        let visits = self.walk.steps.iter().filter_map(|walked| match walked {
            WalkStep::Entered(visit) => Some(visit.workflow.as_str()),
            _ => None,
        });
        visits.chain(self.walk.base.iter().map(|base| base.workflow.as_str())).collect()
    }

    pub(crate) fn spec(&self, run: &str) -> Result<Arc<RunSpec>> {
        self.spec.clone().ok_or_else(|| {
            let message = format!("run {run} never began: its journal does not begin with the spec of a run");
            Error::new(ErrorKind::UnknownRun, message)
        })
    }

    /// Counts a record that was read or appended.
    pub(super) fn count(&mut self, seq: u64, size: usize) {
        self.last = seq;
        self.bytes += size as u64;
        self.tail_bytes += size;
    }

    /// Marks the record counted last as a snapshot.
    pub(super) fn count_snapshot(&mut self, size: usize) {
        (self.snapshot, self.snapshot_bytes, self.tail_bytes) = (self.last, size, 0);
    }

    /// The first field in which two folds of the same records differ.
    pub(super) fn difference(&self, other: &Self) -> Result<Option<String>> {
        let json = |fold: &Self| {
            serde_json::to_value(fold).map_err(|error| {
                Error::new(ErrorKind::State, format!("the state of a run does not serialise: {error}"))
            })
        };
        let (one, other) = (json(self)?, json(other)?);
        // A driver may replace the steps of the walk by the resulting position. Only the driver knows
        // retracted calls that were hidden from readers, and when a store accepted a record.
        let differs = |key: &&String| {
            !matches!(key.as_str(), "walk" | "toolCalls" | "waitingSince") && one.get(key) != other.get(key)
        };
        let keys = one.as_object().into_iter().flat_map(Map::keys);
        Ok(keys.into_iter().find(differs).cloned())
    }
}

/// Fingerprint that an emit must have again when its node is run again.
pub(crate) fn fingerprint(event: &Event) -> String {
    serde_json::to_string(event).unwrap_or_default()
}
