//! The runs that this process drives.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Weak},
    time::Duration,
};

use headwater_protocol::{Event, Role, RunId, RunStarted, RunState, RunStatus, Usage, coded};
use headwater_store::{Lease, Receipt};
use tokio::{sync::Notify, task::AbortHandle, time::Instant};
use tracing::Instrument as _;

use super::{Agent, AgentInner, RunMeta, RunPhase, meta};
use crate::{
    Error, Result,
    error::ErrorKind,
    journal::{Begun, Effect, History, Journal},
    run::{Driven, INBOX, RunShared, STOP, Walk, drive},
    seeing,
};

/// The runs that this process drives, by their names.
#[derive(Debug, Default)]
pub(super) struct Drivers {
    all: HashMap<RunId, Driver>,
    /// The runs of the agent that wait for somebody, as far as it is known here.
    waiting: HashSet<RunId>,
    closed: bool,
}

#[derive(Debug)]
struct Driver {
    wake: Arc<Notify>,
    task: Option<AbortHandle>,
    run: Weak<RunShared>,
    since: Instant,
}

/// A run that goes on in this process.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DrivenRun {
    /// The run.
    pub run: RunId,
    /// Whose it is.
    pub owner: Option<String>,
    /// For how long it has been going here, since it was begun or last taken up.
    pub going: Duration,
}

impl AgentInner {
    /// Wakes the driver of a run, if it is in this process.
    pub(super) fn wake(&self, run: &RunId) -> bool {
        match self.drivers().all.get(run) {
            Some(driver) => {
                driver.wake.notify_one();
                true
            }
            None => false,
        }
    }

    /// Whether this process drives a run.
    pub(crate) fn drives(&self, run: &RunId) -> bool {
        self.drivers().all.contains_key(run)
    }

    /// Begins a run: it is durable when this returns.
    pub(crate) async fn begin(self: &Arc<Self>, run: RunId, begun: Begun) -> Result<()> {
        let workflow = self.workflow_version(&begun.workflow, &begun.version)?;
        let lease = self.fresh_journal(&run).await?;
        let history = History::default();
        let journal =
            Journal::new(self.store.clone(), lease, history.state.clone(), history.usage.clone(), 0);
        let shared = Arc::new(RunShared::new(run.clone(), self.clone(), begun, journal, history));
        let begun = &shared.begun;
        let started = RunStarted {
            run: Some(run.clone()),
            session: begun.session.clone(),
            workflow: Some(begun.workflow.clone()),
            model: self.answering_model(&workflow),
            ..RunStarted::default()
        };
        let effect = Effect::Begun(Box::new(begun.clone()));
        drop(shared.journal.told(&effect, &shared.origin(), Event::RunStarted(started))?);
        let mut last = begin_message(&shared)?;
        for gone in &begun.invalidated {
            let (stream, checkpoint) = (gone.stream.clone(), gone.checkpoint.clone());
            last = shared.say(Event::StructuredInvalidated { stream, checkpoint })?;
        }
        self.put_meta(&self.meta(&shared, RunPhase::Running, None)).await?;
        last.await?;
        let walk = Walk::new(workflow, begun.input.clone(), begun.data.clone());
        self.spawn(shared, walk, Vec::new(), false);
        Ok(())
    }

    /// Makes the journal of a new run: a name that was given by somebody may be taken.
    async fn fresh_journal(&self, run: &RunId) -> Result<Lease> {
        use headwater_store::ErrorKind::{Closed, Held};
        let taken =
            || Error::new(ErrorKind::Exists, format!("there is a run {run} already: choose another name"));
        match self.store.claim(&run.as_str().into(), &self.owner, self.options.lease).await {
            Ok(lease) if lease.first == 1 => Ok(lease),
            Ok(lease) => {
                self.store.release(&lease).await?;
                Err(taken())
            }
            Err(error) if matches!(error.kind(), Held { .. } | Closed) => Err(taken()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes up a run that nobody drives: one that waited, or whose process died. Gives whether it goes on here.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when another process drives it; it has been or will be woken by the value that was put.
    pub(super) async fn resume(self: &Arc<Self>, run: &RunId) -> Result<bool> {
        let _resuming = self.resuming.begin(run);
        let journal_id = run.as_str().into();
        // What the run needs is looked at before anything is changed.
        let history = History::read(&*self.store, &journal_id).await?;
        if history.last == 0 || history.last < history.copied {
            // Its process died before it had written what was asked for (or copied it whole), and nobody was told that it had begun.
            return match self.store.delete(&journal_id).await {
                Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Held { .. }) => {
                    Err(Error::new(ErrorKind::Busy, error.to_string()))
                }
                deleted => Ok(deleted.map(|()| false)?),
            };
        }
        let begun = history.begun(run.as_str())?;
        if begun.agent != self.name {
            let message = format!("run {run} belongs to agent `{}`, this is `{}`", begun.agent, self.name);
            return Err(Error::new(ErrorKind::Foreign, message));
        }
        for visited in history.workflows().into_iter().filter(|_| !history.ended) {
            let (id, version) = visited.split_once('@').unwrap_or((visited, ""));
            if let Err(error) = self.workflow_version(id, version) {
                self.stuck(run, &error).await?;
                return Err(error);
            }
        }
        let lease = match self.store.claim(&journal_id, &self.owner, self.options.lease).await {
            Ok(lease) => lease,
            Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Held { .. }) => {
                return Err(Error::new(ErrorKind::Busy, error.to_string()));
            }
            Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Closed) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        // Between the look and the claim another driver may have gone on.
        let history = if history.last + 1 == lease.first {
            history
        } else {
            History::read(&*self.store, &journal_id).await?
        };
        if history.ended {
            // Its process died after it had told the end, and before it had put everything away.
            let journal = Journal::new(
                self.store.clone(),
                lease,
                RunState::default(),
                Usage::default(),
                history.snapshot,
            );
            let shared = RunShared::new(run.clone(), self.clone(), begun, journal, history);
            return self.ended(&shared).await.map(|()| false);
        }
        self.take_over(run, begun, lease, history).await.map(|()| true)
    }

    async fn take_over(
        self: &Arc<Self>,
        run: &RunId,
        begun: Begun,
        lease: Lease,
        mut history: History,
    ) -> Result<()> {
        let workflow = self.workflow_version(&begun.workflow, &begun.version)?;
        let walk = Walk::new(workflow, begun.input.clone(), begun.data.clone());
        let recorded = std::mem::take(&mut history.walk);
        let open = std::mem::take(&mut history.open_attempts);
        let journal = Journal::new(
            self.store.clone(),
            lease,
            std::mem::take(&mut history.state),
            history.usage.clone(),
            history.snapshot,
        );
        let shared = Arc::new(RunShared::new(run.clone(), self.clone(), begun, journal, history));
        let mut last = shared.journal.effect(&Effect::TakenOver)?;
        if shared.journal.with_state(|state| state.messages().is_empty()) {
            last = begin_message(&shared)?;
        }
        for attempt in open {
            for stream in attempt.streams {
                let event = Event::StructuredInvalidated { stream, checkpoint: None };
                drop(shared.journal.fact(&attempt.origin, event)?);
            }
            let reason = Some(coded("attempt.abandoned", "the process that asked the model died"));
            let event = Event::AttemptRetracted { attempt: attempt.attempt, reason };
            last = shared.journal.fact(&attempt.origin, event)?;
        }
        last.await?;
        self.put_meta(&self.meta(&shared, RunPhase::Running, None)).await?;
        self.spawn(shared, walk, recorded, true);
        Ok(())
    }

    fn spawn(
        self: &Arc<Self>,
        shared: Arc<RunShared>,
        walk: Walk,
        recorded: Vec<crate::journal::Walked>,
        resumed: bool,
    ) {
        let wake = Arc::new(Notify::new());
        let run = shared.id.clone();
        let mut drivers = self.drivers();
        if drivers.closed {
            return;
        }
        let driver =
            Driver { wake: wake.clone(), task: None, run: Arc::downgrade(&shared), since: Instant::now() };
        drivers.all.insert(run.clone(), driver);
        if drivers.waiting.remove(&run) {
            seeing::runs_waiting(&self.name, drivers.waiting.len());
        }
        seeing::run_started(&shared, resumed);
        let span = seeing::run_span(&shared, resumed);
        let agent = self.clone();
        let work = async move {
            let (going, since) = (seeing::Going::new(&agent.name), Instant::now());
            let driven = drive(shared.clone(), walk, recorded, resumed, wake).await;
            drop(going);
            // In a box: it takes more room than the run did, and only at its end.
            Box::pin(agent.settle(shared, driven, since)).await;
        };
        let task = tokio::spawn(work.instrument(span));
        if let Some(driver) = drivers.all.get_mut(&run) {
            driver.task = Some(task.abort_handle());
        }
    }

    /// What is to be done when a driver has come to its end.
    async fn settle(self: &Arc<Self>, shared: Arc<RunShared>, driven: Result<Driven>, since: Instant) {
        let run = shared.id.clone();
        if driven.is_ok() {
            let (status, error) =
                shared.journal.with_state(|state| (state.run().status, state.run().error.clone()));
            seeing::run_settled(&shared, status, error.as_ref(), since.elapsed());
        }
        let settled = match driven {
            Ok(Driven::Ended) => self.ended(&shared).await,
            Ok(Driven::Waiting { until }) => self.waiting(&shared, until).await,
            Err(error) => {
                // Another process drives it now, or the store has stopped: nothing can be written.
                seeing::store_failed(&error);
                tracing::error!(run = %run, code = error.code(), error = ?error.message(), "a run cannot be driven on here");
                Ok(())
            }
        };
        let driven_on = matches!(settled, Ok(()));
        if let Err(error) = settled {
            tracing::error!(run = %run, code = error.code(), error = ?error.message(), "the end of a run could not be written");
        }
        drop(shared);
        self.drivers().all.remove(&run);
        // Somebody may have answered after the driver had looked for the last time, and found it still there.
        if driven_on && self.has_unread_mail(&run).await {
            match self.resume(&run).await {
                Err(error) if error.kind() != ErrorKind::Busy => {
                    tracing::error!(run = %run, code = error.code(), error = ?error.message(), "a run cannot be resumed");
                }
                _ => {}
            }
        }
    }

    /// Puts away what a run that has ended leaves. The journal is closed last: until then the run is found again if
    /// this process dies.
    async fn ended(self: &Arc<Self>, shared: &RunShared) -> Result<()> {
        self.turn_over(shared).await?;
        self.put_meta(&self.meta(shared, RunPhase::Ended, None)).await?;
        self.close_questions(shared).await?;
        self.store.close(shared.journal.lease(), Some(self.options.keep)).await?;
        Ok(())
    }

    async fn waiting(self: &Arc<Self>, shared: &RunShared, until: u64) -> Result<()> {
        self.turn_over(shared).await?;
        self.put_meta(&self.meta(shared, RunPhase::Waiting, Some(until))).await?;
        self.note_waiting(&shared.id, until).await?;
        self.store.release(shared.journal.lease()).await?;
        let mut drivers = self.drivers();
        drivers.waiting.insert(shared.id.clone());
        seeing::runs_waiting(&self.name, drivers.waiting.len());
        Ok(())
    }

    /// Corrects what is known about the runs that wait: other processes have some, and so had this one before it was
    /// started anew.
    pub(super) fn know_waiting(&self, mut runs: HashSet<RunId>) {
        let mut drivers = self.drivers();
        runs.retain(|run| !drivers.all.contains_key(run));
        seeing::runs_waiting(&self.name, runs.len());
        drivers.waiting = runs;
    }

    /// Whether something was sent to the run that its journal does not have.
    async fn has_unread_mail(&self, run: &RunId) -> bool {
        let prefix = format!("{INBOX}{run}/");
        let Ok(mail) = self.store.list(&prefix, None, 1_000).await else { return false };
        if mail.is_empty() {
            return false;
        }
        let Ok(history) = History::read(&*self.store, &run.as_str().into()).await else { return false };
        !history.ended
            && mail.iter().any(|(key, _)| {
                let name = key.strip_prefix(&prefix).unwrap_or(key);
                name == STOP || !history.answers.contains_key(&headwater_protocol::RequestId::from(name))
            })
    }

    fn meta(&self, shared: &RunShared, phase: RunPhase, until: Option<u64>) -> RunMeta {
        RunMeta {
            run: shared.id.clone(),
            agent: shared.begun.agent.clone(),
            workflow: shared.begun.workflow.clone(),
            version: shared.begun.version.clone(),
            phase,
            owner: shared.begun.owner.clone(),
            session: shared.begun.session.clone(),
            created: shared.begun.created,
            updated: self.now(),
            snapshot: shared.journal.last_snapshot(),
            until,
            stuck: None,
        }
    }

    pub(super) async fn put_meta(&self, meta: &RunMeta) -> Result<()> {
        let bytes = serde_json::to_vec(meta).map_err(|error| {
            Error::new(ErrorKind::State, format!("a run's meta does not serialise: {error}"))
        })?;
        let ttl = (meta.phase == RunPhase::Ended).then_some(self.options.keep);
        self.store.put(&meta::key(&meta.run), bytes.into(), headwater_store::Expect::Any, ttl).await?;
        Ok(())
    }

    async fn stuck(&self, run: &RunId, why: &Error) -> Result<()> {
        if let Some(mut meta) = self.get_meta(run).await? {
            meta.stuck = Some(why.to_string());
            self.put_meta(&meta).await?;
        }
        Ok(())
    }

    pub(super) async fn get_meta(&self, run: &RunId) -> Result<Option<RunMeta>> {
        let Some(value) = self.store.get(&meta::key(run)).await? else { return Ok(None) };
        crate::codec::decode(&value.bytes).map(Some).map_err(|error| {
            Error::new(ErrorKind::Store, format!("what is known about {run} cannot be read: {error}"))
        })
    }
}

/// Tells readers that the run's message begins.
fn begin_message(shared: &RunShared) -> Result<Receipt> {
    let (message, role) = (shared.message.clone(), Role::Assistant);
    shared.say(Event::MessageStarted { message, role, author: None })
}

impl Agent {
    /// Stops driving, as if the process had died: the runs stay as their journals say, and are taken over by whoever
    /// [tends](Agent::tend) them next, once the leases have run out.
    pub fn abandon(&self) {
        let mut drivers = self.0.drivers();
        drivers.closed = true;
        for driver in drivers.all.drain().filter_map(|(_, driver)| driver.task) {
            driver.abort();
        }
    }

    /// The runs that go on in this process; one that has told its end, or that it waits, is none of them.
    #[must_use]
    pub fn driven(&self) -> Vec<DrivenRun> {
        let drivers = self.0.drivers();
        let going = drivers.all.values().filter_map(|driver| {
            let run = driver.run.upgrade()?;
            let runs = run.journal.with_state(|state| state.run().status == RunStatus::Running);
            let (owner, going) = (run.begun.owner.clone(), driver.since.elapsed());
            runs.then(|| DrivenRun { run: run.id.clone(), owner, going })
        });
        going.collect()
    }

    /// How many runs this process drives.
    #[must_use]
    pub fn driving(&self) -> usize {
        self.0.drivers().all.len()
    }
}
