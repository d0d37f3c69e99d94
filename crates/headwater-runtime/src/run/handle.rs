//! The handle of a run.

use std::{sync::Arc, time::Duration};

use futures_core::Stream;
use headwater_protocol::{
    Event, EventKind, Interrupt, Message, Record, RunId, RunState, RunStatus, StructuredStreams,
};
use headwater_store::{JournalId, ReadLimit, Secret, Store};
use serde_json::Value;

use super::{
    RunSummary, Runs,
    awaits::awaits,
    events::EventReader,
    unknown::{read_error, unknown_run},
};
use crate::{
    Answer, Result,
    journal::{JournalEntry, RecordReader},
};

/// Handle of an agent's run. It is cheap to keep, and dropping it does not stop the run.
#[derive(Debug, Clone)]
pub struct Run {
    id: RunId,
    pub(super) runs: Arc<Runs>,
    /// A wait reported before this sequence number is over.
    since: u64,
}

/// The state of a run that has ended or waits.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    /// The state folded from its journal.
    pub state: RunState,
}

impl RunOutcome {
    /// The status of the run.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        self.state.run().status
    }

    /// The complete text output, in order.
    #[must_use]
    pub fn text(&self) -> String {
        self.state.messages().iter().map(Message::plain_text).collect()
    }

    /// The structured objects that it emitted.
    #[must_use]
    pub fn structured(&self) -> &StructuredStreams {
        self.state.structured()
    }
}

impl Run {
    pub(super) fn new(id: RunId, runs: Arc<Runs>) -> Self {
        Self { id, runs, since: 0 }
    }

    pub(super) fn since(mut self, since: u64) -> Self {
        self.since = since;
        self
    }

    /// The sequence number before which a wait is over: a reader that reconnects at an earlier wait
    /// continues.
    #[must_use]
    pub fn since_seq(&self) -> u64 {
        self.since
    }

    /// The id of the run, which stays the same when another process takes it over.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The store of its journal.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.runs.env.store
    }

    /// The secret that signs the cursors of its readers.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn secret(&self) -> Result<&Secret> {
        self.runs.env.secret().await
    }

    /// The lease duration: how long a dead process blocks others from taking the run over.
    #[must_use]
    pub fn lease(&self) -> Duration {
        self.runs.env.options.lease
    }

    /// The summary of the run.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn summary(&self) -> Result<RunSummary> {
        self.runs.summaries.load(&self.id).await?.ok_or_else(|| unknown_run(&self.id))
    }

    /// Waits while this process is resuming it. Read a cursor only after that.
    pub async fn resumed(&self) {
        self.runs.registry.resuming.over(&self.id).await;
    }

    /// Whether its inbox has an answer or a stop request that its driver has not processed.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn has_mail(&self) -> Result<bool> {
        self.runs.has_mail(&self.id).await
    }

    /// Answers one of the questions in [`RunOutcome::state`]. The answer is durable when this returns, and
    /// the run continues.
    ///
    /// # Errors
    /// As [`Agent::answer`](crate::Agent::answer).
    pub async fn answer(&self, question: &Interrupt, answer: impl Into<Value>) -> Result<Self> {
        let mut answered = Answer::given(question.request.clone(), answer);
        answered.token.clone_from(&question.token);
        self.runs.answer_all(vec![answered]).await
    }

    /// Waits for a [stopped](crate::Agent::stop) run to end; `true` if the stop ended it, `None` on timeout.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn ended_by_stop(&self, within: Duration) -> Result<Option<bool>> {
        use futures_util::StreamExt as _;
        let ended = async {
            let mut events = std::pin::pin!(self.events(self.since));
            while let Some(record) = events.next().await {
                match record?.event.kind() {
                    EventKind::RunCancelled => return Ok(true),
                    kind if kind.ends_run() => return Ok(false),
                    _ => {}
                }
            }
            Ok(false)
        };
        tokio::time::timeout(within, ended).await.ok().transpose()
    }

    /// Whether it waits for an answer that was not sent yet.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn waits(&self) -> Result<bool> {
        let waits = self.runs.fold_of_kept(&self.id).await?.waits();
        Ok(waits && !self.runs.has_mail(&self.id).await?)
    }

    /// The live events after a sequence number, until the run waits or ends.
    pub fn events(&self, after: u64) -> impl Stream<Item = Result<Record>> + Send + use<> {
        let reader = EventReader::new(self.runs.clone(), self.id.clone(), after, self.since);
        futures_util::stream::unfold(reader, |mut reader| async move {
            let next = reader.next().await.transpose()?;
            Some((next, reader))
        })
    }

    /// Waits until the run waits for an answer or has ended, and returns its state.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn outcome(&self) -> Result<RunOutcome> {
        use futures_util::StreamExt as _;
        let mut state = RunState::default();
        let mut events = std::pin::pin!(self.events(0));
        while let Some(record) = events.next().await {
            let record = record?;
            // Cannot fail: the writer's state accepted the same records.
            let _ = state.apply(&record);
        }
        Ok(RunOutcome { state })
    }

    /// All records of the run so far.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn entries(&self) -> Result<Vec<JournalEntry>> {
        let journal = JournalId::from(self.id.as_str());
        let (mut after, mut entries, mut reader) = (0, Vec::new(), RecordReader::default());
        loop {
            let page = self.runs.env.store.read(&journal, after, ReadLimit::default()).await;
            let page = page.map_err(|error| read_error(&self.id, error))?;
            for record in &page.records {
                after = record.seq;
                entries.push(reader.entry(record)?);
            }
            if after >= page.tail.last {
                return Ok(entries);
            }
        }
    }

    /// The sequence number of the last record that reports a wait.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn last_wait(&self) -> Result<Option<u64>> {
        Ok(self.runs.fold(&self.id).await?.last_wait)
    }

    /// The sequence number of the last record that reports an end or a wait.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn last_stop(&self) -> Result<Option<u64>> {
        let fold = self.runs.fold(&self.id).await.map_err(|error| match error.code() {
            "store.unknown" => unknown_run(&self.id),
            _ => error,
        })?;
        Ok(if fold.ended { Some(fold.last) } else { fold.last_wait })
    }

    /// The whole conversation of the run so far, as events.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn recorded(&self) -> Result<Vec<Event>> {
        let entries = self.entries().await?;
        Ok(entries
            .into_iter()
            .filter_map(|entry| match entry {
                JournalEntry::Event(record) => Some(record.event),
                _ => None,
            })
            .collect())
    }

    /// Whether this run, if another process drives it, has one of these tool calls without a result, or one
    /// of these open requests. For runs driven here use [`Agent::awaits`](crate::Agent::awaits).
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn awaits_elsewhere(&self, ids: &[&str]) -> Result<bool> {
        if self.runs.registry.drives(&self.id) {
            return Ok(false);
        }
        let (mut after, mut state) = self.snapshot().await?.unwrap_or_default();
        let mut reader = RecordReader::default();
        let journal = JournalId::from(self.id.as_str());
        loop {
            let page = self.runs.env.store.read(&journal, after, ReadLimit::default()).await;
            let page = page.map_err(|error| read_error(&self.id, error))?;
            for record in &page.records {
                after = record.seq;
                if let Some(record) = reader.visible_event(record)? {
                    // Cannot fail: the writer's state accepted the same records.
                    let _ = state.apply(&record);
                }
            }
            if after >= page.tail.last {
                return Ok(ids.iter().any(|id| awaits(&state, id)));
            }
        }
    }
}
