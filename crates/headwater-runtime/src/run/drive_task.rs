//! The task that drives a run: it keeps the lease, and writes the remaining data when the run ends or waits.

use std::sync::Arc;

use headwater_protocol::RunId;
use headwater_store::{Expect, Receipt, WriteOp, together};
use tokio::time::Instant;
use tracing::Instrument as _;

use super::{
    Runs,
    drive::{DriveOutcome, drive},
    registry::DriverSeat,
    takeover::ResumeCause,
    walk::Walk,
};
use crate::{
    Error, Result,
    error::ErrorKind,
    journal::{RecordedWalk, Wait},
    keys,
    node::ActiveRun,
    telemetry::{self, RunEnd},
};

impl Runs {
    pub(super) fn spawn(
        self: &Arc<Self>,
        seat: DriverSeat,
        shared: Arc<ActiveRun>,
        walk: Walk,
        recorded: RecordedWalk,
        resumed: bool,
    ) {
        let run = shared.id.clone();
        let mut drivers = self.registry.lock();
        if drivers.closed {
            // The seat must be released after the lock.
            drop(drivers);
            let runs = self.clone();
            tokio::spawn(async move { runs.expire_lease(&shared).await });
            return;
        }
        self.ensure_watching(&mut drivers);
        drivers.counting.runs.remove(&run);
        if drivers.waiting.remove(&run) {
            telemetry::runs_waiting(&self.env.agent, drivers.waiting.len());
        }
        telemetry::run_started(shared.labels(), resumed);
        let span = telemetry::run_span(shared.labels(), resumed);
        let weak = Arc::downgrade(&shared);
        let (runs, store) = (self.clone(), self.env.store.clone());
        // Boxed: a future passed by value occupies space once for each level.
        let work = Box::pin(runs.work(seat, shared, walk, recorded, resumed));
        // Consecutive writes of a run share one commit, above all its end and the writes that follow from it.
        let work = async move { together(&*store, work).await };
        let task = tokio::spawn(work.instrument(span));
        if let Some(driver) = drivers.all.get_mut(&run) {
            (driver.task, driver.run) = (Some(task.abort_handle()), weak);
        }
    }

    /// Drives a run until its lease is lost or released.
    async fn work(
        self: Arc<Self>,
        seat: DriverSeat,
        shared: Arc<ActiveRun>,
        walk: Walk,
        recorded: RecordedWalk,
        resumed: bool,
    ) {
        let (going, since) = (telemetry::Going::new(&self.env.agent), Instant::now());
        let work = Box::pin(async {
            let driven =
                drive(self.clone(), shared.clone(), walk, recorded, resumed, seat.wake.clone()).await;
            drop(going);
            // Boxed: it is larger than the drive itself, and needed only at the end.
            Box::pin(self.settle(&shared, driven, since)).await
        });
        let settled = tokio::select! {
            settled = work => settled,
            error = self.keep_lease(&shared) => {
                // The work of this process is dropped at once, since another one repeats it. Local readers
                // continue from the store, where the new driver writes.
                shared.cancel.cancel();
                tracing::warn!(run = %shared.id, error = ?error.message(), "the lease of a run was lost: another process drives it");
                false
            }
        };
        let run = shared.id.clone();
        drop((shared, seat));
        // An answer may have arrived after the driver's last read of the inbox, from a caller that still saw
        // the driver.
        if settled && Box::pin(self.has_unread_mail(&run)).await {
            match Box::pin(self.resume(&run, ResumeCause::Addressed)).await {
                Err(error) if error.kind() != ErrorKind::Busy => {
                    self.env.skipped.skip("run", run.as_str(), &error);
                }
                _ => {}
            }
        }
    }

    /// Renews the lease of a run until it is released. Returns the reason when the lease is lost.
    async fn keep_lease(&self, shared: &ActiveRun) -> Error {
        use headwater_store::ErrorKind::{Closed, Held, Stale, Unknown};
        let lease = self.env.options.lease;
        // Two renewals may fail before the lease expires.
        let mut pause = lease / 3;
        let mut noted = shared.journal.last_snapshot();
        loop {
            tokio::time::sleep(pause).await;
            let renewed = self.env.store.renew(shared.journal.lease(), lease).await;
            if shared.phase.is_released() {
                return std::future::pending().await;
            }
            pause = match renewed {
                Ok(_) => lease / 3,
                Err(error) if matches!(error.kind(), Stale { .. } | Held { .. } | Unknown | Closed) => {
                    return error.into();
                }
                // The store may be slow or briefly down. The writes find out whether it still accepts them.
                Err(_) => lease / 10,
            };
            let snapshot = shared.journal.last_snapshot();
            if snapshot != noted && shared.phase.is_driven() {
                // Readers that re-attach through another process find it there.
                noted = snapshot;
                let _ = Box::pin(self.summaries.note_running(shared)).await;
            }
        }
    }

    pub(super) fn log_end(&self, shared: &ActiveRun, since: Instant) {
        let (status, error) =
            shared.journal.with_state(|state| (state.run().status, state.run().error.clone()));
        let (error, failure, usage) = (error.as_ref(), shared.failure(), &shared.journal.usage());
        telemetry::run_settled(shared.labels(), &RunEnd { status, error, failure, usage }, since.elapsed());
    }

    /// Writes the remaining data after a drive has ended. Returns whether all of it was written.
    async fn settle(
        self: &Arc<Self>,
        shared: &ActiveRun,
        driven: Result<DriveOutcome>,
        since: Instant,
    ) -> bool {
        let run = &shared.id;
        shared.phase.settle();
        if driven.is_ok() {
            self.log_end(shared, since);
        }
        let settled = match driven {
            Ok(DriveOutcome::Ended(told)) => match self.put_away(shared, told).await {
                Ok(false) => self.ended(shared).await,
                put => put.map(drop),
            },
            Ok(DriveOutcome::Waiting { until }) => self.waiting(shared, until).await,
            Err(error) if error.kind() == ErrorKind::TooLarge => self.end_without_event(shared, &error).await,
            Err(error) if is_fenced(&error) => {
                shared.cancel.cancel();
                tracing::warn!(run = %run, error = ?error.message(), "another process drives the run now");
                return false;
            }
            Err(error) => {
                // The store has stopped: nothing can be written.
                telemetry::store_failed(&error);
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

    /// Cleans up a run whose final event could not be written: it must not be driven again.
    pub(super) async fn end_without_event(self: &Arc<Self>, shared: &ActiveRun, error: &Error) -> Result<()> {
        tracing::error!(run = %shared.id, code = error.code(), error = ?error.message(), "a run ends without an event: its journal is full");
        self.ended(shared).await
    }

    /// Writes the end of a run with all that follows from it, in one commit if the store supports that.
    /// Returns `false` if this process lacks some of the data, or on a conflict: the caller then reads it
    /// back. The end is durable in both cases.
    async fn put_away(self: &Arc<Self>, shared: &ActiveRun, told: Receipt) -> Result<bool> {
        // Requests are closed one by one.
        let known = shared.journal.is_drained() && shared.fold().asked.is_empty();
        let of_turn = match shared.spec.session_key() {
            None => Some(Vec::new()),
            // An error here recurs when the turn is ended from the journal.
            Some(_) if known => match self.registry.turn_of(&shared.id) {
                Some(turn) => turn.end_writes(shared).await.unwrap_or(None),
                None => None,
            },
            Some(_) => None,
        };
        let Some(mut writes) = of_turn.filter(|_| known) else {
            told.await?;
            return Ok(false);
        };
        writes.extend(self.summaries.end_writes(shared)?);
        writes.push(WriteOp::Remove { key: keys::stop(&shared.id), expect: Expect::Any });
        // The journal is closed last: until then recovery finds the run if this process dies.
        let (lease, keep) = (shared.journal.lease().clone(), Some(self.env.options.keep));
        writes.push(WriteOp::Close { lease, keep });
        shared.phase.release();
        match self.env.store.write(Some(told), writes).await {
            Ok(_) => Ok(true),
            Err(error) => match error.kind() {
                // Only the accompanying writes were refused; the caller does them step by step.
                headwater_store::ErrorKind::Conflict { .. } | headwater_store::ErrorKind::TooLarge => {
                    Ok(false)
                }
                _ => Err(error.into()),
            },
        }
    }

    /// Cleans up after a run that has ended. The journal is closed last: until then recovery finds the run if
    /// this process dies.
    pub(super) async fn ended(self: &Arc<Self>, shared: &ActiveRun) -> Result<()> {
        self.turn_over(shared).await?;
        self.summaries.note_end(shared).await?;
        let asked: Vec<_> = {
            let fold = shared.fold();
            let answer = |wait: &Wait| fold.answers.get(&wait.request).cloned();
            fold.asked.values().map(|wait| (wait.request.clone(), answer(wait))).collect()
        };
        self.questions.close_all(&shared.id, asked).await?;
        shared.phase.release();
        self.env.store.close(shared.journal.lease(), Some(self.env.options.keep)).await?;
        Ok(())
    }

    async fn waiting(self: &Arc<Self>, shared: &ActiveRun, until: u64) -> Result<()> {
        self.turn_over(shared).await?;
        // Both before the release: a process that takes the run over then needs the time limit of the wait.
        self.summaries.note_wait(shared, until).await?;
        self.note_waiting(&shared.id, until).await?;
        shared.phase.release();
        self.env.store.release(shared.journal.lease()).await?;
        let mut drivers = self.registry.lock();
        drivers.counting.runs.insert(shared.id.clone());
        drivers.waiting.insert(shared.id.clone());
        telemetry::runs_waiting(&self.env.agent, drivers.waiting.len());
        Ok(())
    }

    /// Ends the turn of a run that belongs to a session.
    async fn turn_over(&self, shared: &ActiveRun) -> Result<()> {
        match shared.spec.session_key() {
            Some(session) => self.turns()?.turn_over(session, shared).await,
            None => Ok(()),
        }
    }

    /// Whether the inbox has entries that are not in the run's journal.
    async fn has_unread_mail(&self, run: &RunId) -> bool {
        let Ok(mail) = self.env.store.list(&keys::inbox(run), None, 1_000).await else { return false };
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

/// Whether the run's lease is lost: another process has taken it over, or has ended or deleted the run.
fn is_fenced(error: &Error) -> bool {
    matches!(error.code(), "store.stale" | "store.held" | "store.closed" | "store.unknown")
}
