//! What a run has done so far, read from its journal: what each hook returns when its node is run again.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use headwater_protocol::{
    AttemptId, AttemptRetracted, AttemptStarted, Event, Origin, Record, RequestId, RunState,
    ToolInputAvailable, Usage,
};
use headwater_store::{JournalId, ReadLimit, Store};
use serde_json::Value;

use super::{
    Answer, Beginning, Begun, Effect, Left, Outcome, Park, Visit, Wait,
    entry::Emitted,
    reader::{RecordReader, is_snapshot},
};
use crate::{Error, Result, error::ErrorKind, usage};

/// What a run has done so far.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) begun: Option<Begun>,
    pub(crate) state: RunState,
    pub(crate) last: u64,
    /// How many records it has at least, if it is a copy that is whole.
    pub(crate) copied: u64,
    /// The walk through the graph, in order.
    pub(crate) walk: Vec<Walked>,
    pub(crate) hooks: HashMap<String, HookRecord>,
    /// What was begun and not done.
    pub(crate) began: HashSet<String>,
    pub(crate) asked: HashMap<String, Wait>,
    pub(crate) answers: HashMap<RequestId, Answer>,
    pub(crate) emits: Emits,
    /// Saved state of parked visits, by visit.
    pub(crate) parks: HashMap<String, Arc<Park>>,
    /// The attempts that were under way, with the structured streams that they had begun.
    pub(crate) open_attempts: Vec<OpenAttempt>,
    pub(crate) tool_calls: HashSet<String>,
    /// How many attempts were begun.
    pub(crate) attempts: u64,
    pub(crate) usage: Usage,
    /// When the run began to wait, if it does.
    pub(crate) waiting_since: Option<u64>,
    /// Whether readers were told that the message is complete.
    pub(crate) message_finished: bool,
    pub(crate) ended: bool,
    /// The newest snapshot, and its size.
    pub(crate) snapshot: u64,
    snapshot_bytes: usize,
    /// The bytes of all records.
    pub(crate) bytes: u64,
    /// How often it was taken over from a driver that was lost, since it last got any further.
    pub(crate) takeovers: u32,
    /// Whether the last driver has left it to the next one.
    pub(crate) handed_over: bool,
}

/// What each visit has emitted, by number.
pub(crate) type Emits = HashMap<String, BTreeMap<usize, String>>;

/// A step of the walk.
#[derive(Debug, Clone)]
pub(crate) enum Walked {
    Entered(Visit),
    Failed(Visit),
    Left(Box<Left>),
}

#[derive(Debug, Clone)]
pub(crate) struct HookRecord {
    pub(crate) kind: String,
    pub(crate) fingerprint: Option<String>,
    pub(crate) outcome: Outcome,
}

#[derive(Debug, Clone)]
pub(crate) struct OpenAttempt {
    pub(crate) attempt: AttemptId,
    pub(crate) origin: Origin,
    pub(crate) streams: Vec<String>,
}

impl History {
    pub(crate) async fn read(store: &dyn Store, journal: &JournalId) -> Result<Self> {
        let (mut history, mut reader) = (Self::default(), RecordReader::default());
        loop {
            let page = store.read(journal, history.last, ReadLimit::default()).await?;
            for record in &page.records {
                history.add(record, &mut reader)?;
            }
            if history.last >= page.tail.last {
                return Ok(history);
            }
        }
    }

    fn add(&mut self, record: &headwater_store::Record, reader: &mut RecordReader) -> Result<()> {
        self.last = record.seq;
        self.bytes += record.body.len() as u64;
        if is_snapshot(record) {
            (self.snapshot, self.snapshot_bytes) = (record.seq, record.body.len());
            return Ok(());
        }
        let stored = reader.stored(record)?;
        if let Some(event) = stored.event {
            let record = Record::new(record.seq, event).at(record.time.0).from(stored.origin);
            self.event(&record, stored.emit, stored.effect.is_some());
        }
        if let Some(effect) = stored.effect {
            self.effect(effect);
        }
        Ok(())
    }

    fn event(&mut self, record: &Record, emit: Option<Emitted>, has_effect: bool) {
        // A state that cannot take an event was told so when the event was written.
        let _ = self.state.apply(record);
        self.waiting_since =
            matches!(record.event, Event::RunWaiting(_)).then_some(record.time).or(self.waiting_since);
        match &record.event {
            Event::AttemptStarted(AttemptStarted { attempt, .. }) => {
                self.attempts += 1;
                self.open_attempts.push(OpenAttempt {
                    attempt: attempt.clone(),
                    origin: record.origin.clone(),
                    streams: Vec::new(),
                });
            }
            // What an attempt said counts once its pass is done. One that ended before that, for another to go on from
            // it, is said anew with the whole pass.
            Event::AttemptFinished { .. } if has_effect => {
                self.open_attempts.retain(|open| open.origin.operation != record.origin.operation);
            }
            Event::AttemptRetracted(AttemptRetracted { attempt, .. }) => {
                self.open_attempts.retain(|open| open.attempt != *attempt);
            }
            Event::MessageFinished { .. } => self.message_finished = true,
            Event::Structured(update) => {
                let attempt = &record.origin.attempt;
                for open in
                    self.open_attempts.iter_mut().filter(|open| Some(&open.attempt) == attempt.as_ref())
                {
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
        if let Some(emitted) = emit {
            emitted.note(&mut self.emits, fingerprint(&record.event));
        }
    }

    fn effect(&mut self, effect: Effect) {
        // Progress is what the next driver does not do again.
        match &effect {
            Effect::HandedOver => self.handed_over = true,
            // However often its process is stopped, a run that was handed over has lost no driver.
            Effect::TakenOver => self.takeovers += u32::from(!std::mem::take(&mut self.handed_over)),
            Effect::Done { .. } | Effect::Left(_) | Effect::Failed { .. } | Effect::Answered { .. } => {
                self.takeovers = 0;
            }
            _ => {}
        }
        match effect {
            Effect::Begun(begun) => self.begun = Some(*begun),
            Effect::HandedOver => {}
            Effect::TakenOver => self.waiting_since = None,
            Effect::Entered { visit } => self.walk.push(Walked::Entered(visit)),
            Effect::Failed { visit, .. } => {
                let prefix = format!("{visit}/");
                self.hooks.retain(|key, hook| {
                    matches!(hook.outcome, Outcome::Value(_)) || !key.starts_with(&prefix)
                });
                self.walk.push(Walked::Failed(visit));
            }
            Effect::Parked(parked) => {
                let park = Park::new(*parked, &self.hooks, &self.asked);
                self.parks.insert(park.visit(), Arc::new(park));
            }
            Effect::Left(left) => self.walk.push(Walked::Left(left)),
            Effect::Done { key, kind, fingerprint, outcome } => {
                self.began.remove(&key);
                if let ("pass", Outcome::Value(said)) = (&*kind, &outcome) {
                    let used = said.get("usage").and_then(|used| serde_json::from_value(used.clone()).ok());
                    usage::add(&mut self.usage, &used.unwrap_or_default());
                    // Calls that no reader was shown have no event.
                    let parts = said.get("parts").and_then(Value::as_array).into_iter().flatten();
                    let calls = parts.filter_map(|part| part.get("call")?.as_str());
                    self.tool_calls.extend(calls.map(str::to_owned));
                }
                self.hooks.insert(key, HookRecord { kind, fingerprint, outcome });
            }
            Effect::Began { key } => {
                self.began.insert(key);
            }
            Effect::Asked { key, wait } => {
                self.asked.insert(key, *wait);
            }
            Effect::Answered { request, answer } => {
                self.answers.insert(request, answer);
            }
            Effect::Copied { total, .. } => self.copied = total,
        }
    }

    /// How its journal goes on. The state goes with it.
    pub(crate) fn beginning(&mut self) -> Beginning {
        Beginning {
            state: std::mem::take(&mut self.state),
            usage: self.usage.clone(),
            bytes: self.bytes,
            snapshot: self.snapshot,
            snapshot_bytes: self.snapshot_bytes,
        }
    }

    /// The workflows that the run was in, each with its version.
    pub(crate) fn workflows(&self) -> HashSet<&str> {
        let visits = self.walk.iter().filter_map(|walked| match walked {
            Walked::Entered(visit) => Some(visit.workflow.as_str()),
            _ => None,
        });
        visits.collect()
    }

    pub(crate) fn begun(&self, run: &str) -> Result<Begun> {
        self.begun.clone().ok_or_else(|| {
            let message = format!("run {run} never began: its journal has no record of what was asked for");
            Error::new(ErrorKind::UnknownRun, message)
        })
    }
}

/// What an emit must be again when its node is run again.
pub(crate) fn fingerprint(event: &Event) -> String {
    serde_json::to_string(event).unwrap_or_default()
}
