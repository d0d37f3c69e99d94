//! Progress of a turn's run: the folded state of its records, beside the state when the turn started. The
//! process that drove the run has it in memory; any other process reads it from the newest snapshot on, so
//! that it can end the turn of a process that died.

use std::collections::BTreeMap;

use headwater_protocol::{RequestId, RunId, RunState, RunStatus, StructuredUpdate};
use serde_json::{Map, Value};

use super::{
    Sessions,
    checkpoint::{CheckpointStatus, MessageChange},
    head::{TurnWork, WaitingRun},
    turn_message::GivenAnswer,
};
use crate::{
    Result,
    journal::{AnswerValue, Fold},
    node::ActiveRun,
};

/// Progress of a turn's run.
#[derive(Debug, Default)]
pub(crate) struct TurnProgress {
    /// Sequence number of the last record.
    pub(crate) last: u64,
    /// The newest snapshot among them; 0 without one.
    snapshot: u64,
    pub(crate) begun: bool,
    /// How the run has ended, or that it waits.
    pub(crate) status: Option<CheckpointStatus>,
    /// When the last record was written.
    pub(crate) time: u64,
    /// The answers of the turn.
    pub(crate) answers: Vec<(RequestId, GivenAnswer)>,
    /// The requests without an answer.
    pub(crate) open: Vec<RequestId>,
    pub(crate) workflow: String,
    pub(crate) position: Vec<String>,
    /// Whether it is an incomplete copy, left by its process.
    pub(crate) half: bool,
    /// Whether it is a copy that has had no driver yet.
    pub(crate) untouched: bool,
    before: (RunState, Map<String, Value>),
    after: (RunState, Map<String, Value>),
}

impl Sessions {
    /// Reads the progress of a turn's run. `driven` is set if this process has just driven that run to its
    /// end or to a wait.
    pub(super) async fn progress(
        &self,
        run: &RunId,
        work: &TurnWork,
        driven: Option<&ActiveRun>,
    ) -> Result<TurnProgress> {
        if let Some(driven) = driven.filter(|driven| driven.id == *run) {
            let copied_before = driven.fold().copied_before;
            let before = self.fold_before(run, work, copied_before).await?;
            return Ok(TurnProgress::new(before, &driven.fold(), self.env.now()));
        }
        let after = match self.runs.fold(run).await {
            Err(error) if error.code() == "store.unknown" => return Ok(TurnProgress::default()),
            fold => fold?,
        };
        let before = self.fold_before(run, work, after.copied_before).await?;
        Ok(TurnProgress::new(before, &after, after.last_time))
    }

    /// The folded state of the run when the turn started: empty, unless it had waited.
    async fn fold_before(&self, run: &RunId, work: &TurnWork, copied_before: u64) -> Result<Fold> {
        let (snapshot, last) = match work {
            TurnWork::Message(_) => return Ok(Fold::default()),
            TurnWork::Answer { from, snapshot, .. } => (*snapshot, *from),
            TurnWork::Copy { .. } => (0, copied_before),
        };
        self.runs.journals.fold_up_to(run, snapshot, last).await
    }
}

impl TurnProgress {
    /// The progress between two folds of a run: at the start of the turn, and now.
    pub(super) fn new(before: Fold, after: &Fold, time: u64) -> Self {
        let keys: BTreeMap<&RequestId, &String> =
            after.asked.iter().map(|(key, wait)| (&wait.request, key)).collect();
        let in_turn = after.answered.iter().filter(|request| !before.answers.contains_key(*request));
        let answers = in_turn.filter_map(|request| {
            let (key, answer) = ((*keys.get(request)?).clone(), after.answers.get(request)?.clone());
            Some((request.clone(), GivenAnswer { key, answer }))
        });
        let mut open: Vec<_> = after.open_waits().map(|wait| wait.request.clone()).collect();
        open.sort();
        Self {
            last: after.last,
            snapshot: after.snapshot,
            begun: after.spec.is_some(),
            status: status(after),
            time,
            answers: answers.collect(),
            open,
            workflow: after.workflow.clone(),
            position: after.position.iter().map(ToString::to_string).collect(),
            half: after.last < after.copied,
            untouched: after.copied > 0 && after.last == after.copied,
            before: (before.state, before.workflow_state),
            after: (after.state.clone(), after.workflow_state.clone()),
        }
    }

    /// Whether the journal has these answers.
    pub(crate) fn has(&self, answers: &[(RequestId, AnswerValue)]) -> bool {
        answers.iter().all(|(request, _)| self.answers.iter().any(|(given, _)| given == request))
    }

    /// The waiting run; `None` if it does not wait.
    pub(crate) fn live(&self, run: &RunId) -> Option<WaitingRun> {
        (self.status == Some(CheckpointStatus::Waiting)).then(|| WaitingRun {
            run: run.clone(),
            seq: self.last,
            snapshot: self.snapshot,
            requests: self.open.clone(),
        })
    }

    /// The messages that the turn added or changed.
    pub(crate) fn changes(&self) -> Vec<MessageChange> {
        MessageChange::between(&self.before.0, &self.after.0)
    }

    /// The structured streams touched by the turn; removed ones have no updates.
    pub(crate) fn structured(&self) -> BTreeMap<String, Vec<StructuredUpdate>> {
        let mut touched = BTreeMap::new();
        let (before, after) = (&self.before.0, &self.after.0);
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
        written.retain(|key, value| self.before.1.get(key) != Some(value));
        written
    }
}

/// How a run has ended, or that it waits; `None` while it is driven.
fn status(fold: &Fold) -> Option<CheckpointStatus> {
    match fold.state.run().status {
        RunStatus::Finished => Some(CheckpointStatus::Finished),
        RunStatus::Failed => Some(CheckpointStatus::Failed),
        RunStatus::Cancelled => Some(CheckpointStatus::Cancelled),
        RunStatus::Waiting if fold.waits() => Some(CheckpointStatus::Waiting),
        _ => None,
    }
}
