//! Deleting a session: it is unreachable at once; its data is removed when its runs have stopped.

use std::{sync::Arc, time::Duration};

use headwater_protocol::{RunId, SessionId};
use headwater_store::{Expect, JournalId, ValuePages, remove_all};

use super::{
    Sessions,
    checkpoint::fresh_tree,
    head::{ActiveTurn, Chore, Head, HeadOutline, UNREADABLE, VersionedHead, WaitingRun},
    unknown_session,
};
use crate::{
    Result,
    error::ErrorKind,
    keys::{self, SessionKey},
};

/// Polling interval for a run being stopped, if the store sends no notification.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Sessions {
    /// Deletes a session. It is unreachable when this returns; its data is removed as far as its runs have
    /// stopped, and the rest by recovery.
    pub(crate) async fn delete(
        self: &Arc<Self>,
        id: impl Into<SessionId>,
        owner: Option<&str>,
    ) -> Result<()> {
        let session = self.session(id, owner);
        loop {
            // Reads the head alone: other values of the session may be unreadable.
            let VersionedHead { mut head, version } = match self.heads.load(&session.key).await {
                Err(error) if error.code() == UNREADABLE => self.outlined_head(&session.key, owner).await?,
                seen => seen?,
            }
            .filter(|seen| !seen.head.deleted)
            .ok_or_else(|| unknown_session(&session.id))?;
            // Before the delete is confirmed: if this process dies, another one removes the rest.
            self.record_queue(&session.key).await?;
            head.queue.clear();
            head.leave_waiting();
            head.deleted = true;
            if self.heads.swap(head, version).await? {
                break;
            }
        }
        // Recovery may have run in between, found nothing to do and removed the entry.
        self.record_queue(&session.key).await?;
        match self.bury(&session.key).await {
            Ok(true) => self.unnote_queue(&session.key).await,
            Ok(false) => Ok(()),
            // The session is already unreachable; recovery retries the removal.
            Err(error) => {
                tracing::error!(session = %session.id, %error, "what a deleted session held cannot be removed yet");
                Ok(())
            }
        }
    }
}

impl Sessions {
    /// A substitute for an unreadable head, with just enough fields to delete the session.
    async fn outlined_head(
        &self,
        session: &SessionKey,
        owner: Option<&str>,
    ) -> Result<Option<VersionedHead>> {
        let key = keys::session(session);
        // Listing returns the version also of a value whose bytes are damaged.
        let listed = self.env.store.list(&key, None, 1).await?.into_iter().find(|(listed, _)| *listed == key);
        let Some((_, value)) = listed else { return Ok(None) };
        let outline: HeadOutline = crate::codec::decode(&value.bytes).unwrap_or_default();
        if outline.agent.is_some_and(|agent| agent != self.env.agent) {
            return Ok(None);
        }
        let tree = match outline.tree {
            Some(tree) => tree,
            None => fresh_tree()?,
        };
        let mut head = Head::new(session.id.clone(), tree, &self.env, owner.map(str::to_owned));
        head.created = match outline.created {
            Some(created) => created,
            None => self.listed_at(session, owner).await?.unwrap_or(head.created),
        };
        for run in outline.live.into_iter().chain(outline.active) {
            head.chores.push(Chore::Close(WaitingRun {
                run: run.run,
                seq: 0,
                snapshot: 0,
                requests: Vec::new(),
            }));
        }
        Ok(Some(VersionedHead { head, version: value.version }))
    }

    /// Creation time of an owner's session, from the list of the owner's sessions.
    async fn listed_at(&self, session: &SessionKey, owner: Option<&str>) -> Result<Option<u64>> {
        let prefix = keys::sessions_of(&self.env.owner_tag(owner));
        let mut pages = ValuePages::new(&*self.env.store, prefix.as_str());
        while let Some(page) = pages.next().await? {
            let mut listed = page.iter().filter_map(|(key, _)| keys::read_listed(&prefix, key));
            if let Some((created, _)) = listed.find(|(_, id)| *id == session.id.as_str()) {
                return Ok(Some(created));
            }
        }
        Ok(None)
    }

    /// Removes the data of a deleted session. Returns whether everything is removed.
    pub(super) async fn bury(&self, session: &SessionKey) -> Result<bool> {
        let Some(VersionedHead { head, .. }) = self.heads.load(session).await? else { return Ok(true) };
        if !head.deleted {
            return Ok(false);
        }
        let mut runs: Vec<RunId> = head.active.iter().map(|ActiveTurn { run, .. }| run.clone()).collect();
        runs.extend(head.chores.iter().filter_map(|chore| match chore {
            Chore::Close(live) => Some(live.run.clone()),
            Chore::Stop { .. } | Chore::Forget { .. } => None,
        }));
        self.reconcile(session).await?;
        for run in &runs {
            let stopped = self.runs.stop(run, Some("its session was deleted")).await;
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
        if !self.garbage.sweep_tree(&head.tree, &runs).await? {
            return Ok(false);
        }
        remove_all(&*self.env.store, &keys::session_copies(session)).await?;
        remove_all(&*self.env.store, &keys::branches(session)).await?;
        remove_all(&*self.env.store, &keys::session_requests(session)).await?;
        self.heads.delist(&head, None).await?;
        if self.env.store.list(&keys::sessions_in_tree(&head.tree), None, 1).await?.is_empty() {
            self.garbage.forget_sweep(&head.tree).await?;
        }
        self.env.store.remove(&keys::session(session), Expect::Any).await?;
        Ok(true)
    }

    /// Records a copy of a waiting run, since no checkpoint refers to it.
    pub(super) async fn record_copy(&self, session: &SessionKey, run: &RunId) -> Result<()> {
        let kept = self.env.options.max_wait + self.env.options.keep;
        let key = keys::session_copy(session, run);
        self.env.store.put(&key, self.env.agent.clone().into(), Expect::Any, Some(kept)).await?;
        Ok(())
    }

    async fn copies_of(&self, session: &SessionKey) -> Result<Vec<RunId>> {
        let prefix = keys::session_copies(session);
        let mut runs = Vec::new();
        let mut pages = ValuePages::new(&*self.env.store, prefix.as_str());
        while let Some(page) = pages.next().await? {
            let read = page.iter().filter_map(|(key, _)| headwater_store::key::split(&prefix, key));
            runs.extend(read.filter_map(|parts| parts.into_iter().next()).map(RunId::from));
        }
        Ok(runs)
    }

    /// Waits until a run that is driven here has ended. Returns whether it has.
    async fn over(&self, run: &RunId) -> Result<bool> {
        let journal = JournalId::from(run.as_str());
        let mut after = 0;
        loop {
            match self.env.store.info(&journal).await? {
                None => return Ok(true),
                Some(info) if info.tail.closed => return Ok(true),
                Some(_) if !self.runs.registry.drives(run) => return Ok(false),
                Some(info) => after = info.tail.last.max(after),
            }
            // A driver that gave up does not close the journal.
            match tokio::time::timeout(LOOK_AGAIN, self.env.store.wait(&journal, after)).await {
                Ok(Err(error)) if matches!(error.kind(), headwater_store::ErrorKind::Unknown) => {
                    return Ok(true);
                }
                Ok(tail) => drop(tail?),
                Err(_) => {}
            }
        }
    }
}
