//! Looking after what nobody drives: runs whose process died, and runs that waited too long.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
};

use headwater_protocol::{Event, RunId};
use headwater_store::Expect;

use super::{Agent, AgentInner, takeover::Found};
use crate::{
    Result,
    error::ErrorKind,
    keys::{self, INBOX, WAITING},
};

/// What [`Agent::tend`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tended {
    /// Runs whose process had died, and that go on here.
    pub taken_over: Vec<RunId>,
    /// Runs that somebody had answered or stopped, and that nobody drove.
    pub answered: Vec<RunId>,
    /// Runs that had waited long enough for something.
    pub expired: Vec<RunId>,
    /// Runs that cannot go on here, and why.
    pub stuck: Vec<(RunId, String)>,
}

impl Agent {
    /// Takes over the runs whose process died, and those whose answer nobody has taken, gives up what waited too long, and
    /// lets go of what is no longer kept. To be called at the start of a process and every few seconds.
    ///
    /// A run or a session that cannot be read or driven is skipped: it is logged once, left alone for a minute, and keeps
    /// neither the others nor retention from being looked after.
    ///
    /// # Errors
    /// When the store as a whole fails. Every step is tried nevertheless.
    pub async fn tend(&self) -> Result<Tended> {
        self.tend_within(usize::MAX).await
    }

    /// As [`Agent::tend`], but takes over at most so many runs whose process died: the others are left to other processes,
    /// or to the next call.
    ///
    /// # Errors
    /// As [`Agent::tend`].
    pub async fn tend_within(&self, room: usize) -> Result<Tended> {
        let agent = &self.0;
        let mut tended = Tended::default();
        let steps = [
            agent.tend_expired(&mut tended, room).await,
            agent.tend_mail(&mut tended).await,
            agent.tend_due(&mut tended).await,
            agent.count_waiting().await,
            agent.tend_queues().await,
            agent.store.sweep().await.map(drop).map_err(Into::into),
        ];
        steps.into_iter().collect::<Result<()>>().map(|()| tended)
    }
}

impl AgentInner {
    /// Takes over the runs whose process died. Processes that do so at the same time go through them in different orders,
    /// so that each takes some: the quicker one, which has less to do, takes more.
    async fn tend_expired(self: &Arc<Self>, tended: &mut Tended, room: usize) -> Result<()> {
        let (driven, draining) = {
            let drivers = self.drivers();
            (drivers.count(), drivers.draining)
        };
        if draining || room == 0 {
            return Ok(());
        }
        // Those that are skipped must not take the place of others.
        let mut expired = self.store.expired(1_000 + driven + self.skips()).await?;
        // Seeded anew each time.
        let order = RandomState::new();
        expired.sort_by_cached_key(|journal| order.hash_one(journal.as_str()));
        for journal in expired {
            let run = RunId::from(journal.as_str());
            // Whatever the store says about its lease: a run that goes on here is not taken over.
            if self.drives(&run) {
                continue;
            }
            if self.tend_run(&run, Found::Expired, &mut tended.stuck).await? {
                tended.taken_over.push(run);
                if tended.taken_over.len() >= room {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Resumes runs with a queued answer or stop request.
    async fn tend_mail(self: &Arc<Self>, tended: &mut Tended) -> Result<()> {
        for run in self.with_mail().await? {
            if !tended.taken_over.contains(&run)
                && self.tend_run(&run, Found::Addressed, &mut tended.stuck).await?
            {
                tended.answered.push(run);
            }
        }
        Ok(())
    }

    /// Gives up what was waited for too long.
    async fn tend_due(self: &Arc<Self>, tended: &mut Tended) -> Result<()> {
        for (key, run) in self.due().await? {
            if self.skipped("run", run.as_str()).is_some() {
                continue;
            }
            match self.give_up(&run).await {
                Err(error) if error.is_store_down() => return Err(error),
                Err(error) => {
                    self.skip("run", run.as_str(), &error);
                    continue;
                }
                Ok(true) => tended.expired.push(run),
                Ok(false) => {}
            }
            self.store.remove(&key, Expect::Any).await?;
        }
        Ok(())
    }

    /// Takes up a run that nobody drives. Gives whether it goes on here.
    async fn tend_run(
        self: &Arc<Self>,
        run: &RunId,
        found: Found,
        stuck: &mut Vec<(RunId, String)>,
    ) -> Result<bool> {
        if let Some(why) = self.skipped("run", run.as_str()) {
            stuck.push((run.clone(), why));
            return Ok(false);
        }
        match self.resume(run, found).await {
            Err(error) if matches!(error.kind(), ErrorKind::Busy | ErrorKind::Foreign) => Ok(false),
            Err(error) if error.is_store_down() => Err(error),
            Err(error) => {
                self.skip("run", run.as_str(), &error);
                stuck.push((run.clone(), error.to_string()));
                Ok(false)
            }
            resumed => resumed,
        }
    }
}

impl AgentInner {
    pub(super) async fn note_waiting(&self, run: &RunId, until: u64) -> Result<()> {
        let key = keys::waiting(until, run);
        self.store.put(&key, self.name.clone().into(), Expect::Any, None).await?;
        Ok(())
    }

    /// The runs to which something was sent that nobody has taken: whoever received it died, or had not the version of
    /// the workflow that the run needs.
    async fn with_mail(&self) -> Result<Vec<RunId>> {
        let mut runs: Vec<RunId> = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.store.list(INBOX, after.as_deref(), 100).await?;
            for (key, _) in &page {
                let Some((run, request)) = keys::read_inbox(key) else { continue };
                // Its driver is here, and may have missed the notification.
                if runs.last() == Some(&run) || self.wake(&run) {
                    continue;
                }
                let open = match &request {
                    None => Ok(true),
                    Some(request) => self.is_open(request).await,
                };
                let open = match open {
                    Err(error) if error.is_store_down() => return Err(error),
                    Err(error) => {
                        self.skip("question", key, &error);
                        false
                    }
                    Ok(open) => open,
                };
                if open {
                    runs.push(run);
                }
            }
            match page.last() {
                Some((key, _)) if page.len() == 100 => after = Some(key.clone()),
                _ => return Ok(runs),
            }
        }
    }

    /// The waiting runs whose time has come.
    async fn due(&self) -> Result<Vec<(String, RunId)>> {
        let now = self.now();
        let mut due = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.store.list(WAITING, after.as_deref(), 100).await?;
            for (key, value) in &page {
                let Some((time, run)) = keys::read_waiting(key) else { continue };
                if time > now {
                    return Ok(due);
                }
                if value.bytes == self.name.as_bytes() {
                    due.push((key.clone(), run));
                }
            }
            match page.last() {
                Some((key, _)) if page.len() == 100 => after = Some(key.clone()),
                _ => return Ok(due),
            }
        }
    }

    /// Gives up what a run has waited for too long. Gives whether there was something.
    async fn give_up(self: &Arc<Self>, run: &RunId) -> Result<bool> {
        let journal = run.as_str().into();
        if self.store.info(&journal).await?.is_none_or(|info| info.tail.closed) {
            return Ok(false);
        }
        let fold = self.fold(run).await?;
        if fold.ended {
            return Ok(false);
        }
        let now = self.now();
        let waits: Vec<_> = fold.open_waits().collect();
        let mut any = false;
        for wait in waits.iter().filter(|wait| wait.expires.is_some_and(|expires| expires <= now)) {
            self.expire(run, &wait.request).await?;
            any = true;
        }
        // The run as a whole has waited too long if its last wait was told that long ago.
        let too_long = fold.waiting_since.is_some_and(|since| {
            now.saturating_sub(since) >= u64::try_from(self.options.max_wait.as_millis()).unwrap_or(u64::MAX)
        });
        if too_long {
            for wait in &waits {
                self.expire(run, &wait.request).await?;
            }
            let reason = EXPIRED.to_owned();
            self.store.put(&keys::stop(run), reason.into(), Expect::Any, Some(self.options.keep)).await?;
            any = true;
        }
        if any {
            self.go_on(run).await;
        } else if let Some(until) =
            self.load_summary(run).await?.and_then(|summary| summary.until).filter(|until| *until > now)
        {
            self.note_waiting(run, until).await?;
        }
        Ok(any)
    }
}

/// The reason of a stop that is none: the run waited too long.
pub(crate) const EXPIRED: &str = "!expired";

/// How a run ends that was stopped for a reason.
pub(crate) fn stopped(reason: Option<String>) -> Event {
    match reason.as_deref() {
        Some(EXPIRED) => Event::RunFailed(
            headwater_protocol::ErrorInfo::new("nobody answered in time: the run has waited long enough")
                .code("run.expired"),
        ),
        _ => Event::RunCancelled { reason },
    }
}
