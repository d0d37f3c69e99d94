//! Looking after what nobody drives: runs whose process died, and runs that waited too long.

use std::sync::Arc;

use headwater_protocol::{Event, RequestId, RunId};
use headwater_store::Expect;

use super::{Agent, AgentInner};
use crate::{
    Result,
    error::ErrorKind,
    journal::History,
    run::{INBOX, STOP, stop_key},
};

/// Where waiting runs are kept, ordered by the time at which they must be looked at.
const WAITING: &str = "waiting/";

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
    /// Takes over the runs whose process died, and those whose answer nobody has taken, gives up what waited too long, and lets go of what is no longer kept. To
    /// be called at the start of a process and every few seconds.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn tend(&self) -> Result<Tended> {
        let agent = &self.0;
        let mut tended = Tended::default();
        for journal in agent.store.expired(1_000).await? {
            let run = RunId::from(journal.as_str());
            match agent.get_meta(&run).await? {
                Some(meta) if meta.agent != agent.name => continue,
                _ => {}
            }
            match agent.resume(&run).await {
                Ok(true) => tended.taken_over.push(run),
                Ok(false) => {}
                Err(error) if matches!(error.kind(), ErrorKind::Busy | ErrorKind::Foreign) => {}
                Err(error) => tended.stuck.push((run, error.to_string())),
            }
        }
        for run in agent.with_mail().await? {
            if tended.taken_over.contains(&run) {
                continue;
            }
            match agent.resume(&run).await {
                Ok(true) => tended.answered.push(run),
                Ok(false) => {}
                Err(error) if matches!(error.kind(), ErrorKind::Busy | ErrorKind::Foreign) => {}
                Err(error) => tended.stuck.push((run, error.to_string())),
            }
        }
        for (key, run) in agent.due().await? {
            if agent.give_up(&run).await? {
                tended.expired.push(run);
            }
            agent.store.remove(&key, Expect::Any).await?;
        }
        agent.know_waiting(agent.with_questions().await?);
        agent.tend_queues().await?;
        agent.store.sweep().await?;
        Ok(tended)
    }
}

impl AgentInner {
    pub(super) async fn note_waiting(&self, run: &RunId, until: u64) -> Result<()> {
        // Ordered by time as text.
        let key = format!("{WAITING}{until:020}/{run}");
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
                let Some((run, name)) = key.strip_prefix(INBOX).and_then(|key| key.rsplit_once('/')) else {
                    continue;
                };
                let run = RunId::from(run);
                if runs.last() == Some(&run) || self.drives(&run) {
                    continue;
                }
                if name == STOP || self.is_open(&name.into()).await? {
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
                let Some((time, run)) = key.strip_prefix(WAITING).and_then(|key| key.split_once('/')) else {
                    continue;
                };
                if time.parse::<u64>().is_ok_and(|time| time > now) {
                    return Ok(due);
                }
                if value.bytes == self.name.as_bytes() {
                    due.push((key.clone(), RunId::from(run)));
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
        let history = History::read(&*self.store, &journal).await?;
        if history.ended {
            return Ok(false);
        }
        let now = self.now();
        let open = |request: &RequestId| !history.answers.contains_key(request);
        let waits: Vec<_> = history.asked.values().filter(|wait| open(&wait.request)).collect();
        let mut any = false;
        for wait in waits.iter().filter(|wait| wait.expires.is_some_and(|expires| expires <= now)) {
            self.expire(run, &wait.request).await?;
            any = true;
        }
        // The run as a whole has waited too long if its last wait was told that long ago.
        let too_long = history.waiting_since.is_some_and(|since| {
            now.saturating_sub(since) >= u64::try_from(self.options.max_wait.as_millis()).unwrap_or(u64::MAX)
        });
        if too_long {
            for wait in &waits {
                self.expire(run, &wait.request).await?;
            }
            let reason = EXPIRED.to_owned();
            self.store.put(&stop_key(run), reason.into(), Expect::Any, Some(self.options.keep)).await?;
            any = true;
        }
        if any {
            self.go_on(run).await;
        } else if let Some(until) =
            self.get_meta(run).await?.and_then(|meta| meta.until).filter(|until| *until > now)
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
