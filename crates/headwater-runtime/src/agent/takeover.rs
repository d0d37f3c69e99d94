//! Resuming a run that no process drives: one that waited, or whose process died.

use std::sync::Arc;

use headwater_protocol::{AttemptRetracted, Event, RunId, StructuredInvalidated};
use headwater_store::{JournalId, Lease};
use tokio::time::Instant;

use super::{
    AgentInner, WORKFLOW_CHANGED,
    drivers::{Seat, begin_message},
};
use crate::{
    Error, Result, coded,
    error::ErrorKind,
    journal::{Beginning, Begun, Effect, History, OpenAttempt, Room},
    keys,
    run::{RunShared, Walk},
};

impl AgentInner {
    /// Takes up a run that nobody drives: one that waited, or whose process died. Gives whether it goes on here now and did
    /// not before.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when another process drives it; it has been or will be woken by the value that was put.
    pub(super) async fn resume(self: &Arc<Self>, run: &RunId) -> Result<bool> {
        let Some(seat) = self.seat(run)? else {
            self.wake(run);
            return Ok(false);
        };
        let _resuming = self.resuming.begin(run);
        let journal_id = run.as_str().into();
        // What the run needs is looked at before anything is changed.
        let history = match History::read(&*self.store, &journal_id).await {
            Err(error) if error.is_unreadable() => return self.resume_unreadable(run, error).await,
            history => history?,
        };
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
        let mut end = self.end_of(run, &history).await?;
        let Some(lease) = self.claim(&journal_id).await? else { return Ok(false) };
        // Between the look and the claim another driver may have gone on.
        let mut history = if history.last + 1 == lease.first {
            history
        } else {
            let history = History::read(&*self.store, &journal_id).await?;
            end = self.end_of(run, &history).await?;
            history
        };
        if history.ended {
            // Its process died after it had told the end, and before it had put everything away.
            let journal = self.journal(lease, history.beginning());
            let shared = RunShared::new(run.clone(), self.clone(), begun, journal, history);
            return self.ended(&shared).await.map(|()| false);
        }
        self.take_over(seat, begun, lease, history, end).await
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

    /// How a run ends that cannot be driven on, or should not be; nothing if it can.
    ///
    /// # Errors
    /// When the run has to wait for a process that has its workflow.
    async fn end_of(&self, run: &RunId, history: &History) -> Result<Option<Event>> {
        if history.ended {
            return Ok(None);
        }
        let visited = history.workflows().into_iter().map(|id| id.split_once('@').unwrap_or((id, "")));
        let first = history.begun.iter().map(|begun| (&*begun.workflow, &*begun.version));
        let missing = first.chain(visited).find_map(|(id, version)| self.workflow_version(id, version).err());
        let full = Room::new(&*self.store, self.options.max_run_bytes).check_resume(history.bytes).err();
        let abandoned =
            (history.takeovers >= self.options.max_takeovers).then(|| abandoned(history.takeovers));
        let Some(error) = full.or(missing).or(abandoned) else { return Ok(None) };
        // A stop needs no workflow and no room.
        if let Some(stop) = self.store.get(&keys::stop(run)).await? {
            let reason = String::from_utf8_lossy(&stop.bytes).into_owned();
            return Ok(Some(super::stopped(Some(reason).filter(|reason| !reason.is_empty()))));
        }
        if error.kind() != ErrorKind::UnknownWorkflow || error.code() == WORKFLOW_CHANGED {
            return Ok(Some(Event::RunFailed(error.info())));
        }
        self.note_stuck(run, &error).await?;
        Err(error)
    }

    /// Leaves an unreadable run for an operator, unless a stop was requested.
    async fn resume_unreadable(self: &Arc<Self>, run: &RunId, error: Error) -> Result<bool> {
        let stop = self.store.get(&keys::stop(run)).await?;
        let Some(stop) = stop else {
            self.note_stuck(run, &error).await?;
            return Err(error);
        };
        let Some(lease) = self.claim(&run.as_str().into()).await? else { return Ok(false) };
        let summary = self.load_summary(run).await.ok().flatten();
        let begun = Begun {
            agent: self.name.clone(),
            session: summary.as_ref().and_then(|summary| summary.session.clone()),
            owner: summary.as_ref().and_then(|summary| summary.owner.clone()),
            created: summary.as_ref().map_or(0, |summary| summary.created),
            workflow: summary.as_ref().map(|summary| summary.workflow.clone()).unwrap_or_default(),
            version: summary.map(|summary| summary.version).unwrap_or_default(),
            ..Begun::default()
        };
        let journal = self.journal(lease, Beginning::default());
        let shared = RunShared::new(run.clone(), self.clone(), begun, journal, History::default());
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
        begun: Begun,
        lease: Lease,
        mut history: History,
        end: Option<Event>,
    ) -> Result<bool> {
        let recorded = std::mem::take(&mut history.walk);
        let open = std::mem::take(&mut history.open_attempts);
        let journal = self.journal(lease, history.beginning());
        let shared = Arc::new(RunShared::new(seat.run.clone(), self.clone(), begun, journal, history));
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
    let mut last = shared.journal.effect(&Effect::TakenOver)?;
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
        Some(end) => crate::run::finish(shared, end).await,
        None => {
            shared.journal.close_reserve();
            Ok(())
        }
    }
}
