//! How far the run of a turn is. The process that drove it knows; any other reads it from the journal, so that the turn of
//! a process that died can be ended.

use std::collections::BTreeMap;

use headwater_protocol::{Event, Record, RequestId, RunId, RunState, RunStatus, StructuredUpdate};
use headwater_store::{JournalId, ReadLimit, Store};
use serde_json::{Map, Value};

use super::{
    checkpoint::{Change, CheckpointStatus, GivenAnswer},
    head::Live,
};
use crate::{
    Result,
    journal::{Answer, Begun, Effect, RecordReader},
    run::RunTrace,
};

/// How far the run of a turn is.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The records so far.
    pub(crate) last: u64,
    pub(crate) begun: Option<Begun>,
    /// The end, or the wait, of the run.
    pub(crate) status: Option<CheckpointStatus>,
    /// When the last event was told.
    pub(crate) time: u64,
    /// What was answered in the turn.
    pub(crate) answers: Vec<(RequestId, GivenAnswer)>,
    /// What is asked and not answered.
    pub(crate) open: Vec<RequestId>,
    pub(crate) workflow: String,
    pub(crate) position: Vec<String>,
    /// A copy that its process did not come to complete.
    pub(crate) half: bool,
    /// A copy that nobody has driven yet.
    pub(crate) untouched: bool,
    before: Option<(RunState, Map<String, Value>)>,
    after: (RunState, Map<String, Value>),
}

/// All records of a run; none if it never began.
pub(super) async fn records(store: &dyn Store, run: &RunId) -> Result<Vec<headwater_store::Record>> {
    let journal = JournalId::from(run.as_str());
    let mut records: Vec<headwater_store::Record> = Vec::new();
    loop {
        let after = records.last().map_or(0, |record| record.seq);
        let page = match store.read(&journal, after, ReadLimit::default()).await {
            Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Unknown) => return Ok(records),
            page => page?,
        };
        records.extend(page.records);
        if records.last().map_or(0, |record| record.seq) >= page.tail.last {
            return Ok(records);
        }
    }
}

impl Progress {
    /// Reads a run whose turn began after a sequence; the first one of a copy begins after what was copied.
    pub(crate) async fn read(store: &dyn Store, run: &RunId, from: u64) -> Result<Self> {
        let mut progress = Self::default();
        let (mut from, mut total) = (from, 0);
        let mut asked: BTreeMap<RequestId, String> = BTreeMap::new();
        let mut reader = RecordReader::default();
        let mut growing: Option<Record> = None;
        let journal = JournalId::from(run.as_str());
        loop {
            let page = match store.read(&journal, progress.last, ReadLimit::default()).await {
                Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Unknown) => break,
                page => page?,
            };
            for record in &page.records {
                if record.seq > from && progress.before.is_none() {
                    progress.apply(growing.take());
                    progress.before = Some(progress.after.clone());
                }
                progress.last = record.seq;
                if let (Some(growing), Some(more)) = (&mut growing, reader.more(record)) {
                    growing.grow(more, record.seq, record.time.0);
                    continue;
                }
                let stored = reader.stored(record)?;
                if let Some(event) = stored.event {
                    progress.apply(growing.take());
                    progress.status = status(&event);
                    growing = Some(Record::new(record.seq, event).at(record.time.0).from(stored.origin));
                }
                match stored.effect {
                    Some(Effect::Copied { before, total: all, .. }) => {
                        (from, total, progress.before) = (from.max(before), all, None);
                    }
                    Some(effect) => progress.effect(effect, &mut asked, record.seq > from),
                    None => {}
                }
            }
            if progress.last >= page.tail.last {
                break;
            }
        }
        progress.apply(growing);
        progress.open = asked.into_keys().collect();
        progress.half = progress.last < total;
        progress.untouched = total > 0 && progress.last == total;
        Ok(progress)
    }

    /// That of a run which this process began and drove to its end: as [`Progress::read`] would read it, without reading.
    pub(crate) fn of_ended(state: &RunState, last: u64, time: u64, trace: RunTrace) -> Self {
        let status = match state.run().status {
            RunStatus::Finished => Some(CheckpointStatus::Finished),
            RunStatus::Failed => Some(CheckpointStatus::Failed),
            RunStatus::Cancelled => Some(CheckpointStatus::Cancelled),
            _ => None,
        };
        let RunTrace { workflow, position, state: written } = trace;
        Self {
            last,
            status,
            time,
            workflow,
            position,
            before: Some(Default::default()),
            after: (state.clone(), written),
            ..Self::default()
        }
    }

    fn apply(&mut self, record: Option<Record>) {
        if let Some(record) = record {
            self.time = record.time;
            // The journal has only what its writer's state could take.
            let _ = self.after.0.apply(&record);
        }
    }

    fn effect(&mut self, effect: Effect, asked: &mut BTreeMap<RequestId, String>, in_turn: bool) {
        match effect {
            Effect::Begun(begun) => self.begun = Some(*begun),
            Effect::TakenOver => self.status = None,
            Effect::Entered { visit } => {
                visit.workflow.clone_into(&mut self.workflow);
                self.position.push(visit.to_string());
            }
            Effect::Left(left) => {
                let visit = left.visit.to_string();
                self.position.retain(|open| *open != visit);
                self.after.1.extend(left.workflow_state);
            }
            Effect::Asked { key, wait } => {
                asked.insert(wait.request, key);
            }
            Effect::Answered { request, answer } => {
                if let Some(key) = asked.remove(&request)
                    && in_turn
                {
                    self.answers.push((request, GivenAnswer { key, answer }));
                }
            }
            Effect::Failed { .. }
            | Effect::HandedOver
            | Effect::Parked(_)
            | Effect::Done { .. }
            | Effect::Began { .. }
            | Effect::Copied { .. } => {}
        }
    }

    /// Whether the journal has these answers.
    pub(crate) fn has(&self, answers: &[(RequestId, Answer)]) -> bool {
        answers.iter().all(|(request, _)| self.answers.iter().any(|(given, _)| given == request))
    }

    /// The run, where it waits.
    pub(crate) fn live(&self, run: &RunId) -> Option<Live> {
        (self.status == Some(CheckpointStatus::Waiting)).then(|| Live {
            run: run.clone(),
            seq: self.last,
            requests: self.open.clone(),
        })
    }

    /// The messages that the turn added or changed.
    pub(crate) fn changes(&self) -> Vec<Change> {
        match &self.before {
            Some((before, _)) => Change::between(before, &self.after.0),
            None => Vec::new(),
        }
    }

    /// The structured streams that the turn touched: those that are gone have no updates.
    pub(crate) fn structured(&self) -> BTreeMap<String, Vec<StructuredUpdate>> {
        let mut touched = BTreeMap::new();
        let Some((before, _)) = &self.before else { return touched };
        let after = &self.after.0;
        for state in after.structured().iter() {
            if before.structured().get(state.stream()) != Some(state) {
                touched.insert(state.stream().to_owned(), state.updates());
            }
        }
        for state in before.structured().iter() {
            if after.structured().get(state.stream()).is_none() {
                touched.insert(state.stream().to_owned(), Vec::new());
            }
        }
        touched
    }

    /// The workflow state that the turn wrote.
    pub(crate) fn state(&self) -> Map<String, Value> {
        let mut written = self.after.1.clone();
        if let Some((_, before)) = &self.before {
            written.retain(|key, value| before.get(key) != Some(value));
        }
        written
    }
}

fn status(event: &Event) -> Option<CheckpointStatus> {
    match event {
        Event::RunWaiting(_) => Some(CheckpointStatus::Waiting),
        Event::RunFinished(_) => Some(CheckpointStatus::Finished),
        Event::RunFailed(_) => Some(CheckpointStatus::Failed),
        Event::RunCancelled { .. } => Some(CheckpointStatus::Cancelled),
        _ => None,
    }
}
