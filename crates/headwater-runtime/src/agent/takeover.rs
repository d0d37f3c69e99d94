//! Resuming a run that no process drives: one that waited, or whose process died.

use std::sync::Arc;

use headwater_protocol::{AttemptRetracted, Event, RunId, RunStatus, StructuredInvalidated};
use headwater_store::{JournalId, Lease};
use tokio::time::Instant;

use super::{
    AgentInner, RunSummary, WORKFLOW_CHANGED,
    drivers::{Seat, begin_message},
    handover::LEFT,
    run::unknown,
    summary::StoredSummary,
};
use crate::{
    Error, Result, coded,
    error::ErrorKind,
    journal::{Begun, Effect, Fold, FoldReader, OpenAttempt, Room},
    keys,
    run::{RunShared, Walk},
};

/// Where a run that may need a driver was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Among the runs whose lease has run out: nobody drives it.
    Expired,
    /// By something that was sent to it, or by a reader. Another process may drive it.
    Addressed,
}

impl AgentInner {
    /// Resumes a run that no process drives: one that waited, or whose process died. Returns whether it is driven here now
    /// and was not before.
    ///
    /// The claim decides between processes that find the same run. It comes before the journal is read, so that a process
    /// that loses has done next to nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when another process drives it; it has been or will be woken by the value that was put.
    pub(super) async fn resume(self: &Arc<Self>, run: &RunId, found: Found) -> Result<bool> {
        let Some(seat) = self.seat(run)? else {
            self.wake(run);
            return Ok(false);
        };
        let _resuming = self.resuming.begin(run);
        let journal = JournalId::from(run.as_str());
        let info = async { Ok(self.store.info(&journal).await?) };
        let (stored, info) = futures_util::try_join!(self.stored_summary_of(run), info)?;
        match info {
            None => return Err(unknown(run)),
            Some(info) if info.tail.closed => return Ok(false),
            Some(_) => {}
        }
        if let Some(stored) = &stored {
            self.check_agent(run, &stored.summary.agent)?;
            self.check_version(&stored.summary, found).await?;
        }
        let Some(lease) = self.claim(&journal).await? else { return Ok(false) };
        let snapshot = stored.as_ref().map_or(0, |stored| stored.summary.snapshot);
        let read = async { FoldReader::open(&*self.store, &journal, snapshot).await?.read_all().await };
        let fold = match read.await {
            Err(error) if error.is_unreadable() => {
                return self.resume_unreadable(run, lease, stored, error).await;
            }
            fold => fold?,
        };
        if fold.last == 0 || fold.last < fold.copied {
            // Its process died before it had written what was asked for (or copied it whole), and nobody was told that it had begun.
            self.store.release(&lease).await?;
            return match self.store.delete(&journal).await {
                Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Held { .. }) => {
                    Err(Error::new(ErrorKind::Busy, error.to_string()))
                }
                deleted => Ok(deleted.map(|()| false)?),
            };
        }
        let prepared = match fold.begun(run.as_str()) {
            Ok(begun) => match self.check_agent(run, &begun.agent) {
                Ok(()) => self.end_of(run, &fold, stored.as_ref()).await.map(|end| (begun, end)),
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        let (begun, end) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                self.give_back(&lease, fold.state.run().status).await?;
                return Err(error);
            }
        };
        let version = stored.map_or(0, |stored| stored.version);
        if fold.ended {
            // Its process died after it had told the end, and before it had put everything away.
            let journal = self.journal(lease, fold);
            let shared = RunShared::new(run.clone(), self.clone(), begun, journal);
            shared.summary.set_version(version);
            return self.ended(&shared).await.map(|()| false);
        }
        self.take_over(seat, begun, lease, fold, version, end).await
    }

    /// The summary of a run that is to be resumed. The journal is the truth where the summary cannot be read.
    async fn stored_summary_of(&self, run: &RunId) -> Result<Option<StoredSummary>> {
        match self.load_stored_summary(run).await {
            Err(error) if error.is_store_down() => Err(error),
            stored => Ok(stored.ok().flatten()),
        }
    }

    fn check_agent(&self, run: &RunId, agent: &str) -> Result<()> {
        if agent == self.name {
            return Ok(());
        }
        let message = format!("run {run} belongs to agent `{agent}`, this is `{}`", self.name);
        Err(Error::new(ErrorKind::Foreign, message))
    }

    /// Leaves a run to the processes that have its version of the workflow, as in a rolling upgrade. Nothing is claimed.
    async fn check_version(&self, summary: &RunSummary, found: Found) -> Result<()> {
        let Err(error) = self.workflow_version(&summary.workflow, &summary.version) else { return Ok(()) };
        if summary.ended.is_some() || self.store.get(&keys::stop(&summary.run)).await?.is_some() {
            // What has ended is put away, and a stop needs no workflow.
            return Ok(());
        }
        if found == Found::Addressed && summary.status == RunStatus::Running {
            // Another process drives it, or recovery finds it when its lease has run out.
            return Err(Error::new(ErrorKind::Busy, error.message()));
        }
        self.wait_for_version(&summary.run, summary.stuck_since, error).await.map(drop)
    }

    /// Notes that a run needs a version of a workflow that is not here. Returns the error if the run has waited for that
    /// version long enough and must fail.
    ///
    /// # Errors
    /// The error, while the run has to wait for a process that has the version.
    async fn wait_for_version(&self, run: &RunId, since: Option<u64>, error: Error) -> Result<Error> {
        let wait = u64::try_from(self.options.version_wait.as_millis()).unwrap_or(u64::MAX);
        let waited = since.map_or(0, |since| self.now().saturating_sub(since));
        if error.code() == WORKFLOW_CHANGED && waited >= wait {
            return Ok(error);
        }
        self.note_stuck(run, &error).await?;
        Err(error)
    }

    /// Claims the lease of a run; nothing if the run has ended.
    async fn claim(&self, journal: &JournalId) -> Result<Option<Lease>> {
        match self.store.claim(journal, &self.owner, self.options.lease).await {
            Ok(lease) => Ok(Some(lease)),
            Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Held { .. }) => {
                Err(Error::new(ErrorKind::Busy, error.to_string()))
            }
            Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Closed) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives a lease back of a run that cannot be driven here. One that should be driven is found by other processes.
    async fn give_back(&self, lease: &Lease, status: RunStatus) -> Result<()> {
        match status {
            RunStatus::Waiting => self.store.release(lease).await?,
            _ => drop(self.store.renew(lease, LEFT).await?),
        }
        Ok(())
    }

    /// How a run ends that cannot be driven on, or should not be; nothing if it can.
    ///
    /// # Errors
    /// When the run has to wait for a process that has its workflow.
    async fn end_of(
        &self,
        run: &RunId,
        fold: &Fold,
        stored: Option<&StoredSummary>,
    ) -> Result<Option<Event>> {
        if fold.ended {
            return Ok(None);
        }
        let visited = fold.workflows().into_iter().map(|id| id.split_once('@').unwrap_or((id, "")));
        let first = fold.begun.iter().map(|begun| (&*begun.workflow, &*begun.version));
        let missing = first.chain(visited).find_map(|(id, version)| self.workflow_version(id, version).err());
        let full = Room::new(&*self.store, self.options.max_run_bytes).check_resume(fold.bytes).err();
        let lost = !fold.handed_over && fold.takeovers >= self.options.max_takeovers;
        let abandoned = lost.then(|| abandoned(fold.takeovers));
        let Some(error) = full.or(missing).or(abandoned) else { return Ok(None) };
        // A stop needs no workflow and no room.
        if let Some(stop) = self.store.get(&keys::stop(run)).await? {
            let reason = String::from_utf8_lossy(&stop.bytes).into_owned();
            return Ok(Some(super::stopped(Some(reason).filter(|reason| !reason.is_empty()))));
        }
        if error.kind() != ErrorKind::UnknownWorkflow {
            return Ok(Some(Event::RunFailed(error.info())));
        }
        let since = stored.and_then(|stored| stored.summary.stuck_since);
        let error = self.wait_for_version(run, since, error).await?;
        Ok(Some(Event::RunFailed(error.info())))
    }

    /// Leaves an unreadable run for an operator, unless a stop was requested.
    async fn resume_unreadable(
        self: &Arc<Self>,
        run: &RunId,
        lease: Lease,
        stored: Option<StoredSummary>,
        error: Error,
    ) -> Result<bool> {
        let stop = self.store.get(&keys::stop(run)).await?;
        let version = stored.as_ref().map_or(0, |stored| stored.version);
        let summary = stored.map(|stored| stored.summary);
        let Some(stop) = stop else {
            self.give_back(&lease, summary.map_or(RunStatus::Running, |summary| summary.status)).await?;
            self.note_stuck(run, &error).await?;
            return Err(error);
        };
        let begun = Begun {
            agent: self.name.clone(),
            session: summary.as_ref().and_then(|summary| summary.session.clone()),
            owner: summary.as_ref().and_then(|summary| summary.owner.clone()),
            created: summary.as_ref().map_or(0, |summary| summary.created),
            workflow: summary.as_ref().map(|summary| summary.workflow.clone()).unwrap_or_default(),
            version: summary.map(|summary| summary.version).unwrap_or_default(),
            ..Begun::default()
        };
        let journal = self.journal(lease, Fold::default());
        let shared = RunShared::new(run.clone(), self.clone(), begun.into(), journal);
        shared.summary.set_version(version);
        let reason = String::from_utf8_lossy(&stop.bytes).into_owned();
        shared.journal.open_reserve();
        match shared.say(super::stopped(Some(reason).filter(|reason| !reason.is_empty()))) {
            Ok(told) => drop(told.await?),
            Err(error) if error.kind() == ErrorKind::TooLarge => {
                return self.end_without_event(&shared, &error).await.map(|()| false);
            }
            Err(error) => return Err(error),
        }
        self.ended(&shared).await.map(|()| false)
    }

    async fn take_over(
        self: &Arc<Self>,
        seat: Seat,
        begun: Arc<Begun>,
        lease: Lease,
        fold: Fold,
        version: u64,
        end: Option<Event>,
    ) -> Result<bool> {
        let open = fold.open_attempts.clone();
        let journal = self.journal(lease, fold);
        let shared = Arc::new(RunShared::new(seat.run.clone(), self.clone(), begun, journal));
        shared.summary.set_version(version);
        let ends = end.is_some();
        match write_takeover(&shared, open, end).await {
            Ok(()) if ends => {
                self.told_end(&shared, Instant::now());
                return self.ended(&shared).await.map(|()| false);
            }
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::TooLarge => {
                return self.end_without_event(&shared, &error).await.map(|()| false);
            }
            Err(error) => return Err(error),
        }
        self.note_running(&shared).await?;
        let workflow = self.workflow_version(&shared.begun.workflow, &shared.begun.version)?;
        let walk = Walk::new(workflow, shared.begun.input.clone(), &shared.begun.data);
        let recorded = shared.fold().walk.clone();
        self.spawn(seat, shared, walk, recorded, true);
        Ok(true)
    }
}

/// A run that was taken over too often without progress.
fn abandoned(takeovers: u32) -> Error {
    let message = format!(
        "the run was given up: it was taken over {takeovers} times, and each time its process died or lost the store \
         before it got any further"
    );
    Error::new(ErrorKind::Limit, message).with_code("run.abandoned")
}

/// Writes that the run has a new driver, retracts what the last one had under way, and tells the end if there is one. All
/// of it may use the reserve: the last driver may have died when the journal was full.
async fn write_takeover(shared: &RunShared, open: Vec<OpenAttempt>, end: Option<Event>) -> Result<()> {
    shared.journal.open_reserve();
    let mut last = shared.journal.effect(Effect::TakenOver)?;
    if shared.journal.with_state(|state| state.messages().is_empty()) {
        last = begin_message(shared)?;
    }
    for attempt in open {
        for stream in attempt.streams {
            let event = Event::StructuredInvalidated(StructuredInvalidated { stream, ..Default::default() });
            drop(shared.journal.fact(&attempt.origin, event)?);
        }
        let reason = Some(coded("attempt.abandoned", "the process that asked the model died"));
        let event = Event::AttemptRetracted(AttemptRetracted {
            attempt: attempt.attempt,
            reason,
            ..Default::default()
        });
        last = shared.journal.fact(&attempt.origin, event)?;
    }
    last.await?;
    match end {
        Some(end) => crate::run::finish(shared, end).await?.await.map(drop).map_err(Error::from),
        None => {
            shared.journal.close_reserve();
            Ok(())
        }
    }
}
