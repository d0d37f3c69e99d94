//! Resuming a run without a driver: one that waited, or whose process died.

use std::sync::Arc;

use headwater_protocol::{AttemptRetracted, Event, Message, RunId, RunStatus, StructuredInvalidated};
use headwater_store::{JournalId, Lease};
use tokio::time::Instant;

use super::{
    RunSummary, Runs,
    begin::begin_message,
    finish::{finish, stop_event},
    handover::LEFT,
    registry::DriverSeat,
    summary::StoredSummary,
    turn::HISTORY_GONE,
    unknown::unknown_run,
    walk::Walk,
    workflows::WORKFLOW_CHANGED,
};
use crate::{
    Error, Result, coded,
    error::ErrorKind,
    journal::{Effect, Fold, OpenAttempt, RunSpec},
    keys,
    node::ActiveRun,
};

/// Why a run may need a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResumeCause {
    /// Its lease has run out: no process drives it.
    LeaseExpired,
    /// Its inbox or a reader refers to it. Another process may drive it.
    Addressed,
}

/// The state with which a run is taken over.
struct Resumption {
    spec: Arc<RunSpec>,
    /// The conversation before it, where the spec only says where that is.
    prior: Option<Vec<Message>>,
    /// How it ends, if it cannot continue.
    end: Option<Event>,
}

impl Runs {
    /// Resumes a run without a driver: one that waited, or whose process died. Returns whether it is driven
    /// here now and was not before.
    ///
    /// The claim decides between processes that find the same run. It precedes reading the journal, so that a
    /// losing process has done almost no work.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when another process drives it; the value in its inbox wakes that process.
    pub(crate) async fn resume(self: &Arc<Self>, run: &RunId, found: ResumeCause) -> Result<bool> {
        let Some(seat) = self.registry.seat(run)? else {
            self.registry.wake(run);
            return Ok(false);
        };
        let _resuming = self.registry.resuming.begin(run);
        let journal = JournalId::from(run.as_str());
        let info = async { Ok(self.env.store.info(&journal).await?) };
        let (stored, info) = futures_util::try_join!(self.stored_summary_of(run), info)?;
        match info {
            None => return Err(unknown_run(run)),
            Some(info) if info.tail.closed => return Ok(false),
            Some(_) => {}
        }
        if let Some(stored) = &stored {
            self.check_agent(run, &stored.summary.agent)?;
            self.check_version(&stored.summary, found).await?;
        }
        let Some(lease) = self.journals.claim(&journal).await? else { return Ok(false) };
        let snapshot = stored.as_ref().map_or(0, |stored| stored.summary.snapshot);
        let fold = match self.journals.fold(run, snapshot).await {
            Err(error) if error.is_unreadable() => {
                return self.resume_unreadable(run, lease, stored, error).await;
            }
            fold => fold?,
        };
        if fold.last == 0 || fold.last < fold.copied {
            // Its process died before it had written the spec (or the whole copy), so no caller knows the
            // run.
            return self.journals.discard(&lease).await.map(|()| false);
        }
        let resumption = match self.resumption(run, &fold, stored.as_ref()).await {
            Ok(resumption) => resumption,
            Err(error) => {
                self.give_back(&lease, fold.waits()).await?;
                return Err(error);
            }
        };
        let version = stored.map_or(0, |stored| stored.version);
        if fold.ended {
            // Its process died after writing the final event, before the cleanup was complete.
            let journal = self.journals.writer(lease, fold);
            let shared = ActiveRun::new(run.clone(), self.services.clone(), resumption.spec, journal);
            shared.summary.set_version(version);
            return self.ended(&shared).await.map(|()| false);
        }
        self.take_over(seat, resumption, lease, fold, version).await
    }

    /// The state with which a run continues, or how it ends.
    async fn resumption(
        &self,
        run: &RunId,
        fold: &Fold,
        stored: Option<&StoredSummary>,
    ) -> Result<Resumption> {
        let spec = fold.spec(run.as_str())?;
        self.check_agent(run, &spec.agent)?;
        let end = self.end_of(run, fold, stored).await?;
        if end.is_some() || fold.ended {
            return Ok(Resumption { spec, prior: None, end });
        }
        match self.prior_messages(&spec).await {
            Ok(prior) => Ok(Resumption { spec, prior, end }),
            // Nothing brings them back.
            Err(error) if error.code() == HISTORY_GONE => {
                Ok(Resumption { spec, prior: None, end: Some(Event::RunFailed(error.info())) })
            }
            Err(error) => Err(error),
        }
    }

    /// The summary of a run to resume. `None` if it is unreadable, since the journal is authoritative.
    async fn stored_summary_of(&self, run: &RunId) -> Result<Option<StoredSummary>> {
        match self.summaries.load_stored(run).await {
            Err(error) if error.is_store_down() => Err(error),
            stored => Ok(stored.ok().flatten()),
        }
    }

    fn check_agent(&self, run: &RunId, agent: &str) -> Result<()> {
        if agent == self.env.agent {
            return Ok(());
        }
        let message = format!("run {run} belongs to agent `{agent}`, this is `{}`", self.env.agent);
        Err(Error::new(ErrorKind::Foreign, message))
    }

    /// Leaves a run to the processes that have its version of the workflow, as in a rolling upgrade. Nothing
    /// is claimed.
    async fn check_version(&self, summary: &RunSummary, found: ResumeCause) -> Result<()> {
        let Err(error) = self.workflows.version(&summary.workflow, &summary.version) else { return Ok(()) };
        if summary.ended.is_some() || self.env.store.get(&keys::stop(&summary.run)).await?.is_some() {
            // An ended run needs only cleanup, and a stop needs no workflow.
            return Ok(());
        }
        if found == ResumeCause::Addressed && summary.status == RunStatus::Running {
            // Another process drives it, or recovery finds it when its lease has expired.
            return Err(Error::new(ErrorKind::Busy, error.message()));
        }
        self.wait_for_version(&summary.run, summary.stuck_since, error).await.map(drop)
    }

    /// Records that a run needs a missing version of a workflow. Returns the error if the run has waited for
    /// that version long enough and must fail.
    ///
    /// # Errors
    /// The error, while the run has to wait for a process that has the version.
    async fn wait_for_version(&self, run: &RunId, since: Option<u64>, error: Error) -> Result<Error> {
        let wait = u64::try_from(self.env.options.version_wait.as_millis()).unwrap_or(u64::MAX);
        let waited = since.map_or(0, |since| self.env.now().saturating_sub(since));
        if error.code() == WORKFLOW_CHANGED && waited >= wait {
            return Ok(error);
        }
        self.summaries.record_stuck(run, &error).await?;
        Err(error)
    }

    /// Releases the lease of a run that cannot be driven here. An active run is left for other processes to
    /// find.
    async fn give_back(&self, lease: &Lease, waits: bool) -> Result<()> {
        if waits {
            self.env.store.release(lease).await?;
        } else {
            self.env.store.renew(lease, LEFT).await?;
        }
        Ok(())
    }

    /// The final event of a run that cannot or should not continue; `None` if it can.
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
        let first = fold.spec.iter().map(|spec| (&*spec.workflow, &*spec.version));
        let missing =
            first.chain(visited).find_map(|(id, version)| self.workflows.version(id, version).err());
        let full = self.journals.check_room(fold).err();
        let lost = !fold.handed_over && fold.takeovers >= self.env.options.max_takeovers;
        let abandoned = lost.then(|| abandoned(fold.takeovers));
        let Some(error) = full.or(missing).or(abandoned) else { return Ok(None) };
        // A stop needs neither workflow nor journal space.
        if let Some(stop) = self.env.store.get(&keys::stop(run)).await? {
            let reason = String::from_utf8_lossy(&stop.bytes).into_owned();
            return Ok(Some(stop_event(Some(reason).filter(|reason| !reason.is_empty()))));
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
        let stop = self.env.store.get(&keys::stop(run)).await?;
        let version = stored.as_ref().map_or(0, |stored| stored.version);
        let summary = stored.map(|stored| stored.summary);
        let Some(stop) = stop else {
            let waits = summary.is_some_and(|summary| summary.status == RunStatus::Waiting);
            self.give_back(&lease, waits).await?;
            self.summaries.record_stuck(run, &error).await?;
            return Err(error);
        };
        let spec = RunSpec {
            agent: self.env.agent.clone(),
            session: summary.as_ref().and_then(|summary| summary.session.clone()),
            owner: summary.as_ref().and_then(|summary| summary.owner.clone()),
            created: summary.as_ref().map_or(0, |summary| summary.created),
            workflow: summary.as_ref().map(|summary| summary.workflow.clone()).unwrap_or_default(),
            version: summary.map(|summary| summary.version).unwrap_or_default(),
            ..RunSpec::default()
        };
        let journal = self.journals.writer(lease, Fold::default());
        let shared = ActiveRun::new(run.clone(), self.services.clone(), spec.into(), journal);
        shared.summary.set_version(version);
        let reason = String::from_utf8_lossy(&stop.bytes).into_owned();
        shared.journal.open_reserve();
        match shared.append(stop_event(Some(reason).filter(|reason| !reason.is_empty()))) {
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
        seat: DriverSeat,
        Resumption { spec, prior, end }: Resumption,
        lease: Lease,
        fold: Fold,
        version: u64,
    ) -> Result<bool> {
        let open = fold.open_attempts.clone();
        let journal = self.journals.writer(lease, fold);
        let shared = ActiveRun::new(seat.run.clone(), self.services.clone(), spec, journal);
        let shared = Arc::new(shared.with_prior(prior));
        shared.summary.set_version(version);
        let ends = end.is_some();
        match write_takeover(self, &shared, open, end).await {
            Ok(()) if ends => {
                self.log_end(&shared, Instant::now());
                return self.ended(&shared).await.map(|()| false);
            }
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::TooLarge => {
                return self.end_without_event(&shared, &error).await.map(|()| false);
            }
            Err(error) => return Err(error),
        }
        self.summaries.record_running(&shared).await?;
        let workflow = self.workflows.version(&shared.spec.workflow, &shared.spec.version)?;
        let walk = Walk::new(workflow, shared.spec.input.clone(), &shared.spec.data);
        let recorded = shared.fold().walk.clone();
        self.spawn(seat, shared, walk, recorded, true);
        Ok(true)
    }
}

/// The error for a run taken over too often without progress.
fn abandoned(takeovers: u32) -> Error {
    let message = format!(
        "the run was given up: it was taken over {takeovers} times, and each time its process died or lost the store \
         before it got any further"
    );
    Error::new(ErrorKind::Limit, message).with_code("run.abandoned")
}

/// Records the new driver, retracts unfinished output of the last one, and writes the final event if there is
/// one. All of it may use the reserve: the last driver may have died when the journal was full.
async fn write_takeover(
    runs: &Runs,
    shared: &ActiveRun,
    open: Vec<OpenAttempt>,
    end: Option<Event>,
) -> Result<()> {
    // The takeover is a separate record, so that a node that crashes its process is counted each time
    // (`abandoned`).
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
    // Durable before anything runs: readers must not see output of this driver before the attempts of the
    // last one are retracted.
    last.await?;
    match end {
        Some(end) => finish(runs, shared, end).await?.await.map(drop).map_err(Error::from),
        None => {
            shared.journal.close_reserve();
            Ok(())
        }
    }
}
