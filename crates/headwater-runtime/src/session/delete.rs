//! Deleting a session: it is gone for everyone at once, and what it held as soon as its runs have stopped.

use std::{sync::Arc, time::Duration};

use headwater_protocol::{RunId, SessionId};
use headwater_store::{Expect, JournalId};

use super::{
    head::{Active, Chore, Seen, key},
    list::tree,
};
use crate::{Agent, Result, agent::AgentInner, error::ErrorKind};

/// How often a run that is being stopped is looked at, if it says nothing.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Where the runs of a session are noted that belong to no checkpoint.
fn copies(session: &SessionId) -> String {
    format!("session-copy/{session}/")
}

impl Agent {
    /// Deletes a session, with its checkpoints and the journals of its runs. What is going is stopped. What a fork of it
    /// shares stays until that is deleted too.
    ///
    /// It is gone when this returns. What another process drives is removed by whoever [tends](Agent::tend) next.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownSession`], [`ErrorKind::Foreign`], or when the store fails.
    pub async fn delete_session(&self, id: impl Into<SessionId>, owner: Option<&str>) -> Result<()> {
        let agent = &self.0;
        let session = self.session(id, owner);
        loop {
            let Seen { mut head, version } = session.seen().await?;
            // Before it is promised: if this process dies, another one removes the rest.
            agent.note_queue(&session.id).await?;
            head.queue.clear();
            head.leave_waiting();
            head.deleted = true;
            if agent.swap(head, version).await? {
                break;
            }
        }
        // Whoever tended the session just before found nothing to do, and may have struck the note out.
        agent.note_queue(&session.id).await?;
        if agent.bury(&session.id).await? {
            agent.unnote_queue(&session.id).await?;
        }
        Ok(())
    }
}

impl AgentInner {
    /// Removes what a deleted session held. Gives whether there is nothing left to be done.
    pub(super) async fn bury(self: &Arc<Self>, session: &SessionId) -> Result<bool> {
        let Some(Seen { head, .. }) = self.load_head(session).await? else { return Ok(true) };
        if !head.deleted {
            return Ok(false);
        }
        let mut runs: Vec<RunId> = head.active.iter().map(|Active { run, .. }| run.clone()).collect();
        runs.extend(head.chores.iter().filter_map(|chore| match chore {
            Chore::Close(live) => Some(live.run.clone()),
            Chore::Forget { .. } => None,
        }));
        self.look(session).await?;
        for run in &runs {
            let stopped = Agent(self.clone()).stop(run, Some("its session was deleted")).await;
            match stopped {
                Err(error) if !matches!(error.kind(), ErrorKind::Ended | ErrorKind::UnknownRun) => {
                    return Err(error);
                }
                _ => {}
            }
            if !self.over(run).await? {
                return Ok(false);
            }
        }
        runs.extend(self.copies_of(session).await?);
        if !self.sweep_tree(&head.tree, &runs).await? {
            return Ok(false);
        }
        self.remove_all(&copies(session)).await?;
        self.remove_all(&format!("branch/{session}/")).await?;
        self.delist(&head, None).await?;
        if self.store.list(&tree(&head.tree), None, 1).await?.is_empty() {
            self.unnote_sweep(&head.tree).await?;
        }
        self.store.remove(&key(session), Expect::Any).await?;
        Ok(true)
    }

    /// Notes a run that asks again what another one had waited for: it belongs to no checkpoint.
    pub(super) async fn note_copy(&self, session: &SessionId, run: &RunId) -> Result<()> {
        let kept = self.options.max_wait + self.options.keep;
        let key = format!("{}{run}", copies(session));
        self.store.put(&key, self.name.clone().into(), Expect::Any, Some(kept)).await?;
        Ok(())
    }

    async fn copies_of(&self, session: &SessionId) -> Result<Vec<RunId>> {
        let prefix = copies(session);
        let (mut runs, mut after) = (Vec::new(), None::<String>);
        loop {
            let page = self.store.list(&prefix, after.as_deref(), 100).await?;
            runs.extend(page.iter().filter_map(|(key, _)| key.strip_prefix(&prefix)).map(RunId::from));
            match page.last() {
                Some((key, _)) if page.len() == 100 => after = Some(key.clone()),
                _ => return Ok(runs),
            }
        }
    }

    /// Waits until a run has ended, if it is driven here. Gives whether it has.
    async fn over(&self, run: &RunId) -> Result<bool> {
        let journal = JournalId::from(run.as_str());
        let mut after = 0;
        loop {
            match self.store.info(&journal).await? {
                None => return Ok(true),
                Some(info) if info.tail.closed => return Ok(true),
                Some(_) if !self.drives(run) => return Ok(false),
                Some(info) => after = info.tail.last.max(after),
            }
            // A driver that had to give up closes nothing.
            match tokio::time::timeout(LOOK_AGAIN, self.store.wait(&journal, after)).await {
                Ok(Err(error)) if matches!(error.kind(), headwater_store::ErrorKind::Unknown) => {
                    return Ok(true);
                }
                Ok(tail) => drop(tail?),
                Err(_) => {}
            }
        }
    }

    /// Removes all values whose keys begin with a prefix.
    pub(crate) async fn remove_all(&self, prefix: &str) -> Result<()> {
        loop {
            let page = self.store.list(prefix, None, 100).await?;
            for (key, _) in &page {
                self.store.remove(key, Expect::Any).await?;
            }
            if page.len() < 100 {
                return Ok(());
            }
        }
    }
}
