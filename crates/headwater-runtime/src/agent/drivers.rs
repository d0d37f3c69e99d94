//! The runs that this process drives.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use headwater_protocol::{
    Event, MessageStarted, Role, RunId, RunStarted, RunState, RunStatus, StructuredInvalidated,
};
use headwater_store::{Expect, Lease, Receipt, WriteOp, together};
use tokio::{sync::Notify, task::AbortHandle, time::Instant};
use tracing::Instrument as _;

use super::{Agent, AgentInner, takeover::Found};
use crate::{
    Error, Result, Workflow,
    error::ErrorKind,
    journal::{Begun, Effect, Fold, Journal, RecordedWalk},
    keys,
    run::{Driven, RunEnd, RunShared, Walk, drive},
    seeing,
    session::VersionedHead,
};

/// How long a reader of a session waits at most for a turn that has told its end to be put away.
const SETTLING: Duration = Duration::from_secs(1);

/// The runs that this process drives, by their names.
#[derive(Debug, Default)]
pub(super) struct Drivers {
    pub(super) all: HashMap<RunId, Driver>,
    /// The runs of the agent that wait for somebody, as far as it is known here.
    waiting: HashSet<RunId>,
    /// The count of them that is under way.
    counting: WaitingCount,
    /// Whether a task watches the inboxes of the runs.
    pub(super) watching: bool,
    /// Whether new runs, and runs that are resumed, are left to other processes.
    pub(super) draining: bool,
    /// Whether nothing is driven here any more.
    pub(super) closed: bool,
}

/// A count of the runs that wait, page by page of the open questions.
#[derive(Debug, Default)]
struct WaitingCount {
    /// The last key of the page before; the count begins anew without one.
    after: Option<String>,
    /// The runs that were found so far, and those that have begun to wait here meanwhile.
    runs: HashSet<RunId>,
}

impl Drivers {
    /// How far the runs that wait are counted.
    pub(super) fn counted_to(&self) -> Option<String> {
        self.counting.after.clone()
    }

    /// Counts the runs of a page. Returns how many wait, if that was the last page.
    pub(super) fn count_waiting(
        &mut self,
        runs: impl Iterator<Item = RunId>,
        next: Option<String>,
    ) -> Option<usize> {
        let (counting, all) = (&mut self.counting, &self.all);
        counting.runs.extend(runs.filter(|run| !all.contains_key(run)));
        counting.after = next;
        if counting.after.is_some() {
            return None;
        }
        self.waiting = std::mem::take(&mut counting.runs);
        Some(self.waiting.len())
    }
}

#[derive(Debug)]
pub(super) struct Driver {
    wake: Arc<Notify>,
    pub(super) task: Option<AbortHandle>,
    pub(super) run: Weak<RunShared>,
    /// The head of the run's session with the turn that the run is, if this process has begun it.
    turn: Option<Arc<VersionedHead>>,
    /// Tells when the run is no longer driven here.
    left: Arc<Notify>,
    since: Instant,
}

/// The place of a run among the drivers of this process. It is taken before the run's lease is claimed and given back
/// when the lease is, so that a process never drives a run twice and never takes over a run from itself, whatever the
/// store says about the lease.
#[derive(Debug)]
pub(crate) struct Seat {
    drivers: Arc<Mutex<Drivers>>,
    pub(super) run: RunId,
    wake: Arc<Notify>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut drivers = self.drivers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(driver) = drivers.all.remove(&self.run) {
            driver.left.notify_waiters();
        }
    }
}

impl Drivers {
    /// How many runs are driven here.
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
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

    /// Whether this process drives a run, or is about to.
    pub(crate) fn drives(&self, run: &RunId) -> bool {
        self.drivers().all.contains_key(run)
    }

    /// Whether this process drives a run that has told its end, or that it waits, and writes what the run leaves.
    pub(crate) fn is_settling(&self, run: &RunId) -> bool {
        let driven = self.drivers().all.get(run).and_then(|driver| driver.run.upgrade());
        driven.is_some_and(|run| !run.phase.is_driven())
    }

    /// Waits until a run is no longer driven here, for a while.
    pub(crate) async fn wait_until_settled(&self, run: &RunId) {
        let Some(left) = self.drivers().all.get(run).map(|driver| driver.left.clone()) else { return };
        let mut left = std::pin::pin!(left.notified());
        left.as_mut().enable();
        if self.drives(run) {
            let _ = tokio::time::timeout(SETTLING, left).await;
        }
    }

    /// The head of the session with the turn that a run is, where this process has begun it.
    pub(crate) fn begun_turn_of(&self, run: &RunId) -> Option<Arc<VersionedHead>> {
        self.drivers().all.get(run)?.turn.clone()
    }

    pub(crate) fn forget_turn(&self, run: &RunId) {
        if let Some(driver) = self.drivers().all.get_mut(run) {
            driver.turn = None;
        }
    }

    /// The newest snapshot of a run that this process drives.
    pub(super) fn snapshot_of(&self, run: &RunId) -> Option<u64> {
        let run = self.drivers().all.get(run)?.run.upgrade()?;
        Some(run.journal.last_snapshot())
    }

    /// Takes the place of a run among the drivers; nothing if it is taken.
    pub(crate) fn seat(&self, run: &RunId) -> Result<Option<Seat>> {
        let mut drivers = self.drivers();
        if drivers.all.contains_key(run) {
            return Ok(None);
        }
        if drivers.closed || drivers.draining {
            let message = format!("run {run} is not driven here: this process is stopping");
            return Err(Error::new(ErrorKind::Busy, message));
        }
        let wake = Arc::new(Notify::new());
        let driver = Driver {
            wake: wake.clone(),
            task: None,
            run: Weak::new(),
            turn: None,
            left: Arc::default(),
            since: Instant::now(),
        };
        drivers.all.insert(run.clone(), driver);
        Ok(Some(Seat { drivers: self.drivers.clone(), run: run.clone(), wake }))
    }

    /// Begins a run: it is durable when this returns.
    pub(crate) async fn begin(self: &Arc<Self>, run: RunId, begun: Begun) -> Result<()> {
        self.workflow_version(&begun.workflow, &begun.version)?;
        let Some(seat) = self.seat(&run)? else { return Err(exists(&run)) };
        let lease = self.fresh_journal(&run).await?;
        self.begin_in(seat, lease, begun, None).await
    }

    /// Begins a run in a journal that was made for it, as the turn of a session whose head has it already.
    pub(crate) async fn begin_in(
        self: &Arc<Self>,
        seat: Seat,
        lease: Lease,
        begun: Begun,
        turn: Option<VersionedHead>,
    ) -> Result<()> {
        let workflow = self.workflow_version(&begun.workflow, &begun.version)?;
        let journal = self.journal(lease.clone(), Fold::default());
        let shared = Arc::new(RunShared::new(seat.run.clone(), self.clone(), begun.into(), journal));
        if let Err(error) = together(&*self.store, self.write_beginning(&shared, &workflow)).await {
            if error.kind() == ErrorKind::TooLarge {
                // It can never begin.
                self.discard_journal(&lease).await;
            }
            return Err(error);
        }
        if let Some(driver) = self.drivers().all.get_mut(&seat.run) {
            driver.turn = turn.map(Arc::new);
        }
        let walk = Walk::new(workflow, shared.begun.input.clone(), &shared.begun.data);
        self.spawn(seat, shared, walk, RecordedWalk::default(), false);
        Ok(())
    }

    /// Deletes the journal of a run that never began. Should this fail, recovery deletes it when the lease has run out.
    pub(crate) async fn discard_journal(&self, lease: &Lease) {
        let _ = self.store.release(lease).await;
        let _ = self.store.delete(&lease.journal).await;
    }

    async fn write_beginning(&self, shared: &RunShared, workflow: &Workflow) -> Result<()> {
        let begun = &shared.begun;
        let started = RunStarted {
            run: Some(shared.id.clone()),
            session: begun.session.clone(),
            workflow: Some(begun.workflow.clone()),
            model: self.answering_model(workflow),
            ..RunStarted::default()
        };
        let effect = Effect::Begun(Box::new(Begun::clone(begun)));
        drop(shared.journal.told(effect, &shared.origin(), Event::RunStarted(started))?);
        let mut last = begin_message(shared)?;
        for gone in &begun.invalidated {
            let (stream, checkpoint) = (gone.stream.clone(), gone.checkpoint.clone());
            last = shared.say(Event::StructuredInvalidated(StructuredInvalidated {
                stream,
                checkpoint,
                ..Default::default()
            }))?;
        }
        // All of it in one commit.
        let last = async { last.await.map_err(Error::from) };
        futures_util::try_join!(self.note_running(shared), last).map(drop)
    }

    pub(super) fn journal(&self, lease: Lease, fold: Fold) -> Journal {
        Journal::new(self.store.clone(), lease, fold, self.options.max_run_bytes)
    }

    /// Makes the journal of a new run: a name that was given by somebody may be taken.
    pub(crate) async fn fresh_journal(&self, run: &RunId) -> Result<Lease> {
        use headwater_store::ErrorKind::{Closed, Held};
        match self.store.claim(&run.as_str().into(), &self.owner, self.options.lease).await {
            Ok(lease) if lease.first == 1 => Ok(lease),
            Ok(lease) => {
                self.store.release(&lease).await?;
                Err(exists(run))
            }
            Err(error) if matches!(error.kind(), Held { .. } | Closed) => Err(exists(run)),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn spawn(
        self: &Arc<Self>,
        seat: Seat,
        shared: Arc<RunShared>,
        walk: Walk,
        recorded: RecordedWalk,
        resumed: bool,
    ) {
        let run = shared.id.clone();
        let mut drivers = self.drivers();
        if drivers.closed {
            // The seat is given back after the lock.
            drop(drivers);
            tokio::spawn(async move { shared.agent.expire_lease(&shared).await });
            return;
        }
        self.ensure_watching(&mut drivers);
        drivers.counting.runs.remove(&run);
        if drivers.waiting.remove(&run) {
            seeing::runs_waiting(&self.name, drivers.waiting.len());
        }
        seeing::run_started(&shared, resumed);
        let span = seeing::run_span(&shared, resumed);
        let weak = Arc::downgrade(&shared);
        let (agent, store) = (self.clone(), self.store.clone());
        // What a run writes in one go is one commit: its end with all that it leaves, above all.
        let work = async move { together(&*store, agent.work(seat, shared, walk, recorded, resumed)).await };
        let task = tokio::spawn(work.instrument(span));
        if let Some(driver) = drivers.all.get_mut(&run) {
            (driver.task, driver.run) = (Some(task.abort_handle()), weak);
        }
    }

    /// Drives a run for as long as its lease is ours.
    async fn work(
        self: Arc<Self>,
        seat: Seat,
        shared: Arc<RunShared>,
        walk: Walk,
        recorded: RecordedWalk,
        resumed: bool,
    ) {
        let (going, since) = (seeing::Going::new(&self.name), Instant::now());
        let work = async {
            let driven = drive(shared.clone(), walk, recorded, resumed, seat.wake.clone()).await;
            drop(going);
            // In a box: it takes more room than the run did, and only at its end.
            Box::pin(self.settle(&shared, driven, since)).await
        };
        let settled = tokio::select! {
            settled = work => settled,
            error = self.keep_lease(&shared) => {
                // What this process had under way is dropped at once: another one does it now. Readers here go on from the
                // store, where the other one writes.
                shared.cancel.cancel();
                tracing::warn!(run = %shared.id, error = ?error.message(), "the lease of a run was lost: another process drives it");
                false
            }
        };
        let run = shared.id.clone();
        drop((shared, seat));
        // Somebody may have answered after the driver had looked for the last time, and found it still there.
        if settled && self.has_unread_mail(&run).await {
            match self.resume(&run, Found::Addressed).await {
                Err(error) if error.kind() != ErrorKind::Busy => self.skip("run", run.as_str(), &error),
                _ => {}
            }
        }
    }

    /// Renews the lease of a run until it is given back. Ends when the lease is lost, with the reason.
    async fn keep_lease(&self, shared: &RunShared) -> Error {
        use headwater_store::ErrorKind::{Closed, Held, Stale, Unknown};
        let lease = self.options.lease;
        let mut pause = lease / 3;
        let mut noted = shared.journal.last_snapshot();
        loop {
            tokio::time::sleep(pause).await;
            let renewed = self.store.renew(shared.journal.lease(), lease).await;
            if shared.phase.is_released() {
                return std::future::pending().await;
            }
            pause = match renewed {
                Ok(_) => lease / 3,
                Err(error) if matches!(error.kind(), Stale { .. } | Held { .. } | Unknown | Closed) => {
                    return error.into();
                }
                // The store may be slow, or down for a moment. Whether it still takes writes is for the writes to find out.
                Err(_) => lease / 10,
            };
            let snapshot = shared.journal.last_snapshot();
            if snapshot != noted && shared.phase.is_driven() {
                // Readers that re-attach through another process find it there.
                noted = snapshot;
                let _ = self.note_running(shared).await;
            }
        }
    }

    pub(super) fn told_end(&self, shared: &RunShared, since: Instant) {
        let (status, error) =
            shared.journal.with_state(|state| (state.run().status, state.run().error.clone()));
        seeing::run_settled(shared, status, error.as_ref(), since.elapsed());
    }

    /// What is to be done when a driver has come to its end. Gives whether all of it was done.
    async fn settle(self: &Arc<Self>, shared: &RunShared, driven: Result<Driven>, since: Instant) -> bool {
        let run = &shared.id;
        shared.phase.settle();
        if driven.is_ok() {
            self.told_end(shared, since);
        }
        let settled = match driven {
            Ok(Driven::Ended(end)) => match self.put_away(shared, end).await {
                Ok(false) => self.ended(shared).await,
                put => put.map(drop),
            },
            Ok(Driven::Waiting { until }) => self.waiting(shared, until).await,
            Err(error) if error.kind() == ErrorKind::TooLarge => self.end_without_event(shared, &error).await,
            Err(error) if is_fenced(&error) => {
                shared.cancel.cancel();
                tracing::warn!(run = %run, error = ?error.message(), "another process drives the run now");
                return false;
            }
            Err(error) => {
                // The store has stopped: nothing can be written.
                seeing::store_failed(&error);
                tracing::error!(run = %run, code = error.code(), error = ?error.message(), "a run cannot be driven on here");
                return true;
            }
        };
        match &settled {
            Err(error) if is_fenced(error) => {
                tracing::warn!(run = %run, error = ?error.message(), "another process ends the run");
            }
            Err(error) => {
                tracing::error!(run = %run, code = error.code(), error = ?error.message(), "the end of a run could not be written");
            }
            Ok(()) => {}
        }
        settled.is_ok()
    }

    /// Puts away a run of which not even the end could be written: it must not be driven again.
    pub(super) async fn end_without_event(self: &Arc<Self>, shared: &RunShared, error: &Error) -> Result<()> {
        tracing::error!(run = %shared.id, code = error.code(), error = ?error.message(), "a run ends without an event: its journal is full");
        self.ended(shared).await
    }

    /// Writes all that a run leaves, in one commit with its end where the store can do that. Returns `false` where too
    /// little is known here, or something was changed meanwhile: then it is read back. The end is durable in both cases.
    async fn put_away(self: &Arc<Self>, shared: &RunShared, end: RunEnd) -> Result<bool> {
        let RunEnd { told, trace } = end;
        // Questions are closed one by one.
        let known = shared.journal.is_drained() && shared.fold().asked.is_empty();
        let of_turn = match shared.begun.session_key() {
            None => Some(Vec::new()),
            // Why it cannot be written is told when it is read back.
            Some(_) if known => self.turn_end_writes(shared, told.last(), trace).await.unwrap_or(None),
            Some(_) => None,
        };
        let Some(mut writes) = of_turn.filter(|_| known) else {
            told.await?;
            return Ok(false);
        };
        writes.extend(self.end_writes(shared)?);
        writes.push(WriteOp::Remove { key: keys::stop(&shared.id), expect: Expect::Any });
        // The journal is closed last: until then the run is found again if this process dies.
        let (lease, keep) = (shared.journal.lease().clone(), Some(self.options.keep));
        writes.push(WriteOp::Close { lease, keep });
        shared.phase.release();
        match self.store.write(Some(told), writes).await {
            Ok(_) => Ok(true),
            Err(error) => match error.kind() {
                headwater_store::ErrorKind::Conflict { .. } | headwater_store::ErrorKind::TooLarge => {
                    Ok(false)
                }
                _ => Err(error.into()),
            },
        }
    }

    /// Puts away what a run that has ended leaves. The journal is closed last: until then the run is found again if
    /// this process dies.
    pub(super) async fn ended(self: &Arc<Self>, shared: &RunShared) -> Result<()> {
        self.turn_over(shared).await?;
        self.note_end(shared).await?;
        self.close_questions(shared).await?;
        shared.phase.release();
        self.store.close(shared.journal.lease(), Some(self.options.keep)).await?;
        Ok(())
    }

    async fn waiting(self: &Arc<Self>, shared: &RunShared, until: u64) -> Result<()> {
        self.turn_over(shared).await?;
        self.note_wait(shared, until).await?;
        self.note_waiting(&shared.id, until).await?;
        shared.phase.release();
        self.store.release(shared.journal.lease()).await?;
        let mut drivers = self.drivers();
        drivers.counting.runs.insert(shared.id.clone());
        drivers.waiting.insert(shared.id.clone());
        seeing::runs_waiting(&self.name, drivers.waiting.len());
        Ok(())
    }

    /// Whether something was sent to the run that its journal does not have.
    async fn has_unread_mail(&self, run: &RunId) -> bool {
        let Ok(mail) = self.store.list(&keys::inbox(run), None, 1_000).await else { return false };
        if mail.is_empty() {
            return false;
        }
        let Ok(fold) = self.fold(run).await else { return false };
        !fold.ended
            && mail
                .iter()
                .filter_map(|(key, _)| keys::read_inbox(key))
                .any(|(_, request)| request.is_none_or(|request| !fold.answers.contains_key(&request)))
    }
}

/// Whether the lease of a run is no longer ours: another process has taken it over, or has ended or deleted it.
fn is_fenced(error: &Error) -> bool {
    matches!(error.code(), "store.stale" | "store.held" | "store.closed" | "store.unknown")
}

/// Whether a run has made a call that has no result yet, or has asked a question of that id.
pub(super) fn awaits(state: &RunState, id: &str) -> bool {
    let mut tools = state.messages().iter().filter_map(|message| message.tool(id));
    let question = state.interrupts().iter().any(|interrupt| interrupt.request.as_str() == id);
    question || tools.next_back().is_some_and(|tool| !tool.state.is_settled())
}

fn exists(run: &RunId) -> Error {
    Error::new(ErrorKind::Exists, format!("there is a run {run} already: choose another name"))
}

/// Tells readers that the run's message begins.
pub(super) fn begin_message(shared: &RunShared) -> Result<Receipt> {
    let (message, role) = (shared.message.clone(), Role::Assistant);
    shared.say(Event::MessageStarted(MessageStarted { message, role, ..Default::default() }))
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

    /// Whether a run that this process drives has made a call that has no result yet, or has asked a question of that id:
    /// it waits for the answer, or is about to.
    #[must_use]
    pub fn awaits(&self, owner: &str, id: &str) -> bool {
        let runs: Vec<_> = self.0.drivers().all.values().filter_map(|driver| driver.run.upgrade()).collect();
        let asks = |run: &Arc<RunShared>| run.journal.with_state(|state| awaits(state, id));
        runs.iter().any(|run| run.begun.owner.as_deref() == Some(owner) && asks(run))
    }

    /// How many runs this process drives.
    #[must_use]
    pub fn driving(&self) -> usize {
        self.0.drivers().all.len()
    }
}
