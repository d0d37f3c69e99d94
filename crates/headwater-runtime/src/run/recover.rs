//! Recovering runs that no process drives: their process died, or they have waited too long.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
};

use headwater_protocol::RunId;
use headwater_store::{Expect, ValuePages};

use super::{Runs, finish::EXPIRED, takeover::ResumeCause};
use crate::{
    Result,
    error::ErrorKind,
    keys::{self, INBOX, OPEN_QUESTIONS, WAITING},
    telemetry,
};

/// Number of open requests counted per call.
const COUNTED: usize = 500;

/// Report of [`Agent::recover`](crate::Agent::recover).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecoveryReport {
    /// Runs taken over from a dead process.
    pub taken_over: Vec<RunId>,
    /// Runs with an answer or a stop request that no process had processed.
    pub answered: Vec<RunId>,
    /// Runs that had waited too long.
    pub expired: Vec<RunId>,
    /// Runs that cannot continue here, with the reason.
    pub stuck: Vec<(RunId, String)>,
}

impl Runs {
    /// Takes over the runs whose process died. Concurrent processes go through them in different orders, so
    /// that each gets some; a process with less load gets more.
    pub(crate) async fn recover_expired(
        self: &Arc<Self>,
        report: &mut RecoveryReport,
        room: usize,
    ) -> Result<()> {
        let (driven, draining) = {
            let drivers = self.registry.lock();
            (drivers.count(), drivers.draining)
        };
        if draining || room == 0 {
            return Ok(());
        }
        // Skipped runs must not use up the limit.
        let mut expired = self.env.store.expired(1_000 + driven + self.env.skipped.len()).await?;
        // Seeded differently for each call.
        let order = RandomState::new();
        expired.sort_by_cached_key(|journal| order.hash_one(journal.as_str()));
        for journal in expired {
            // The journal of a durable stream, which the server recovers separately.
            if journal.as_str().starts_with("durable-stream/") {
                continue;
            }
            let run = RunId::from(journal.as_str());
            // A run driven here is not taken over, whatever the store reports about its lease.
            if self.registry.drives(&run) {
                continue;
            }
            if self.recover_run(&run, ResumeCause::LeaseExpired, &mut report.stuck).await? {
                report.taken_over.push(run);
                if report.taken_over.len() >= room {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Resumes runs with a queued answer or stop request, as far as there is room beside those that were taken over.
    pub(crate) async fn recover_addressed(
        self: &Arc<Self>,
        report: &mut RecoveryReport,
        room: usize,
    ) -> Result<()> {
        for run in self.addressed().await? {
            if report.taken_over.len() + report.answered.len() >= room {
                break;
            }
            if !report.taken_over.contains(&run)
                && self.recover_run(&run, ResumeCause::Addressed, &mut report.stuck).await?
            {
                report.answered.push(run);
            }
        }
        Ok(())
    }

    /// Expires questions whose time has passed.
    pub(crate) async fn expire_due(self: &Arc<Self>, report: &mut RecoveryReport) -> Result<()> {
        for (key, run) in self.due().await? {
            if self.env.skipped.reason("run", run.as_str()).is_some() {
                continue;
            }
            match self.give_up(&run).await {
                Err(error) if error.is_store_down() => return Err(error),
                Err(error) => {
                    self.env.skipped.skip("run", run.as_str(), &error);
                    continue;
                }
                Ok(true) => report.expired.push(run),
                Ok(false) => {}
            }
            self.env.store.remove(&key, Expect::Any).await?;
        }
        Ok(())
    }

    /// Resumes a run without a driver. Returns whether it is driven here now.
    pub(crate) async fn recover_run(
        self: &Arc<Self>,
        run: &RunId,
        found: ResumeCause,
        stuck: &mut Vec<(RunId, String)>,
    ) -> Result<bool> {
        if let Some(why) = self.env.skipped.reason("run", run.as_str()) {
            stuck.push((run.clone(), why));
            return Ok(false);
        }
        match self.resume(run, found).await {
            Err(error) if matches!(error.kind(), ErrorKind::Busy | ErrorKind::Foreign) => Ok(false),
            Err(error) if error.is_store_down() => Err(error),
            Err(error) => {
                self.env.skipped.skip("run", run.as_str(), &error);
                stuck.push((run.clone(), error.to_string()));
                Ok(false)
            }
            resumed => resumed,
        }
    }
}

impl Runs {
    pub(super) async fn record_waiting(&self, run: &RunId, until: u64) -> Result<()> {
        let key = keys::waiting(until, run);
        self.env.store.put(&key, self.env.agent.clone().into(), Expect::Any, None).await?;
        Ok(())
    }

    /// The runs with unprocessed inbox entries: the process that received them died, or lacks the run's
    /// version of the workflow.
    async fn addressed(&self) -> Result<Vec<RunId>> {
        let mut runs: Vec<RunId> = Vec::new();
        let mut pages = ValuePages::new(&*self.env.store, INBOX);
        while let Some(page) = pages.next().await? {
            for (key, _) in &page {
                let Some((run, request)) = keys::read_inbox(key) else { continue };
                // Its driver is here, and may have missed the notification.
                if runs.last() == Some(&run) || self.registry.wake(&run) {
                    continue;
                }
                let open = match &request {
                    None => Ok(true),
                    Some(request) => self.questions.is_open(request).await,
                };
                let open = match open {
                    Err(error) if error.is_store_down() => return Err(error),
                    Err(error) => {
                        self.env.skipped.skip("question", key, &error);
                        false
                    }
                    Ok(open) => open,
                };
                if open {
                    runs.push(run);
                }
            }
        }
        Ok(runs)
    }

    /// The waiting runs whose time limit has passed.
    async fn due(&self) -> Result<Vec<(String, RunId)>> {
        let now = self.env.now();
        let mut due = Vec::new();
        let mut pages = ValuePages::new(&*self.env.store, WAITING);
        while let Some(page) = pages.next().await? {
            for (key, value) in &page {
                let Some((time, run)) = keys::read_waiting(key) else { continue };
                if time > now {
                    return Ok(due);
                }
                if value.bytes == self.env.agent.as_bytes() {
                    due.push((key.clone(), run));
                }
            }
        }
        Ok(due)
    }

    /// Expires the requests of a run that has waited too long. Returns whether there were any.
    async fn give_up(self: &Arc<Self>, run: &RunId) -> Result<bool> {
        let journal = run.as_str().into();
        if self.env.store.info(&journal).await?.is_none_or(|info| info.tail.closed) {
            return Ok(false);
        }
        let fold = self.fold(run).await?;
        if fold.ended {
            return Ok(false);
        }
        let now = self.env.now();
        let waits: Vec<_> = fold.open_waits().collect();
        let mut any = false;
        for wait in waits.iter().filter(|wait| wait.expires.is_some_and(|expires| expires <= now)) {
            self.questions.expire(run, &wait.request).await?;
            any = true;
        }
        // The run as a whole has waited too long if it has reported no other wait since then.
        let too_long = fold.waiting_since.is_some_and(|since| {
            now.saturating_sub(since)
                >= u64::try_from(self.env.options.max_wait.as_millis()).unwrap_or(u64::MAX)
        });
        if too_long {
            for wait in &waits {
                self.questions.expire(run, &wait.request).await?;
            }
            let reason = EXPIRED.to_owned();
            self.env
                .store
                .put(&keys::stop(run), reason.into(), Expect::Any, Some(self.env.options.keep))
                .await?;
            any = true;
        }
        if any {
            self.wake_or_resume(run).await;
        } else if let Some(until) =
            self.summaries.load(run).await?.and_then(|summary| summary.until).filter(|until| *until > now)
        {
            self.record_waiting(run, until).await?;
        }
        Ok(any)
    }

    /// Updates the count of waiting runs: other processes have some, and so had this one before a restart.
    /// Each call reads one page of the open requests, so its cost does not grow with their number.
    pub(crate) async fn count_waiting(&self) -> Result<()> {
        let after = self.registry.lock().counted_to();
        let mut pages = ValuePages::new(&*self.env.store, OPEN_QUESTIONS).after(after).size(COUNTED);
        let page = pages.next().await?.unwrap_or_default();
        let runs = page.iter().filter_map(|(_, value)| {
            let (run, agent) = std::str::from_utf8(&value.bytes).ok()?.split_once('\n')?;
            (agent == self.env.agent).then(|| RunId::from(run))
        });
        if let Some(waiting) = self.registry.lock().count_waiting(runs, pages.rest()) {
            telemetry::runs_waiting(&self.env.agent, waiting);
        }
        Ok(())
    }
}
