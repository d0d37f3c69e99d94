//! Deleting a session: it is gone for everyone at once, and what it held as soon as its runs have stopped.

use std::{sync::Arc, time::Duration};

use headwater_protocol::{RunId, SessionId};
use headwater_store::{Expect, JournalId};

use super::{
    checkpoint::fresh_tree,
    head::{Active, Chore, Head, HeadOutline, Live, UNREADABLE, VersionedHead},
    unknown_session,
};
use crate::{
    Agent, Result,
    agent::AgentInner,
    error::ErrorKind,
    keys::{self, SessionKey},
    value_pages::ValuePages,
};

/// How often a run that is being stopped is looked at, if it says nothing.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Agent {
    /// Deletes a session, with its checkpoints and the journals of its runs. What is going is stopped. What a fork of it
    /// shares stays until that is deleted too. A session that cannot be read can be deleted as well.
    ///
    /// It is gone when this returns. What another process drives is removed by the process that [tends](Agent::tend) next.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownSession`], [`ErrorKind::Foreign`], or when the store fails.
    pub async fn delete_session(&self, id: impl Into<SessionId>, owner: Option<&str>) -> Result<()> {
        let agent = &self.0;
        let session = self.session(id, owner);
        loop {
            // Nothing but the head is read: what belongs to the session may not be readable.
            let VersionedHead { mut head, version } = match agent.load_head(&session.key).await {
                Err(error) if error.code() == UNREADABLE => agent.outlined_head(&session.key, owner).await?,
                seen => seen?,
            }
            .filter(|seen| !seen.head.deleted)
            .ok_or_else(|| unknown_session(&session.id))?;
            // Before it is promised: if this process dies, another one removes the rest.
            agent.note_queue(&session.key).await?;
            head.queue.clear();
            head.leave_waiting();
            head.deleted = true;
            if agent.swap(head, version).await? {
                break;
            }
        }
        // Whoever tended the session just before found nothing to do, and may have struck the note out.
        agent.note_queue(&session.key).await?;
        match agent.bury(&session.key).await {
            Ok(true) => agent.unnote_queue(&session.key).await,
            Ok(false) => Ok(()),
            // It is gone for everyone; what it held is tried again.
            Err(error) => {
                tracing::error!(session = %session.id, %error, "what a deleted session held cannot be removed yet");
                Ok(())
            }
        }
    }
}

impl AgentInner {
    /// A head that stands for one that cannot be read: with what is needed to delete the session, and no more.
    async fn outlined_head(
        self: &Arc<Self>,
        session: &SessionKey,
        owner: Option<&str>,
    ) -> Result<Option<VersionedHead>> {
        let key = keys::session(session);
        // A list has the version of a value whose bytes are damaged.
        let listed = self.store.list(&key, None, 1).await?.into_iter().find(|(listed, _)| *listed == key);
        let Some((_, value)) = listed else { return Ok(None) };
        let outline: HeadOutline = crate::codec::decode(&value.bytes).unwrap_or_default();
        if outline.agent.is_some_and(|agent| agent != self.name) {
            return Ok(None);
        }
        let tree = match outline.tree {
            Some(tree) => tree,
            None => fresh_tree()?,
        };
        let mut head = Head::new(session.id.clone(), tree, self, owner.map(str::to_owned));
        head.created = match outline.created {
            Some(created) => created,
            None => self.listed_at(session, owner).await?.unwrap_or(head.created),
        };
        for run in outline.live.into_iter().chain(outline.active) {
            head.chores.push(Chore::Close(Live { run: run.run, seq: 0, requests: Vec::new() }));
        }
        Ok(Some(VersionedHead { head, version: value.version }))
    }

    /// When a session of an owner was begun, by the list of the owner's sessions.
    async fn listed_at(&self, session: &SessionKey, owner: Option<&str>) -> Result<Option<u64>> {
        let prefix = keys::sessions_of(&self.owned(owner));
        let mut pages = ValuePages::new(&*self.store, prefix.as_str());
        while let Some(page) = pages.next().await? {
            let mut listed = page.iter().filter_map(|(key, _)| keys::read_listed(&prefix, key));
            if let Some((created, _)) = listed.find(|(_, id)| *id == session.id.as_str()) {
                return Ok(Some(created));
            }
        }
        Ok(None)
    }

    /// Removes what a deleted session held. Gives whether there is nothing left to be done.
    pub(super) async fn bury(self: &Arc<Self>, session: &SessionKey) -> Result<bool> {
        let Some(VersionedHead { head, .. }) = self.load_head(session).await? else { return Ok(true) };
        if !head.deleted {
            return Ok(false);
        }
        let mut runs: Vec<RunId> = head.active.iter().map(|Active { run, .. }| run.clone()).collect();
        runs.extend(head.chores.iter().filter_map(|chore| match chore {
            Chore::Close(live) => Some(live.run.clone()),
            Chore::Stop { .. } | Chore::Forget { .. } => None,
        }));
        self.reconcile(session).await?;
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
        self.remove_all(&keys::session_copies(session)).await?;
        self.remove_all(&keys::branches(session)).await?;
        self.remove_all(&keys::session_requests(session)).await?;
        self.delist(&head, None).await?;
        if self.store.list(&keys::sessions_in_tree(&head.tree), None, 1).await?.is_empty() {
            self.unnote_sweep(&head.tree).await?;
        }
        self.store.remove(&keys::session(session), Expect::Any).await?;
        Ok(true)
    }

    /// Notes a run that asks again what another one had waited for: it belongs to no checkpoint.
    pub(super) async fn note_copy(&self, session: &SessionKey, run: &RunId) -> Result<()> {
        let kept = self.options.max_wait + self.options.keep;
        let key = keys::session_copy(session, run);
        self.store.put(&key, self.name.clone().into(), Expect::Any, Some(kept)).await?;
        Ok(())
    }

    async fn copies_of(&self, session: &SessionKey) -> Result<Vec<RunId>> {
        let prefix = keys::session_copies(session);
        let mut runs = Vec::new();
        let mut pages = ValuePages::new(&*self.store, prefix.as_str());
        while let Some(page) = pages.next().await? {
            let read = page.iter().filter_map(|(key, _)| headwater_store::key::split(&prefix, key));
            runs.extend(read.filter_map(|parts| parts.into_iter().next()).map(RunId::from));
        }
        Ok(runs)
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
